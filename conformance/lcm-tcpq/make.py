"""Writes what a client of LCM's TCP server says, from its greeting on, into the files beside this one.

python3 -m venv v && v/bin/pip install lcm==1.5.3 && v/bin/python conformance/lcm-tcpq/make.py
"""

import pathlib
import socket
import struct
import threading
import lcm

GREETING = struct.pack(">II", 0x287617FA, 0x0100)
HERE = pathlib.Path(__file__).parent


def said(body):
    """What a client says while `body` uses it."""
    server = socket.create_server(("127.0.0.1", 0))
    heard = bytearray()

    def hear():
        client, _ = server.accept()
        client.sendall(GREETING)
        while chunk := client.recv(65536):
            heard.extend(chunk)

    ear = threading.Thread(target=hear)
    ear.start()
    port = server.getsockname()[1]
    bus = lcm.LCM(f"tcpq://127.0.0.1:{port}")
    body(bus)
    del bus
    ear.join()
    return bytes(heard)


def publish(bus):
    for length in (0, 8, 200):
        bus.publish("POSE", bytes(at % 256 for at in range(length)))
    bus.publish("C" * 63, b"12345678")


def subscribe(bus):
    kept = bus.subscribe("POSE", lambda channel, data: None)
    ended = bus.subscribe("ARM_.*", lambda channel, data: None)
    bus.unsubscribe(ended)
    bus.publish("POSE", b"12345678")
    del kept


for name, body in (("publishes", publish), ("subscribes", subscribe)):
    (HERE / f"{name}.tcpq").write_bytes(said(body))
