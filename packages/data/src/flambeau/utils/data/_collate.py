"""How samples become a batch."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any

from flambeau import Tensor, as_tensor, float64, stack, tensor

__all__ = ["collate", "default_collate", "default_convert"]


def default_convert(data: Any) -> Any:
    """NumPy arrays and scalars in `data` as tensors, in the same containers; all else stays."""
    if isinstance(data, Tensor):
        return data
    if _is_numpy(data):
        return data if _is_text(data) else as_tensor(data)
    if isinstance(data, Mapping):
        return _mapping_like(data, {key: default_convert(data[key]) for key in data})
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*(default_convert(x) for x in data))
    if isinstance(data, tuple):
        return [default_convert(x) for x in data]
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        return _sequence_like(data, [default_convert(x) for x in data])
    return data


def collate(batch: list, *, collate_fn_map: dict[type | tuple[type, ...], Callable] | None = None) -> Any:
    """One batch from a list of samples of the same structure.

    Tensors are stacked along a new first dimension, numbers and arrays become tensors (float64 for
    Python floats), texts stay lists, and mappings, named tuples and sequences are collated field by field.

    Args:
        batch: samples; the first decides on the structure.
        collate_fn_map: from types (or tuples of them) to functions ``f(batch, *, collate_fn_map)``, which come first.

    Raises:
        TypeError: samples of another type.
        RuntimeError: sequences that differ in length, or tensors that differ in shape.
    """
    first = batch[0]
    kind = type(first)
    if collate_fn_map is not None:
        if kind in collate_fn_map:
            return collate_fn_map[kind](batch, collate_fn_map=collate_fn_map)
        for types, fn in collate_fn_map.items():
            if isinstance(first, types):
                return fn(batch, collate_fn_map=collate_fn_map)

    def inner(samples):
        return collate(samples, collate_fn_map=collate_fn_map)

    if isinstance(first, Mapping):
        return _mapping_like(first, {key: inner([sample[key] for sample in batch]) for key in first})
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return kind(*(inner(samples) for samples in zip(*batch, strict=True)))
    if isinstance(first, Sequence):
        if any(len(sample) != len(first) for sample in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        columns = [inner(samples) for samples in zip(*batch, strict=True)]
        return columns if isinstance(first, tuple) else _sequence_like(first, columns)
    raise TypeError(_refusal(kind))


def default_collate(batch: list) -> Any:
    """`collate` with the functions of `default_collate_fn_map`."""
    return collate(batch, collate_fn_map=default_collate_fn_map)


def _collate_tensors(batch: list, *, collate_fn_map: Any = None) -> Tensor:
    return stack(batch, 0)


def _collate_floats(batch: list, *, collate_fn_map: Any = None) -> Tensor:
    return tensor(batch, dtype=float64)


def _collate_ints(batch: list, *, collate_fn_map: Any = None) -> Tensor:
    return tensor(batch)


def _collate_texts(batch: list, *, collate_fn_map: Any = None) -> list:
    return batch


class _NumPyType(type):
    """Makes ``isinstance(x, NumPyValue)`` true of NumPy's arrays and numbers without importing NumPy."""

    def __instancecheck__(cls, value: Any) -> bool:
        return _is_numpy(value) and not isinstance(value, (str, bytes))


class NumPyValue(metaclass=_NumPyType):
    """Any NumPy array or number."""


def _collate_numpy(batch: list, *, collate_fn_map: Any = None) -> Tensor:
    first = batch[0]
    if _is_text(first) or first.dtype.kind == "O":
        raise TypeError(_refusal(first.dtype))
    if first.shape == ():
        return as_tensor(sys.modules["numpy"].stack(batch))
    return stack([as_tensor(x) for x in batch], 0)


# Checked in this order. Add to it to have the default loader collate further types.
default_collate_fn_map: dict[type | tuple[type, ...], Callable] = {
    Tensor: _collate_tensors,
    NumPyValue: _collate_numpy,
    float: _collate_floats,
    int: _collate_ints,
    str: _collate_texts,
    bytes: _collate_texts,
}


def _is_numpy(value: Any) -> bool:
    numpy = sys.modules.get("numpy")  # nobody holds a NumPy value before it has been imported
    return numpy is not None and isinstance(value, (numpy.ndarray, numpy.generic))


def _is_text(value: Any) -> bool:
    return value.dtype.kind in "SU"


def _mapping_like(original: Mapping, items: dict) -> Any:
    """`items` as a mapping of the type of `original`, with its further attributes; a dict if that can't be made."""
    try:
        if isinstance(original, MutableMapping):
            clone = copy.copy(original)
            clone.update(items)
            return clone
        return type(original)(items)
    except TypeError:
        return items


def _sequence_like(original: Sequence, items: list) -> Any:
    """`items` as a sequence of the type of `original`; a list if that can't be made."""
    try:
        if isinstance(original, MutableSequence):
            clone = copy.copy(original)
            for i, item in enumerate(items):
                clone[i] = item
            return clone
        return type(original)(items)  # type: ignore[call-arg]
    except TypeError:
        return items


def _refusal(found: Any) -> str:
    return f"default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {found}"
