"""Writes packages/nn/tests/layers.json: what PyTorch's layers give for the rows of cases.py.

    python tools/record_nn.py            # in an environment that has torch

Each row is written down as its ``repr``, its state (shapes, sums, first values) after seed 0, the results in training
and in evaluation (shapes, sums, some values) after seed 1, and the gradients' sums. Five digits are kept: enough to tell
a wrong formula, too few to tell one library's rounding from another's.
"""

import importlib.util
import json
import pathlib
import sys
import warnings

import torch

TESTS = pathlib.Path(__file__).resolve().parent.parent / "packages" / "nn" / "tests"


def load_cases():
    spec = importlib.util.spec_from_file_location("nn_cases", TESTS / "cases.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def digits(x):
    return float(f"{x:.5g}")


def summary(t):
    """Shape, sum, and a few values spread over the tensor."""
    flat = t.detach().double().reshape(-1)
    step = max(1, flat.numel() // 3)
    return [list(t.shape), digits(flat.sum().item()), [digits(v) for v in flat[::step][:3].tolist()]]


def record(case, tensors_in):
    layer = case.build(torch)
    entry = {"repr": repr(layer)}
    result, inputs = case.call(torch, layer, requires_grad=case.grad)
    entry["train"] = [summary(t) for t in tensors_in(torch, result)]
    entry["state"] = {k: summary(v) for k, v in layer.state_dict().items()}
    if case.grad:
        total = sum(t.sin().sum() for t in tensors_in(torch, result) if t.requires_grad)
        if isinstance(total, torch.Tensor):
            total.backward()
            trained = [*layer.parameters(), *inputs]
            entry["grad"] = [None if t.grad is None else digits(t.grad.double().abs().sum().item()) for t in trained]
    entry["eval"] = [summary(t) for t in tensors_in(torch, case.call(torch, layer.eval())[0])]
    return entry


def main():
    warnings.simplefilter("ignore")
    cases = load_cases()
    lines = []
    for case in cases.CASES:
        lines.append(f"{json.dumps(str(case))}: {json.dumps(record(case, cases.tensors_in), separators=(',', ':'))}")
    (TESTS / "layers.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")
    print(f"{len(lines)} layers from PyTorch {torch.__version__}")


if __name__ == "__main__":
    main()
