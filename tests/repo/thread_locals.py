#!/usr/bin/env python3
"""Every thread_local variable of the library is in a table here, with its reason. A variable that is not listed fails,
and so does a listed one that does not exist.  thread_locals.py ROOT"""
import pathlib
import re
import sys

# A result may depend on these alone: the mesh, the mapping, the interpreter, the default dtype and the place
# in the source.
INPUTS = {
    "src/array/mesh.cpp": {"h": "the mesh in force and this thread's rank (here)"},
    "src/named/mapping.cpp": {"mapping_in_force": "the mapping of logical axes to mesh axes (UseMapping)"},
    "src/array/array.cpp": {"current_interpreter": "the interpreter that primitives are called on",
                            "float_in_force": "the dtype of fractions where nothing else decides (UseDtype)"},
    "src/array/source.cpp": {"scoped_source": "the place in the source that instructions and errors name",
                             "named_scope": "the names of scopes around that place"},
}
# These change no number: scratch memory, caches, records, and a thread's own place.
OTHERS = {
    "include/bora/base/trace.h": {"thread": "the thread's own number in traces"},
    "src/array/rules.cpp": {"log": "records which sizes a plan asked for"},
    "src/array/source.cpp": {"last_stack": "cache of the last stack that was walked"},
    "src/base/openmp.cpp": {"pool": "what the thread knows of its OpenMP threads",
                            "bound_to": "which cores an OpenMP thread was bound to"},
    "src/base/parallel.cpp": {"scope_threads": "how many threads share work; results do not depend on it"},
    "src/base/team.cpp": {"my_place": "the thread's own place among the teams",
                          "within": "the thread is inside a parallel range and starts no other one"},
    "src/compile/run/timing.cpp": {"per_byte": "cache: seconds of this thread's core for a byte, for plans",
                                   "per_flop": "cache: seconds of this thread's core for an operation, for plans"},
    "src/kernels/array/memory.cpp": {"small": "lists of free small blocks", "at_end": "frees those lists"},
    "src/kernels/array/order.cpp": {"s": "scratch memory of sorts"},
    "src/kernels/array/sort.cpp": {"sorter": "scratch memory of Highway's sort"},
    "src/kernels/gemm/bf16.cpp": {"last": "cache of the last kernel", "last_key": "the key of that kernel",
                                  "scratch": "scratch memory of oneDNN", "size": "bytes of that memory",
                                  "stream": "the thread's own stream of oneDNN"},
    "src/kernels/gemm/gemm.cpp": {"memory": "scratch memory of products", "s": "its layout"},
    "src/kernels/jit/run.cpp": {"scratch": "scratch memory of generated loops"},
    "src/kernels/lowbit/lowbit.cpp": {"memory": "scratch memory of rounded inputs", "size": "bytes of that memory"},
    "src/kernels/loop/recording_lanes.h": {"graph": "the loop that this thread records"},
    "src/named/mapping.cpp": {"record_in_force": "records which axes auto_sharded saw, for plans (RecordSharded)"},
    "src/ops/primitives/elementwise.cpp": {"args": "scratch memory: a loop's arguments"},
    "src/shard/agreement.cpp": {"innermost": "the types behind a collective, by which errors of other ranks name it"},
    "src/text/tokenizers/words.cpp": {"place": "where this thread looks first for a cache"},
    "transport/src/carrier/net_link.cpp": {"receiving": "the thread is inside receive and is not woken for it"},
}


def names_in(text):
    """(line, variable) of each thread_local declaration, one variable each."""
    code = re.sub(r'//.*|"(?:\\.|[^"\\\n])*"', "", text)
    for found in re.finditer(r"\bthread_local\b([^=;({]*)(.)", code):
        yield code.count("\n", 0, found.start()) + 1, found.group(1).split()[-1].lstrip("*&")


assert list(names_in('static thread_local std::vector<A>* a = f("thread_local b;");  // thread_local c')) == [(1, "a")]
assert [name for _, name in names_in("thread_local const int n = [&] {\nthread_local S s{1}; thread_local T t(2);")
        ] == ["n", "s", "t"]
root = pathlib.Path(sys.argv[1])
problems = []
listed = {(file, name) for table in (INPUTS, OTHERS) for file, names in table.items() for name in names}
found = set()
for top in ("src", "include", "transport"):
    for path in sorted((root / top).rglob("*")):
        if path.suffix not in (".h", ".cpp"):
            continue
        file = path.relative_to(root).as_posix()
        for line, name in names_in(path.read_text()):
            found.add((file, name))
            if (file, name) not in listed:
                problems.append(f"{file}:{line}: thread_local {name}: pass it as an argument or an option; if no "
                                "result depends on it, tests/repo/thread_locals.py lists it with its reason")
problems += [f"tests/repo/thread_locals.py: there is no thread_local {name} in {file}"
             for file, name in sorted(listed - found)]
print("\n".join(problems) if problems else f"{len(found)} thread_local variables are as listed")
sys.exit(bool(problems))
