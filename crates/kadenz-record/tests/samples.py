"""Reads and writes samples files with pyarrow, for pyarrow.rs.

samples.py read FILE   prints what the file holds, as one JSON object
samples.py write FILE  writes samples n = 0..4999 with value n - 7, in batches of 1000
"""

import json
import sys

import pyarrow as pa

NAMES = ["sequence", "intended_ns", "actual_ns", "value_ns"]


def read(path):
    """Sums every column in whole numbers, so that no digit is lost."""
    sums = dict.fromkeys(NAMES, 0)
    rows = batches = 0
    with pa.OSFile(path) as file, pa.ipc.open_stream(file) as stream:
        schema = stream.schema
        for batch in stream:
            batches += 1
            rows += batch.num_rows
            for name in NAMES:
                sums[name] += sum(batch.column(name).to_pylist())
    return {
        "types": {field.name: str(field.type) for field in schema},
        "metadata": {key.decode(): text.decode() for key, text in schema.metadata.items()},
        "rows": rows,
        "batches": batches,
        "sums": sums,
    }


def write(path):
    """Writes a samples file as a user with only Python would."""
    kinds = [pa.uint64(), pa.int64(), pa.int64(), pa.int64()]
    fields = [pa.field(name, kind, nullable=False) for name, kind in zip(NAMES, kinds)]
    schema = pa.schema(fields, metadata={"kadenz.series": "python", "kadenz.unit": "ns"})
    with pa.OSFile(path, "wb") as file, pa.ipc.new_stream(file, schema) as stream:
        for start in range(0, 5000, 1000):
            numbers = range(start, start + 1000)
            columns = [list(numbers), [10 * n for n in numbers], [11 * n for n in numbers]]
            columns.append([n - 7 for n in numbers])
            arrays = [pa.array(column, kind) for column, kind in zip(columns, kinds)]
            stream.write_batch(pa.record_batch(arrays, schema=schema))


if __name__ == "__main__":
    command, path = sys.argv[1:]
    if command == "write":
        write(path)
    else:
        print(json.dumps(read(path)))
