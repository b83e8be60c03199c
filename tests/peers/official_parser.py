#!/usr/bin/env python3
"""The official submission checker's own parser reads our detail logs: what it takes from them is what we wrote, and the
marks of the Network division beside it do not get in its way. The last line says what was read.

Usage: official_parser.py --loadgen-node PROGRAM --inference CLONE

CLONE is a clone of https://github.com/mlcommons/inference.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--loadgen-node", required=True)
    parser.add_argument("--inference", required=True, type=pathlib.Path)
    args = parser.parse_args()
    sys.path.insert(0, str(args.inference / "tools" / "submission"))
    from submission_checker.parsers.loadgen_parser import LoadgenParser

    with tempfile.TemporaryDirectory() as above:
        folder = pathlib.Path(above) / "run"
        # Both ends on one host: a rule of the division is broken, and the log says so.
        subprocess.run([args.loadgen_node, "demo", "--out", folder], check=True, stdout=subprocess.DEVNULL)
        result = json.loads((folder / "result_summary.json").read_text())
        log = LoadgenParser(folder / "mlperf_log_detail.txt")
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
    marks = [message["value"] for message in log.messages["lon_mark"]]
    assert any("separate_hosts" in mark for mark in marks), marks
    print(f"official parser: {len(log.keys)} keys, {len(marks)} marks, {log['result_validity']}")


if __name__ == "__main__":
    main()
