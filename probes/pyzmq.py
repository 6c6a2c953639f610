#!/usr/bin/env python3
"""ZeroMQ by pyzmq: PUB and SUB, a message of one frame; the publisher binds. URL: tcp://127.0.0.1:7672 or
ipc:///tmp/FILE"""
import kadenz_probe
import zmq

probe = kadenz_probe.open(f"pyzmq {zmq.pyzmq_version()} with libzmq {zmq.zmq_version()}")
context = zmq.Context()
end = context.socket(zmq.PUB if probe.publishes else zmq.SUB)
end.set_hwm(probe.queue)
end.linger = 1000
try:
    end.bind(probe.url) if probe.publishes else end.connect(probe.url)
except zmq.ZMQError as error:
    probe.fail(error)
if probe.publishes:
    probe.ready()
    for message in probe.messages():
        end.send(message)
        probe.sent()
else:
    end.subscribe(b"")
    end.rcvtimeo = 100
    probe.ready()
    while probe.waits():
        try:
            probe.received(end.recv())
        except zmq.Again:
            pass
end.close()
context.term()  # sends the waiting messages
probe.close()
