#!/usr/bin/env python3
"""Compares our scores with those of the packages that the official accuracy scripts call, on random answers.

    scorers_diff.py --score PATH [--cases N] [--seed N]

PATH is the example `score` of the package lon-qsl. Each case becomes a benchmark file, a dataset with its right answers
in files, and an accuracy log. What differs by more than 1e-9 is printed; the last line is `N scores the same, N
differ`, and the exit code is 0 only when none differs.
"""

import argparse
import json
import pathlib
import random
import subprocess
import tempfile

import numpy as np

import scorers_cases

LIMIT = 1e-9
BENCHMARK = """name = "benchmark"
about = "random answers"
[dataset]
kind = "{kind}"
example = "synthetic:u8[1]x1"
[accuracy]
metric = "{metric}"
parts = {parts}
categories = "{categories}"
target = 0.0
"""


def write(folder, case):
    """Writes a case in the form in which users have their data."""
    (folder / "data").mkdir(parents=True)
    kind = "prompts" if case.lines else "tensors"
    (folder / "benchmark.toml").write_text(BENCHMARK.format(
        kind=kind, metric=case.metric, parts=json.dumps(case.scored), categories=case.categories))
    if case.lines:
        lines = [{"prompt": "x", "answers": right} for right in case.truths]
        lines = [line | {"part": part} for line, part in zip(lines, case.parts)] or lines
        lines = map(json.dumps, lines)
        (folder / "data.jsonl").write_text("\n".join(lines) + "\n")
    else:
        # One file of all samples would do; a file each is what a folder is.
        for index in range(len(case.answers)):
            np.save(folder / "data" / f"{index:06}.npy", np.zeros(1, np.uint8))
    for name, content in case.files.items():
        path = folder / name if case.lines else folder / "data" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    if case.outputs:
        (folder / "outputs.txt").write_text(case.outputs)
    entries = [{"seq_id": index, "qsl_idx": index, "data": answer.hex()} for index, answer in enumerate(case.answers)]
    random.shuffle(entries)
    (folder / "mlperf_log_accuracy.json").write_text(json.dumps(entries))


def compare(case, printed):
    """Returns whether a printed score is the right one, and says so when it is not."""
    is_error = printed.startswith("error")
    if case.expected is None:
        is_same = printed == "error the annotations have no box that counts"
    else:
        is_same = not is_error and abs(float(printed) - case.expected) <= LIMIT
    if not is_same:
        print(f"{case.metric} ({case.about}): ours {printed}, theirs {case.expected!r}")
    return is_same


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--score", required=True, type=pathlib.Path)
    parser.add_argument("--cases", type=int, default=5, help="cases of each kind")
    parser.add_argument("--seed", type=int, default=random.randrange(2**31))
    args = parser.parse_args()
    print(f"seed {args.seed}")
    random.seed(args.seed)
    np.random.seed(args.seed)
    cases = [case for _ in range(args.cases) for case in scorers_cases.all_of()]
    with tempfile.TemporaryDirectory() as root:
        folders = [pathlib.Path(root) / str(number) for number in range(len(cases))]
        for folder, case in zip(folders, cases):
            write(folder, case)
        run = subprocess.run([args.score, *folders], stdout=subprocess.PIPE, text=True, check=True)
    printed = run.stdout.splitlines()
    assert len(printed) == len(cases), run.stdout
    same = sum(compare(case, line) for case, line in zip(cases, printed))
    print(f"{same} scores the same, {len(cases) - same} differ")
    raise SystemExit(0 if same == len(cases) else 1)


if __name__ == "__main__":
    main()
