"""Classes for the types that .lcm files describe, with LCM's encoding.

    types = kadenz.load_types("robot.lcm")
    message = types["robot.state_t"](position=[1.0, 2.0, 3.0])
    assert types["robot.state_t"].decode(message.encode()) == message

A class is like a dataclass: its members are attributes with LCM's defaults (0, "", lists of them). A member that holds
the length of an array takes it from the array when the message is encoded, and need not be set.
"""

from __future__ import annotations

import json
import math
import os
import struct
from typing import Any, ClassVar, Dict, List, Tuple, Union

from . import _kadenz
from ._kadenz import Error

PathLike = Union[str, "os.PathLike[str]"]
# Seconds, or a text with its unit: 0.0004 or "400us".
Time = Union[float, str]
# A type by its name: a subclass of Message, or an enum, which has the same three class methods.
_Types = Dict[str, Any]

_LETTERS = {
    "int8_t": "b", "int16_t": "h", "int32_t": "i", "int64_t": "q", "byte": "B", "boolean": "b", "float": "f", "double": "d",
}


def load_types(*paths: PathLike, numpy: bool = False) -> Dict[str, Any]:
    """The classes of .lcm files, and of all those in folders, by full name. Enums are classes with constants.

    With `numpy`, arrays of numbers are arrays of numpy: in a received message they are read-only views of its bytes,
    without a copy. In both cases a list may be replaced by an array of numpy.
    """
    described = json.loads(_kadenz.parse_types([os.fspath(it) for it in paths]))
    types: _Types = _ByName()
    for it in described:
        types[it["name"]] = _enum(it, types) if it["kind"] == "enum" else _struct(it, types, numpy)
    return types


class _ByName(Dict[str, Any]):
    """Types by their names; the error of a missing one says which there are."""

    def __missing__(self, name: str) -> Any:
        raise KeyError(f"there is no type {name!r}; there are {', '.join(self) or 'none'}")


class Message:
    """The base of all classes of types."""

    _fields: ClassVar[Tuple["_Field", ...]] = ()
    _fingerprint: ClassVar[bytes] = b""
    _types: ClassVar[_Types] = {}
    __slots__ = ()

    def __init__(self, **members: Any) -> None:
        for field in self._fields:
            value = members.pop(field.name, None)
            setattr(self, field.name, field.default(self._types) if value is None else value)
        if members:
            names = ", ".join(it.name for it in self._fields)
            raise TypeError(f"{type(self).__name__} has no member {next(iter(members))!r}; it has {names}")

    def encode(self) -> bytes:
        """LCM's bytes: the fingerprint of the type, then the members."""
        out: List[bytes] = [self._fingerprint]
        self._put(out)
        return b"".join(out)

    @classmethod
    def decode(cls, payload: bytes) -> "Message":
        """The message in these bytes; raises Error where they are of another type, too few or too many."""
        if payload[:8] != cls._fingerprint:
            raise Error(f"the message is not of the type {cls.__name__}; see `kadenz msg spy` for what comes")
        try:
            message, end = cls._get(payload, 8)
        except (struct.error, IndexError, UnicodeDecodeError) as cause:
            raise Error(f"the message is not a valid {cls.__name__}: {cause}") from None
        if end != len(payload):
            raise Error(f"the message has {len(payload) - end} bytes more than a {cls.__name__}")
        result: Message = message
        return result

    def _put(self, out: List[bytes]) -> None:
        lengths: Dict[str, int] = {}
        for field in self._fields:
            field.measure(getattr(self, field.name), lengths)
        for field in self._fields:
            value = lengths.get(field.name) if field.is_length else None
            field.put(getattr(self, field.name) if value is None else value, out, lengths)

    @classmethod
    def _get(cls, payload: bytes, at: int) -> Tuple[Any, int]:
        message = cls.__new__(cls)
        for field in cls._fields:
            value, at = field.get(message, payload, at)
            setattr(message, field.name, value)
        return message, at

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return all(_same(getattr(self, it.name), getattr(other, it.name)) for it in self._fields)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        members = ", ".join(f"{it.name}={getattr(self, it.name)!r}" for it in self._fields)
        return f"{type(self).__name__}({members})"


def _same(one: Any, other: Any) -> bool:
    equal = one == other
    return bool(equal.all()) if hasattr(equal, "all") else bool(equal)


class _Field:
    """A member and its encoding."""

    def __init__(self, described: Dict[str, Any], types: _Types, numpy: bool) -> None:
        self.name: str = described["name"]
        self.is_length: bool = described["is_length"]
        self.dimensions: List[Any] = described["dimensions"]
        self.primitive = described["of"].get("primitive")
        self.named = described["of"].get("named")
        self.types = types
        self.letter = _LETTERS.get(self.primitive)
        self.one = struct.Struct(">" + self.letter) if self.letter else None
        # An array of LCM's byte is Python's bytes.
        is_numbers = self.letter is not None and self.primitive != "byte"
        self.numpy = numpy and is_numbers and bool(self.dimensions)

    def default(self, types: _Types) -> Any:
        def of(dimensions: List[Any]) -> Any:
            if dimensions:
                first = dimensions[0]
                return [of(dimensions[1:]) for _ in range(first)] if isinstance(first, int) else []
            if self.named:
                return types[self.named]._default()
            return {"string": "", "boolean": False, "float": 0.0, "double": 0.0}.get(self.primitive, 0)

        if self.numpy:
            return _numpy().zeros([it if isinstance(it, int) else 0 for it in self.dimensions], self._dtype().newbyteorder("="))
        if self.primitive == "byte" and len(self.dimensions) == 1:
            first = self.dimensions[0]
            return bytes(first if isinstance(first, int) else 0)
        return of(self.dimensions)

    def measure(self, value: Any, lengths: Dict[str, int]) -> None:
        """Notes the length of the array, for the members that hold it."""
        for dimension in self.dimensions:
            if isinstance(dimension, str):
                found = len(value)
                if lengths.setdefault(dimension, found) != found:
                    raise Error(f"{self.name} has {found} elements where another array of {dimension} has {lengths[dimension]}")
            if len(value) == 0:
                return
            value = value[0]

    def put(self, value: Any, out: List[bytes], lengths: Dict[str, int]) -> None:
        if not self.dimensions:
            self._put_one(value, out)
            return
        sizes = [it if isinstance(it, int) else lengths.get(it, 0) for it in self.dimensions]
        if self.letter and hasattr(value, "dtype"):
            out.append(self._bytes_of(value, sizes))
        else:
            self._put_array(value, sizes, out)

    def _dtype(self) -> Any:
        return _numpy().dtype("?" if self.primitive == "boolean" else f">{self.letter}")

    def _bytes_of(self, value: Any, sizes: List[int]) -> bytes:
        """The encoding of an array of numpy."""
        if list(value.shape) != sizes:
            raise Error(f"{self.name} has the shape {value.shape}, and needs {tuple(sizes)}")
        try:
            cast = value.astype(self._dtype(), casting="same_kind", copy=False)
        except TypeError as cause:
            raise Error(f"{self.name}: {cause}") from None
        if cast.dtype.kind in "iu" and (cast != value).any():
            raise Error(f"{self.name} has a number that {self.primitive} cannot hold")
        encoded: bytes = cast.tobytes()
        return encoded

    def _put_array(self, value: Any, sizes: List[int], out: List[bytes]) -> None:
        if len(value) != sizes[0]:
            raise Error(f"{self.name} has {len(value)} elements, and needs {sizes[0]}")
        if len(sizes) > 1:
            for element in value:
                self._put_array(element, sizes[1:], out)
        elif self.primitive == "byte" and isinstance(value, (bytes, bytearray, memoryview)):
            out.append(bytes(value))
        elif self.letter:
            try:
                out.append(struct.pack(f">{sizes[0]}{self.letter}", *value))
            except struct.error as cause:
                raise Error(f"{self.name}: {cause}") from None
        else:
            for element in value:
                self._put_one(element, out)

    def _put_one(self, value: Any, out: List[bytes]) -> None:
        if self.one:
            try:
                out.append(self.one.pack(value))
            except struct.error as cause:
                raise Error(f"{self.name}: {cause}") from None
        elif self.primitive == "string":
            text = value.encode()
            out.append(struct.pack(">i", len(text) + 1) + text + b"\0")
        else:
            self.types[self.named]._put_value(value, out)

    def get(self, message: Any, payload: bytes, at: int) -> Tuple[Any, int]:
        if not self.dimensions:
            return self._get_one(payload, at)
        sizes = [it if isinstance(it, int) else getattr(message, it) for it in self.dimensions]
        return self._view(payload, at, sizes) if self.numpy else self._get_array(payload, at, sizes)

    def _view(self, payload: bytes, at: int, sizes: List[int]) -> Tuple[Any, int]:
        """An array of numpy over the bytes."""
        count, dtype = math.prod(sizes), self._dtype()
        end = at + count * dtype.itemsize
        if min(sizes) < 0 or end > len(payload):
            raise IndexError(f"{self.name} is cut off")
        return _numpy().frombuffer(payload, dtype, count, at).reshape(sizes), end

    def _get_array(self, payload: bytes, at: int, sizes: List[int]) -> Tuple[Any, int]:
        count = sizes[0]
        if count < 0 or count > len(payload):
            raise IndexError(f"{self.name} claims {count} elements")
        if len(sizes) == 1 and self.letter:
            end = at + count * struct.calcsize(self.letter)
            if end > len(payload):
                raise IndexError(f"{self.name} is cut off")
            if self.primitive == "byte":
                return payload[at:end], end
            values = list(struct.unpack_from(f">{count}{self.letter}", payload, at))
            return ([it != 0 for it in values] if self.primitive == "boolean" else values), end
        values = []
        for _ in range(count):
            value, at = self._get_array(payload, at, sizes[1:]) if len(sizes) > 1 else self._get_one(payload, at)
            values.append(value)
        return values, at

    def _get_one(self, payload: bytes, at: int) -> Tuple[Any, int]:
        if self.one:
            value = self.one.unpack_from(payload, at)[0]
            return (value != 0 if self.primitive == "boolean" else value), at + self.one.size
        if self.primitive == "string":
            (length,) = struct.unpack_from(">i", payload, at)
            end = at + 4 + length
            if length < 1 or end > len(payload) or payload[end - 1] != 0:
                raise IndexError(f"{self.name} is cut off")
            return payload[at + 4 : end - 1].decode(), end
        value, at = self.types[self.named]._get(payload, at)
        return value, at


def _numpy() -> Any:
    # Imported only when needed: it takes longer to load than all of this package.
    import numpy

    return numpy


def _struct(described: Dict[str, Any], types: _Types, numpy: bool) -> type:
    fields = tuple(_Field(it, types, numpy) for it in described["members"])
    package, _, short = described["name"].rpartition(".")
    body: Dict[str, Any] = {
        "__doc__": "\n".join(described["doc"].splitlines()) or None,
        "__module__": package or "lcm",
        "__slots__": tuple(it.name for it in fields),
        "_fields": fields,
        "_fingerprint": described["fingerprint"].to_bytes(8, "big"),
        "_types": types,
        "_default": classmethod(lambda cls: cls()),
        "_put_value": staticmethod(lambda value, out: value._put(out)),
    }
    for name, text in described["constants"]:
        body[name] = float(text) if any(it in text for it in ".eE") and not text.lower().startswith("0x") else int(text, 0)
    return type(short, (Message,), body)


def _enum(described: Dict[str, Any], types: _Types) -> type:
    _, _, short = described["name"].rpartition(".")
    fingerprint = described["fingerprint"]

    def put(value: int, out: List[bytes]) -> None:
        out.append(struct.pack(">i", value))

    def get(payload: bytes, at: int) -> Tuple[Any, int]:
        return struct.unpack_from(">i", payload, at)[0], at + 4

    values = dict(described["values"])
    first = next(iter(values.values()), 0)
    body: Dict[str, Any] = {"_fingerprint": fingerprint.to_bytes(8, "big"), "_default": staticmethod(lambda: first)}
    body.update(values, _put_value=staticmethod(put), _get=staticmethod(get))
    return type(short, (), body)
