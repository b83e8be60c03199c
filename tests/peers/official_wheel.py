#!/usr/bin/env python3
"""The official Python LoadGen tests our SUT nodes through loadgen_network: what it asks and gets, and how it ends.

    official_wheel.py --bin FOLDER [--keep DIR]

FOLDER has loadgen-node, sut-node and liblon_qdl.so. The package is that of this repository; the official one is from
requirements.txt. What is tested is in README.md beside this file. The last line is `N passed, N failed`; every failure
is a line of its own.
"""

import argparse
import contextlib
import functools
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

from loadgen_diff import check_wheel
from official_cpp import (LONG, NODE_NAMES, PEAK, SAMPLES, SHORT, Tests, Wrong, expect, expect_exit,
                          free_port, keep, tried, wait_until)
from wheel_logs import DETAIL, errors_of

PACKAGE = pathlib.Path(__file__).resolve().parents[2] / "qdl/capi/python"
# The official LoadGen logs an error where answers come sooner than was expected.
SETTINGS: dict[str, Any] = {
    **SHORT,
    "SingleStream": {"target_latency": 0.05, "min_duration": 2000, "min_query_count": 100},
    "MultiStream": {"target_latency": 0.2, "samples_per_query": 8, "min_duration": 2000, "min_query_count": 100},
}
RUN_TIMEOUT_S = 300
LOSS_TIMEOUT_S = 20
VERDICT = "the official log's own words: Result is : "
# 20 ms to the first of 16 tokens, 2 ms for each further one.
STREAM = "synthetic:ttft=20ms,tpot=2ms,tokens=16"
TOKENS = 16
TOKEN_SETTINGS = {"use_token_latencies": 1, "accuracy_log_probability": 1, "ttft_latency": 60000,
                  "tpot_latency": 60000, "min_duration": 1000, "min_query_count": 100, "target_qps": 100}
# A run of one's own: it goes on where the program would end, and prints how it ended.
GOES_ON = """
import json, sys, threading
import mlperf_loadgen
from loadgen_network import LonError, Run
options, audit = json.loads(sys.argv[1]), ""
settings, logs, reasons = mlperf_loadgen.TestSettings(), mlperf_loadgen.LogSettings(), []
settings.scenario, settings.mode = mlperf_loadgen.TestScenario.Server, mlperf_loadgen.TestMode.PerformanceOnly
settings.server_target_qps, settings.min_duration_ms = 200, 8000
output = mlperf_loadgen.LogOutputSettings()
output.outdir = options["out"]
logs.log_output = output
run = Run(options, on_lost=reasons.append)
with run.official() as (sut, qsl):
    mlperf_loadgen.StartTestWithLogSettings(sut, qsl, settings, logs, audit)
try:
    run.close()
    code = 0
except LonError as error:
    code = error.code
print(json.dumps({"code": code, "reasons": reasons, "threads": threading.active_count()}))
"""


def main() -> None:
    args = parse_args()
    check_wheel()
    with tempfile.TemporaryDirectory(prefix="official-wheel-") as scratch:
        tests = WheelTests(args.bin.resolve(), pathlib.Path(scratch))
        failed = tried(tests.all(), lambda: keep(scratch, args.keep))
    sys.exit(1 if failed else 0)


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", required=True, type=pathlib.Path,
                        help="folder with loadgen-node, sut-node and liblon_qdl.so")
    parser.add_argument("--keep", type=pathlib.Path, metavar="DIR", help="keep all run folders here when a test fails")
    return parser.parse_args()


class WheelTests(Tests):
    """Nodes, traffic and the network's files are held to the same as those of the program in C++."""

    def __init__(self, binaries: pathlib.Path, scratch: pathlib.Path):
        super().__init__(pathlib.Path(sys.executable), binaries, scratch)
        kept = {key: value for key, value in os.environ.items() if not key.startswith("LON_")}
        self.environment = {**kept, "LON_QDL_LIBRARY": str(binaries / "liblon_qdl.so"), "PYTHONPATH": str(PACKAGE)}

    def all(self) -> list[tuple[str, Callable[[], None]]]:
        runs = [("Server", "PerformanceOnly"), ("Offline", "PerformanceOnly"), ("SingleStream", "PerformanceOnly"),
                ("MultiStream", "PerformanceOnly"), ("Offline", "AccuracyOnly"), ("Server", "SubmissionRun")]
        tests: list[tuple[str, Callable[[], None]]] = [
            ("usage", self.usage), ("no node", self.no_node), ("where files are", self.files)]
        for scenario, mode in runs:
            tests.append((f"{scenario} {mode}", functools.partial(self.complete, scenario, mode)))
        tests += [("Server FindPeakPerformance", self.peak), ("Server, token by token", self.tokens)]
        tests += [("Offline without a user.conf", self.built_in), ("a sample gets no answer", self.no_answer)]
        for scenario in LONG:
            tests.append((f"{scenario}, a node is killed", functools.partial(self.killed, scenario)))
        tests += [("a node is killed, and the program goes on", self.killed_and_going_on),
                  ("interrupted", self.interrupted)]
        return tests

    def usage(self) -> None:
        """Mistakes are found before anything is asked or made."""
        folder = self.new_folder()
        # No node is at this address: nothing is sent there.
        given = {"--sut": "127.0.0.1:1", "--benchmark": "digits", "--scenario": "Server", "--out": str(folder)}
        mistakes = [["--no-such-flag"], ["--mode", "Fast"], ["--issue-threads", "two"], ["--issue-threads", "2"],
                    ["--user-conf", "/no/such/file"], ["--audit-conf", "/no/such/file"],
                    ["--option", "no-such-key=1"], ["--option", "sut=127.0.0.1:2"], ["--out"],
                    ["--benchmark", "no-such-benchmark"], ["--out", str(self.scratch)]]
        for mistake in mistakes:
            expect_exit(mistake, 2, self.ran([*words_of(given), *mistake]))
        expect("folders made", False, folder.exists())
        told = self.ran(["--help"])
        expect_exit("--help", 0, told)
        expect("--help has an example", True, "example:" in told.stdout)

    def no_node(self) -> None:
        folder = self.new_folder()
        ended = self.ran(["--sut", f"127.0.0.1:{free_port()}", "--benchmark", "digits", "--scenario", "Server",
                          "--out", str(folder)])
        expect_exit("no node", 4, ended)
        expect("an official summary", False, (folder / "mlperf_log_summary.txt").exists())

    def files(self) -> None:
        """The paths that are printed are those of files, and the library is the one that was asked for."""
        told = subprocess.run([sys.executable, "-m", "loadgen_network", "files"], env=self.environment, text=True,
                              capture_output=True, timeout=RUN_TIMEOUT_S, check=False)
        expect_exit("files", 0, told)
        expect("library", True, told.stdout.endswith(f"library     {self.binaries / 'liblon_qdl.so'}\n"))

    def complete(self, scenario: str, mode: str, _threads: int = 0) -> None:
        """A run in which nothing goes wrong."""
        with self.nodes() as (addresses, _):
            words, folder = self.words(addresses, scenario, mode, SETTINGS[scenario])
            ended = self.ran(words)
        expect_exit(" ".join(words), 0, ended)
        self.check_screen(ended.stdout, folder)
        self.check_complete(folder, scenario, mode)

    def peak(self) -> None:
        with self.nodes() as (addresses, _):
            words, folder = self.words(addresses, "Server", "FindPeakPerformance", PEAK)
            ended = self.ran(words)
        expect_exit(" ".join(words), 0, ended)
        self.check_logs(folder, "Server", "FindPeakPerformance")
        self.check_network(folder, None)

    def tokens(self) -> None:
        """First tokens reach LoadGen before the answers do, and every answer says how many tokens it has."""
        with self.nodes("--backend", STREAM, "--slots", "64") as (addresses, _):
            words, folder = self.words(addresses, "Server", "PerformanceOnly", TOKEN_SETTINGS, "synthetic")
            ended = self.ran([*words, "--option", "dataset=synthetic:tokens-i64[16]x8"])
        expect_exit(" ".join(words), 0, ended)
        detail = dict(DETAIL.findall((folder / "mlperf_log_detail.txt").read_text()))
        expect("num_errors", 0, int(detail.get("num_errors", 0)))
        first, last = int(detail["result_first_token_min_latency_ns"]), int(detail["result_min_latency_ns"])
        expect(f"first tokens come after 20 ms ({first} ns)", True, first >= 20e6)
        expect(f"answers come 30 ms after them ({last} ns)", True, last >= 50e6)
        samples = float(detail["result_completed_samples_per_sec"])
        tokens = float(detail["result_completed_tokens_per_second"])
        expect(f"{tokens} tokens/s are {TOKENS} of {samples} samples/s", TOKENS, round(tokens / samples))
        summary = (folder / "mlperf_log_summary.txt").read_text()
        expect("TTFT and TPOT in the summary", True, "TTFT" in summary and "TPOT" in summary)
        self.check_network(folder, None)
        # With every answer in the accuracy log, times per token among them.
        self.check_judged(folder, "PerformanceOnly")

    def built_in(self) -> None:
        """LoadGen's built-in settings are enough for a first run: 660 samples."""
        folder = self.new_folder()
        with self.nodes() as (addresses, _):
            ended = self.ran(["--sut", ",".join(addresses), "--option", "wait-ready=30s", "--benchmark", "digits",
                              "--scenario", "Offline", "--out", str(folder)])
        expect_exit("Offline without a user.conf", 0, ended)
        self.check_network(folder, None)

    def no_answer(self) -> None:
        """Both nodes stay, and are too slow for --response-timeout."""
        with self.nodes("--backend", "synthetic:constant=20s") as (addresses, _):
            words, folder = self.words(addresses, "Server", "PerformanceOnly", LONG["Server"])
            began = time.monotonic()
            ended = self.ran([*words, "--option", "response-timeout=2s"])
        expect_exit(" ".join(words), 4, ended)
        expect("ends soon", True, time.monotonic() - began < LOSS_TIMEOUT_S)
        result = json.loads((folder / "qdl_result.json").read_text())
        expect("state", "unusable", result["state"])
        expect(f"no answer is in {result['reasons']}", True, "no answer within 2s" in " | ".join(result["reasons"]))
        expect("VALID on standard output", False, "VALID" in ended.stdout)

    def killed(self, scenario: str) -> None:
        """The program ends, says which node it was, and nothing says VALID."""
        with self.nodes() as (addresses, processes):
            words, folder = self.words(addresses, scenario, "PerformanceOnly", LONG[scenario])
            with self.started(words, folder) as program:
                processes[1].kill()
                said, told = program.communicate(timeout=LOSS_TIMEOUT_S)
        expect("exit code", 4, program.returncode)
        expect(f"standard error names {NODE_NAMES[1]}", True, NODE_NAMES[1] in told)
        expect("VALID on standard output", False, "VALID" in said)
        check_unusable(folder)

    def killed_and_going_on(self) -> None:
        """With on_lost LoadGen comes to its end; then close fails, and no file says VALID."""
        folder = self.new_folder()
        folder.mkdir()
        with self.nodes() as (addresses, processes):
            options = {"sut": ",".join(addresses), "wait-ready": "30s", "benchmark": "digits", "scenario": "Server",
                       "out": str(folder)}
            command = [sys.executable, "-c", GOES_ON, json.dumps(options)]
            with self.started(command, folder) as program:
                processes[1].kill()
                said, told = program.communicate(timeout=LOSS_TIMEOUT_S + 8)
        expect(f"exit code; {told[-300:]!r}", 0, program.returncode)
        ended = json.loads(said.splitlines()[-1])
        expect("code of close", 4, ended["code"])
        expect(f"on_lost was called once: {ended}", 1, len(ended["reasons"]))
        expect(f"its reason names {NODE_NAMES[1]}: {ended}", True, NODE_NAMES[1] in ended["reasons"][0])
        expect("Python threads that are left", 1, ended["threads"])
        check_unusable(folder)

    def interrupted(self) -> None:
        with self.nodes() as (addresses, _):
            words, folder = self.words(addresses, "Server", "PerformanceOnly", LONG["Server"])
            with self.started(words, folder) as program:
                program.send_signal(signal.SIGINT)
                said, _ = program.communicate(timeout=LOSS_TIMEOUT_S)
        expect("exit code", 5, program.returncode)
        expect("VALID on standard output", False, "VALID" in said)
        expect("qdl_result.json", True, (folder / "qdl_result.json").is_file())

    def words(self, addresses: list[str], scenario: str, mode: str, settings: dict[str, Any],
              benchmark: str = "digits") -> tuple[list[str], pathlib.Path]:
        """The flags of a run, and its folder."""
        folder = self.new_folder()
        conf = folder.with_suffix(".conf")
        conf.write_text("".join(f"{benchmark}.{scenario}.{key} = {value}\n" for key, value in settings.items()))
        return words_of({"--sut": ",".join(addresses), "--option": "wait-ready=30s", "--benchmark": benchmark,
                         "--scenario": scenario, "--mode": mode, "--user-conf": str(conf),
                         "--out": str(folder)}) + ["--trace-log"], folder

    def ran(self, words: list[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(command_of(words), env=self.environment, capture_output=True, text=True,
                              timeout=RUN_TIMEOUT_S, check=False)

    @contextlib.contextmanager
    def started(self, words: list[str], folder: pathlib.Path) -> Iterator[subprocess.Popen[str]]:
        """A run that is two seconds old, and is stopped in any case."""
        command = words if words[0] == sys.executable else command_of(words)
        program = subprocess.Popen(command, env=self.environment, text=True, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        try:
            wait_until(lambda: (folder / "mlperf_log_detail.txt").exists() or program.poll() is not None, 30)
            time.sleep(2)
            if program.poll() is not None:
                raise Wrong(f"ended by itself: {program.communicate()}")
            yield program
        finally:
            program.kill()
            program.wait()

    def check_logs(self, folder: pathlib.Path, scenario: str, mode: str) -> dict[str, Any]:
        """Returns the detail log; of keys that are there more than once, the last."""
        lines = DETAIL.findall((folder / "mlperf_log_detail.txt").read_text())
        detail = {key: json.loads(value) for key, value in lines if key != "generic_message"}
        name = detail["sut_name"]
        expect(f"{name!r} begins with Network SUT", True, name.startswith("Network SUT: "))
        expect(f"{name!r} has both nodes", True, all(node in name for node in NODE_NAMES))
        expect("get_sut_name_duration_ns is above 0", True, int(detail["get_sut_name_duration_ns"]) > 0)
        expect("qsl_reported_total_count", SAMPLES, int(detail["qsl_reported_total_count"]))
        expect("effective_scenario", scenario, detail["effective_scenario"].replace(" ", ""))
        expect("effective_test_mode", mode, detail["effective_test_mode"].replace(" ", ""))
        expect("errors", [], errors_of(lines))
        expect("num_errors", 0, int(detail.get("num_errors", 0)))
        return detail

    def check_screen(self, said: str, folder: pathlib.Path) -> None:
        """A verdict is shown as the official log has it, and nowhere else."""
        found = re.findall(r"^Result is : (\w+)$", (folder / "mlperf_log_summary.txt").read_text(), re.MULTILINE)
        shown = re.findall(rf"^ *{re.escape(VERDICT)}(\w+)$", said, re.MULTILINE)
        expect("verdicts shown", found, shown)
        expect("places that say VALID", len(shown), said.count("VALID"))
        expect("the name is shown", True, all(node in said for node in NODE_NAMES))


def words_of(flags: dict[str, str]) -> list[str]:
    return [word for pair in flags.items() for word in pair]


def command_of(words: list[str]) -> list[str]:
    return [sys.executable, "-m", "loadgen_network", "run", *words]


def check_unusable(folder: pathlib.Path) -> None:
    """The network's file says that the run cannot be used and names the node; the official one does not say VALID."""
    result = json.loads((folder / "qdl_result.json").read_text())
    expect("state", "unusable", result["state"])
    reasons = " | ".join(result["reasons"])
    expect(f"{NODE_NAMES[1]} is in {reasons!r}", True, NODE_NAMES[1] in reasons)
    summary = folder / "mlperf_log_summary.txt"
    expect("VALID in the summary", False, summary.exists() and re.search(r"\bVALID\b", summary.read_text()) is not None)


if __name__ == "__main__":
    main()
