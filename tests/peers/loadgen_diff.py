#!/usr/bin/env python3
"""Differential test: random settings on the official LoadGen wheel and on `loadgen-node`, and where they disagree.

    loadgen_diff.py --loadgen-node target/debug/loadgen-node [--seed N] [--cases N] [--keep DIR]

What is compared, and what cannot be, is in README.md beside this file.
"""

import argparse
import collections
import concurrent.futures
import importlib.metadata
import itertools
import json
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

from random_cases import draw_case
from wheel_logs import StartNotFound, read_run, report_vector

WHEEL = "mlcommons-loadgen"
WHEEL_VERSION = "6.0.17"
WORKER = pathlib.Path(__file__).with_name("wheel_worker.py")
BATCH_CASES = 10
BATCH_TIMEOUT_S = 60
NODE_TIMEOUT_S = 60
PROGRESS_EVERY_S = 10
# The last lines of a summary count the warnings and errors of the whole run, which no report vector knows; they are
# compared where there were none.
CLEAN_TRAILER = "\nNo warnings encountered during test.\n\nNo errors encountered during test.\n"
TRAILER = re.compile(
    r"\n(No warnings|\d+ warnings?) encountered[^\n]*\n\n(No errors|\d+ ERRORS?) encountered[^\n]*\n\Z")
# Settings whose use is counted in the output.
FEATURES = ["accuracy_log_sampling_target", "max_duration_ms", "max_query_count", "performance_issue_same",
            "performance_issue_unique", "sample_concatenate_permutation", "server_coalesce_queries", "test05",
            "infer_token_latencies", "use_token_latencies"]


class Difference(Exception):
    """The first thing in a case on which the two disagree."""


def main():
    args = parse_args()
    check_wheel()
    print(f"seed {args.seed}, {args.cases} cases, {args.jobs} jobs", flush=True)
    rng = random.Random(args.seed)
    cases = [draw_case(rng) for _ in range(args.cases)]
    tally = Tally(args)
    with tempfile.TemporaryDirectory(prefix="loadgen-diff-") as scratch:
        for number, case in enumerate(cases):
            case["number"] = number
            case["folder"] = str(pathlib.Path(scratch, f"case-{number:04}"))
        with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
            batches = [cases[at:at + BATCH_CASES] for at in range(0, len(cases), BATCH_CASES)]
            for done in [pool.submit(run_batch, batch, args.loadgen_node, tally) for batch in batches]:
                done.result()
    sys.exit(tally.finish())


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--loadgen-node", required=True, metavar="PATH", help="the binary to test")
    parser.add_argument("--cases", type=int, default=300, help="number of random settings [%(default)s]")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32), help="[random, printed]")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time [%(default)s]")
    parser.add_argument("--keep", type=pathlib.Path, metavar="DIR", help="keep inputs and wheel logs of failures here")
    parser.add_argument("--max-crashes", type=int, default=3, help="crashes of the wheel to accept [%(default)s]")
    return parser.parse_args()


def check_wheel():
    try:
        found = importlib.metadata.version(WHEEL)
    except importlib.metadata.PackageNotFoundError:
        found = "not installed"
    if found != WHEEL_VERSION:
        sys.exit(f"{WHEEL} {WHEEL_VERSION} is needed: {found} (pip install -r requirements.txt)")


class Tally:
    """Counts and prints; the only place that does either."""

    def __init__(self, args):
        self.args = args
        self.lock = threading.Lock()
        self.passed, self.failed, self.crashed = 0, 0, 0
        self.covered = collections.Counter()
        self.started = self.shown = time.monotonic()

    def cover(self, *aspects):
        with self.lock:
            self.covered.update(aspects)

    def case_passed(self, case):
        with self.lock:
            self.passed += 1
            shutil.rmtree(case["folder"], ignore_errors=True)
            self._progress()

    def case_failed(self, case, difference):
        with self.lock:
            self.failed += 1
            self._show_bad(f"case {case['number']} FAILED: {difference}", case)

    def case_crashed(self, case, how):
        with self.lock:
            self.crashed += 1
            self._show_bad(f"case {case['number']}: the wheel {how}; nothing to compare with", case)

    def finish(self):
        covered = ", ".join(f"{aspect} {count}" for aspect, count in sorted(self.covered.items()))
        print(f"covered: {covered}")
        print(f"the wheel crashed or hung on {self.crashed} cases (accepted: {self.args.max_crashes}), "
              f"{time.monotonic() - self.started:.0f} s")
        print(f"{self.passed} passed, {self.failed} failed")
        everything_ran = self.passed + self.failed + self.crashed == self.args.cases
        return 0 if self.failed == 0 and everything_ran and self.crashed <= self.args.max_crashes else 1

    def _progress(self):
        if time.monotonic() - self.shown >= PROGRESS_EVERY_S:
            self.shown = time.monotonic()
            done = self.passed + self.failed + self.crashed
            print(f"{done}/{self.args.cases} cases, {self.failed} failed", flush=True)

    def _show_bad(self, line, case):
        print(line)
        print(f"  {json.dumps(input_of(case))}", flush=True)
        folder = pathlib.Path(case["folder"])
        if self.args.keep and folder.exists():
            shutil.copytree(folder, self.args.keep / folder.name, dirs_exist_ok=True)
        shutil.rmtree(folder, ignore_errors=True)


def input_of(case):
    """Returns the input of `loadgen-node trace`."""
    return {"qsl": case["qsl"], "settings": case["settings"]}


def run_batch(batch, node, tally):
    """Runs a batch on the wheel, again from behind a case that it died of, and compares what it finished."""
    while batch:
        how = run_wheel(batch)
        finished = list(itertools.takewhile(lambda case: pathlib.Path(case["folder"], "calls.json").exists(), batch))
        for case in finished:
            check(case, node, tally)
        batch = batch[len(finished):]
        if batch:
            tally.case_crashed(batch[0], how)
            batch = batch[1:]


def run_wheel(batch):
    """Returns how the worker ended."""
    for case in batch:
        folder = pathlib.Path(case["folder"])
        folder.mkdir(exist_ok=True)
        (folder / "input.json").write_text(json.dumps(input_of(case)))
    first = pathlib.Path(batch[0]["folder"])
    (first / "batch.json").write_text(json.dumps(batch))
    with open(first / "worker.txt", "w", encoding="utf-8") as output:
        try:
            ended = subprocess.run([sys.executable, WORKER, first / "batch.json"], stdout=output, stderr=output,
                                   timeout=BATCH_TIMEOUT_S, check=False)
        except subprocess.TimeoutExpired:
            return f"did not end within {BATCH_TIMEOUT_S} s"
    last_words = (first / "worker.txt").read_text().strip().rpartition("\n")[2]
    return f"ended with code {ended.returncode} {last_words}".strip()


def check(case, node, tally):
    settings = case["settings"]
    try:
        run = read_run(pathlib.Path(case["folder"]))
        tally.cover(f"{settings['scenario']}/{settings['mode']}", *(name for name in FEATURES if settings.get(name)))
        compare_traffic(case, run, node, tally)
        if run.result_detail:
            compare_report(case, run, node)
            tally.cover(f"report {dict(run.result_detail)['result_validity'].strip(chr(34))}")
        tally.case_passed(case)
    except (Difference, StartNotFound, ValueError) as difference:
        tally.case_failed(case, difference)


def ask(node, case, command, option, name, value):
    """Returns the answer of a command of loadgen-node to an input file."""
    path = pathlib.Path(case["folder"], name)
    path.write_text(json.dumps(value))
    try:
        ended = subprocess.run([node, command, option, path], capture_output=True, timeout=NODE_TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired as hang:
        raise Difference(f"loadgen-node {command} did not end within {NODE_TIMEOUT_S} s") from hang
    if ended.returncode != 0:
        raise Difference(f"loadgen-node {command}: exit code {ended.returncode}: {ended.stderr.decode().strip()}")
    return json.loads(ended.stdout)


def compare_traffic(case, run, node, tally):
    answer = ask(node, case, "trace", "--settings", "input.json", input_of(case))["phases"]
    expect("number of phases", len(run.phases), len(answer))
    for number, (theirs, ours) in enumerate(zip(run.phases, answer)):
        compare_phase(f"phase {number}", case["settings"], theirs, ours, tally)


def compare_phase(where, settings, theirs, ours, tally):
    expect_lists(f"{where} loaded_set", theirs.loaded_set, ours["loaded_set"])
    for name in ["generated_query_count", "generated_samples_per_query", "generated_query_duration_ns"]:
        expect(f"{where} {name}", getattr(theirs, name), ours[name])
    expect_lists(f"{where} trace file against issue callback", theirs.sample_indices,
                 [sample.index for sample in theirs.samples])
    first = theirs.samples[0].seq
    expect(f"{where} first_sample_seq_id", first, ours["first_sample_seq_id"])
    expect_lists(f"{where} sequence ids", [sample.seq for sample in theirs.samples],
                 range(first, first + len(theirs.samples)))

    is_accuracy = ours["mode"] == "AccuracyOnly"
    queries, samples = ours["issued_query_count"], len(ours["sample_indices"])
    if not is_accuracy and stops_by_the_clock(settings):
        if not settings.get("server_coalesce_queries"):
            expect(f"{where} no more queries than in zero time", True, theirs.query_count() <= queries)
        queries, samples = min(queries, theirs.query_count()), min(samples, len(theirs.samples))
        tally.cover("phases compared up to the end of the shorter one")
    else:
        expect(f"{where} issued_query_count", theirs.query_count(), queries)
    expect_lists(f"{where} sample_indices", theirs.sample_indices[:samples], ours["sample_indices"][:samples])
    if settings["scenario"] == "Server":
        expect_lists(f"{where} schedule_ns", theirs.schedule_ns()[:queries], ours["schedule_ns"][:queries])
    if is_accuracy:
        expect(f"{where} accuracy_log_seq_ids", "all", ours["accuracy_log_seq_ids"])
        expect(f"{where} samples in the accuracy log", len(theirs.samples), len(theirs.accuracy_log_seq_ids))
    else:
        expect_lists(f"{where} accuracy_log_seq_ids", below(theirs.accuracy_log_seq_ids, first + samples),
                     below(ours["accuracy_log_seq_ids"], first + samples))


def stops_by_the_clock(settings):
    """Returns true when the number of issued queries of a performance phase depends on the speed of the machine."""
    if settings["scenario"] in ("SingleStream", "MultiStream"):
        return True
    if settings["scenario"] == "Offline":
        return False
    merges = settings.get("server_coalesce_queries", False)
    return settings.get("max_duration_ms", 0) > 0 or (merges and settings.get("max_query_count", 0) > 0)


def compare_report(case, run, node):
    answer = ask(node, case, "replay", "--report-vector", "vector.json", report_vector(case, run))
    theirs, ours = run.summary, answer["summary"]
    detail_end = None
    if not theirs.endswith(CLEAN_TRAILER):
        theirs, ours = TRAILER.sub("", theirs), TRAILER.sub("", ours)
        detail_end = -1  # the last key is num_errors
    expect_lists("summary", theirs.split("\n"), ours.split("\n"))
    expect_lists("detail", run.result_detail[:detail_end], answer["detail"][:detail_end])


def below(ids, end):
    return [seq for seq in ids if seq < end]


def expect(what, theirs, ours):
    if theirs != ours:
        raise Difference(f"{what}: wheel {theirs!r}, loadgen-node {ours!r}")


def expect_lists(what, theirs, ours):
    for at, (one, other) in enumerate(zip(theirs, ours)):
        if one != other:
            raise Difference(f"{what}[{at}]: wheel {one!r}, loadgen-node {other!r}")
    if len(theirs) != len(ours):
        raise Difference(f"{what}: wheel has {len(theirs)} entries, loadgen-node {len(ours)}")


if __name__ == "__main__":
    main()
