"""Kadenz: periodic loops, messages, cameras, and runs that say whether deadlines were kept.

    import kadenz

    with kadenz.Recording("run") as run:
        for tick in kadenz.Periodic("1kHz", deadline="400us", record=run).take(1000):
            with run.time("control"):
                ...

Times are seconds, or a text with its unit, where you state them and nanoseconds of `time.monotonic_ns` where they are measured.
"""

from typing import Any

from ._kadenz import Error, Tick, __version__
from .logs import Logged, LogWriter, read_log
from .loops import Periodic, Recording
from .messages import Bus, Message, Received, Subscription, load_types
from .network import Network, NetworkState
from .runs import Comparison, Run, Series, compare, open_run

__all__ = [
    "Bus", "Camera", "Comparison", "Error", "Frame", "LogWriter", "Logged", "Message", "Network", "NetworkState", "Periodic",
    "Received", "Recording", "Run", "Series", "Subscription", "Tick", "__version__", "compare", "load_types", "open_run", "read_log",
]


def __getattr__(name: str) -> Any:
    # Cameras need numpy, and Linux's shared memory.
    if name in ("Camera", "Frame"):
        from . import cameras

        return getattr(cameras, name)
    raise AttributeError(f"module 'kadenz' has no attribute {name!r}")
