"""The table of optimizers and schedules under test. Plain Python: tools/record_optim.py runs it on PyTorch too."""

import math

STEPS = 20
KEPT = (0, 4, 19)  # the steps whose parameters are recorded

# (name, options); options hold nothing but what JSON has, lists standing for tuples.
OPTIMIZERS = [
    ("SGD", {}),
    ("SGD", {"lr": 0.1, "weight_decay": 0.5}),
    ("SGD", {"lr": 0.1, "momentum": 0.9}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.5, "maximize": True}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1}),
    ("Adam", {"lr": 0.05}),
    ("Adam", {"lr": 0.05, "betas": [0.8, 0.9], "weight_decay": 0.1, "amsgrad": True}),
    ("Adam", {"lr": 0.05, "weight_decay": 0.1, "decoupled_weight_decay": True, "eps": 0.1}),
    ("AdamW", {"lr": 0.05}),
    ("AdamW", {"lr": 0.05, "weight_decay": 0.3, "amsgrad": True, "maximize": True}),
    ("RMSprop", {"lr": 0.05}),
    ("RMSprop", {"lr": 0.05, "centered": True, "momentum": 0.5, "weight_decay": 0.1, "alpha": 0.8}),
    ("RMSprop", {"lr": 0.05, "maximize": True, "eps": 0.01}),
    ("NAdam", {"lr": 0.05, "weight_decay": 0.1, "momentum_decay": 0.01}),
    ("NAdam", {"lr": 0.05, "weight_decay": 0.1, "decoupled_weight_decay": True, "maximize": True}),
    ("RAdam", {"lr": 0.05, "weight_decay": 0.1, "betas": [0.9, 0.9]}),
    ("RAdam", {"lr": 0.05, "weight_decay": 0.1, "decoupled_weight_decay": True, "maximize": True}),
    ("Adamax", {"lr": 0.05}),
    ("Adamax", {"lr": 0.05, "weight_decay": 0.1, "betas": [0.5, 0.9], "maximize": True}),
    ("Adagrad", {"lr": 0.05}),
    ("Adagrad", {"lr": 0.05, "lr_decay": 0.1, "weight_decay": 0.1, "initial_accumulator_value": 0.2}),
    ("Adadelta", {}),
    ("Adadelta", {"lr": 0.5, "rho": 0.8, "eps": 0.01, "weight_decay": 0.1, "maximize": True}),
    ("ASGD", {"lr": 0.05, "t0": 5, "lambd": 0.1}),
    ("ASGD", {"lr": 0.05, "weight_decay": 0.1, "alpha": 0.5, "maximize": True}),
    ("Rprop", {}),
    ("Rprop", {"lr": 0.05, "etas": [0.4, 1.5], "step_sizes": [0.001, 0.1], "maximize": True}),
    ("Adafactor", {}),
    ("Adafactor", {"lr": 0.05, "weight_decay": 0.1, "d": 1.5, "beta2_decay": -0.5, "maximize": True}),
    ("Muon", {"lr": 0.05}),
    ("Muon", {"lr": 0.05, "momentum": 0.8, "nesterov": False, "ns_steps": 3, "adjust_lr_fn": "match_rms_adamw"}),
]


def label(case):
    """A short name of a row, also its key in the recording."""
    name, options = case[0], case[1]
    return name + "".join(f" {k}={v}" for k, v in options.items())


def start(name):
    """The first values of the parameters, as nested lists: a matrix, and a vector where the rule takes one."""
    matrix = [[math.cos(1 + 3 * i + j) for j in range(3)] for i in range(2)]
    return [matrix] if name == "Muon" else [matrix, [0.5, -1.5, 2.0, 0.0]]


def gradient(values, step, which):
    """A gradient for parameter number `which` at `step`: repeatable, of both signs, now and then zero."""
    if values and isinstance(values[0], list):
        return [gradient(row, step, which + 10 * (i + 1)) for i, row in enumerate(values)]
    return [
        0.0 if (step + i) % 7 == 3 else math.sin(1.7 * step + 2.3 * i + 0.9 * which) * 2 ** ((i + which) % 3 - 1)
        for i in range(len(values))
    ]


# Options of LBFGS on the valley below.
VALLEYS = [
    {"lr": 0.1, "max_iter": 4},
    {"line_search_fn": "strong_wolfe", "max_iter": 5},
    {"line_search_fn": "strong_wolfe", "max_iter": 8, "history_size": 2},
]
VALLEY_STEPS = 4


def valley(x, y):
    """Rosenbrock's function, least in a bent valley at (1, 1)."""
    return (1 - x) ** 2 + 100 * (y - x * x) ** 2


# (name, options, steps); rates of the two groups start at 1 and 0.5.
SCHEDULES = [
    ("StepLR", {"step_size": 2}, 8),
    ("MultiStepLR", {"milestones": [1, 3, 3, 6], "gamma": 0.5}, 8),
    ("ConstantLR", {"factor": 0.2, "total_iters": 3}, 6),
    ("LinearLR", {}, 8),
    ("LinearLR", {"start_factor": 0.1, "end_factor": 0.7, "total_iters": 6}, 9),
    ("ExponentialLR", {"gamma": 0.9}, 5),
    ("PolynomialLR", {"total_iters": 6, "power": 2.0}, 9),
    ("CosineAnnealingLR", {"T_max": 4, "eta_min": 0.1}, 13),
    ("CosineAnnealingWarmRestarts", {"T_0": 2, "T_mult": 2, "eta_min": 0.05}, 12),
    ("CyclicLR", {"base_lr": 0.1, "max_lr": 1.0, "step_size_up": 3}, 14),
    (
        "CyclicLR",
        {"base_lr": [0.1, 0.2], "max_lr": [1.0, 2.0], "step_size_up": 2, "step_size_down": 4, "mode": "triangular2"},
        14,
    ),
    ("CyclicLR", {"base_lr": 0.1, "max_lr": 1.0, "step_size_up": 3, "mode": "exp_range", "gamma": 0.9}, 10),
    ("OneCycleLR", {"max_lr": 1.0, "total_steps": 12}, 11),
    ("OneCycleLR", {"max_lr": [1.0, 2.0], "epochs": 4, "steps_per_epoch": 3, "anneal_strategy": "linear"}, 11),
    ("OneCycleLR", {"max_lr": 1.0, "total_steps": 15, "pct_start": 0.4, "three_phase": True}, 14),
]
