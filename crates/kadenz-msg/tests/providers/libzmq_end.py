"""The libzmq side of the tests of zmq://, through pyzmq.

python libzmq_end.py publish ADDRESS   binds; publishes until its standard input closes
python libzmq_end.py subscribe ADDRESS connects; prints the messages of ARM, one line per message
"""

import sys
import threading

import zmq

action, address = sys.argv[1:]
context = zmq.Context()
ended = threading.Event()
threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()

if action == "publish":
    socket = context.socket(zmq.PUB)
    socket.bind(address)
    count = 0
    while not ended.wait(0.01):
        socket.send_multipart([b"ARM_LEFT", b"%d" % count])
        socket.send_multipart([b"LEG", b"unwanted"])
        socket.send_multipart([b"ARM_LARGE", b"x" * 1_000_000])
        socket.send_multipart([b"ARM_EMPTY", b""])
        count += 1
else:
    socket = context.socket(zmq.SUB)
    socket.subscribe(b"ARM")
    socket.setsockopt(zmq.HEARTBEAT_IVL, 50)
    socket.connect(address)
    while not ended.is_set():
        if socket.poll(50):
            frames = socket.recv_multipart()
            print(len(frames), frames[0].decode(), len(frames[-1]), flush=True)
context.destroy(linger=0)
