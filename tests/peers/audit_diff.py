#!/usr/bin/env python3
"""Compares the head of the detail log and the end of the summary of runs with an audit file: the official wheel's and
ours. Both run with the same settings; ours answers over a network.

    audit_diff.py --bin FOLDER

FOLDER has loadgen-node and sut-node. What differs is printed; the last line is `N cases the same, N differ`.
"""

import argparse
import contextlib
import json
import pathlib
import re
import socket
import subprocess
import sys
import tempfile

WORKER = pathlib.Path(__file__).with_name("audit_worker.py")
MODEL = pathlib.Path(__file__).parents[2] / "loadgen-node/qsl/digits/digits.onnx"
# Cases: the audit file and mlperf.conf, for the flags of both ends. The audit files are those of TEST01, TEST04, and of
# TEST05, whose keys LoadGen does not read from an audit file any more.
CASES = {
    "no audit": ("", ""),
    "TEST01": ("*.*.mode = 2\n*.*.accuracy_log_rng_seed = 720381539243781796\n"
               "*.*.accuracy_log_sampling_target = 128\n", ""),
    "TEST04": ("*.*.mode = 2\n*.*.performance_issue_unique = 0\n*.*.performance_issue_same = 1\n"
               "*.*.performance_issue_same_index = 3\n", ""),
    "TEST05 as an audit file": ("*.*.mode = 2\n*.*.qsl_rng_seed = 5\n*.*.test05 = 1\n", ""),
    "test05 in mlperf.conf": ("", "*.*.test05 = 1\n"),
    "test05 in mlperf.conf, and an audit file": ("*.*.mode = 2\n", "*.*.test05 = 1\n"),
    "an audit with an error": ("*.*.performance_issue_same = 1\n*.*.performance_issue_unique = 1\n", ""),
}
SETTINGS = "target_qps=200,min_query_count=100,min_duration=0"
LINE = re.compile(r':::MLLOG \{"key": "([^"]*)", "value": (.*?), "time_ms": .*"is_error": (\w+), "is_warning": (\w+),')
# Values that are each program's own.
OWN = ["test_datetime", "sut_name", "get_sut_name_duration_ns", "qsl_name"]


@contextlib.contextmanager
def node(folder):
    """A SUT node, and where it listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    command = [folder / "sut-node", "serve", "--node", "N1", "--listen", address, "--backend", f"onnx:{MODEL}"]
    served = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        yield address
    finally:
        served.terminate()
        served.wait()


def head(folder):
    """The lines of the detail log from the date to the last setting, and the warnings and errors in them."""
    lines = LINE.findall((folder / "mlperf_log_detail.txt").read_text())
    keys = [line[0] for line in lines]
    last = max(at for at, key in enumerate(keys) if key.startswith("effective_"))
    found = lines[keys.index("test_datetime"):last + 1]
    return [line if line[0] not in OWN else (line[0], "", *line[2:]) for line in found]


def end(folder):
    """The last lines of the summary of the official form, which count warnings and errors."""
    lines = (folder / "mlperf_log_summary.txt").read_text().splitlines()
    return [line for line in lines if " encountered" in line]


def asked(program, flags):
    """The settings that our flags come to, before the audit file."""
    printed = subprocess.run([program, "conf", "--json", *flags], check=True, capture_output=True, text=True).stdout
    document = json.loads(printed)
    return {name: setting["value"] for name, setting in document["settings"].items()}, document["qsl"]


def run_both(args, address, scratch, audit, conf):
    """Runs the wheel and our program; the folders of both."""
    (scratch / "audit.config").write_text(audit)
    (scratch / "mlperf.conf").write_text(conf)
    flags = ["--benchmark", "digits", "--scenario", "Server", "--set", SETTINGS]
    flags += ["--mlperf-conf", scratch / "mlperf.conf"] if conf else []
    program = args.bin.resolve() / "loadgen-node"
    settings, qsl = asked(program, flags)
    ours, theirs = scratch / "ours", scratch / "theirs"
    theirs.mkdir()
    flags += ["--audit-conf", scratch / "audit.config"] if audit else []
    command = [program, "run", "--sut", address, "--wait-ready", "60s", *flags, "--anyway", "--out", ours]
    ended = subprocess.run(command, capture_output=True, text=True)
    if not (ours / "mlperf_log_detail.txt").exists():
        sys.exit(f"loadgen-node run left no logs: {ended.stderr}")
    audit_file = scratch / ("audit.config" if audit else "none.config")
    task = {"settings": settings, "qsl": qsl, "folder": str(theirs), "audit": str(audit_file)}
    subprocess.run([sys.executable, WORKER], input=json.dumps(task), text=True, check=True)
    return theirs, ours


def differences(theirs, ours):
    """Returns the differences, each as a line."""
    for what, read in (("detail log", head), ("summary", end)):
        official, own = read(theirs), read(ours)
        for at in range(max(len(official), len(own))):
            pair = [lines[at] if at < len(lines) else None for lines in (official, own)]
            if pair[0] != pair[1]:
                yield f"{what}, line {at}: official {pair[0]}, ours {pair[1]}"
                break


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--bin", required=True, type=pathlib.Path)
    args = parser.parse_args()
    differ = 0
    with node(args.bin.resolve()) as address:
        for name, (audit, conf) in CASES.items():
            with tempfile.TemporaryDirectory(prefix="audit-diff-") as scratch:
                found = list(differences(*run_both(args, address, pathlib.Path(scratch), audit, conf)))
            differ += bool(found)
            print(f"{name}: {'; '.join(found) or 'the same'}", flush=True)
    print(f"{len(CASES) - differ} cases the same, {differ} differ")
    sys.exit(1 if differ else 0)


main()
