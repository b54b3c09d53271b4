"""Generators of random numbers and the functions that draw from them. For a seed, the CPU's stream is PyTorch's."""

from __future__ import annotations

from typing import Any

from ._binding import index, raise_error
from ._creation import _finish, _like, _resize_out, _shape, empty
from ._device import device
from ._dtype import as_dtype, dtype, int64, uint8
from ._native import ffi, lib
from ._tensor_base import Tensor

STATE_BYTES = 5056


class Generator:
    """A source of random numbers with a state of its own. ``device``: only "cpu" here."""

    __slots__ = ("_h", "__weakref__")

    def __init__(self, device: Any = "cpu", _handle: Any = None) -> None:
        d = device_of(device)
        if d.num != 0:
            raise RuntimeError(f"Device type {d.type} is not supported for torch.Generator() api.")
        self._h = lib.fb_generator_new() if _handle is None else _handle
        if not self._h:
            raise_error()

    def __del__(self, _release: Any = lib.fb_generator_release) -> None:
        _release(self._h)

    @property
    def device(self) -> device:
        """The device whose tensors it fills."""
        return device("cpu")

    def manual_seed(self, seed: int) -> Generator:
        """Starts the stream of ``seed`` (64 bits; negative ones count modulo 2**64). Returns the generator."""
        lib.fb_generator_manual_seed(self._h, _seed_bits(seed))
        return self

    def initial_seed(self) -> int:
        """The seed that the stream was started with."""
        return lib.fb_generator_initial_seed(self._h)

    def seed(self) -> int:
        """Starts a stream from the system's randomness, and returns its seed."""
        return lib.fb_generator_seed(self._h)

    def get_state(self) -> Tensor:
        """The state as a uint8 tensor of 5056 elements, in PyTorch's layout."""
        t = empty(STATE_BYTES, dtype=uint8, device="cpu")
        lib.fb_generator_get_state(self._h, ffi.cast("uint8_t *", t.data_ptr()))
        return t

    def set_state(self, new_state: Tensor) -> None:
        """Takes a state that `get_state` gave. TypeError for another dtype, RuntimeError for another length."""
        if not isinstance(new_state, Tensor) or new_state.dtype is not uint8:
            raise TypeError(f"RNG state must be a torch.ByteTensor, got {getattr(new_state, 'dtype', type(new_state).__name__)}")
        t = new_state.contiguous()
        if lib.fbp_generator_set_state(self._h, ffi.cast("uint8_t *", t.data_ptr()), t.numel()):
            raise_error()

    def clone_state(self) -> Generator:
        """An independent generator in the same state."""
        return Generator(_handle=lib.fb_generator_clone(self._h))

    def graphsafe_get_state(self) -> Generator:
        return self.clone_state()

    def __reduce__(self) -> tuple:
        return _restore, (self.get_state(),)


def _restore(state: Tensor) -> Generator:
    g = Generator()
    g.set_state(state)
    return g


def device_of(value: Any) -> device:
    return value if type(value) is device else device(value)


def _seed_bits(seed: Any) -> int:
    s = index(seed)
    if not -(2**63) <= s < 2**64:
        raise RuntimeError(f"Overflow when unpacking long: seed={s} must be in [-2**63, 2**64)")
    return s % 2**64


Generator.__module__ = __name__.rpartition(".")[0]
default_generator = Generator(_handle=lib.fb_generator_retain(lib.fb_generator_default()))


def manual_seed(seed: int) -> Generator:
    """Seeds the default generator, and returns it."""
    return default_generator.manual_seed(seed)


def seed() -> int:
    """Seeds the default generator from the system's randomness, and returns the seed."""
    return default_generator.seed()


def initial_seed() -> int:
    """The seed of the default generator."""
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """The default generator's state."""
    return default_generator.get_state()


def set_rng_state(new_state: Tensor) -> None:
    """Sets the default generator's state."""
    default_generator.set_state(new_state)


def _target(size: tuple, out: Tensor | None, dt: dtype | None, dev: Any) -> Tensor:
    sizes = _shape(size)
    if out is not None:
        return _resize_out(out, sizes, dt)
    return empty(sizes, dtype=dt, device=dev)


def rand(*size: Any, generator: Generator | None = None, out: Tensor | None = None, dtype: dtype | None = None, layout: Any = None,
         device: Any = None, requires_grad: bool = False, pin_memory: bool = False) -> Tensor:
    """Uniform numbers in [0, 1) of a floating dtype."""
    return _finish(_target(size, out, dtype, device).uniform_(generator=generator), requires_grad)


def randn(*size: Any, generator: Generator | None = None, out: Tensor | None = None, dtype: dtype | None = None, layout: Any = None,
          device: Any = None, requires_grad: bool = False, pin_memory: bool = False) -> Tensor:
    """Normal numbers of mean 0 and variance 1 of a floating or complex dtype."""
    return _finish(_target(size, out, dtype, device).normal_(generator=generator), requires_grad)


def randint(*args: Any, low: Any = None, high: Any = None, size: Any = None, generator: Generator | None = None, out: Tensor | None = None,
            dtype: dtype | None = None, layout: Any = None, device: Any = None, requires_grad: bool = False, pin_memory: bool = False) -> Tensor:
    """``randint(high, size)``, ``randint(low, high, size)``: uniform integers in [low, high). int64 unless ``dtype`` says otherwise."""
    given = list(args)
    if size is None:
        if not given:
            raise TypeError("randint() missing argument 'size'")
        size = given.pop()
    if high is None:
        if not given:
            raise TypeError("randint() missing argument 'high'")
        high = given.pop()
    if low is None:
        low = given.pop() if given else 0
    low, high = index(low), index(high)
    if low >= high:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    t = _target((size,), out, dtype or (None if out is not None else int64), device)
    return _finish(t.random_(low, high, generator=generator), requires_grad)


def rand_like(input: Tensor, *, generator: Generator | None = None, dtype: dtype | None = None, layout: Any = None, device: Any = None,
              requires_grad: bool = False, memory_format: Any = None, pin_memory: bool = False) -> Tensor:
    """`rand` of input's shape, dtype and device."""
    return _finish(_like(input, dtype, layout, device, memory_format).uniform_(generator=generator), requires_grad)


def randn_like(input: Tensor, *, generator: Generator | None = None, dtype: dtype | None = None, layout: Any = None, device: Any = None,
               requires_grad: bool = False, memory_format: Any = None, pin_memory: bool = False) -> Tensor:
    """`randn` of input's shape, dtype and device."""
    return _finish(_like(input, dtype, layout, device, memory_format).normal_(generator=generator), requires_grad)


def randint_like(input: Tensor, *args: Any, low: Any = None, high: Any = None, generator: Generator | None = None, dtype: dtype | None = None,
                 layout: Any = None, device: Any = None, requires_grad: bool = False, memory_format: Any = None, pin_memory: bool = False) -> Tensor:
    """``randint_like(input, [low,] high)``: `randint` of input's shape, dtype and device."""
    given = list(args)
    if high is None:
        high = given.pop()
    if low is None:
        low = given.pop() if given else 0
    low, high = (index(v.item()) if isinstance(v, Tensor) else index(v) for v in (low, high))
    t = _like(input, dtype, layout, device, memory_format)
    if low >= high:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    return _finish(t.random_(low, high, generator=generator), requires_grad)


def normal(mean: Any = 0.0, std: Any = 1.0, size: Any = None, *, generator: Generator | None = None, out: Tensor | None = None,
           dtype: dtype | None = None, layout: Any = None, device: Any = None, requires_grad: bool = False, pin_memory: bool = False) -> Tensor:
    """Normal numbers: of a mean and standard deviation for all (``size`` given), or of tensors of them, element by element.

    RuntimeError for a negative std.
    """
    tensors = [v for v in (mean, std) if isinstance(v, Tensor)]
    if not tensors:
        if size is None:
            raise TypeError("normal() needs 'size' where mean and std are numbers")
        return _finish(_target((size,), out, dtype, device).normal_(mean, std, generator=generator), requires_grad)
    from ._gen.functions import HIDDEN

    if not isinstance(std, Tensor) and std < 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std}")
    return HIDDEN["normal"](mean, std, generator=generator, out=out)


def _random_(self: Tensor, *ends: Any, generator: Generator | None = None, **named: Any) -> Tensor:
    """Fills self with uniform integers: ``random_(to)`` from [0, to), ``random_(from, to)`` from [from, to).

    ``random_(from, None)`` goes up to the greatest integer, and ``random_()`` from 0 to the greatest that the dtype holds exactly.
    RuntimeError for an empty range and for one that self's dtype can't hold.
    """
    from ._gen.functions import HIDDEN_INPLACE

    fill = HIDDEN_INPLACE["_hidden_random_"]
    if not ends and not named:
        return fill(self, generator=generator)
    if len(ends) > 2 or set(named) - {"from", "to"}:
        raise TypeError(f"random_() takes from and to, but got {ends} and {named}")
    given = dict(zip(("to",) if len(ends) == 1 and "to" not in named else ("from", "to"), ends, strict=False))
    if set(given) & set(named):
        raise TypeError(f"random_() got several values for {sorted(set(given) & set(named))}")
    given |= named
    if "to" not in given or (given["to"] is None and "from" not in given):
        raise TypeError("random_() needs 'to' (None, beside 'from': the greatest that the dtype holds exactly)")
    low, high = index(given.get("from", 0)), given["to"]
    if high is None and low == -(2**63):
        return fill(self, None, None, True, generator=generator)
    return fill(self, low, None if high is None else index(high), generator=generator)


_random_.__name__ = _random_.__qualname__ = "random_"
Tensor.random_ = _random_  # type: ignore[method-assign]


def randperm(n: int, *, generator: Generator | None = None, out: Tensor | None = None, dtype: dtype | None = None, layout: Any = None,
             device: Any = None, requires_grad: bool = False, pin_memory: bool = False) -> Tensor:
    """A random permutation of 0 .. n - 1. RuntimeError where n is negative or the dtype cannot hold it."""
    from ._gen.functions import HIDDEN

    n = index(n)
    if n < 0:
        raise RuntimeError(f"n must be non-negative, got {n}")
    dt = (out.dtype if out is not None else int64) if dtype is None else as_dtype(dtype)
    if device is not None and device_of(device).num == 1:
        return empty(n, dtype=dt, device=device)
    t = HIDDEN["randperm"](n, dtype=dt, generator=generator)
    return t if out is None else _resize_out(out, [n], None).copy_(t)


def fork_rng(devices: Any = None, enabled: bool = True, device_type: str = "cpu") -> Any:
    """A context manager: the default generator's state is as before when the block ends."""
    import contextlib

    @contextlib.contextmanager
    def block() -> Any:
        state = get_rng_state()
        try:
            yield
        finally:
            set_rng_state(state)

    return block() if enabled else contextlib.nullcontext()


__all__ = [
    "Generator", "default_generator", "get_rng_state", "initial_seed", "manual_seed", "normal", "rand", "rand_like", "randint",
    "randint_like", "randn", "randn_like", "randperm", "seed", "set_rng_state",
]  # fmt: skip
