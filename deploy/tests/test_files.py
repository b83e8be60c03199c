"""Tests of the files where nothing has to run: shell, compose, systemd, tuning; and that names are the programs'."""

import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

import yaml
from cluster import BINARIES, COMPOSE, DEPLOY, REPOSITORY, environment, run

ARRAY = REPOSITORY / "loadgen-node/src/campaign/array.sbatch"
SCRIPTS = [*DEPLOY.glob("*.sh"), *DEPLOY.glob("tests/*.sh"), DEPLOY / "slurm/lon.sbatch", ARRAY]


def flags(program, command):
    """The environment variables and flags that a command's help lists."""
    text = run(BINARIES / program, command, "--help").stdout
    return set(re.findall(r"LON_[A-Z_]+", text)), set(re.findall(r"--[a-z][a-z-]*", text))


class Names(unittest.TestCase):
    """Variables and flags in these files are flags of the programs: a misspelt variable would be ignored in silence."""

    # Variables that the files themselves ask for.
    OWN = {
        *("LON_UID", "LON_GID", "LON_TAG", "LON_MTU", "LON_NODE_COUNT", "LON_SUT_COUNT", "LON_TLS", "LON_RTPRIO"),
        *("LON_RATE", "LON_RATE_UP", "LON_RATE_DOWN", "LON_RATES", "LON_DELAY", "LON_JITTER", "LON_LOSS"),
        *("LON_MODELS", "LON_DATASETS", "LON_CONF", "LON_SUT_ENV", "LON_OTHER_ENV", "LON_LOADGEN_ENV"),
        *("LON_OTHER_CPUS", "LON_GPU_EP", "LON_GPU_DRIVER"),
        *("LON_SUT_CPUS", "LON_SUT_MEMORY", "LON_LOADGEN_CPUS", "LON_LOADGEN_MEMORY"),
        *("LON_BIN", "LON_BUILT", "LON_INTERFACE", "LON_PORT", "LON_REVISION"),
        *("LON_PROMETHEUS_IMAGE", "LON_GRAFANA_IMAGE"),
    }

    @classmethod
    def setUpClass(cls):
        cls.known, cls.flags, cls.variables = set(), {}, {}
        for program, command in [("loadgen-node", "run"), ("sut-node", "serve"), ("sut-node", "healthcheck")]:
            cls.variables[program, command], cls.flags[program, command] = flags(program, command)
            cls.known |= cls.variables[program, command]

    def test_variables(self):
        files = [path for path in DEPLOY.rglob("*") if path.is_file() and "tests" not in path.parts]
        files = [path for path in files if path.name != ".env" and "results" not in path.parts]
        for path in files:
            with self.subTest(path=path.relative_to(DEPLOY)):
                named = set(re.findall(r"LON_[A-Z]+(?:_[A-Z]+)*", path.read_text()))
                self.assertEqual(named - self.known - self.OWN, set())

    def test_what_both_programs_have_is_not_taken_from_the_caller(self):
        """The caller's LON_PREPROCESS would mean two things."""
        both = self.variables["loadgen-node", "run"] & self.variables["sut-node", "serve"]
        for name in ["loadgen.env", "sut.env"]:
            lines = (DEPLOY / name).read_text().splitlines()
            passed = {line.split("=")[0] for line in lines if re.match(r"LON_[A-Z_]+($|=.*\$)", line)}
            self.assertEqual(passed & both, set(), name)

    def test_flags(self):
        services = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]
        for name, service in services.items():
            command = service.get("command", [])
            if command[:1] in [["loadgen-node"], ["sut-node"]]:
                with self.subTest(service=name):
                    given = {word for word in command if word.startswith("--")}
                    self.assertEqual(given - self.flags[command[0], command[1]], set())


class Files(unittest.TestCase):
    def test_shell(self):
        run("shellcheck", *SCRIPTS)

    def test_compose_file_is_as_the_specification_has_it(self):
        run("check-jsonschema", "--builtin-schema", "vendor.compose-spec", DEPLOY / "compose.yaml")

    @unittest.skipUnless(shutil.which(COMPOSE[0]), f"{COMPOSE[0]} is not installed")
    def test_compose_reads_it(self):
        both = ["--profile", "gpu", "--profile", "mixed"]
        for profile in [[], ["--profile", "mixed"], ["--profile", "metrics"], both]:
            command = [*COMPOSE, "-f", DEPLOY / "compose.yaml", *profile, "config"]
            read = yaml.safe_load(run(*command, env=environment(LON_TLS="on", LON_NOTE="x")).stdout)["services"]
            variables = read["loadgen"]["environment"]
            self.assertEqual((variables["LON_TLS_CA"], variables["LON_NOTE"]), ("/tls/ca.pem", "x"))
            self.assertEqual((variables["LON_SCENARIO"], variables["LON_DATASET"]), ("Server", None))
            self.assertNotIn("LON_INSECURE", {**variables, **read["sut"]["environment"]})
        devices = read["gpu"]["deploy"]["resources"]["reservations"]["devices"]
        self.assertEqual(devices, [{"driver": "nvidia", "count": 1, "capabilities": ["gpu"]}])

    def test_what_the_metrics_profile_mounts_is_there(self):
        services = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]
        mounts = services["prometheus"]["volumes"] + services["grafana"]["volumes"]
        for mount in mounts:
            self.assertTrue((DEPLOY / mount.split(":")[0]).is_file(), mount)
        datasource = yaml.safe_load((DEPLOY / "metrics/grafana/datasource.yml").read_text())["datasources"][0]
        self.assertEqual(datasource["url"], "http://prometheus:9090")
        # A second asked for is a second shown.
        scrapes = yaml.safe_load((DEPLOY / "metrics/prometheus.yml").read_text())
        self.assertEqual(datasource["jsonData"]["timeInterval"], scrapes["global"]["scrape_interval"])
        ports = {job["dns_sd_configs"][0]["port"] for job in scrapes["scrape_configs"]}
        for file in ("sut.env", "loadgen.env"):
            listens = re.search(r"(?m)^LON_METRICS_LISTEN=(.*)$", (DEPLOY / file).read_text())[1]
            self.assertEqual(ports, {int(listens.rsplit(":")[-1])})

    @unittest.skipUnless(shutil.which("promtool"), "promtool is not installed (Debian's package prometheus)")
    def test_prometheus_reads_its_file(self):
        run("promtool", "check", "config", DEPLOY / "metrics/prometheus.yml")

    @unittest.skipUnless(shutil.which("systemd-analyze"), "systemd-analyze is not installed")
    def test_unit(self):
        """Systemd reads the unit; the program is put where this machine has it."""
        with tempfile.TemporaryDirectory() as folder:
            unit = Path(folder, "sut-node.service")
            text = (DEPLOY / "systemd/sut-node.service").read_text()
            unit.write_text(text.replace("/usr/local/bin/sut-node", str(BINARIES / "sut-node")))
            # Complaints come with exit code 0, too.
            self.assertEqual(run("systemd-analyze", "verify", "--man=no", unit).stdout, "")
            # In tenths: 0 is a unit that may do nothing, 100 one that may do everything.
            run("systemd-analyze", "security", "--offline=yes", "--threshold=20", unit)

    def test_unit_environment_serves(self):
        """A node understands sut-node.env: it starts by it, with a backend and a port that are there."""
        # Other hosts are served with TLS alone, whose files come from the unit.
        lines = (DEPLOY / "systemd/sut-node.env").read_text().splitlines()
        variables = dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))
        self.assertNotIn("LON_INSECURE", variables)
        variables.update(LON_LISTEN="127.0.0.1:0", LON_BACKEND="null")
        command = [BINARIES / "sut-node", "serve"]
        with subprocess.Popen(command, env=environment(**variables), stdout=subprocess.PIPE, text=True) as node:
            said = node.stdout.readline()
            node.terminate()
        self.assertIn("serving null on 127.0.0.1:", said)
        self.assertEqual(node.returncode, 0)


class Tune(unittest.TestCase):
    """On a tree that looks like a host's /proc and /sys."""

    SETTINGS = {
        "net/core/rmem_max": "212992",
        "net/core/wmem_max": "33554432",
        "net/ipv4/tcp_rmem": "4096\t131072\t6291456",
        "net/ipv4/tcp_slow_start_after_idle": "1",
    }

    def setUp(self):
        self.root = Path(tempfile.mkdtemp(prefix="lon-deploy-"))
        cpu = "sys/devices/system/cpu/cpu0"
        files = {f"proc/sys/{key}": value for key, value in self.SETTINGS.items()}
        files[f"{cpu}/cpufreq/scaling_governor"] = "powersave"
        for state, latency in enumerate([0, 2, 133]):
            files[f"{cpu}/cpuidle/state{state}/latency"] = str(latency)
            files[f"{cpu}/cpuidle/state{state}/disable"] = "0"
        for path, text in files.items():
            file = self.root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text + "\n")

    def tearDown(self):
        shutil.rmtree(self.root)

    def tune(self, *words, check=True):
        return run(DEPLOY / "tune.sh", *words, check=check, env=environment(TUNE_ROOT=str(self.root)))

    def contents(self):
        files = [path for path in self.root.rglob("*") if path.is_file()]
        return {str(path.relative_to(self.root)): path.read_text().strip() for path in files}

    def test_says_and_does_nothing(self):
        before = self.contents()
        said = self.tune().stdout
        self.assertEqual(self.contents(), before)
        self.assertIn("rmem_max", said)
        self.assertIn("now: 212992", said)
        self.assertNotIn("wmem_max", said)
        self.assertIn("left out: net.core.busy_poll", said)
        self.assertIn("nothing was changed", said)
        # Every command comes with a reason.
        lines = said.splitlines()
        for at, line in enumerate(lines):
            if not line.startswith("#"):
                self.assertTrue(lines[at - 1].startswith("#   now: ") and lines[at - 2].startswith("# "), line)

    @unittest.skipUnless(os.geteuid() == 0, "--apply asks for root")
    def test_does_what_it_said(self):
        said = self.tune("--apply").stdout
        after = self.contents()
        self.assertEqual(after["proc/sys/net/core/rmem_max"], "16777216")
        self.assertEqual(after["proc/sys/net/core/wmem_max"], "33554432", "what is larger stays")
        self.assertEqual(after["proc/sys/net/ipv4/tcp_slow_start_after_idle"], "0")
        cpu = "sys/devices/system/cpu/cpu0"
        self.assertEqual(after[f"{cpu}/cpufreq/scaling_governor"], "performance")
        states = [after[f"{cpu}/cpuidle/state{state}/disable"] for state in range(3)]
        self.assertEqual(states, ["0", "0", "1"], said)
        again = self.tune("--apply").stdout
        self.assertFalse([line for line in again.splitlines() if not line.startswith("#")], again)

    @unittest.skipUnless(os.geteuid() == 0, "--apply asks for root")
    def test_grants_real_time_priority_where_asked(self):
        limits = "etc/security/limits.d/lon.conf"
        (self.root / limits).parent.mkdir(parents=True)
        self.tune("--apply")
        self.assertNotIn(limits, self.contents())
        self.tune("--realtime", "lon", "--apply")
        self.assertEqual(self.contents()[limits], "lon - rtprio 10")

    def test_refuses_what_it_does_not_know(self):
        for words in [["--aply"], ["--mtu", "9000"], ["--interface", "no-such-card"]]:
            done = self.tune(*words, check=False)
            self.assertEqual(done.returncode, 2, done.stdout)
