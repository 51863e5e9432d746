"""Jobs that Open MPI's mpirun starts: on this machine, and on two (tests/launchers/machines.py).
mpirun_test.py BORA RANK_PROGRAM"""
import atexit
import os
import shutil
import sys
import tempfile
import time

from common import clean_environment, expect, kill_when_ready, need, processes, run, run_all, wait_until
from machines import Machines, in_namespaces_of_our_own

need({"mpirun": "openmpi-bin", "ip": "iproute2"})
in_namespaces_of_our_own()
bora, rank_program = sys.argv[1:3]
folder = tempfile.mkdtemp(prefix="bora_mpirun_")
atexit.register(shutil.rmtree, folder)
os.chdir(folder)
machines = Machines(["m1", "m2"], folder)


def mpirun(*words, meanwhile=None, **environment):
    env = clean_environment(**environment, BORA_TEST=os.path.basename(folder),
                            OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    r = run(machines.on("m1", "mpirun", "--oversubscribe", "--bind-to", "none", *words), meanwhile, env=env)
    wait_until("no rank is left",
               lambda: not [line for _, line in processes(env["BORA_TEST"]) if line.startswith((bora, rank_program))])
    return r


def two_machines():
    """Options: mpirun starts its daemon on the second one as it would by ssh, and passes our variables on."""
    with open("agent", "w") as f:
        f.write('#!/bin/sh\n[ "$1" = m2 ] || exit 255\nshift\nexec ' + " ".join(machines.on("m2", "sh", "-c"))
                + ' "$*"\n')
    os.chmod("agent", 0o755)
    with open("secret", "w") as f:
        f.write(os.urandom(32).hex())
    os.chmod("secret", 0o600)
    return ["--mca", "plm_rsh_agent", f"{folder}/agent", "--host", "m1:2,m2:2", "-x", "BORA_SECRET_FILE",
            "-x", "BORA_CALIBRATE", "-x", "BORA_TEST", "-n", "4"]


def collectives_on_one_machine():
    r = mpirun("-n", "4", bora, "comm", "--max-bytes", "4096")
    expect(r.code == 0 and "4 ranks, 4 on this host, launcher: Open MPI" in r.out and "all_reduce" in r.out, r)


def collectives_between_machines():
    r = mpirun(*two_machines(), bora, "comm", "--max-bytes", "4096", BORA_SECRET_FILE=f"{folder}/secret")
    expect(r.code == 0 and "4 ranks, 2 on this host, launcher: Open MPI" in r.out and "all_reduce" in r.out, r)


def a_killed_rank_ends_the_job():
    kill = kill_when_ready(rank_program, "OMPI_COMM_WORLD_RANK=2\0")
    r = mpirun(*two_machines(), rank_program, "loop", meanwhile=kill, BORA_SECRET_FILE=f"{folder}/secret")
    expect(r.code != 0 and time.monotonic() - kill.at < 8 and "rank 2" in r.out + r.err, r)


def without_a_secret_nothing_starts_between_machines():
    options = two_machines()
    del options[options.index("BORA_SECRET_FILE") - 1:options.index("BORA_SECRET_FILE") + 1]
    r = mpirun(*options, bora, "comm", "--max-bytes", "4096")
    expect(r.code == 2 and "without a secret" in r.out + r.err and "BORA_SECRET_FILE" in r.out + r.err, r)


run_all([collectives_on_one_machine, collectives_between_machines, a_killed_rank_ends_the_job,
         without_a_secret_nothing_starts_between_machines])
