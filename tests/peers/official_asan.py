#!/usr/bin/env python3
"""lon-official and the official LoadGen under AddressSanitizer and UndefinedBehaviorSanitizer, with two SUT nodes.

    official_asan.py --bin FOLDER [--keep DIR]

FOLDER has loadgen-node, sut-node and liblon_qdl.so. The official LoadGen, by build_loadgen.sh, and lon-official are
compiled here with g++, in a temporary folder. liblon_qdl.so is the one that is there: it is not instrumented, but what
it allocates is watched, and so are the copies that it makes with functions of libc. What is tested is in README.md
beside this file. The last line is `N passed, N failed`; every failure is a line of its own.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
from typing import Any, Callable

from official_cpp import (LONG, LOSS_TIMEOUT_S, Tests, Wrong, communicate_within, expect, expect_exit, keep, tried,
                          wait_until)

CAPI = pathlib.Path(__file__).resolve().parents[2] / "qdl/capi"
FLAGS = ["-O0", "-g1", "-fno-omit-frame-pointer", "-pthread", "-fsanitize=address,undefined"]
# A first token after 20 ms, 16 of them in an answer.
STREAM = "synthetic:ttft=20ms,tpot=2ms,tokens=16"
# Faults that must be found, or nothing that follows means anything: the argument, and words of its report.
FAULTS = {"beyond": "heap-buffer-overflow", "freed": "heap-use-after-free", "leaked": "LeakSanitizer",
          "shifted": "runtime error: shift exponent"}
FAULTY = r"""
#include <cstdlib>
#include <string>
#include "lon_qdl.h"
static void* volatile kept;
int main(int count, char** words) {
  const std::string fault = words[1];
  if (fault == "leaked") {
    kept = std::malloc(1000);
    kept = nullptr;
  }
  if (fault == "shifted") return (1 << (count + 40)) != 0 ? 0 : 0;
  lon_handle qsl = 0;
  const size_t index = 0;
  const void* data = nullptr;
  size_t size = 0;
  if (lon_qsl_open("{\"benchmark\": \"digits\"}", &qsl) != LON_OK || lon_load(qsl, &index, 1) != LON_OK) return 2;
  if (lon_encoded(qsl, index, &data, &size) != LON_OK || size == 0) return 2;
  const auto bytes = static_cast<const volatile unsigned char*>(data);
  int read = 0;
  if (fault == "beyond") read = bytes[size];
  if (fault == "freed") lon_unload(qsl, &index, 1), read = bytes[0];
  return lon_close(qsl, nullptr) == LON_OK ? 0 * read : 2;
}
"""
# Instead of a program: keeps a copy of its standard error, which UndefinedBehaviorSanitizer writes into with g++. The
# process is that of the program.
KEEPS_STDERR = """#!/usr/bin/env bash
exec '{program}' "$@" 2> >(exec tee -a '{reports}'/stderr.$$ >&2)
"""
# A program with a loss handler: LoadGen comes to its end. Arguments: options, folder, whether answers have tokens.
GOES_ON = r"""
#include <filesystem>
#include <iostream>
#include "lon_qdl.hpp"
#include "test_settings.h"
int main(int, char** words) try {
  mlperf::TestSettings settings;
  mlperf::LogSettings logs;
  const bool has_tokens = std::string(words[3]) == "tokens";
  settings.scenario = mlperf::TestScenario::Server;
  settings.mode = has_tokens ? mlperf::TestMode::PerformanceOnly : mlperf::TestMode::AccuracyOnly;
  settings.use_token_latencies = has_tokens;
  settings.server_target_qps = 30;
  settings.min_query_count = 100;
  settings.min_duration_ms = 2000;
  logs.log_output.outdir = words[2];
  int losses = 0;
  lon::Run run(words[1], [&losses](const std::string&) { ++losses; });
  lon::Qdl qdl(run);
  lon::Qsl qsl(run, "samples");
  std::filesystem::create_directories(words[2]);
  mlperf::StartTest(&qdl, &qsl, settings, logs, "");
  std::cout << losses << std::endl;
  run.close(words[2]);
} catch (const lon::Error& error) {
  std::cerr << error.what() << std::endl;
  return error.exit_code();
}
"""
# Sources by the names of programs.
PROGRAMS = {"lon-official": (CAPI / "cpp/lon_official.cpp").read_text(), "goes-on": GOES_ON, "faulty": FAULTY}


def main() -> None:
    args = parse_args()
    with tempfile.TemporaryDirectory(prefix="official-asan-") as scratch:
        started = time.monotonic()
        tests = SanitizedTests(args.bin.resolve(), pathlib.Path(scratch))
        print(f"        compiled in {time.monotonic() - started:.0f} s", flush=True)
        failed = tried(tests.all(), lambda: keep(tests.reports, args.keep), tests.forget_reports)
    sys.exit(1 if failed else 0)


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", required=True, type=pathlib.Path,
                        help="folder with loadgen-node, sut-node and liblon_qdl.so")
    parser.add_argument("--keep", type=pathlib.Path, metavar="DIR", help="keep the reports here when a test fails")
    return parser.parse_args()


class SanitizedTests(Tests):
    """Runs of lon-official as in official_cpp.py; each of them leaves no report."""

    def __init__(self, binaries: pathlib.Path, scratch: pathlib.Path):
        self.reports, build = scratch / "reports", scratch / "build"
        self.reports.mkdir()
        compile_all(binaries, build)
        programs = {name: scratch / name for name in PROGRAMS}
        for name, path in programs.items():
            path.write_text(KEEPS_STDERR.format(program=build / name, reports=self.reports))
            path.chmod(0o755)
        self.faulty, self.goes_on = programs["faulty"], programs["goes-on"]
        super().__init__(programs["lon-official"], binaries, scratch)
        log = f"log_path={self.reports / 'report'}"
        # Programs that are started from here inherit it; nodes are not instrumented.
        os.environ["ASAN_OPTIONS"] = ":".join([log, "detect_leaks=1", "detect_stack_use_after_return=1",
                                               "strict_string_checks=1", "strict_init_order=1", "exitcode=99"])
        os.environ["UBSAN_OPTIONS"] = "print_stacktrace=1"

    def all(self) -> list[tuple[str, Callable[[], None]]]:
        tests: list[tuple[str, Callable[[], None]]] = [
            (f"a fault is found: {fault}", lambda fault=fault: self.found(fault)) for fault in FAULTS]
        clean: list[tuple[str, Callable[[], None]]] = [("usage", self.usage), ("no node", self.no_node)]
        for scenario, mode, threads in [("Server", "PerformanceOnly", 0), ("Offline", "PerformanceOnly", 0),
                                        ("Server", "PerformanceOnly", 2), ("SingleStream", "PerformanceOnly", 0),
                                        ("MultiStream", "PerformanceOnly", 0), ("Server", "AccuracyOnly", 0),
                                        ("Offline", "AccuracyOnly", 0), ("Offline", "SubmissionRun", 0)]:
            name = f"{scenario} {mode}" + (f", issued by {threads}" if threads else "")
            clean.append((name, lambda run=(scenario, mode, threads): self.complete(*run)))
        clean += [("Server FindPeakPerformance", self.peak), ("Server with an audit file", self.audited)]
        for scenario in LONG:
            for how, what in [(signal.SIGKILL, "is killed"), (signal.SIGSTOP, "freezes")]:
                clean.append((f"{scenario}, a node {what}", lambda run=(scenario, how): self.lost(*run)))
        clean += [("Server AccuracyOnly, a node is killed, with a loss handler", self.lost_and_going_on),
                  ("Server, token by token", self.tokens)]
        return tests + [(name, lambda test=test: self.clean(test)) for name, test in clean]

    def clean(self, test: Callable[[], None]) -> None:
        """Reports come first: a program that has one ends with another exit code. What else is wrong is tried once
        more: runs have limits of time, and these get only the time that other steps leave."""
        for is_last in (False, True):
            failure = None
            try:
                test()
            except Wrong as error:
                failure = error
            for path in sorted(self.reports.iterdir()):
                for line in counted(path.read_text()):
                    raise Wrong(f"{line} ({path.name})" + (f"; {failure}" if failure else ""))
            if failure is None:
                return
            if is_last:
                raise failure
            print(f"once more, no sanitizer has found anything: {failure}", flush=True)

    def forget_reports(self) -> None:
        for path in self.reports.iterdir():
            path.unlink()

    def found(self, fault: str) -> None:
        ended = self.run([self.faulty, fault])
        reports = "".join(path.read_text() for path in self.reports.iterdir())
        expect(f"{FAULTS[fault]!r} in {reports[:300]!r} {ended.stderr[-300:]!r}", True, FAULTS[fault] in reports)
        expect("there are lines that count", True, bool(counted(reports)))

    def options(self, addresses: list[str], folder: pathlib.Path, **more: str) -> str:
        return json.dumps({"sut": ",".join(addresses), "wait-ready": "30s", "scenario": "Server", "out": str(folder),
                           **more})

    def lost_and_going_on(self) -> None:
        """LoadGen gets answers without data, and writes them into its accuracy log."""
        folder = self.new_folder()
        with self.nodes() as (addresses, processes):
            options = self.options(addresses, folder, benchmark="digits", mode="AccuracyOnly")
            program = subprocess.Popen([self.goes_on, options, folder, ""], stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE, text=True)
            try:
                wait_until(lambda: (folder / "mlperf_log_detail.txt").exists() or program.poll() is not None, 30)
                time.sleep(2)
                processes[1].kill()
                said, why = communicate_within(program, LOSS_TIMEOUT_S + 20)
            finally:
                program.kill()
                program.wait()
        expect(f"exit code; {why[-300:]!r}", 4, program.returncode)
        expect("times that the loss handler was called", "1", said.strip())
        expect("state", "unusable", json.loads((folder / "qdl_result.json").read_text())["state"])

    def tokens(self) -> None:
        folder = self.new_folder()
        with self.nodes("--backend", STREAM, "--slots", "64") as (addresses, _):
            options = self.options(addresses, folder, benchmark="synthetic", dataset="synthetic:tokens-i64[16]x8")
            ended = self.run([self.goes_on, options, folder, "tokens"])
        expect_exit("the program", 0, ended)
        expect("first tokens in the summary", True, "TTFT" in (folder / "mlperf_log_summary.txt").read_text())


def counted(report: str) -> list[str]:
    """One line of each report. None is passed over, from whichever source it is."""
    return re.findall(r"^.*(?:runtime error: |ERROR: \w+Sanitizer|SUMMARY: \w+Sanitizer).*$", report, re.MULTILINE)


def compile_all(binaries: pathlib.Path, build: pathlib.Path) -> None:
    """The official library, lon-official and the two programs of this file, with sanitizers."""
    loadgen = build / "loadgen"
    ran_all([[pathlib.Path(__file__).with_name("build_loadgen.sh"), loadgen, *FLAGS]])
    for name, text in PROGRAMS.items():
        (build / f"{name}.cc").write_text(text)
    ran_all([["g++", "-std=c++17", *FLAGS, "-isystem", loadgen / "include", "-I", CAPI / "include", "-I", CAPI / "cpp",
              build / f"{name}.cc", loadgen / "libmlperf_loadgen.a", "-o", build / name, "-L", binaries, "-llon_qdl",
              f"-Wl,-rpath,{binaries}"] for name in PROGRAMS])


def ran_all(commands: list[list[Any]]) -> None:
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for ended in pool.map(lambda command: subprocess.run(command, capture_output=True, text=True, check=False),
                              commands):
            if ended.returncode != 0:
                raise SystemExit(f"{' '.join(map(str, ended.args))}\n{ended.stderr}")


if __name__ == "__main__":
    main()
