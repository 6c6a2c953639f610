"""The newest frame of a camera as a numpy array, without a copy."""

from __future__ import annotations

import mmap
import struct
from typing import Iterator, Optional

import numpy

from . import _kadenz
from ._kadenz import Error
from .types import Time


# The places of the ring's words, which docs/camera-ring.md describes.
_PIXELS, _GENERATION = 40, 96


def _word(memory: mmap.mmap, at: int) -> int:
    word: int = struct.unpack_from("<Q", memory, at)[0]
    return word


class Frame:
    """A frame in shared memory.

    `pixels` is a read-only array of height x width x 3, or of height x width where it is gray, in the order of the
    layout. The camera overwrites it some frames later: `copy` it, or check after use whether it `is_valid`.
    """

    def __init__(self, memory: mmap.mmap, frame: "_kadenz.Frame", pixels: numpy.ndarray) -> None:
        self._memory, self._count = memory, frame.count
        self._slot: int = frame.offset - _word(memory, _PIXELS)
        self.pixels = pixels
        self.number: int = frame.number
        self.age_s: float = frame.age_ns / 1e9
        self.captured_ns: Optional[int] = frame.captured_ns
        self.arrival_ns: int = frame.arrival_ns
        self.missed: int = frame.missed
        self.is_damaged: bool = frame.is_damaged

    @property
    def is_valid(self) -> bool:
        """Whether the camera has not begun to overwrite it."""
        return _word(self._memory, self._slot) == 2 * self._count

    def copy(self, into: Optional[numpy.ndarray] = None) -> numpy.ndarray:
        """A copy that lasts; `into` an array of the same shape, which saves the memory.

        Raises Error where the camera overwrote the frame meanwhile.
        """
        if into is None:
            into = numpy.empty_like(self.pixels)
        numpy.copyto(into, self.pixels)
        if not self.is_valid:
            raise Error("the frame was overwritten while it was copied; take the newest one and copy it at once")
        return into


class Camera:
    """A camera by the name under which `kadenz camera serve` serves it, or by its URL.

        with kadenz.Camera("rtsp://10.0.0.20/stream1", layout="bgr") as camera:
            frame = camera.latest(max_age=0.1)

    layout   rgb, bgr, gray (rows); rgb-column-major ... (planes of columns); rgb[640x480+100+50], gray@960x540
    timeout  how long to wait for the first frame, as 10.0 or "10s"

    The handle stays valid while the camera reboots, changes its size, or its server restarts. One thread at a time
    takes frames; any thread may use a frame.
    """

    def __init__(self, name_or_url: str, layout: str = "rgb", timeout: Time = 10.0) -> None:
        self._camera = _kadenz.Camera(name_or_url, layout, timeout)
        self._generation: Optional[int] = None
        self._memory: Optional[mmap.mmap] = None

    @property
    def name(self) -> str:
        """The camera's name, by which other processes open it."""
        return self._camera.name

    def latest(self, max_age: Time) -> Frame:
        """The newest frame; raises Error where it is older than `max_age`, as 0.1 or "100ms"."""
        return self._lend(self._camera.latest(max_age))

    def next(self, timeout: Optional[Time] = None) -> Optional[Frame]:
        """The newest frame that was not returned yet, waiting for it; None where none came in time."""
        frame = self._camera.next(timeout)
        return None if frame is None else self._lend(frame)

    def __iter__(self) -> Iterator[Frame]:
        while True:
            frame = self.next()
            if frame is not None:
                yield frame

    def _lend(self, frame: "_kadenz.Frame") -> Frame:
        generation = self._camera.generation()
        if generation != self._generation or self._memory is None:
            with open(self._camera.memory(), "rb") as file:
                memory = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
            if _word(memory, _GENERATION) != generation:
                raise Error("the camera was restarted meanwhile; take the next frame")
            self._memory, self._generation = memory, generation
        count = frame.width * frame.height * frame.channels
        pixels = numpy.frombuffer(self._memory, numpy.uint8, count, frame.offset)
        if frame.is_column_major:
            pixels = pixels.reshape(frame.channels, frame.width, frame.height).transpose(2, 1, 0)
        else:
            pixels = pixels.reshape(frame.height, frame.width, frame.channels)
        if frame.channels == 1:
            pixels = pixels[:, :, 0]
        return Frame(self._memory, frame, pixels)

    def close(self) -> None:
        """Ends the camera's threads, or tells its server that this client wants no more frames."""
        del self._camera
        self._memory = None

    def __enter__(self) -> "Camera":
        return self

    def __exit__(self, *_raised: object) -> None:
        self.close()
