"""EtherCAT and logs: what a user of the package can rely on."""

import time

import pytest

import kadenz

TIMEOUT_S = 20.0


def test_a_network_shares_values_and_records_its_loop(tmp_path):
    run = kadenz.Recording(tmp_path / "run")
    net = kadenz.Network("sim:8", cycle="500Hz", deadline="100ms", record=run)
    actual = net.input("waist yaw", 0x6064)
    target = net.output(4, 0x607A, type="i32")
    control = net.output("waist yaw", 0x6040)
    with pytest.raises(kadenz.Error, match="start"):
        net.wait(0, timeout=0)
    with net:
        cycle = 0
        end = time.monotonic() + 60
        while net.state.operational < 8:
            cycle = net.wait(cycle, timeout=TIMEOUT_S)
            assert time.monotonic() < end
        # CiA 402: reset a fault, shutdown, switch on, enable operation; again where a busy machine let the drive fault.
        while actual.value != -1000 and time.monotonic() < end:
            for word in (0x80, 6, 7, 15):
                control.value = word
                for _ in range(50):
                    after, cycle = cycle, net.wait(cycle, timeout=TIMEOUT_S)
                    assert cycle > after
            target.value = -1000
            until = cycle + 2000
            for cycle in net.cycles():
                if actual.value == -1000 or cycle > until:
                    break
        assert actual.value == -1000 and isinstance(actual.value, int)
        while not actual.is_fresh:
            cycle = net.wait(cycle, timeout=TIMEOUT_S)
            assert time.monotonic() < end
        state = net.state
        assert state.is_running and state.devices == 8 and state.cycles >= cycle
        with pytest.raises(kadenz.Error, match="no place"):
            control.value = 70_000
        with pytest.raises(kadenz.Error, match="output"):
            actual.value = 1
        with pytest.raises(kadenz.Error, match="before it starts"):
            net.input("waist yaw", 0x6064)
        with pytest.raises(kadenz.Error, match="stop"):
            run.finish()
    run.finish()
    names = set(kadenz.open_run(tmp_path / "run").series)
    assert "wake-up" in names or len(names) >= 3, names


def test_what_is_not_there_is_an_error_that_says_what_is():
    net = kadenz.Network("sim:8")
    with pytest.raises(kadenz.Error, match="waist yaw"):
        net.input("elbow", 0x6064)
    with pytest.raises(kadenz.Error, match="0x6064"):
        net.input("waist yaw", 0x607A)
    with pytest.raises(kadenz.Error, match="f32"):
        net.input("waist yaw", 0x6064, type="f32")
    with pytest.raises(kadenz.Error, match="i8 to i64"):
        net.input("waist yaw", 0x6064, type="int")
    with pytest.raises(kadenz.Error):
        kadenz.Network("sim:nothing.toml")
    with pytest.raises(kadenz.Error):
        kadenz.Network("sim:8", cycle="1000")


@pytest.mark.parametrize("name", ["drive.mcap", "drive.lcmlog"])
def test_a_log_is_read_as_it_was_written(tmp_path, name):
    path = tmp_path / name
    begin = 1_700_000_000_000_000_000
    with kadenz.LogWriter(path) as log:
        for at in range(100):
            log.write("ARM" if at % 2 else "LEG", bytes([at]), begin + at * 1000)
    with pytest.raises(kadenz.Error, match="finished"):
        log.write("ARM", b"")
    read = list(kadenz.read_log(path))
    assert [it.message for it in read] == [bytes([at]) for at in range(100)]
    assert read[3].channel == "ARM" and read[3].logged_ns == begin + 3000
    assert next(kadenz.read_log(path, start_ns=begin + 50_000)).message == bytes([50])


def test_messages_of_a_log_have_types(tmp_path):
    (tmp_path / "robot.lcm").write_text("package robot; struct gain_t { double gain; }")
    gain_t = kadenz.load_types(tmp_path / "robot.lcm")["robot.gain_t"]
    with kadenz.LogWriter(tmp_path / "log.mcap") as log:
        log.write("GAIN", gain_t(gain=2.5))
    (it,) = kadenz.read_log(tmp_path / "log.mcap", types={"GAIN": gain_t})
    assert it.message.gain == 2.5
    with pytest.raises(kadenz.Error, match="nothing.mcap"):
        next(kadenz.read_log(tmp_path / "nothing.mcap"))
