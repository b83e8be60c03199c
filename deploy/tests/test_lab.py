"""Clusters without Docker: lab.sh makes them of network namespaces, for real; the programs run in them."""

import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from cluster import BINARIES, DEPLOY, environment, has_netem, run, wait_until

LAB = DEPLOY / "lab.sh"


def lab(*words, check=True, **options):
    return run(LAB, *words, check=check, env=environment(LON_BIN=str(BINARIES)), **options)


def namespaces(name):
    listed = run("ip", "netns", "list").stdout.split()
    return [word for word in listed if word.startswith(f"lon-lab-{name}-")]


class Lab:
    """A lab under a name of its own. As a context: down, whatever happened."""

    def __init__(self, name, *flags):
        self.name = f"deploy{os.getpid()}{name}"
        lab("up", self.name, *flags, "--owner", os.getpid())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        lab("down", self.name)
        if namespaces(self.name):
            raise AssertionError(f"{self.name} left {namespaces(self.name)} behind")

    def __call__(self, verb, *words, **options):
        return lab(verb, self.name, *words, **options)

    def goodput_mbit_s(self, *flags):
        """Returns the goodput of iperf3 from host 0 to host 1, as the receiver counted it."""
        server = ["exec", self.name, "1", "iperf3", "--server"]
        with subprocess.Popen([LAB, *server], stdout=subprocess.DEVNULL) as serving:
            client = ["iperf3", "--client", "10.77.0.2", "--time", "3", "--json", *flags]
            try:
                told = json.loads(wait_until("iperf3", lambda: self.answer(client), timeout=30))
            finally:
                serving.kill()
        return told["end"]["sum_received"]["bits_per_second"] / 1e6

    def answer(self, client):
        """Nothing while the server does not listen yet, or ends the test before it has its result."""
        done = self("exec", "0", *client, check=False)
        return done.stdout if done.returncode == 0 and '"sum_received"' in done.stdout else None


def needs_namespaces(test):
    tools = all(shutil.which(tool) for tool in ["ip", "tc", "iperf3"])
    why = "network namespaces take root, iproute2 and iperf3"
    return unittest.skipUnless(os.geteuid() == 0 and tools, why)(test)


@needs_namespaces
class Cluster(unittest.TestCase):
    def test_nodes_serve_a_run_and_a_cut_ends_it(self):
        folder = Path(tempfile.mkdtemp(prefix="lon-deploy-"))
        words = ["--benchmark", "synthetic", "--scenario", "Server", "--dataset", "synthetic:u8[64]x64"]
        words += ["--max-lag", "60s"]
        with Lab("run", "--nodes", "3") as made:
            said = made("serve", "--backend", "null").stdout
            self.assertIn("3 nodes serve", said)
            short = "target_qps=500,min_duration=1000,min_query_count=700"
            done = made("run", *words, "--set", short, "--out", folder / "run")
            self.assertIn("Network SUT: sut-1, sut-2, sut-3", done.stdout)
            endless = [*words, "--set", "target_qps=200,min_duration=60000", "--out", folder / "cut"]
            command = [LAB, "run", made.name, *endless]
            log = (folder / "log").open("w")
            with subprocess.Popen(command, env=environment(LON_BIN=str(BINARIES)), stdout=log, stderr=log) as running:
                wait_until("the run to start", lambda: "run started" in (folder / "log").read_text())
                made("cut", "2")
                self.assertIn("host 2  10.77.0.3  rate none", made("show").stdout)
                self.assertRegex(made("show").stdout, r"host 2 .*  cut")
                self.assertEqual(running.wait(timeout=60), 4)
            reasons = json.loads((folder / "cut/result_summary.json").read_text())["reasons"]
            self.assertTrue(any("sut-2" in reason for reason in reasons), reasons)
            made("heal", "2")
            done = made("run", *words, "--set", short, "--wait-ready", "60s", "--out", folder / "healed")
            self.assertIn("sut-2", done.stdout)
        shutil.rmtree(folder)

    def test_a_rate_is_changed_while_the_lab_is_up(self):
        with Lab("change", "--nodes", "1", "--rate", "50mbit") as made:
            before = made.goodput_mbit_s()
            made("rate", "1", "20mbit")
            after = made.goodput_mbit_s()
            made("rate", "1", "none")
            free = made.goodput_mbit_s()
        self.assertTrue(40 < before <= 50 and 15 < after <= 20 and free > 200, (before, after, free))

    def test_what_goes_to_one_host_has_a_rate_of_its_own(self):
        with Lab("pair", "--nodes", "2", "--loadgen-rate", "50mbit") as made:
            made("pair", "0", "1", "20mbit")
            self.assertIn("host 0  10.77.0.1  rate 50mbit, 20mbit to host 1", made("show").stdout)
            bounded = made.goodput_mbit_s()
            made("pair", "0", "2", "20mbit")
            free = made.goodput_mbit_s()
            made("pair", "1", "0", "20mbit")
            back = made.goodput_mbit_s("--reverse")
        self.assertTrue(15 < bounded <= 20 and 40 < free <= 50 and 15 < back <= 20, (bounded, free, back))

    def test_processes_are_those_of_the_host(self):
        with Lab("processes", "--nodes", "1") as made:
            with subprocess.Popen([LAB, "exec", made.name, "1", "sleep", "600"]) as inside:
                # The script becomes the program.
                wait_until("it to run", lambda: made("processes", "1").stdout.split() == [str(inside.pid)])
                self.assertEqual(made("processes", "0").stdout, "")
                inside.kill()

    @unittest.skipIf(has_netem(), "this machine's kernel has netem")
    def test_a_kernel_without_netem_is_told_and_nothing_is_left(self):
        name = f"deploy{os.getpid()}netem"
        done = lab("up", name, "--delay", "5ms", check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("kernel has no netem", done.stdout)
        self.assertEqual(namespaces(name), [])

    def test_mistakes_are_named(self):
        with Lab("mistakes", "--nodes", "1") as made:
            for words, what in [
                (["up", made.name], "there is a lab"),
                (["up", "Bad_Name"], "cannot be a lab's name"),
                (["up", "x", "--nodes", "0"], "--nodes is 1 to"),
                (["up", "x", "--speed", "1"], "unknown flag --speed"),
                (["up", "x", "--rate", "fast"], "'fast' is not a rate"),
                (["rate", made.name, "1", "10"], "'10' is not a rate"),
                (["pair", made.name, "0", "1", "none"], "'none' is not a rate"),
                (["pair", made.name, "0", "2", "9mbit"], "has no host 2: 0 to 1"),
                (["cut", made.name, "2"], "has no host 2: 0 to 1"),
                (["cut", "no-such-lab", "1"], "there is no lab no-such-lab"),
                (["cutt", made.name, "1"], "unknown command cutt"),
            ]:
                done = lab(*words, check=False)
                self.assertEqual(done.returncode, 2, done.stdout)
                self.assertIn(what, done.stdout)
        self.assertEqual(namespaces("x"), [])


@needs_namespaces
class Leftovers(unittest.TestCase):
    """Nothing is left of a lab whose owner has ended, however it ended."""

    def owned(self, name):
        """A lab of a process that does nothing, with a process in one of its hosts."""
        owner = subprocess.Popen(["sleep", "600"])
        lab("up", name, "--nodes", "2", "--owner", owner.pid)
        inside = subprocess.Popen([LAB, "exec", name, "1", "sleep", "600"])
        self.assertEqual(len(namespaces(name)), 4)
        return owner, inside

    def test_the_owner_is_killed(self):
        name = f"deploy{os.getpid()}owner"
        owner, inside = self.owned(name)
        owner.kill()
        owner.wait()
        wait_until("the lab to go", lambda: not namespaces(name), timeout=20)
        self.assertEqual(inside.wait(timeout=10), -signal.SIGKILL)
        self.assertFalse(Path("/run/lon-lab", name).exists())

    def test_all_are_killed_and_the_next_lab_removes_it(self):
        name = f"deploy{os.getpid()}all"
        owner, inside = self.owned(name)
        keepers = run("pgrep", "--full", f"lab.sh keep {name}$").stdout.split()
        self.assertEqual(len(keepers), 1)
        for pid in [*keepers, owner.pid]:
            os.kill(int(pid), signal.SIGKILL)
        owner.wait()
        time.sleep(1)
        self.assertEqual(len(namespaces(name)), 4, "nobody was there to remove it")
        with Lab("next"):
            self.assertEqual(namespaces(name), [])
        inside.wait(timeout=10)

    def test_killed_in_the_middle_of_up(self):
        name = f"deploy{os.getpid()}up"
        owner = subprocess.Popen(["sleep", "600"])
        making = subprocess.Popen([LAB, "up", name, "--nodes", "50", "--owner", str(owner.pid)])
        wait_until("some of it", lambda: len(namespaces(name)) > 5)
        making.kill()
        making.wait()
        owner.kill()
        owner.wait()
        wait_until("it to go", lambda: not namespaces(name), timeout=20)

    def test_interrupted_in_the_middle_of_up(self):
        name = f"deploy{os.getpid()}int"
        making = subprocess.Popen([LAB, "up", name, "--nodes", "50", "--owner", str(os.getpid())])
        wait_until("some of it", lambda: len(namespaces(name)) > 5)
        making.terminate()
        self.assertNotEqual(making.wait(timeout=20), 0)
        self.assertEqual(namespaces(name), [])
