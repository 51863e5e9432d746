"""dlopen_test.py LIBRARY: the library loads into a process that knows nothing of it, its threads run there, and they
outlive a dlclose."""
import _ctypes
import ctypes
import sys
import threading
import time

library = ctypes.CDLL(sys.argv[1])
ranges, threads = [], set()


@ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
def run(_, begin, end):
    ranges.append((begin, end))
    threads.add(threading.get_ident())
    time.sleep(0.01)   # so that the other thread comes


library._ZN4bora16set_thread_countEi(2)
for _ in range(5):
    ranges.clear()
    # So many iterations that they are no short loop, which its caller may be left alone with.
    library._ZN4bora6detail15parallel_rangesEllPvPFvS1_llE(ctypes.c_int64(1000), ctypes.c_int64(1), None, run)
    assert sorted(ranges) == [(0, 500), (500, 1000)], ranges
assert len(threads) == 2, threads
_ctypes.dlclose(library._handle)
time.sleep(0.1)
