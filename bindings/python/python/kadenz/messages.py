"""Messages between a robot's programs: bytes, or classes that are made of .lcm files."""

from __future__ import annotations

import asyncio
import os
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, AsyncIterator, Iterator, Optional, Protocol, Type, Union

from . import _kadenz
from .types import Message, Time, load_types

__all__ = ["Bus", "Coded", "Message", "Received", "Subscription", "load_types"]


class Coded(Protocol):
    """A message for a bus, of `load_types`, of `kadenz msg gen --lang python`, or of any class with both methods."""

    def encode(self) -> bytes:
        """The bytes."""

    @classmethod
    def decode(cls, payload: bytes, /) -> Any:
        """The message in these bytes, or an error."""


class Received:
    """A received message: `channel`, `message` (bytes, or of the subscribed type), and its times.

    `sequence` is the sender's number where the provider counts; `kernel_ns` and `taken_ns` are the times at which the
    kernel and this process had it complete, on the clock of `time.monotonic_ns`.
    """

    __slots__ = ("channel", "kernel_ns", "message", "sequence", "taken_ns")

    def __init__(self, received: "_kadenz.Received", message: Any) -> None:
        self.channel: str = received.channel
        self.message = message
        self.sequence: Optional[int] = received.sequence
        self.kernel_ns: Optional[int] = received.kernel_ns
        self.taken_ns: int = received.taken_ns

    def __repr__(self) -> str:
        return f"<{self.channel}: {self.message!r}>"


class Subscription:
    """Receives from the channels whose whole name a regular expression matches.

    Blocking, with a timeout, by `for received in subscription`, by `async for`, or the newest by `latest()`. A waiting
    call releases the interpreter's lock, and Ctrl-C ends it. One thread at a time receives; another one waits for it
    within its own timeout, and any may ask for `counts()` meanwhile. After an `async for` that was cancelled the next
    one goes on: no message is lost.
    """

    def __init__(self, subscription: "_kadenz.Subscription", type: Optional[Type[Coded]]) -> None:
        self._subscription = subscription
        self._type = type
        self._latest: Optional[Received] = None
        self._executor: Optional[ThreadPoolExecutor] = None
        self._waiting: Optional[Future[Optional[Received]]] = None

    def receive(self, timeout: Optional[Time] = None) -> Optional[Received]:
        """The next message; None where none came in that time, as 1.5 or "1500ms". 0 does not wait, None sets no limit.

        Raises Error where a message is not of the type, and therefore dropped, or where no message can come any more.
        """
        received = self._subscription.receive(timeout)
        if received is None:
            return None
        message: Any = received.payload
        if self._type is not None:
            message = self._type.decode(message)
        return Received(received, message)

    def latest(self) -> Optional[Received]:
        """The newest message so far, and the same again until a newer one comes.

        A program that computes for long between two calls needs `Bus.receive_in_background` for it.
        """
        while True:
            received = self.receive(0.0)
            if received is None:
                return self._latest
            self._latest = received

    def counts(self) -> dict[str, int]:
        """Numbers of received messages, and of those dropped because the queue was full."""
        received, dropped = self._subscription.counts()
        return {"received": received, "dropped": dropped}

    def __iter__(self) -> Iterator[Received]:
        while True:
            received = self.receive()
            if received is not None:
                yield received

    async def __aiter__(self) -> AsyncIterator[Received]:
        while True:
            waiting = self._wait()
            wrapped = asyncio.wrap_future(waiting)
            try:
                await asyncio.wait([wrapped])
            finally:
                # Where this task was cancelled the thread receives on: its message is that of the next iteration.
                wrapped.cancel()
            if self._waiting is waiting:
                self._waiting = None
                received = waiting.result()
                if received is not None:
                    yield received

    def _wait(self) -> Future[Optional[Received]]:
        """The wait of a thread for the next message; a short one, so that no thread is left behind without limit."""
        if self._executor is None:
            self._executor = ThreadPoolExecutor(1, "kadenz-receive")
        if self._waiting is None or self._waiting.cancelled():
            self._waiting = self._executor.submit(self.receive, 0.1)
        return self._waiting


class Bus:
    """A bus by its URL: udpm:// (LCM's multicast), tcpq://, shm://, zmq://, ros1://, memq:// and more.

        bus = kadenz.Bus("udpm://239.255.76.67:7667?ttl=0")
        arm = bus.subscribe("ARM", State)
        bus.publish("ARM", State(position=[1.0, 0.0, 0.0]))
        print(arm.receive(timeout=1.0).message.position)

    Without a URL it takes that of LCM_DEFAULT_URL, or LCM's multicast on this host. Any thread may use it.
    """

    def __init__(self, url: Optional[str] = None) -> None:
        self._bus = _kadenz.Bus(url)

    @property
    def url(self) -> str:
        """The URL it was opened with."""
        return self._bus.url

    def publish(self, channel: str, message: Union[bytes, Coded]) -> None:
        """Publishes bytes that are encoded already, or a message of a type."""
        self._bus.publish(channel, message if isinstance(message, bytes) else message.encode())

    def receive_in_background(self) -> None:
        """Receives on a thread of its own from now on, so that messages wait in the queues of their subscriptions.

        For programs that compute for long. Without it a thread that waits for a message receives for all subscriptions,
        which costs one wake-up less; meanwhile messages wait in the small buffers of the system or of the transport,
        which drop messages.
        """
        self._bus.receive_in_background()

    def lost(self) -> int:
        """The number of messages that were lost on the way to this bus, of all channels.

        Known by the numbers that senders give their messages, as over udpm://, shm:// and dds://, also those of
        unmodified LCM programs; 0 where they give none. What a full queue drops is in `Subscription.counts`. It
        interrupts the thread that receives: not for a loop.
        """
        return self._bus.lost()

    def subscribe(
        self, pattern: str, type: Optional[Type[Coded]] = None, *, queue: int = 30, keep: str = "newest"
    ) -> Subscription:
        """Subscribes bytes, or messages of a type. When `queue` messages wait, `keep` the "newest" or the "oldest".

        Messages come into the queue while a thread waits for one of the bus, or after `receive_in_background`.
        """
        if keep not in ("newest", "oldest"):
            raise ValueError(f"keep is {keep!r}; write 'newest' or 'oldest'")
        return Subscription(self._bus.subscribe(pattern, queue, keep == "newest"), type)

    def __enter__(self) -> "Bus":
        return self

    def __exit__(self, *_raised: object) -> None:
        del self._bus
