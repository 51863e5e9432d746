#!/usr/bin/env python3
"""Tables and ids as others write them, for tests/data/tables_test.cpp: the same rows as Parquet in all its forms, as
Arrow and as lines of JSON. Usage: make_tables.py, in an environment with pyarrow 26.0.1 and numpy 2.4.6."""
import json
import pathlib
import struct

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

here = pathlib.Path(__file__).parent / "tables"
here.mkdir(exist_ok=True)

# ---- rows -----------------------------------------------------------------------------------------------------------
words = "ranks meet where rows are shared and nothing is lost".split()
turn = pa.struct([("role", pa.string()), ("content", pa.string())])
schema = pa.schema([
    ("text", pa.string()), ("n", pa.int64()), ("small", pa.int32()), ("byte", pa.uint8()), ("wide", pa.uint64()),
    ("x", pa.float64()), ("y", pa.float32()), ("ok", pa.bool_()), ("word", pa.string()),
    ("ids", pa.list_(pa.int32())), ("marks", pa.list_(pa.float64())), ("lists", pa.list_(pa.list_(pa.int64()))),
    ("pair", pa.struct([("a", pa.int64()), ("b", pa.list_(pa.string()))])),
    ("messages", pa.list_(turn)), ("sure", pa.string())])


def row(i):
    r = lambda k: (i * 2654435761 >> 7) % k
    return {
        "text": None if i % 11 == 5 else
        " ".join(words[(i + j) % 10] for j in range(i % 9)) + f' "{i}"\n\\ é 😀 {chr(1 + i % 31)}',
        "n": None if i % 7 == 3 else (i - 50) * 10**15 * (-1) ** i, "small": -i * 1000003 % 2**31 - 2**30,
        "byte": i * 7 % 256, "wide": None if i == 2 else 2**64 - 1 - i, "x": None if i % 5 == 4 else i / 7 - 3,
        "y": float(np.float32(i / 3)), "ok": None if i % 13 == 6 else i % 3 == 0, "word": words[r(10)],
        "ids": None if i % 10 == 9 else [i * 3 + j for j in range(i % 5)],
        "marks": [None if j == 1 else j / 4 for j in range(i % 3)],
        "lists": None if i % 8 == 7 else [None if j == 2 else list(range(j)) for j in range(i % 5)],
        "pair": None if i % 6 == 5 else {"a": i, "b": None if i % 4 == 1 else [words[i % 10]] * (i % 3)},
        "messages": [{"role": ["user", "assistant"][j % 2], "content": f"turn {j} of {i}\t" + "x" * (i % 4)}
                     for j in range(1 + i % 4)],
        "sure": f"row {i} of many"}


rows = [row(i) for i in range(120)]
schema = schema.set(schema.get_field_index("sure"), pa.field("sure", pa.string(), nullable=False))
table = pa.Table.from_pylist(rows, schema)
with open(here / "rows.jsonl", "w") as f:
    for r in table.to_pylist():
        f.write(json.dumps(r, ensure_ascii=False) + "\n")

# ---- Parquet --------------------------------------------------------------------------------------------------------
small = {"data_page_size": 700, "write_batch_size": 20}  # several pages in a row group
for codec in ("none", "snappy", "gzip", "zstd"):
    for version in ("1.0", "2.0"):
        pq.write_table(table, here / f"{codec}_v{version[0]}.parquet", compression=codec, data_page_version=version,
                       row_group_size=50, write_statistics=False, **small)
pq.write_table(table, here / "plain.parquet", compression="zstd", use_dictionary=False, row_group_size=120,
               write_page_checksum=True, **small)
integers = ["n", "small", "byte", "wide", "ids.list.element", "lists.list.element.list.element", "pair.a"]
texts = ["text", "word", "pair.b.list.element", "messages.list.element.role", "messages.list.element.content", "sure"]
for name in ("DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY"):
    encodings = {c: "DELTA_BINARY_PACKED" for c in integers} | {c: name for c in texts}
    pq.write_table(table, here / f"{name.lower()}.parquet", compression="zstd", use_dictionary=False,
                   column_encoding=encodings, row_group_size=70, write_statistics=False, **small)
two = pa.table({"text": ["one", "two"], "x": [1.0, 2.0]})
pq.write_table(two, here / "split.parquet", use_dictionary=False, column_encoding={"x": "BYTE_STREAM_SPLIT"},
               write_statistics=False, store_schema=False)
pq.write_table(two, here / "brotli.parquet", compression={"text": "snappy", "x": "brotli"}, write_statistics=False,
               store_schema=False)
times = pa.table({"text": ["one"], "at": pa.array([0], pa.timestamp("ms")), "d": pa.array([1], pa.date32()),
                  "money": pa.array(["1.50"]).cast(pa.decimal128(9, 2))})
pq.write_table(times, here / "times.parquet", write_statistics=False, store_schema=False)
# For damage: each encoding, a list, a record, as few bytes as that takes.
tiny = pa.table({"t": ["ab", None, "abc", "abd"], "n": [5, 7, 9, None], "l": [[1, 2], [], None, [3]],
                 "m": [[{"role": "user", "content": "a"}], [], [], [{"role": None, "content": "b"}]]})
for name, how in {"tiny": {"compression": "snappy"},
                  "tiny_v2": {"compression": "zstd", "data_page_version": "2.0", "use_dictionary": ["t"],
                              "column_encoding": {"n": "DELTA_BINARY_PACKED",
                                                  "m.list.element.content": "DELTA_BYTE_ARRAY",
                                                  "m.list.element.role": "DELTA_LENGTH_BYTE_ARRAY"}},
                  "tiny_none": {"compression": "none", "use_dictionary": False}}.items():
    pq.write_table(tiny, here / f"{name}.parquet", write_statistics=False, store_schema=False, **how)
# Pages of eight rows, of every way in which a column has fewer values than rows.
pages = pa.table({"n": pa.array(range(40), pa.int64()), "t": [f"text {i}" for i in range(40)],
                  "s": [None if i % 3 == 0 else "x" * (i % 5) for i in range(40)],
                  "l": [None if i % 7 == 6 else list(range(i % 4)) for i in range(40)]},
                 pa.schema([pa.field("n", pa.int64(), False), pa.field("t", pa.string(), False),
                            pa.field("s", pa.string()), pa.field("l", pa.list_(pa.int32()))]))
pq.write_table(pages, here / "pages_v2.parquet", compression="none", data_page_version="2.0", data_page_size=1,
               write_batch_size=8, use_dictionary=["s"], column_encoding={"t": "DELTA_LENGTH_BYTE_ARRAY"},
               write_statistics=False, store_schema=False)

# ---- Arrow ----------------------------------------------------------------------------------------------------------
def arrow(name, t, open_writer, batch, **options):
    with pa.OSFile(str(here / name), "wb") as f, open_writer(f, t.schema, **options) as w:
        w.write_table(t, max_chunksize=batch)


arrow("stream.arrow", table, pa.ipc.new_stream, 50)
arrow("file.arrow", table, pa.ipc.new_file, 50)
large = [f.with_type(pa.large_string()) if f.type == pa.string() else
         f.with_type(pa.large_list(pa.int32())) if f.name == "ids" else f for f in schema]
arrow("large.arrow", table.cast(pa.schema(large)), pa.ipc.new_stream, 1000)
arrow("tiny.arrow", tiny, pa.ipc.new_stream, 3)
arrow("tiny_file.arrow", tiny, pa.ipc.new_file, 3)
arrow("packed.arrow", two, pa.ipc.new_stream, 3, options=pa.ipc.IpcWriteOptions(compression="zstd"))
arrow("times.arrow", times, pa.ipc.new_stream, 3)

# ---- ids ------------------------------------------------------------------------------------------------------------
ids = [(i * i * 31 + i) % 50257 if i % 37 else 50256 for i in range(1, 600)]
np.array(ids, "<u2").tofile(here / "nano.bin")
np.array(ids, "<u4").tofile(here / "wide.bin")
for name, kind, mark, version in (("llmc", "<u2", 20240520, 1), ("llama3", "<u4", 20240801, 7)):
    header = struct.pack("<256i", mark, version, len(ids), *[0] * 253)
    (here / f"{name}.bin").write_bytes(header + np.array(ids, kind).tobytes())
for kind in ("<u2", "<i4", "<i8"):
    np.save(here / f"ids_{kind[1:]}.npy", np.array(ids, kind))
np.save(here / "grid.npy", np.array(ids[:590], "<i4").reshape(59, 10))
documents, document = [], []
for i in ids:
    document.append(i)
    if i == 50256:
        documents.append(document)
        document = []
documents.append(document)
masked = [{"input_ids": d, "loss_mask": [(i + k) % 3 > 0 for i in range(len(d))],
           "weights": [((i + k) % 5) / 4 for i in range(len(d))],
           "labels": [x if (i + k) % 3 > 0 else -100 for i, x in enumerate(d)]} for k, d in enumerate(documents)]
with open(here / "ids.jsonl", "w") as f:
    for m in masked:
        f.write(json.dumps(m) + "\n")
kinds = {"input_ids": pa.int32(), "loss_mask": pa.bool_(), "weights": pa.float32(), "labels": pa.int64()}
lists = pa.Table.from_pylist(masked, pa.schema([(name, pa.list_(kind)) for name, kind in kinds.items()]))
pq.write_table(lists, here / "ids.parquet", compression="zstd", write_statistics=False)
arrow("ids.arrow", lists, pa.ipc.new_stream, 10)
(here / "versions.txt").write_text(f"pyarrow {pa.__version__}, numpy {np.__version__}\n")
