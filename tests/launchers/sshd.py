"""A test's own ssh: keys, configuration and daemons in a folder, nothing outside of it."""
import atexit
import getpass
import os
import shutil
import socket
import subprocess

from common import wait_until


class Ssh:
    def __init__(self, folder):
        self.folder, self.daemons = folder, []
        for key in ("host", "user"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", f"{folder}/{key}"], check=True)
        os.rename(f"{folder}/user.pub", f"{folder}/authorized")
        if os.getuid() == 0 and not os.path.isdir("/run/sshd"):  # sshd wants it; the package's service would make it
            os.makedirs("/run/sshd", 0o755)
            atexit.register(os.rmdir, "/run/sshd")
        atexit.register(self.end)

    def serve(self, address, port, around=()):
        """A daemon at address:port; the words `around` start it on another machine. Ends with this process."""
        path = f"{self.folder}/sshd_{address}"
        with open(path, "w") as f:
            f.write(f"Port {port}\nListenAddress {address}\nHostKey {self.folder}/host\n"
                    f"AuthorizedKeysFile {self.folder}/authorized\n"
                    "PidFile none\nUsePAM no\nStrictModes no\nPermitRootLogin yes\n"
                    "PasswordAuthentication no\nKbdInteractiveAuthentication no\n")
        with open(path + ".log", "w") as log:
            words = [*around, "setpriv", "--pdeathsig", "TERM", shutil.which("sshd"), "-D", "-e", "-f", path]
            daemon = subprocess.Popen(words, stdin=subprocess.DEVNULL, stderr=log)
        self.daemons.append(daemon)

        def listening():
            with socket.socket() as s:
                return daemon.poll() is not None or s.connect_ex((address, port)) == 0
        wait_until("sshd listens", listening)
        assert daemon.poll() is None, open(path + ".log").read()

    def command(self, hosts):
        """The command that knows these hosts: what ssh_config says about each."""
        with open(f"{self.folder}/ssh_config", "w") as f:
            f.write(hosts + f"Host *\n  User {getpass.getuser()}\n  IdentityFile {self.folder}/user\n"
                    f"  IdentitiesOnly yes\n  UserKnownHostsFile {self.folder}/known\n"
                    "  StrictHostKeyChecking accept-new\n  HostKeyAlias test\n")
        return f"ssh -F {self.folder}/ssh_config"

    def end(self):
        for daemon in self.daemons:
            daemon.terminate()
            daemon.wait()
