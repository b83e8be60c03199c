#!/usr/bin/env python3
"""Compares the settings of every benchmark and scenario in every round with those that are built into the official
LoadGen of that round.

    rounds_diff.py --loadgen-node PATH --venvs FOLDER

Each release of the official package gets an environment of its own in FOLDER. What differs is printed; the last line is
`N settings the same, N differ`, and the exit code is 0 only when none differs.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys

# The release by which a round is known. 6.0.5 and 6.0.10 have the same settings; the later one draws as v6.0 did.
RELEASES = {"v5.0": "5.0.18", "v5.1": "5.1.1", "v6.0": "6.0.10", "v6.1": "6.0.17"}
# The package has settings of these that the round's own loadgen/mlperf.conf (v5.0.1) does not have.
EARLY = {"v5.0": ["deepseek-r1", "deepseek-r1-interactive", "pointpainting"]}
# Names of the Python interface that are not those of the C++ structure.
OTHER_NAMES = {"ttft_latency": "server_ttft_latency", "tpot_latency": "server_tpot_latency"}
WORKER = pathlib.Path(__file__).with_name("rounds_worker.py")


def python_of(venvs, release):
    """The interpreter of an environment with this release, which is made when it is not there."""
    folder = venvs / release
    python = folder / "bin" / "python"
    wanted = ["-c", f"import importlib.metadata as m; assert m.version('mlcommons-loadgen') == '{release}'"]
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    if subprocess.run([python, *wanted], stderr=subprocess.DEVNULL).returncode != 0:
        subprocess.run([python, "-m", "pip", "install", "--quiet", f"mlcommons-loadgen=={release}"], check=True)
    return python


def ours(program, model, scenario, round_name):
    """Our settings by name. Those that cannot be run have exit code 2, and are printed all the same."""
    command = [program, "conf", "--json", "--benchmark", model, "--scenario", scenario, "--rules", round_name]
    # A benchmark that the round does not know asks for data. They have no influence on its settings.
    command += ["--dataset", "synthetic:u8[4]x64"]
    printed = subprocess.run(command, capture_output=True, text=True, env={"PATH": os.environ["PATH"]})
    if not printed.stdout:
        raise SystemExit(f"{' '.join(map(str, command))}: {printed.stderr}")
    return {name: setting["value"] for name, setting in json.loads(printed.stdout)["settings"].items()}


def same(official, mine):
    if isinstance(official, float) or isinstance(mine, float):
        return abs(official - mine) <= 1e-12 * max(abs(official), abs(mine))
    return official == mine


# Benchmarks with settings of their own, because no official config file has any.
OF_OUR_OWN = ("digits", "synthetic", "qwen3-vl-235b-a22b-interactive")


def benchmarks():
    """Names of all benchmarks of MLPerf and their variants, from their files."""
    folder = pathlib.Path(__file__).parents[2] / "loadgen-node/qsl/benchmarks"
    lines = [line for path in sorted(folder.glob("*.toml")) for line in path.read_text().splitlines()]
    names = [line.split('"')[1] for line in lines if line.startswith("name = ")]
    return [name for name in names if name not in OF_OUR_OWN]


def compare(program, round_name, official):
    """Returns the number of equal settings, and a line for each that differs."""
    pairs = [(model, scenario) for model in official for scenario in official[model]]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        mine = list(pool.map(lambda pair: ours(program, *pair, round_name), pairs))
    count, differ = 0, []
    for (model, scenario), settings in zip(pairs, mine):
        for name, value in official[model][scenario].items():
            own = settings[OTHER_NAMES.get(name, name)]
            if same(value, own):
                count += 1
            else:
                differ.append(f"{round_name} {model} {scenario} {name}: official {value}, ours {own}")
    return count, differ


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--loadgen-node", type=pathlib.Path, required=True)
    parser.add_argument("--venvs", type=pathlib.Path, required=True)
    args = parser.parse_args()
    args.venvs.mkdir(parents=True, exist_ok=True)
    models, count, differ = benchmarks(), 0, []
    for round_name, release in RELEASES.items():
        python = python_of(args.venvs, release)
        known = [model for model in models if model not in EARLY.get(round_name, [])]
        printed = subprocess.run([python, WORKER, *known], check=True, capture_output=True, text=True)
        more, others = compare(args.loadgen_node.resolve(), round_name, json.loads(printed.stdout))
        count, differ = count + more, differ + others
    print(*differ, sep="\n")
    print(f"{count} settings the same, {len(differ)} differ")
    sys.exit(1 if differ or count == 0 else 0)


if __name__ == "__main__":
    main()
