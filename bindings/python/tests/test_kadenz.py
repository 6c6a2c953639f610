"""What a user of the package can rely on; `cargo xtask test python` runs them in a fresh environment."""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy
import pytest

import kadenz

TYPES = """package robot;
struct point_t { double x; double y; }
/** The arm. */
struct state_t {
    const int32_t LIMIT = 7;
    int64_t utime;
    double position[3];
    int32_t n;
    point_t path[n];
    byte raw[n];
    string name;
    boolean is_on;
    float grid[2][n];
}
"""


@pytest.fixture
def types(tmp_path):
    (tmp_path / "robot.lcm").write_text(TYPES)
    return kadenz.load_types(tmp_path / "robot.lcm")


def test_a_loop_records_how_late_it_was(tmp_path):
    with kadenz.Recording(tmp_path / "run") as run:
        ticks = kadenz.Periodic("200Hz", deadline="100ms", record=run)
        for tick in ticks.take(20):
            with run.time("control"):
                sum(range(100))
    assert tick.index >= 20 and tick.lateness_ns >= 0
    assert tick.step_s == pytest.approx(0.005 * (1 + tick.skipped))
    assert "lateness" in run.summary
    read = kadenz.open_run(tmp_path / "run")
    assert read["lateness"].count == tick.index and read["control"].count == 20
    assert read["control"].percentile(50) <= read["control"].percentile(95) <= read["control"].max_ns
    low, high, counts = read["lateness"].histogram()
    assert counts.sum() == tick.index and (low <= high).all()
    assert read["lateness"].intervals()["count"].sum() == tick.index
    assert read["lateness"].percentile(99.9) is None, "twenty values do not carry it"
    with pytest.raises(KeyError, match="it has control, lateness|it has lateness, control"):
        read["nothing"]


def test_threads_that_measure_under_one_name_share_its_series(tmp_path):
    with kadenz.Recording(tmp_path / "run") as run:
        found = []
        threads = [threading.Thread(target=lambda: found.append(run.time("control"))) for _ in range(2)]
        with run._lock:
            for it in threads:
                it.start()
            time.sleep(0.2)  # Both have seen that there is none.
        for it in threads:
            it.join()
        assert len(found) == 2 and found[0] is found[1]


def test_what_a_block_raises_goes_through_and_the_run_is_whole(tmp_path):
    with pytest.raises(ZeroDivisionError):
        with kadenz.Recording(tmp_path / "run") as run, run.time("control"):
            1 / 0
    assert kadenz.open_run(tmp_path / "run")["control"].count == 1
    with pytest.raises(kadenz.Error, match="finished"):
        run.time("late")
    with pytest.raises(kadenz.Error, match="holds a run already"):
        kadenz.Recording(tmp_path / "run")


def test_bad_input_gives_an_error_with_its_remedy(tmp_path):
    for wrong in (
        lambda: kadenz.Periodic("1000"),
        lambda: kadenz.Periodic("1kHz", deadline="400"),
        lambda: kadenz.Bus("nonsense://"),
        lambda: kadenz.open_run(tmp_path / "nothing"),
        lambda: kadenz.load_types(tmp_path / "nothing.lcm"),
        lambda: kadenz.Bus("memq://").subscribe("A").receive(-1.0),
    ):
        with pytest.raises(kadenz.Error) as raised:
            wrong()
        assert str(raised.value)


def test_bytes_go_to_all_who_subscribed():
    bus = kadenz.Bus("memq://")
    one, all_ = bus.subscribe("ONE"), bus.subscribe(".*")
    bus.publish("ONE", b"1")
    bus.publish("TWO", b"2")
    assert one.receive(5.0).message == b"1"
    assert [all_.receive(5.0).channel, all_.receive(5.0).channel] == ["ONE", "TWO"]
    assert one.receive(0.0) is None and one.receive(0.01) is None
    for number in range(40):
        bus.publish("ONE", bytes([number]))
    # A thread that waits receives for all subscriptions.
    assert [all_.receive(5.0).message[0] for _ in range(40)] == list(range(40))
    assert one.receive(0.0).message == bytes([10]), "the oldest of 40 went, for 30 wait"
    assert one.counts()["dropped"] == 10
    assert one.latest().message == bytes([39]) and one.latest().message == bytes([39])


def test_the_newest_message_is_there_after_a_long_computation():
    bus = kadenz.Bus("memq://")
    subscription = bus.subscribe("A")
    bus.receive_in_background()
    bus.receive_in_background()
    until = time.monotonic() + 60
    for number in range(2000):
        bus.publish("A", number.to_bytes(4, "little"))
        # The program computes; no thread asks for a message. The transport has no room for all of them.
        while number % 500 == 499 and sum(subscription.counts().values()) <= number - 30:
            assert time.monotonic() < until, subscription.counts()
            time.sleep(0.002)
    while subscription.latest().message != (1999).to_bytes(4, "little"):
        assert time.monotonic() < until, subscription.latest()


def test_a_thread_reads_the_counts_while_another_one_waits():
    bus = kadenz.Bus("memq://")
    subscription = bus.subscribe("A")
    came = []
    waits = threading.Thread(target=lambda: came.append(subscription.receive(20.0)))
    waits.start()
    for _ in range(100):
        assert subscription.counts() == {"received": 0, "dropped": 0}
        time.sleep(0.002)
    bus.publish("A", b"1")
    waits.join()
    assert came[0].message == b"1" and subscription.counts()["received"] == 1


def test_a_cancelled_wait_of_a_task_loses_no_message():
    bus = kadenz.Bus("memq://")
    subscription = bus.subscribe("A")

    async def take():
        async for received in subscription:
            return received.message

    async def cancelled():
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(take(), 0.02)
        bus.publish("A", b"1")  # The thread of the cancelled wait may receive it.
        await asyncio.sleep(0.2)

    asyncio.run(cancelled())
    assert asyncio.run(asyncio.wait_for(take(), 20)) == b"1", "also in another event loop"


def test_messages_of_a_type_are_lcm_s(types):
    state = types["robot.state_t"]
    assert state.LIMIT == 7
    message = state(
        utime=1,
        position=numpy.array([1.0, 2.0, 3.0]),
        path=[types["robot.point_t"](x=1.0, y=2.0)] * 2,
        raw=b"ab",
        name="Arm",
        is_on=True,
        grid=[[1.0, 2.0], [3.0, 4.0]],
    )
    bus = kadenz.Bus("memq://")
    subscription = bus.subscribe("ARM", state)
    bus.publish("ARM", message)
    received = subscription.receive(5.0).message
    assert received.n == 2 and received.path[1].y == 2.0 and received.position == [1.0, 2.0, 3.0]
    assert received.encode() == message.encode()
    assert "name='Arm'" in repr(received)
    assert state().encode() == state.decode(state().encode()).encode()
    for wrong in (dict(position=[1.0]), dict(raw=b"abc"), dict(utime="x"), dict(path=[], raw=b"1")):
        with pytest.raises(kadenz.Error):
            state(**wrong).encode()
    with pytest.raises(TypeError, match="it has utime, position"):
        state(speed=1)


def test_arrays_of_numbers_are_views_of_numpy(tmp_path):
    (tmp_path / "robot.lcm").write_text(TYPES)
    lists, arrays = (kadenz.load_types(tmp_path, numpy=it)["robot.state_t"] for it in (False, True))
    payload = lists(position=[1.0, 2.0, 3.0], n=2, path=[types_point(lists)] * 2, raw=b"ab", grid=[[1.0, 2.0], [3.0, 4.0]]).encode()
    message = arrays.decode(payload)
    assert message.position.tolist() == [1.0, 2.0, 3.0] and not message.position.flags.writeable
    assert numpy.shares_memory(message.grid, numpy.frombuffer(payload, numpy.uint8)) and message.grid.shape == (2, 2)
    assert message.raw == b"ab" and message.encode() == payload and message == arrays.decode(payload)
    # Numbers of any type and order of memory are encoded; those that have no place are refused.
    message.position = numpy.array([1, 2, 3], numpy.int16)
    message.grid = numpy.asfortranarray(message.grid)
    assert message.encode() == payload
    message.position = numpy.zeros(4)
    with pytest.raises(kadenz.Error, match="shape"):
        message.encode()
    assert arrays().position.tolist() == [0.0] * 3
    (tmp_path / "small.lcm").write_text("struct small_t { int8_t x[2]; }")
    small_t = kadenz.load_types(tmp_path / "small.lcm", numpy=True)["small_t"]
    for refused in (numpy.array([1, 300]), numpy.array([1.0, 2.0])):
        with pytest.raises(kadenz.Error, match="x"):
            small_t(x=refused).encode()
    for end in range(len(payload)):
        with pytest.raises(kadenz.Error):
            arrays.decode(payload[:end])


def types_point(state_t):
    return state_t._types["robot.point_t"](x=1.0)


def test_a_class_of_ones_own_is_a_message():
    class Word:
        def __init__(self, text):
            self.text = text

        def encode(self):
            return self.text.encode()

        @classmethod
        def decode(cls, payload):
            return cls(payload.decode())

    bus = kadenz.Bus("memq://")
    words = bus.subscribe("WORD", Word)
    bus.publish("WORD", Word("left"))
    assert words.receive(5.0).message.text == "left"


def test_other_bytes_are_refused_whole_and_cut_anywhere(types):
    state = types["robot.state_t"]
    whole = state(path=[types["robot.point_t"]()], raw=b"a", grid=[[0.0], [0.0]], name="x").encode()
    for end in range(len(whole)):
        with pytest.raises(kadenz.Error):
            state.decode(whole[:end])
    with pytest.raises(kadenz.Error):
        state.decode(whole + b"\0")
    # A length that claims far more elements than there are.
    claims = bytearray(whole)
    claims[8 + 8 + 24 : 8 + 8 + 24 + 4] = b"\x7f\xff\xff\xff"
    with pytest.raises(kadenz.Error):
        state.decode(bytes(claims))


def test_messages_of_other_software_are_decoded_and_encoded_again():
    folder = Path(__file__).parents[3] / "conformance" / "lcm-types"
    golden = json.loads((folder / "messages.json").read_text())
    types = kadenz.load_types(folder / "types")
    assert len(golden["messages"]) > 50
    for it in golden["messages"]:
        if not issubclass(types[it["type"]], kadenz.Message):
            continue  # an enum alone is not a message
        encoded = bytes.fromhex(it["hex"])
        message = types[it["type"]].decode(encoded)
        assert message.encode() == encoded, it
        for name, value in it["value"].items():
            if isinstance(value, (int, bool)):
                assert getattr(message, name) == value, it


def test_waiting_lets_other_threads_run_and_ends_by_ctrl_c():
    bus = kadenz.Bus("memq://")
    subscription = bus.subscribe("A")
    assert subscription.receive(0.05) is None

    def count():
        for _ in range(10):
            time.sleep(0.001)
        bus.publish("A", b"counted")

    # If `receive` held the interpreter's lock, this thread would publish nothing.
    thread = threading.Thread(target=count)
    thread.start()
    assert subscription.receive(60.0) is not None
    thread.join()

    # A signal during the import may be lost in a callback of the interpreter's own.
    program = """if True:
        import kadenz, signal
        signal.signal(signal.SIGINT, signal.default_int_handler)
        subscription = kadenz.Bus("memq://").subscribe("A")
        print(flush=True)
        subscription.receive()
    """
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        child.stdout.readline()
        time.sleep(0.5)
        child.send_signal(signal.SIGINT)
        _, errors = child.communicate(timeout=60)
    finally:
        child.kill()
    assert b"KeyboardInterrupt" in errors


def test_messages_come_in_asyncio():
    async def first():
        bus = kadenz.Bus("memq://")
        subscription = bus.subscribe("A")
        bus.publish("A", b"1")
        async for received in subscription:
            return received.message

    assert asyncio.run(first()) == b"1"


def test_a_forked_child_ends_by_itself():
    bus = kadenz.Bus("memq://")
    subscription = bus.subscribe("A")
    child = os.fork()
    if child == 0:
        os._exit(0 if subscription.receive(0.01) is None else 1)
    assert os.waitpid(child, 0)[1] == 0


def copied_frame(camera):
    """A frame and its copy, which a camera that is faster than a busy machine may have overwritten."""
    for _ in range(200):
        frame = camera.next(5.0)
        try:
            return frame, frame.copy()
        except kadenz.Error as error:
            assert "overwritten" in str(error)
    raise AssertionError("every frame was overwritten")


def test_the_newest_frame_is_an_array_without_a_copy():
    for layout, shape in (("rgb", (240, 320, 3)), ("gray-column-major", (240, 320)), ("bgr@160x120", (120, 160, 3))):
        with kadenz.Camera("test://320x240@50", layout=layout) as camera:
            frame, copied = copied_frame(camera)
            assert frame.pixels.shape == shape and frame.pixels.dtype == numpy.uint8
            assert not frame.pixels.flags.owndata and not frame.pixels.flags.writeable
            assert copied.std() > 10 and frame.age_s < 60
            assert camera.latest(max_age=60.0).number >= frame.number
            with pytest.raises(kadenz.Error, match="old"):
                camera.latest(max_age=0.0)
            # The camera overwrites it some frames later, and `is_valid` tells so.
            for _ in range(20):
                camera.next(5.0)
            assert not frame.is_valid
            with pytest.raises(kadenz.Error, match="overwritten"):
                frame.copy(copied)
    with pytest.raises(kadenz.Error, match="kadenz camera serve"):
        kadenz.Camera("not-served")


def test_runs_are_compared_and_shown_as_a_table(tmp_path):
    for name, work in (("before", 2000), ("after", 200000)):
        with kadenz.Recording(tmp_path / name) as run:
            for _ in range(200):
                with run.time("control"):
                    sum(range(work))
    before, after = kadenz.open_run(tmp_path / "before"), kadenz.open_run(tmp_path / "after")
    assert before["control"].percentile(90) < after["control"].percentile(50)
    assert kadenz.compare(before, before) == [], "nothing differs from itself"
    pandas = pytest.importorskip("pandas")
    table = after.to_pandas()
    assert table.loc["control", "count"] == 200
    assert len(pandas.DataFrame(after["control"].intervals())) >= 1


def test_intervals_are_columns_for_every_library_of_tables(tmp_path):
    import pandas
    import polars
    import pyarrow

    with kadenz.Recording(tmp_path / "run") as run:
        for begin in range(100):
            run.record("x", begin, begin + 1000)
    intervals = kadenz.open_run(tmp_path / "run")["x"].intervals()
    for table in (pandas.DataFrame(intervals), polars.DataFrame(intervals), pyarrow.table(intervals).to_pandas()):
        assert table["count"].sum() == 100 and table["max_ns"].max() == 1000


def test_figures_are_one_call_each(tmp_path):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import kadenz.plots

    with kadenz.Recording(tmp_path / "run") as run:
        for _ in kadenz.Periodic("1kHz", deadline="400us", record=run).take(200):
            pass
    series = kadenz.open_run(tmp_path / "run")["lateness"]
    axes = kadenz.plots.percentiles({"one": series, "other": series})
    assert {it.get_text() for it in axes.get_legend().get_texts()} == {"one", "other", "deadline"}
    assert len(kadenz.plots.over_time(series).get_lines()) == 3
    axes = kadenz.plots.histogram(series)
    axes.figure.savefig(tmp_path / "histogram.png")
    assert (tmp_path / "histogram.png").stat().st_size > 1000


def test_programs_of_the_page_run_as_printed(tmp_path):
    page = (Path(__file__).parents[3] / "docs" / "python.md").read_text()
    programs = re.findall(r"^```python\n(.*?)^```", page, re.S | re.M)
    assert len(programs) >= 5
    for number, program in enumerate(programs):
        folder = tmp_path / str(number)
        folder.mkdir()
        subprocess.run([sys.executable, "-c", program], cwd=folder, check=True, timeout=120, capture_output=True)


def test_a_percentile_is_that_of_the_program_and_carried_from_one_value_beyond(tmp_path):
    with kadenz.Recording(tmp_path / "run") as run:
        start = time.monotonic_ns()
        for value in range(1, 1001):
            run.record("control", start, start + 1000 * value)
    series = kadenz.open_run(tmp_path / "run")["control"]
    for percent in (50, 90, 99, 99.9):
        assert series.percentile(percent) == series.facts["percentiles"][f"{percent:g}"], percent
    assert series.percentile(99.9) is not None and series.percentile(99.99) is None
    # A percentile that the program does not give: 75 % of 1 to 1000 us, to the histogram's resolution.
    assert series.percentile(75) == pytest.approx(750_000, rel=0.002)
    assert series.percentile(100) == series.max_ns == 1_000_000
