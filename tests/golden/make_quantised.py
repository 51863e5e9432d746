"""Writes quantised.txt: weights of integers as compressed-tensors writes them, and the numbers that it reads again.

  python make_quantised.py > quantised.txt

compressed-tensors 0.20.1, torch 2.13.0. Every line: name, count, numbers."""
import torch
from compressed_tensors.compressors.pack_quantized.base import PackedQuantizationCompressor
from compressed_tensors.quantization import QuantizationArgs, QuantizationScheme


def show(name, x):
    x = x.double().flatten().tolist()
    print(name, len(x), *("%.10g" % n for n in x))


def case(name, bits, group, symmetric, outputs, inputs):
    strategy = "group" if group else "channel"
    args = QuantizationArgs(num_bits=bits, type="int", symmetric=symmetric, strategy=strategy, group_size=group)
    scheme = QuantizationScheme(targets=["Linear"], weights=args)
    w = torch.sin(0.37 * torch.arange(outputs * inputs).reshape(outputs, inputs)) + (0.0 if symmetric else 0.4)
    parts = w.reshape(outputs, -1, group or inputs)
    low, high = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    if symmetric:
        scale = (2 * parts.abs().amax(-1) / (high - low)).half()
        zero = torch.zeros_like(scale, dtype=torch.int8)
    else:
        least, most = parts.amin(-1).clamp(max=0), parts.amax(-1).clamp(min=0)
        scale = ((most - least) / (high - low)).half()
        zero = (low - least / scale).round().clamp(low, high).to(torch.int8)
    state = {"weight": w.half(), "weight_scale": scale, "weight_zero_point": zero}
    packed = PackedQuantizationCompressor.compress(state, scheme)
    for key in sorted(packed):
        show(f"{name}.{key}", packed[key])
    show(name + ".shape", torch.tensor([bits, group or 0, symmetric, *packed["weight_packed"].shape, *scale.shape]))
    show(name + ".numbers", PackedQuantizationCompressor.decompress(packed, scheme)["weight"])


case("int4", 4, 32, True, 16, 64)
case("int4_zeros", 4, 32, False, 16, 64)
case("int8", 8, 32, True, 8, 32)
case("int4_channel", 4, None, True, 8, 44)
