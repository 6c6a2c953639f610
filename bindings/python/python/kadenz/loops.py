"""Periodic loops, and the runs that they record."""

from __future__ import annotations

import itertools
import os
import threading
from typing import Iterator, Optional

from . import _kadenz
from ._kadenz import Durations, Error, Tick
from .types import PathLike, Time


class Recording:
    """A run that is being written, in a new or empty folder; `kadenz show FOLDER` and `open_run` read it.

    A context manager: its end finishes the run, also after an exception; one that came before the first series leaves
    nothing. Raises Error where the folder is not empty, or cannot be written.

    samples   keep each sample, with its time: 32 bytes a sample in memory until it is on disk. `kadenz export`, `kadenz
              modes` and the chart of a report over time need them; percentiles and misses do not
    """

    def __init__(self, folder: PathLike, *, samples: bool = False) -> None:
        self.folder = os.fspath(folder)
        self._recording = _kadenz.Recording(self.folder, samples)
        self._series: dict[str, Durations] = {}
        self._deadlines: dict[str, Optional[Time]] = {}
        self._lock = threading.Lock()
        self.summary: Optional[str] = None

    def time(self, name: str, deadline: Optional[Time] = None) -> Durations:
        """Measures `with` blocks, as a series of that name: `with run.time("control", "200us"): ...`

        Durations above the deadline count as missed; the first call for a name states it. Nested or concurrent blocks
        need names of their own. The result also records what was measured elsewhere: `record` and `record_duration`.
        """
        series = self._series.get(name)
        if series is None:
            with self._lock:
                # Another thread may have made it meanwhile, and its name can be taken once.
                series = self._series.get(name)
                if series is None:
                    self._deadlines[name] = deadline
                    series = self._series[name] = self._recording.durations(name, deadline)
        stated = self._deadlines[name]
        if deadline is not None and (stated is None or _kadenz.nanoseconds(deadline) != _kadenz.nanoseconds(stated)):
            raise Error(f"the series {name} has the deadline {stated}, not {deadline}; state it in the first call for it")
        return series

    def record(self, name: str, begin_ns: int, end_ns: int) -> None:
        """Records the span between two times of `time.monotonic_ns`."""
        self.time(name).record(begin_ns, end_ns)

    def record_duration(self, name: str, duration: Time) -> None:
        """Records a duration that was measured elsewhere and ends now: 0.00025 or "250us"."""
        self.time(name).record_duration(duration)

    def finish(self) -> str:
        """Ends the run. Returns a few lines: counts, percentiles, missed deadlines, warnings."""
        if self.summary is None:
            self.summary = self._recording.finish()
        return self.summary

    def __enter__(self) -> "Recording":
        return self

    def __exit__(self, raised: object, *_where: object) -> None:
        if raised is not None and os.listdir(self.folder) == ["run.json"]:
            self._recording.drop()
        else:
            self.finish()


class Periodic:
    """A loop at a rate with its unit: an endless iterator that sleeps until the next tick.

        for tick in kadenz.Periodic("250Hz", deadline="1ms"):
            position += velocity * tick.step_s

    The intended times are the start plus whole intervals: lateness does not add up. A loop that falls behind gets the
    latest tick that is due; `tick.skipped` counts the skipped ones and `tick.step_s` spans them.

    deadline     the limit of a wake-up's lateness, "400us" or 0.0004; a recording counts later ones as missed
    priority     SCHED_FIFO, 1 to 99; lock_memory, cpus ("2-3"): further settings of the machine. The loop runs without
                 a setting that the machine refuses: `refused()` returns it, with the remedy
    record       a Recording that gets the lateness of each tick, as a series named `series`
    """

    def __init__(
        self,
        rate: str,
        *,
        deadline: Optional[Time] = None,
        priority: Optional[int] = None,
        lock_memory: bool = False,
        cpus: Optional[str] = None,
        record: Optional[Recording] = None,
        series: str = "lateness",
    ) -> None:
        recording = None if record is None else record._recording
        self._ticks = _kadenz.Ticks(rate, deadline, priority, lock_memory, cpus, recording, series)

    def refused(self) -> list[str]:
        """The settings that the machine refused, with reason and remedy."""
        return self._ticks.refused()

    def take(self, count: int) -> Iterator[Tick]:
        """The next `count` ticks."""
        return itertools.islice(self, count)

    def __iter__(self) -> "Periodic":
        return self

    def __next__(self) -> Tick:
        return self._ticks.next()
