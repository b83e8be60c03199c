#!/usr/bin/env python3
"""Pastes README.md into one shell, as a reader would: block after block, until one fails.

    tests/readme/run.py [--bin target/debug] [--only WORD]

Every shell block of README.md stands behind a mark, and so does what the one before it prints:

    <!-- tried: WHAT -->     run here, in the top folder of the repository, by the same bash as all others
    <!-- not tried: WHY -->  left out: it needs more than this machine has
    <!-- shows -->           the standard output of the block before: what is compared is its shape

No two blocks that are run may listen on the same port, so that one that is pasted alone, or twice, meets nothing of
another. A block fails when a command fails, when it takes longer than ten minutes, when it leaves something in the
background, or when it prints another shape. In a shape, numbers with their units, hexadecimal words and absolute paths
stand for any others; a line `...` stands for any lines, and `...` in a line for any text.

With --bin the programs of another folder are used in place of `target/release` and of `cargo run --release --`. Where
CARGO_TARGET_DIR is set, that folder is used in place of `target` and `$PWD/target`.
Exit code 0: no block failed.
"""

import argparse
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent.parent
FENCE = re.compile(r"(?ms)(?:^<!-- (?P<mark>[^\n]*) -->\n+)?^```(?P<language>\w*)\n(?P<text>.*?)^```$")
LIMIT_S = 600
# Begins a line that no program prints.
SIGN = "\x1e"
ATEXIT = f"trap 'printf \"\\n{SIGN}%s\\n\" \"exit code $?\"' EXIT\n"
AFTER = f"printf '\\n{SIGN}%s\\n' \"$(jobs -rp | xargs)\"\n"
# A port that a command of a block listens on.
LISTENS = r"(?:-listen \S*:|--port |address = \"\S*:)(\d+)"
# What is written beside the programs.
TARGET = re.compile(r"(?<![\w./-])(?:\$PWD/)?target/")
UNITS = r"(?:ns|µs|us|ms|s|min|[kMGT]?(?:B|bit)(?:/s)?)\b"
MASKS = [
    re.compile(r"(?<!\S)/\S+"),
    re.compile(r"\b(?=[a-f]*[0-9])[0-9a-f]{8,}\b"),
    re.compile(rf"\d+(?:[.,:]\d+)*(?: ?{UNITS})?"),
]


@dataclass
class Block:
    """A shell block that is tried: what for, its commands, and what it prints, where README.md shows it."""

    what: str
    script: str
    shown: str = ""


def blocks(readme):
    """The blocks that are tried, in order, and how many are not."""
    tried, left_out, before = [], 0, None
    fences = list(FENCE.finditer(readme))
    for fence in fences:
        mark, text = fence["mark"] or "", fence["text"]
        kind, _, what = mark.partition(": ")
        block = None
        if kind == "tried" and fence["language"] == "sh":
            block = Block(what, text)
            tried.append(block)
        elif kind == "not tried" and fence["language"] == "sh":
            left_out += 1
        elif kind == "shows" and before:
            before.shown = text
        elif mark or fence["language"] == "sh":
            sys.exit(f"README.md: {repr(mark) if mark else 'no mark'} before this block:\n{text}")
        before = block
    if readme.count("```sh\n") != len(tried) + left_out:
        sys.exit("README.md: a shell block that is indented")
    if readme.count("<!-- ") != sum(fence["mark"] is not None for fence in fences):
        sys.exit("README.md: a mark without a block directly behind it")
    return tried, left_out


def ports(tried):
    """Ends the program where two blocks listen on the same port."""
    users = {}
    for block in tried:
        for port in set(re.findall(LISTENS, block.script)):
            users.setdefault(port, []).append(block.what)
    for port, whats in users.items():
        if len(whats) > 1:
            sys.exit(f"README.md: these blocks listen on the same port {port}: {'; '.join(whats)}")


def shape(text):
    """The text without what differs from run to run."""
    for mask in MASKS:
        text = mask.sub("#", text)
    return "".join(" ".join(line.split()) + "\n" for line in text.strip().splitlines())


def fits(shown, printed):
    """Whether what was printed has the shape that is shown."""
    lines = [re.escape(line).replace(r"\.\.\.", ".*") + "\n" for line in shape(shown).splitlines()]
    pattern = "".join(r"(?:.*\n)*" if line == ".*\n" else line for line in lines)
    return re.fullmatch(pattern, shape(printed)) is not None


def target_folder():
    """The folder of what cargo and the blocks make; it is there afterwards, as it is for a reader who has built."""
    folder = REPOSITORY / (os.environ.get("CARGO_TARGET_DIR") or "target")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def output(shell):
    """What the shell prints until the next sign, shown here as well, and what comes with the sign."""
    printed = ""
    for line in shell.stdout:
        if line.startswith(SIGN):
            return printed, line.removeprefix(SIGN).strip()
        print(line, end="", flush=True)
        printed += line
    return printed, "exit code unknown"


def failure(shell, block):
    """Waits for the end of a block; what is wrong with it, empty when nothing is."""
    signal.alarm(LIMIT_S)
    try:
        printed, said = output(shell)
    except TimeoutError:
        return f"not done after {LIMIT_S} s"
    finally:
        signal.alarm(0)
    if said.startswith("exit code"):
        return said
    if said:
        return f"still running in the background: {said}"
    if block.shown and not fits(block.shown, printed):
        return f"another shape than this, which README.md shows:\n{block.shown}-- was printed:\n{printed.strip()}"
    return ""


def paste(tried, binaries):
    """Runs the blocks in one shell until one fails; how many did not."""
    script = ATEXIT + "".join(block.script + AFTER for block in tried)
    script = script.replace("cargo run --release --", f"{binaries}/loadgen-node").replace("target/release", binaries)
    script = TARGET.sub(f"{target_folder()}/", script)
    shell = subprocess.Popen(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=REPOSITORY,
        # The wheel takes what is built.
        env={**os.environ, "LON_BUILT": str(REPOSITORY / binaries)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        encoding="utf-8",
        start_new_session=True,
    )
    try:
        for done, block in enumerate(tried):
            print(f"\n-- {block.what}\n{block.script}", flush=True)
            began = time.monotonic()
            wrong = failure(shell, block)
            took = f"after {time.monotonic() - began:.0f} s"
            print(f"-- {block.what}: FAILED {took}: {wrong}" if wrong else f"-- {block.what}: done {took}", flush=True)
            if wrong:
                return done
        return len(tried)
    finally:
        end(shell)


def end(shell):
    """Ends the shell and what it left behind: kindly, then not."""
    for kind in [signal.SIGTERM, signal.SIGKILL]:
        try:
            os.killpg(shell.pid, kind)
            deadline = time.monotonic() + 5
            while time.monotonic() < deadline:
                shell.poll()
                os.killpg(shell.pid, 0)
                time.sleep(0.05)
        except ProcessLookupError:
            return


def too_late(*_):
    """What the alarm does."""
    raise TimeoutError


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", default="target/debug", help="folder of the programs")
    parser.add_argument("--only", default="", help="blocks whose mark has this word")
    given = parser.parse_args()
    tried, left_out = blocks((REPOSITORY / "README.md").read_text(encoding="utf-8"))
    for name in ["loadgen-node", "sut-node", "liblon_qdl.so"]:
        if not (REPOSITORY / given.bin / name).is_file():
            sys.exit(f"{given.bin}/{name} is missing: cargo build --workspace")
    ports(tried)
    chosen = [block for block in tried if given.only in block.what]
    if not chosen:
        sys.exit("no block of README.md is marked so")
    signal.signal(signal.SIGALRM, too_late)
    passed = paste(chosen, given.bin)
    failed = f"; failed: {chosen[passed].what}" if passed < len(chosen) else ""
    print(f"\n{passed} of {len(chosen)} blocks passed{failed}; {left_out} more are not tried")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
