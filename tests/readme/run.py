#!/usr/bin/env python3
"""Pastes README.md and the pages of docs/, as a reader would: block after block, each page into a shell of its own.

    tests/readme/run.py [--bin target/debug] [--page NAME] [--only WORD]

The pages are README.md and those of docs/SUMMARY.md, in that order. Every shell block of a page stands behind a mark,
and so does the output of the block before it:

    <!-- tried: NAME -->     run here, in the top folder of the repository, by the same bash as the rest of the page
    <!-- not tried: WHY -->  left out: it needs more than this machine has
    <!-- shows -->           the standard output of the block before: its shape is compared

No two blocks that are run may listen on the same port, so that a block that is pasted alone, or twice, meets nothing of
another. A block fails when a command fails, when it takes longer than ten minutes, or when it prints another shape. It
also fails when it leaves a process or a variable `LON_...` behind, or ends a job that the reader's shell had before.
The rest of its page is not run then. In a shape, numbers with their units, hexadecimal words and absolute paths stand
for any others; a line `...` stands for any lines, and `...` in a line for any text.

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
# A page of the table of contents.
ENTRY = re.compile(r"\]\(([^)#]+\.md)\)")
FENCE = re.compile(r"(?ms)(?:^<!-- (?P<mark>[^\n]*) -->\n+)?^```(?P<language>\w*)\n(?P<text>.*?)^```$")
LIMIT_S = 600
# Begins a line that no program prints.
SIGN = "\x1e"
# A job that the reader's shell has before the first block. It begins before the trap, which it would take along.
BEFORE = f"sleep 1000000 & readers_job=$!\ntrap 'printf \"\\n{SIGN}%s\\n\" \"exit code $?\"' EXIT\n"
# Processes and variables that a block left behind. `jobs` knows the shell's jobs only in a substitution of its own, and
# LON_BUILT is this program's.
LEFT = [
    "jobs -rp | grep -vx $readers_job | sed 's/^/still running: /'",
    "compgen -v LON_ | grep -vx LON_BUILT | sed 's/^/still set: /'",
    "kill -0 $readers_job 2>/dev/null || echo \"the reader's job was ended\"",
]
AFTER = f"printf '\\n{SIGN}%s\\n' \"$(echo {' '.join(f'$({command})' for command in LEFT)})\"\n"
# A port that a command of a block listens on.
LISTENS = r"(?:-listen \S*:|--port |address = \"\S*:)(\d+)"
# Files beside the programs.
TARGET = re.compile(r"(?<![\w./-])(?:\$PWD/)?target/")
UNITS = r"(?:ns|µs|us|ms|s|min|[kMGT]?(?:B|bit)(?:/s)?)\b"
MASKS = [
    re.compile(r"(?<!\S)/\S+"),
    re.compile(r"\b(?=[a-f]*[0-9])[0-9a-f]{8,}\b"),
    re.compile(rf"\d+(?:[.,:]\d+)*(?: ?{UNITS})?"),
]


@dataclass
class Block:
    """A shell block that is tried: its page, its mark, its commands, and their output, where the page shows it."""

    page: str
    name: str
    script: str
    shown: str = ""


def pages():
    """README.md and the pages of docs/, by their paths in the repository."""
    contents = (REPOSITORY / "docs/SUMMARY.md").read_text(encoding="utf-8")
    return ["README.md", *(f"docs/{path}" for path in ENTRY.findall(contents) if not path.startswith("../"))]


def blocks(page):
    """The blocks of a page that are tried, in order, and how many are not."""
    text = (REPOSITORY / page).read_text(encoding="utf-8")
    tried, left_out, before = [], 0, None
    fences = list(FENCE.finditer(text))
    for fence in fences:
        mark, body = fence["mark"] or "", fence["text"]
        kind, _, name = mark.partition(": ")
        block = None
        if kind == "tried" and fence["language"] == "sh":
            block = Block(page, name, body)
            tried.append(block)
        elif kind == "not tried" and fence["language"] == "sh":
            left_out += 1
        elif kind == "shows" and before:
            before.shown = body
        elif mark or fence["language"] == "sh":
            sys.exit(f"{page}: {repr(mark) if mark else 'no mark'} before this block:\n{body}")
        before = block
    if text.count("```sh\n") != len(tried) + left_out:
        sys.exit(f"{page}: a shell block that is indented")
    if text.count("<!-- ") != sum(fence["mark"] is not None for fence in fences):
        sys.exit(f"{page}: a mark without a block directly behind it")
    return tried, left_out


def ports(tried):
    """Ends the program where two blocks listen on the same port, or have the same name."""
    users = {}
    for block in tried:
        for port in set(re.findall(LISTENS, block.script)):
            users.setdefault(f"listen on port {port}", []).append(block)
        users.setdefault(f"are called '{block.name}'", []).append(block)
    for both, of in users.items():
        if len(of) > 1:
            sys.exit(f"these blocks {both}: {'; '.join(f'{block.page}: {block.name}' for block in of)}")


def shape(text):
    """The text without what differs from run to run."""
    for mask in MASKS:
        text = mask.sub("#", text)
    return "".join(" ".join(line.split()) + "\n" for line in text.strip().splitlines())


def fits(shown, printed):
    """True where the printed text has the shape of the shown one."""
    lines = [re.escape(line).replace(r"\.\.\.", ".*") + "\n" for line in shape(shown).splitlines()]
    pattern = "".join(r"(?:.*\n)*" if line == ".*\n" else line for line in lines)
    return re.fullmatch(pattern, shape(printed)) is not None


def target_folder():
    """The folder of what cargo and the blocks make; it is there afterwards, as it is for a reader who has built."""
    folder = REPOSITORY / (os.environ.get("CARGO_TARGET_DIR") or "target")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def output(shell):
    """The text that the shell prints until the next sign, shown here as well, and the words of the sign."""
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
        return said
    if block.shown and not fits(block.shown, printed):
        return f"another shape than this, which {block.page} shows:\n{block.shown}-- was printed:\n{printed.strip()}"
    return ""


def without_ours(variables):
    """The variables that no flag of the programs takes a value from."""
    return {name: value for name, value in variables.items() if not name.startswith("LON_")}


def paste(tried, binaries):
    """Runs the blocks of a page in one shell until one fails; how many did not."""
    script = BEFORE + "".join(block.script + AFTER for block in tried)
    script = script.replace("cargo run --release --", f"{binaries}/loadgen-node").replace("target/release", binaries)
    script = TARGET.sub(f"{target_folder()}/", script)
    shell = subprocess.Popen(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=REPOSITORY,
        # The wheel takes what is built.
        env={**without_ours(os.environ), "LON_BUILT": str(REPOSITORY / binaries)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        encoding="utf-8",
        start_new_session=True,
    )
    try:
        for done, block in enumerate(tried):
            print(f"\n-- {block.page}: {block.name}\n{block.script}", flush=True)
            began = time.monotonic()
            wrong = failure(shell, block)
            took = f"after {time.monotonic() - began:.0f} s"
            print(f"-- {block.name}: FAILED {took}: {wrong}" if wrong else f"-- {block.name}: done {took}", flush=True)
            if wrong:
                return done
        return len(tried)
    finally:
        end(shell)
        shell.stdout.close()


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
    """The alarm."""
    raise TimeoutError


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", default="target/debug", help="folder of the programs")
    parser.add_argument("--page", default="", help="pages whose path has this word")
    parser.add_argument("--only", default="", help="blocks whose mark has this word")
    given = parser.parse_args()
    for name in ["loadgen-node", "sut-node", "liblon_qdl.so"]:
        if not (REPOSITORY / given.bin / name).is_file():
            sys.exit(f"{given.bin}/{name} is missing: cargo build --workspace")
    read = {page: blocks(page) for page in pages()}
    ports([block for tried, _ in read.values() for block in tried])
    chosen = {
        page: [block for block in tried if given.only in block.name]
        for page, (tried, _) in read.items()
        if given.page in page
    }
    if not any(chosen.values()):
        sys.exit("no block of the pages is marked so")
    signal.signal(signal.SIGALRM, too_late)
    passed, failed = 0, []
    for page, tried in chosen.items():
        done = paste(tried, given.bin) if tried else 0
        passed += done
        failed += [f"{page}: {block.name}" for block in tried[done : done + 1]]
    left_out = sum(read[page][1] for page in chosen)
    print(f"\n{passed} of {sum(map(len, chosen.values()))} blocks passed; {left_out} more are not tried")
    for name in failed:
        print(f"FAILED {name}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
