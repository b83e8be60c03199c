#!/usr/bin/env python3
"""Runs of the official LoadGen wheel, judged again by `loadgen-node replay --official`.

    official_replay.py --loadgen-node target/debug/loadgen-node [--keep DIR]

The two must agree on every run, and disagree as soon as one number in the logs is altered. What can be compared is in
README.md beside this file.
"""

import argparse
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from loadgen_diff import check_wheel

WORKER = pathlib.Path(__file__).with_name("official_worker.py")
TIMEOUT_S = 120
QSL = {"total": 60, "performance": 50}
BASE = {"mode": "PerformanceOnly", "min_duration_ms": 100, "min_query_count": 100}
SINGLE = {**BASE, "scenario": "SingleStream", "single_stream_expected_latency_ns": 300_000}
MULTI = {**BASE, "scenario": "MultiStream", "multi_stream_expected_latency_ns": 300_000,
         "multi_stream_samples_per_query": 3, "min_query_count": 700}
SERVER = {**BASE, "scenario": "Server", "server_target_qps": 2000, "min_query_count": 1000}
OFFLINE = {**BASE, "scenario": "Offline", "offline_expected_qps": 3000}
TOKENS = {"use_token_latencies": True, "accuracy_log_probability": 1.0}
# The name of each run, its settings, and the official verdict that they lead to.
RUNS = [
    ("single-stream", SINGLE, "VALID"),
    ("single-stream-too-short", {**SINGLE, "min_duration_ms": 300, "single_stream_expected_latency_ns": 1e7},
     "INVALID"),
    ("single-stream-tokens", {**SINGLE, **TOKENS}, "VALID"),
    ("multi-stream", MULTI, "VALID"),
    ("multi-stream-too-few", {**MULTI, "min_query_count": 100}, "INVALID"),
    ("multi-stream-tokens", {**MULTI, **TOKENS}, "VALID"),
    ("server", SERVER, "VALID"),
    ("server-too-slow", {**SERVER, "server_target_latency_ns": 10_000}, "INVALID"),
    ("server-tokens", {**SERVER, **TOKENS}, "VALID"),
    ("server-tokens-too-slow", {**SERVER, **TOKENS, "ttft_latency": 10_000}, "INVALID"),
    ("server-coalesced", {**SERVER, "server_coalesce_queries": True, "server_target_qps": 20_000}, "VALID"),
    ("offline", OFFLINE, "VALID"),
    ("offline-too-short", {**OFFLINE, "min_duration_ms": 2000, "offline_expected_qps": 20}, "INVALID"),
    ("server-odd-rate", {**SERVER, "server_target_qps": 2012.3456789}, "VALID"),
    ("offline-odd-rate", {**OFFLINE, "offline_expected_qps": 3012.3456789}, "VALID"),
    ("submission", {**SERVER, **TOKENS, "mode": "SubmissionRun"}, "VALID"),
    ("accuracy", {**SINGLE, "mode": "AccuracyOnly"}, None),
]
# Runs whose logs do not have everything, and a word that each unchecked quantity has: the counts of tokens where
# answers are not logged, the limits of tokens in Offline, and the factor of inferred rates.
PARTLY = {
    "single-stream-unlogged": ({**SINGLE, **TOKENS, "accuracy_log_probability": 0.0}, "VALID",
                               "token|tpot|tps|estimate"),
    "server-unlogged": ({**SERVER, **TOKENS, "accuracy_log_probability": 0.0}, "VALID", "token|tpot|tps"),
    "offline-tokens": ({**OFFLINE, **TOKENS}, "VALID", "ttft_latency|tpot_latency"),
    "offline-inferred": ({**OFFLINE, "infer_token_latencies": True, "token_latency_scaling_factor": 7}, "VALID",
                         "inferred"),
}
# Without a trace the verdict follows from settings and logged numbers in these runs; in others it is unchecked.
CLEAR_WITHOUT_TRACE = ["single-stream", "single-stream-too-short", "multi-stream-too-few", "server", "server-too-slow",
                       "server-tokens", "offline", "offline-too-short"]
# The quantity that holds both logs against each other.
BOTH_LOGS = "Result is, and result_validity of the detail log"
EXIT_CODES = {"VALID": 0, "INVALID": 3, None: 0}
RESULT = re.compile(r':::MLLOG \{"key": "((?:result|early_stopping|num_errors)\w*[\w.]*)", "value": (.*?), "time_ms": ')


# On a machine that others use, the wheel's own run can be too slow for the verdict that is wanted.
TRIES = 3


class Fault(Exception):
    """Something that the command should have said otherwise."""


class OtherVerdict(Fault):
    """The wheel's run did not get the verdict that is wanted, and the command says the same of it."""


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--loadgen-node", required=True, metavar="PATH", help="the binary to test")
    parser.add_argument("--keep", type=pathlib.Path, metavar="DIR", help="keep the logs of failures here")
    args = parser.parse_args()
    check_wheel()
    faults, compared = 0, 0
    runs = RUNS + [(name, settings, verdict) for name, (settings, verdict, _) in PARTLY.items()]
    with tempfile.TemporaryDirectory(prefix="official-replay-") as scratch:
        for name, settings, verdict in runs:
            folder = pathlib.Path(scratch, name)
            try:
                compared += check_run(args.loadgen_node, folder, settings, verdict)
                print(f"{name}: the same, {verdict}", flush=True)
            except Fault as fault:
                faults += 1
                print(f"{name} FAILED: {fault}", flush=True)
                if args.keep:
                    shutil.copytree(folder, args.keep / name, dirs_exist_ok=True)
    print(f"{len(runs)} runs, {compared} altered logs, {faults} failed")
    sys.exit(1 if faults else 0)


def check_run(node, folder, settings, verdict):
    """Runs the wheel and checks what is said of it; again where the run did not get the verdict that is wanted."""
    for _ in range(TRIES - 1):
        run_wheel(folder, settings)
        try:
            return check(node, folder, verdict)
        except OtherVerdict as other:
            print(f"{folder.name}, once more: {other}", flush=True)
            shutil.rmtree(folder)
    run_wheel(folder, settings)
    return check(node, folder, verdict)


def run_wheel(folder, settings):
    folder.mkdir()
    (folder / "input.json").write_text(json.dumps({"qsl": QSL, "settings": settings}))
    with open(folder / "worker.txt", "w", encoding="utf-8") as output:
        ended = subprocess.run([sys.executable, WORKER, folder], stdout=output, stderr=output, timeout=TIMEOUT_S,
                               check=False)
    if ended.returncode != 0:
        said = (folder / "worker.txt").read_text().strip().splitlines() or ["it said nothing"]
        raise Fault(f"the wheel's run ended with exit code {ended.returncode}: {said[-1]}")


def replay(node, folder):
    """The document, with the exit code in it."""
    ended = subprocess.run([node, "replay", "--official", folder, "--json"], capture_output=True, timeout=TIMEOUT_S,
                           check=False)
    if ended.returncode not in (0, 1, 3):
        raise Fault(f"exit code {ended.returncode}: {ended.stderr.decode().strip()}")
    return {**json.loads(ended.stdout), "exit_code": ended.returncode}


def check(node, folder, verdict):
    """Returns how many altered logs were told from the official ones."""
    said = replay(node, folder)
    expect_same(said, verdict)
    if verdict is None:
        return 0
    if said["ours"] != verdict:
        raise Fault(f"the verdict is {said['ours']}")
    unchecked = named(said, "unchecked")
    word = PARTLY.get(folder.name, (None, None, None))[2]
    unexplained = [name for name in unchecked if not word or not re.search(word, name, re.IGNORECASE)]
    if unexplained or (word and not unchecked):
        raise Fault(f"unchecked with a trace: {unchecked}")
    without_trace(node, folder, verdict)
    return alter_results(node, folder, unchecked) + alter_trace(node, folder)


def expect_same(said, verdict):
    if not said["same"]:
        raise Fault(f"{said['first_difference']} differs: {of(said, said['first_difference'])}")
    if said["official"] != verdict and said["ours"] == said["official"]:
        raise OtherVerdict(f"the wheel's run is {said['official']}, wanted is {verdict}")
    # A verdict that is unchecked is not called VALID.
    expected = EXIT_CODES[verdict] if verdict is None or said["ours"] else EXIT_CODES["INVALID"]
    if said["official"] != verdict or said["exit_code"] != expected:
        raise Fault(f"official verdict {said['official']}, exit code {said['exit_code']}, expected {verdict}")


def named(said, agreement):
    return [quantity["name"] for quantity in said["quantities"] if quantity["agreement"] == agreement]


def of(said, name):
    return [quantity for quantity in said["quantities"] if quantity["name"] == name]


def without_trace(node, folder, verdict):
    """Checks that without a trace the values that follow from settings and results agree, too."""
    other = folder.with_name(f"{folder.name}-no-trace")
    shutil.copytree(folder, other)
    (other / "mlperf_log_trace.json").write_text("")
    said = replay(node, other)
    expect_same(said, verdict)
    if said["ours"] not in (None, verdict):
        raise Fault(f"without the trace the verdict is {said['ours']}")
    if verdict:
        # The summary alone is altered.
        summary = other / "mlperf_log_summary.txt"
        original = summary.read_text()
        other_verdict = "INVALID" if verdict == "VALID" else "VALID"
        summary.write_text(original.replace(f"Result is : {verdict}", f"Result is : {other_verdict}"))
        if BOTH_LOGS not in named(replay(node, other), "differs"):
            raise Fault("a summary with another verdict than the detail log is not named")
        summary.write_text(original)
    if folder.name not in CLEAR_WITHOUT_TRACE:
        return
    if said["ours"] is None:
        raise Fault("without the trace the verdict is unchecked")
    path = other / "mlperf_log_detail.txt"
    key, word = '"result_validity", "value": ', f'"{verdict}"'
    path.write_text(path.read_text().replace(key + word, key + another(word)))
    if sorted(named(replay(node, other), "differs")) != sorted([BOTH_LOGS, "result_validity"]):
        raise Fault("without the trace another verdict is not named")


def alter_results(node, folder, unchecked):
    """Each result that is checked in turn; the command must name it."""
    path = folder / "mlperf_log_detail.txt"
    original = path.read_text()
    found = [match for match in RESULT.finditer(original) if match[1] not in unchecked]
    for match in found:
        path.write_text(original[:match.start(2)] + another(match[2]) + original[match.end(2):])
        said = replay(node, folder)
        if match[1] not in named(said, "differs") or said["exit_code"] != 1 or said["same"]:
            raise Fault(f"{match[1]} was altered: {of(said, match[1])}, exit code {said['exit_code']}")
    path.write_text(original)
    return len(found)


def another(value):
    """A value that no rounding explains."""
    words = {"true": "false", "false": "true", '"VALID"': '"INVALID"', '"INVALID"': '"VALID"'}
    if value in words:
        return words[value]
    if value.startswith('"'):
        return f'{value[:-1]}x"'
    return str(int(value) + 1) if value.isdigit() else f"{float(value) * 1.5:g}"


def alter_trace(node, folder):
    """The latency of one sample, by a ns."""
    path = folder / "mlperf_log_trace.json"
    original = path.read_text()
    latencies = list(re.finditer(r'"name":"Sample".*?"sample_seq":(\d+).*?"complete_ns":(\d+)', original))
    match = latencies[len(latencies) // 2]
    path.write_text(original[:match.start(2)] + str(int(match[2]) + 1) + original[match.end(2):])
    said = replay(node, folder)
    path.write_text(original)
    if f"end of sample {match[1]}," not in str(said["first_difference"]):
        raise Fault(f"the latency of sample {match[1]} was altered: {said['first_difference']}")
    return 1


if __name__ == "__main__":
    main()
