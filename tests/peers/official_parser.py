#!/usr/bin/env python3
"""The official submission checker's own parser reads our detail logs: what it takes from them is what we wrote, and the
marks of the Network division beside it do not get in its way. It finds errors in the log of a run that
lost a node. The last line says what was read.

Usage: official_parser.py --loadgen-node PROGRAM [--inference CLONE]

CLONE is a clone of https://github.com/mlcommons/inference, MLCOMMONS_INFERENCE unless given; without one nothing is
run, and that is said.
"""

import argparse
import json
import pathlib
import socket
import subprocess
import sys
import tempfile
import time

import inference_clone

MODEL = pathlib.Path(__file__).parents[2] / "loadgen-node/qsl/digits/digits.onnx"


def lost_node(program, folder):
    """A run that loses one of its two nodes; the parser must find errors in its log, which make a checker refuse it."""
    nodes, addresses = [], []
    for name in ("N1", "N2"):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            addresses.append(f"127.0.0.1:{free.getsockname()[1]}")
        command = [program.with_name("sut-node"), "serve", "--node", name, "--listen", addresses[-1]]
        nodes.append(subprocess.Popen([*command, "--backend", f"onnx:{MODEL}"], stderr=subprocess.DEVNULL))
    try:
        asked = "target_qps=100,min_query_count=100,min_duration=8000"
        command = [program, "run", "--sut", ",".join(addresses), "--wait-ready", "60s", "--benchmark", "digits"]
        command += ["--scenario", "Server", "--set", asked, "--out", folder]
        run = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        # The file is there from the first moment of the run on.
        while not (folder / "result_summary.json").exists() and run.poll() is None:
            time.sleep(0.1)
        time.sleep(2)
        nodes[1].kill()
        code = run.wait(timeout=120)
    finally:
        for node in nodes:
            node.kill()
            node.wait()
    assert code == 4, f"a run that lost a node ended with exit code {code}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--loadgen-node", required=True)
    args = inference_clone.parsed(parser, ["tools/submission/submission_checker/parsers/loadgen_parser.py"])
    sys.path.insert(0, str(args.inference / "tools" / "submission"))
    from submission_checker.parsers.loadgen_parser import LoadgenParser

    with tempfile.TemporaryDirectory() as above:
        folder = pathlib.Path(above) / "run"
        # Both ends on one host: a rule of the division is broken, and the log says so.
        subprocess.run([args.loadgen_node, "demo", "--out", folder], check=True, stdout=subprocess.DEVNULL)
        result = json.loads((folder / "result_summary.json").read_text())
        log = LoadgenParser(folder / "mlperf_log_detail.txt")
        lost = pathlib.Path(above) / "lost"
        lost_node(pathlib.Path(args.loadgen_node).resolve(), lost)
        errors = LoadgenParser(lost / "mlperf_log_detail.txt")
        summary = (lost / "mlperf_log_summary.txt").read_text()
    expected = {
        "result_validity": result["official_result"],
        "effective_scenario": result["scenario"],
        "sut_name": result["sut_name"],
        "effective_min_query_count": result["settings"]["min_query_count"],
        "qsl_reported_performance_count": 450,
    }
    for key, value in expected.items():
        assert log[key] == value, f"{key}: the parser reads {log[key]!r}, written was {value!r}"
    assert not log.has_error(), log.get_errors()
    told = [error["value"] for error in errors.get_errors()]
    assert errors.has_error() and any("N2 was lost" in text for text in told), told
    assert errors["num_errors"] == len(told), (errors["num_errors"], told)
    assert " ERROR" in summary and "Result is : INVALID" in summary, summary
    marks = [message["value"] for message in log.messages["lon_mark"]]
    assert any("separate_hosts" in mark for mark in marks), marks
    print(f"official parser: {len(log.keys)} keys, {len(marks)} marks, {log['result_validity']}; "
          f"{len(told)} errors of a run that lost a node")


if __name__ == "__main__":
    main()
