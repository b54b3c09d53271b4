"""One row a layer: how it is made, and what it is called with.

The rows name no library: ``tools/record_nn.py`` runs them with PyTorch and writes down what came out in
``layers.json``, and ``test_layers.py`` compares. Inputs are formulas, so that nothing depends on how they were drawn.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Real:
    """sin(0.7 k + shift) in the given shape, k counting the elements; ``low`` and ``high`` stretch it to an interval.

    The only kind of input whose gradient is compared.
    """

    shape: tuple[int, ...]
    shift: float = 0.3
    low: float = -1.0
    high: float = 1.0

    def make(self, lib: Any) -> Any:
        half = (self.high - self.low) / 2
        values = [self.low + half * (1 + math.sin(0.7 * k + self.shift)) for k in range(math.prod(self.shape))]
        return lib.tensor(values, dtype=lib.float32).reshape(self.shape)


@dataclass(frozen=True)
class Whole:
    """(11 k + 2) mod n in the given shape, k counting the elements."""

    shape: tuple[int, ...]
    n: int

    def make(self, lib: Any) -> Any:
        values = [(11 * k + 2) % self.n for k in range(math.prod(self.shape))]
        return lib.tensor(values, dtype=lib.int64).reshape(self.shape)


@dataclass(frozen=True)
class Given:
    """The values as they stand; ``dtype`` is the name of one."""

    values: Any
    dtype: str = "float32"

    def make(self, lib: Any) -> Any:
        return lib.tensor(self.values, dtype=getattr(lib, self.dtype))


@dataclass(frozen=True)
class Layer:
    """A layer as an argument."""

    cls: str
    args: tuple = ()

    def make(self, lib: Any) -> Any:
        return getattr(lib.nn, self.cls)(*[made(lib, a) for a in self.args])


def made(lib: Any, value: Any) -> Any:
    """``value`` with the specifications in it carried out."""
    if isinstance(value, (Real, Whole, Given, Layer)):
        return value.make(lib)
    if isinstance(value, (tuple, list)):
        return type(value)(made(lib, v) for v in value)
    return value


@dataclass(frozen=True)
class Case:
    cls: str
    args: tuple = ()
    kwargs: dict = field(default_factory=dict)
    inputs: tuple = ()
    grad: bool = True  # whether gradients of inputs and parameters are compared

    def __str__(self) -> str:
        settings = [str(a) for a in self.args] + [f"{k}={v}" for k, v in self.kwargs.items()]
        return f"{self.cls}({', '.join(settings)})"

    def build(self, lib: Any) -> Any:
        """The layer, with the weights of seed 0."""
        lib.manual_seed(0)
        kwargs = {k: made(lib, v) for k, v in self.kwargs.items()}
        return getattr(lib.nn, self.cls)(*[made(lib, a) for a in self.args], **kwargs)

    def call(self, lib: Any, layer: Any, requires_grad: bool = False) -> tuple[Any, list]:
        """What ``layer`` gives after seed 1, and the inputs that have gradients then."""
        inputs = [made(lib, i) for i in self.inputs]
        trained = []
        if requires_grad:
            trained = [
                t.requires_grad_() for spec, t in zip(leaves(self.inputs), leaves(inputs)) if isinstance(spec, Real)
            ]
        lib.manual_seed(1)
        return layer(*inputs), trained


def tensors_in(lib: Any, value: Any) -> list:
    """The tensors in nested tuples and lists, in order."""
    if isinstance(value, lib.Tensor):
        return [value]
    if isinstance(value, (tuple, list)):
        return [t for v in value for t in tensors_in(lib, v)]
    return []


def leaves(value: Any) -> list:
    """What is in nested tuples and lists, in order."""
    if isinstance(value, (tuple, list)):
        return [leaf for v in value for leaf in leaves(v)]
    return [value]


def C(cls: str, *args: Any, on: Any = (), grad: bool = True, **kwargs: Any) -> Case:  # noqa: N802 - a row, not a call
    inputs = on if isinstance(on, tuple) and not isinstance(on, Case) else (on,)
    return Case(cls, args, kwargs, inputs, grad)


X1, X2, X3 = Real((2, 4, 9)), Real((2, 4, 6, 5)), Real((2, 2, 4, 5, 4))
XY = (Real((3, 5)), Real((3, 5), 1.1))
PROBABILITIES = (Real((3, 5), 0.3, 0.05, 0.95), Real((3, 5), 1.1, 0.0, 1.0))
SIGNS = Given([1.0, -1.0, 1.0])
TRIPLE = (Real((3, 4)), Real((3, 4), 1.0), Real((3, 4), 2.0))
SEQUENCE = Real((5, 2, 3))

CASES = [
    # linear
    C("Identity", 3, key=4, on=Real((2, 3))),
    C("Linear", 4, 3, on=Real((2, 4))),
    C("Linear", 4, 3, bias=False, on=Real((2, 2, 4))),
    C("Bilinear", 3, 4, 2, on=(Real((2, 3)), Real((2, 4), 1.0))),
    # convolutions
    C("Conv1d", 4, 6, 3, on=X1),
    C("Conv1d", 4, 2, 4, padding="same", dilation=2, on=X1),
    C("Conv2d", 4, 6, 3, stride=2, padding=1, groups=2, on=X2),
    C("Conv2d", 4, 2, (3, 2), padding="valid", bias=False, on=X2),
    C("Conv2d", 4, 2, 3, padding=(1, 2), padding_mode="circular", on=X2),
    C("Conv2d", 4, 2, 3, padding=1, padding_mode="reflect", on=Real((4, 6, 5))),
    C("Conv2d", 4, 2, 3, padding=1, padding_mode="replicate", on=X2),
    C("Conv3d", 2, 3, (1, 2, 3), dilation=(1, 2, 1), on=X3),
    C("ConvTranspose1d", 4, 2, 3, stride=2, output_padding=1, on=X1),
    C("ConvTranspose2d", 4, 6, 3, stride=2, padding=1, groups=2, dilation=2, on=X2),
    C("ConvTranspose3d", 2, 3, 2, bias=False, on=X3),
    C("LazyLinear", 3, on=Real((2, 4))),
    C("LazyConv1d", 3, 2, on=X1),
    C("LazyConv2d", 6, 3, padding=1, groups=2, bias=False, on=X2),
    C("LazyConv3d", 3, 2, on=X3),
    C("LazyConvTranspose1d", 3, 2, on=X1),
    C("LazyConvTranspose2d", 3, 2, stride=2, on=X2),
    C("LazyConvTranspose3d", 3, 2, on=X3),
    # pooling
    C("MaxPool1d", 3, on=X1),
    C("MaxPool2d", 3, 2, 1, ceil_mode=True, on=X2),
    C("MaxPool2d", (2, 3), return_indices=True, on=X2),
    C("MaxPool3d", 2, dilation=(1, 2, 1), on=X3),
    C("MaxUnpool1d", 2, on=(Real((1, 1, 2)), Given([[[1, 2]]], "int64"))),
    C("MaxUnpool2d", 2, on=(Real((1, 1, 1, 2)), Given([[[[5, 2]]]], "int64"))),
    C("MaxUnpool3d", 2, on=(Real((1, 1, 1, 1, 2)), Given([[[[[5, 10]]]]], "int64"))),
    C("AvgPool1d", 3, padding=1, on=X1),
    C("AvgPool2d", (2, 3), padding=1, count_include_pad=False, on=X2),
    C("AvgPool2d", 2, divisor_override=3, on=X2),
    C("AvgPool3d", 2, ceil_mode=True, on=X3),
    C("LPPool1d", 2, 3, on=X1),
    C("LPPool2d", 3, 2, on=Real((2, 4, 6, 5), 0.3, 0.2, 1.2)),
    C("LPPool3d", 2, (1, 2, 2), on=X3),
    C("AdaptiveMaxPool1d", 4, on=X1),
    C("AdaptiveMaxPool2d", (None, 3), return_indices=True, on=X2),
    C("AdaptiveMaxPool3d", 2, on=X3),
    C("AdaptiveAvgPool1d", 4, on=X1),
    C("AdaptiveAvgPool2d", (3, None), on=X2),
    C("AdaptiveAvgPool3d", (2, 3, 1), on=X3),
    C("FractionalMaxPool2d", 2, output_size=(3, 2), on=X2),
    C("FractionalMaxPool3d", 2, output_ratio=(0.5, 0.6, 0.5), on=X3),
    # padding
    C("ConstantPad1d", (1, 2), 3.5, on=X1),
    C("ConstantPad2d", (1, 0, 2, 1), -1, on=X2),
    C("ConstantPad3d", 1, 0.5, on=X3),
    C("ZeroPad1d", 2, on=X1),
    C("ZeroPad2d", (1, 2, -1, 0), on=X2),
    C("ZeroPad3d", 1, on=X3),
    C("ReflectionPad1d", (2, 1), on=X1),
    C("ReflectionPad2d", 2, on=X2),
    C("ReflectionPad3d", 1, on=X3),
    C("ReplicationPad1d", (2, 1), on=X1),
    C("ReplicationPad2d", 2, on=X2),
    C("ReplicationPad3d", 1, on=X3),
    C("CircularPad1d", (2, 1), on=X1),
    C("CircularPad2d", 2, on=X2),
    C("CircularPad3d", 1, on=X3),
    # activations
    C("ReLU", on=XY[0]),
    C("ReLU6", on=Real((3, 5), 0.3, -2.0, 9.0)),
    C("RReLU", on=XY[0]),
    C("Hardtanh", -0.5, 0.25, on=XY[0]),
    C("Sigmoid", on=XY[0]),
    C("Hardsigmoid", on=Real((3, 5), 0.3, -4.0, 4.0)),
    C("Tanh", on=XY[0]),
    C("SiLU", on=XY[0]),
    C("Mish", on=XY[0]),
    C("Hardswish", on=Real((3, 5), 0.3, -4.0, 4.0)),
    C("ELU", 1.5, on=XY[0]),
    C("CELU", 0.5, on=XY[0]),
    C("SELU", on=XY[0]),
    C("GLU", 1, on=Real((3, 6))),
    C("GELU", on=XY[0]),
    C("GELU", "tanh", on=XY[0]),
    C("Hardshrink", 0.4, on=XY[0]),
    C("LeakyReLU", 0.2, on=XY[0]),
    C("LogSigmoid", on=XY[0]),
    C("Softplus", 2.0, 1.0, on=XY[0]),
    C("Softshrink", 0.3, on=XY[0]),
    C("PReLU", 4, on=X1),
    C("Softsign", on=XY[0]),
    C("Tanhshrink", on=XY[0]),
    C("Threshold", 0.1, -3.0, on=XY[0]),
    C("Softmin", 1, on=XY[0]),
    C("Softmax", 0, on=XY[0]),
    C("Softmax2d", on=X2),
    C("LogSoftmax", -1, on=XY[0]),
    # normalizations
    C("BatchNorm1d", 4, on=X1),
    C("BatchNorm1d", 5, affine=False, momentum=None, on=XY[0]),
    C("BatchNorm2d", 4, track_running_stats=False, bias=False, on=X2),
    C("BatchNorm3d", 2, 0.01, 0.3, on=X3),
    C("SyncBatchNorm", 4, on=X2),
    C("LazyBatchNorm1d", on=X1),
    C("LazyBatchNorm2d", on=X2),
    C("LazyBatchNorm3d", on=X3),
    C("InstanceNorm1d", 4, on=X1),
    C("InstanceNorm2d", 4, affine=True, track_running_stats=True, on=X2),
    C("InstanceNorm3d", 2, on=Real((2, 4, 5, 4))),
    C("LazyInstanceNorm1d", on=X1),
    C("LazyInstanceNorm2d", on=X2),
    C("LazyInstanceNorm3d", on=X3),
    C("GroupNorm", 2, 4, on=X2),
    C("LayerNorm", (6, 5), on=X2),
    C("LayerNorm", 5, bias=False, on=XY[0]),
    C("RMSNorm", 5, on=XY[0]),
    C("LocalResponseNorm", 3, 0.5, on=X2),
    C("LocalResponseNorm", 2, on=X1),
    C("CrossMapLRN2d", 3, 0.5, on=X2, grad=False),  # PyTorch's gradient is not that of its forward
    # dropout
    C("Dropout", 0.4, on=XY[0]),
    C("Dropout1d", on=X1),
    C("Dropout2d", on=X2),
    C("Dropout3d", on=X3),
    C("AlphaDropout", 0.3, on=XY[0]),
    C("FeatureAlphaDropout", on=X2),
    # shapes
    C("Flatten", on=X2),
    C("Unflatten", 1, (2, 2), on=X1),
    C("Fold", (5, 4), 2, on=Real((2, 8, 12))),
    C("Unfold", (2, 3), padding=1, on=X2),
    C("PixelShuffle", 2, on=X2),
    C("PixelUnshuffle", 3, on=Real((1, 2, 6, 3))),
    C("ChannelShuffle", 2, on=X2),
    C("Upsample", (4, 7), on=X2),
    C("Upsample", None, (2, 1.5), "bilinear", True, on=X2),
    C("Upsample", None, 2, "bicubic", on=X2),
    C("Upsample", None, 0.5, "area", on=X2),
    C("Upsample", 5, None, "linear", on=X1),
    C("Upsample", None, 1.5, "trilinear", on=X3),
    C("Upsample", None, 1.5, "nearest-exact", on=X1),
    C("UpsamplingNearest2d", None, 2, on=X2),
    C("UpsamplingBilinear2d", 7, on=X2),
    # embeddings
    C("Embedding", 7, 3, padding_idx=2, on=Whole((2, 4), 7)),
    C("Embedding", 7, 3, max_norm=1.0, scale_grad_by_freq=True, on=Whole((5,), 7)),
    C("EmbeddingBag", 7, 3, on=(Whole((6,), 7), Given([0, 2], "int64"))),
    C("EmbeddingBag", 7, 3, mode="sum", padding_idx=2, on=Whole((2, 4), 7)),
    C("EmbeddingBag", 7, 3, mode="max", on=Whole((2, 4), 7)),
    # recurrent
    C("RNN", 3, 4, 2, nonlinearity="relu", on=SEQUENCE),
    C("RNN", 3, 4, bias=False, batch_first=True, on=SEQUENCE),
    C("LSTM", 3, 4, 2, bidirectional=True, on=(SEQUENCE, (Real((4, 2, 4)), Real((4, 2, 4), 1.0)))),
    C("LSTM", 3, 4, proj_size=2, on=Real((5, 3))),
    C("GRU", 3, 4, bidirectional=True, on=SEQUENCE),
    C("RNNCell", 3, 4, on=Real((2, 3))),
    C("RNNCell", 3, 4, nonlinearity="relu", on=(Real((3,)), Real((4,)))),
    C("LSTMCell", 3, 4, on=(Real((2, 3)), (Real((2, 4)), Real((2, 4), 1.0)))),
    C("GRUCell", 3, 4, bias=False, on=Real((2, 3))),
    # attention
    C("MultiheadAttention", 4, 2, on=(Real((3, 2, 4)),) * 3),
    C("MultiheadAttention", 4, 2, 0.3, kdim=3, vdim=2, add_bias_kv=True, add_zero_attn=True, batch_first=True,
      on=(Real((2, 3, 4)), Real((2, 5, 3)), Real((2, 5, 2)))),
    C("TransformerEncoderLayer", 4, 2, 8, 0.0, on=Real((3, 2, 4))),
    C("TransformerDecoderLayer", 4, 2, 8, 0.1, "gelu", norm_first=True, on=(Real((3, 2, 4)), Real((5, 2, 4), 1.0))),
    C("TransformerEncoder", Layer("TransformerEncoderLayer", (4, 2, 8, 0.0)), 2, Layer("LayerNorm", (4,)),
      on=Real((3, 2, 4))),
    C("TransformerDecoder", Layer("TransformerDecoderLayer", (4, 2, 8, 0.0)), 2, on=(Real((3, 4)), Real((5, 4), 1.0))),
    C("Transformer", 4, 2, 1, 1, 8, 0.0, batch_first=True, on=(Real((2, 5, 4)), Real((2, 3, 4), 1.0))),
    # distances
    C("CosineSimilarity", on=XY),
    C("PairwiseDistance", 1.0, keepdim=True, on=XY),
    # losses
    C("L1Loss", on=XY),
    C("MSELoss", reduction="sum", on=XY),
    C("SmoothL1Loss", beta=0.5, on=XY),
    C("HuberLoss", delta=0.4, on=XY),
    C("CrossEntropyLoss", Given([1.0, 2.0, 0.5, 1.0, 3.0]), ignore_index=2, on=(XY[0], Whole((3,), 5))),
    C("CrossEntropyLoss", label_smoothing=0.1, reduction="none", on=(X1, Real((2, 4, 9), 1.0, 0.0, 1.0))),
    C("LinearCrossEntropyLoss", 5, 3, out_features=(2,), bias=True, on=(XY[0], Whole((3, 2), 3))),
    C("NLLLoss", on=(X2, Whole((2, 6, 5), 4))),
    C("BCELoss", on=PROBABILITIES),
    C("BCEWithLogitsLoss", pos_weight=Given([1.0, 2.0, 0.5, 1.0, 3.0]), on=(XY[0], PROBABILITIES[1])),
    C("KLDivLoss", reduction="batchmean", on=(XY[0], PROBABILITIES[1])),
    C("KLDivLoss", reduction="sum", log_target=True, on=XY),
    C("PoissonNLLLoss", full=True, on=(XY[0], Whole((3, 5), 6))),
    C("GaussianNLLLoss", full=True, on=(*XY, PROBABILITIES[0])),
    C("HingeEmbeddingLoss", 0.5, on=(Real((3,)), SIGNS)),
    C("MultiLabelMarginLoss", on=(Real((1, 4)), Given([[3, 0, -1, 1]], "int64"))),
    C("SoftMarginLoss", on=(Real((3,)), SIGNS)),
    C("MultiLabelSoftMarginLoss", on=(XY[0], PROBABILITIES[1])),
    C("CosineEmbeddingLoss", 0.1, on=(*XY, SIGNS)),
    C("MarginRankingLoss", 0.2, on=(Real((3,)), Real((3,), 1.0), SIGNS)),
    C("MultiMarginLoss", 2, 0.8, on=(XY[0], Whole((3,), 5))),
    C("TripletMarginLoss", swap=True, on=TRIPLE),
    C("TripletMarginWithDistanceLoss", margin=0.7, reduction="none", on=TRIPLE),
    C("CTCLoss", on=(Real((6, 2, 4), 0.3, -3.0, 0.0), Given([[1, 2], [3, 3]], "int64"), (6, 5), (2, 2))),
    C("AdaptiveLogSoftmaxWithLoss", 4, 9, [3, 6], 2.0, on=(Real((5, 4)), Whole((5,), 9))),
    # containers
    C("Sequential", Layer("Linear", (4, 3)), Layer("Tanh"), Layer("Linear", (3, 2)), on=Real((2, 4))),
]  # fmt: skip
