"""Records what PyTorch does with packages/optim/tests/cases.py, for the tests of flambeau-optim.

python tools/record_optim.py        # needs torch; writes packages/optim/tests/recorded.json
"""

import json
import pathlib
import sys
import warnings

import torch

TESTS = pathlib.Path(__file__).resolve().parent.parent / "packages" / "optim" / "tests"
sys.path.insert(0, str(TESTS))
import cases  # noqa: E402


def options(kwargs):
    return {
        k: tuple(v) if isinstance(v, list) and k not in ("milestones", "base_lr", "max_lr") else v
        for k, v in kwargs.items()
    }


def rounded(x):
    return [rounded(y) for y in x] if isinstance(x, list) else float(f"{x:.9g}")


def trajectory(name, kwargs):
    params = [torch.nn.Parameter(torch.tensor(v)) for v in cases.start(name)]
    opt = getattr(torch.optim, name)(params, **options(kwargs))
    kept = []
    for step in range(cases.STEPS):
        for i, p in enumerate(params):
            p.grad = torch.tensor(cases.gradient(p.tolist(), step, i))
        opt.step()
        if step in cases.KEPT:
            kept.append([rounded(p.tolist()) for p in params])
    saved = opt.state_dict()
    return {
        "params": kept,
        "group_keys": list(saved["param_groups"][0]),
        "state_keys": {k: list(v.shape) for k, v in saved["state"].get(0, {}).items() if v is not None},
    }


def descent(kwargs):
    p = torch.nn.Parameter(torch.tensor([-1.2, 1.0], dtype=torch.float64))
    opt = torch.optim.LBFGS([p], **kwargs)

    def closure():
        opt.zero_grad()
        loss = cases.valley(p[0], p[1])
        loss.backward()
        return loss

    rows = []
    for _ in range(cases.VALLEY_STEPS):
        opt.step(closure)
        rows.append([*rounded(p.tolist()), opt.state[p]["func_evals"]])
    return rows


def curve(name, kwargs, steps):
    groups = [{"params": torch.ones(1), "lr": 1.0}, {"params": torch.ones(1), "lr": 0.5}]
    opt = torch.optim.SGD(groups, momentum=0.9)
    schedule = getattr(torch.optim.lr_scheduler, name)(opt, **kwargs)
    rows = []
    for _ in range(steps + 1):
        rows.append([[g["lr"], g["momentum"]] for g in opt.param_groups])
        opt.step()
        schedule.step()
    return rows[: steps + 1]


def main():
    warnings.simplefilter("ignore")
    out = {
        "optimizers": {cases.label(c): trajectory(*c) for c in cases.OPTIMIZERS},
        "valleys": {cases.label(("LBFGS", o)): descent(o) for o in cases.VALLEYS},
        "schedules": {cases.label(c): curve(*c) for c in cases.SCHEDULES},
    }
    text = ",\n".join(
        f' "{part}": {{\n' + ",\n".join(f"  {json.dumps(k)}: {json.dumps(v)}" for k, v in rows.items()) + "\n }"
        for part, rows in out.items()
    )
    (TESTS / "recorded.json").write_text("{\n" + text + "\n}\n")


if __name__ == "__main__":
    main()
