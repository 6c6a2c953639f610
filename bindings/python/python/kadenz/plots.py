"""Figures of runs with matplotlib, one call each. Needs `pip install kadenz[plots]`.

    import kadenz.plots
    kadenz.plots.percentiles({"idle": idle["lateness"], "loaded": loaded["lateness"]})
"""

from __future__ import annotations

from typing import Any, Mapping, Optional, Union

import numpy

from .runs import Series

Many = Union[Series, Mapping[str, Series]]
_US = 1e3


def percentiles(series: Many, axes: Any = None) -> Any:
    """The value of each percentile, up to what the sample carries: 90 %, 99 %, 99.9 % at equal steps."""
    axes = _axes(axes)
    for name, it in _named(series):
        _, high, counts = it.histogram()
        above = 1.0 - numpy.cumsum(counts) / counts.sum()
        ends = numpy.maximum(above, 1.0 / counts.sum())
        axes.step(1.0 / ends, high / _US, where="pre", label=name)
    axes.set_xscale("log")
    steps = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000]
    axes.set_xticks(steps, ["0", "90", "99", "99.9", "99.99", "99.999", "99.9999"])
    axes.set_xlabel("percentile, %")
    return _finish(axes, series)


def over_time(series: Many, axes: Any = None) -> Any:
    """The largest value and the median of each interval, over the time of the run."""
    axes = _axes(axes)
    for name, it in _named(series):
        intervals = it.intervals()
        seconds = intervals["start_ns"] / 1e9
        (line,) = axes.plot(seconds, intervals["max_ns"] / _US, label=f"{name}, largest")
        axes.plot(seconds, intervals["p50_ns"] / _US, color=line.get_color(), alpha=0.5, label=f"{name}, median")
    axes.set_xlabel("time, s")
    return _finish(axes, series)


def histogram(series: Series, gaussian: bool = True, axes: Any = None, bins: int = 100) -> Any:
    """How often each value was measured, on a logarithmic scale, beside the Gaussian of the same mean and deviation,
    which shows what these two figures leave out."""
    axes = _axes(axes)
    low, high, counts = series.histogram()
    middle = (low + high) / 2 / _US
    heights, edges, _ = axes.hist(middle, bins=bins, weights=counts, log=True, label=series.name)
    deviation: Optional[float] = series.facts["stddev_ns"]
    if gaussian and deviation and series.mean_ns is not None:
        mean, deviation = series.mean_ns / _US, deviation / _US
        density = numpy.exp(-0.5 * ((edges - mean) / deviation) ** 2) / (deviation * numpy.sqrt(2 * numpy.pi))
        axes.plot(edges, density * counts.sum() * (edges[1] - edges[0]), label="Gaussian of the same mean and deviation")
    axes.set_ylim(bottom=0.5)
    axes.set_ylabel("values")
    axes.set_xlabel("us")
    axes.legend()
    return axes


def _axes(axes: Any) -> Any:
    if axes is None:
        from matplotlib import pyplot

        axes = pyplot.figure(layout="constrained").subplots()
    return axes


def _named(series: Many) -> list[tuple[str, Series]]:
    return [(series.name, series)] if isinstance(series, Series) else list(series.items())


def _finish(axes: Any, series: Many) -> Any:
    axes.set_ylabel("us")
    deadlines = {it.facts["deadline"]["limit_ns"] for _, it in _named(series) if it.facts.get("deadline")}
    for deadline in deadlines:
        axes.axhline(deadline / _US, color="black", linestyle="--", label="deadline")
    axes.legend()
    return axes
