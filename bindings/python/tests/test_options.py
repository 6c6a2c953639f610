"""Times in either form, deadlines and samples of durations, lost messages, expressions that fail a comparison."""

import os
import socket
import sys

import pytest

import kadenz


def test_durations_have_a_deadline_and_keep_samples_on_request(tmp_path):
    with kadenz.Recording(tmp_path / "run", samples=True) as run:
        for _ in range(3):
            with run.time("control", deadline="10s"):
                pass
        run.record_duration("control", 20)
        run.time("camera", 0.001).record_duration("1500us")
        with pytest.raises(kadenz.Error, match="deadline 0.001, not 2ms"):
            run.time("camera", "2ms")
        assert run.time("camera") is run.time("camera", 0.001) is run.time("camera", "1ms")
    assert (tmp_path / "run" / "control.samples.arrow").exists()
    read = kadenz.open_run(tmp_path / "run")
    assert read["control"].count == 4 and read["control"].facts["deadline"]["misses"] == 1
    assert read["control"].max_ns == 20_000_000_000 and read["camera"].max_ns == 1_500_000
    with kadenz.Recording(tmp_path / "small") as run, run.time("control"):
        pass
    assert not (tmp_path / "small" / "control.samples.arrow").exists()


def test_a_missing_type_is_named_with_those_there_are(tmp_path):
    (tmp_path / "robot.lcm").write_text("package robot; struct point_t { double x; } struct state_t { point_t at; }")
    types = kadenz.load_types(tmp_path / "robot.lcm")
    with pytest.raises(KeyError, match="no type 'stranger.arm'; there are robot.point_t, robot.state_t"):
        types["stranger.arm"]
    assert types.get("stranger.arm") is None and "stranger.arm" not in types


def test_times_are_seconds_or_a_text_with_its_unit(tmp_path):
    limits = {}
    for name, deadline in (("number", 0.0003), ("whole", 1), ("text", "300us")):
        with kadenz.Recording(tmp_path / name) as run:
            next(kadenz.Periodic("500Hz", deadline=deadline, record=run))
        limits[name] = kadenz.open_run(tmp_path / name)["lateness"].facts["deadline"]["limit_ns"]
    assert limits == {"number": 300_000, "whole": 1_000_000_000, "text": 300_000}
    subscription = kadenz.Bus("memq://").subscribe("A")
    for timeout in (0, 0.01, "10ms"):
        assert subscription.receive(timeout=timeout) is None
    for wrong in ("1", -0.5, float("nan")):
        with pytest.raises(kadenz.Error, match="unit"):
            subscription.receive(timeout=wrong)
    with pytest.raises(TypeError):
        subscription.receive(timeout=[1])
    if sys.platform == "linux":
        with kadenz.Camera("test://320x240@50", timeout="10s") as camera:
            assert camera.next("5s") is not None and camera.latest("10s") is not None
    network = kadenz.Network("sim:1", deadline=0.1)
    with network:
        assert network.wait(timeout="20s") is not None


def test_lost_messages_are_counted_by_the_senders_numbers():
    port = 20_000 + os.getpid() % 12_000
    bus = kadenz.Bus(f"udpm://239.255.76.67:{port}?ttl=0")
    assert bus.lost() == 0
    subscription = bus.subscribe("A")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        for number in (1, 2, 6):
            packet = b"LC02" + number.to_bytes(4, "big") + b"A\0" + bytes([number])
            sender.sendto(packet, ("239.255.76.67", port))
    assert [subscription.receive("5s").message[0] for _ in range(3)] == [1, 2, 6]
    assert bus.lost() == 3


def test_a_comparison_fails_where_an_expression_holds(tmp_path):
    for name, values in (("before", (1000, 2000)), ("after", (1000, 5000))):
        with kadenz.Recording(tmp_path / name) as run:
            for _ in range(100):
                for value in values:
                    run.record("control", 10**9, 10**9 + value)
    before, after = tmp_path / "before", kadenz.open_run(tmp_path / "after")
    result = kadenz.compare(before, after, fail_if=["control: max > 1.2x", "max > 1s"])
    assert len(result.failed) == 1 and not result.undecided
    assert result.failed[0].startswith("control: max > 1.2x: control of ") and "2.5" in result.failed[0]
    result = kadenz.compare(str(before), after, fail_if="p99 > 1.1x significantly")
    assert not result.failed and "cannot be decided" in result.undecided[0]
    result = kadenz.compare(before, before, fail_if=["max > 1.2x"])
    assert result == [] and not result.failed and not result.undecided
    with pytest.raises(kadenz.Error, match="unit"):
        kadenz.compare(before, after, fail_if=["max > 2"])


def test_a_program_that_fails_before_it_measures_leaves_its_folder_free(tmp_path):
    for _ in range(2):
        with pytest.raises(ZeroDivisionError), kadenz.Recording(tmp_path / "run"):
            1 / 0
    with pytest.raises(ZeroDivisionError), kadenz.Recording(tmp_path / "run") as run:
        run.record_duration("control", 0.001)
        1 / 0
    assert kadenz.open_run(tmp_path / "run")["control"].count == 1
