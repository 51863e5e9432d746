"""Shared by perf/compare, perf/gate and perf/race: the processes of the frameworks, and what agrees with what."""
import contextlib
import json
import os
import pathlib
import select
import socket
import statistics
import subprocess
import time

HERE = pathlib.Path(__file__).resolve().parent
MALLOC = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": "100000000000", "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}

# Environments that hold every framework to an instruction set that the processor has more than.
ISA = {"": {}, "avx2": {"BORA_ISA": "v3", "ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2",
                        "DNNL_MAX_CPU_ISA": "AVX2", "MKL_ENABLE_INSTRUCTIONS": "AVX2",
                        "XLA_FLAGS": "--xla_cpu_max_isa=AVX2", "OPENBLAS_CORETYPE": "Haswell",
                        "NPY_DISABLE_CPU_FEATURES": "AVX512F AVX512_SKX AVX512_SPR"}}


class WorkerError(SystemExit):
    """A framework's process ended or refused."""


class Late(WorkerError):
    """An answer took longer than its caller waits."""


def models_in(build):
    return build / "compare-models"


class Worker:
    """One framework: a process that answers commands, or several (ranks) that all get each command."""
    def __init__(self, name, options, models=None):
        self.name, self.processes = name, []
        self.deadline = None   # time.time() at which an answer is late
        ranks = 2 if name.endswith("-ranks") else 1
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = str(s.getsockname()[1])
        for r in range(ranks):
            env = {k: v for k, v in os.environ.items() if not k.startswith(("BORA_", "OMP_"))}
            env |= ISA[options.isa] | {
                "TORCHINDUCTOR_CACHE_DIR": str(options.build / f"compare-cache{options.isa}"), "JAX_PLATFORMS": "cpu",
                "BORA_COMPARE_MODELS": str(models or models_in(options.build))}
            if "-malloc" in name:
                env |= MALLOC
            threads = str(max(1, options.threads // ranks))
            if ranks > 1:
                env |= {"BORA_RANK": str(r), "BORA_SIZE": str(ranks), "BORA_ROOT": f"127.0.0.1:{port}", "RANK": str(r),
                        "WORLD_SIZE": str(ranks), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
            kind = name.split("-")[0].split(" ")[0]
            env |= dict(setting.split("=", 1) for setting in name.split(" ")[1:])
            if kind == "bora":
                for k in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"):
                    env.pop(k, None)
                command = [str(options.build / "perf/compare_cases"), threads]
            else:
                env |= {"OMP_NUM_THREADS": threads, "NPROC": threads, "PJRT_NPROC": threads}
                script, argument = (("jax_peer.py", kind[3:] or "1") if kind.startswith("jax")
                                    else (f"{kind}_peer.py", threads))
                command = [options.python, str(HERE / "peers" / script), argument]
            self.processes.append(subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                                   text=True,
                                                   stderr=None if options.verbose else subprocess.DEVNULL))

    def ask(self, *words):
        for p in self.processes:
            p.stdin.write(" ".join(map(str, words)) + "\n")
            p.stdin.flush()
        replies = []
        for p in self.processes:
            if not select.select([p.stdout], [], [], self.deadline and max(0, self.deadline - time.time()))[0]:
                raise Late(f"{self.name} takes too long for '{' '.join(map(str, words))}'")
            line = p.stdout.readline()
            if not line:
                raise WorkerError(f"{self.name} died at '{' '.join(map(str, words))}' with {p.wait()}; "
                                  "--verbose shows its words")
            replies.append(json.loads(line))
        for reply in replies:
            if "error" in reply:
                raise WorkerError(f"{self.name}, {' '.join(map(str, words))}: {reply['error']}")
        return replies[0] | ({"cpu": sum(r["cpu"] for r in replies)} if "cpu" in replies[0] else {})

    def priority(self, level):
        """Real-time priority of every thread there is (0: normal)."""
        policy = os.SCHED_RR if level else os.SCHED_OTHER
        for p in self.processes:
            for task in os.listdir(f"/proc/{p.pid}/task"):
                with contextlib.suppress(ProcessLookupError):
                    os.sched_setscheduler(int(task), policy, os.sched_param(level))

    def end(self):
        for p in self.processes:
            with contextlib.suppress(BrokenPipeError):
                p.stdin.close()
        for p in self.processes:
            with contextlib.suppress(subprocess.TimeoutExpired):
                p.wait(1 if self.deadline and time.time() > self.deadline else 10)
            p.kill()
            p.wait()


def differing(mine, theirs, tolerance):
    """What does not agree, as text: names both have, sums and elements within tolerance of the magnitude."""
    common = [k for k in mine if k in theirs]
    if not common:
        return f"nothing to compare: {list(mine)} and {list(theirs)}"
    for k in common:
        a, b = mine[k], theirs[k]
        if len(a) != len(b):
            return f"{k}: {a} and {b}"
        scale = statistics.fmean(abs(x) for x in a[2:]) if len(a) == 10 else 0   # a digest: sum, magnitudes, elements
        for i, (x, y) in enumerate(zip(a, b)):
            size = a[1] if len(a) == 10 and i == 0 else max(abs(x), scale)
            if not abs(x - y) <= tolerance * size:
                return f"{k}[{i}]: {x} and {y}"
    return ""


def duration(s):
    return (f"{s * 1e9:.0f} ns" if s < 1e-6 else f"{s * 1e6:.3g} us" if s < 1e-3 else f"{s * 1e3:.3g} ms" if s < 1
            else f"{s:.3g} s")


def find_python():
    candidates = [os.environ.get("BORA_BENCH_PYTHON"), HERE / ".venv/bin/python"]
    for c in candidates:
        if c and pathlib.Path(c).exists():
            return str(c)
    raise SystemExit("no Python with the peers; set BORA_BENCH_PYTHON, or\n"
                     "  python3 -m venv perf/.venv && perf/.venv/bin/pip install -r perf/requirements.txt")
