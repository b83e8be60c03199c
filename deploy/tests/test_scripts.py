"""image.sh and cluster.sh with stand-ins for Docker, compose, cargo and debootstrap: what they call, and what they say."""

import os
import shutil
import tempfile
import unittest
from pathlib import Path

from cluster import DEPLOY, REPOSITORY, environment, run

# A stand-in notes how it was called, and then does this.
STAND_IN = """#!/bin/sh
echo "$(basename "$0") $*" >>"$CALLS"
{does}
"""
# Every call succeeds.
DOCKER = """case "$1" in images) echo "lon:latest 1 MB" ;; esac"""
# No image is at hand, and no registry answers.
NO_BASE = """case "$1 $2" in "image inspect" | "pull "*) exit 1 ;; esac"""
# Makes what cargo would have built.
CARGO = """cd "$(mkdir -p "$CARGO_TARGET_DIR/release" && echo "$CARGO_TARGET_DIR/release")"
cp /bin/true loadgen-node && cp /bin/true sut-node
"""


class Bench:
    """A folder with stand-ins that come before the machine's own programs."""

    def __init__(self, **stand_ins):
        self.path = Path(tempfile.mkdtemp(prefix="lon-scripts-"))
        self.bin = self.path / "bin"
        self.bin.mkdir()
        for name, does in stand_ins.items():
            self.stand_in(name.replace("_", "-"), does)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.path)

    def stand_in(self, name, does):
        (self.bin / name).write_text(STAND_IN.format(does=does))
        (self.bin / name).chmod(0o755)

    def calls(self):
        path = self.path / "calls"
        return path.read_text().splitlines() if path.exists() else []

    def run(self, *command, path=None, **variables):
        """Runs a script, and returns its output and its exit code."""
        at = f"{self.bin}:{path or os.environ['PATH']}"
        variables = environment(PATH=at, CALLS=str(self.path / "calls"), **variables)
        # The tree of the bench is built in its own target folder, also where the checks name another.
        variables.pop("CARGO_TARGET_DIR", None)
        return run("bash", *command, check=False, env=variables)

    def tree(self):
        """Makes a folder with the files of the repository that image.sh takes."""
        top = self.path / "top"
        shutil.copytree(DEPLOY, top / "deploy", ignore=shutil.ignore_patterns("results", "tests", ".env"))
        shutil.copy(REPOSITORY / "Cargo.toml", top)
        model = "loadgen-node/qsl/digits/digits.onnx"
        (top / model).parent.mkdir(parents=True)
        shutil.copy(REPOSITORY / model, top / model)
        return top


class Image(unittest.TestCase):
    def test_programs_that_are_built_are_taken_as_they_are(self):
        with Bench(docker=DOCKER, cargo="exit 9") as bench:
            top = bench.tree()
            release = top / "target/release"
            release.mkdir(parents=True)
            for name in ["loadgen-node", "sut-node"]:
                shutil.copy("/bin/true", release / name)
            before = {path: path.read_bytes() for path in release.iterdir()}
            done = bench.run(top / "deploy/image.sh")
            self.assertEqual(done.returncode, 0, done.stdout)
            self.assertIn("2/4 programs: those of", done.stdout)
            self.assertFalse([call for call in bench.calls() if call.startswith("cargo")], bench.calls())
            self.assertEqual({path: path.read_bytes() for path in release.iterdir()}, before)

    def test_what_is_missing_is_built_in_a_folder_of_its_own(self):
        for arguments, there in [([], False), (["--build"], True)]:
            with self.subTest(there=there), Bench(docker=DOCKER, cargo=CARGO) as bench:
                top = bench.tree()
                if there:
                    (top / "target/release").mkdir(parents=True)
                    for name in ["loadgen-node", "sut-node"]:
                        shutil.copy("/bin/false", top / "target/release" / name)
                done = bench.run(top / "deploy/image.sh", *arguments)
                self.assertEqual(done.returncode, 0, done.stdout)
                self.assertTrue((top / "target/image/release/sut-node").exists(), bench.calls())
                if there:
                    same = (top / "target/release/sut-node").read_bytes() == Path("/bin/false").read_bytes()
                    self.assertTrue(same, "target/release is the reader's own")
                else:
                    self.assertFalse((top / "target/release").exists())
                for step in ["2/4 programs", "4/4 images"]:
                    self.assertIn(step, done.stdout)

    def test_debootstrap_is_looked_for_before_anything_is_built(self):
        with Bench(docker=NO_BASE, cargo=CARGO) as bench:
            # Without this machine's own debootstrap, which may be there.
            tools = bench.path / "tools"
            tools.mkdir()
            for name in ["bash", "sh", "dirname", "basename", "git", "date"]:
                (tools / name).symlink_to(shutil.which(name))
            done = bench.run(bench.tree() / "deploy/image.sh", path=tools)
            self.assertEqual(done.returncode, 2, done.stdout)
            self.assertIn("apt-get install debootstrap", done.stdout)
            self.assertFalse([call for call in bench.calls() if call.startswith("cargo")], bench.calls())

    def test_without_an_engine_nothing_is_begun(self):
        with Bench(docker="exit 1", cargo=CARGO) as bench:
            done = bench.run(bench.tree() / "deploy/image.sh")
            self.assertEqual((done.returncode, bench.calls()), (2, ["docker version"]), done.stdout)
            self.assertIn("no Docker engine answers", done.stdout)

    def test_arguments_are_checked(self):
        for arguments, said in [(["--tag"], "--tag needs a value"), (["--nothing", "x"], "unknown argument --nothing")]:
            with Bench(docker="") as bench:
                done = bench.run(DEPLOY / "image.sh", *arguments)
                self.assertEqual((done.returncode, bench.calls()), (2, []), done.stdout)
                self.assertIn(said, done.stdout)


# A cluster whose nodes have ended: the first with an error, the second told to.
ENDED = """case "$*" in
  "compose version") {version} ;;
  *" up"*) exit 1 ;;
  *" ps "*) echo first; echo second ;;
  inspect*first) echo "exited 2 - sut /deploy-sut-1" ;;
  inspect*second) echo "exited 0 - sut /deploy-sut-2" ;;
  logs*) echo "sut-node: cannot read /models/typo.onnx" ;;
esac"""


class ClusterScript(unittest.TestCase):
    def test_either_tool_is_taken(self):
        both = {"docker": "", "docker_compose": ""}
        for stand_ins, called in [
            (both, "docker compose --file"),
            ({**both, "docker": "exit 1"}, "docker-compose --file"),
        ]:
            with Bench(**stand_ins) as bench:
                done = bench.run(DEPLOY / "cluster.sh", "config", "--quiet")
                self.assertEqual(done.returncode, 0, done.stdout)
                self.assertEqual(bench.calls()[-1], f"{called} {DEPLOY}/compose.yaml config --quiet")

    def test_a_node_that_fails_is_shown_with_its_own_error(self):
        with Bench(docker=ENDED.format(version="")) as bench:
            done = bench.run(DEPLOY / "cluster.sh", "up", "--scale", "sut=2")
            self.assertEqual(done.returncode, 1, done.stdout)
            self.assertIn("node deploy-sut-1 ended with exit code 2; its last lines:", done.stdout)
            self.assertIn("  sut-node: cannot read /models/typo.onnx", done.stdout)
            self.assertNotIn("deploy-sut-2", done.stdout)

    def test_exit_codes_are_those_of_the_tool(self):
        with Bench(docker="""case "$*" in *" down"*) exit 7 ;; esac""") as bench:
            done = bench.run(DEPLOY / "cluster.sh", "down")
            self.assertEqual((done.returncode, done.stdout), (7, ""))
            self.assertFalse([call for call in bench.calls() if " ps " in call])


if __name__ == "__main__":
    unittest.main()
