"""Automatic differentiation, under the names of ``torch.autograd``. Importing it switches the recording of gradients on."""

from flambeau import _autograd_hooks

from . import anomaly_mode, function, functional, grad_mode, graph, variable
from ._backward import backward, grad
from .anomaly_mode import detect_anomaly, set_detect_anomaly
from .function import Function
from .grad_mode import enable_grad, inference_mode, no_grad, set_grad_enabled
from .gradcheck import GradcheckError, gradcheck, gradgradcheck
from .variable import Variable

__version__ = "0.1.0"
__all__ = [
    "Function", "GradcheckError", "Variable", "anomaly_mode", "backward", "detect_anomaly", "enable_grad",
    "function", "functional", "grad", "grad_mode", "gradcheck", "gradgradcheck", "graph", "inference_mode", "no_grad",
    "set_detect_anomaly", "set_grad_enabled", "variable",
]  # fmt: skip

_autograd_hooks.enable()
