"""The Slurm batch script and campaigns as job arrays, on a real Slurm: three nodes with addresses of their own."""

import json
import os
import shutil
import signal
import tempfile
import unittest
from pathlib import Path

from cluster import BINARIES, DEPLOY, RunFolder, run, wait_until
from slurm import Cluster, needs_slurm

SCRIPT = DEPLOY / "slurm/lon.sbatch"
# Offline, which is not INVALID because the machine was busy.
SYNTHETIC = ["--benchmark", "synthetic", "--dataset", "synthetic:u8[64]x64", "--scenario", "Offline"]
SHORT = [*SYNTHETIC, "--set", "target_qps=100,min_duration=0"]
PORT = 8000
CAMPAIGN = """
out = "out"
[run]
benchmark = "digits"
scenario = "Offline"
insecure = true
settings = { target_qps = 100, min_duration = "0" }
[node]
backend = "synthetic:constant=1ms"
insecure = true
count = 2
[axes]
transport = ["grpc", "tcp"]
compression = ["none", "zstd:1", "lz4"]
node.max-batch = [1, 8]
"""


@needs_slurm
class Slurm(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster()
        cls.addClassCleanup(cls.cluster.remove)

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="lon-deploy-"))
        self.results = self.folder / "results"
        self.log = self.folder / "job.log"

    def tearDown(self):
        self.assertEqual(self.cluster.jobs(), [])
        left = [words for _, words in processes("sut-node")]
        self.assertEqual(left, [], "the job left nodes running")
        shutil.rmtree(self.folder)

    def start(self, *flags, nodes=3, **variables):
        variables = {"LON_INTERFACE": "eth0", "LON_RESULTS": str(self.results), "LON_PORT": str(PORT), **variables}
        return self.cluster.submit(SCRIPT, *flags, log=self.log, nodes=nodes, cwd=self.folder, **variables)

    def run_job(self, *flags, nodes=3, **variables):
        code = self.start(*flags, nodes=nodes, **variables).wait(timeout=180)
        return code, self.output()

    def output(self):
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def test_the_first_node_asks_and_the_others_answer(self):
        code, output = self.run_job(*SHORT)
        self.assertEqual(code, 0, output)
        folder = RunFolder(self.results / "run")
        folder.check_complete(self)
        nodes = {node["name"]: node["address"] for node in folder.nodes()}
        self.assertEqual(nodes, {"sn2": f"10.77.0.3:{PORT}", "sn3": f"10.77.0.4:{PORT}"})
        for name in nodes:
            log = (self.results / "nodes" / f"{name}.log").read_text()
            self.assertIn(f"sut-node {name} serving", log)
            self.assertIn("answering what was taken in", log, "it was asked to end, and not killed")

    def test_without_an_interface_host_names_will_do(self):
        code, output = self.run_job(*SHORT, nodes=2, LON_INTERFACE="")
        self.assertEqual(code, 0, output)
        [node] = RunFolder(self.results / "run").nodes()
        self.assertEqual(node["name"], "sn2")

    def test_the_jobs_exit_code_is_the_runs(self):
        code, output = self.run_job("--benchmark", "nonsense", "--scenario", "Offline")
        self.assertEqual(code, 2, output)
        self.assertIn("exit code 2", output)

    def test_a_node_that_dies_is_named(self):
        scenario = ["--scenario", "Server", "--set", "target_qps=50,min_duration=60000"]
        job = self.start(*SYNTHETIC[:-2], *scenario)
        wait_until("the run to start", lambda: "run started" in self.output())
        [victim] = [pid for pid, words in processes("sut-node") if f"10.77.0.4:{PORT}" in words]
        os.kill(victim, signal.SIGKILL)
        self.assertEqual(job.wait(timeout=60), 4, self.output())
        folder = RunFolder(self.results / "run")
        folder.check_complete(self)
        self.assertEqual([node["name"] for node in folder.nodes() if node["lost"]], ["sn3"])

    def test_nodes_that_cannot_serve_end_the_job_at_once(self):
        # The run would wait five minutes for them.
        code, output = self.run_job(*SHORT, LON_BACKEND="onnx:/no/such.onnx")
        self.assertEqual(code, 4, output)
        self.assertIn("cannot read /no/such.onnx", output)
        self.assertFalse((self.results / "run").exists())

    def test_a_campaign_is_a_job_array_with_a_task_for_each_cell(self):
        campaign = self.folder / "codecs.toml"
        campaign.write_text(CAMPAIGN)
        script = self.folder / "codecs.sbatch"
        script.write_text(run(BINARIES / "loadgen-node", "campaign", "render", campaign, "--for", "slurm").stdout)
        job = self.cluster.submit(script, log=self.folder / "out/slurm-%a.log", nodes=None, cwd=self.folder)
        code = job.wait(timeout=240)
        logs = {path.name: path.read_text(errors="replace") for path in (self.folder / "out").glob("*.log")}
        self.assertEqual(code, 0, logs)
        table = run(BINARIES / "loadgen-node", "campaign", "table", campaign, "--json").stdout
        cells = json.loads(table)["rows"]
        self.assertEqual(len(cells), 12)
        for cell in cells:
            self.assertEqual((cell["verdict"], cell["folders"]), ("VALID", [f"{cell['cell']}/1"]), cell)
            folder = RunFolder(self.folder / "out" / cell["folders"][0])
            folder.check_complete(self)
            # The first host of a task asks, and each of the others has a node.
            hosts = [node["address"].split(":")[0] for node in folder.nodes()]
            self.assertEqual(hosts, ["10.77.0.3", "10.77.0.4"])

    def test_what_cannot_work_is_said_before_anything_runs(self):
        for nodes, variables, words in [
            (1, {}, "1 node(s) in the allocation"),
            (3, {"LON_INTERFACE": "ib7"}, "ib7"),
        ]:
            code, output = self.run_job(*SHORT, nodes=nodes, **variables)
            self.assertEqual(code, 2, output)
            self.assertIn(words, output)
            self.assertFalse((self.results / "run").exists())


def processes(program):
    """Process ids and command lines of this program on the hosts of the cluster, which are no namespace of ours."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if os.readlink(folder / "ns/net") == os.readlink("/proc/self/ns/net"):
                continue
            words = (folder / "cmdline").read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        if Path(words[0]).name == program:
            yield int(folder.name), words
