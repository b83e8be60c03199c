#!/usr/bin/env python3
"""Samples per second through the official Python LoadGen: a SUT in the same process, and loadgen_network.

    wheel_rate.py --bin FOLDER [--samples N] [--seconds N] [--server-qps N] [--repeat N]

FOLDER has sut-node and liblon_qdl.so. Both are asked the same: Offline, N samples in one query, and Server for some
seconds at a rate that neither can answer, so that the rate of answers is the most that there is. The SUT in the process
answers in the call that asks it; the node answers without a model (--backend null). Prints both and their ratio.
"""

import argparse
import os
import pathlib
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import mlperf_loadgen as lg

PACKAGE = pathlib.Path(__file__).resolve().parents[2] / "qdl/capi/python"
DATASET_SAMPLES = 1024
DATASET = f"synthetic:u8[64]x{DATASET_SAMPLES}"
RATES = {"Offline": re.compile(r"^Samples per second: ([\d.e+]+)$", re.MULTILINE),
         "Server": re.compile(r"^Completed samples per second +: ([\d.e+]+)$", re.MULTILINE)}


def main() -> None:
    args = parse_args()
    os.environ["LON_QDL_LIBRARY"] = str(args.bin.resolve() / "liblon_qdl.so")
    sys.path.insert(0, str(PACKAGE))
    address = free_address()
    node = subprocess.Popen([args.bin / "sut-node", "serve", "--node", "N1", "--listen", address, "--backend", "null"],
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for scenario in RATES:
            settings = settings_of(scenario, args)
            here = [in_process(scenario, settings) for _ in range(args.repeat)]
            there = [over_network(scenario, settings, address) for _ in range(args.repeat)]
            one, other = statistics.median(here), statistics.median(there)
            print(f"{scenario:8} in process {one:9.0f}/s, over the network {other:9.0f}/s, ratio {other / one:.3f}",
                  flush=True)
    finally:
        node.kill()
        node.wait()


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", required=True, type=pathlib.Path, help="folder with sut-node and liblon_qdl.so")
    parser.add_argument("--samples", type=int, default=500_000, help="of the Offline query [%(default)s]")
    parser.add_argument("--seconds", type=float, default=3, help="schedule of the Server run [%(default)s]")
    parser.add_argument("--server-qps", type=int, default=200_000, help="rate of that schedule [%(default)s]")
    parser.add_argument("--repeat", type=int, default=3, help="runs of each; the median counts [%(default)s]")
    return parser.parse_args()


def settings_of(scenario: str, args: argparse.Namespace) -> Any:
    settings = lg.TestSettings()
    settings.scenario = getattr(lg.TestScenario, scenario)
    settings.mode = lg.TestMode.PerformanceOnly
    settings.min_duration_ms = 0 if scenario == "Offline" else int(args.seconds * 1000)
    settings.min_query_count = args.samples if scenario == "Offline" else 1
    settings.offline_expected_qps = 1
    settings.server_target_qps = args.server_qps
    settings.server_target_latency_ns = 10**12
    return settings


def in_process(scenario: str, settings: Any) -> float:
    """The rate of a SUT that answers in the call that asks it."""
    def issue(samples: list[Any]) -> None:
        lg.QuerySamplesComplete([lg.QuerySampleResponse(sample.id, 0, 0) for sample in samples])

    sut = lg.ConstructSUT(issue, lambda: None)
    qsl = lg.ConstructQSL(DATASET_SAMPLES, DATASET_SAMPLES, lambda indices: None, lambda indices: None)
    try:
        return measured(scenario, lambda logs: lg.StartTestWithLogSettings(sut, qsl, settings, logs, ""))
    finally:
        lg.DestroyQSL(qsl)
        lg.DestroySUT(sut)


def over_network(scenario: str, settings: Any, address: str) -> float:
    """The rate of a node on this host."""
    from loadgen_network import Run  # pylint: disable=import-outside-toplevel

    options = {"sut": address, "wait-ready": "30s", "benchmark": "synthetic", "dataset": DATASET, "scenario": scenario}
    with Run(options) as run:
        with run.official() as (sut, qsl):
            return measured(scenario, lambda logs: lg.StartTestWithLogSettings(sut, qsl, settings, logs, ""))


def measured(scenario: str, test: Callable[[Any], None]) -> float:
    """The rate of answers in the official summary."""
    with tempfile.TemporaryDirectory(prefix="wheel-rate-") as folder:
        logs, output = lg.LogSettings(), lg.LogOutputSettings()
        output.outdir = folder
        logs.log_output = output
        logs.enable_trace = False
        began = time.monotonic()
        test(logs)
        summary = pathlib.Path(folder, "mlperf_log_summary.txt").read_text(encoding="utf-8")
    found = RATES[scenario].search(summary)
    if found is None:
        raise SystemExit(f"no rate in the official summary after {time.monotonic() - began:.1f} s:\n{summary}")
    return float(found[1])


def free_address() -> str:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{listener.getsockname()[1]}"


if __name__ == "__main__":
    main()
