"""Records in what order PyTorch takes samples, for the tests of flambeau-data.

python tools/record_data.py        # needs torch; writes packages/data/tests/recorded.json
"""

import json
import pathlib
import sys

import torch
import torch.utils.data

TESTS = pathlib.Path(__file__).resolve().parent.parent / "packages" / "data" / "tests"
sys.path.insert(0, str(TESTS))
import cases  # noqa: E402


def options(given):
    return {k: torch.Generator().manual_seed(v) if k == "generator" else v for k, v in given.items()}


def two_passes(make):
    """What two passes yield, and a number drawn after them: it tells how much the passes have drawn."""
    torch.manual_seed(cases.SEED)
    made = make()
    passes = [[x.tolist() if isinstance(x, torch.Tensor) else x for x in made] for _ in range(2)]
    return [*passes, torch.randint(2**31, ()).item()]


class Seeds(torch.utils.data.Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, index):
        info = torch.utils.data.get_worker_info()
        return [info.id, info.seed, torch.randint(2**31, ()).item()]


def worker_seeds():
    torch.manual_seed(cases.SEED)
    return [x[0] for x in torch.utils.data.DataLoader(Seeds(), num_workers=2, batch_size=1, collate_fn=list)]


def main():
    data = torch.utils.data
    out = {
        "samplers": {
            name: two_passes(lambda c=c, a=a, o=o: getattr(data, c)(*a, **options(o)))
            for name, (c, a, o) in cases.SAMPLERS.items()
        },
        "loaders": {
            name: two_passes(lambda o=o: data.DataLoader(range(10), **options(o))) for name, o in cases.LOADERS.items()
        },
        "splits": [
            [s.indices for s in data.random_split(range(10), lengths, torch.Generator().manual_seed(cases.SEED))]
            for lengths in cases.SPLITS
        ],
        "workers": worker_seeds(),
    }
    text = ",\n".join(f" {json.dumps(k)}: {json.dumps(v)}" for k, v in out.items())
    (TESTS / "recorded.json").write_text("{\n" + text + "\n}\n")


if __name__ == "__main__":
    main()
