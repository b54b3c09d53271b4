"""Exceptions on their way from a worker to the loop that waits for its batches."""

from __future__ import annotations

import pickle
import sys
import traceback


class WorkerFailure:
    """The exception being handled, as something that can be pickled: its class and the text of its traceback.

    The exception itself stays behind: it may refer to half of the worker's memory.
    """

    def __init__(self, where: str) -> None:
        kind = sys.exc_info()[0]
        assert kind is not None, "made outside an except block"
        self.where = where
        self.name = kind.__name__
        self.text = traceback.format_exc()
        self.kind: type[BaseException] = kind if _can_travel(kind) else RuntimeError

    def reraise(self) -> None:
        """Raises an exception of the original class whose message holds the worker's traceback.

        Raises:
            RuntimeError: where the class can't be made from a message, or can't be found in this process.
        """
        message = f"Caught {self.name} {self.where}.\nOriginal {self.text}"
        if self.kind is KeyError:
            message = _Verbatim(message)
        try:
            if getattr(self.kind, "message", None):  # such classes tend to want their message by name
                error = self.kind(message=message)
            else:
                error = self.kind(message)
        except Exception:
            raise RuntimeError(message) from None
        raise error


class _Verbatim(str):
    """A KeyError shows the repr of its message; this one keeps the line breaks of a traceback."""

    def __repr__(self) -> str:
        return str(self)


def _can_travel(kind: type) -> bool:
    try:
        return pickle.loads(pickle.dumps(kind)) is kind
    except Exception:
        return False
