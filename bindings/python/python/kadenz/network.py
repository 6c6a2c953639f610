"""EtherCAT: a loop in the background, and cached inputs and outputs."""

from __future__ import annotations

import os
import weakref
from typing import NamedTuple, Optional, Union

from . import _kadenz
from ._kadenz import Error, Value
from .loops import Recording
from .types import PathLike, Time


class NetworkState(NamedTuple):
    """The state of a network."""

    is_running: bool
    cycles: int
    lost: int  # frames of process data that did not come back in their cycle
    operational: int  # devices in OP
    devices: int


class Network:
    """A segment: "eth1" is an interface, "sim:59" a virtual segment, "sim:robot.toml" that of a file.

        net = kadenz.Network("sim:59", cycle="1kHz")
        actual, target = net.input("left knee", 0x6064), net.output("left knee", 0x607A)
        with net:
            for cycle in net.cycles():
                target.value = actual.value

    A thread of the library exchanges process data, supervises the devices and brings lost ones back, also while Python
    is busy; `value` is the last value of an input, or the value of an output from the next cycle on. Where the
    interpreter ends, a loop that still runs ends after its shutdown cycles, also while a daemon thread uses it.
    """

    def __init__(
        self,
        segment: str,
        *,
        cycle: str = "1kHz",
        deadline: Optional[Time] = None,
        priority: Optional[int] = None,
        lock_memory: bool = False,
        esi: Optional[PathLike] = None,
        record: Optional[Recording] = None,
    ) -> None:
        folder = None if esi is None else os.fspath(esi)
        self._record = record
        self._network = _kadenz.Network(segment, cycle, deadline, priority, lock_memory, folder)
        self._at_exit: Optional[weakref.finalize[[_kadenz.Network], Network]] = None

    def input(self, device: Union[str, int], index: int, subindex: int = 0, type: Optional[str] = None) -> Value:
        """An input object of a device, by the device's name or position. The type is the device's own, or "bool", "u8"
        to "u64", "i8" to "i64", "f32", "f64". Call it before `start`."""
        return self._network.input(str(device), index, subindex, type)

    def output(self, device: Union[str, int], index: int, subindex: int = 0, type: Optional[str] = None) -> Value:
        """An output object of a device, as `input`. It is zero until its `value` is set."""
        return self._network.output(str(device), index, subindex, type)

    def start(self) -> None:
        """Starts the loop; devices go to OP."""
        self._network.start(None if self._record is None else self._record._recording)
        self._at_exit = weakref.finalize(self, _end, self._network)

    def wait(self, after: int = 0, timeout: Optional[Time] = None) -> Optional[int]:
        """Waits for a cycle after that of this number; returns that of the last one, None where none came in time."""
        return self._network.wait(after, timeout)

    def cycles(self) -> "Cycles":
        """The numbers of cycles as they come, without those that came while Python was busy."""
        return Cycles(self)

    @property
    def state(self) -> NetworkState:
        """The network's state."""
        return NetworkState(*self._network.state())

    def stop(self) -> str:
        """Ends the loop after its shutdown cycles; returns its report. Raises Error where it ended by itself."""
        try:
            return self._network.stop()
        finally:
            # Not before: the interpreter may exit meanwhile.
            if self._at_exit is not None:
                self._at_exit.detach()

    def __enter__(self) -> "Network":
        self.start()
        return self

    def __exit__(self, *_raised: object) -> None:
        self.stop()


def _end(network: "_kadenz.Network") -> None:
    """Ends a loop that is not used any more, at the interpreter's end at the latest; it may have ended already."""
    try:
        network.stop()
    except Error:
        pass


class Cycles:
    """An endless iterator over the cycles of a network."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self._last = 0

    def __iter__(self) -> "Cycles":
        return self

    def __next__(self) -> int:
        cycle = self._network.wait(self._last)
        assert cycle is not None, "a wait without a timeout ends with a cycle or an error"
        self._last = cycle
        return cycle
