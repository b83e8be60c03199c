#!/usr/bin/env python3
"""Makes the small logs of official wheels that the engine's tests read.

    small_logs.py --venvs target/wheels --out loadgen-node/engine/src/official/wheels

Each wheel gets an environment of its own, which is made at the first call. Of a log the keys and values are kept, and
the whole summary: what differs between releases.
"""

import argparse
import pathlib
import re
import subprocess
import tempfile

from rounds_diff import python_of

RELEASES = ["5.0.0", "5.0.18", "5.0.25", "5.1.1", "6.0.5", "6.0.17"]
CASES = ["offline", "offline-tokens", "server-tokens"]
# The sums and words of the wheel's own sources, and counters of its logger.
LEFT_OUT = re.compile(r"loadgen_(build|git|file)|logger_|power_")
LINE = re.compile(r':::MLLOG \{"key": "(.*?)", "value": (.*), "time_ms": ')


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--venvs", type=pathlib.Path, required=True, metavar="DIR", help="where the environments are")
    parser.add_argument("--out", type=pathlib.Path, required=True, metavar="DIR", help="where the logs go")
    parser.add_argument("--run", nargs=2, metavar=("CASE", "DIR"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.run:
        return run(*args.run)
    args.out.mkdir(parents=True, exist_ok=True)
    for release in RELEASES:
        python = python_of(args.venvs, release)
        for case in CASES:
            with tempfile.TemporaryDirectory() as folder:
                command = [python, __file__, "--venvs", args.venvs, "--out", args.out, "--run", case, folder]
                subprocess.run(command, check=True)
                text = kept(pathlib.Path(folder))
            (args.out / f"{release}-{case}.txt").write_text(text)
            print(f"{release} {case}: {len(text)} bytes", flush=True)
    return None


def kept(folder):
    """A key and its value a line, an empty line, the summary."""
    lines = (folder / "mlperf_log_detail.txt").read_text().splitlines()
    entries = [match.groups() for line in lines if (match := LINE.match(line))]
    entries = [f"{key} {value}" for key, value in entries if not LEFT_OUT.match(key)]
    return "\n".join(entries) + "\n\n" + (folder / "mlperf_log_summary.txt").read_text()


def run(case, folder):
    """A run of the wheel whose environment this is, with a SUT that answers at once."""
    import array
    import mlperf_loadgen as lg  # pylint: disable=import-error,import-outside-toplevel

    settings = lg.TestSettings()
    settings.mode = lg.TestMode.PerformanceOnly
    settings.min_duration_ms, settings.min_query_count = 0, 24
    is_server = case.startswith("server")
    settings.scenario = lg.TestScenario.Server if is_server else lg.TestScenario.Offline
    settings.offline_expected_qps = 10
    if is_server:
        settings.server_target_qps, settings.min_query_count = 200, 700
    has_tokens = case.endswith("tokens")
    if has_tokens:
        settings.use_token_latencies = True
        settings.ttft_latency, settings.tpot_latency = 2_000_000_000, 200_000_000
    data = array.array("B", bytes(8))
    address, size = data.buffer_info()

    def issue(samples):
        ids = [sample.id for sample in samples]
        if is_server and has_tokens:
            lg.FirstTokenComplete([lg.QuerySampleResponse(i, address, size) for i in ids])
        counts = [5] if has_tokens else []
        lg.QuerySamplesComplete([lg.QuerySampleResponse(i, address, size, *counts) for i in ids])

    sut, qsl = lg.ConstructSUT(issue, lambda: None), lg.ConstructQSL(64, 64, lambda _: None, lambda _: None)
    output, log = lg.LogOutputSettings(), lg.LogSettings()
    output.outdir, output.copy_summary_to_stdout = folder, False
    log.log_output, log.enable_trace = output, False
    lg.StartTestWithLogSettings(sut, qsl, settings, log)
    lg.DestroyQSL(qsl)
    lg.DestroySUT(sut)


if __name__ == "__main__":
    main()
