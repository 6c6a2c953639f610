"""One-way latency of 200 bytes between two Python processes: messages.py CONTESTANT RATE_HZ SECONDS.

The sender stamps each message with time.monotonic_ns; the receiver, a process of its own, takes the difference as soon as it holds the
bytes. Each library is used as its own documentation says, with its defaults. Prints JSON: count, lost, p50 and p99 in nanoseconds.
"""

import json
import multiprocessing
import os
import struct
import sys
import tempfile
import time

SIZE = 200
UDPM = "udpm://239.255.76.67:{}?ttl=0"


class Kadenz:
    def __init__(self, url):
        import kadenz

        self.bus = kadenz.Bus(url)

    def receiver(self):
        subscription = self.bus.subscribe("X")
        return lambda: getattr(subscription.receive(2.0), "message", None)

    def sender(self):
        return lambda payload: self.bus.publish("X", payload)


class Lcm:
    def __init__(self, url):
        import lcm

        self.lcm = lcm.LCM(url)

    def receiver(self):
        came = []
        self.lcm.subscribe("X", lambda channel, data: came.append(data))

        def receive():
            while not came:
                if not self.lcm.handle_timeout(2000):
                    return None
            return came.pop()

        return receive

    def sender(self):
        return lambda payload: self.lcm.publish("X", payload)


class Zmq:
    def __init__(self, address):
        import zmq

        self.zmq, self.address = zmq, address

    def receiver(self):
        socket = self.zmq.Context.instance().socket(self.zmq.SUB)
        socket.setsockopt(self.zmq.SUBSCRIBE, b"")
        socket.setsockopt(self.zmq.RCVTIMEO, 2000)
        socket.connect(self.address)

        def receive():
            try:
                return socket.recv()
            except self.zmq.Again:
                return None

        return receive

    def sender(self):
        socket = self.zmq.Context.instance().socket(self.zmq.PUB)
        socket.bind(self.address)
        return socket.send


class Zenoh:
    def __init__(self, port, is_sender):
        import zenoh

        config = zenoh.Config()
        config.insert_json5("mode", '"peer"')
        config.insert_json5("scouting/multicast/enabled", "false")
        end = "listen" if is_sender else "connect"
        config.insert_json5(end + "/endpoints", json.dumps([f"tcp/127.0.0.1:{port}"]))
        self.session = zenoh.open(config)

    def receiver(self):
        subscriber = self.session.declare_subscriber("x")
        return lambda: bytes(subscriber.recv().payload)

    def sender(self):
        publisher = self.session.declare_publisher("x")
        return publisher.put


class CycloneDds:
    def __init__(self, domain):
        from dataclasses import dataclass

        import cyclonedds.idl as idl
        from cyclonedds.domain import DomainParticipant
        from cyclonedds.idl.types import sequence, uint8
        from cyclonedds.topic import Topic

        Bytes = dataclass(type("Bytes", (idl.IdlStruct,), {"__annotations__": {"data": sequence[uint8]}}), eq=True)
        self.type = Bytes
        self.participant = DomainParticipant(domain)
        self.topic = Topic(self.participant, "x", Bytes)

    def receiver(self):
        from cyclonedds.core import ReadCondition, SampleState, InstanceState, ViewState, WaitSet
        from cyclonedds.sub import DataReader

        reader = DataReader(self.participant, self.topic)
        waits = WaitSet(self.participant)
        waits.attach(ReadCondition(reader, SampleState.NotRead | ViewState.Any | InstanceState.Alive))

        def receive():
            while True:
                for sample in reader.take(N=1):
                    return bytes(sample.data)
                if not waits.wait(2_000_000_000):
                    return None

        return receive

    def sender(self):
        from cyclonedds.pub import DataWriter

        writer = DataWriter(self.participant, self.topic)
        return lambda payload: writer.write(self.type(data=payload))


def contestant(name, port, folder, is_sender):
    if name == "kadenz-udpm":
        return Kadenz(UDPM.format(port))
    if name == "kadenz-shm":
        return Kadenz(f"shm://bench{port}")
    if name == "kadenz-zmq":
        return Kadenz(f"zmq://{folder}/k")
    if name == "lcm":
        return Lcm(UDPM.format(port))
    if name == "pyzmq":
        return Zmq(f"ipc://{folder}/z")
    if name == "zenoh":
        return Zenoh(port, is_sender)
    if name == "cyclonedds":
        return CycloneDds(port % 200)
    sys.exit(f"{name} is not a contestant")


def receive(name, port, folder, count, told, ready):
    # Both live as long as the function: what a library opened closes with its object.
    library = contestant(name, port, folder, False)
    take = library.receiver()
    ready.set()
    latencies = []
    while True:
        payload = take()
        now = time.monotonic_ns()
        if payload is None:
            break
        number, sent = struct.unpack_from("<qq", payload)
        if number >= 0:
            latencies.append(now - sent)
        if number == count - 1:
            break
    told.send(latencies)


def main():
    name, rate, seconds = sys.argv[1], float(sys.argv[2]), float(sys.argv[3])
    count, interval = int(rate * seconds), 1.0 / rate
    port = 20000 + os.getpid() % 10000
    spawn = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder:
        told, tell = spawn.Pipe(False)
        ready = spawn.Event()
        # The sender first: it binds what the receiver connects to.
        library = contestant(name, port, folder, True)
        send = library.sender()
        other = spawn.Process(target=receive, args=(name, port, folder, count, tell, ready), daemon=True)
        other.start()
        ready.wait(30)
        # Discovery takes its time; what goes now is not counted.
        for _ in range(20):
            send(struct.pack("<qq", -1, 0) + bytes(SIZE - 16))
            time.sleep(0.05)
        next_s = time.monotonic()
        for number in range(count):
            next_s += interval
            time.sleep(max(0.0, next_s - time.monotonic()))
            send(struct.pack("<qq", number, time.monotonic_ns()) + bytes(SIZE - 16))
        latencies = sorted(told.recv()) if told.poll(10) else []
        other.terminate()
    if not latencies:
        sys.exit(f"{name}: nothing came")
    at = lambda share: latencies[min(len(latencies) - 1, int(share * len(latencies)))]
    print(json.dumps({"count": len(latencies), "lost": count - len(latencies), "p50_ns": at(0.5), "p99_ns": at(0.99)}))
    sys.stdout.flush()
    # Threads of libraries need not be waited for.
    os._exit(0)


if __name__ == "__main__":
    main()
