"""Writes what a publisher and a subscriber of libzmq say to each other into the files beside this one.

python3 -m venv v && v/bin/pip install pyzmq==27.3.0 && v/bin/python conformance/zmtp/make.py
"""

import pathlib
import socket
import threading
import time
import zmq

HERE = pathlib.Path(__file__).parent


def carry(source, sink, heard):
    while chunk := source.recv(65536):
        heard.extend(chunk)
        sink.sendall(chunk)
    sink.shutdown(socket.SHUT_WR)


def main():
    context = zmq.Context()
    publisher = context.socket(zmq.PUB)
    port = publisher.bind_to_random_port("tcp://127.0.0.1")
    between = socket.create_server(("127.0.0.1", 0))
    subscriber = context.socket(zmq.SUB)
    subscriber.subscribe(b"POSE")
    subscriber.connect(f"tcp://127.0.0.1:{between.getsockname()[1]}")
    one, _ = between.accept()
    other = socket.create_connection(("127.0.0.1", port))
    said = {"subscriber": bytearray(), "publisher": bytearray()}
    ways = [(one, other, said["subscriber"]), (other, one, said["publisher"])]
    threads = [threading.Thread(target=carry, args=way) for way in ways]
    for thread in threads:
        thread.start()
    time.sleep(0.5)
    for length in (0, 8, 300):
        body = bytes(at % 256 for at in range(length))
        publisher.send_multipart([b"POSE", body])
        subscriber.recv_multipart()
    subscriber.subscribe(b"ARM")
    subscriber.unsubscribe(b"POSE")
    time.sleep(0.5)
    context.destroy(linger=0)
    for thread in threads:
        thread.join()
    for who, words in said.items():
        (HERE / f"{who}.zmtp").write_bytes(words)


main()
