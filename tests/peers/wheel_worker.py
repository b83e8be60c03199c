"""Runs a batch of cases on the official LoadGen; a program of its own, because the wheel may take the process down.

    wheel_worker.py BATCH.json

BATCH.json is a list of cases, each with a `folder`. Every case leaves the wheel's four log files there and, as the
sign that it came to its end, `calls.json`: what the callbacks saw, phase by phase.
"""

import json
import pathlib
import sys

import mlperf_loadgen as lg

from random_cases import token_count


class InstantSut:
    """Completes every query inside the call that issues it, and notes what it was asked."""

    def __init__(self, settings):
        self.has_tokens = settings.get("use_token_latencies", False)
        self.has_first_tokens = self.has_tokens and settings["scenario"] != "Offline"
        self.phases = []

    def load(self, indices):
        self.phases.append({"loaded_set": list(indices), "sample_indices": []})

    def unload(self, _indices):
        pass

    def issue(self, samples):
        self.phases[-1]["sample_indices"] += [sample.index for sample in samples]
        if self.has_first_tokens:
            lg.FirstTokenComplete([lg.QuerySampleResponse(sample.id, 0, 0) for sample in samples])
        if self.has_tokens:
            answers = [lg.QuerySampleResponse(sample.id, 0, 0, token_count(sample.index)) for sample in samples]
        else:
            answers = [lg.QuerySampleResponse(sample.id, 0, 0) for sample in samples]
        lg.QuerySamplesComplete(answers)

    def flush(self):
        pass


def official_settings(settings):
    result = lg.TestSettings()
    for name, value in settings.items():
        if name == "scenario":
            value = getattr(lg.TestScenario, value)
        elif name == "mode":
            value = getattr(lg.TestMode, value)
        setattr(result, name, value)
    return result


def log_settings(folder):
    output = lg.LogOutputSettings()
    output.outdir = str(folder)
    result = lg.LogSettings()
    result.log_output = output
    result.enable_trace = True
    return result


def run(case):
    folder = pathlib.Path(case["folder"])
    recorder = InstantSut(case["settings"])
    sut = lg.ConstructSUT(recorder.issue, recorder.flush)
    qsl = lg.ConstructQSL(case["qsl"]["total"], case["qsl"]["performance"], recorder.load, recorder.unload)
    no_audit_file = str(folder / "no-audit.config")
    lg.StartTestWithLogSettings(sut, qsl, official_settings(case["settings"]), log_settings(folder), no_audit_file)
    lg.DestroyQSL(qsl)
    lg.DestroySUT(sut)
    (folder / "calls.json").write_text(json.dumps(recorder.phases))


if __name__ == "__main__":
    for each in json.loads(pathlib.Path(sys.argv[1]).read_text()):
        run(each)
