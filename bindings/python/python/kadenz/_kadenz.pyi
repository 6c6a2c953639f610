"""The extension module; the modules beside it hold the names for users."""

from typing import Any, Optional

from .types import Time

__version__: str

class Error(RuntimeError):
    """An error of Kadenz; its text names the cause and the remedy."""

class Bus:
    def __init__(self, url: Optional[str] = None) -> None: ...
    @property
    def url(self) -> str: ...
    def publish(self, channel: str, payload: bytes) -> None: ...
    def receive_in_background(self) -> None: ...
    def lost(self) -> int: ...
    def subscribe(self, pattern: str, queue: int = 30, newest: bool = True) -> Subscription: ...

class Received:
    channel: str
    payload: bytes
    sequence: Optional[int]
    kernel_ns: Optional[int]
    taken_ns: int

class Subscription:
    def receive(self, limit: Optional[Time] = None) -> Optional[Received]: ...
    def counts(self) -> tuple[int, int]: ...

class Camera:
    def __init__(self, name_or_url: str, layout: str, limit: Time) -> None: ...
    def latest(self, max_age: Time) -> Frame: ...
    def next(self, limit: Optional[Time]) -> Optional[Frame]: ...
    def memory(self) -> str: ...
    def generation(self) -> int: ...
    @property
    def name(self) -> str: ...

class Frame:
    count: int
    number: int
    offset: int
    width: int
    height: int
    channels: int
    is_column_major: bool
    age_ns: int
    captured_ns: Optional[int]
    arrival_ns: int
    published_ns: int
    missed: int
    is_damaged: bool

class Recording:
    def __init__(self, folder: str, samples: bool) -> None: ...
    def durations(self, name: str, deadline: Optional[Time]) -> Durations: ...
    def finish(self) -> str: ...

class Durations:
    """A series of durations: a context manager."""

    def __enter__(self) -> None: ...
    def __exit__(self, *_raised: object) -> None: ...
    def record(self, begin_ns: int, end_ns: int) -> None:
        """Records the span between two times of `time.monotonic_ns`."""
    def record_duration(self, duration: Time) -> None:
        """Records a duration that was measured elsewhere and ends now."""

class Tick:
    """One tick of a periodic loop."""

    @property
    def index(self) -> int:
        """Its number: 1 for the first; skipped ticks count."""
    @property
    def skipped(self) -> int:
        """Ticks that were skipped before it."""
    @property
    def step_s(self) -> float:
        """The time step: seconds since the tick before."""
    @property
    def lateness_ns(self) -> int:
        """How late the loop woke up."""

class Ticks:
    def __init__(
        self,
        rate: str,
        deadline: Optional[Time],
        priority: Optional[int],
        lock_memory: bool,
        cpus: Optional[str],
        recording: Optional[Recording],
        series: str,
    ) -> None: ...
    def next(self) -> Tick: ...
    def refused(self) -> list[str]: ...

class Run:
    def facts(self) -> str: ...
    def warnings(self) -> list[str]: ...
    def series(self) -> list[Series]: ...

class Series:
    @property
    def name(self) -> str: ...
    def facts(self) -> str: ...
    def histogram(self) -> list[bytes]: ...
    def intervals(self) -> list[bytes]: ...

def open_run(path: str) -> Run: ...
def compare(baseline: Run, candidate: Run, fail_if: list[str]) -> list[list[str]]: ...
def parse_types(paths: list[str]) -> str: ...

class Network:
    def __init__(
        self,
        segment: str,
        cycle: str,
        deadline: Optional[Time],
        priority: Optional[int],
        lock_memory: bool,
        esi: Optional[str],
    ) -> None: ...
    def input(self, device: str, index: int, subindex: int, type: Optional[str]) -> Value: ...
    def output(self, device: str, index: int, subindex: int, type: Optional[str]) -> Value: ...
    def start(self, recording: Optional[Recording]) -> None: ...
    def wait(self, after: int, limit: Optional[Time]) -> Optional[int]: ...
    def state(self) -> tuple[bool, int, int, int, int]: ...
    def stop(self) -> str: ...

class Value:
    """An input or output object of a device."""

    @property
    def value(self) -> Any:
        """The last value that the device sent, or that was set: an int, a float or a bool. Only outputs can be set."""
    @value.setter
    def value(self, value: Any) -> None: ...
    @property
    def is_fresh(self) -> bool:
        """Whether the device of an input took part in the last cycle."""

class Log:
    def __init__(self, path: str) -> None: ...
    def next(self) -> Optional[tuple[str, bytes, int, int, Optional[str]]]: ...
    def seek(self, unix_ns: int) -> None: ...

class LogWriting:
    def __init__(self, path: str) -> None: ...
    def write(self, channel: str, payload: bytes, unix_ns: int) -> None: ...
    def finish(self) -> None: ...
