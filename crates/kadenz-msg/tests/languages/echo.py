"""Decodes and encodes again what comes as `type hexadecimal-digits`."""

import importlib
import sys

for line in sys.stdin:
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
