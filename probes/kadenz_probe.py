"""A probe of `kadenz msg latency`, in one module of the standard library: the twin of `kadenz_probe.h`, which says what
a probe is.

    import kadenz_probe

    probe = kadenz_probe.open("my middleware 1.0")
    if probe.publishes:
        ...  # open a publisher at probe.url
        probe.ready()
        for message in probe.messages():
            probe.sent(send(message))
    else:
        ...  # subscribe
        probe.ready()
        while probe.waits():
            data = receive(timeout=0.1)
            if data is not None:
                probe.received(data)
    probe.close()
"""
import io
import os
import struct
import sys
import threading
import time

MESSAGE = struct.Struct(">QqqqqqI")
"""A message without its padding: fingerprint, run, sequence, intended, sent, before, bytes of padding."""
FINGERPRINT = 0xBD30F24F6A0EA620
GREETING = -1
GREETING_S = 0.005
HEAD_START_NS = 50_000_000
FLUSH_NS = 1_000_000_000
BLOCK = 1 << 16


def open(name):
    """Reads the task. `name` is the middleware and its version, as reports show it."""
    return Probe(name)


class Probe:
    """The task: `publishes`, `url`, `channel`, `bytes` of a message, `queue`; and the counts."""

    def __init__(self, name):
        # Unbuffered: a thread that waits in a buffered reader keeps the program from ending.
        self._orders = io.FileIO(0, closefd=False)
        words = self._orders.readline().decode().split()
        if words[:2] != ["kadenz-probe", "version=1"]:
            sys.exit("this is a probe: let `kadenz msg latency --with` start it")
        # Libraries may print to standard output.
        sys.stdout.flush()
        self._output = os.dup(1)
        os.dup2(2, 1)
        settings = dict(word.split("=", 1) for word in words[1:])
        self.name, self.publishes = name, settings["role"] == "publisher"
        self.url, self.channel = settings["url"], settings["channel"]
        self.bytes, self.queue, self._run = int(settings["bytes"]), int(settings["queue"]), int(settings["run"])
        self._interval, self._warm_up, self._count = (int(settings[it]) for it in ("interval_ns", "warm_up", "count"))
        self._message = bytearray(self.bytes)
        self._padding = self.bytes - MESSAGE.size
        self._paddings = [bytes([it]) * self._padding for it in range(256 if self.publishes else 0)]
        self._begun = self._ended = self._has_heard = self._has_received = False
        self._beat = self._published = self._refused = self._sequence = self._length = self._flushed_at = 0
        self._sent_at, self._before, self._lines = 0, -1, []
        if self._padding < 0:
            self.fail("a message has 52 bytes at least")
        threading.Thread(target=self._take_orders, daemon=True).start()

    def _take_orders(self):
        for line in self._orders:
            self._begun = self._begun or line == b"begin\n"
            if line == b"end\n":
                break
        self._ended = True

    def _line(self, text):
        self._lines.append(text)
        self._length += len(text) + 1
        if self._length > BLOCK - 1024:
            self._flush()

    def _flush(self):
        data = "".join(line + "\n" for line in self._lines).encode()
        while data:
            data = data[os.write(self._output, data):]
        self._lines, self._length, self._flushed_at = [], 0, time.monotonic_ns()

    def fail(self, why):
        """Reports why the probe cannot work, and ends the program with code 2."""
        self._line(f"error {' '.join(str(why).split())[:200]}")
        self._flush()
        os._exit(2)

    def note(self, text):
        """Reports a warning for the run."""
        self._line(f"note {' '.join(text.split())[:200]}")
        self._flush()

    def ready(self):
        """Call this when all is open, so that each message that comes is received."""
        self._line(f"ready {self.name}")
        self._flush()

    def _encode(self, sequence, intended):
        # The time of publishing is taken first, since encoding counts.
        self._sent_at = time.monotonic_ns()
        MESSAGE.pack_into(self._message, 0, FINGERPRINT, self._run, sequence, intended or self._sent_at, self._sent_at,
                          self._before, self._padding)
        self._message[MESSAGE.size:] = self._paddings[sequence & 0xFF]
        return self._message

    def messages(self):
        """Yields each message when it is due. Before the order to begin, a publisher sends a greeting every 5 ms. A late
        message keeps its own intended time."""
        while not self._begun and not self._ended:
            time.sleep(GREETING_S)
            self._before = -1
            yield self._encode(GREETING, 0)
        self._before, self._beat = -1, time.monotonic_ns() + HEAD_START_NS
        for self._sequence in range(-self._warm_up, self._count):
            if self._ended:
                return
            left = self._beat - time.monotonic_ns()
            if left > 0:
                time.sleep(left / 1e9)
            yield self._encode(self._sequence, self._beat)
            self._published += self._sequence >= 0
            self._beat += self._interval

    def sent(self, taken=True):
        """Call this after a message was handed over, or refused, with `taken` false."""
        self._before = time.monotonic_ns() - self._sent_at
        self._refused += bool(self._beat and self._sequence >= 0 and not taken)

    def waits(self):
        """Whether more is to be received. Call it in the loop, with a wait of 100 ms at most between two calls."""
        if self._lines and time.monotonic_ns() - self._flushed_at > FLUSH_NS:
            self._flush()
        has_received, self._has_received = self._has_received, False
        return has_received or not self._ended

    def received(self, data):
        """Takes a received message: decodes it, then takes the time, since decoding counts."""
        self._has_received = True
        is_probe = len(data) >= MESSAGE.size
        read = MESSAGE.unpack_from(data) if is_probe else (0,) * 7
        sequence = read[2]
        filled = sequence & 0xFF
        is_damaged = len(data) != self.bytes or self._padding and (data[MESSAGE.size] != filled or data[-1] != filled)
        now = time.monotonic_ns()
        if read[:2] != (FINGERPRINT, self._run):
            self._line("foreign")
        elif sequence >= 0:
            damaged = " damaged" if is_damaged else ""
            self._line(f"message {sequence} {read[3]} {read[4]} {read[5]} {now}{damaged}")
        elif not self._has_heard:
            self._has_heard = True
            self._line("heard")
            self._flush()

    def close(self):
        """Writes the rest of the lines."""
        if self.publishes:
            self._line(f"published {self._published} {self._refused}")
        self._flush()
