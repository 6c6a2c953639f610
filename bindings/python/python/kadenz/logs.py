"""Logs of messages: LCM's event logs, MCAP, ROS bags."""

from __future__ import annotations

import os
import time
from typing import Any, Iterator, Mapping, NamedTuple, Optional, Type, Union

from . import _kadenz
from .types import Message, PathLike


class Logged(NamedTuple):
    """A message of a log. Times are nanoseconds since 1970."""

    channel: str
    message: Any  # bytes, or of the type that the channel has
    logged_ns: int
    published_ns: int
    type_name: Optional[str]  # as the log describes it


def read_log(
    path: PathLike, *, types: Optional[Mapping[str, Type[Message]]] = None, start_ns: Optional[int] = None
) -> Iterator[Logged]:
    """The messages of a log, from its start or from a time on.

        for it in kadenz.read_log("drive.mcap", types={"ARM": state_t}):
            print(it.channel, it.message)

    Damaged parts are passed over; raises Error where the file cannot be read.
    """
    log = _kadenz.Log(os.fspath(path))
    if start_ns is not None:
        log.seek(start_ns)
    types = types or {}
    while True:
        found = log.next()
        if found is None:
            return
        channel, payload, logged, published, name = found
        of = types.get(channel)
        yield Logged(channel, payload if of is None else of.decode(payload), logged, published, name)


class LogWriter:
    """A log that is written: MCAP where its name ends with .mcap, else LCM's event log. A context manager."""

    def __init__(self, path: PathLike) -> None:
        self._log = _kadenz.LogWriting(os.fspath(path))

    def write(self, channel: str, message: Union[bytes, Message], at_ns: Optional[int] = None) -> None:
        """Writes a message that came at a time, nanoseconds since 1970, or now."""
        payload = message if isinstance(message, bytes) else message.encode()
        self._log.write(channel, payload, time.time_ns() if at_ns is None else at_ns)

    def finish(self) -> None:
        """Completes the file. Without this the written messages stay readable."""
        self._log.finish()

    def __enter__(self) -> "LogWriter":
        return self

    def __exit__(self, *_raised: object) -> None:
        self.finish()
