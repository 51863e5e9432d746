"""docker/compose.yaml as a user starts it: builds the image, trains a few steps in four containers, removes them.
docker_test.py BORA RANK_PROGRAM (both unused). Takes as long as a build; needs a Docker engine."""
import os
import subprocess
import sys

from common import run_all, skip

top = os.path.abspath(os.path.dirname(os.path.abspath(__file__)) + "/../..")
compose = ["docker", "compose", "-f", f"{top}/docker/compose.yaml", "-p", f"bora-test-{os.getpid()}"]


run = f"test-{os.getpid()}"
environment = dict(os.environ, RUN=run, COMPOSE_MENU="0")


def engine():
    try:
        return subprocess.run(["docker", "info"], capture_output=True).returncode == 0 and \
            subprocess.run(["docker", "compose", "version"], capture_output=True).returncode == 0
    except OSError:
        return False


def four_containers_train():
    try:
        subprocess.run([*compose, "build"], check=True, env=environment)
        done = subprocess.run([*compose, "up", "--no-color"], text=True, capture_output=True, env=environment,
                              timeout=3000)
        assert done.returncode == 0 and "4 ranks, rank 0 at host-0" in done.stdout, done.stdout + done.stderr
        listed = subprocess.run([*compose, "run", "--rm", "host-0", "checkpoints", f"/runs/{run}"], text=True,
                                capture_output=True, env=environment)
        assert listed.returncode == 0 and "2000" in listed.stdout, listed.stdout + listed.stderr
    finally:
        subprocess.run([*compose, "down", "--volumes", "--remove-orphans"], check=False, env=environment)


if not engine():
    skip("this Linux runs no Docker engine with compose")
run_all([four_containers_train])
