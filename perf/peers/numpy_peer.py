"""NumPy's side of perf/compare."""
import numpy as np

from common import integers, serve, uniform
from linear import linear


def one(f):
    return {"numpy": f}


def indices(*arguments):
    return integers(*arguments).astype(np.intp)   # of its own kind: others are converted in every call


def big():
    return uniform(1, (4096, 4096))


def cases():
    def add():
        a, b = uniform(1, (8,)), uniform(2, (8,))
        return one(lambda: a + b)

    def transpose():
        x = big()
        return one(lambda: np.ascontiguousarray(x.T))

    def concatenate():
        x, y = big(), uniform(2, (4096, 1024))
        return one(lambda: np.concatenate((x, y), 1))

    def pad():
        x = big()
        return one(lambda: np.pad(x, ((1, 1), (8, 8))))

    def gather():
        table, at = uniform(1, (1 << 20,)), indices(2, (1 << 22,), 1 << 20)
        return one(lambda: np.take(table, at))

    def scatter():
        table, at, d = uniform(1, (1 << 20,)), indices(2, (1 << 22,), 1 << 20), uniform(3, (1 << 22,))

        def run():
            r = table.copy()
            np.add.at(r, at, d)
            return r
        return one(run)

    def many(f, make):
        def prepare():
            inputs = make()
            return one(lambda: f(*inputs))
        return prepare

    def unary(f, make):
        def prepare():
            x = make()
            return one(lambda: f(x))
        return prepare

    return {"eager_add": add, "transpose": transpose, "concatenate": concatenate, "pad": pad, "gather_elements": gather,
            "scatter_elements": scatter,
            "sort": unary(np.sort, lambda: uniform(1, (1 << 22,))),
            "sort_rows": unary(np.sort, lambda: uniform(1, (4096, 1024))),
            "argsort": unary(lambda x: np.argsort(x, kind="stable"), lambda: uniform(1, (1 << 22,))),
            "cumsum": unary(np.cumsum, lambda: uniform(1, (1 << 24,), 2**-10)),
            "cumsum_rows": unary(lambda x: np.cumsum(x, -1), big),
            "argmax": unary(lambda x: x.argmax(-1), big), "sum_columns": unary(lambda x: x.sum(0), big),
            **{name: many(*parts) for name, parts in linear(np).items()}}


serve(cases())
