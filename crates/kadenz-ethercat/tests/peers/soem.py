"""A session of SOEM with a humanoid, by pysoem: from INIT to OP with clocks, process data and objects.

soem.py INTERFACE DEVICES prints one line of JSON with the results.
"""
import json
import struct
import sys
import time

import pysoem

# The vendor of the drives: the letters KADZ.
VENDOR = 0x4B41445A
# Following error time out: an object that may be written and moves nothing.
WINDOW_TIME = 0x6066
CYCLE_NS = 2_000_000
# The travel of a drive: steps, and increments per step.
STEPS, COUNTS = 200, 20
TOGETHER_NS = 1_000
SWITCHED_OFF, READY, SWITCHED_ON, ENABLED = 0x40, 0x21, 0x23, 0x27
# A busy computer answers late, which is not a fault of the code under test.
TIMEOUT_US = 500_000
TIMEOUT_S = 20.0


def exchange(master):
    master.send_processdata()
    return master.receive_processdata(TIMEOUT_US)


def is_drive(device):
    return device.man == VENDOR and device.id == 0x04020001


def objects(drive, seen):
    seen["vendor"] = struct.unpack("<I", drive.sdo_read(0x1018, 1))[0]
    drive.sdo_write(WINDOW_TIME, 0, struct.pack("<H", 0x1234))
    seen["written_back"] = struct.unpack("<H", drive.sdo_read(WINDOW_TIME, 0))[0]
    try:
        drive.sdo_read(0x5FFF, 0)
    except pysoem.SdoError as error:
        seen["refused"] = error.abort_code


def difference_ns(device):
    """The magnitude of register 0x092C (sign and magnitude); None for a device without clocks."""
    try:
        raw = struct.unpack("<I", device._fprd(0x092C, 4, TIMEOUT_US))[0]
    except pysoem.WkcError:
        return None
    return raw & 0x7FFFFFFF


def clocks(device):
    """Registers 0x0920, 0x0928 and 0x092C: offset, delay and difference; None for a device without clocks."""
    try:
        raw = device._fprd(0x0920, 16, TIMEOUT_US)
    except pysoem.WkcError:
        return None
    return list(struct.unpack("<QII", raw))


def aligned(master, seen):
    until = time.monotonic() + TIMEOUT_S
    while time.monotonic() < until:
        for _ in range(20):
            exchange(master)
            time.sleep(0.001)
        all_ns = [difference_ns(it) for it in master.slaves]
        seen["greatest_difference_ns"] = max(it for it in all_ns if it is not None)
        if seen["greatest_difference_ns"] < TOGETHER_NS:
            return


def to_op(master, seen):
    master.state = pysoem.OP_STATE
    exchange(master)
    master.write_state()
    until = time.monotonic() + TIMEOUT_S
    while time.monotonic() < until:
        exchange(master)
        if master.state_check(pysoem.OP_STATE, 2_000) == pysoem.OP_STATE:
            break
    master.read_state()
    seen["in_op"] = sum(it.state == pysoem.OP_STATE for it in master.slaves)


def controlword(status):
    state = status & 0x6F
    return {SWITCHED_OFF: 0x06, READY: 0x07, SWITCHED_ON: 0x0F, ENABLED: 0x0F}.get(state, 0x80)


def moved(master, drive, seen):
    """Enables the drive and moves it, a little further each cycle; then the drive comes to rest."""
    start = steps = 0
    until = time.monotonic() + TIMEOUT_S
    while time.monotonic() < until and steps < 2 * STEPS:
        seen["working_counter"] = exchange(master)
        status, position = struct.unpack_from("<Hi", drive.input)
        if status & 0x6F == ENABLED:
            steps += 1
        else:
            start = position
        seen["asked"] = COUNTS * min(steps, STEPS)
        seen["moved"] = position - start
        drive.output = struct.pack("<Hih", controlword(status), start + seen["asked"], 0)
        time.sleep(0.001)


def session(interface, devices):
    master = pysoem.Master()
    master.open(interface)
    try:
        return seen_by(master, devices)
    finally:
        master.close()


def seen_by(master, devices):
    seen = {"devices": master.config_init()}
    if seen["devices"] < devices:
        raise LateError
    drive = next(it for it in master.slaves if is_drive(it))
    master.config_map()
    seen["has_clocks"] = bool(master.config_dc())
    for device in master.slaves:
        device.set_watchdog("processdata", 0)
    objects(drive, seen)
    seen["in_safeop"] = master.state_check(pysoem.SAFEOP_STATE, 5_000_000) == pysoem.SAFEOP_STATE
    aligned(master, seen)
    for device in filter(is_drive, master.slaves):
        device.dc_sync(True, CYCLE_NS, CYCLE_NS // 2)
    to_op(master, seen)
    moved(master, drive, seen)
    seen["expected"] = master.expected_wkc
    master.state = pysoem.INIT_STATE
    master.write_state()
    # In INIT no frame distributes the time any more, so the registers do not change.
    seen["clocks"] = [clocks(it) for it in master.slaves]
    return seen


class LateError(Exception):
    """Some devices did not answer in time."""


def patient_session(interface, devices):
    """Repeats sessions: SOEM waits some ms for an answer during discovery and leaves out devices that answer later."""
    until = time.monotonic() + 3 * TIMEOUT_S
    while True:
        try:
            return session(interface, devices)
        except (LateError, StopIteration, pysoem.WkcError):
            if time.monotonic() > until:
                raise


print(json.dumps(patient_session(sys.argv[1], int(sys.argv[2]))))
