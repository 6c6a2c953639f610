"""Puts the program into a wheel, so that pip installs it beside Python: add_program.py WHEEL PROGRAM."""

import base64
import hashlib
import os
import pathlib
import sys
import zipfile


def main(wheel: pathlib.Path, program: pathlib.Path) -> None:
    name, version = wheel.name.split("-")[:2]
    place, content = f"{name}-{version}.data/scripts/{program.name}", program.read_bytes()
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    record = f"{name}-{version}.dist-info/RECORD"
    whole = wheel.with_suffix(".tmp")
    with zipfile.ZipFile(wheel) as old, zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as new:
        for it in old.infolist():
            text = old.read(it)
            if it.filename == record:
                text += f"{place},sha256={digest},{len(content)}\n".encode()
            new.writestr(it, text, zipfile.ZIP_DEFLATED)
        about = zipfile.ZipInfo(place)
        about.external_attr = 0o100755 << 16
        new.writestr(about, content, zipfile.ZIP_DEFLATED)
    os.replace(whole, wheel)


main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
