"""Planes of columns by OpenCV: split and transpose of a BGR image that is there, and the same with its conversion
from yuv420p before. Prints first deciles in nanoseconds: {"split":{"480p":..},"whole":{..},"gray":{..}}.

    peer.py MILLISECONDS      for each size and way
"""
import json
import sys
import time

import cv2
import numpy

SIZES = {"480p": (640, 480), "720p": (1280, 720), "1080p": (1920, 1080), "4K": (3840, 2160)}


def noise(*shape):
    return numpy.arange(numpy.prod(shape), dtype=numpy.uint32).astype(numpy.uint8).reshape(shape)


def ways(width, height):
    """What each way does, into memory that is there."""
    yuv, bgr = noise(height * 3 // 2, width), noise(height, width, 3)
    rows = [noise(height, width) for _ in range(3)]
    columns = [noise(width, height) for _ in range(3)]
    luma = yuv[:height]

    def split():
        cv2.split(bgr, rows)
        for plane in range(3):
            cv2.transpose(rows[2 - plane], columns[plane])

    def whole():
        cv2.cvtColor(yuv, cv2.COLOR_YUV2BGR_I420, bgr)
        split()

    def gray():
        cv2.transpose(luma, columns[0])

    return {"split": split, "whole": whole, "gray": gray}


def measure(way, budget):
    way()
    times = []
    end = time.monotonic() + budget
    while len(times) < 5 or time.monotonic() < end:
        start = time.perf_counter_ns()
        way()
        times.append(time.perf_counter_ns() - start)
    return sorted(times)[len(times) // 10]


def main():
    cv2.setNumThreads(1)
    budget = float(sys.argv[1] if len(sys.argv) > 1 else 200) / 1000
    answer = {"split": {}, "whole": {}, "gray": {}}
    for name, size in SIZES.items():
        for way, run in ways(*size).items():
            answer[way][name] = measure(run, budget)
    print(json.dumps(answer))


main()
