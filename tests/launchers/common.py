"""Shared by the tests of launchers: programs that must be there, processes that must be gone, commands with a time
limit."""
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

SKIPPED = 77  # ctest's SKIP_RETURN_CODE


def clean_environment(**more):
    """This process's environment, without variables that a launcher would take for its own; nothing is measured, and
    nothing kept in the user's cache."""
    others = ("BORA_", "OMPI_", "PMIX_", "PMI_", "SLURM_STEP", "JOB_COMPLETION")
    return {**{k: v for k, v in os.environ.items() if not k.startswith(others)}, "BORA_CALIBRATE": "off", **more}


def need(packages):
    """packages: {program: Debian package}. Without one of them the test says what to install, and is skipped."""
    path = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
    os.environ["PATH"] = path
    missing = sorted({package for program, package in packages.items() if not shutil.which(program)})
    if missing:
        skip("needs " + ", ".join(missing) + ": apt-get install -y --no-install-recommends " + " ".join(missing))


def skip(why):
    print("SKIPPED:", why)
    sys.exit(SKIPPED)


def processes(*words):
    """Processes whose command line and environment have these words, except zombies and this process: [(pid, command
    line)]."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        if int(pid) == os.getpid():
            continue
        try:
            line, around = (open(f"/proc/{pid}/{name}", "rb").read() for name in ("cmdline", "environ"))
        except OSError:
            continue
        if line and all(word.encode() in line + b"\0" + around for word in words):
            found.append((int(pid), line.replace(b"\0", b" ").decode(errors="replace")))
    return found


def wait_until(what, condition, seconds=20):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"{what}: not within {seconds} s"
        time.sleep(0.02)


def kill_when_ready(program, *marks, victim_signal=signal.SIGKILL):
    """For `meanwhile`: once 4 ranks have printed "ready", sends the signal to the process of `program` that has these
    variables in its environment."""
    def kill(process):
        wait_until("4 ranks are ready", lambda: process.said().count("ready\n") == 4)
        pids = [pid for pid, line in processes(*marks) if line.startswith(program)]
        assert len(pids) == 1, processes(*marks)
        os.kill(pids[0], victim_signal)
        kill.pid, kill.at = pids[0], time.monotonic()
    return kill


class Result:
    def __init__(self, code, out, err, seconds):
        self.code, self.out, self.err, self.seconds = code, out, err, seconds

    def __str__(self):
        return f"exit code {self.code} after {self.seconds:.1f} s\n--- stdout\n{self.out}--- stderr\n{self.err}---"


def run(command, meanwhile=None, seconds=120, **options):
    """The command's Result; `meanwhile` gets the process, with what it said() on stdout and complained() on
    stderr so far."""
    begin = time.monotonic()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True,
                                   **options)
        process.said = lambda: os.pread(out.fileno(), 1 << 20, 0).decode(errors="replace")
        process.complained = lambda: os.pread(err.fileno(), 1 << 20, 0).decode(errors="replace")
        try:
            if meanwhile:
                meanwhile(process)
            code = process.wait(timeout=seconds)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                for f in (out, err):
                    f.seek(0)
                    print(f.read().decode(errors="replace"))
        out.seek(0), err.seek(0)
        return Result(code, out.read().decode(errors="replace"), err.read().decode(errors="replace"),
                      time.monotonic() - begin)


def expect(condition, result):
    if not condition:
        raise AssertionError(str(result))


def run_all(tests):
    """Runs functions one after the other; exits with the number of those that failed."""
    failed = 0
    for test in tests:
        begin = time.monotonic()
        try:
            test()
            print(f"ok      {test.__name__} ({time.monotonic() - begin:.1f} s)", flush=True)
        except Exception:
            failed += 1
            traceback.print_exc()
            print(f"FAILED  {test.__name__}", flush=True)
    sys.exit(1 if failed else 0)
