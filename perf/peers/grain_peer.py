"""Grain's side of perf/compare."""
import grain.python as grain
import numpy as np
from grain.experimental import FirstFitPackIterDataset

from common import serve


def documents(n, step):
    return [{"x": ((d + 3 * np.arange(1 + d * step % 601)) % 50000).astype(np.int32)} for d in range(n)]


def cases():
    def pipeline():
        a, b = (grain.MapDataset.source(documents(*x)) for x in ((6000, 7919), (3000, 104729)))

        def batches(threads, buffer):
            mixed = grain.MapDataset.mix([a.shuffle(seed=3), b.shuffle(seed=4)], [3, 1])
            read = grain.ReadOptions(num_threads=threads, prefetch_buffer_size=buffer)
            return FirstFitPackIterDataset(mixed.to_iter_dataset(read), length_struct={"x": 640}, num_packing_bins=64,
                                           shuffle_bins=False).batch(8)

        def variant(threads, buffer):
            def run():
                for _ in batches(threads, buffer):
                    pass
            return run, lambda: sums(batches(threads, buffer))
        return {"in-line": variant(0, 0), "threads": variant(2, 64)}
    return {"data_pipeline": pipeline}


def sums(made):
    rows, tokens, segments, positions = 0, 0, 0, 0
    for batch in made:
        x, s, p = (batch[k].astype(np.float64) for k in ("x", "x_segment_ids", "x_positions"))
        rows, tokens = rows + len(x), tokens + x.sum()
        segments, positions = segments + (s * (x + 1)).sum(), positions + p.sum()
    return {"sums": [float(rows), tokens, segments, positions]}


serve(cases())
