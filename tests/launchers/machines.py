"""Machines for tests: network namespaces with an address, a name and an /etc/hosts of their own, joined by a bridge.
Files and users are this machine's; nothing outside sees them, and all is gone with the test."""
import atexit
import os
import subprocess
import sys

from common import skip, wait_until

NET = "10.78.0."


def in_namespaces_of_our_own():
    """Starts this script again with mounts, network, host name and processes of its own; is skipped where that is
    forbidden. Processes that it leaves running end with it."""
    if os.environ.get("BORA_TEST_NAMESPACES"):
        return
    enter = ["unshare", "--mount", "--net", "--uts", "--pid", "--fork", "--kill-child", "--mount-proc"]
    try_it = [*enter, "sh", "-c", "ip link add name br0 type bridge && ip link add name v0 type veth peer name v1"]
    if subprocess.run(try_it, stderr=subprocess.DEVNULL).returncode:
        skip("needs root, network namespaces and iproute2 (in a container: --privileged)")
    os.execvpe(enter[0], [*enter, sys.executable, "-B", *sys.argv], dict(os.environ, BORA_TEST_NAMESPACES="1"))


def sh(command):
    subprocess.run(command, shell=True, check=True)


class Machines:
    """names[i] has address NET + str(i + 1) and knows the others by /etc/hosts, which is the file self.hosts."""

    def __init__(self, names, folder):
        self.names, self.hosts = names, f"{folder}/etc_hosts"
        self.write_hosts({name: self.address(name) for name in names})
        sh(f"mount --bind {self.hosts} /etc/hosts && ip link set lo up && ip link add name br0 type bridge && "
           "ip link set br0 up")
        sh(f"ip address add {NET}254/24 dev br0")
        self.keepers = {}
        atexit.register(self.end)
        for i, name in enumerate(names):
            keep = ["unshare", "--net", "--uts", "--mount", "sh", "-c",
                    f"hostname {name} && echo && exec sleep infinity"]
            keeper = subprocess.Popen(keep, stdout=subprocess.PIPE)
            keeper.stdout.readline()
            self.keepers[name] = keeper
            sh(f"ip link add name port{i} type veth peer name eth0 netns {keeper.pid} && "
               f"ip link set port{i} master br0 up")
            up = f"ip link set lo up && ip address add {self.address(name)}/24 dev eth0 && ip link set eth0 up"
            sh(f"nsenter -t {keeper.pid} -n sh -c '{up}'")

    def address(self, name):
        return NET + str(self.names.index(name) + 1)

    def write_hosts(self, addresses):
        with open(self.hosts, "w") as f:  # the same file: it is what /etc/hosts is bound to
            f.write("127.0.0.1 localhost\n" + "".join(f"{a} {n}\n" for n, a in addresses.items()))

    def on(self, name, *command):
        """The words that run a command on a machine."""
        return ["nsenter", "-t", str(self.keepers[name].pid), "-n", "-u", "-m", "--wdns=" + os.getcwd(), *command]

    def runs_on(self, name, pid):
        try:
            return os.readlink(f"/proc/{pid}/ns/net") == os.readlink(f"/proc/{self.keepers[name].pid}/ns/net")
        except OSError:
            return False

    def end(self):
        for keeper in self.keepers.values():
            keeper.kill()
            keeper.wait()
