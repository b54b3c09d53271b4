"""Results with names: tuples whose items are also attributes."""

from __future__ import annotations

from typing import Any


def structseq(name: str, fields: tuple[str, ...]) -> type:
    """A tuple class ``torch.return_types.<name>`` with the given fields, made from one sequence, printed as PyTorch prints it."""

    def __new__(cls: type, values: Any) -> Any:
        values = tuple(values)
        if len(values) != len(fields):
            raise TypeError(f"{name} takes a sequence of {len(fields)} values, not {len(values)}")
        return tuple.__new__(cls, values)

    def __repr__(self: Any) -> str:
        return f"torch.return_types.{name}(\n" + ",\n".join(f"{f}={v!r}" for f, v in zip(fields, self, strict=True)) + ")"

    def __reduce__(self: Any) -> tuple:
        return type(self), (tuple(self),)

    def field(i: int) -> property:
        return property(lambda self: tuple.__getitem__(self, i))

    body: dict[str, Any] = {
        "__slots__": (), "__new__": __new__, "__repr__": __repr__, "__reduce__": __reduce__, "_fields": fields,
        "n_fields": len(fields), "n_sequence_fields": len(fields), "n_unnamed_fields": 0, "__match_args__": fields,
    }  # fmt: skip
    body.update({f: field(i) for i, f in enumerate(fields)})
    cls = type(name, (tuple,), body)
    cls.__module__ = __name__.rpartition(".")[0] + ".return_types"
    return cls
