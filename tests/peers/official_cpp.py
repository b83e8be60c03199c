#!/usr/bin/env python3
"""The official C++ LoadGen tests our SUT nodes through lon_qdl: what it asks, what it gets, and how it ends.

    official_cpp.py --program lon-official --bin FOLDER [--keep DIR]

PROGRAM is made by qdl/capi/cpp/build.sh; FOLDER has loadgen-node and sut-node. What is tested is in README.md beside
this file. The last line is `N passed, N failed`; every failure is a line of its own.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import pathlib
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from typing import Any, Callable, Iterator

from wheel_logs import DETAIL, SAMPLE, errors_of

DIGITS = pathlib.Path(__file__).parents[2] / "loadgen-node/qsl/digits"
SAMPLES = 450
TARGET_ACCURACY = 0.97
# No run of this test takes a tenth of it.
RUN_TIMEOUT_S = 300
# From the death of a node to the end of the program.
LOSS_TIMEOUT_S = 20
NODE_NAMES = ["N1", "N2"]
# Settings in the detail log that have nothing to do with what is asked, and that `trace` does not know.
NOT_TRAFFIC = ["server_num_issue_query_threads"]
SHORT = {
    "Server": {"target_qps": 100, "min_duration": 2000, "min_query_count": 100},
    "Offline": {"target_qps": 1000, "min_duration": 2000, "min_query_count": 1000},
    "SingleStream": {"target_latency": 0.05, "min_duration": 2000, "min_query_count": 100},
    "MultiStream": {"target_latency": 0.1, "samples_per_query": 8, "min_duration": 2000, "min_query_count": 100},
}
# The limit is one that no busy machine exceeds where the search begins: the official LoadGen calls that an error. A
# rate that is too high exceeds it within the 300 ms of a trial.
PEAK = {"target_qps": 50, "min_duration": 300, "min_query_count": 50, "target_latency": 150}
# Runs that are still going on when a node is killed.
LONG = {
    "Server": {"target_qps": 200, "min_duration": 120000, "min_query_count": 100},
    "Offline": {"target_qps": 30000, "min_duration": 60000, "min_query_count": 1000},
}


class Wrong(Exception):
    """An unexpected result: the expected one and the one that was there, in one line."""


def main() -> None:
    args = parse_args()
    with tempfile.TemporaryDirectory(prefix="official-cpp-") as scratch:
        tests = Tests(args.program.resolve(), args.bin.resolve(), pathlib.Path(scratch))
        failed = tried(tests.all(), lambda: keep(scratch, args.keep))
    sys.exit(1 if failed else 0)


def tried(tests: list[tuple[str, Callable[[], None]]], on_failure: Callable[[], None] = lambda: None,
          afterwards: Callable[[], None] = lambda: None) -> int:
    """Does these tests and says how each ended; how many failed. `afterwards` is called after each."""
    # So that what ends the nodes is done.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    failed = 0
    for name, test in tests:
        started = time.monotonic()
        try:
            test()
            print(f"ok      {name} ({time.monotonic() - started:.1f} s)", flush=True)
        except (Wrong, OSError, ValueError, KeyError, IndexError, struct.error, subprocess.SubprocessError) as error:
            failed += 1
            print(f"FAILED  {name}: {type(error).__name__}: {error}", flush=True)
            on_failure()
        afterwards()
    print(f"{len(tests) - failed} passed, {failed} failed", flush=True)
    return failed


def keep(scratch: str | pathlib.Path, folder: pathlib.Path | None) -> None:
    """Copies everything there, where it is to be kept."""
    if folder:
        shutil.copytree(scratch, folder, dirs_exist_ok=True)


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--program", required=True, type=pathlib.Path, help="lon-official")
    parser.add_argument("--bin", required=True, type=pathlib.Path, help="folder with loadgen-node and sut-node")
    parser.add_argument("--keep", type=pathlib.Path, metavar="DIR", help="keep all run folders here when a test fails")
    return parser.parse_args()


class Tests:
    def __init__(self, program: pathlib.Path, binaries: pathlib.Path, scratch: pathlib.Path):
        self.program, self.binaries, self.scratch = program, binaries, scratch
        self.count = 0
        # All programs run beside it, and none may take it for their own: samples would come in another order.
        self.audit = scratch / "audit.config"
        self.audit.write_text("*.*.performance_issue_same = 1\n*.*.performance_issue_same_index = 3\n")

    def all(self) -> list[tuple[str, Callable[[], None]]]:
        runs = [("Server", "PerformanceOnly", 0), ("Offline", "PerformanceOnly", 0),
                ("SingleStream", "PerformanceOnly", 0), ("MultiStream", "PerformanceOnly", 0),
                ("Server", "AccuracyOnly", 0), ("Offline", "AccuracyOnly", 0), ("Offline", "SubmissionRun", 0),
                ("Server", "SubmissionRun", 0), ("Server", "PerformanceOnly", 1), ("Server", "PerformanceOnly", 2)]
        tests = [("usage", self.usage), ("no node", self.no_node)]
        for scenario, mode, threads in runs:
            name = f"{scenario} {mode}" + (f", issued by {threads}" if threads else "")
            tests.append((name, lambda run=(scenario, mode, threads): self.complete(*run)))
        tests += [("Server FindPeakPerformance", self.peak), ("Server with an audit file", self.audited)]
        tests.append(("Server, a pause of more than ten seconds", self.pause))
        for scenario in LONG:
            for how, what in [(signal.SIGKILL, "is killed"), (signal.SIGSTOP, "freezes")]:
                tests.append((f"{scenario}, a node {what}", lambda run=(scenario, how): self.lost(*run)))
        tests.append(("Server, a node is killed while the program stands still", self.lost_in_a_pause))
        return tests

    def usage(self) -> None:
        """Mistakes are found before anything is asked or made."""
        folder = self.new_folder()
        # No node is asked there: these mistakes are found before.
        given = {"--sut": "127.0.0.1:1", "--benchmark": "digits", "--scenario": "Server", "--out": folder}
        mistakes = [["--no-such-flag"], ["--mode", "Fast"], ["--issue-threads", "two"], ["--option", "no-such-key=1"],
                    ["--user-conf", "/no/such/file"], ["--audit-conf", "/no/such/file"], ["--out"]]
        for mistake in mistakes:
            command = [self.program, *(word for pair in given.items() for word in pair), *mistake]
            expect_exit(mistake, 2, self.run(command))
        expect("folders made", False, folder.exists())
        help_text = self.run([self.program, "--help"])
        expect_exit("--help", 0, help_text)
        expect("--help has an example", True, "Example" in help_text.stdout)

    def no_node(self) -> None:
        folder = self.new_folder()
        ended = self.run([self.program, "--sut", f"127.0.0.1:{free_port()}", "--benchmark", "digits",
                          "--scenario", "Server", "--out", folder])
        expect_exit("no node", 4, ended)
        expect("an official summary", False, (folder / "mlperf_log_summary.txt").exists())

    def complete(self, scenario: str, mode: str, threads: int) -> None:
        """A run in which nothing goes wrong."""
        with self.nodes() as (addresses, _):
            command, folder = self.command(addresses, scenario, mode, SHORT[scenario])
            ended = self.run([*command, *(["--issue-threads", str(threads)] if threads else [])])
        expect_exit("lon-official", 0, ended)
        expect("VALID on standard output", False, "VALID" in ended.stdout)
        self.check_complete(folder, scenario, mode)

    def check_complete(self, folder: pathlib.Path, scenario: str, mode: str) -> None:
        """Checks the files in the folder of a run in which nothing went wrong."""
        detail = self.check_logs(folder, scenario, mode)
        self.check_network(folder, len(samples_of(folder)))
        if mode != "PerformanceOnly":
            check_accuracy(folder)
        self.check_traffic(folder, scenario, mode, detail)
        self.check_judged(folder, mode)

    def peak(self) -> None:
        with self.nodes() as (addresses, _):
            command, folder = self.command(addresses, "Server", "FindPeakPerformance", PEAK)
            ended = self.run(command)
        expect_exit("lon-official", 0, ended)
        self.check_logs(folder, "Server", "FindPeakPerformance")
        self.check_network(folder, None)

    def audited(self) -> None:
        """An audit file is read when it is named."""
        with self.nodes() as (addresses, _):
            command, folder = self.command(addresses, "Server", "PerformanceOnly", SHORT["Server"])
            ended = self.run([*command, "--audit-conf", self.audit])
        expect_exit("lon-official", 0, ended)
        self.check_logs(folder, "Server", "PerformanceOnly")
        samples = samples_of(folder)
        self.check_network(folder, len(samples))
        # The index counts in the order in which LoadGen has loaded the samples.
        expect("different samples", 1, len({sample["index"] for sample in samples}))

    def pause(self) -> None:
        """Nodes stay although nothing is issued for longer than they wait for a client that says nothing."""
        # Two queries, 15 seconds apart by the seeds that are built into LoadGen.
        settings = {"target_qps": 0.06, "min_duration": 16000, "min_query_count": 2}
        with self.nodes() as (addresses, _):
            command, folder = self.command(addresses, "Server", "PerformanceOnly", settings)
            ended = self.run(command)
        expect_exit("lon-official", 0, ended)
        self.check_network(folder, len(samples_of(folder)))

    def lost(self, scenario: str, how: signal.Signals) -> None:
        """The program ends, says which node it was, and nothing says VALID."""
        with self.nodes() as (addresses, processes):
            command, folder = self.command(addresses, scenario, "PerformanceOnly", LONG[scenario])
            program = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                       cwd=self.scratch)
            try:
                wait_until(lambda: (folder / "mlperf_log_detail.txt").exists() or program.poll() is not None, 30)
                time.sleep(2)
                if program.poll() is not None:
                    raise Wrong(f"it ended before the node was lost: {program.communicate()}")
                processes[1].send_signal(how)
                _, told = communicate_within(program, LOSS_TIMEOUT_S)
            finally:
                program.kill()
                program.wait()
        expect("exit code", 4, program.returncode)
        expect(f"standard error names {NODE_NAMES[1]}", True, NODE_NAMES[1] in told)
        result = json.loads((folder / "qdl_result.json").read_text())
        expect("state", "unusable", result["state"])
        reasons = " | ".join(result["reasons"])
        expect(f"{NODE_NAMES[1]} is in {reasons!r}", True, NODE_NAMES[1] in reasons)
        summary = folder / "mlperf_log_summary.txt"
        expect("VALID in the summary", False, summary.exists() and "VALID" in summary.read_text())

    def lost_in_a_pause(self) -> None:
        """Afterwards it writes to a connection that has gone, more than once before it reads. Not every try does so."""
        settings = {"target_qps": 20000, "min_duration": 20000, "min_query_count": 100}
        for _ in range(6):
            with self.nodes("--backend", "null") as (addresses, processes):
                command, folder = self.command(addresses, "Server", "PerformanceOnly", settings)
                program = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                           cwd=self.scratch)
                try:
                    wait_until(lambda: (folder / "mlperf_log_detail.txt").exists() or program.poll() is not None, 30)
                    time.sleep(1)
                    program.send_signal(signal.SIGSTOP)
                    processes[1].kill()
                    processes[1].wait()
                    time.sleep(0.4)
                    program.send_signal(signal.SIGCONT)
                    _, told = communicate_within(program, LOSS_TIMEOUT_S)
                finally:
                    program.kill()
                    program.wait()
            expect(f"exit code; {told[-200:]!r}", 4, program.returncode)
            expect(f"standard error names {NODE_NAMES[1]}", True, NODE_NAMES[1] in told)

    def run(self, command: list[Any]) -> subprocess.CompletedProcess:
        try:
            return subprocess.run(command, capture_output=True, text=True, timeout=RUN_TIMEOUT_S, check=False,
                                  cwd=self.scratch)
        except subprocess.TimeoutExpired:
            raise Wrong(f"{command[0].name} had not ended after {RUN_TIMEOUT_S} s") from None

    def command(self, addresses: list[str], scenario: str, mode: str,
                settings: dict[str, float]) -> tuple[list[Any], pathlib.Path]:
        folder = self.new_folder()
        conf = folder.with_suffix(".conf")
        conf.write_text("".join(f"digits.{scenario}.{key} = {value}\n" for key, value in settings.items()))
        return [self.program, "--sut", ",".join(addresses), "--option", "wait-ready=30s", "--benchmark", "digits",
                "--scenario", scenario, "--mode", mode, "--user-conf", conf, "--trace-log", "--out", folder], folder

    def new_folder(self) -> pathlib.Path:
        """A folder that is not there yet."""
        self.count += 1
        return self.scratch / f"run-{self.count}"

    @contextlib.contextmanager
    def nodes(self, *flags: str) -> Iterator[tuple[list[str], list[subprocess.Popen]]]:
        """Two SUT nodes, which are stopped in any case; with the digits' model unless the flags name a backend."""
        addresses, processes = [], []
        if "--backend" not in flags:
            flags = ("--backend", f"onnx:{DIGITS / 'digits.onnx'}", *flags)
        with contextlib.ExitStack() as stack:
            for name in NODE_NAMES:
                addresses.append(f"127.0.0.1:{free_port()}")
                log = stack.enter_context(open(self.scratch / f"{name}.log", "a", encoding="utf-8"))
                process = subprocess.Popen(
                    [self.binaries / "sut-node", "serve", "--node", name, "--listen", addresses[-1], *flags],
                    stdout=log, stderr=log)
                stack.callback(process.wait)
                stack.callback(process.kill)
                processes.append(process)
            yield addresses, processes

    def check_logs(self, folder: pathlib.Path, scenario: str, mode: str) -> dict[str, Any]:
        """Returns the detail log; of keys that are there more than once, the last."""
        lines = DETAIL.findall((folder / "mlperf_log_detail.txt").read_text())
        detail = {key: json.loads(value) for key, value in lines if key != "generic_message"}
        name = detail["sut_name"]
        expect(f"{name!r} begins with Network SUT", True, name.startswith("Network SUT: "))
        for node in NODE_NAMES:
            expect(f"{node} is in {name!r}", True, node in name)
        expect("get_sut_name_duration_ns is above 0", True, int(detail["get_sut_name_duration_ns"]) > 0)
        expect("qsl_name", "digits", detail["qsl_name"])
        expect("qsl_reported_total_count", SAMPLES, int(detail["qsl_reported_total_count"]))
        expect("effective_scenario", scenario, detail["effective_scenario"].replace(" ", ""))
        expect("effective_test_mode", mode, detail["effective_test_mode"].replace(" ", ""))
        expect("errors", [], errors_of(lines))
        expect("num_errors", 0, int(detail.get("num_errors", 0)))
        summary = (folder / "mlperf_log_summary.txt").read_text()
        if mode in ("PerformanceOnly", "SubmissionRun"):
            lines = dict(re.findall(r"^([^:\n]*?) *: (.*)$", summary, re.MULTILINE))
            expect("SUT name in the summary", name, lines["SUT name"])
            expect("Scenario in the summary", scenario, lines["Scenario"].replace(" ", ""))
            expect("there is a result", True, lines["Result is"] in ("VALID", "INVALID"))
            expect("no errors in the summary", True, "No errors encountered during test." in summary)
        return detail

    def check_network(self, folder: pathlib.Path, samples: int | None) -> None:
        """Both ends counted the same bytes, and as many samples as LoadGen saw."""
        report = json.loads((folder / "network_report.json").read_text())
        expect("differences", [], report["differences"])
        for node in report["nodes"]:
            for direction, counted in node["message_bytes"].items():
                expect(f"{direction} of {node['name']}: bytes of messages", counted["loadgen"], counted["sut"])
        result = json.loads((folder / "qdl_result.json").read_text())
        expect("reasons", [], result["reasons"])
        expect("state", "usable", result["state"])
        expect("samples answered", result["counts"]["issued"], result["counts"]["completed"])
        if samples is not None:
            expect("samples issued", samples, result["counts"]["issued"])
        expect("system_desc.json", True, bool(json.loads((folder / "system_desc.json").read_text())))

    def check_judged(self, folder: pathlib.Path, mode: str) -> None:
        """Our engine comes to the same as the official LoadGen, number by number. Accuracy runs are not judged."""
        if mode == "AccuracyOnly":
            return
        answer = self.run([self.binaries / "loadgen-node", "replay", "--official", folder, "--json"])
        if answer.returncode not in (0, 3):
            raise Wrong(f"replay --official ended with {answer.returncode}: {answer.stdout} {answer.stderr.strip()}")
        said = json.loads(answer.stdout)
        expect("replay --official: same", True, said["same"])
        expect("replay --official: both verdicts", said["official"], said["ours"])

    def check_traffic(self, folder: pathlib.Path, scenario: str, mode: str, detail: dict[str, Any]) -> None:
        """Order and schedule of the samples are those that loadgen-node makes of the same settings."""
        asked = {key[len("requested_"):]: value for key, value in detail.items() if key.startswith("requested_")}
        settings = {key: value for key, value in asked.items() if key != "test_mode" and key not in NOT_TRAFFIC}
        settings.update({"scenario": scenario, "mode": mode})
        path = folder.with_suffix(".json")
        path.write_text(json.dumps({"qsl": {"total": SAMPLES, "performance": SAMPLES}, "settings": settings}))
        answer = self.run([self.binaries / "loadgen-node", "trace", "--settings", path])
        expect_exit("loadgen-node trace", 0, answer)
        seen, begin = samples_of(folder), 0
        phases = json.loads(answer.stdout)["phases"]
        for number, phase in enumerate(phases):
            # These two scenarios end by the clock: the beginning is compared.
            is_last = number == len(phases) - 1
            by_clock = scenario in ("SingleStream", "MultiStream") and phase["mode"] == "PerformanceOnly"
            indices = phase["sample_indices"]
            issued = seen[begin:] if is_last else seen[begin:begin + len(indices)]
            begin += len(issued)
            if by_clock:
                indices = indices[:len(issued)]
                issued = issued[:len(indices)]
            expect_lists(f"phase {number}: sample indices", indices, [sample["index"] for sample in issued])
            if scenario == "Server":
                first = min(sample["due_ns"] for sample in issued)
                expect_lists(f"phase {number}: schedule", phase["schedule_ns"],
                             [sample["due_ns"] - first for sample in issued])


def samples_of(folder: pathlib.Path) -> list[dict[str, int]]:
    """All samples that were answered, in the order of LoadGen's sequence numbers."""
    samples = []
    for name, at, seq, query, index, _, _ in SAMPLE.findall((folder / "mlperf_log_trace.json").read_text()):
        if name == "Sample":
            whole, _, decimals = at.partition(".")
            due_ns = int(whole + decimals.ljust(3, "0")[:3])
            samples.append({"seq": int(seq), "query": int(query), "index": int(index), "due_ns": due_ns})
    return sorted(samples, key=lambda sample: sample["seq"])


def check_accuracy(folder: pathlib.Path) -> None:
    """Every sample was answered once, and at least 97 % are right: the digit with the highest of ten floats."""
    entries = json.loads((folder / "mlperf_log_accuracy.json").read_text())
    expect_lists("samples in the accuracy log", list(range(SAMPLES)), sorted(entry["qsl_idx"] for entry in entries))
    labels = read_labels()
    right = 0
    for entry in entries:
        scores = struct.unpack("<10f", bytes.fromhex(entry["data"]))
        right += scores.index(max(scores)) == labels[entry["qsl_idx"]]
    expect(f"{right} of {SAMPLES} right: above {TARGET_ACCURACY}", True, right / SAMPLES > TARGET_ACCURACY)


def read_labels() -> tuple[int, ...]:
    """labels.npy: a head of version 1, then 64 bits each."""
    content = (DIGITS / "labels.npy").read_bytes()
    begin = 10 + int.from_bytes(content[8:10], "little")
    return struct.unpack(f"<{SAMPLES}q", content[begin:])


def communicate_within(program: subprocess.Popen, seconds: float) -> tuple[str, str]:
    try:
        return program.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        raise Wrong(f"lon-official had not ended {seconds} s after the node was lost") from None


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def wait_until(holds: Callable[[], bool], seconds: float) -> None:
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            raise Wrong(f"nothing happened in {seconds} s")
        time.sleep(0.05)


def expect(what: str, wanted: Any, found: Any) -> None:
    if wanted != found:
        raise Wrong(f"{what}: wanted {wanted!r}, found {found!r}")


def expect_lists(what: str, wanted: list, found: list) -> None:
    for at, (one, other) in enumerate(zip(wanted, found)):
        expect(f"{what}[{at}]", one, other)
    expect(f"{what}, how many", len(wanted), len(found))


def expect_exit(what: Any, code: int, ended: subprocess.CompletedProcess) -> None:
    if ended.returncode != code:
        told = "".join(ended.stderr.strip().splitlines()[-1:])
        raise Wrong(f"{what}: exit code {ended.returncode} instead of {code}: {told}")


if __name__ == "__main__":
    main()
