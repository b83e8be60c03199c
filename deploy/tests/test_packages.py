"""The packages: made of the programs that were tested, installed where nothing was built, and used there."""

import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
import unittest
import uuid
from pathlib import Path

from cluster import BINARIES, DEPLOY, REPOSITORY, environment, needs_engine, run

CAPI = REPOSITORY / "qdl/capi"
# The image that deploy/base.sh makes: a small Debian, and nothing of ours.
CLEAN = "lon-debian:bookworm"
# Commands that end with a run of both programs, as they were installed.
# On a machine that others use, a demo can be too late for its own limits: then it has a second try.
TRIED = "loadgen-node --version && sut-node --version && (loadgen-node demo --out /d || loadgen-node demo --out /e)"


class Packages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp(prefix="lon-packages-"))
        cls.out = cls.folder / "out"
        run(DEPLOY / "packages.sh", BINARIES, cls.out, timeout=600)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def one(self, pattern):
        """The one file of the packages with such a name."""
        [found] = self.out.glob(pattern)
        return found

    def venv(self):
        """An environment with the wheel and nothing else."""
        venv = self.folder / "venv"
        if not venv.exists():
            run(sys.executable, "-m", "venv", venv)
            run(venv / "bin/pip", "install", "--quiet", "--no-index", self.one("*.whl"), timeout=300)
        return venv

    def test_the_wheel_gives_both_programs(self):
        venv = self.venv()
        told = run(venv / "bin/sut-node", "--version").stdout
        self.assertIn("features: onnx", told)
        # The main job, with what was installed and nothing else.
        demo = run(venv / "bin/loadgen-node", "demo", "--out", self.folder / "demo", env=environment(), timeout=300)
        self.assertIn("Network SUT: demo-sut-1, demo-sut-2", demo.stdout)

    def test_the_wheel_gives_the_library_and_its_headers(self):
        python = self.venv() / "bin/python"
        said = run(python, "-m", "loadgen_network", "files", env=environment()).stdout
        files = dict(re.split(r"  +", line, maxsplit=1) for line in said.splitlines())
        for header, source in [("header", "include/lon_qdl.h"), ("C++ header", "cpp/lon_qdl.hpp")]:
            self.assertEqual(Path(files[header]).read_text(), (CAPI / source).read_text())
        library = Path(files["library"])
        self.assertTrue(library.is_relative_to(self.folder))
        self.assertLess(library.stat().st_size, (BINARIES / library.name).stat().st_size)
        # A dataset is opened and read, with what was installed and nothing else.
        script = """
            import loadgen_network
            qsl = loadgen_network.Qsl.open({"benchmark": "digits"})
            qsl.load([0, 449])
            print(loadgen_network.version(), qsl.total_count, len(qsl.encoded(449)) >= 64)
            qsl.close()
        """
        said = run(python, "-c", textwrap.dedent(script), env=environment()).stdout.split()
        version = re.search(r"lon_network_loadgen-(.*?)-", self.one("*.whl").name)[1]
        self.assertEqual(said, [version, "450", "True"])

    def test_a_test_without_the_official_loadgen_says_what_to_install(self):
        words = ["--sut", "127.0.0.1:1", "--benchmark", "digits", "--scenario", "Server"]
        done = run(self.venv() / "bin/python", "-m", "loadgen_network", "run", *words, check=False, env=environment())
        self.assertEqual(done.returncode, 2)
        self.assertIn("pip install mlcommons-loadgen", done.stdout)

    def test_programs_are_stripped_and_their_lines_are_kept_apart(self):
        venv = self.folder / "small"
        run("dpkg-deb", "--extract", self.one("*.deb"), venv)
        for program in ["loadgen-node", "sut-node"]:
            self.assertLess((venv / "usr/bin" / program).stat().st_size, (BINARIES / program).stat().st_size)
            self.assertTrue(self.one(f"{program}.debug").stat().st_size > 1e6)
            self.assertTrue((venv / f"usr/share/man/man1/{program}.1.gz").exists())
            self.assertIn(program, (venv / f"usr/share/bash-completion/completions/{program}").read_text())

    def test_the_deb_asks_for_the_c_library_that_the_programs_need(self):
        depends = run("dpkg-deb", "--field", self.one("*.deb"), "Depends").stdout
        for program in ["loadgen-node", "sut-node"]:
            symbols = re.findall(r"GLIBC_([0-9.]+)", run("objdump", "-T", BINARIES / program).stdout)
            newest = max(symbols, key=lambda version: [int(part) for part in version.split(".")])
            asked = re.search(r"libc6 \(>= ([0-9.]+)\)", depends)[1]
            self.assertGreaterEqual([int(part) for part in asked.split(".")], [int(part) for part in newest.split(".")])

    @needs_engine
    def test_the_deb_installs_into_a_clean_system(self):
        told = self.in_a_clean_system(CLEAN, f"dpkg -i /packages/*.deb && {TRIED}")
        self.assertIn("Network SUT: demo-sut-1, demo-sut-2", told)

    @needs_engine
    def test_the_wheel_installs_into_a_clean_system(self):
        # The small Debian with its own Python, and nothing else.
        name = f"lon-python-{uuid.uuid4().hex[:8]}"
        install = "apt-get update -qq && apt-get install -qq --yes --no-install-recommends python3-venv"
        self.addCleanup(run, "docker", "rm", "--force", name, check=False)
        run("docker", "run", "--name", name, "--network", "host", CLEAN, "sh", "-ec", install, timeout=300)
        image = run("docker", "commit", name, name).stdout.strip()
        self.addCleanup(run, "docker", "image", "rm", "--force", image, check=False)
        # Neither index nor network: all that it needs is in the wheel.
        pip = "python3 -m venv /venv && /venv/bin/pip install --no-index /packages/*.whl"
        told = self.in_a_clean_system(image, f"{pip} && PATH=/venv/bin:$PATH && {TRIED}")
        self.assertIn("Network SUT: demo-sut-1, demo-sut-2", told)

    def in_a_clean_system(self, image, script):
        """Returns the output of the script in a new container of the image, which has the packages and no network."""
        mount = f"{self.out}:/packages:ro"
        command = ["docker", "run", "--rm", "--network", "none", "--volume", mount, image, "sh", "-ec", script]
        return run(*command, timeout=300, stderr=subprocess.STDOUT).stdout


if __name__ == "__main__":
    unittest.main()
