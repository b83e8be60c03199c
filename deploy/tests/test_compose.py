"""The compose cluster for real: the machine's Docker engine, its compose tool, and the images of this source."""

import json
import os
import time
import unittest
from pathlib import Path

from cluster import BINARIES, DEPLOY, MODELS, TAG, UID, Cluster, RunFolder, environment
from cluster import has_netem, needs_engine, run, wait_until

# Not INVALID because the machine was busy: what is tried here is the cluster, not its speed. A thousand queries, since
# fewer are too few to judge their 99th percentile.
PATIENT = {"LON_MAX_LAG": "60s"}
DIGITS = {**PATIENT, "LON_SET": "target_qps=400,min_duration=3000,target_latency=60000"}


@needs_engine
class Digits(unittest.TestCase):
    def test_one_command_runs_and_leaves_the_result_to_its_owner(self):
        with Cluster("one", **DIGITS) as cluster:
            done = cluster.up("loadgen")
            self.assertEqual(done.returncode, 0, done.stdout)
            folder = cluster.run_folder()
            folder.check_complete(self)
            self.assertEqual(folder.result["result"], "VALID", folder.result["reasons"])
            self.assertGreater(folder.result["accuracy"]["value"], 97)
            self.assertEqual(len(folder.nodes()), 1)
            owners = {path.stat().st_uid for path in [folder.path, *folder.path.iterdir()]}
            self.assertEqual(owners, {UID})

    def test_the_exit_code_is_the_runs(self):
        with Cluster("usage", LON_BENCHMARK="nonsense") as cluster:
            done = cluster.up("loadgen")
            self.assertEqual(done.returncode, 2, done.stdout)
            self.assertIn("nonsense", done.stdout)


@needs_engine
class FourNodes(unittest.TestCase):
    """One run over four nodes, looked at from several sides."""

    @classmethod
    def setUpClass(cls):
        with Cluster("four", **DIGITS) as cluster:
            cls.done = cluster.up("loadgen", "--scale", "sut=4")
            cls.files = {path.name: path.read_text() for path in cluster.folder.path.glob("run/*.json")}
            cls.result = json.loads(cls.files["result_summary.json"])
            suts = cluster.containers(service="sut")
            cls.suts = [cluster.details(sut) for sut in suts]
            cls.loadgen = cluster.details(*cluster.containers(service="loadgen"))

    def test_the_run_is_valid(self):
        self.assertEqual(self.done.returncode, 0, self.done.stdout)
        self.assertEqual(self.result["result"], "VALID", self.result["reasons"])

    def test_names_and_addresses_are_the_nodes_own(self):
        nodes = self.result["network"]["nodes"]
        self.assertEqual([node["name"] for node in nodes], ["sut-1", "sut-2", "sut-3", "sut-4"])
        self.assertEqual([node["address"] for node in nodes], [f"sut-{at}.lon.test:8000" for at in range(1, 5)])
        self.assertTrue(all(node["samples"] > 0 for node in nodes), nodes)

    def test_nodes_told_to_stop_end_in_order(self):
        self.assertEqual([sut["State"]["ExitCode"] for sut in self.suts], [0, 0, 0, 0])

    def test_nobody_has_more_than_it_needs(self):
        for container in [*self.suts, self.loadgen]:
            self.assertEqual(container["HostConfig"]["CapDrop"], ["ALL"])
            self.assertTrue(container["HostConfig"]["ReadonlyRootfs"])
            self.assertGreater(container["HostConfig"]["Memory"], 0)
            self.assertGreater(container["HostConfig"]["NanoCpus"], 0)
            self.assertNotIn(container["Config"]["User"].split(":")[0], ["", "0", "root"])

    def test_containers_of_one_machine_are_no_network(self):
        """They share its kernel, whatever their addresses, and the result says so."""
        self.assertTrue([name for name, text in self.files.items() if "one host" in text], sorted(self.files))


@needs_engine
@unittest.skipUnless(os.geteuid() == 0, "root enters the network of a container")
class Rates(unittest.TestCase):
    def test_a_campaign_sets_the_rate_of_the_links(self):
        """The same rates as the links of a run have: samples of 150,528 bytes over 20 and over 80 Mbit/s."""
        with Cluster("rates", LON_BACKEND="null", LON_RATE="1gbit") as cluster:
            cluster.compose("up", "-d", "--scale", "sut=2", "link")
            own = environment(COMPOSE_PROJECT_NAME=cluster.project)
            script = str(DEPLOY / "cluster.sh")
            nodes = run(script, "nodes", env=own).stdout.strip()
            self.assertEqual(len(nodes.split(",")), 2, nodes)
            campaign = cluster.file(
                "rates.toml",
                f"""
                out = "{cluster.extra}/rates"
                link = ["{script}", "rates"]
                order = "written"
                [run]
                sut = "{nodes}"
                benchmark = "synthetic"
                dataset = "synthetic:u8[150528]x64"
                scenario = "Offline"
                mode = "PerformanceOnly"
                insecure = true
                settings.target_qps = 300
                settings.min_duration = "500ms"
                max-lag = "60s"
                [axes]
                link.rate = ["20mbit", "80mbit"]
                """,
            )
            command = [BINARIES / "loadgen-node", "campaign", "run", campaign]
            ran = run(script, "exec", *command, env=own, check=False, timeout=240)
            self.assertEqual(ran.returncode, 0, ran.stdout)
            folders = sorted(Path(cluster.extra, "rates").glob("**/network_report.json"))
            carried = [RunFolder(path.parent).carried_mbit_s() for path in folders]
            self.assertEqual(len(carried), 2, ran.stdout)
            slow, fast = sorted(carried)
            # Two links; all layers count against the rate.
            self.assertTrue(30 < slow < 40.5 and 100 < fast < 162, carried)


# Settings of a run that fills the links: nodes that answer at once, samples of 150,528 bytes.
BYTES = {
    **PATIENT,
    "LON_BACKEND": "null",
    "LON_BENCHMARK": "synthetic",
    "LON_MODE": "PerformanceOnly",
    "LON_SCENARIO": "Offline",
    "LON_DATASET": "synthetic:u8[150528]x64",
    # Frames of 9000 bytes: at 1500, heads alone would take 4.4 % of the rate.
    "LON_MTU": "9000",
}


@needs_engine
class Links(unittest.TestCase):
    """Links carry what they were given, each its own."""

    def carried(self, name, wanted, direction="ingress", scale=3, **variables):
        """Returns the rate of all links together in a direction. Other work of the machine can only make it slower, so
        the best of at most three tries counts, but too much never does."""
        seen = []
        while len(seen) < 3 and (not seen or max(seen) < 0.95 * wanted):
            with Cluster(f"{name}{len(seen)}", **{**BYTES, **variables}) as cluster:
                done = cluster.up("loadgen", "--scale", f"sut={scale}")
                self.assertEqual(done.returncode, 0, done.stdout)
                folder = cluster.run_folder()
                self.assertEqual(len(folder.nodes()), scale)
                seen.append(folder.carried_mbit_s(direction))
        print(f"{name}: {scale} links carried {', '.join(f'{rate:.1f}' for rate in seen)} of {wanted} Mbit/s")
        self.assertGreater(max(seen), 0.95 * wanted, seen)
        self.assertLess(max(seen), 1.05 * wanted, seen)
        return folder

    def test_three_links_of_one_rate(self):
        self.carried("links", 300, LON_RATE="100mbit", LON_SET="target_qps=250,min_duration=5000")

    def test_single_nodes_have_rates_of_their_own(self):
        """Answers are as large as samples, so a node takes what the slower of its two directions lets it: the second
        one is slow from the node, the third one towards it."""
        wanted = {"sut-1": 100, "sut-2": 20, "sut-3": 30}
        folder = self.carried(
            "rates",
            sum(wanted.values()),
            direction="egress",
            # Small, so that no node is long at its last ones when the others have done theirs.
            LON_DATASET="synthetic:u8[15000]x64",
            LON_BACKEND="synthetic:constant=0us,output=15000",
            LON_RATE="30mbit",
            LON_RATES="sut-1=100mbit,sut-2=50mbit/20mbit",
            LON_SET="target_qps=1250,min_duration=5000",
        )
        samples = {node["name"]: node["samples"] for node in folder.nodes()}
        print(f"rates: {samples}")
        for name, rate in wanted.items():
            share = samples[name] / sum(samples.values())
            self.assertAlmostEqual(share, rate / sum(wanted.values()), delta=0.04, msg=f"{name}: {samples}")

    def refused(self, name, what, **variables):
        with Cluster(name, **{**BYTES, **variables}) as cluster:
            done = cluster.up("loadgen")
            self.assertIn(done.returncode, [1, 2], done.stdout)
            self.assertIn(what, done.stdout)
            self.assertFalse(list(cluster.folder.path.iterdir()), "something ran")

    def test_what_cannot_be_had_is_said_and_nothing_runs(self):
        self.refused("norate", "'fast' is not a rate", LON_RATE="fast")
        self.refused("nonode", "LON_RATES names sut-9; there are: sut-1", LON_RATES="sut-9=1mbit")
        self.refused("nosuch", "tls/sut-yes.env", LON_TLS="yes")

    @unittest.skipIf(has_netem(), "this machine's kernel has netem")
    def test_a_kernel_without_netem_is_told(self):
        self.refused("nonetem", "kernel has no netem", LON_DELAY="5ms")

    @unittest.skipUnless(has_netem(), "this machine's kernel has no netem")
    def test_a_delay_is_seen_in_each_direction(self):
        variables = {**BYTES, "LON_SCENARIO": "SingleStream", "LON_DATASET": "synthetic:u8[64]x64"}
        with Cluster("delay", LON_DELAY="20ms", **variables) as cluster:
            done = cluster.up("loadgen", "--scale", "sut=2")
            self.assertIn(done.returncode, [0, 3], done.stdout)
            self.assertGreater(cluster.run_folder().result["latency_ns"]["p50"], 40e6)


@needs_engine
class Mixed(unittest.TestCase):
    def test_nodes_that_differ_are_one_run(self):
        with Cluster("mixed", profile="mixed", LON_NODE_COUNT="3", **DIGITS) as cluster:
            done = cluster.up("loadgen", "--scale", "sut=2")
            self.assertEqual(done.returncode, 0, done.stdout)
            folder = cluster.run_folder()
            self.assertEqual(folder.names(), ["other-1", "sut-1", "sut-2"])
            cpus = [cluster.details(one)["HostConfig"]["NanoCpus"] for one in cluster.containers(service="other")]
            self.assertEqual(cpus, [500_000_000])


@needs_engine
class Everything(unittest.TestCase):
    """TLS, four nodes, shaped links, a codec, and a model and a dataset of one's own, all at once."""

    PIXELS = "resize=256,filter=box,crop=224,dtype=u8,layout=nhwc"
    NUMBERS = "crop=224,mean=123.68/116.78/103.94,dtype=f32,layout=nchw"

    def test_a_resnet50_on_jpegs(self):
        with Cluster("all", **PATIENT) as cluster:
            sut = cluster.file("sut.env", f"LON_BACKEND=onnx:/models/resnet50.onnx\nLON_PREPROCESS={self.NUMBERS}\n"
                               "LON_POSTPROCESS=argmax\nLON_MAX_BATCH=1\n")
            cluster.file("user.conf", "*.*.performance_sample_count_override = 64\n*.*.target_qps = 8\n")
            loadgen = cluster.file("loadgen.env", f"LON_PREPROCESS={self.PIXELS}\nLON_USER_CONF=/conf/user.conf\n"
                                   "LON_SET=min_duration=1000,min_query_count=64\n")
            cluster.environment.update(
                LON_MODELS=str(MODELS), LON_DATASETS=str(MODELS), LON_CONF=str(cluster.extra),
                LON_SUT_ENV=sut, LON_LOADGEN_ENV=loadgen, LON_TLS="on", LON_RATE="100mbit",
                LON_BENCHMARK="resnet50", LON_SCENARIO="Offline", LON_DATASET="/datasets/images",
                LON_COMPRESSION="delta-zstd", LON_MTU="9000",
            )
            done = cluster.up("loadgen", "--scale", "sut=4", timeout=400)
            self.assertEqual(done.returncode, 0, done.stdout)
            folder = cluster.run_folder()
            folder.check_complete(self)
            self.assertEqual(folder.result["result"], "VALID", folder.result["reasons"])
            self.assertEqual(folder.names(), ["sut-1", "sut-2", "sut-3", "sut-4"])
            self.assertTrue(folder.report()["codec"].startswith("delta-zstd"), folder.report())
            for node in folder.nodes():
                self.assertTrue(node["address"].startswith(f"{node['name']}.lon.test:"), node)
                self.assertGreater(node["samples"], 0, node)
            # A client without a certificate is not served.
            node = cluster.containers(service="sut")[0]
            self.assertIn("onnxruntime", json.dumps(folder.result).lower())
            self.assertIn(f"Files     {cluster.folder.path}/run", done.stdout)
            self.assertEqual(cluster.inspect(node, ".HostConfig.ReadonlyRootfs"), "true")


@needs_engine
class Faults(unittest.TestCase):
    """A node that is lost ends the run with exit code 4 and complete files, however it was lost."""

    VARIABLES = {
        **PATIENT,
        "LON_BACKEND": "null",
        "LON_BENCHMARK": "synthetic",
        "LON_DATASET": "synthetic:u8[64]x64",
        "LON_MODE": "PerformanceOnly",
        "LON_SET": "target_qps=50,min_duration=60000",
    }

    def lose(self, name, how):
        with Cluster(name, **self.VARIABLES) as cluster:
            loadgen = cluster.start_run()
            victim = cluster.containers(service="sut")[0]
            number = cluster.details(victim)["Config"]["Labels"]["com.docker.compose.container-number"]
            victim_name = f"sut-{number}"
            # In the middle of the run, not at its start.
            time.sleep(2)
            how(cluster, victim)
            self.assertEqual(cluster.exit_code(loadgen), 4, cluster.logs(loadgen))
            folder = cluster.run_folder()
            folder.check_complete(self)
            self.assertEqual(folder.result["result"], "INVALID")
            self.assertGreater(folder.result["counts"]["completed"], 0)
            lost = {node["name"]: node["lost"] for node in folder.nodes()}
            self.assertEqual([name for name, why in lost.items() if why], [victim_name], lost)
            self.assertTrue(any(victim_name in reason for reason in folder.result["reasons"]), folder.result["reasons"])
            # The other node is free for the next run, and healthy.
            [other] = [sut for sut in cluster.containers(service="sut") if sut != victim]
            run("docker", "exec", other, "sut-node", "healthcheck")

    def test_killed(self):
        self.lose("killed", lambda _, victim: run("docker", "kill", victim))

    def test_paused(self):
        self.lose("paused", lambda _, victim: run("docker", "pause", victim))

    def test_disconnected(self):
        def disconnect(cluster, victim):
            run("docker", "network", "disconnect", f"{cluster.project}_cluster", victim)

        self.lose("disconnected", disconnect)

    def test_interrupted(self):
        with Cluster("interrupted", **self.VARIABLES) as cluster:
            loadgen = cluster.start_run()
            run("docker", "stop", "--time", "20", loadgen)
            self.assertEqual(cluster.exit_code(loadgen), 5, cluster.logs(loadgen))
            cluster.run_folder().check_complete(self)


@needs_engine
class Image(unittest.TestCase):
    def test_small_not_root_and_nothing_but_the_programs(self):
        image = json.loads(run("docker", "image", "inspect", f"lon:{TAG}").stdout)[0]
        programs = sum((BINARIES / program).stat().st_size for program in ["loadgen-node", "sut-node"])
        # The libraries that they are linked with, and ONNX Runtime.
        self.assertLess(image["Size"], programs + 40e6)
        config = image["Config"]
        self.assertEqual(config["User"], "65532:65532")
        self.assertEqual(config["Healthcheck"]["Test"], ["CMD", "sut-node", "healthcheck"])
        self.assertEqual(config["Labels"]["org.opencontainers.image.licenses"], "Apache-2.0")
        shell = run("docker", "run", "--rm", "--network", "none", f"lon:{TAG}", "/bin/sh", check=False)
        self.assertNotEqual(shell.returncode, 0, "there is a shell")
        for program in ["loadgen-node", "sut-node"]:
            run("docker", "run", "--rm", "--network", "none", "--read-only", f"lon:{TAG}", program, "--version")

    def test_health_is_the_nodes(self):
        """The image's own health check, from starting to healthy; it fails once nobody serves."""
        serve = ["sut-node", "serve", "--backend", "null", "--listen", "127.0.0.1:8000"]
        started = run("docker", "run", "--detach", "--network", "none", "--health-interval", "1s", f"lon:{TAG}", *serve)
        container = started.stdout.split()[-1]
        try:
            status = ["docker", "inspect", "--format", "{{.State.Health.Status}}", container]
            wait_until("the node to be healthy", lambda: run(*status).stdout.strip() == "healthy")
            elsewhere = ["sut-node", "healthcheck", "--address", "127.0.0.1:8001"]
            refused = run("docker", "exec", container, *elsewhere, check=False)
            self.assertEqual(refused.returncode, 1, refused.stdout)
            self.assertIn("127.0.0.1:8001", refused.stdout)
        finally:
            run("docker", "rm", "--force", container)
