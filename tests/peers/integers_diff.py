#!/usr/bin/env python3
"""Compares the traffic of official wheels with `loadgen-node trace`, by the rule for integers that each was built with.

    integers_diff.py --loadgen-node PATH --venvs FOLDER

Each release gets an environment of its own in FOLDER. What differs is printed; the last line is
`N cases the same, N differ`.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

from rounds_diff import python_of

# Release, the round whose other rules it follows, and its rule for integers: the compiler's library has it.
RELEASES = [
    ("5.0.11", "v5.0", "division"),
    ("5.0.18", "v5.0", "division"),
    ("5.0.21", "v5.0", "product"),
    ("5.0.25", "v5.1", "product"),
    ("5.1.1", "v5.1", "product"),
    ("6.0.5", "v5.1", "product"),
    ("6.0.17", "v6.1", "product"),
]
SEEDS = {"qsl_rng_seed": 6023615788873153749, "sample_index_rng_seed": 15036839855038426416,
         "schedule_rng_seed": 9933818062894767841, "min_duration_ms": 0}
SERVER = {"scenario": "Server", "server_target_qps": 4000.0, "min_query_count": 1000, **SEEDS}
# Small lists are shuffled two places a draw, those of 65,536 and more one place a draw.
CASES = [
    {"qsl": {"total": 50_000, "performance": 1_024}, "settings": SERVER},
    {"qsl": {"total": 70_000, "performance": 66_000}, "settings": SERVER},
    {"qsl": {"total": 5_000, "performance": 2_000},
     "settings": {"scenario": "Offline", "mode": "AccuracyOnly", "min_query_count": 1, **SEEDS}},
    {"qsl": {"total": 6_000, "performance": 5_000},
     "settings": {"scenario": "Offline", "offline_expected_qps": 1.0, "min_query_count": 9_000, **SEEDS}},
]
WORKER = pathlib.Path(__file__).with_name("wheel_worker.py")


def of_wheel(python, scratch):
    """Returns the samples that the wheel loads and asks for in each case, phase by phase."""
    batch = [{**case, "folder": str(scratch / str(number))} for number, case in enumerate(CASES)]
    for case in batch:
        pathlib.Path(case["folder"]).mkdir()
    (scratch / "batch.json").write_text(json.dumps(batch))
    ran = subprocess.run([python, WORKER, scratch / "batch.json"], capture_output=True, text=True)
    if ran.returncode != 0:
        sys.exit(f"{python}: {ran.stderr}")
    return [json.loads((pathlib.Path(case["folder"]) / "calls.json").read_text()) for case in batch]


def of_trace(program, scratch, case, *flags):
    """The same from `trace`."""
    (scratch / "input.json").write_text(json.dumps(case))
    command = [program, "trace", "--settings", scratch / "input.json", *flags]
    phases = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)["phases"]
    return [{key: phase[key] for key in ("loaded_set", "sample_indices")} for phase in phases]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--loadgen-node", type=pathlib.Path, required=True)
    parser.add_argument("--venvs", type=pathlib.Path, required=True)
    args = parser.parse_args()
    program, count, differ = args.loadgen_node.resolve(), 0, 0
    for release, round_name, rule in RELEASES:
        python = python_of(args.venvs, release).absolute()
        other = "product" if rule == "division" else "division"
        with tempfile.TemporaryDirectory(prefix="integers-diff-") as scratch:
            wheel = of_wheel(python, pathlib.Path(scratch))
            for case, theirs in zip(CASES, wheel):
                asked = [of_trace(program, pathlib.Path(scratch), case, "--rules", round_name, "--integers", by)
                         for by in (rule, other)]
                found = (theirs == asked[0], theirs == asked[1])
                count += 1
                if found != (True, False):
                    differ += 1
                    print(f"{release}, {case}: by {rule} the same: {found[0]}, by {other}: {found[1]}")
    print(f"{count - differ} cases the same, {differ} differ")
    sys.exit(1 if differ else 0)


main()
