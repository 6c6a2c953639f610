"""Reads a log strictly, with foreign software, and prints its contents as JSON."""
import hashlib
import json
import sys


def event_log(path):
    import lcm

    for event in lcm.EventLog(path):
        yield event.channel, event.timestamp * 1000, event.eventnum, event.data


def mcap(path):
    from mcap.reader import make_reader

    with open(path, "rb") as stream:
        reader = make_reader(stream, validate_crcs=True)
        summary = reader.get_summary()
        indexed = sum(summary.statistics.channel_message_counts.values())
        seen = 0
        for schema, channel, message in reader.iter_messages():
            seen += 1
            assert schema is None or (schema.encoding, bool(schema.data)) == ("lcm", True), schema
            yield channel.topic, message.log_time, message.sequence, message.data
        assert indexed == seen == summary.statistics.message_count, (indexed, seen)
        assert len(summary.chunk_indexes) == summary.statistics.chunk_count


def digest(messages):
    digest, count = hashlib.sha256(), 0
    for channel, time, number, data in messages:
        count += 1
        digest.update(b"%s %d %d " % (channel.encode(), time, number) + data)
    return {"messages": count, "sha256": digest.hexdigest()}


kind, path = sys.argv[1:]
print(json.dumps(digest({"event": event_log, "mcap": mcap}[kind](path))))
