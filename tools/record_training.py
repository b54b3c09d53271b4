"""Records integration_tests/training/recorded.json with PyTorch: python tools/record_training.py (needs torch and scikit-learn)."""

import hashlib
import json
import sys
from pathlib import Path

import torch

FOLDER = Path(__file__).resolve().parents[1] / "integration_tests" / "training"
sys.path.insert(0, str(FOLDER))
from cases import CASES, run  # noqa: E402

torch.set_num_threads(1)
recorded = {}
for name in CASES:
    start, single = run(torch, name, torch.float32)
    _, double = run(torch, name, torch.float64)
    weights = {k: hashlib.sha256(v.numpy().tobytes()).hexdigest()[:16] for k, v in start.items()}
    recorded[name] = {"weights": weights, "float32": single, "float64": double}
(FOLDER / "recorded.json").write_text(json.dumps(recorded, indent=1) + "\n")
