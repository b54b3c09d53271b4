"""An interpreter of pickles that runs no code of theirs: data, and calls of functions on a list, with checked arguments.

What a pickle names is never on the stack itself, only an entry of the list, so that no opcode can reach into it.
"""

from __future__ import annotations

import struct
from collections import Counter, OrderedDict
from collections.abc import Callable
from pickle import UnpicklingError
from typing import Any

_MARK = object()


class Named:
    """A function or class of the list: what it stands for, and how it may be called."""

    __slots__ = ("name", "value", "call", "state")

    def __init__(self, name: str, value: Any, call: Callable | None = None, state: Callable | None = None) -> None:
        self.name, self.value, self.call, self.state = name, value, call, state

    def __repr__(self) -> str:
        return f"<{self.name}>"


def refuse(text: str) -> UnpicklingError:
    return UnpicklingError(f"Weights only load failed: {text}")


class Unpickler:
    """Reads one pickle from a file object after another.

    Args:
        file: with ``read`` and ``readline``.
        find: (module, name) -> a value, or a `Named` that the pickle may call; raises UnpicklingError otherwise.
        persistent: what a persistent id, a tuple, stands for.
        build: (object, state) -> None: gives an object its state; raises UnpicklingError for one that has none.
        limit: the bytes of the file: nothing in the pickle can be longer.
    """

    def __init__(self, file: Any, find: Callable, persistent: Callable, build: Callable, limit: int, encoding: str = "utf-8") -> None:
        self._read, self._readline = file.read, file.readline
        self._find, self._persistent, self._build = find, persistent, build
        self._limit, self._encoding = limit, encoding

    def load(self) -> Any:
        """The object. UnpicklingError for what is not on the list or no pickle; EOFError at its end."""
        self.memo: dict[int, Any] = {}
        self.stack: list = []
        self.marks: list[list] = []
        try:
            return self._run()
        except (ValueError, struct.error) as error:  # text that is no UTF-8, and the like
            raise refuse(f"the pickle is damaged ({error})") from error

    def _run(self) -> Any:
        read = self._read
        while True:
            code = read(1)
            if not code:
                raise EOFError("Ran out of input: the pickle ends before its STOP")
            if code == b".":
                return self._value(self._pop())
            op = _OPS.get(code)
            if op is None:
                raise refuse(f"Unsupported operand {code[0]} ({code!r}); the file may need weights_only=False, if its source is trusted")
            op(self)

    # ---- parts ----

    def _bytes(self, n: int) -> bytes:
        if not 0 <= n <= self._limit:
            raise refuse(f"a string of {n} bytes in a pickle of {self._limit}")
        data = self._read(n)
        if len(data) != n:
            raise refuse(f"pickle data was truncated: {len(data)} of {n} bytes")
        return data

    def _number(self, form: str) -> int:
        return struct.unpack(form, self._bytes(struct.calcsize(form)))[0]

    def _line(self) -> str:
        line = self._readline()
        if not line.endswith(b"\n"):
            raise refuse("pickle data was truncated in a line")
        return line[:-1].decode()

    def _pop(self) -> Any:
        if not self.stack:
            raise refuse("pop from an empty stack: not a pickle, or a damaged one")
        return self.stack.pop()

    def _top(self) -> Any:
        if not self.stack:
            raise refuse("an empty stack: not a pickle, or a damaged one")
        return self.stack[-1]

    def _pop_mark(self) -> list:
        if not self.marks:
            raise refuse("no mark on the stack: not a pickle, or a damaged one")
        items, self.stack = self.stack, self.marks.pop()
        return items

    @staticmethod
    def _value(x: Any) -> Any:
        """What a name means as data: only where it stands alone, such as a dtype or a class in a list."""
        return x.value if type(x) is Named else x

    def _push_name(self, module: str, name: str) -> None:
        self.stack.append(self._find(module, name))

    def _memoize(self, key: int) -> None:
        self.memo[key] = self._top()

    def _recall(self, key: int) -> None:
        if key not in self.memo:
            raise refuse(f"memo value not found at index {key}")
        self.stack.append(self.memo[key])

    def _call(self, fn: Any, args: Any) -> None:
        if type(fn) is not Named or fn.call is None:
            raise refuse(f"trying to call {fn!r:.100}, which is not an allowed function or class")
        if type(args) is not tuple:
            raise refuse(f"arguments of {fn!r} that are no tuple: {type(args).__name__}")
        try:
            self.stack.append(fn.call(*[self._value(a) for a in args]))
        except (TypeError, ValueError, LookupError, OverflowError) as error:
            raise refuse(f"{fn.name} does not take {len(args)} arguments of this kind ({error})") from error

    def _set_items(self, target: Any, pairs: list) -> None:
        if type(target) not in (dict, OrderedDict, Counter):
            raise refuse(f"can only set items of dict, collections.OrderedDict and collections.Counter, not of {type(target).__name__}")
        if len(pairs) % 2:
            raise refuse("a key without a value")
        for i in range(0, len(pairs), 2):
            try:
                target[self._value(pairs[i])] = self._value(pairs[i + 1])
            except TypeError as error:
                raise refuse(f"a key that cannot be one ({error})") from error

    def _extend(self, target: Any, items: list) -> None:
        if type(target) is not list:
            raise refuse(f"can only append to lists, not to {type(target).__name__}")
        target.extend(map(self._value, items))

    def _add(self, target: Any, items: list) -> None:
        if type(target) is not set:
            raise refuse(f"can only add to sets, not to {type(target).__name__}")
        try:
            target.update(map(self._value, items))
        except TypeError as error:
            raise refuse(f"a member that cannot be one ({error})") from error

    # ---- opcodes with a body ----

    def proto(self) -> None:
        version = self._bytes(1)[0]
        if not 0 <= version <= 5:
            raise refuse(f"pickle protocol {version}")

    def mark(self) -> None:
        self.marks.append(self.stack)
        self.stack = []

    def put(self, key: int) -> None:
        self._memoize(key)

    def tuple_of(self, n: int) -> None:
        if len(self.stack) < n:
            raise refuse("a tuple of more than the stack holds")
        items = tuple(map(self._value, self.stack[-n:]))
        del self.stack[-n:]
        self.stack.append(items)

    def marked_tuple(self) -> None:
        items = tuple(map(self._value, self._pop_mark()))
        self.stack.append(items)

    def persid(self) -> None:
        pid = self._pop()
        if type(pid) is not tuple or not pid:
            raise refuse(f"a persistent id must be a tuple, not {type(pid).__name__}")
        self.stack.append(self._persistent(pid))

    def reduce(self) -> None:
        args = self._pop()
        self._call(self._pop(), args)

    def build(self) -> None:
        state = self._pop()
        self._build(self._top(), state)

    def append(self) -> None:
        item = self._pop()
        self._extend(self._top(), [item])

    def appends(self) -> None:
        items = self._pop_mark()
        self._extend(self._top(), items)

    def setitem(self) -> None:
        value = self._pop()
        key = self._pop()
        self._set_items(self._top(), [key, value])

    def setitems(self) -> None:
        items = self._pop_mark()
        self._set_items(self._top(), items)

    def additems(self) -> None:
        items = self._pop_mark()
        self._add(self._top(), items)

    def frozen(self) -> None:
        made: set = set()
        self._add(made, self._pop_mark())
        self.stack.append(frozenset(made))

    def marked_dict(self) -> None:
        made: dict = {}
        self._set_items(made, self._pop_mark())
        self.stack.append(made)

    def stack_global(self) -> None:
        name, module = self._pop(), self._pop()
        if type(name) is not str or type(module) is not str:
            raise refuse("a name that is no string")
        self._push_name(module, name)

    def text(self, n: int) -> None:
        self.stack.append(self._bytes(n).decode("utf-8", "surrogatepass"))

    def string(self, n: int) -> None:
        data = self._bytes(n)
        self.stack.append(data if self._encoding == "bytes" else data.decode(self._encoding))

    def long(self, n: int) -> None:
        self.stack.append(int.from_bytes(self._bytes(n), "little", signed=True))


def _push(value: Callable[[Unpickler], Any]) -> Callable[[Unpickler], None]:
    def op(m: Unpickler) -> None:
        m.stack.append(value(m))

    return op


_OPS: dict[bytes, Callable[[Unpickler], None]] = {
    b"\x80": Unpickler.proto,
    b"\x95": lambda m: m._number("<Q") and None,  # FRAME: only a hint of how much to read
    b"(": Unpickler.mark,
    b"0": lambda m: m._pop() and None,
    b"1": lambda m: m._pop_mark() and None,
    b"2": lambda m: m.stack.append(m._top()),
    b"N": _push(lambda m: None),
    b"\x88": _push(lambda m: True),
    b"\x89": _push(lambda m: False),
    b"K": _push(lambda m: m._number("<B")),
    b"M": _push(lambda m: m._number("<H")),
    b"J": _push(lambda m: m._number("<i")),
    b"G": _push(lambda m: m._number(">d")),
    b"\x8a": lambda m: m.long(m._number("<B")),
    b"\x8b": lambda m: m.long(m._number("<i")),
    b"X": lambda m: m.text(m._number("<I")),
    b"\x8c": lambda m: m.text(m._number("<B")),
    b"\x8d": lambda m: m.text(m._number("<Q")),
    b"U": lambda m: m.string(m._number("<B")),
    b"T": lambda m: m.string(m._number("<i")),
    b"C": _push(lambda m: m._bytes(m._number("<B"))),
    b"B": _push(lambda m: m._bytes(m._number("<I"))),
    b"\x8e": _push(lambda m: m._bytes(m._number("<Q"))),
    b"\x96": _push(lambda m: bytearray(m._bytes(m._number("<Q")))),
    b"]": _push(lambda m: []),
    b"}": _push(lambda m: {}),
    b")": _push(lambda m: ()),
    b"\x8f": _push(lambda m: set()),
    b"\x85": lambda m: m.tuple_of(1),
    b"\x86": lambda m: m.tuple_of(2),
    b"\x87": lambda m: m.tuple_of(3),
    b"t": Unpickler.marked_tuple,
    b"l": lambda m: m.stack.append([m._value(x) for x in m._pop_mark()]),
    b"d": Unpickler.marked_dict,
    b"\x91": Unpickler.frozen,
    b"a": Unpickler.append,
    b"e": Unpickler.appends,
    b"s": Unpickler.setitem,
    b"u": Unpickler.setitems,
    b"\x90": Unpickler.additems,
    b"q": lambda m: m.put(m._number("<B")),
    b"r": lambda m: m.put(m._number("<I")),
    b"\x94": lambda m: m.put(len(m.memo)),
    b"h": lambda m: m._recall(m._number("<B")),
    b"j": lambda m: m._recall(m._number("<I")),
    b"c": lambda m: m._push_name(m._line(), m._line()),
    b"\x93": Unpickler.stack_global,
    b"R": Unpickler.reduce,
    b"\x81": Unpickler.reduce,  # NEWOBJ: an allowed class called without its __init__ is called in full here
    b"b": Unpickler.build,
    b"Q": Unpickler.persid,
}
