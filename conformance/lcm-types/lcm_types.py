"""Messages by lcm-gen's Python code and Python's lcm, for types given as .lcm files.

    python lcm_types.py make  TYPES SEED   messages of all types, as JSON on standard output
    python lcm_types.py refuse FILE...     which of the files lcm-gen refuses, as JSON
    python lcm_types.py echo  TYPES        reads what `make` writes, and decodes and encodes it again

TYPES is a folder of .lcm files. lcm-gen is the one beside this Python.
"""

import importlib
import json
import math
import os
import pathlib
import random
import re
import struct
import subprocess
import sys
import tempfile

# lcm-gen goes on in the package of the file before, so files without a package come first.
def lcm_files(folder):
    files = [str(path) for path in pathlib.Path(folder).rglob("*.lcm")]
    return sorted(files, key=lambda path: (bool(re.search("^package", open(path).read(), re.M)), path))


def lcm_gen(files, into):
    program = os.path.join(os.path.dirname(sys.executable), "lcm-gen")
    command = [program, "--python", "--ppath", into, *files]
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


class Types:
    def __init__(self, folder):
        into = tempfile.mkdtemp()
        done = lcm_gen(lcm_files(folder), into)
        assert done.returncode == 0, done.stdout
        sys.path.insert(0, into)
        self.classes = {}
        for path in sorted(pathlib.Path(into).rglob("*.py")):
            name = ".".join(path.relative_to(into).with_suffix("").parts)
            if path.name != "__init__.py":
                module = importlib.import_module(name)
                self.classes[name] = getattr(module, name.split(".")[-1])
        for it in self.classes.values():
            if is_enum(it):
                # What lcm-gen writes for an enum has no default, and so cannot be a member.
                it.__init__.__defaults__ = (0,)

    def fingerprint(self, name):
        return "0x" + self.classes[name]._get_packed_fingerprint().hex()


def is_enum(it):
    return it.__slots__ == ["value"] and not hasattr(it, "__typenames__")


def names(enum):
    return {v: k for k, v in vars(enum).items() if isinstance(v, int) and not k.startswith("_")}


RANGES = {"int8_t": 8, "int16_t": 16, "int32_t": 32, "int64_t": 64}
TEXTS = ["", "a", "left knee", "größer 機械", "x" * 200, "line\nbreak\t\"quoted\\\""]


def single(value):
    return struct.unpack(">f", struct.pack(">f", value))[0]


class Maker:
    def __init__(self, types, seed, plain):
        self.types = types
        self.random = random.Random(seed)
        self.plain = plain

    def message(self, name, depth=0):
        it = self.types.classes[name]
        if is_enum(it):
            return it(self.random.choice([*names(it), 42]))
        message = it()
        sizes = {d for dims in it.__dimensions__ if dims for d in dims if isinstance(d, str)}
        for member, of, dims in zip(it.__slots__, it.__typenames__, it.__dimensions__):
            if member in sizes:
                value = 0 if self.plain or depth > 2 else self.random.randint(0, 3)
            else:
                shape = [getattr(message, d) if isinstance(d, str) else d for d in dims or []]
                value = self.value(of, shape, depth)
            setattr(message, member, value)
        return message

    def value(self, of, shape, depth):
        if shape:
            values = [self.value(of, shape[1:], depth) for _ in range(shape[0])]
            return bytes(values) if of == "byte" and len(shape) == 1 else values
        if of in RANGES:
            most = 2 ** (RANGES[of] - 1)
            choices = [-most, most - 1, -1, self.random.randrange(-most, most)]
            return 0 if self.plain else self.random.choice(choices)
        if of == "byte":
            return 0 if self.plain else self.random.choice([0, 127, 128, 255])
        if of in ("float", "double"):
            choices = [math.nan, math.inf, -math.inf, -0.0, 0.1, self.random.gauss(0, 1), 1e30]
            value = 0.0 if self.plain else self.random.choice(choices)
            return single(value) if of == "float" else value
        if of == "boolean":
            return False if self.plain else self.random.random() < 0.5
        if of == "string":
            return "" if self.plain else self.random.choice(TEXTS)
        return self.message(of, depth + 1)


def number(value, of):
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if of == "float":
        short = (float(f"{value:.{digits}g}") for digits in range(1, 18))
        return next(it for it in short if single(it) == value)
    return value


def to_json(types, value, of, shape):
    if 0 in shape:
        return []
    if shape:
        return [to_json(types, it, of, shape[1:]) for it in value]
    if of in ("float", "double"):
        return number(value, of)
    it = types.classes.get(of)
    if it is None:
        return bool(value) if of == "boolean" else value
    if is_enum(it):
        return names(it).get(value.value, value.value)
    members = {}
    for member, part, dims in zip(it.__slots__, it.__typenames__, it.__dimensions__):
        shape = [getattr(value, d) if isinstance(d, str) else d for d in dims or []]
        members[member] = to_json(types, getattr(value, member), part, shape)
    return members


def message_json(types, name, message):
    value = to_json(types, message, name, [])
    return {"type": name, "hex": message.encode().hex(), "value": value}


def make(folder, seed):
    types = Types(folder)
    messages = []
    for name in sorted(types.classes):
        for round in range(6):
            maker = Maker(types, f"{seed} {name} {round}", plain=round == 0)
            messages.append(message_json(types, name, maker.message(name)))
    fingerprints = {name: types.fingerprint(name) for name in sorted(types.classes)}
    return {"fingerprints": fingerprints, "messages": messages}


def echo(folder, given):
    types = Types(folder)
    messages = []
    for it in given["messages"]:
        message = types.classes[it["type"]].decode(bytes.fromhex(it["hex"]))
        messages.append(message_json(types, it["type"], message))
    return {"messages": messages}


def refuse(files):
    into = tempfile.mkdtemp()
    return {file: lcm_gen([file], into).returncode != 0 for file in files}


def main(command, *arguments):
    if command == "make":
        answer = make(arguments[0], arguments[1])
    elif command == "echo":
        answer = echo(arguments[0], json.load(sys.stdin))
    else:
        answer = refuse(arguments)
    json.dump(answer, sys.stdout, ensure_ascii=False, indent=1)
    print()


main(*sys.argv[1:])
