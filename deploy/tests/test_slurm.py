"""The Slurm batch script with a stub of Slurm: hosts are loopback addresses, tasks are local processes."""

import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import unittest
from pathlib import Path

from cluster import BINARIES, DEPLOY, RunFolder, environment, wait_until

STUBS = Path(__file__).resolve().parent / "stubs"
# Offline, which is not INVALID because the machine was busy.
SYNTHETIC = ["--benchmark", "synthetic", "--dataset", "synthetic:u8[64]x64", "--scenario", "Offline"]


class Slurm(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="lon-deploy-"))
        self.calls = self.folder / "calls"
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]

    def tearDown(self):
        left = [(pid, words) for pid, words in processes("sut-node") if any(f":{self.port}" in word for word in words)]
        for pid, _ in left:
            os.kill(pid, signal.SIGKILL)
        shutil.rmtree(self.folder)
        self.assertEqual(left, [], "the job left nodes running")

    def start(self, hosts, *flags, **variables):
        path = f"{STUBS}:{BINARIES}:{os.environ['PATH']}"
        slurm = {"SLURM_JOB_ID": "7", "SLURM_JOB_NODELIST": hosts, "SLURM_SUBMIT_DIR": str(self.folder)}
        env = environment(PATH=path, STUB_CALLS=str(self.calls), LON_PORT=str(self.port), **slurm, **variables)
        command = ["bash", str(DEPLOY / "slurm/lon.sbatch"), *flags]
        with open(self.folder / "log", "w") as log:
            return subprocess.Popen(command, env=env, cwd=self.folder, stdout=log, stderr=subprocess.STDOUT)

    def output(self):
        return (self.folder / "log").read_text()

    def run_job(self, hosts, *flags, **variables):
        code = self.start(hosts, *flags, **variables).wait(timeout=180)
        return code, self.output()

    def results(self):
        return self.folder / "lon-7"

    def test_the_first_node_asks_and_the_others_answer(self):
        flags = [*SYNTHETIC, "--set", "target_qps=100,min_duration=0"]
        code, output = self.run_job("node[1-4]", *flags, LON_INTERFACE="fabric0")
        self.assertEqual(code, 0, output)
        folder = RunFolder(self.results() / "run")
        folder.check_complete(self)
        nodes = {node["name"]: node["address"] for node in folder.nodes()}
        self.assertEqual(nodes, {f"node{n}": f"127.0.0.1{n}:{self.port}" for n in (2, 3, 4)})
        for name in nodes:
            self.assertIn(f"sut-node {name} serving", (self.results() / "nodes" / f"{name}.log").read_text())
        calls = [json.loads(line) for line in self.calls.read_text().splitlines()]
        # The nodes are served in the background: which call is written down first is not said.
        self.assertCountEqual([call["options"]["nodelist"] for call in calls], ["node2,node3,node4"] * 2 + ["node1"])

    def test_without_an_interface_host_names_will_do(self):
        flags = [*SYNTHETIC, "--set", "target_qps=100,min_duration=0"]
        code, output = self.run_job("node1,localhost", *flags)
        self.assertEqual(code, 0, output)
        [node] = RunFolder(self.results() / "run").nodes()
        self.assertEqual(node["name"], "localhost")

    def test_the_jobs_exit_code_is_the_runs(self):
        flags = ["--benchmark", "nonsense", "--scenario", "Offline"]
        code, output = self.run_job("node[1-2]", *flags, LON_INTERFACE="fabric0")
        self.assertEqual(code, 2, output)
        self.assertIn("exit code 2", output)

    def test_a_node_that_dies_is_named(self):
        scenario = ["--scenario", "Server", "--set", "target_qps=50,min_duration=60000"]
        job = self.start("node[1-3]", *SYNTHETIC[:-2], *scenario, LON_INTERFACE="fabric0")
        wait_until("the run to start", lambda: "run started" in self.output())
        [victim] = [pid for pid, words in processes("sut-node") if f"127.0.0.13:{self.port}" in words]
        os.kill(victim, signal.SIGKILL)
        self.assertEqual(job.wait(timeout=60), 4, self.output())
        folder = RunFolder(self.results() / "run")
        folder.check_complete(self)
        self.assertEqual([node["name"] for node in folder.nodes() if node["lost"]], ["node3"])

    def test_what_cannot_work_is_said_before_anything_runs(self):
        for hosts, variables, words in [
            ("node1", {}, "1 node(s) in the allocation"),
            ("node[1-3]", {"LON_INTERFACE": "ib7"}, "ib7"),
        ]:
            code, output = self.run_job(hosts, *SYNTHETIC, **variables)
            self.assertEqual(code, 2, output)
            self.assertIn(words, output)
            self.assertFalse((self.results() / "run").exists())


def processes(program):
    """Process ids and command lines of this program."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        if Path(words[0]).name == program:
            yield int(folder.name), words
