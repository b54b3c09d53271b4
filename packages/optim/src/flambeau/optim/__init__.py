"""Optimizers and learning rate schedules."""

from . import lr_scheduler
from ._adam import Adam, AdamW
from ._rmsprop import RMSprop
from ._sgd import SGD
from .optimizer import Optimizer

__all__ = ["Adam", "AdamW", "Optimizer", "RMSprop", "SGD", "lr_scheduler"]
