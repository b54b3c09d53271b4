"""A tensor as text, as PyTorch writes it."""

from __future__ import annotations

import math
from typing import Any

from ._dtype import get_default_dtype
from ._native import lib
from ._tensor_base import Tensor


class PrintOptions:
    """What `set_printoptions` changed; the defaults are PyTorch's."""

    def __init__(self) -> None:
        self.precision = 4
        self.threshold: float = 1000
        self.edgeitems = 3
        self.linewidth = 80
        self.sci_mode: bool | None = None


OPTIONS = PrintOptions()
_PROFILES = {"default": (4, 1000, 3, 80), "short": (2, 1000, 2, 80), "full": (4, math.inf, 3, 80)}


def set_printoptions(precision: int | None = None, threshold: float | None = None, edgeitems: int | None = None, linewidth: int | None = None,
                     profile: str | None = None, sci_mode: bool | None = None) -> None:
    """How tensors are printed: digits, the size beyond which a summary is shown and its edge, line length, and scientific notation."""
    if profile is not None:
        if profile not in _PROFILES:
            raise ValueError(f"profile={profile!r} must be one of {sorted(_PROFILES)}")
        OPTIONS.precision, OPTIONS.threshold, OPTIONS.edgeitems, OPTIONS.linewidth = _PROFILES[profile]
    for name, value in (("precision", precision), ("threshold", threshold), ("edgeitems", edgeitems), ("linewidth", linewidth)):
        if value is not None:
            setattr(OPTIONS, name, value)
    OPTIONS.sci_mode = sci_mode


class _Format:
    """One width and notation for all numbers of a tensor."""

    def __init__(self, values: list, floating: bool) -> None:
        self.floating = floating
        self.int_mode = floating
        self.sci = False
        self.width = 1
        if not floating:
            self.width = max([1, *(len(str(v)) for v in values)])
            return
        finite = [abs(v) for v in values if math.isfinite(v) and v != 0]
        if not finite:  # only zeros, infinity and NaN: each as wide as it is
            return
        largest, smallest = max(finite), min(finite)
        self.int_mode = all(v == math.ceil(v) for v in finite)
        wide = largest / smallest > 1000.0 or largest > 1.0e8
        self.sci = largest / smallest > 1000.0 or largest > 1.0e8 if self.int_mode else wide or smallest < 1.0e-4
        if OPTIONS.sci_mode is not None:
            self.sci = OPTIONS.sci_mode
        self.width = max([1, *(len(self.text(v)) for v in values)])

    def text(self, v: Any) -> str:
        if not self.floating:
            return str(v)
        if self.sci:
            return f"{v:.{OPTIONS.precision}e}"
        if self.int_mode:
            return f"{v:.0f}" + ("." if math.isfinite(v) else "")
        return f"{v:.{OPTIONS.precision}f}"

    def padded(self, v: Any) -> str:
        return self.text(v).rjust(self.width)


def _format_of(values: list, t: Tensor) -> Any:
    if t.dtype.is_complex:
        real, imag = _Format([v.real for v in values], True), _Format([v.imag for v in values], True)

        def text(v: complex) -> str:
            im = imag.text(v.imag)
            return f"{real.padded(v.real)}{'+' if im[0] not in '+-' else ''}{im}j"

        width = real.width + imag.width + 1
        return text, width
    f = _Format(values, t.dtype.is_floating_point)
    return f.padded, f.width


def _summarized(t: Tensor) -> Tensor:
    """The edges of a large tensor: what its text shows."""
    edge = OPTIONS.edgeitems
    if t.dim() == 0:
        return t
    from ._functions import cat, stack

    if t.dim() == 1:
        return cat((t[:edge], t[-edge:])) if t.shape[0] > 2 * edge else t
    if t.shape[0] > 2 * edge:
        return stack([_summarized(x) for x in [*t[:edge].unbind(0), *t[-edge:].unbind(0)]])
    return stack([_summarized(x) for x in t.unbind(0)])


def _rows(t: Tensor, indent: int, summary: bool, text: Any, width: int) -> str:
    edge = OPTIONS.edgeitems
    if t.dim() == 0:
        return text(t.item())
    if t.dim() == 1:
        n = t.shape[0]
        if summary and n > 2 * edge:
            parts = [text(v) for v in t[:edge].tolist()] + [" ..."] + [text(v) for v in t[-edge:].tolist()]
        else:
            parts = [text(v) for v in t.tolist()]
        per_line = max(1, (OPTIONS.linewidth - indent) // (width + 2))
        lines = [", ".join(parts[i : i + per_line]) for i in range(0, len(parts), per_line)]
        return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"
    if summary and t.shape[0] > 2 * edge:
        parts = [_rows(x, indent + 1, summary, text, width) for x in t[:edge].unbind(0)] + ["..."]
        parts += [_rows(x, indent + 1, summary, text, width) for x in t[-edge:].unbind(0)]
    else:
        parts = [_rows(x, indent + 1, summary, text, width) for x in t.unbind(0)]
    return "[" + ("," + "\n" * (t.dim() - 1) + " " * (indent + 1)).join(parts) + "]"


def _suffixes(t: Tensor, shown: bool) -> list[str]:
    parts = []
    if t.device.num == 1:
        parts += [f"device='{t.device}'", f"size={tuple(t.shape)}"]
    elif t.numel() == 0 and t.dim() != 1:
        parts.append(f"size={tuple(t.shape)}")
    default = get_default_dtype().name
    # A text without numbers says nothing of their kind.
    implied = {default} if t.device.num == 1 or not shown else {default, "int64", "bool", "complex64" if default == "float32" else "complex128"}
    if t.dtype.name not in implied:
        parts.append(f"dtype={t.dtype}")
    node = t.grad_fn
    if node is not None:
        name = node.name() if hasattr(node, "name") else type(node).__name__
        parts.append(f"grad_fn=<{name}>")
    elif t.requires_grad:
        parts.append("requires_grad=True")
    return parts


def tensor_text(self: Tensor, *, tensor_contents: str | None = None) -> str:
    """What ``repr`` shows: values (the edges of large tensors), and what they don't say of dtype, device and history."""
    prefix = "tensor(" if type(self).__name__ in ("Tensor", "Parameter") else f"{type(self).__name__}("
    t = self.detach() if type(self) is Tensor else lib_alias(self)
    if t.device.num == 1:
        content = "..."
    elif t.numel() == 0:
        content = "[]"
    else:
        summary = t.numel() > OPTIONS.threshold
        from ._tensor import flat_values

        text, width = _format_of(flat_values(_summarized(t) if summary else t), t)
        content = _rows(t, len(prefix), summary, text, width)
    if tensor_contents is not None:
        content = tensor_contents
    out = prefix + content
    last = len(out) - out.rfind("\n") - 1  # length of the last line (rfind is -1 where there is only one)
    for part in _suffixes(self, bool(t.numel())):
        if last + len(part) + 2 > OPTIONS.linewidth:
            out += ",\n" + " " * len(prefix) + part
            last = len(prefix) + len(part)
        else:
            out += ", " + part
            last += len(part) + 2
    return out + ")"


def lib_alias(t: Tensor) -> Tensor:
    """A plain tensor on a subclass's memory."""
    from ._binding import real_handle
    from ._tensor_base import new_tensor

    return new_tensor(lib.fb_alias(real_handle(t)))


def _format(self: Tensor, spec: str) -> str:
    if self.dim() == 0 and self.device.num == 0:
        return self.item().__format__(spec)
    return object.__format__(self, spec)


Tensor.__repr__ = lambda self, **kwargs: tensor_text(self, **kwargs)
Tensor.__format__ = _format
