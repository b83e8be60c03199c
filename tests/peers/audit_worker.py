"""Runs the official LoadGen once with a SUT that answers at once; the task is JSON on standard input: `settings` by the
names of TestSettings, `qsl`, the `folder` of the logs, and the `audit` file, which may not be there.
"""

import json
import sys

import mlperf_loadgen as lg

from wheel_worker import InstantSut, log_settings, official_settings


def main():
    task = json.load(sys.stdin)
    settings = task["settings"]
    recorder = InstantSut(settings)
    sut = lg.ConstructSUT(recorder.issue, recorder.flush)
    qsl = lg.ConstructQSL(task["qsl"]["total"], task["qsl"]["performance"], recorder.load, recorder.unload)
    # Some are of the C++ structure alone.
    known = {name: value for name, value in settings.items() if hasattr(lg.TestSettings(), name)}
    lg.StartTestWithLogSettings(sut, qsl, official_settings(known), log_settings(task["folder"]), task["audit"])
    lg.DestroyQSL(qsl)
    lg.DestroySUT(sut)


main()
