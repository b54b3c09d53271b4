"""Element types and how they combine."""

from __future__ import annotations

from ._native import lib


class dtype:  # noqa: N801 - PyTorch's name
    """The type of a tensor's elements, such as ``float32``. There is one object for each: compare with ``is`` or ``==``."""

    __slots__ = ("num", "name", "itemsize", "is_floating_point", "is_complex", "is_signed", "__weakref__")

    def __init__(self, num: int, name: str, itemsize: int) -> None:
        self.num = num
        self.name = name
        self.itemsize = itemsize
        self.is_complex = name.startswith("complex")
        self.is_floating_point = "float" in name
        self.is_signed = not (name.startswith("u") or name == "bool")

    def __repr__(self) -> str:
        return "torch." + self.name

    def __reduce__(self) -> str:
        return self.name

    def __copy__(self) -> dtype:
        return self

    def __deepcopy__(self, memo: dict) -> dtype:
        return self

    def to_real(self) -> dtype:
        """``float32`` for ``complex64``, ``float64`` for ``complex128``; other types as they are."""
        return {"complex64": float32, "complex128": float64}.get(self.name, self)

    def to_complex(self) -> dtype:
        """``complex64`` for ``float32``, ``complex128`` for ``float64``; complex types as they are."""
        if self.is_complex:
            return self
        if self.name in ("float32", "float64"):
            return {"float32": complex64, "float64": complex128}[self.name]
        raise ValueError(f"{self} has no complex counterpart here")


# Pickle finds a dtype by its name in the module `flambeau`.
dtype.__module__ = __name__.rpartition(".")[0]

_NAMES = (
    ("bool", 1), ("uint8", 1), ("int8", 1), ("int16", 2), ("int32", 4), ("int64", 8), ("uint16", 2), ("uint32", 4), ("uint64", 8),
    ("float16", 2), ("bfloat16", 2), ("float32", 4), ("float64", 8), ("complex64", 8), ("complex128", 16),
    ("float8_e4m3fn", 1), ("float8_e5m2", 1),
)  # fmt: skip
DTYPES = tuple(dtype(i, name, size) for i, (name, size) in enumerate(_NAMES))
BY_NAME = {d.name: d for d in DTYPES}

(bool_, uint8, int8, int16, int32, int64, uint16, uint32, uint64, float16, bfloat16, float32, float64, complex64, complex128,
 float8_e4m3fn, float8_e5m2) = DTYPES  # fmt: skip

ALIASES = {
    "half": float16, "float": float32, "double": float64, "short": int16, "int": int32, "long": int64, "cfloat": complex64,
    "cdouble": complex128,
}  # fmt: skip


def as_dtype(value: object) -> dtype:
    """A dtype from a dtype, or from ``bool``, ``int``, ``float``, ``complex`` as PyTorch reads them; TypeError for anything else."""
    if type(value) is dtype:
        return value
    if value is float:
        return float64
    if value is int:
        return int64
    if value is bool:
        return bool_
    if value is complex:
        return complex128
    raise TypeError(f"dtype must be a flambeau.dtype, not {type(value).__name__} ({value!r})")


def get_default_dtype() -> dtype:
    """The dtype of tensors made from Python floats; ``float32`` unless `set_default_dtype` changed it."""
    return DTYPES[lib.fb_default_dtype_num()]


def set_default_dtype(d: dtype) -> None:
    """Sets the dtype of tensors made from Python floats. ``d``: a floating-point dtype, else TypeError."""
    from ._binding import raise_error

    if lib.fbp_set_default_dtype(as_dtype(d).num):
        raise_error()


def promote_types(type1: dtype, type2: dtype) -> dtype:
    """The smallest dtype that both convert to without changing category."""
    from ._binding import raise_error

    num = lib.fbp_promote(as_dtype(type1).num, as_dtype(type2).num)
    if num < 0:
        raise_error()
    return DTYPES[num]


def can_cast(from_: dtype, to: dtype) -> bool:
    """Whether a result of dtype ``from_`` may be stored into a tensor of dtype ``to``."""
    return bool(lib.fbp_can_cast(as_dtype(from_).num, as_dtype(to).num))
