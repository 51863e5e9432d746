#!/usr/bin/env python3
"""Writes safetensors/ beside this file, with Hugging Face's safetensors 0.8 and NumPy: every dtype in one file, and a
model in two shards with the index that transformers writes. Element i of a tensor holds i, or i - 3 where the dtype has
negative numbers."""
import json
import pathlib

import numpy
import safetensors
from safetensors.numpy import save_file

folder = pathlib.Path(__file__).parent / "safetensors"
folder.mkdir(exist_ok=True)


def bits(dtype, values):
    """The numbers' bytes: bf16 is the upper half of f32, which holds small integers."""
    if dtype == "bfloat16":
        return (numpy.asarray(values, "<f4").view("<u4") >> 16).astype("<u2").tobytes()
    if dtype.startswith("float8"):
        return bytes(len(values))
    return numpy.asarray(values, dtype).tobytes()


shape = [2, 3]
signed = numpy.arange(6) - 3
tensors = {dtype: {"dtype": dtype, "shape": shape, "data": bits(dtype, signed)}
           for dtype in ["float64", "float32", "bfloat16", "float16", "int64", "int32", "int16", "int8"]}
for dtype in ["uint64", "uint32", "uint16", "uint8", "float8_e4m3fn"]:
    tensors[dtype] = {"dtype": dtype, "shape": shape, "data": bits(dtype, numpy.arange(6))}
tensors["bool"] = {"dtype": "bool", "shape": shape, "data": bytes([1, 0, 1, 1, 0, 0])}
tensors["halves"] = {"dtype": "float16", "shape": [6],
                     "data": numpy.array([1.5, -65504, 2 ** -24, numpy.inf, -0.0, 0.1], "<f2").tobytes()}
tensors["empty"] = {"dtype": "float32", "shape": [0, 3], "data": b""}
tensors["scalar"] = {"dtype": "float32", "shape": [], "data": bits("float32", [7])}
alive = {name: numpy.frombuffer(t["data"] or b"-", "u1") for name, t in tensors.items()}   # specs hold addresses only
specs = {name: safetensors.TensorSpec(dtype=t["dtype"], shape=t["shape"], data_ptr=alive[name].ctypes.data,
                                      data_len=len(t["data"])) for name, t in tensors.items()}
(folder / "dtypes.safetensors").write_bytes(safetensors.serialize(specs, {"who": "é \"quoted\""}))

shards = {"model-00001-of-00002.safetensors": {"embed": numpy.arange(35, dtype="f4").reshape(7, 5),
                                               "layers.0.weight": numpy.arange(12, dtype="f4").reshape(3, 4)},
          "model-00002-of-00002.safetensors": {"layers.1.weight": numpy.arange(12, 24, dtype="f4").reshape(3, 4)}}
for name, content in shards.items():
    save_file(content, folder / name, {"format": "pt"})
index = {"metadata": {"total_size": 4 * 59}, "weight_map": {t: name for name, ts in shards.items() for t in ts}}
(folder / "model.safetensors.index.json").write_text(json.dumps(index, indent=2, sort_keys=True) + "\n")
