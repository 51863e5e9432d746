"""docker/compose.yaml: checked against itself; then its hosts are simulated as machines (machines.py), with the
environment, the secret and the shared folder that they would have. docker_test.py starts the containers themselves.
compose_test.py BORA RANK_PROGRAM"""
import atexit
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time

from common import need, processes, run_all, skip, wait_until
from machines import Machines, in_namespaces_of_our_own

try:
    import yaml
except ImportError:
    skip("needs PyYAML: apt-get install -y --no-install-recommends python3-yaml")
top = os.path.abspath(os.path.dirname(os.path.abspath(__file__)) + "/../..")
bora, rank_program = sys.argv[1:3]


def services():
    with open(f"{top}/docker/compose.yaml") as f:
        text = f.read()
    assert text.count("${RUN:-compose}") == 1
    all_of_them = yaml.safe_load(text.replace("${RUN:-compose}", "compose"))["services"]
    return all_of_them.pop("volumes"), all_of_them


def its_parts_fit_together():
    secret, hosts = services()
    size = len(hosts)
    for rank, (name, host) in enumerate(hosts.items()):
        env = host["environment"]
        assert all(isinstance(v, str) for v in env.values()), env  # YAML's numbers become other texts
        assert host["hostname"] == name and env["JOB_COMPLETION_INDEX"] == str(rank)
        assert env["BORA_SIZE"] == str(size) and "BORA_RANK" not in env  # which would look rank 0's name up once
        assert env["BORA_ROOT"].split(":")[0] in hosts and f"data={size}" in host["command"]
        assert host["depends_on"] == {"volumes": {"condition": "service_completed_successfully"}}
        assert host["user"] == "1000:1000" and host["read_only"] and "chown 1000:1000" in secret["command"][0]
        assert host["image"] == secret["image"] and host["build"] == secret["build"]
        mounts = [v.split(":") for v in host["volumes"]]
        folders = {m[1]: m[0] for m in mounts}
        assert folders[os.path.dirname(env["BORA_SECRET_FILE"])] == "secret"
        assert [v.split(":")[0] for v in secret["volumes"]] == [m[0] for m in mounts] == ["secret", "runs"]
        (out,) = [w[4:] for w in host["command"] if w.startswith("out=")]
        assert folders["/" + out.split("/")[1]] == "runs"
        assert os.path.exists(here([w for w in host["command"] if w.endswith(".yaml")][0]))
    with open(f"{top}/docker/Dockerfile") as f:
        text = f.read()
    assert 'ENTRYPOINT ["bora"]\n' in text and "USER 1000:1000\n" in text


def here(word):
    """A path of the image, in these sources."""
    return word.replace("/usr/share/bora/examples/", f"{top}/examples/")


def run_hosts(command, seconds=120, meanwhile=None):
    """Runs a command on every host with its environment: exit codes and outputs."""
    running = []
    for name, host in services()[1].items():
        env = dict(host["environment"], BORA_SECRET_FILE=f"{folder}/secret/job", BORA_JOIN_TIMEOUT="30",
                   BORA_CALIBRATE="off", PATH=os.environ["PATH"], OMP_NUM_THREADS="1")
        words = machines.on(name, "env", "-i", *(f"{k}={v}" for k, v in env.items()), *command)
        with open(f"{name}.out", "w") as out:
            running.append(subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=out, stderr=out))
    said = lambda: [open(f"{name}.out").read() for name in services()[1]]
    try:
        if meanwhile:
            meanwhile(said)
        codes = [p.wait(timeout=seconds) for p in running]
    finally:
        for p in running:
            p.kill()
            p.wait()
    return codes, said()


def make_secret():
    """What the service `volumes` does, with its folders here; as the one who started this."""
    secret = services()[0]
    assert secret["entrypoint"] == ["sh", "-c"] and secret["user"] == "0:0"
    words = secret["command"][0].replace("/secret/", f"{folder}/secret/").replace(" /runs", f" {folder}/runs")
    subprocess.run(["sh", "-c", words.replace("chown 1000:1000", f"chown {os.getuid()}:{os.getgid()}")], check=True)


def the_secret_is_made_once_for_its_owner():
    os.mkdir(f"{folder}/secret")
    os.mkdir(f"{folder}/runs")
    make_secret()
    first = open(f"{folder}/secret/job").read()
    assert len(first) == 44 and stat.S_IMODE(os.stat(f"{folder}/secret/job").st_mode) == 0o400
    make_secret()
    assert open(f"{folder}/secret/job").read() == first


def the_hosts_train():
    """The command of the file, for a few steps and in a folder of our own."""
    command = [w if not w.startswith("out=") else f"out={folder}/runs" for w in services()[1]["host-0"]["command"]]
    command = [here(w) for w in command]
    codes, said = run_hosts([bora, *command, "steps=2", "eval_every=2", f"data={top}/README.md"])
    assert codes == [0] * 4 and "4 ranks, rank 0 at host-0" in said[0], (codes, said)
    assert os.listdir(f"{folder}/runs/checkpoints"), os.listdir(f"{folder}/runs")


def a_lost_host_ends_all_with_86_so_that_they_are_started_again():
    def lose(said):
        wait_until("the ranks are ready", lambda: all("ready\n" in s for s in said()))
        (victim,) = [pid for pid, line in processes("JOB_COMPLETION_INDEX=2\0") if line.startswith(rank_program)]
        os.kill(victim, signal.SIGKILL)
        lose.at = time.monotonic()
    codes, said = run_hosts([rank_program, "loop"], meanwhile=lose)
    assert codes == [86, 86, -signal.SIGKILL, 86] and time.monotonic() - lose.at < 5, (codes, said)
    assert services()[1]["host-0"]["restart"].startswith("on-failure:")
    codes, said = run_hosts([rank_program, "meet"])
    assert codes == [0] * 4, (codes, said)


if not os.environ.get("BORA_TEST_NAMESPACES"):  # needs nothing of the machine
    its_parts_fit_together()
    print("ok      docker/compose.yaml", flush=True)
need({"ip": "iproute2"})
in_namespaces_of_our_own()
folder = tempfile.mkdtemp(prefix="bora_compose_")
atexit.register(shutil.rmtree, folder)
os.chdir(folder)
machines = Machines(list(services()[1]), folder)
run_all([the_secret_is_made_once_for_its_owner, the_hosts_train,
         a_lost_host_ends_all_with_86_so_that_they_are_started_again])
