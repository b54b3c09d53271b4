"""Where a tensor's data lives: ``cpu``, or ``meta`` (nowhere: only its shape and dtype exist)."""

from __future__ import annotations

from ._native import ffi

_TYPES = {"cpu": 0, "meta": 1, "cuda": 2}
_NAMES = {num: name for name, num in _TYPES.items()}


class device:  # noqa: N801 - PyTorch's name
    """``device("cpu")``, ``device("cuda:1")``, ``device("cuda", 1)``; immutable, compares and hashes by value."""

    __slots__ = ("type", "index", "num", "c")

    type: str
    index: int | None

    def __new__(cls, type: str | device | int = "cpu", index: int | None = None) -> device:
        if isinstance(type, device):
            return type
        if isinstance(type, int) and not isinstance(type, bool):
            type, index = "cuda", type
        if not isinstance(type, str):
            raise TypeError(f"device(): argument 'type' must be str or int, not {type.__class__.__name__}")
        name, colon, number = type.partition(":")
        if name not in _TYPES:
            raise RuntimeError(f"Expected one of {', '.join(_TYPES)} device type at start of device string: {type}")
        if colon:
            if index is not None:
                raise RuntimeError(f"type (string) must not include an index because index was passed explicitly: {type}")
            if not number.isdigit() or (len(number) > 1 and number[0] == "0"):
                raise RuntimeError(f"Invalid device string: '{type}'")
            index = int(number)
        self = object.__new__(cls)
        for key, value in (("type", name), ("index", index), ("num", _TYPES[name]),
                           ("c", ffi.new("fb_device *", (_TYPES[name], -1 if index is None else index))[0])):
            object.__setattr__(self, key, value)
        return self

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"device.{name} cannot be changed")

    def __repr__(self) -> str:
        return f"device(type='{self.type}')" if self.index is None else f"device(type='{self.type}', index={self.index})"

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, device) and (self.type, self.index) == (other.type, other.index)

    def __hash__(self) -> int:
        return hash((self.type, self.index))

    def __reduce__(self) -> tuple:
        return device, (self.type,) if self.index is None else (self.type, self.index)

    def __enter__(self) -> device:
        _stack.append(self)
        return self

    def __exit__(self, *exc: object) -> None:
        _stack.pop()


device.__module__ = __name__.rpartition(".")[0]
CPU = device("cpu")
META = device("meta")
_stack: list[device] = [CPU]
BY_NUM = (CPU, META)


def get_default_device() -> device:
    """The device on which creation functions put tensors."""
    return _stack[-1]


def set_default_device(device_: device | str | None) -> None:
    """Sets the device on which creation functions put tensors; None means the CPU."""
    _stack[-1] = CPU if device_ is None else device(device_)


def device_number(value: object) -> int:
    """The core's number for a device argument of a creation function (None: the default); RuntimeError where it has none."""
    d = _stack[-1] if value is None else value if type(value) is device else device(value)  # type: ignore[arg-type]
    if d.num > 1:
        raise RuntimeError(f"device={str(d)!r}: this build has no {d.type.upper()} support; install flambeau-cuda for it")
    return d.num
