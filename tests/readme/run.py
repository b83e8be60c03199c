#!/usr/bin/env python3
"""Runs what README.md says can be run: every shell block behind a line `<!-- tried: WHAT -->`, in order.

    tests/readme/run.py [--bin target/debug] [--only WORD]

Each block is one script of bash, stopped at its first error, in the top folder of the repository; what it leaves in
the background is ended with it. `target/release` becomes the folder given with --bin. Exit code 0: every block ended
with 0.
"""

import argparse
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent.parent
BLOCK = re.compile(r"<!-- tried: (?P<what>.+?) -->\n+```sh\n(?P<script>.*?)```", re.DOTALL)
LIMIT_S = 600


def blocks(readme):
    """What each block is for, and its script."""
    found = [(match["what"], match["script"]) for match in BLOCK.finditer(readme)]
    marks = readme.count("<!-- tried:")
    if len(found) != marks:
        sys.exit(f"README.md has {marks} marks and {len(found)} shell blocks directly behind them")
    return found


def run(what, script, binaries):
    """Runs a block to its end; true when that is 0."""
    print(f"\n-- {what}\n{script}", end="", flush=True)
    script = script.replace("target/release", binaries)
    began = time.monotonic()
    process = subprocess.Popen(["bash", "-euo", "pipefail", "-c", script], cwd=REPOSITORY, start_new_session=True)
    try:
        code = process.wait(timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        code = f"nothing after {LIMIT_S} s"
    finally:
        end(process.pid)
    print(f"-- {what}: exit code {code} after {time.monotonic() - began:.0f} s", flush=True)
    return code == 0


def end(group):
    """Ends what a block left behind: kindly, then not."""
    for kind, patience_s in [(signal.SIGTERM, 5), (signal.SIGKILL, 5)]:
        try:
            os.killpg(group, kind)
            deadline = time.monotonic() + patience_s
            while time.monotonic() < deadline:
                os.killpg(group, 0)
                time.sleep(0.05)
        except ProcessLookupError:
            return


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", default="target/debug", help="folder of the programs")
    parser.add_argument("--only", default="", help="blocks whose mark has this word")
    given = parser.parse_args()
    chosen = [block for block in blocks((REPOSITORY / "README.md").read_text()) if given.only in block[0]]
    if not chosen:
        sys.exit("no block of README.md is marked so")
    failed = [what for what, script in chosen if not run(what, script, given.bin)]
    print(f"\n{len(chosen) - len(failed)} passed, {len(failed)} failed{': ' if failed else ''}{', '.join(failed)}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
