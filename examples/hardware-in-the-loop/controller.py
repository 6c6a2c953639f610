"""Holds the arm at 1 rad, and records what messages cost it: controller.py RUN [URL]."""
import pathlib
import sys
import time

import kadenz

folder = sys.argv[1] if len(sys.argv) > 1 else "controller"
bus = kadenz.Bus(sys.argv[2] if len(sys.argv) > 2 else "udpm://239.255.76.67:7667?ttl=0")
arm = kadenz.load_types(pathlib.Path(__file__).with_name("arm.lcm"))
feedback_t, command_t = arm["arm.feedback_t"], arm["arm.command_t"]
feedback = bus.subscribe("FEEDBACK", feedback_t)
with kadenz.Recording(folder) as run:
    waits_ns, timeout_s = time.monotonic_ns(), 30.0
    while (received := feedback.receive(timeout=timeout_s)) is not None:
        run.record("receive", max(waits_ns, received.taken_ns), time.monotonic_ns())
        state, timeout_s = received.message, 1.0
        torque = 4.905 * 0.8415 + 40.0 * (1.0 - state.position) - 6.0 * state.velocity
        with run.time("publish"):
            bus.publish("COMMAND", command_t(number=state.number, sent_ns=state.sent_ns, torque=torque))
        waits_ns = time.monotonic_ns()
print(run.summary)
