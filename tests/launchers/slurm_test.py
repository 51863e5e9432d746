"""A Slurm cluster of two machines (tests/launchers/machines.py), and jobs that srun starts.
slurm_test.py BORA RANK_PROGRAM"""
import atexit
import os
import shutil
import subprocess
import sys
import tempfile
import time

from common import clean_environment, expect, kill_when_ready, need, processes, run, run_all, wait_until
from machines import Machines, in_namespaces_of_our_own

need({"slurmctld": "slurm-wlm", "slurmd": "slurm-wlm", "srun": "slurm-wlm", "munged": "munge", "ip": "iproute2"})
in_namespaces_of_our_own()
bora, rank_program = sys.argv[1:3]
folder = tempfile.mkdtemp(prefix="bora_slurm_")
atexit.register(shutil.rmtree, folder)
os.chdir(folder)
machines = Machines(["n1", "n2"], folder)
daemons = []


def daemon(name, command):
    daemons.append(subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=open(f"{name}.log", "w")))


def end():
    for d in reversed(daemons):
        d.terminate()
    for d in daemons:
        try:
            d.wait(15)
        except subprocess.TimeoutExpired:   # now and then one of Slurm's does not end with its jobs
            d.kill()
            d.wait()


def start_cluster():
    """Without cgroups, so that it also works inside of a container."""
    for d in ("state", "spool.n1", "spool.n2"):
        os.mkdir(d)
    with open("munge.key", "wb") as f:
        f.write(os.urandom(128))
    os.chmod("munge.key", 0o400)
    with open("slurm.conf", "w") as f:
        f.write(f"""ClusterName=test
SlurmctldHost=n1
SlurmUser=root
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
ReturnToService=2
SlurmdParameters=config_overrides
NodeName=n[1-2] CPUs=4
PartitionName=all Nodes=ALL Default=YES
""")
    os.environ["SLURM_CONF"] = f"{folder}/slurm.conf"
    atexit.register(end)
    daemon("munged", ["munged", "-F", "--force",
                      *(f"--{k}-file={folder}/munge.{k}" for k in ("key", "pid", "seed", "log")),
                      f"--socket={folder}/munge.socket"])
    wait_until("munged listens", lambda: os.path.exists("munge.socket"))
    daemon("slurmctld", machines.on("n1", "slurmctld", "-D"))
    for n in machines.names:
        daemon(n, machines.on(n, "slurmd", "-D"))

    def idle():
        assert all(d.poll() is None for d in daemons), "".join(
            open(f"{n}.log").read() for n in ("slurmctld", "n1", "n2"))
        return "n[1-2] idle" in subprocess.run(machines.on("n1", "sinfo", "-h", "-o", "%N %T"), capture_output=True,
                                               text=True).stdout
    wait_until("the nodes are idle", idle, 60)
    with open("secret", "wb") as f:
        f.write(os.urandom(32).hex().encode())
    os.chmod("secret", 0o600)


def srun(*words, secret=True, meanwhile=None, command=("srun", "-N2", "-n4")):
    env = clean_environment(BORA_TEST=os.path.basename(folder))
    if secret:
        env["BORA_SECRET_FILE"] = f"{folder}/secret"
    r = run(machines.on("n1", *command, *words), meanwhile, env=env)
    wait_until("no rank is left",
               lambda: not [line for _, line in processes(env["BORA_TEST"]) if line.startswith((bora, rank_program))],
               3)
    return r


def collectives_between_nodes():
    r = srun(bora, "comm", "--max-bytes", "4096")
    expect(r.code == 0 and "4 ranks" in r.out and "launcher: Slurm" in r.out and "all_reduce" in r.out, r)


def a_second_step_is_another_job():
    with open("job.sh", "w") as f:
        f.write(f"#!/bin/sh\nset -e\nfor i in 1 2; do srun -n4 {rank_program} meet; done\n"
                f"srun -N1 -n1 {rank_program} meet\n{rank_program} meet\n")
    r = srun("job.sh", command=("sbatch", "--wait", "-N2", "-n4", "--output=job.out"))
    said = open("job.out").read()
    expect(r.code == 0 and said.count("ready\n") == 10, f"{r}\n{said}")  # in the script itself a rank is alone


def without_a_secret_nothing_starts():
    r = srun(bora, "comm", "--max-bytes", "4096", secret=False)
    expect(r.code == 2 and "without a secret" in r.err and "BORA_SECRET_FILE" in r.err and "10.78.0.1" in r.err, r)


def a_killed_rank_ends_the_job():
    kill = kill_when_ready(rank_program, "SLURM_PROCID=3\0")
    r = srun(rank_program, "loop", meanwhile=kill)
    expect(r.code != 0 and r.out.count("rank 3 (host n2") == 3 and "Killed" in r.err and time.monotonic() - kill.at < 8,
           r)


start_cluster()
run_all([collectives_between_nodes, a_second_step_is_another_job, without_a_secret_nothing_starts,
         a_killed_rank_ends_the_job])
