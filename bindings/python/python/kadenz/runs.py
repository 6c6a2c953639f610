"""Finished runs, for numpy, pandas and matplotlib."""

from __future__ import annotations

import json
import os
from typing import Any, Iterable, Iterator, List, Optional, Union

import numpy

from . import _kadenz
from .types import PathLike

_NONE = numpy.iinfo(numpy.int64).min


def open_run(path: PathLike) -> "Run":
    """Opens a run folder, complete or not, or a file of another program that `kadenz import` takes."""
    return Run(_kadenz.open_run(os.fspath(path)))


class Comparison(List[str]):
    """The differences between two runs beyond chance, a sentence each.

    `failed` holds a sentence for each expression of `fail_if` that holds, and `undecided` one for each that the runs
    cannot decide, with the reason. Where both are empty, no limit was crossed.
    """

    def __init__(self, changes: list[str], failed: list[str], undecided: list[str]) -> None:
        super().__init__(changes)
        self.failed = failed
        self.undecided = undecided


def compare(
    baseline: Union["Run", PathLike], candidate: Union["Run", PathLike], *, fail_if: Union[str, Iterable[str]] = ()
) -> Comparison:
    """Compares two runs, or what `open_run` takes: the differences beyond chance, a sentence each.

    `fail_if` are expressions as of `kadenz compare --fail-if`:

        result = kadenz.compare("before", "after", fail_if=["control: p99 > 1.2x significantly", "misses > 0"])
        if result.failed or result.undecided:
            sys.exit("\\n".join(result.failed + result.undecided))
    """
    before, after = (it if isinstance(it, Run) else open_run(it) for it in (baseline, candidate))
    expressions = [fail_if] if isinstance(fail_if, str) else list(fail_if)
    return Comparison(*_kadenz.compare(before._run, after._run, expressions))


class Run:
    """A run: `run["lateness"].percentile(99.9)`. `facts` is the content of run.json; `warnings` hold what spoils it."""

    def __init__(self, run: "_kadenz.Run") -> None:
        self._run = run
        self.facts: dict[str, Any] = json.loads(run.facts())
        self.warnings: list[str] = run.warnings()
        self.series: dict[str, Series] = {it.name: Series(it) for it in run.series()}

    def __getitem__(self, name: str) -> "Series":
        try:
            return self.series[name]
        except KeyError:
            raise KeyError(f"the run has no series {name!r}; it has {', '.join(self.series)}") from None

    def __iter__(self) -> Iterator["Series"]:
        return iter(self.series.values())

    def to_pandas(self) -> Any:
        """A table with one row for each series: count, min, max, mean, percentiles, misses. Needs pandas."""
        import pandas  # type: ignore[import-untyped,unused-ignore]

        rows = {it.name: it.row() for it in self}
        return pandas.DataFrame.from_dict(rows, orient="index")


class Series:
    """A series of a run; values are nanoseconds, early ones negative."""

    def __init__(self, series: "_kadenz.Series") -> None:
        self._series = series
        self.name = series.name
        self.facts: dict[str, Any] = json.loads(series.facts())
        self.count: int = self.facts["count"]
        self.min_ns: Optional[int] = self.facts["min_ns"]
        self.max_ns: Optional[int] = self.facts["max_ns"]
        self.mean_ns: Optional[float] = self.facts["mean_ns"]

    def row(self) -> dict[str, Any]:
        """The figures of its row in a table."""
        row = {name: self.facts[name] for name in ("count", "min_ns", "max_ns", "mean_ns", "stddev_ns")}
        row.update(self.facts["percentiles"])
        deadline = self.facts.get("deadline")
        if deadline:
            row["misses"] = deadline["misses"]
        return row

    def percentile(self, percent: float) -> Optional[int]:
        """The value below or at which so many per cent lie; None where the sample is too small to carry it."""
        known: dict[str, Optional[int]] = self.facts["percentiles"]
        if f"{percent:g}" in known:
            return known[f"{percent:g}"]
        _, high, counts = self.histogram()
        total = int(counts.sum())
        above = total * (100.0 - percent) / 100.0
        if total == 0 or (percent < 100.0 and above < 1.0 - 1e-9 * total):
            return None
        place = int(numpy.searchsorted(numpy.cumsum(counts), total - above - 1e-9))
        return min(int(high[min(place, len(high) - 1)]), self.max_ns if self.max_ns is not None else _NONE)

    def histogram(self) -> tuple[numpy.ndarray, numpy.ndarray, numpy.ndarray]:
        """Of each non-empty bucket the lowest value, the highest, and the count."""
        low, high, counts = (numpy.frombuffer(it, dtype=numpy.int64) for it in self._series.histogram())
        return low, high, counts

    def intervals(self) -> dict[str, numpy.ndarray]:
        """The figures of each interval of the run: start_ns, count, misses, min_ns, max_ns, p50_ns, p99_ns.

        A percentile that an interval cannot carry is NaN. For pandas or polars: `pandas.DataFrame(series.intervals())`.
        """
        names = ("start_ns", "count", "misses", "min_ns", "max_ns", "p50_ns", "p99_ns")
        columns = dict(zip(names, (numpy.frombuffer(it, dtype=numpy.int64) for it in self._series.intervals())))
        for name in ("p50_ns", "p99_ns"):
            column = columns[name]
            columns[name] = numpy.where(column == _NONE, numpy.nan, column.astype(numpy.float64))
        return columns

    def __repr__(self) -> str:
        return f"<series {self.name}: {self.count} values>"
