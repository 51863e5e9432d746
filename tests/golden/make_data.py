"""Writes data.txt: orders, seeds, random numbers and packings of Grain that tests/data compares with.

Each line: name, parameters, ':', values. A hole (of a filter) is '-'.
Usage: pip install grain==0.2.18; python make_data.py > data.txt
"""
import importlib.metadata

import grain.python as grain
import numpy as np
from grain._src.python.dataset.transformations import mix as mixing
from grain._src.python.dataset.transformations import packing
from grain._src.python.dataset.transformations import packing_concat_then_split as splitting
from grain._src.python.dataset.transformations import shuffle as shuffling

Range = grain.MapDataset.range


def line(name, *params_and_values):
    *params, values = params_and_values
    print(name, *params, ":", *values)


def number(x):
    return "-" if x is None else x.hex() if isinstance(x, float) else str(int(x))


def elements(name, dataset, indices):
    """The length, and elements at any indices."""
    def one(x):
        return ",".join(map(number, x)) if isinstance(x, (list, np.ndarray)) else number(x)
    line(name, len(dataset), [one(dataset[i]) for i in indices])


def commas(values):
    return ",".join(map(str, values))


def mixes():
    for weights in ([1], [1, 1], [3, 1], [0.7, 0.2, 0.1], [0.333, 0.333, 0.334], [1, 2.5, 1e6], [5, 4, 3, 2, 1, 0.5]):
        shares = tuple(mixing._float_to_int_proportions(weights))
        for start in (0, 1017, 10**12 + 7, 10**17 + 3):
            picks = [mixing._dataset_and_key_of_next_element(k, shares) for k in range(start, start + 24)]
            line("mix", commas(weights), start, [f"{s},{i}" for s, i in picks])
    for weights, sizes in (([3, 1], [100, 100]), ([0.333, 0.333, 0.334], [10, 20, 30]), ([1, 2.5, 7], [11, 5000, 93])):
        mix = grain.MapDataset.mix([Range(n) for n in sizes], weights)
        line("mix_size", commas(weights), commas(sizes), [len(mix)])


def packings():
    random = np.random.default_rng(5)
    kinds = {"first_fit": packing.FirstFitPackIterDataset, "best_fit": packing.BestFitPackIterDataset}
    for capacity, open_rows, most, longest, count in ((20, 4, 0, 20, 70), (20, 4, 2, 14, 60), (64, 7, 3, 40, 90),
                                                      (9, 1, 0, 9, 40), (33, 16, 0, 33, 100), (12, 3, 0, 3, 60)):
        lengths = random.integers(0 if capacity == 12 else 1, longest + 1, count).tolist()
        source = [{"x": np.full(n, d), "d": d} for d, n in enumerate(lengths)]
        for kind, dataset in kinds.items():
            rows = dataset(grain.MapDataset.source(source).to_iter_dataset(), length_struct={"x": capacity},
                           num_packing_bins=open_rows, shuffle_bins=False, meta_features=("d",),
                           max_sequences_per_bin=most or None)
            line("pack", kind, capacity, open_rows, most, commas(lengths), [commas(row["d"]) for row in rows])


def tokens_of(n, more=1):
    return {"x": np.asarray([1000 * n + i for i in range(n * 7 % 11 + more)], np.int32)}


def rows_of(name, dataset):
    line(name, [f"{commas(r['x'])}/{commas(r['x_segment_ids'])}/{commas(r['x_positions'])}" for r in dataset])


def sequences():
    elements("range", Range(3, 50, 7), range(0, 16))
    elements("shuffle", Range(10).seed(42).shuffle(), range(30))
    deep = Range(10).map(lambda x: x).seed(42).map(lambda x: x).map(lambda x: x + 1).shuffle()
    elements("shuffle_deep", deep, range(20))
    elements("shuffle_wide", Range(100).seed(2**40 + 7).shuffle(), range(95, 115))
    own = Range(1000).seed(1).shuffle(seed=2**32 - 1)
    elements("shuffle_own", own, [*range(10), *range(1000, 1010), 5 * 10**12 + 3])
    elements("shuffle_large", Range(10**12).shuffle(seed=7), [0, 1, 10**12 - 1, 10**12, 10**12 + 5, 10**15])
    elements("window", shuffling.WindowShuffleMapDataset(Range(24), window_size=6, seed=3), range(48))
    elements("slice", Range(20).seed(1).shuffle()[3::4], range(15))
    elements("slice_between", Range(20)[2:15:5], range(9))
    elements("repeat", Range(7).seed(3).shuffle().repeat(3), range(21))
    elements("repeat_same", Range(7).seed(3).shuffle().repeat(3, reseed_each_epoch=False), range(21))
    elements("repeat_endless", Range(7).seed(3).shuffle().repeat(), range(21, 42))
    three = [Range(4), Range(10, 13), Range(20, 25).seed(1).shuffle()]
    elements("concatenate", grain.MapDataset.concatenate(three), range(30))
    elements("batch", Range(10).seed(1).shuffle().batch(4, batch_fn=list), range(7))
    elements("batch_whole", Range(10).seed(1).shuffle().batch(4, drop_remainder=True, batch_fn=list), range(5))
    elements("filter", Range(20).seed(2).shuffle().filter(lambda x: x % 3 != 1).map(lambda x: 2 * x), range(30))
    elements("map_with_index", Range(6).seed(2).shuffle().map_with_index(lambda i, x: 100 * i + x), range(14))
    parts = [Range(0, 30).seed(1).shuffle(), Range(100, 120).seed(2).shuffle(), Range(200, 207)]
    elements("mix_three", grain.MapDataset.mix(parts, [0.6, 0.3, 0.1]), range(80))
    elements("mix_seeded", grain.MapDataset.mix(parts, [2, 1, 1]).shuffle(), range(40))
    chain = grain.MapDataset.mix(parts, [2, 1, 1]).shuffle()[1::2].repeat(2).batch(3, batch_fn=list)
    elements("chain", chain, range(12))
    for seed in (0, 7, 2**35 + 1):
        draws = Range(5).seed(seed)
        for name, f in {"bits32": lambda r: r.integers(0, 2**32), "below_10": lambda r: r.integers(0, 10),
                        "wide": lambda r: r.integers(-5, 2**40 + 12345), "uniform": lambda r: float(r.random()),
                        "any": lambda r: r.integers(-2**63, 2**63 - 1),
                        "largest": lambda r: r.integers(0, 3 * 2**30)}.items():
            f_ = lambda x, r, f=f: [f(r) for _ in range(5)]
            elements(f"random_{seed}_{name}", draws.random_map(f_), [0, 1, 5, 10**10])
    elements("random_own", Range(5).random_map(lambda x, r: [x, r.integers(0, 100)], seed=11), range(10))
    documents = Range(40).seed(5).shuffle().map(tokens_of)
    for kind, dataset in (("first", packing.FirstFitPackIterDataset), ("best", packing.BestFitPackIterDataset)):
        rows_of(f"packed_{kind}", dataset(documents.to_iter_dataset(), length_struct={"x": 16}, num_packing_bins=3,
                                          shuffle_bins=False))
    rows_of("split", splitting.ConcatThenSplitIterDataset(documents.to_iter_dataset(), length_struct={"x": 16}))
    documents = Range(40).seed(5).shuffle().map(lambda n: tokens_of(n, 0))  # some without a token
    rows_of("split_empty", splitting.ConcatThenSplitIterDataset(documents.to_iter_dataset(), length_struct={"x": 16}))


print(f"# grain {importlib.metadata.version('grain')} numpy {np.__version__}")
mixes()
packings()
sequences()
