"""Reads Bora's checkpoints and metrics with numpy alone.

    import bora_reader
    arrays = bora_reader.load("runs/gpt")                        # {"params.wte": array, ...} of the newest checkpoint
    arrays = bora_reader.load("runs/gpt/checkpoints/step-200", only="params.*", verify=True)
    metrics = bora_reader.open_metrics("runs/gpt")               # {"train/loss": (steps, values), ...}

Whatever mesh wrote a checkpoint, arrays come whole. An array that one rank wrote is mapped, not read. bf16 comes as
ml_dtypes.bfloat16 where that package is installed, otherwise as its bits in uint16; keys of random numbers come as
uint32 with a last dimension of 2. The format: include/bora/io/checkpoint.h.
"""
import collections
import fnmatch
import json
import pathlib
import re
import struct

import numpy as np

__all__ = ["CheckpointError", "find", "load", "open_metrics", "read_manifest"]
CHUNK = 1 << 20   # bytes that have a checksum of their own

try:
    from ml_dtypes import bfloat16, float8_e4m3fn
except ImportError:
    bfloat16, float8_e4m3fn = np.uint16, np.uint8
DTYPES = {"bool": "?", "u8": "u1", "i8": "i1", "u16": "<u2", "i16": "<i2", "u32": "<u4", "i32": "<i4", "u64": "<u8",
          "i64": "<i8", "f16": "<f2", "f32": "<f4", "f64": "<f8", "complex64": "<c8", "complex128": "<c16",
          "bf16": bfloat16, "f8_e4m3fn": float8_e4m3fn, "key": "<u4"}


class CheckpointError(Exception):
    """A folder that holds no checkpoint, or bytes that are not those that were written; it names the leaf."""


Block = collections.namedtuple("Block", "box file offset bytes crc")        # box: (begin, end) of each dimension
Leaf = collections.namedtuple("Leaf", "path dtype shape blocks")            # dtype: Bora's name of it
Manifest = collections.namedtuple("Manifest", "folder mesh notes leaves")   # leaves: by path


# ---- checksums: CRC-32C ---------------------------------------------------------------------------------------------
def _tables():
    first = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        first = np.where(first & 1, first >> 1 ^ np.uint32(0x82F63B78), first >> 1)
    tables = [first]
    for _ in range(3):
        tables.append(first[tables[-1] & 0xFF] ^ tables[-1] >> 8)
    return tables


_T = _tables()
_PIECE = 512   # bytes of pieces whose sums are made side by side


def _after(tables, x):
    """What the sums x are behind the zero bytes that these four tables stand for."""
    x = np.asarray(x, dtype=np.uint32)
    return tables[0][x & 0xFF] ^ tables[1][x >> 8 & 0xFF] ^ tables[2][x >> 16 & 0xFF] ^ tables[3][x >> 24]


# Tables for 1, 2, 4 .. 2^20 zero bytes.
_BYTE = np.arange(256, dtype=np.uint32)
_Z = [[_T[0], *(_BYTE << 8 * k - 8 for k in (1, 2, 3))]]
for _ in range(20):
    _Z.append([_after(_Z[-1], _after(_Z[-1], _BYTE << 8 * k)) for k in range(4)])


def _crc32c(data):
    """Of at most 1 MiB of bytes."""
    n = len(data)
    pieces = max(1, 1 << max(0, -(-n // _PIECE) - 1).bit_length())
    padded = np.zeros(pieces * _PIECE, np.uint8)   # zeros in front change no sum that begins with 0
    padded[len(padded) - n:] = np.frombuffer(data, np.uint8)
    words = np.ascontiguousarray(padded.view("<u4").reshape(pieces, -1).T)
    sums = np.zeros(pieces, np.uint32)
    for word in words:
        x = sums ^ word
        sums = _T[3][x & 0xFF] ^ _T[2][x >> 8 & 0xFF] ^ _T[1][x >> 16 & 0xFF] ^ _T[0][x >> 24]
    size = _PIECE.bit_length() - 1
    while len(sums) > 1:
        sums = _after(_Z[size], sums[0::2]) ^ sums[1::2]
        size += 1
    return int(sums[0]) ^ _behind(0xFFFFFFFF, n) ^ 0xFFFFFFFF


def _behind(crc, n):
    """What a sum is behind n zero bytes."""
    for bit in range(21):
        if n >> bit & 1:
            crc = int(_after(_Z[bit], np.uint32(crc)))
    return crc


# ---- the manifest ---------------------------------------------------------------------------------------------------
class _Archive:
    """cereal's portable binary archive."""

    def __init__(self, data):
        self.data, self.at, self.order = data, 1, "<" if data[:1] == b"\1" else ">"

    def number(self, form):
        try:
            value, = struct.unpack_from(self.order + form, self.data, self.at)
        except struct.error:
            raise CheckpointError("it ends in the middle of a value") from None
        self.at += struct.calcsize(form)
        return value

    def length(self):
        n = self.number("Q")
        if n > len(self.data) - self.at:
            raise CheckpointError(f"it lists {n} things in {len(self.data) - self.at} bytes")
        return n

    def text(self):
        n = self.length()
        self.at += n
        return self.data[self.at - n:self.at].decode()

    def list(self, item):
        return [item() for _ in range(self.length())]


def _parse_manifest(folder, data):
    if len(data) < 24 or data[:8] != b"borackp1":
        raise CheckpointError("it does not begin as one")
    version, crc, size = struct.unpack_from("<IIQ", data, 8)
    body = data[24:]
    if version != 1:
        raise CheckpointError(f"its format version {version} is newer than this reader (1)")
    if len(body) != size:
        raise CheckpointError(f"it has {len(body)} bytes instead of {size}")
    whole = 0
    for part in (body[at:at + CHUNK] for at in range(0, size, CHUNK)):
        whole = _behind(whole, len(part)) ^ _crc32c(part)
    if whole != crc:
        raise CheckpointError("its checksum differs")
    a = _Archive(body)
    mesh = a.text()
    notes = {a.text(): a.text() for _ in range(a.length())}

    def block():
        return Block(a.list(lambda: (a.number("q"), a.number("q"))), a.number("q"), a.number("q"), a.number("q"),
                     a.list(lambda: a.number("I")))

    leaves = a.list(lambda: Leaf(a.text(), a.text(), tuple(a.list(lambda: a.number("q"))), a.list(block)))
    return Manifest(folder, mesh, notes, {leaf.path: leaf for leaf in leaves})


def find(folder):
    """The folder of a checkpoint: itself, or the newest of a run or of a folder of checkpoints."""
    folder = pathlib.Path(folder)
    for root in (folder, folder / "checkpoints"):
        if (root / "manifest").is_file():
            return root
        steps = [p for p in root.glob("step-*") if re.fullmatch(r"step-\d+", p.name)] if root.is_dir() else []
        if steps:
            return max(steps, key=lambda p: int(p.name[5:]))
    raise CheckpointError(f"no checkpoint at {folder}")


def read_manifest(folder):
    """What the newest checkpoint of a folder holds: mesh, notes (settings, seed ..), leaves by path."""
    folder = find(folder)
    try:
        return _parse_manifest(folder, (folder / "manifest").read_bytes())
    except (CheckpointError, UnicodeDecodeError) as e:
        raise CheckpointError(f"checkpoint {folder}: the manifest is damaged: {e}") from None
    except OSError as e:
        raise CheckpointError(f"no checkpoint at {folder}: {e}") from None


# ---- arrays ---------------------------------------------------------------------------------------------------------
def _damaged(manifest, leaf, why):
    return CheckpointError(f"checkpoint {manifest.folder}: leaf '{leaf.path}': {why}")


def _bytes_of(manifest, leaf, block, verify):
    path = manifest.folder / f"rank-{block.file}"
    try:
        if path.stat().st_size < block.offset + block.bytes:
            raise _damaged(manifest, leaf, f"{path} is shorter than {block.offset + block.bytes} bytes")
        data = np.memmap(path, np.uint8, "r", block.offset, (block.bytes,)) if block.bytes else np.zeros(0, np.uint8)
    except OSError as e:
        raise _damaged(manifest, leaf, str(e)) from None
    if verify:
        for i, crc in enumerate(block.crc):
            if _crc32c(data[i * CHUNK:(i + 1) * CHUNK]) != crc:
                begin = block.offset + i * CHUNK
                raise _damaged(manifest, leaf, f"bytes {begin} .. of {path} differ from their checksum")
    return data


def _array(manifest, leaf, verify):
    if leaf.dtype not in DTYPES:
        raise _damaged(manifest, leaf, f"this reader does not know the dtype {leaf.dtype}")
    dtype, last = np.dtype(DTYPES[leaf.dtype]), (2,) if leaf.dtype == "key" else ()
    covered = 0
    whole = None if len(leaf.blocks) == 1 else np.empty(leaf.shape + last, dtype)
    for block in leaf.blocks:
        shape = tuple(end - begin for begin, end in block.box) + last
        size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        if size != block.bytes or len(block.box) != len(leaf.shape):
            raise _damaged(manifest, leaf, f"a block of {block.bytes} bytes has the shape {shape}")
        part = _bytes_of(manifest, leaf, block, verify).view(dtype).reshape(shape)
        covered += size
        if whole is None:
            whole = part
        else:
            whole[tuple(slice(begin, end) for begin, end in block.box)] = part
    if whole is None or whole.shape != leaf.shape + last or covered != whole.nbytes:
        raise _damaged(manifest, leaf, "its blocks are not the whole of it")
    return whole


def load(folder, only=None, verify=False):
    """The arrays of a checkpoint by path: of its folder, or of the newest one of a run.

    only: a pattern such as "params.*", or a list of them. verify: compares every byte with its checksum. Raises
    CheckpointError naming the leaf whose bytes are damaged or missing.
    """
    manifest, patterns = read_manifest(folder), [only] if isinstance(only, str) else only
    leaves = [leaf for path, leaf in manifest.leaves.items()
              if patterns is None or any(fnmatch.fnmatchcase(path, p) for p in patterns)]
    if patterns is not None and not leaves:
        raise CheckpointError(f"checkpoint {manifest.folder}: no leaf is named {' or '.join(patterns)}; there are "
                              f"{', '.join(list(manifest.leaves)[:5])} ..")
    return {leaf.path: _array(manifest, leaf, verify) for leaf in leaves}


def open_metrics(run):
    """The metrics of a run by name: arrays of steps and of values. A line that is not whole yet is left out."""
    path = pathlib.Path(run) / "metrics.jsonl" if pathlib.Path(run).is_dir() else run
    steps, values = collections.defaultdict(list), collections.defaultdict(list)
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            try:
                point = json.loads(line)
            except ValueError:
                if line.endswith("\n"):
                    raise
                break
            step = point.pop("step")
            for name, value in point.items():
                if isinstance(value, (int, float)):
                    steps[name].append(step)
                    values[name].append(value)
    return {name: (np.array(steps[name], np.int64), np.array(values[name], np.float64)) for name in values}
