"""Writes what liblcm sends, datagram by datagram, into the files beside this one.

python3 -m venv v && v/bin/pip install lcm==1.5.3 && v/bin/python conformance/lcm-wire/make.py
"""

import pathlib
import socket
import struct
import lcm

GROUP, PORT = "239.255.76.68", 7687
# Name, channel, length of the payload; what counts is channel, NUL and payload together.
CASES = [
    ("empty", "EMPTY", 0),
    ("small", "SMALL", 200),
    ("longest-channel", "C" * 63, 10),
    ("short-65498", "EDGE", 65498 - 5),
    ("short-65499", "EDGE", 65499 - 5),
    ("long-65500", "EDGE", 65500 - 5),
    ("long-two-full", "EDGE", 2 * 65487 - 5),
    ("long-and-one-byte", "EDGE", 2 * 65487 + 1 - 5),
]


def payload(length):
    return bytes((at * 7 + at // 251) % 256 for at in range(length))


def capture():
    ear = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    ear.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    ear.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_000_000)
    ear.bind((GROUP, PORT))
    member = socket.inet_aton(GROUP) + struct.pack("=I", socket.INADDR_ANY)
    ear.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, member)
    return ear


def main():
    here = pathlib.Path(__file__).parent
    ear = capture()
    bus = lcm.LCM(f"udpm://{GROUP}:{PORT}?ttl=0")
    for name, channel, length in CASES:
        bus.publish(channel, payload(length))
        ear.settimeout(0.5)
        datagrams = []
        try:
            while True:
                datagrams.append(ear.recv(65536))
        except TimeoutError:
            pass
        with open(here / f"{name}.datagrams", "wb") as file:
            for datagram in datagrams:
                file.write(struct.pack(">I", len(datagram)) + datagram)
        print(name, [len(datagram) for datagram in datagrams])


main()
