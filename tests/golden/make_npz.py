#!/usr/bin/env python3
"""Writes compressed.npz and mixed.npz beside this file, with numpy.savez_compressed and numpy.savez (2.4) and entries
of all kinds."""
import pathlib

import numpy

folder = pathlib.Path(__file__).parent
numbers = {
    "zeros": numpy.zeros((64, 64), "<f4"),
    "counting": numpy.arange(1000, dtype="<i8").reshape(10, 100),
    "fortran": numpy.asfortranarray(numpy.arange(6, dtype="<f8").reshape(2, 3)),
    "big_f4": numpy.array([1.5, -2.25, numpy.inf], ">f4"),
    "big_f8": numpy.array([[1e300, -0.0], [3.5, 2.0]], ">f8"),
    "big_i2": numpy.array([-2, 258], ">i2"),
    "big_i4": numpy.array([1, -70000], ">i4"),
    "big_i8": numpy.array([2**40 + 1, -3], ">i8"),
    "big_u4": numpy.array([4000000000], ">u4"),
    "big_f2": numpy.array([1.0, -0.5], ">f2"),
    "bytes": numpy.arange(256, dtype="u1"),
    "flags": numpy.array([True, False]),
    "nothing": numpy.zeros((0, 3), "<f4"),
}
odd = {
    "names": numpy.array(["one", "twenty"]),
    "records": numpy.array([(1, 2.0)], [("a", "<i4"), ("b", "<f4")]),
    "dates": numpy.array(["2026-01-01"], "datetime64[D]"),
    "unsigned": numpy.array([1], "<u8"),
}
numpy.savez_compressed(folder / "compressed.npz", **numbers)
small = {name: x for name, x in numbers.items() if x.size < 1000} | {"complex": numpy.array([1 + 2j], "<c8")}
numpy.savez(folder / "mixed.npz", **small, **odd)
numpy.savez(folder / "odd.npz", **{name: x for name, x in odd.items() if name != "unsigned"})
