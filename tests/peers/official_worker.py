"""One run of the official LoadGen with a SUT that takes a little time; a program of its own.

    official_worker.py FOLDER

FOLDER has input.json, `{"qsl": {...}, "settings": {...}}`, and gets the log files of the run.
"""

import json
import pathlib
import queue
import sys
import threading
import time

import mlperf_loadgen as lg

from random_cases import token_count
from wheel_worker import log_settings, official_settings

WORK_S = 0.0002
OFFLINE_PIECE = 100
OFFLINE_WORK_S = 0.05


class SlowSut:
    """Answers on a thread of its own: a first token after some time, where there are tokens, then the rest."""

    def __init__(self, settings):
        self.has_tokens = settings.get("use_token_latencies", False)
        self.has_first_tokens = self.has_tokens and settings["scenario"] != "Offline"
        self.piece = OFFLINE_PIECE if settings["scenario"] == "Offline" else 10**9
        self.work = queue.SimpleQueue()
        threading.Thread(target=self.answer, daemon=True).start()

    def issue(self, samples):
        for at in range(0, len(samples), self.piece):
            self.work.put([(sample.id, sample.index) for sample in samples[at:at + self.piece]])

    def flush(self):
        pass

    def answer(self):
        while True:
            samples = self.work.get()
            if self.piece == OFFLINE_PIECE:
                time.sleep(OFFLINE_WORK_S)
            else:
                # All that are waiting are answered together, so that no rate is too high.
                while not self.work.empty():
                    samples += self.work.get()
            if self.has_first_tokens:
                time.sleep(WORK_S)
                lg.FirstTokenComplete([lg.QuerySampleResponse(id, 0, 0) for id, _ in samples])
            time.sleep(WORK_S)
            counts = [[token_count(index)] if self.has_tokens else [] for _, index in samples]
            lg.QuerySamplesComplete(
                [lg.QuerySampleResponse(id, 0, 0, *count) for (id, _), count in zip(samples, counts)])


def main():
    folder = pathlib.Path(sys.argv[1])
    case = json.loads((folder / "input.json").read_text())
    recorder = SlowSut(case["settings"])
    sut = lg.ConstructSUT(recorder.issue, recorder.flush)
    qsl = lg.ConstructQSL(case["qsl"]["total"], case["qsl"]["performance"], lambda _: None, lambda _: None)
    no_audit_file = str(folder / "no-audit.config")
    lg.StartTestWithLogSettings(sut, qsl, official_settings(case["settings"]), log_settings(folder), no_audit_file)
    lg.DestroyQSL(qsl)
    lg.DestroySUT(sut)


if __name__ == "__main__":
    main()
