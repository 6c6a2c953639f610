"""Decodes each line `type hexadecimal-digits`, and encodes it again."""

import importlib
import sys

from kadenz_codec import EncodeError


def fields():
    from robot import arrays, primitives

    def load(small, text=""):
        return primitives(small=small, raw=200, single=0.5, text=text, yes=True)

    message = arrays(
        position=[1.0, 2.0, 3.0], matrix=[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], samples=[-7, 8],
        image=[b"\1\2", [3, 4], b"\5\xff"], names=["a", "größer"], flags=[True, False], labels=["x", ""],
        mixed=[[[0.5, 1.0, 1.5], [2.0, 2.5, 3.0]], [[3.5, 4.0, 4.5], [5.0, 5.5, 6.0]]],
        cube=[[[1, 2], [3, 4], [5, 6]], [[7, 8], [9, 10], [11, -(2**63)]]],
        some=[load(-5), load(0, "t")], pair=[load(1), load(2)], table=[["1", "2", "3"], ["4", "5", "6"]],
    )
    again = arrays.decode(bytearray(message.encode()))
    assert (again.n, again.m, again.image[2][0], again.mixed[1][0][2], again.cube[1][2][0]) == (2, 3, 5, 4.5, 11)
    assert again.some[1] == load(0, "t") and again.table[1][0] == "4" and again != message and arrays.AXES == 3
    for member, wrong in [("names", ["a"]), ("samples", [2**31, 0]), ("labels", ["\0", ""]), ("flags", None), ("m", "x")]:
        broken = arrays.decode(message.encode())
        broken.image = broken.cube = []
        broken.table = [[], []]
        setattr(broken, member, wrong)
        try:
            broken.encode()
        except EncodeError as error:
            assert member in str(error) or "arrays" in str(error), error
        else:
            assert member == "m", member
    for wrong in [load(0, "\ud800"), primitives(single=1e300), primitives(raw=-1), primitives(small="x")]:
        refused(wrong)
    message.image = [[300, 4]] * 3
    refused(message)
    message.image = again.image
    print(message.encode().hex())


def refused(message):
    try:
        message.encode()
    except EncodeError:
        return
    raise AssertionError(f"{message} was encoded")


for line in sys.stdin:
    if line == "fields\n":
        fields()
        break
    name, _, digits = line.rstrip("\n").partition(" ")
    package, _, short = name.rpartition(".")
    cls = getattr(importlib.import_module(package or short), short)
    try:
        message = cls.decode(bytes.fromhex(digits))
    except ValueError as error:
        print("refused:", error)
        continue
    try:
        assert message == message or "nan" in repr(message)
        print(message.encode().hex())
    except ValueError as error:
        print("not encoded:", error)
