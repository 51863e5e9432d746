"""docker/kubernetes.yaml: checked against Kubernetes' schema (an excerpt, kubernetes_schema.json) and against itself;
then its pods are simulated as machines (machines.py) whose names become known late, or are stale.
kubernetes_test.py BORA RANK_PROGRAM"""
import atexit
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import elastic
from common import need, processes, run, run_all, skip, wait_until
from machines import Machines, in_namespaces_of_our_own

try:
    import yaml
except ImportError:
    skip("needs PyYAML: apt-get install -y --no-install-recommends python3-yaml")
here = os.path.dirname(os.path.abspath(__file__))
schema = json.load(open(f"{here}/kubernetes_schema.json"))
bora, rank_program = sys.argv[1:3]
LABEL = r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"
PLAIN = {
    "string": lambda v: isinstance(v, str),
    "boolean": lambda v: isinstance(v, bool),
    "count": lambda v: type(v) is int and 0 <= v < 2**31,
    "port": lambda v: type(v) is int and 1 <= v <= 65535,
    "file_mode": lambda v: type(v) is int and 0 <= v <= 0o777,
    "quantity": lambda v: (type(v) is int
                           or isinstance(v, str) and re.fullmatch(r"\d+(\.\d+)?(m|k|M|G|T|Ki|Mi|Gi|Ti)?", v)),
    "dns_label": lambda v: isinstance(v, str) and re.fullmatch(LABEL, v),
}


def problems(value, kind, at):
    """What is wrong with a value of a kind of the schema."""
    if isinstance(kind, str) and kind in PLAIN:
        return [] if PLAIN[kind](value) else [f"{at}: {value!r} is no {kind}"]
    if isinstance(kind, dict) and "one of" in kind:
        return [] if value in kind["one of"] else [f"{at}: {value!r} is not one of {kind['one of']}"]
    if isinstance(kind, dict) and "list" in kind:
        if not isinstance(value, list):
            return [f"{at}: {value!r} is no list"]
        return [p for i, v in enumerate(value) for p in problems(v, kind["list"], f"{at}[{i}]")]
    if not isinstance(value, dict):
        return [f"{at}: {value!r} is no mapping"]
    if isinstance(kind, dict):
        return [p for k, v in value.items() for p in problems(v, kind["map"], f"{at}.{k}")]
    rules = schema[kind]
    found = [f"{at}: {name} is missing" for name in rules.get("required", []) if name not in value]
    for k, v in value.items():
        found += problems(v, rules["fields"][k], f"{at}.{k}") if k in rules["fields"] else [f"{at}: unknown field {k}"]
    return found


def manifests():
    """{kind: manifest}"""
    with open(f"{here}/../../docker/kubernetes.yaml") as f:
        return {m["kind"]: m for m in yaml.safe_load_all(f)}


def is_valid():
    all_of_them = manifests()
    assert sorted(all_of_them) == ["Job", "Secret", "Service"]
    for kind, m in all_of_them.items():
        assert not problems(m, f"{kind}/{m['apiVersion']}", kind), problems(m, f"{kind}/{m['apiVersion']}", kind)


def the_schema_finds_mistakes():
    def finds(change, words):
        m = manifests()["Job"]
        change(m)
        found = problems(m, "Job/batch/v1", "Job")
        assert len(found) == 1 and words in found[0], found
    finds(lambda m: m["spec"].update(completion=4), "unknown field completion")
    finds(lambda m: m["spec"].update(completions="4"), "'4' is no count")
    finds(lambda m: m["spec"].update(completionMode="indexed"), "is not one of")
    finds(lambda m: m["spec"].pop("template"), "template is missing")
    finds(lambda m: m["spec"]["template"]["spec"]["containers"][0]["env"][0].update(value=4), "4 is no string")
    finds(lambda m: m["spec"]["template"]["spec"].update(containers={}), "is no list")


def its_parts_fit_together():
    m = manifests()
    job, pod, service = m["Job"]["spec"], m["Job"]["spec"]["template"]["spec"], m["Service"]
    (container,) = pod["containers"]
    env = {e["name"]: e["value"] for e in container["env"]}
    assert job["completionMode"] == "Indexed" and job["completions"] == job["parallelism"] == int(env["BORA_SIZE"])
    # podFailurePolicy wants Never
    assert job["backoffLimit"] % job["completions"] == 0 and pod["restartPolicy"] == "Never"
    drained, bad_input = job["podFailurePolicy"]["rules"]  # the first that fits counts
    assert drained == {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}
    assert bad_input["onExitCodes"] == {"containerName": container["name"], "operator": "In", "values": [2]}
    assert service["spec"]["clusterIP"] == "None" and service["spec"]["publishNotReadyAddresses"]
    assert service["metadata"]["name"] == pod["subdomain"] == env["BORA_SERVICE"]
    assert service["spec"]["selector"] == {"batch.kubernetes.io/job-name": m["Job"]["metadata"]["name"]}
    assert [p["port"] for p in service["spec"]["ports"]] == [29650]
    (copies,) = pod["initContainers"]
    volumes, mounts, theirs = ({v["name"]: v for v in where} for where in (
        pod["volumes"], container["volumeMounts"], copies["volumeMounts"]))
    assert set(volumes) == set(mounts) | set(theirs)
    given = volumes["given"]["secret"]
    assert given["secretName"] == m["Secret"]["metadata"]["name"] and given["defaultMode"] == 0o440
    assert pod["securityContext"]["fsGroup"] == pod["securityContext"]["runAsGroup"] == 1000
    (key,) = m["Secret"]["stringData"]
    assert len(m["Secret"]["stringData"][key]) < 16  # bora refuses it until it is replaced
    assert volumes["secret"]["emptyDir"]["medium"] == "Memory" and theirs["secret"] == {
        name: mounts["secret"][name] for name in ("name", "mountPath")}
    # What the step copies is what the ranks read, and only they may.
    with tempfile.TemporaryDirectory() as place:
        os.mkdir(f"{place}/given")
        os.mkdir(f"{place}/secret")
        with open(place + theirs["given"]["mountPath"] + "/" + key, "w") as f:
            f.write("x" * 44)
        command = [w.replace(" /", f" {place}/") for w in copies["command"]]
        subprocess.run(command, check=True)
        copy = place + env["BORA_SECRET_FILE"]
        assert open(copy).read() == "x" * 44 and os.stat(copy).st_mode & 0o777 == 0o600


class Pods:
    """The Job's pods, each a process on its machine, with what its manifest and Kubernetes put into its environment."""

    def __init__(self, command, without=(), secret="secret"):
        job = manifests()["Job"]
        pod = job["spec"]["template"]["spec"]
        env = {e["name"]: e["value"] for e in pod["containers"][0]["env"]}
        env["BORA_SECRET_FILE"] = f"{folder}/{secret}"
        self.job, self.env, self.command, self.without = job["metadata"]["name"], env, command, without
        self.processes = [self.start(index) for index in range(job["spec"]["completions"])]

    def start(self, index, mode="w"):
        name = f"{self.job}-{index}"
        theirs = dict(self.env, HOSTNAME=name, JOB_COMPLETION_INDEX=str(index), BORA_JOIN_TIMEOUT="30",
                      BORA_CALIBRATE="off", PATH=os.environ["PATH"])
        for variable in self.without:
            del theirs[variable]
        words = machines.on(name, "env", "-i", *(f"{k}={v}" for k, v in theirs.items()), *self.command)
        with open(f"out{index}", mode) as out:
            return subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=out, stderr=out)

    def lose(self, index):
        """All processes of a pod, at once, as when its node is lost."""
        for pid, _ in processes(f"JOB_COMPLETION_INDEX={index}\0"):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass  # it ends with one of the others
        self.processes[index].wait()

    def replace(self, index):
        """As the Job's controller does."""
        self.processes[index] = self.start(index, "a")

    def codes(self, seconds=60):
        """Every pod's exit code and output; none runs on."""
        try:
            codes = [p.wait(timeout=seconds) for p in self.processes]
        finally:
            for p in self.processes:
                p.kill()
                p.wait()
        said = [open(f"out{i}").read() for i in range(len(codes))]
        ours = (bora, rank_program)
        wait_until("no rank is left",
                   lambda: not [line for _, line in processes("JOB_COMPLETION_INDEX") if line.startswith(ours)])
        return codes, said


def names(first=None):
    """What the cluster's DNS says: the pods, and rank 0 below the service at `first`, or not at all."""
    known = {name: machines.address(name) for name in machines.names}
    if first:
        known["train-0.ranks"] = first
    for name in machines.names[1:]:
        known[f"{name}.ranks"] = machines.address(name)
    machines.write_hosts(known)


def the_name_of_rank_zero_becomes_known_late():
    names()
    pods = Pods([bora, "comm", "--max-bytes", "4096"])
    time.sleep(2)
    names(machines.address("train-0"))
    codes, said = pods.codes()
    assert codes == [0] * 4 and "4 ranks, 1 on this host, launcher: Kubernetes" in said[0], (codes, said)
    assert "all_reduce" in said[0], said


def the_name_of_rank_zero_is_that_of_a_pod_that_has_gone():
    names("10.78.0.99")
    pods = Pods([rank_program, "meet"])
    time.sleep(3)
    names(machines.address("train-0"))
    codes, said = pods.codes()
    assert codes == [0] * 4 and all("ready\n" in s for s in said), (codes, said)


def a_lost_pod_ends_all_and_they_meet_again():
    names(machines.address("train-0"))
    pods = Pods([rank_program, "loop"])
    wait_until("the ranks are ready", lambda: all("ready\n" in open(f"out{i}").read() for i in range(4)))
    (victim,) = [pid for pid, line in processes("JOB_COMPLETION_INDEX=2\0") if line.startswith(rank_program)]
    os.kill(victim, signal.SIGKILL)
    begin = time.monotonic()
    codes, said = pods.codes()
    assert codes == [86, 86, -signal.SIGKILL, 86] and time.monotonic() - begin < 5, (codes, said)
    assert all("rank 2 (host train-2" in said[i] for i in (0, 1, 3)), said
    codes, said = Pods([rank_program, "meet"]).codes()
    assert codes == [0] * 4, (codes, said)


def launch(out, *more):
    elastic.begin(bora)
    names(machines.address("train-0"))
    return Pods([bora, "launch", "--hosts", "kubernetes", "--elastic", "2:4", "train", *elastic.WORDS, *more,
                 f"out={out}"])


class Said:
    """What a job's pods said, for a test that fails."""

    def __init__(self, codes, said):
        self.codes, self.said = codes, said
        self.err = said[0]

    def __str__(self):
        return f"{self.codes}\n" + "\n---\n".join(self.said)


def ranks_that_were_not_lost_go_on_in_their_processes():
    pods = launch("hit")
    for index in (2, 0):
        elastic.lose_a_rank(bora, "hit", f"JOB_COMPLETION_INDEX={index}\0")
    r = Said(*pods.codes(300))
    assert r.codes == [0] * 4, str(r)
    assert r.err.count("; going on from step ") == 2 and "instead of" not in r.err, str(r)
    elastic.same_numbers("hit", r)


def a_pod_that_replaces_a_lost_one_gets_its_place():
    """The others go on without it, also while Kubernetes takes its time."""
    pods = launch("pod")
    elastic.reach("pod", 40)
    before = elastic.ranks(bora)
    gone = elastic.ranks(bora, "JOB_COMPLETION_INDEX=3\0")
    assert len(before) == 4 and len(gone) == 1, (before, gone)
    pods.lose(3)
    wait_until("the others are fewer", lambda: "elastic: 2 ranks instead of 4\n" in open("out0").read(), 60)
    elastic.reach("pod", len(elastic.losses("pod")) + 10)
    pods.replace(3)
    wait_until("it joins", lambda: "elastic: 4 ranks instead of 2\n" in open("out0").read(), 90)
    r = Said(*pods.codes(300))
    assert r.codes == [0] * 4 and "elastic: host train-3.ranks joins\n" in r.err, str(r)
    elastic.same_numbers("pod", r)


def a_drained_pod_leaves_and_the_end_of_all_stops_the_job():
    """Kubernetes sends SIGTERM to the first process of a pod; to those of all if the Job is deleted."""
    pods = launch("drain", "steps=100000", "checkpoint_every=90000")
    elastic.reach("drain", 40)
    pods.processes[3].send_signal(signal.SIGTERM)
    assert pods.processes[3].wait(timeout=25) == 130, open("out0").read() + open("out3").read()
    elastic.reach("drain", len(elastic.losses("drain")) + 10)
    for pod in pods.processes[:3]:
        pod.send_signal(signal.SIGTERM)
    r = Said(*pods.codes(25))
    assert r.codes == [130] * 4 and "SIGTERM" in r.err, str(r)  # its rank says so, or its host
    assert "elastic: 2 ranks instead of 4\n" in r.err and r.err.count("going on from") == 1, str(r)
    assert "the ranks meet again, with others" in r.err and "stopped after step " in r.err, str(r)


def a_pod_that_comes_after_the_end_ends_as_the_others():
    pods = launch("late")
    elastic.reach("late", 40)
    pods.lose(3)
    elastic.reach("late", elastic.STEPS)
    wait_until("the job has ended", lambda: "the job has ended" in open("out0").read(), 60)
    pods.replace(3)
    begin = time.monotonic()
    r = Said(*pods.codes(60))
    assert r.codes == [0] * 4 and time.monotonic() - begin < 20, str(r)
    elastic.same_numbers("late", r)


def without_the_first_pod_the_job_starts_again():
    pods = launch("first")
    elastic.reach("first", 40)
    pods.lose(0)
    r = Said(*pods.codes(60))
    assert r.codes == [-signal.SIGKILL, 86, 86, 86], str(r)
    assert all(s.count("bora: the launcher of this job is lost") == 1 for s in r.said[1:]), str(r)
    pods = launch("first")
    r = Said(*pods.codes(300))
    assert r.codes == [0] * 4 and "continuing from step " in r.err, str(r)
    elastic.same_numbers("first", r)


def another_secret_starts_nothing():
    """Neither may a pod run what a stranger says, nor a launcher trust one."""
    names(machines.address("train-0"))
    pods = launch("strange")
    elastic.reach("strange", 20)
    stranger = ["env", f"BORA_SECRET_FILE={folder}/other", bora, "agent", "--reach", "train-2.ranks"]
    r = run(machines.on("train-1", *stranger), seconds=120)
    assert r.code == 255 and "its secret is another one" in r.err, str(r)
    r = Said(*pods.codes(300))
    assert r.codes == [0] * 4, str(r)
    elastic.same_numbers("strange", r)


def bad_input_ends_all_pods_with_2():
    names(machines.address("train-0"))
    elastic.begin(bora)
    r = Said(*Pods([bora, "launch", "--hosts", "kubernetes", "--elastic", "2:4", "train", *elastic.WORDS, "out=text"]
                   ).codes(100))
    assert r.codes == [2] * 4 and "bora: out: cannot make the folder" in r.err, str(r)


def what_is_missing_is_said():
    names(machines.address("train-0"))
    for options, words in (({"without": ["BORA_SECRET_FILE"]}, "without a secret"),
                           ({"without": ["BORA_SERVICE"]}, "BORA_SERVICE is not set"),
                           ({"secret": "placeholder"}, "a secret has 16 bytes or more, this one has 10"),
                           ({"secret": "open"}, "others can read")):
        codes, said = Pods([bora, "comm", "--max-bytes", "4096"], **options).codes()
        assert codes == [2] * 4 and all(words in s for s in said), (words, codes, said)


if not os.environ.get("BORA_TEST_NAMESPACES"):  # these need nothing of the machine
    is_valid(), the_schema_finds_mistakes(), its_parts_fit_together()
    print("ok      docker/kubernetes.yaml", flush=True)
need({"ip": "iproute2"})
in_namespaces_of_our_own()
folder = tempfile.mkdtemp(prefix="bora_kubernetes_")
atexit.register(shutil.rmtree, folder)
os.chdir(folder)
for name, text, mode in (("secret", os.urandom(32).hex(), 0o400),
                         ("placeholder", manifests()["Secret"]["stringData"]["secret"], 0o400),
                         ("other", os.urandom(32).hex(), 0o400),
                         ("open", os.urandom(32).hex(), 0o444)):
    with open(name, "w") as f:
        f.write(text)
    os.chmod(name, mode)
machines = Machines([f"train-{i}" for i in range(4)], folder)
run_all([the_name_of_rank_zero_becomes_known_late, the_name_of_rank_zero_is_that_of_a_pod_that_has_gone,
         a_lost_pod_ends_all_and_they_meet_again, ranks_that_were_not_lost_go_on_in_their_processes,
         a_pod_that_replaces_a_lost_one_gets_its_place,
         a_drained_pod_leaves_and_the_end_of_all_stops_the_job, a_pod_that_comes_after_the_end_ends_as_the_others,
         without_the_first_pod_the_job_starts_again, another_secret_starts_nothing, bad_input_ends_all_pods_with_2,
         what_is_missing_is_said])
