"""Data over MPI between ranks that count as hosts of their own.
mpi_carrier_test.py BORA RANK_PROGRAM SOAK_PROGRAM ON|OFF (BORA_MPI of the build)"""
import atexit
import os
import re
import shutil
import signal
import sys
import tempfile
import time

from common import clean_environment, expect, kill_when_ready, need, processes, run, run_all, skip, wait_until

rank_program, soak_program, built = sys.argv[2:5]
if built != "ON":
    skip("needs a build with MPI: apt-get install -y --no-install-recommends libopenmpi-dev openmpi-bin, "
         "cmake -DBORA_MPI=ON")
need({"mpirun": "openmpi-bin"})
folder = tempfile.mkdtemp(prefix="bora_mpi_")
atexit.register(shutil.rmtree, folder)
os.chdir(folder)


def mpirun(*words, per_host=1, ends=True, meanwhile=None, **environment):
    """4 ranks, `per_host` of them on each "host"; each prints its exit code. Without `ends`, mpirun is ended once the
    ranks have ended."""
    env = clean_environment(**{"BORA_CARRIER": "mpi", **environment}, BORA_TEST=os.path.basename(folder),
                            OMPI_ALLOW_RUN_AS_ROOT="1",
                            OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    ranks = lambda: [line for _, line in processes(env["BORA_TEST"]) if line.startswith((rank_program, soak_program))]

    def watch(process):
        if meanwhile:
            meanwhile(process)
        if not ends:  # it waits for more than its ranks when one of them has gone
            wait_until("no rank is left", lambda: not ranks())
            time.sleep(0.5)
            process.terminate()
    each = (f'BORA_HOST_ID=$((OMPI_COMM_WORLD_RANK / {per_host})) "$0" "$@"; code=$?; '
            'echo "rank $OMPI_COMM_WORLD_RANK: code $code"; exit $code')
    recovery = [] if ends else ["--enable-recovery"]  # or it ends the others before they have seen the loss
    r = run(["mpirun", "--oversubscribe", "--bind-to", "none", *recovery, "-n", "4", "sh", "-c", each, *words], watch,
            env=env)
    wait_until("no rank is left", lambda: not ranks())
    return r


def bits(result):
    return sorted(re.findall(r"rank \d: bits of sums \w+", result.out))


def collectives_have_the_bits_of_tcp():
    tcp = mpirun(rank_program, "everything", BORA_CARRIER="tcp")
    for per_host in (1, 2):
        r = mpirun(rank_program, "everything", per_host=per_host)
        expect(r.code == 0 and r.out.count("everything is right") == 4 and len(bits(r)) == 4 and bits(r) == bits(tcp),
               r)


def messages_beyond_what_mpi_sends_unasked():
    r = mpirun(rank_program, "large")
    expect(r.code == 0, r)


def random_collectives():
    r = mpirun(soak_program, "4", "7")
    expect(r.code == 0, r)


def named_by_all(victim_signal, how, **environment):
    ready = kill_when_ready(rank_program, "OMPI_COMM_WORLD_RANK=2\0", victim_signal=victim_signal)

    def meanwhile(process):
        ready(process)
        wait_until("three ranks have ended", lambda: process.said().count(": code 86") == 3)
        meanwhile.seconds = time.monotonic() - ready.at
        if victim_signal == signal.SIGSTOP:
            os.kill(ready.pid, signal.SIGKILL)
    r = mpirun(rank_program, "big", ends=False, meanwhile=meanwhile, **environment)
    expect(len(re.findall(r"bora: rank 2 \(host .*\) lost: " + how, r.out)) == 3 and meanwhile.seconds < 5, r)


def a_killed_rank_is_named_by_all():
    named_by_all(signal.SIGKILL, "connection closed")


def a_stopped_rank_is_named_by_all():
    named_by_all(signal.SIGSTOP, "no heartbeat for 1", TEST_HEARTBEAT="0.1")


def a_secret_is_kept():
    with open("secret", "w") as f:
        f.write(os.urandom(32).hex())
    os.chmod("secret", 0o600)
    r = mpirun(rank_program, "everything", BORA_SECRET_FILE=f"{folder}/secret")
    expect(r.code == 2 and "over MPI, which does not encrypt, and the job has a secret" in r.out
           and "--insecure-private-network" in r.out, r)
    r = mpirun(rank_program, "everything", BORA_SECRET_FILE=f"{folder}/secret", BORA_INSECURE_PRIVATE_NETWORK="1")
    expect(r.code == 0 and r.out.count("everything is right") == 4, r)
    r = mpirun(rank_program, "everything", BORA_SECRET_FILE=f"{folder}/secret", per_host=4)
    expect(r.code == 0 and r.out.count("everything is right") == 4, r)


def without_mpirun_it_is_refused():
    r = run([rank_program, "everything"],
            env=clean_environment(BORA_CARRIER="mpi", BORA_RANK="0", BORA_SIZE="2", BORA_ROOT="127.0.0.1:29650"))
    expect(r.code == 2 and "nobody started this process as a rank of an MPI job" in r.out, r)


run_all([collectives_have_the_bits_of_tcp, messages_beyond_what_mpi_sends_unasked, random_collectives,
         a_killed_rank_is_named_by_all,
         a_stopped_rank_is_named_by_all, a_secret_is_kept, without_mpirun_it_is_refused])
