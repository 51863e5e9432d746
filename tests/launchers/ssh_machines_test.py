"""`bora launch --hosts` on machines with addresses of their own (machines.py), from one that runs no ranks.
ssh_machines_test.py BORA RANK_PROGRAM"""
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
from sshd import Ssh

need({"sshd": "openssh-server", "ssh": "openssh-client", "ssh-keygen": "openssh-client", "ip": "iproute2"})
in_namespaces_of_our_own()
bora, rank_program = sys.argv[1:3]
folder = tempfile.mkdtemp(prefix="bora_ssh_machines_")
atexit.register(shutil.rmtree, folder)
os.chdir(folder)
machines = Machines(["h1", "h2"], folder)
ssh = Ssh(folder)
def serve(i):
    name = machines.names[i]
    ssh.serve(machines.address(name), 22, machines.on(name))


def stop_ssh_of_h2():
    ssh.daemons[-1].kill()  # who is connected stays so
    ssh.daemons[-1].wait()


serve(0)
serve(1)
command = ssh.command("")


def launch(*words, where="h1 slots=2\nh2 slots=2\n", meanwhile=None, seconds=120, **environment):
    env = clean_environment(**environment)
    with open("hosts", "w") as f:
        f.write(where)
    r = run([bora, "launch", "--hosts", "hosts", "--ssh", command, *words], meanwhile, seconds, env=env)
    ours = (bora, rank_program)
    wait_until("no process is left", lambda: not [line for _, line in processes(bora) if line.startswith(ours)], 3)
    return r


def collectives_between_machines():
    """Nothing listens beyond loopback without the job's secret: it has come along."""
    r = launch("--", "comm", "--max-bytes", "4096")
    expect(r.code == 0 and r.err == "" and "4 ranks, 2 on this host, launcher: bora" in r.out and "all_reduce" in r.out,
           r)


def interfaces_and_addresses():
    program = f"{folder}/program"
    with open(program, "w") as f:
        f.write("#!/bin/sh\necho at $BORA_ROOT by $BORA_INTERFACE on $(hostname)\n")
    os.chmod(program, 0o755)
    r = launch("--", program, where="h1 iface=eth0\nh2\n")
    expect(r.code == 0 and r.out.count("at 10.78.0.1:") == 2 and " by eth0 on h1\n" in r.out and " by on h2\n" in r.out,
           r)
    r = launch("--", program, where="h2 iface=lo\nh1\n")
    expect(r.code == 2 and r.err.startswith("bora: hosts:1: h2 is 127.0.0.1:")
           and ", which h1 cannot reach; give another name" in r.err, r)
    r = launch("--", program, where="h2 iface=lo\nh1\n", BORA_ROOT="10.78.0.2:29700")
    expect(r.code == 0 and r.out.count("at 10.78.0.2:29700 ") == 2, r)


def training_gives_the_same_bits_as_on_one_machine():
    """And a rank that is lost in the middle costs the steps since the last checkpoint."""
    with open("text", "w") as f:
        f.writelines(f"The wind number {i * i} blows over the hills.\n%\n" for i in range(400))
    with open("tiny.yaml", "w") as f:
        f.write("steps: 30\nwarmup: 2\nbatch: 8\ncheckpoint_every: 10\neval_rows: 24\n"
                f"data: {folder}/text\nlayout: fsdp\n"
                "model: {layers: 2, embed: 24, heads: 3, positions: 16}\n")
    here = run([bora, "launch", "-n", "4", "tiny.yaml", "out=here"], env=clean_environment())
    there = launch("--", "train", "tiny.yaml", "out=there")
    expect(here.code == 0, here)
    expect(there.code == 0 and "launcher: bora, 4 ranks, rank 0 at 10.78.0.1:" in there.out, there)

    def results(out):
        return [line for line in out.split("\n") if line.startswith(("init digest", "val loss"))]
    assert len(results(here.out)) == 3 and results(here.out) == results(there.out), (here.out, there.out)

    def kill(process):
        wait_until("there is a checkpoint",
                   lambda: os.path.exists("cut/checkpoints/step-10") or process.poll() is not None, 60)
        os.kill([pid for pid, line in processes("BORA_RANK=3\0") if line.startswith(bora)][0], signal.SIGKILL)
    cut = launch("--max-restarts", "1", "--", "train", "tiny.yaml", "out=cut", "steps=240", meanwhile=kill)
    expect(cut.code == 0 and "restarting the job (1 of 1)" in cut.err and "val loss" in cut.out, cut)


def an_elastic_job_goes_on_without_a_lost_host():
    """With the losses of the run that was never disturbed: virtual ranks do not depend on how many carry them."""
    words = ["tiny.yaml", "layout=dp", "reproducible=4", "steps=240"]
    calm = run([bora, "launch", "-n", "4", *words, "out=calm"], env=clean_environment())
    expect(calm.code == 0, calm)

    def rank_3():
        return [pid for pid, line in processes("BORA_RANK=3\0") if line.startswith(bora)][0]

    def elastic(ranks, out, lose):
        def meanwhile(process):
            wait_until("there is a checkpoint",
                       lambda: os.path.exists(f"{out}/checkpoints/step-10") or process.poll() is not None, 60)
            lose()
        return launch("--elastic", ranks, "--", "train", *words, f"out={out}", meanwhile=meanwhile)

    def lose_host():
        stop_ssh_of_h2()
        with open(f"/proc/{rank_3()}/stat") as f:   # its parent is the agent: with it ends all that h2 has
            os.kill(int(f.read().rsplit(")", 1)[1].split()[1]), signal.SIGKILL)

    def last_loss(out):
        return [line for line in out.split("\n") if line.startswith("val loss")][-1]
    # Another process takes the place of a rank, on its host.
    r = elastic("2:4", "rank", lambda: os.kill(rank_3(), signal.SIGKILL))
    expect(r.code == 0 and "elastic: rank 3 (host h2) lost: killed by signal 9 (Killed); going on from step " in r.err
           and "instead of" not in r.err and last_loss(r.out) == last_loss(calm.out), r)
    r = elastic("2:4", "elastic", lose_host)
    serve(1)
    expect(r.code == 0 and "(host h2) lost: the connection to its host ended" in r.err
           and "; going on from step " in r.err and "elastic: 2 ranks instead of 4\n" in r.err
           and last_loss(r.out) == last_loss(calm.out), r)
    # Too few slots are left.
    few = elastic("3:4", "few", lose_host)
    serve(1)
    expect(few.code == 86 and "bora: elastic: 2 slots are left, and the job needs 3 to 4 ranks" in few.err, few)


def an_elastic_job_goes_on_without_a_cut_cable_and_with_it_again():
    """The host behind it is lost when the ranks, ssh or the launcher miss its signs of life; its processes end once it
    is plugged in again, or are told so, and it joins."""
    words = [*elastic.WORDS, "steps=12000", "checkpoint_every=100"]   # 10 s of two ranks on a fast machine
    elastic.write_config(folder)
    calm = run([bora, "launch", "-n", "2", "train", *words, "out=unplugged"], env=clean_environment(), seconds=300)
    expect(calm.code == 0, calm)

    def plug(state):
        subprocess.run("ip link set port1 " + state, shell=True, check=True)

    def cut_and_mend(process):
        def and_runs(done):
            assert process.poll() is None, "it has ended"
            return done
        elastic.reach("cable", 140)
        plug("down")
        cut = time.monotonic()
        time.sleep(1)   # what was under way
        at = len(elastic.losses("cable"))
        wait_until("the others go on", lambda: and_runs(len(elastic.losses("cable")) >= at + 20), 60)
        cut_and_mend.seconds = time.monotonic() - cut
        behind = {pid for pid in elastic.ranks(bora) if machines.runs_on("h2", pid)}
        plug("up")
        wait_until("h2 joins", lambda: and_runs("elastic: host h2 joins" in process.complained()), 90)
        wait_until("who was behind the cable has ended", lambda: not behind & elastic.ranks(bora), 60)
    try:
        r = launch("--elastic", "2:4", "--", "train", *words, "out=cable", meanwhile=cut_and_mend, seconds=300)
    finally:
        plug("up")
    print(f"the others went on {cut_and_mend.seconds:.1f} s after the cut", flush=True)
    expect(r.code == 0 and "; going on from step " in r.err and "elastic: 2 ranks instead of 4\n" in r.err
           and "elastic: host h2 joins\nelastic: 4 ranks instead of 2\n" in r.err and cut_and_mend.seconds < 40, r)
    expect(elastic.losses("cable") == elastic.losses("unplugged"), r)


def a_host_that_has_gone_is_not_bad_input():
    def stop_ssh(process):
        wait_until("4 ranks are ready", lambda: process.said().count("ready\n") == 4)
        stop_ssh_of_h2()
        os.kill([pid for pid, line in processes("BORA_RANK=3\0") if line.startswith(rank_program)][0], signal.SIGKILL)
    r = launch("--max-restarts", "1", "--", rank_program, "loop", meanwhile=stop_ssh)
    expect(r.code == 86 and "restarting the job (1 of 1)\nbora: hosts:2: no ranks can be started on h2: " in r.err, r)


def a_lost_rank_is_named():
    kill = kill_when_ready(rank_program, "BORA_RANK=3\0")
    r = launch("--", rank_program, "loop", meanwhile=kill)
    expect(r.code == 86 and r.err == "bora: rank 3 (host h2) lost: killed by signal 9 (Killed)\n"
           and time.monotonic() - kill.at < 8, r)


def a_cut_cable_ends_all():
    """Neither side hears of the other again: the ranks say so after 10 s, ssh after 9 to 12 s, and the far side ends by
    itself."""
    def cut(process):
        wait_until("4 ranks are ready", lambda: process.said().count("ready\n") == 4)
        subprocess.run("ip link set port1 down", shell=True, check=True)
        cut.at = time.monotonic()
    try:
        r = launch("--", rank_program, "loop", meanwhile=cut)
    finally:
        left = time.monotonic()
        far = "the ranks of the other side have ended"
        wait_until(far, lambda: not [line for _, line in processes("BORA_RANK=") if line.startswith(rank_program)])
        subprocess.run("ip link set port1 up", shell=True, check=True)
    expect(r.code == 86 and ("rank 2 (host h2" in r.err or "rank 3 (host h2" in r.err) and left - cut.at < 20, r)


run_all([collectives_between_machines, interfaces_and_addresses, training_gives_the_same_bits_as_on_one_machine,
         a_lost_rank_is_named, a_cut_cable_ends_all, an_elastic_job_goes_on_without_a_lost_host,
         an_elastic_job_goes_on_without_a_cut_cable_and_with_it_again, a_host_that_has_gone_is_not_bad_input])
