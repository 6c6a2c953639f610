"""What the classes that `kadenz msg gen --lang python` writes have in common: LCM's encoding."""

from __future__ import annotations

import struct
from typing import Any, Callable, ClassVar, List, Tuple, Type, TypeVar, Union

__all__ = ["DecodeError", "EncodeError", "Message", "Reader"]

_T = TypeVar("_T", bound="Message")
_MAX_DEPTH = 128


class DecodeError(ValueError):
    """Bytes are not the message that was expected."""


class EncodeError(ValueError):
    """A message holds what its type cannot."""


class Reader:
    """Reads members one after the other, and takes no more memory than the bytes can carry."""

    __slots__ = ("at", "data", "depth", "free")

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0
        self.depth = 0
        # So many elements and rows may take no bytes.
        self.free = len(data) + 1024

    def unpack(self, layout: struct.Struct) -> Tuple[Any, ...]:
        """Numbers that follow each other."""
        values = layout.unpack_from(self.data, self.at)
        self.at += layout.size
        return values

    def take(self, name: str, count: int) -> bytes:
        """So many bytes."""
        end = self.at + count
        if count < 0:
            raise DecodeError(f"the length of {name} is {count}")
        if end > len(self.data):
            raise DecodeError(f"the message ends within {name}")
        found = self.data[self.at : end]
        self.at = end
        return found

    def text(self, name: str) -> str:
        """A string; what is not UTF-8 becomes U+FFFD."""
        found = self.take(name, int.from_bytes(self.take(name, 4), "big", signed=True))
        if found[-1:] != b"\0":
            raise DecodeError(f"the string {name} does not end with a NUL")
        return found[:-1].decode("utf-8", "replace")

    def numbers(self, name: str, letter: str, *sizes: int) -> Any:
        """An array of numbers; bytes stay bytes."""
        width = struct.calcsize(letter)
        if len(sizes) > 1:
            return self.rows(name, width, sizes, lambda count: self._row(name, letter, width, count))
        return self._row(name, letter, width, sizes[0])

    def _row(self, name: str, letter: str, width: int, count: int) -> Any:
        found = self.take(name, count * width)
        return found if letter == "B" else list(struct.unpack(f">{count}{letter}", found))

    def elements(self, name: str, least: int, sizes: Tuple[int, ...], one: Callable[[], Any]) -> Any:
        """An array of strings or messages, each of which takes so many bytes at least."""
        return self.rows(name, least, sizes, lambda count: [one() for _ in range(count)])

    def rows(self, name: str, least: int, sizes: Tuple[int, ...], row: Callable[[int], Any]) -> Any:
        """An array row by row, when the message has room for it."""
        if min(sizes) < 0:
            raise DecodeError(f"the length of {name} is {min(sizes)}")
        count = 1
        for size in sizes:
            if size == 0:
                least = 0
                break
            count *= size
        if sizes[0] == 0:
            return []
        if least == 0:
            self.free -= count
        if self.free < 0 or count * least > len(self.data) - self.at:
            raise DecodeError(f"{name} would have {count} elements, more than the message can hold")

        def of(left: Tuple[int, ...]) -> Any:
            if len(left) == 1:
                return row(left[0])
            return [of(left[1:]) for _ in range(left[0])]

        return of(sizes)

    def enter(self, name: str) -> None:
        """Goes into a message that may hold itself."""
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise DecodeError(f"{name} lies more than {_MAX_DEPTH} deep within itself, which is not followed")


def put_text(out: List[bytes], name: str, value: str) -> None:
    """Writes a string."""
    text = value.encode()
    if b"\0" in text:
        raise EncodeError(f"the string {name} holds a NUL, which would end it for every receiver")
    out.append(struct.pack(">i", len(text) + 1) + text + b"\0")


def put_numbers(out: List[bytes], name: str, value: Any, letter: str, *sizes: int) -> None:
    """Writes an array of numbers."""

    def row(values: Any) -> None:
        if letter == "B":
            out.append(bytes(values))
            return
        try:
            out.append(struct.pack(f">{len(values)}{letter}", *values))
        except struct.error as cause:
            raise EncodeError(f"{name}: {cause}") from None

    _put_rows(name, value, sizes, row)


def put_elements(out: List[bytes], name: str, value: Any, one: Callable[[Any], None], *sizes: int) -> None:
    """Writes an array of strings or messages."""

    def row(values: Any) -> None:
        for it in values:
            one(it)

    _put_rows(name, value, sizes, row)


def _put_rows(name: str, value: Any, sizes: Tuple[int, ...], row: Callable[[Any], None]) -> None:
    if len(value) != sizes[0]:
        raise EncodeError(f"{name} has {len(value)} elements, and needs {sizes[0]}")
    if len(sizes) == 1:
        row(value)
        return
    for it in value:
        _put_rows(name, it, sizes[1:], row)


def fill(count: int, one: Callable[[], Any]) -> List[Any]:
    """An array of a fixed length."""
    return [one() for _ in range(count)]


class Message:
    """What all messages have in common. Members are attributes."""

    __slots__ = ()
    _fingerprint: ClassVar[bytes] = b""
    _name: ClassVar[str] = ""

    def encode(self) -> bytes:
        """LCM's bytes: the fingerprint of the type, then the members; EncodeError where a member cannot be sent."""
        out: List[bytes] = [self._fingerprint]
        try:
            self._put(out)
        except EncodeError:
            raise
        except (struct.error, TypeError, AttributeError, ValueError, OverflowError) as cause:
            raise EncodeError(f"{self._name}: {cause}") from None
        return b"".join(out)

    @classmethod
    def decode(cls: Type[_T], payload: Union[bytes, bytearray, memoryview]) -> _T:
        """The message of these bytes; DecodeError where they are of another type, too few, too many or cannot be."""
        data = bytes(payload)
        if data[:8] != cls._fingerprint:
            raise DecodeError(f"the message is not of the type {cls._name}, or of another version of it")
        reader = Reader(data)
        reader.at = 8
        try:
            message = cls._get(reader)
        except struct.error:
            raise DecodeError(f"the message ends within {cls._name}") from None
        if reader.at != len(data):
            raise DecodeError(f"the message has {len(data) - reader.at} bytes more than a {cls._name}")
        return message

    def _put(self, out: List[bytes]) -> None:
        raise NotImplementedError

    @classmethod
    def _get(cls: Type[_T], reader: Reader) -> _T:
        raise NotImplementedError

    def _members(self) -> Tuple[str, ...]:
        members: Tuple[str, ...] = type(self).__slots__
        return members

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return all(_same(getattr(self, it), getattr(other, it)) for it in self._members())

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        members = ", ".join(f"{it}={getattr(self, it)!r}" for it in self._members())
        return f"{type(self).__name__}({members})"


def _same(one: Any, other: Any) -> bool:
    equal = one == other
    return bool(equal.all()) if hasattr(equal, "all") else bool(equal)
