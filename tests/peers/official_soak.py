#!/usr/bin/env python3
"""Memory of lon-official and of a SUT node over ten million queries, beyond what LoadGen itself takes.

    official_soak.py --program lon-official --bin FOLDER --loadgen LOADGEN [--samples N] [--max-growth MIB]

PROGRAM is made by qdl/capi/cpp/build.sh; FOLDER has sut-node; LOADGEN has libmlperf_loadgen.a and include/ of the
official LoadGen. The node answers without a model (--backend null); samples have 64 bytes.

LoadGen keeps records of every sample. So the same settings are run with a SUT that answers inside of the process, at
the rate at which the node has answered; it is compiled with CXX, g++ unless given. Each of the two programs runs twice,
with few samples and with all. What the peak of its memory (VmHWM) grows by from few to all must not be larger over the
network than in the process by more than MIB; the node's must not grow by more. Offline has all samples in one query;
Server has a quarter of them, each a query of its own. The last line is `N passed, N failed`.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
from typing import NamedTuple

from official_cpp import Wrong, expect, expect_exit, free_port, tried

# Samples of Server, of all; a quarter, since LoadGen makes queries and a schedule of them beforehand.
SHARES = {"Offline": 1.0, "Server": 0.25}
FEW = 20
SERVER_QPS = 200_000
DATASET_SAMPLES = 1024
DATASET = f"synthetic:u8[64]x{DATASET_SAMPLES}"
EVERY_S = 1
TIMEOUT_S = 300
RATES = {"Offline": re.compile(r"^Samples per second: ([\d.e+]+)$", re.MULTILINE),
         "Server": re.compile(r"^Completed samples per second +: ([\d.e+]+)$", re.MULTILINE)}
# Arguments: scenario, user.conf, folder for the logs, samples per second in one query, samples of the dataset.
IN_PROCESS = r"""
#include <chrono>
#include <string>
#include <thread>
#include <vector>
#include "loadgen.h"
#include "query_sample_library.h"
#include "system_under_test.h"
#include "test_settings.h"
using Clock = std::chrono::steady_clock;
struct Sut : mlperf::SystemUnderTest {
  std::string name{"answers at once"};
  double rate;
  std::vector<mlperf::QuerySampleResponse> batch;
  const std::string& Name() override { return name; }
  void FlushQueries() override {}
  void IssueQuery(const std::vector<mlperf::QuerySample>& samples) override {
    const auto begin = Clock::now();
    for (size_t at = 0; at < samples.size(); ++at) {
      batch.push_back({samples[at].id, 0, 0});
      if (batch.size() < 256 && at + 1 < samples.size()) continue;
      mlperf::QuerySamplesComplete(batch.data(), batch.size());
      batch.clear();
      if (samples.size() > 1) std::this_thread::sleep_until(begin + std::chrono::nanoseconds(long(at * 1e9 / rate)));
    }
  }
};
struct Qsl : mlperf::QuerySampleLibrary {
  std::string name{"nothing"};
  size_t count;
  const std::string& Name() override { return name; }
  size_t TotalSampleCount() override { return count; }
  size_t PerformanceSampleCount() override { return count; }
  void LoadSamplesToRam(const std::vector<mlperf::QuerySampleIndex>&) override {}
  void UnloadSamplesFromRam(const std::vector<mlperf::QuerySampleIndex>&) override {}
};
int main(int, char** words) {
  mlperf::TestSettings settings;
  settings.FromConfig("", "synthetic", words[1], 0);
  if (settings.FromConfig(words[2], "synthetic", words[1]) != 0) return 2;
  const bool is_server = std::string(words[1]) == "Server";
  settings.scenario = is_server ? mlperf::TestScenario::Server : mlperf::TestScenario::Offline;
  settings.mode = mlperf::TestMode::PerformanceOnly;
  mlperf::LogSettings logs;
  logs.log_output.outdir = words[3];
  logs.enable_trace = false;
  Sut sut;
  sut.rate = std::stod(words[4]);
  Qsl qsl;
  qsl.count = std::stoul(words[5]);
  mlperf::StartTest(&sut, &qsl, settings, logs, "");
}
"""


class Ran(NamedTuple):
    """Memory in MiB."""
    peak: float
    seconds: float
    # Once a second: of the program, of the node.
    seen: list[tuple[float, float]]
    rate: float


def main() -> None:
    args = parse_args()
    with tempfile.TemporaryDirectory(prefix="official-soak-") as scratch:
        soak = Soak(args, pathlib.Path(scratch))
        failed = tried([(scenario, lambda scenario=scenario: soak.scenario(scenario)) for scenario in SHARES])
    sys.exit(1 if failed else 0)


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--program", required=True, type=pathlib.Path, help="lon-official")
    parser.add_argument("--bin", required=True, type=pathlib.Path, help="folder with sut-node")
    parser.add_argument("--loadgen", required=True, type=pathlib.Path,
                        help="folder with libmlperf_loadgen.a and include/ of the official LoadGen")
    parser.add_argument("--samples", type=int, default=10_000_000, help="of the Offline query [%(default)s]")
    parser.add_argument("--max-growth", type=float, default=64, metavar="MIB", help="[%(default)s]")
    return parser.parse_args()


class Soak:
    def __init__(self, args: argparse.Namespace, scratch: pathlib.Path):
        self.program, self.binaries, self.scratch = args.program.resolve(), args.bin.resolve(), scratch
        self.samples, self.max_growth = args.samples, args.max_growth
        self.count = 0
        self.in_process = scratch / "in-process"
        source = scratch / "in_process.cpp"
        source.write_text(IN_PROCESS)
        loadgen = args.loadgen.resolve()
        subprocess.run([os.environ.get("CXX", "g++"), "-std=c++17", "-O2", "-pthread", "-isystem", loadgen / "include",
                        source, loadgen / "libmlperf_loadgen.a", "-o", self.in_process], check=True)

    def scenario(self, scenario: str) -> None:
        many = int(self.samples * SHARES[scenario])
        address = f"127.0.0.1:{free_port()}"
        with open(self.scratch / "node.log", "a", encoding="utf-8") as log:
            node = subprocess.Popen([self.binaries / "sut-node", "serve", "--node", "N1", "--listen", address,
                                     "--backend", "null"], stdout=log, stderr=log)
        try:
            # Its memory after few samples is what its memory after all is held against.
            few = self.over_network(scenario, many // FEW, address, node.pid)
            node_few = memory_of(node.pid, "VmHWM")
            all_of_them = self.over_network(scenario, many, address, node.pid)
            node_many = memory_of(node.pid, "VmHWM")
            expect("exit code of the node, which goes on", None, node.poll())
        finally:
            node.kill()
            node.wait()
        base_few = self.here(scenario, many // FEW, few.rate)
        base_many = self.here(scenario, many, all_of_them.rate)
        growth, base_growth = all_of_them.peak - few.peak, base_many.peak - base_few.peak
        beyond, node_growth = growth - base_growth, node_many - node_few
        print(f"        {scenario}: {many} samples, {all_of_them.rate:.0f}/s; {all_of_them.seconds:.0f} s over the "
              f"network, {base_many.seconds:.0f} s in the process")
        print(f"        lon-official, MiB once a second: {series([program for program, _ in all_of_them.seen])}")
        print(f"        node, MiB once a second: {series([node for _, node in all_of_them.seen])}")
        print(f"        peaks with {many // FEW} and {many} samples: lon-official {few.peak:.0f} and "
              f"{all_of_them.peak:.0f} MiB, in the process {base_few.peak:.0f} and {base_many.peak:.0f} MiB, node "
              f"{node_few:.0f} and {node_many:.0f} MiB")
        print(f"        growth: lon-official {beyond:+.1f} MiB beyond LoadGen's own {base_growth:.1f} MiB "
              f"({beyond * 2**20 / (many - many // FEW):+.1f} bytes a sample), node {node_growth:+.1f} MiB", flush=True)
        expect(f"lon-official grows by less than {self.max_growth} MiB: {beyond:.1f}", True, beyond < self.max_growth)
        expect(f"the node grows by less than {self.max_growth} MiB: {node_growth:.1f}", True,
               node_growth < self.max_growth)

    def over_network(self, scenario: str, samples: int, address: str, node: int) -> Ran:
        folder = self.new_folder()
        ran = self.watched([self.program, "--sut", address, "--option", "wait-ready=30s", "--benchmark", "synthetic",
                            "--option", f"dataset={DATASET}", "--scenario", scenario, "--user-conf",
                            self.conf(scenario, samples), "--out", folder], scenario, folder, node)
        result = json.loads((folder / "qdl_result.json").read_text())
        expect("state", "usable", result["state"])
        expect("samples answered", result["counts"]["issued"], result["counts"]["completed"])
        expect(f"at least {samples} samples are issued", True, result["counts"]["issued"] >= samples)
        return ran

    def here(self, scenario: str, samples: int, rate: float) -> Ran:
        folder = self.new_folder()
        folder.mkdir()
        return self.watched([self.in_process, scenario, self.conf(scenario, samples), folder, str(rate),
                             str(DATASET_SAMPLES)], scenario, folder, None)

    def watched(self, command: list, scenario: str, folder: pathlib.Path, node: int | None) -> Ran:
        """Runs a program to its end; the rate is from LoadGen's summary."""
        seen: list[tuple[float, float]] = []
        began = time.monotonic()
        with open(self.scratch / "program.log", "w+", encoding="utf-8") as log:
            program = subprocess.Popen(command, stdout=log, stderr=log)
            try:
                pid = status = 0
                while pid == 0:
                    if time.monotonic() - began > TIMEOUT_S:
                        raise Wrong(f"{command[0].name} had not ended after {TIMEOUT_S} s")
                    if time.monotonic() - began > EVERY_S * (len(seen) + 1):
                        seen.append((memory_of(program.pid, "VmRSS"), memory_of(node, "VmRSS") if node else 0.0))
                    time.sleep(0.02)
                    pid, status, usage = os.wait4(program.pid, os.WNOHANG)
                program.returncode = os.waitstatus_to_exitcode(status)
            finally:
                if program.returncode is None:
                    program.kill()
                    program.wait()
            log.seek(0)
            told = log.read()
        seconds = time.monotonic() - began
        expect_exit(command[0].name, 0, subprocess.CompletedProcess(command, program.returncode, told, told))
        summary = (folder / "mlperf_log_summary.txt").read_text()
        expect("no errors in the summary", True, "No errors encountered during test." in summary)
        found = RATES[scenario].search(summary)
        if found is None:
            raise Wrong("there is no rate in the summary")
        return Ran(usage.ru_maxrss / 1024, seconds, seen, float(found[1]))

    def conf(self, scenario: str, samples: int) -> pathlib.Path:
        settings = {"min_duration": 1, "min_query_count": samples, "target_latency": 10**7,
                    "target_qps": SERVER_QPS if scenario == "Server" else 1}
        path = self.new_folder().with_suffix(".conf")
        path.write_text("".join(f"synthetic.{scenario}.{key} = {value}\n" for key, value in settings.items()
                                if scenario == "Server" or key != "target_latency"))
        return path

    def new_folder(self) -> pathlib.Path:
        """A folder that is not there yet."""
        self.count += 1
        return self.scratch / f"run-{self.count}"


def memory_of(pid: int, key: str) -> float:
    """In MiB; 0 of a process that has ended."""
    found = re.search(rf"^{key}:\s+(\d+) kB$", pathlib.Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    return int(found[1]) / 1024 if found else 0.0


def series(values: list[float]) -> str:
    return " ".join(f"{value:.0f}" for value in values)


if __name__ == "__main__":
    main()
