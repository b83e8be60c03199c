#!/usr/bin/env python3
"""Rate of the official Python LoadGen, with a SUT in its own process or over the package loadgen_network.

    wheel_rate.py PLACE SCENARIO BYTES AMOUNT OUT --library FILE

The arguments are those of official_rate.cpp: PLACE is in-process, for a SUT that answers in the call that asks it, or
HOST:PORT of a SUT node. SCENARIO is Server (AMOUNT queries per second are offered, for two seconds) or Offline (AMOUNT
samples in one query). A sample has BYTES. OUT is the folder for LoadGen's logs, whose summary has the figures. FILE is
liblon_qdl.so. `lon-perf` starts it.
"""

import argparse
import os
import pathlib
import sys
from typing import Any

import mlperf_loadgen as lg

PACKAGE = pathlib.Path(__file__).resolve().parents[2] / "qdl/capi/python"
SECONDS = 2
SAMPLES = 64


def main() -> None:
    args = parse_args()
    settings = settings_of(args.scenario, args.amount)
    output = lg.LogOutputSettings()
    output.outdir = str(args.out)
    logs = lg.LogSettings()
    logs.log_output = output
    logs.enable_trace = False
    args.out.mkdir(parents=True, exist_ok=True)
    if args.place == "in-process":
        in_process(settings, logs)
    else:
        over_network(args, settings, logs)


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("place")
    parser.add_argument("scenario", choices=["Server", "Offline"])
    parser.add_argument("bytes", type=int)
    parser.add_argument("amount", type=int)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--library", required=True, type=pathlib.Path, help="liblon_qdl.so")
    return parser.parse_args()


def settings_of(scenario: str, amount: int) -> Any:
    settings = lg.TestSettings()
    settings.scenario = getattr(lg.TestScenario, scenario)
    settings.mode = lg.TestMode.PerformanceOnly
    settings.min_duration_ms = 0 if scenario == "Offline" else SECONDS * 1000
    settings.min_query_count = amount if scenario == "Offline" else 1
    settings.offline_expected_qps = 1
    settings.server_target_qps = amount
    # The rate of answers is looked for, not a verdict.
    settings.server_target_latency_ns = 10**12
    return settings


def in_process(settings: Any, logs: Any) -> None:
    """A SUT that answers in the call that asks it."""
    def issue(samples: list[Any]) -> None:
        lg.QuerySamplesComplete([lg.QuerySampleResponse(sample.id, 0, 0) for sample in samples])

    sut = lg.ConstructSUT(issue, lambda: None)
    qsl = lg.ConstructQSL(SAMPLES, SAMPLES, lambda indices: None, lambda indices: None)
    try:
        lg.StartTestWithLogSettings(sut, qsl, settings, logs, "")
    finally:
        lg.DestroyQSL(qsl)
        lg.DestroySUT(sut)


def over_network(args: argparse.Namespace, settings: Any, logs: Any) -> None:
    """A node that answers, over the network."""
    os.environ["LON_QDL_LIBRARY"] = str(args.library.resolve())
    sys.path.insert(0, str(PACKAGE))
    from loadgen_network import Run  # pylint: disable=import-outside-toplevel

    options = {"sut": args.place, "benchmark": "synthetic", "dataset": f"synthetic:u8[{args.bytes}]x{SAMPLES}",
               "scenario": args.scenario}
    with Run(options) as run:
        with run.official() as (sut, qsl):
            lg.StartTestWithLogSettings(sut, qsl, settings, logs, "")


if __name__ == "__main__":
    main()
