"""Prints the settings that the installed LoadGen has built in, as JSON: by model, scenario and name.

    rounds_worker.py MODEL...
"""

import json
import sys

import mlperf_loadgen as lg

SCENARIOS = ["SingleStream", "MultiStream", "Server", "Offline"]


def built_in(model, scenario):
    settings = lg.TestSettings()
    settings.scenario = getattr(lg.TestScenario, scenario)
    # 0: the built-in file. 1 loads it for the first call of a process alone.
    if settings.FromConfig("", model, scenario, 0) != 0:
        raise SystemExit(f"FromConfig fails for {model} {scenario}")
    others = ("FromConfig", "mode", "scenario")
    names = [name for name in dir(settings) if not name.startswith("_") and name not in others]
    return {name: getattr(settings, name) for name in names}


def main():
    found = {model: {name: built_in(model, name) for name in SCENARIOS} for model in sys.argv[1:]}
    json.dump(found, sys.stdout)


main()
