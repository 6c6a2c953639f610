"""What handing a frame over costs Python's main thread by the five methods of [Enner2017b], and without a copy: median of many, in
milliseconds, as JSON. What a method is given, a producer beside the main thread has prepared; it is not timed."""

import io
import json
import time

import numpy
from PIL import Image

import kadenz

SIZES = ("640x480", "1280x720", "1920x1080", "3840x2160")


def median_ms(call, most=100, most_s=1.0):
    spans, end = [], time.perf_counter() + most_s
    while len(spans) < most and (len(spans) < 3 or time.perf_counter() < end):
        begin = time.perf_counter()
        call()
        spans.append(time.perf_counter() - begin)
    return 1e3 * sorted(spans)[len(spans) // 2]


def methods(camera, picture):
    """By name, what is timed for one frame: an array of height x width (x 3) in columns."""
    rows = numpy.ascontiguousarray(picture)
    nested, interleaved = rows.astype(numpy.int8).tolist(), rows.tobytes()
    columns = picture.tobytes(order="F")
    jpeg = io.BytesIO()
    Image.fromarray(rows).save(jpeg, "JPEG")
    into = numpy.empty(picture.shape, numpy.uint8, order="F")
    return {
        "1 nested lists": lambda: numpy.array(nested, numpy.int8).view(numpy.uint8),
        "2 JPEG": lambda: numpy.asfortranarray(Image.open(jpeg)),
        "3 bytes of rows": lambda: numpy.asfortranarray(numpy.frombuffer(interleaved, numpy.uint8).reshape(rows.shape)),
        "4 bytes of columns": lambda: numpy.frombuffer(columns, numpy.uint8).reshape(picture.shape, order="F").copy(order="F"),
        "5 shared memory": lambda: camera.latest(max_age=60.0).copy(into),
        "viewed": lambda: camera.latest(max_age=60.0).pixels,
    }


def main():
    told = {}
    for layout in ("gray", "rgb"):
        for size in SIZES:
            with kadenz.Camera(f"test://{size}@10", layout=layout + "-column-major") as camera:
                picture = camera.next(timeout=20.0).copy()
                for name, call in methods(camera, picture).items():
                    told[f"{layout} {size}: {name}"] = median_ms(call)
    print(json.dumps(told))


main()
