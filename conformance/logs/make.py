# What made these files is in README.md.
"""Makes the golden logs of this folder, by software that is not Kadenz's.

pip install lcm==1.5.3 mcap==1.6.0 rosbags==0.11.9; python make.py
"""
import os, shutil, struct, sys
import lcm
from mcap.writer import Writer, CompressionType
from rosbags.rosbag1 import Writer as Bag1
from rosbags.rosbag2 import Writer as Bag2, StoragePlugin
from rosbags.typesys import Stores, get_typestore

T0 = 1_700_000_000_000_000  # microseconds
def payload(n):
    return struct.pack(">Qqd", 0x1122334455667788, n, n / 8) + bytes([n % 251]) * (n % 40)

# LCM's event log: 200 events of three channels.
if os.path.exists("events.lcmlog"): os.remove("events.lcmlog")
log = lcm.EventLog("events.lcmlog", mode="w", overwrite=True)
for n in range(200):
    log.write_event(T0 + n * 10_000, ["POSE", "IMU", "robot/arm-1"][n % 3], payload(n))
log.close()
b = open("events.lcmlog", "rb").read()
# Damage: the length of one event's data, 37 bytes cut out of the middle, a torn end.
d = bytearray(b)
at = [i for i in range(len(b) - 4) if b[i:i+4] == b"\xed\xa1\xda\x01"]
d[at[20] + 24] ^= 0x40
del d[at[100] + 5: at[100] + 42]
d = d[:-3]
open("damaged.lcmlog", "wb").write(d)
log = lcm.EventLog("damaged.lcmlog")
print("liblcm reads of the damaged one:", sum(1 for _ in log))

def mcap(name, **options):
    with open(name, "wb") as f:
        w = Writer(f, **options)
        w.start(profile="lcm", library="golden")
        s = w.register_schema("robot.pose_t", "lcm", b"package robot;\nstruct pose_t {\n  int64_t n;\n  double x;\n}\n")
        c = [w.register_channel("POSE", "lcm", s), w.register_channel("NOTES", "json", 0, {"by": "hand"})]
        w.add_metadata("host", {"kernel": "6.1"})
        w.add_attachment(T0 * 1000, T0 * 1000, "robot.urdf", "application/xml", b"<robot/>")
        for n in range(100):
            t = (T0 + n * 10_000) * 1000
            w.add_message(c[n % 2], t, payload(n) if n % 2 == 0 else b'{"n":%d}' % n, t - 5, n)
        w.finish()
mcap("chunks-lz4.mcap", compression=CompressionType.LZ4, chunk_size=1024)
mcap("chunks-zstd.mcap", compression=CompressionType.ZSTD, chunk_size=1024)
mcap("chunks-plain.mcap", compression=CompressionType.NONE, chunk_size=1024)
mcap("no-chunks.mcap", use_chunking=False)
mcap("no-summary.mcap", compression=CompressionType.LZ4, chunk_size=1024, use_summary_offsets=False,
     use_statistics=False, repeat_channels=False, repeat_schemas=False)

for name, compression in [("plain", None), ("bz2", Bag1.CompressionFormat.BZ2), ("lz4", Bag1.CompressionFormat.LZ4)]:
    path = f"ros1-{name}.bag"
    if os.path.exists(path): os.remove(path)
    store = get_typestore(Stores.ROS1_NOETIC)
    w = Bag1(path)
    if compression: w.set_compression(compression)
    with w:
        c = w.add_connection("/chatter", "std_msgs/msg/String", typestore=store)
        k = w.add_connection("/count", "std_msgs/msg/Int32", typestore=store)
        String, Int32 = store.types["std_msgs/msg/String"], store.types["std_msgs/msg/Int32"]
        for n in range(60):
            t = (T0 + n * 10_000) * 1000
            if n % 2 == 0: w.write(c, t, store.serialize_ros1(String(data=f"hello {n}"), "std_msgs/msg/String"))
            else: w.write(k, t, store.serialize_ros1(Int32(data=n), "std_msgs/msg/Int32"))
store = get_typestore(Stores.ROS2_HUMBLE)
for name, plugin in [("sqlite3", StoragePlugin.SQLITE3), ("mcap", StoragePlugin.MCAP)]:
    path = f"ros2-{name}"
    shutil.rmtree(path, ignore_errors=True)
    with Bag2(path, version=9, storage_plugin=plugin) as w:
        c = w.add_connection("/chatter", "std_msgs/msg/String", typestore=store)
        String = store.types["std_msgs/msg/String"]
        for n in range(30):
            w.write(c, (T0 + n * 10_000) * 1000, store.serialize_cdr(String(data=f"hello {n}"), "std_msgs/msg/String"))
