"""`bora launch --hosts` through a real sshd of the test's own: two names for this machine, ranks on both.
ssh_test.py BORA RANK_PROGRAM"""
import atexit
import os
import re
import shutil
import signal
import socket
import sys
import tempfile
import time

from common import clean_environment, expect, kill_when_ready, need, processes, run, run_all, wait_until
from sshd import Ssh

need({"sshd": "openssh-server", "ssh": "openssh-client", "ssh-keygen": "openssh-client"})
bora, rank_program = sys.argv[1:3]
folder = tempfile.mkdtemp(prefix="bora_ssh_")
atexit.register(shutil.rmtree, folder)
mark = os.path.basename(folder)  # in the environment of every rank
with socket.socket() as s:
    s.bind(("127.0.0.1", 0))
    port = s.getsockname()[1]
ssh = Ssh(folder)
ssh.serve("127.0.0.1", port)
command = ssh.command(f"Host alpha beta\n  HostName 127.0.0.1\n  Port {port}\n"
                      "Host dead\n  HostName 127.0.0.1\n  Port 1\n")


def hosts(text):
    with open(f"{folder}/hosts", "w") as f:
        f.write(text)
    return f"{folder}/hosts"


def script(text):
    """A program whose every line starts in a shell of its own rank."""
    path = f"{folder}/program"
    with open(path, "w") as f:
        f.write("#!/bin/sh\n" + text)
    os.chmod(path, 0o755)
    return path


def launch(*words, where="alpha slots=2\nbeta slots=2\n", meanwhile=None, by=command, **environment):
    env = clean_environment(BORA_TEST=mark, **environment)
    r = run([bora, "launch", "--hosts", hosts(where), "--ssh", by, *words], meanwhile, env=env, cwd=folder)
    # Agents have the connection's port in their environment, ranks inherit it. They outlive a killed launcher for a
    # moment.
    wait_until("no process is left",
               lambda: not processes(f"BORA_TEST={mark}") and not processes(f" 127.0.0.1 {port}\0"), 3)
    return r


def ready(n, name="ready"):
    """Waits until so many ranks have made their file, then removes them."""
    files = [f"{folder}/{name}{r}" for r in range(n)]

    def act(then):
        def meanwhile(process):
            wait_until("ranks are ready", lambda: process.poll() is not None or all(map(os.path.exists, files)))
            for f in files:
                os.remove(f)
            then(process)
        return meanwhile
    return act


def collectives_between_hosts():
    r = launch("--", "comm", "--max-bytes", "4096")
    expect(r.code == 0 and r.err == "" and "4 ranks" in r.out and "launcher: bora" in r.out and "all_reduce" in r.out,
           r)


def places_environment_and_folder():
    program = script('echo "rank $BORA_RANK of $BORA_SIZE local $BORA_LOCAL_RANK of $BORA_LOCAL_SIZE '
                     'at $BORA_ROOT by $BORA_INTERFACE in $(pwd) omp $OMP_SCHEDULE own $MINE kept $KEPT '
                     'secret $(wc -c < /proc/self/fd/$BORA_SECRET_FD)"\n'
                     'echo problem >&2\n')
    r = launch("--env", "MINE", "--", program, where="alpha slots=1 iface=lo # one\nbeta slots=2\n",
               OMP_SCHEDULE="guided",
               MINE="yes", KEPT="here")
    expect(r.code == 0, r)
    line = r"rank {} of 3 local {} of {} at 127\.0\.0\.1:\d+ by {} in {} omp guided own yes kept  secret 32\n"
    for rank, local, of, by, before in ((0, 0, 1, "lo", "^"), (1, 0, 2, "", r"^\[rank 1\] "),
                                        (2, 1, 2, "", r"^\[rank 2\] ")):
        expect(re.search(before + line.format(rank, local, of, by, re.escape(folder)), r.out, re.M), r)
    expect(len(set(re.findall(r"127\.0\.0\.1:\d+", r.out))) == 1 and "[rank 2] problem\n" in r.err, r)
    r = launch("-n", "2", "--", program, where="alpha\nbeta slots=7\n")
    expect(r.code == 0 and "rank 1 of 2 local 0 of 1" in r.out, r)


def the_secret_is_nowhere_to_be_read():
    """Neither in a command line nor in the environment of ssh or of the agent."""
    seen = []
    program = script(f'od -An -tx1 /proc/self/fd/$BORA_SECRET_FD | tr -d " \\n" > {folder}/secret$BORA_RANK\n'
                     f'touch {folder}/ready$BORA_RANK; sleep 1\n')

    def look(process):
        secret = bytes.fromhex(open(f"{folder}/secret0").read())
        assert len(secret) == 32 and open(f"{folder}/secret1").read() == secret.hex()
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                text = open(f"/proc/{pid}/cmdline", "rb").read() + open(f"/proc/{pid}/environ", "rb").read()
            except OSError:
                continue
            if secret in text or secret.hex().encode() in text:
                seen.append(pid)
    r = launch("--", program, where="alpha\nbeta\n", meanwhile=ready(2)(look))
    expect(r.code == 0 and not seen, r)


def a_lost_rank_of_another_host_is_named():
    program = script(f"echo $$ > {folder}/pid$BORA_RANK; touch {folder}/ready$BORA_RANK; "
                     "sleep 4720 & exec sleep 4720\n")
    r = launch("--", program, meanwhile=ready(4)(lambda p: os.kill(int(open(f"{folder}/pid3").read()), signal.SIGKILL)))
    expect(r.code == 86 and r.err == "bora: rank 3 (host beta) lost: killed by signal 9 (Killed)\n" and r.seconds < 10,
           r)
    # In the middle of collectives: the survivors say it themselves.
    r = launch("--", rank_program, "loop",
               meanwhile=kill_when_ready(rank_program, "BORA_RANK=2\0", f"BORA_TEST={mark}"))
    expect(r.code == 86 and r.err == "bora: rank 2 (host beta) lost: killed by signal 9 (Killed)\n" and r.seconds < 15,
           r)


def a_lost_connection_is_a_lost_rank():
    program = script(f"touch {folder}/ready$BORA_RANK; exec sleep 4721\n")

    def cut(process):
        os.kill([pid for pid, line in processes(folder) if " beta exec " in line][0], signal.SIGKILL)
    def kill_the_agent(process):
        while not (found := [pid for pid, line in processes("BORA_RANK=1\0", f"BORA_TEST={mark}") if "4721" in line]):
            time.sleep(0.02)  # ready is said before it becomes a sleep
        (rank,) = found
        os.kill(int(open(f"/proc/{rank}/stat").read().split(") ")[1].split()[1]), signal.SIGKILL)
    for accident in (cut, kill_the_agent):
        r = launch("--", program, where="alpha\nbeta\n", meanwhile=ready(2)(accident))
        expect(r.code == 86 and r.err.startswith("bora: rank 1 (host beta) lost: the connection to its host ended")
               and r.seconds < 10, r)


def signals_stop_in_order():
    program = script(f"trap 'echo stopping; exit 130' TERM INT; touch {folder}/ready$BORA_RANK; "
                     "while :; do sleep 0.05; done\n")
    for s in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        r = launch("--", program, meanwhile=ready(4)(lambda p: p.send_signal(s)))
        expect(r.code == 130 and r.out.count("stopping\n") == 4 and "[rank 3] stopping\n" in r.out, r)
        expect("bora: " not in r.err and r.seconds < 10, r)
    # Ranks that do not listen end at the second one.
    program = script(f"trap '' TERM; touch {folder}/ready$BORA_RANK; while :; do sleep 0.05; done\n")

    def twice(process):
        process.send_signal(signal.SIGTERM)
        time.sleep(0.3)
        process.send_signal(signal.SIGTERM)
    r = launch("--", program, meanwhile=ready(4)(twice))
    expect(r.code == 130 and r.seconds < 10, r)


def nothing_stays_when_the_launcher_is_killed():
    program = script(f"trap '' TERM HUP; touch {folder}/ready$BORA_RANK; sleep 4722 & while :; do sleep 0.05; done\n")
    r = launch("--", program, meanwhile=ready(4)(lambda p: p.kill()))
    expect(r.code == -signal.SIGKILL, r)


def restarts_have_a_new_secret_and_another_name():
    program = script(f'echo "$(md5sum < /proc/self/fd/$BORA_SECRET_FD) $BORA_JOB" >> {folder}/tries$BORA_RANK\n'
                     f'[ $(wc -l < {folder}/tries$BORA_RANK) -ge 3 ] && exit 0\n'
                     '[ $BORA_RANK = 2 ] && kill -9 $$\nexit 86\n')
    r = launch("--max-restarts", "5", "--", program)
    expect(r.code == 0 and "restarting the job (2 of 5)" in r.err, r)
    tries = [open(f"{folder}/tries{rank}").read().split("\n")[:-1] for rank in range(4)]
    assert all(t == tries[0] for t in tries), tries
    secrets, jobs = zip(*((line.split()[0], line.split()[-1]) for line in tries[0]))
    assert len(set(secrets)) == 3 and len(set(jobs)) == 3, tries


def logs_are_kept_here():
    r = launch("--log-dir", "logs", "--", script("echo out $BORA_RANK; echo err $BORA_RANK >&2\n"))
    expect(r.code == 0 and r.out == "out 0\n" and r.err == "err 0\n", r)
    for rank in range(4):
        assert sorted(open(f"{folder}/logs/rank-{rank}.log").read().split("\n")) == ["", f"err {rank}", f"out {rank}"]


def mistakes_are_one_line():
    def refused(result, *parts):
        expect(result.code == 2 and result.err.startswith("bora: ") and result.err.count("\n") == 1, result)
        expect(all(p in result.err for p in parts), result)
    program = script("true\n")
    refused(launch("--", program, where="alpha\ndead\n"), "hosts:2: no ranks can be started on dead: ",
            "Connection refused")
    refused(launch("--", program, where="alpha\nbeta iface=eth77\n"), "hosts:2: ", "no network interface 'eth77'",
            "there are: ")
    refused(launch("--", program, where="alpha\nlocalhost\n"), "hosts:2: localhost is another machine for alpha")
    refused(launch("-n", "5", "--", program), "-n 5: the hosts have 4 slots")
    refused(launch("--", program, by="/no/such/ssh"), "hosts:1", "cannot run /no/such/ssh")
    refused(launch("--", script("echo 'bora: batch: no' >&2; exit 2\n")), "bora: batch: no")
    # A wrapper that is no ssh: the agent is missing there.
    wrapper = f"{folder}/wrapper"
    with open(wrapper, "w") as f:
        f.write("#!/bin/sh\necho no such file, says $1 >&2; exit 127\n")
    os.chmod(wrapper, 0o755)
    refused(launch("--", script("true\n"), by=wrapper), "hosts:1", "no such file, says alpha", "hosts:2")
    # Another version of bora, which would understand nothing that this one says.
    with open(wrapper, "w") as f:
        f.write("#!/bin/sh\nprintf 'welcome\\nbora agent 4\\n'\ncat > /dev/null\n")
    r = launch("--", script("true\n"), by=wrapper)
    refused(r, "hosts:1", "no ranks can be started on alpha: another version of bora is installed there: it says "
                          "'bora agent 4'")
    expect(r.seconds < 10, r)
    # The name of the launcher's own host may lead to IPv6's loopback, where no other host reaches rank 0.
    with open(wrapper, "w") as f:
        f.write("#!/bin/sh\nunset SSH_CONNECTION\n[ $1 = alpha ] && export SSH_CONNECTION='::1 1 ::1 22'\n"
                "eval \"$2\"\n")
    try:
        with socket.socket(socket.AF_INET6) as s:
            s.bind(("::1", 0))
    except OSError:
        return
    refused(launch("--", script("true\n"), by=wrapper), "hosts:1: alpha is [::1]:", "which beta cannot reach")


run_all([collectives_between_hosts, places_environment_and_folder, the_secret_is_nowhere_to_be_read,
         a_lost_rank_of_another_host_is_named,
         a_lost_connection_is_a_lost_rank, signals_stop_in_order, nothing_stays_when_the_launcher_is_killed,
         restarts_have_a_new_secret_and_another_name, logs_are_kept_here, mistakes_are_one_line])
