"""The age of a simulated camera's frames once they stand in an array: by OpenCV, PyAV or GStreamer.

    peer.py WAY URL SECONDS [SLEEP_MS]

WAY is opencv, opencv-tuned, pyav, pyav-tuned, gstreamer or gstreamer-tuned. With SLEEP_MS the reader sleeps so long after each
frame. Prints {"first_ms": .., "ages_ns": [..], "unreadable": N}. The clock begins before the URL is opened; ages are from the time
painted into the picture (crates/kadenz-camera/src/barcode/mod.rs) to the array of height x width x 3.
"""
import json
import os
import sys
import time
import zlib

import numpy

COLUMNS, ROWS, DATA_COLUMN, DATA_COLUMNS, BYTES = 27, 15, 8, 11, 20
WHITENING = bytes((index * 0x9E3779B9 & 0xFFFFFFFF) >> 24 for index in range(1, BYTES + 1))


def painted_ns(picture, seen_ns):
    """When the picture was meant to be sent; None where no code can be read."""
    height, width = picture.shape[:2]
    cell = min(height // 66, width // 31) & ~1
    left = (width - (COLUMNS + 2) * cell) // 2
    top = height // 6 - (ROWS + 2) * cell // 2
    middle = cell + cell // 2
    rows = top + middle + cell * numpy.arange(ROWS)
    columns = left + middle + cell * (DATA_COLUMN + numpy.arange(DATA_COLUMNS))
    bits = picture[numpy.ix_(rows, columns)][..., 1].ravel()[: BYTES * 8] < 128
    data = bytes(a ^ b for a, b in zip(numpy.packbits(bits).tobytes(), WHITENING))
    if zlib.crc32(data[:16]) != int.from_bytes(data[16:], "big"):
        return None
    sent, period = int.from_bytes(data[4:12], "big"), int.from_bytes(data[12:16], "big") * 1000
    return sent + ((seen_ns - sent) // period * period if period and seen_ns > sent else 0)


def by_opencv(url, tuned):
    if tuned:
        os.environ["OPENCV_FFMPEG_CAPTURE_OPTIONS"] = "rtsp_transport;tcp|fflags;nobuffer|flags;low_delay"
    else:
        os.environ["OPENCV_FFMPEG_CAPTURE_OPTIONS"] = "rtsp_transport;tcp"
    import cv2

    capture = cv2.VideoCapture(url, cv2.CAP_FFMPEG)
    if tuned:
        capture.set(cv2.CAP_PROP_BUFFERSIZE, 1)
    while True:
        there, picture = capture.read()
        if not there:
            return
        yield picture


def by_pyav(url, tuned):
    import av

    options = {"rtsp_transport": "tcp"}
    if tuned:
        options |= {"fflags": "nobuffer", "flags": "low_delay"}
    container = av.open(url, options=options)
    stream = container.streams.video[0]
    stream.thread_type = "SLICE" if tuned else "AUTO"
    for frame in container.decode(stream):
        yield frame.to_ndarray(format="rgb24")


def by_gstreamer(url, tuned):
    import gi

    gi.require_version("Gst", "1.0")
    gi.require_version("GstApp", "1.0")
    from gi.repository import Gst, GstApp  # noqa: F401

    Gst.init(None)
    latency, sink = ("latency=0 ", "max-buffers=1 drop=true sync=false") if tuned else ("", "")
    pipeline = Gst.parse_launch(
        f"rtspsrc location={url} protocols=tcp {latency}! decodebin ! videoconvert ! "
        f"video/x-raw,format=RGB ! appsink name=sink {sink}"
    )
    pipeline.set_state(Gst.State.PLAYING)
    sink = pipeline.get_by_name("sink")
    while True:
        sample = sink.try_pull_sample(10 * Gst.SECOND)
        if sample is None:
            return
        shape = sample.get_caps().get_structure(0)
        height, width = shape.get_value("height"), shape.get_value("width")
        buffer = sample.get_buffer()
        there, memory = buffer.map(Gst.MapFlags.READ)
        stride = len(memory.data) // height
        rows = numpy.frombuffer(memory.data, numpy.uint8).reshape(height, stride)
        picture = rows[:, : width * 3].reshape(height, width, 3).copy()
        buffer.unmap(memory)
        yield picture


WAYS = {"opencv": by_opencv, "pyav": by_pyav, "gstreamer": by_gstreamer}


def main():
    way, url, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])
    sleep = float(sys.argv[4]) / 1000 if len(sys.argv) > 4 else 0
    name, _, tuned = way.partition("-")
    begin = time.monotonic()
    first, end, ages, unreadable = None, None, [], 0
    for picture in WAYS[name](url, tuned == "tuned"):
        seen = time.monotonic_ns()
        if first is None:
            first, end = time.monotonic() - begin, time.monotonic() + seconds
        sent = painted_ns(picture, seen)
        if sent is None:
            unreadable += 1
        else:
            ages.append(seen - sent)
        if time.monotonic() >= end:
            break
        if sleep:
            time.sleep(sleep)
    print(json.dumps({"first_ms": None if first is None else first * 1000, "ages_ns": ages, "unreadable": unreadable}))
    sys.stdout.flush()
    # Ends without the pipelines, which may hang.
    os._exit(0)


main()
