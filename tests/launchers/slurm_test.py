"""A Slurm cluster of two machines (tests/launchers/machines.py), and jobs that srun starts.
slurm_test.py BORA RANK_PROGRAM"""
import atexit
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import elastic
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
AuthInfo=socket={folder}/munge.socket,cred_expire=5
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
               40)  # a job is over for sbatch before its ranks: Slurm ends them, and gives them KillWait, 30 s
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


def launch(out, meanwhile, ends=True):
    """`bora launch` in a batch script: it runs srun on each node. Returns what the job said."""
    elastic.begin(bora)
    with open("job.sh", "w") as f:
        f.write(f"#!/bin/sh\nexec {bora} launch --hosts slurm --elastic 2:4 train "
                f"{' '.join(elastic.WORDS)} out={out}\n")
    r = srun("job.sh", command=("sbatch", "--wait", "--no-kill", "-N2", "--ntasks-per-node=2", f"--output={out}.out"),
             meanwhile=meanwhile, secret=False)
    r.err += open(f"{out}.out").read()
    expect((r.code == 0) == ends, r)
    return r


def ranks_that_were_not_lost_go_on_in_their_processes():
    """Of either node, the launcher's too."""

    def lose(_):
        for node in ("n1", "n2"):
            elastic.lose_a_rank(bora, "hit", f"SLURMD_NODENAME={node}\0")
    r = launch("hit", lose)
    expect(r.err.count("; going on from step ") == 2 and "instead of" not in r.err, r)
    elastic.same_numbers("hit", r)


def a_node_that_comes_back_gets_its_places_again():
    def lose(_):
        elastic.reach("node", 40)
        stay = elastic.ranks(bora, "SLURMD_NODENAME=n1\0")
        (agent,) = [pid for pid, line in processes("SLURMD_NODENAME=n2\0") if line.startswith(f"{bora} agent")]
        os.kill(agent, signal.SIGKILL)
        wait_until("srun has started others", lambda: len(elastic.ranks(bora, "SLURMD_NODENAME=n2\0")) == 2
                   and "elastic: host n2 joins\n" in open("node.out").read(), 60)
        assert len(stay) == 2 and stay <= elastic.ranks(bora), (stay, elastic.ranks(bora))
    r = launch("node", lose)
    expect(r.err.count("; going on from step ") == 1 and "elastic: 2 ranks instead of 4\n" in r.err
           and "elastic: host n2 joins\nelastic: 4 ranks instead of 2\n" in r.err, r)
    elastic.same_numbers("node", r)


def without_its_launcher_nothing_runs_on():
    def lose(_):
        elastic.reach("cut", 40)
        (launcher,) = [pid for pid, line in processes() if line.startswith(f"{bora} launch --hosts slurm")]
        os.kill(launcher, signal.SIGKILL)
    launch("cut", lose, ends=False)  # which waits until no rank is left
    r = launch("cut", None)
    expect("continuing from step " in r.err, r)  # from the newest checkpoint
    elastic.same_numbers("cut", r)


def slurm(*words):
    r = subprocess.run(machines.on("n1", *words), capture_output=True, text=True, env=clean_environment())
    return r.stdout.strip()


def script_for(out, *words):
    """The script that `bora launch --slurm-script` prints, and its log."""
    elastic.begin(bora)
    r = run([bora, "launch", "--slurm-script", "-n", "4", "train", *elastic.WORDS, f"out={out}", *words],
            env=clean_environment())
    expect(r.code == 0, r)
    with open(f"{out}.sh", "w") as f:
        f.write(r.out)
    return f"{out}.sh"


def log_of(out):
    text = ""
    for name in os.listdir("."):
        if name.startswith(f"{out}-") and name.endswith(".log"):
            text += open(name).read()
    return text


def a_job_is_requeued_until_its_run_is_done():
    """With its limit of a minute in sight; in the second start with SIGUSR1, which saves."""
    def look_on(_):
        elastic.reach("queue", 40)
        (job,) = slurm("squeue", "-h", "-o", "%i", "-t", "R").split()
        slurm("scancel", "--signal=TERM", job)  # to its steps: the job runs on
        wait_until("the job is requeued", lambda: "continuing from step " in log_of("queue"), 90)
        made = len(elastic.losses("queue"))
        elastic.reach("queue", made + 20)
        saves = log_of("queue").count("checkpoint: ")
        slurm("scancel", "--signal=USR1", job)
        wait_until("it has saved", lambda: log_of("queue").count("checkpoint: ") > saves)
    r = srun(script_for("queue", "checkpoint_every=0", "steps=800"), meanwhile=look_on,
             command=("sbatch", "--wait", "--time=60"), secret=False)
    said = log_of("queue")
    expect(r.code == 0 and f"is requeued\n" in said and "deadline: " in said, f"{r}\n{said}")
    elastic.same_numbers("queue", r)


def a_job_that_is_cancelled_is_not_requeued():
    def cancel(_):
        elastic.reach("gone", 40)
        slurm("scancel", *slurm("squeue", "-h", "-o", "%i", "-t", "R").split())
    r = srun(script_for("gone"), meanwhile=cancel, command=("sbatch", "--wait"), secret=False)
    said = log_of("gone")
    # Not by sbatch's exit code: it looks each 2 s, and before the script has ended a cancelled job's code is 0.
    expect("is requeued" not in said and "stopped after step " in said, f"{r}\n{said}")
    wait_until("the job is gone", lambda: slurm("squeue", "-h") == "")
    job = slurm("scontrol", "-o", "show", "job", r.out.split()[-1])
    expect("JobState=CANCELLED " in job and " Restarts=0 " in job, job)


start_cluster()
run_all([collectives_between_nodes, a_second_step_is_another_job, without_a_secret_nothing_starts,
         a_killed_rank_ends_the_job, ranks_that_were_not_lost_go_on_in_their_processes,
         a_node_that_comes_back_gets_its_places_again, without_its_launcher_nothing_runs_on,
         a_job_is_requeued_until_its_run_is_done, a_job_that_is_cancelled_is_not_requeued])
