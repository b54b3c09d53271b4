"""Optimizers and learning rate schedules."""

from . import lr_scheduler, swa_utils
from ._adadelta import Adadelta
from ._adafactor import Adafactor
from ._adagrad import Adagrad
from ._adam import Adam, AdamW
from ._adamax import Adamax
from ._asgd import ASGD
from ._lbfgs import LBFGS
from ._muon import Muon
from ._nadam import NAdam
from ._radam import RAdam
from ._rmsprop import RMSprop
from ._rprop import Rprop
from ._sgd import SGD
from ._swap import swap_in_optimizer_params_and_state
from .optimizer import Optimizer

__all__ = [
    "ASGD",
    "Adadelta",
    "Adafactor",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "LBFGS",
    "Muon",
    "NAdam",
    "Optimizer",
    "RAdam",
    "RMSprop",
    "Rprop",
    "SGD",
    "lr_scheduler",
    "swa_utils",
    "swap_in_optimizer_params_and_state",
]
