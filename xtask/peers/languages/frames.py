"""What handing a frame over costs Python's main thread: median of many, in milliseconds, as JSON."""

import json
import time

import numpy

import kadenz

SIZES = ("640x480", "1280x720", "1920x1080", "3840x2160")


def main():
    told = {}
    for layout in ("gray", "rgb"):
        for size in SIZES:
            with kadenz.Camera(f"test://{size}@10", layout=layout + "-column-major") as camera:
                frame = camera.next(timeout=20.0)
                into = numpy.empty_like(frame.copy())
                spans = []
                while len(spans) < 100:
                    begin = time.perf_counter()
                    camera.latest(max_age=60.0).copy(into)
                    spans.append(time.perf_counter() - begin)
                    time.sleep(0.01)
            told[f"{layout} {size}"] = 1e3 * sorted(spans)[50]
    print(json.dumps(told))


main()
