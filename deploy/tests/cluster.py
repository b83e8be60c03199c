"""Tools of the tests: commands with a time limit, compose projects that are gone afterwards, run folders."""

import json
import os
import shutil
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

DEPLOY = Path(__file__).resolve().parent.parent
REPOSITORY = DEPLOY.parent
# Folder with loadgen-node and sut-node; image tag; the compose command. run.sh sets all three.
BINARIES = Path(os.environ.get("LON_TEST_BINARIES", REPOSITORY / "target/debug"))
TAG = os.environ.get("LON_TEST_TAG", "")
COMPOSE = os.environ.get("LON_TEST_COMPOSE", "docker-compose").split()
# The folder of files that tests/models makes: resnet50.onnx, images.
MODELS = Path(os.environ.get("LON_TEST_MODELS", REPOSITORY / "target/models"))
# A user who is neither root nor the image's.
UID = 12345

OFFICIAL_FILES = ["mlperf_log_summary.txt", "mlperf_log_detail.txt", "mlperf_log_accuracy.json"]


def environment(**variables):
    """The caller's environment without LON_ variables, and these."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("LON_", "SLURM", "COMPOSE_"))}
    return {**kept, **variables}


def run(*command, timeout=120, check=True, **options):
    """Runs a command to its end, with its output as text."""
    command = [str(word) for word in command]
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, **options}
    done = subprocess.run(command, timeout=timeout, **options)
    if check and done.returncode != 0:
        raise AssertionError(f"{' '.join(command)} exited with {done.returncode}:\n{done.stdout}")
    return done


def needs_engine(test):
    """Skips a test, saying why, where no image was built because no engine runs."""
    why = "no Docker engine and compose tool here: run deploy/tests/run.sh where one runs"
    return unittest.skipUnless(TAG, why)(test)


def has_netem():
    """Returns true when the kernel can delay packets. A network namespace of its own shows it."""
    ask = ["unshare", "--net", "tc", "qdisc", "add", "dev", "lo", "root", "netem", "delay", "0ms"]
    return bool(shutil.which("tc")) and run(*ask, check=False).returncode == 0


def wait_until(what, condition, timeout=120):
    """Waits for a condition; its truth is returned."""
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        found = condition()
        if found:
            return found
        time.sleep(0.2)
    raise AssertionError(f"waited {timeout} s for {what}")


class Folder:
    """A results folder that belongs to UID; removed afterwards."""

    def __init__(self):
        self.path = Path(tempfile.mkdtemp(prefix="lon-deploy-"))
        os.chown(self.path, UID, UID)

    def remove(self):
        shutil.rmtree(self.path)


class RunFolder:
    """The folder that a run left behind."""

    def __init__(self, path):
        self.path = Path(path)
        self.result = json.loads((self.path / "result_summary.json").read_text())

    def check_complete(self, test):
        """Every file is there and whole."""
        for name in OFFICIAL_FILES:
            test.assertTrue((self.path / name).is_file(), f"{name} is missing")
        for line in (self.path / "mlperf_log_detail.txt").read_text().splitlines():
            json.loads(line.removeprefix(":::MLLOG "))
        for name in ["mlperf_log_accuracy.json", "network_report.json"]:
            json.loads((self.path / name).read_text())
        description = json.loads((self.path / "system_desc.json").read_text())
        test.assertEqual(description["is_network"], "True")
        counts = self.result["counts"]
        test.assertEqual(counts["issued"], counts["completed"] + counts["failed"], counts)

    def nodes(self):
        return self.result["network"]["nodes"]

    def names(self):
        return [node["name"] for node in self.nodes()]

    def report(self):
        return json.loads((self.path / "network_report.json").read_text())

    def carried_mbit_s(self, direction="ingress"):
        """Ingress is towards the SUT."""
        return self.report()["bandwidth_gbit_s"]["carried"][direction] * 1000


class Cluster:
    """A compose project under a name of its own. As a context: down, whatever happened, with all that it made."""

    def __init__(self, name, profile=None, **variables):
        self.folder = Folder()
        # Not among the results: what else a test gives to the cluster.
        self.extra = Path(tempfile.mkdtemp(prefix="lon-deploy-"))
        # For the containers' users.
        self.extra.chmod(0o755)
        self.project = f"lontest{os.getpid()}{name}"
        self.command = [*COMPOSE, "-p", self.project, "-f", str(DEPLOY / "compose.yaml")]
        if profile:
            self.command += ["--profile", profile]
        ids = {"LON_UID": str(UID), "LON_GID": str(UID)}
        self.environment = environment(
            LON_TAG=TAG, LON_RESULTS=str(self.folder.path), LON_OUT=f"{self.folder.path}/run", **ids, **variables
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        # A container that is paused cannot be stopped.
        for container in self.containers("--filter", "status=paused"):
            run("docker", "unpause", container, check=False)
        self.compose("down", "--volumes", "--timeout", "5", timeout=120, check=False)
        self.folder.remove()
        shutil.rmtree(self.extra)
        left = run("docker", "network", "ls", "--quiet", "--filter", f"name={self.project}").stdout.split()
        left += run("docker", "volume", "ls", "--quiet", "--filter", f"name={self.project}").stdout.split()
        if self.containers() or left:
            raise AssertionError(f"{self.project} left something behind: {self.containers()} {left}")

    def file(self, name, text):
        """A file beside the results, such as one of variables."""
        path = self.extra / name
        path.write_text(text)
        return str(path)

    def compose(self, *words, timeout=240, check=True):
        return run(*self.command, *words, timeout=timeout, check=check, env=self.environment, cwd=REPOSITORY)

    def up(self, service, *words, timeout=240):
        """The one command: brings up, runs, takes down, and gives the run's exit code and what was printed."""
        words = ["up", "--abort-on-container-exit", "--exit-code-from", service, *words]
        return self.compose(*words, timeout=timeout, check=False)

    def containers(self, *filters, service=None):
        filters = ["--filter", f"label=com.docker.compose.project={self.project}", *filters]
        if service:
            filters += ["--filter", f"label=com.docker.compose.service={service}"]
        return run("docker", "ps", "--all", "--quiet", *filters).stdout.split()

    def logs(self, container):
        return run("docker", "logs", container).stdout

    def inspect(self, container, what):
        return run("docker", "inspect", "--format", f"{{{{{what}}}}}", container).stdout.strip()

    def details(self, container):
        return json.loads(run("docker", "inspect", container).stdout)[0]

    def start_run(self):
        """In the background; returns the LoadGen container once the clock runs."""
        self.compose("up", "-d", "--scale", "sut=2")
        [loadgen] = self.containers(service="loadgen")
        wait_until("the run to start", lambda: "run started" in self.logs(loadgen))
        return loadgen

    def exit_code(self, container, timeout=120):
        return int(run("docker", "wait", container, timeout=timeout).stdout)

    def run_folder(self):
        return RunFolder(self.folder.path / "run")
