#!/usr/bin/env python3
"""The official compliance tests TEST01 and TEST04 on lon-official with two SUT nodes, judged by the official scripts.

    official_audits.py --program lon-official --bin FOLDER [--inference CLONE] [--keep DIR]

PROGRAM is made by qdl/capi/cpp/build.sh; FOLDER has loadgen-node and sut-node; CLONE is a clone of
https://github.com/mlcommons/inference, MLCOMMONS_INFERENCE unless given; without one nothing is run, and that is said.
What is tested is in README.md beside this file. The last line is `N passed, N failed`; every failure is a line of its
own.
"""

import argparse
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
from typing import Any, Callable, NamedTuple

import inference_clone
from official_cpp import SAMPLES, Tests, Wrong, check_accuracy, expect, expect_exit, keep, samples_of, tried

# In Offline the count ends the run, since how long it takes is for the machine to say.
SETTINGS: dict[str, dict[str, float]] = {
    "Server": {"target_qps": 300, "min_duration": 5000, "min_query_count": 1000, "target_latency": 1000},
    "Offline": {"target_qps": 1000, "min_duration": 100, "min_query_count": 50000},
}
AUDITS = {"TEST01": "TEST01/resnet50/audit.config", "TEST04": "TEST04/audit.config"}
# A model's numbers may end in another bit in a batch of another size, and the scripts want the same bits.
NODE_FLAGS = ["--max-batch", "1"]
# The scripts hold rates to 10 %, which a busy machine does not keep to. Only rates have a second try.
ATTEMPTS = 5
ALL_RIGHT = {"TEST01": {"Accuracy": True, "Performance": True}, "TEST04": {"Performance": True}}
# Patterns by which the scripts find the rate: TEST01 in the detail log, TEST04 in the summary.
RATES = {
    "Server": {"TEST01": r'"result_completed_samples_per_sec", "value": ([\d.e+]+)',
               "TEST04": r"^Completed samples per second +: ([\d.e+]+)$"},
    "Offline": {"TEST01": r'"result_samples_per_second", "value": ([\d.e+]+)',
                "TEST04": r"^Samples per second: ([\d.e+]+)$"},
}
LOGS = {"TEST01": "mlperf_log_detail.txt", "TEST04": "mlperf_log_summary.txt"}


class Runs(NamedTuple):
    """Input of the scripts: a folder with accuracy/ and performance/run_1/, and that of the audit run."""
    results: pathlib.Path
    audit: pathlib.Path


def main() -> None:
    args = parse_args()
    # The scripts hand names of files to a shell.
    with tempfile.TemporaryDirectory(prefix="official-audits-") as scratch:
        tests = AuditTests(args.program.resolve(), args.bin.resolve(), pathlib.Path(scratch), args.inference.resolve())
        failed = tried(tests.all(), lambda: keep(scratch, args.keep))
    sys.exit(1 if failed else 0)


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--program", required=True, type=pathlib.Path, help="lon-official")
    parser.add_argument("--bin", required=True, type=pathlib.Path, help="folder with loadgen-node and sut-node")
    parser.add_argument("--keep", type=pathlib.Path, metavar="DIR", help="keep all run folders here when a test fails")
    needed = [*AUDITS.values(), *(f"{audit}/run_verification.py" for audit in AUDITS)]
    return inference_clone.parsed(parser, [f"compliance/{name}" for name in needed])


class AuditTests(Tests):
    """Nodes, programs and the network's files are those of the other runs with lon-official."""

    def __init__(self, program: pathlib.Path, binaries: pathlib.Path, scratch: pathlib.Path, inference: pathlib.Path):
        super().__init__(program, binaries, scratch)
        self.compliance = inference / "compliance"

    def all(self) -> list[tuple[str, Callable[[], None]]]:
        return [(f"{scenario}, {audit}", lambda run=(scenario, audit): self.audit_of(*run))
                for scenario in SETTINGS for audit in AUDITS]

    def audit_of(self, scenario: str, audit: str) -> None:
        """The scripts pass what was run, and do not pass it any more when it is altered."""
        with self.nodes(*NODE_FLAGS) as (addresses, _):
            runs = Runs(self.new_folder(), self.new_folder())
            if audit == "TEST01":
                self.official(addresses, scenario, "AccuracyOnly", runs.results / "accuracy")
                check_accuracy(runs.results / "accuracy")
            self.compared(addresses, scenario, audit, runs)
        if audit == "TEST01":
            check_sampled(runs)
            expect("whole answers are the same", ALL_RIGHT[audit], self.verdicts(audit, runs, "--unixmode"))
            altered = Runs(runs.results, self.copy(runs.audit))
            alter_answer(altered.audit / "mlperf_log_accuracy.json")
            expect("with one altered answer", {"Accuracy": False, "Performance": True}, self.verdicts(audit, altered))
        # The audit run then is half as fast again as the run that it is held against, however slow it was: the script of
        # TEST04 passes an audit run that is slower by any amount.
        altered = Runs(self.copy(runs.results), runs.audit)
        pattern = RATES[scenario][audit]
        alter_rate(altered.results / "performance/run_1" / LOGS[audit], pattern,
                   rate_of(runs.audit / LOGS[audit], pattern) / 1.5)
        expect("with an altered rate", {**ALL_RIGHT[audit], "Performance": False}, self.verdicts(audit, altered))

    def compared(self, addresses: list[str], scenario: str, audit: str, runs: Runs) -> None:
        """Makes a performance run and an audit run, until the script passes both; only rates have another try."""
        for attempt in range(1, ATTEMPTS + 1):
            performance = runs.results / "performance/run_1"
            for folder in (performance, runs.audit):
                shutil.rmtree(folder, ignore_errors=True)
            self.official(addresses, scenario, "PerformanceOnly", performance)
            expect("there are many samples in a performance run", True, indices_of(performance) > SAMPLES / 2)
            self.official(addresses, scenario, "PerformanceOnly", runs.audit, AUDITS[audit])
            if audit == "TEST04":
                expect("different samples in the audit run", 1, indices_of(runs.audit))
            found = self.verdicts(audit, runs)
            if found == ALL_RIGHT[audit]:
                return
            expect("the accuracy check passes", True, found.get("Accuracy", True))
            rates = [rate_of(folder / LOGS[audit], RATES[scenario][audit]) for folder in (performance, runs.audit)]
            print(f"        {scenario}, {audit}: {rates[0]:.0f} and {rates[1]:.0f} samples/s are too far apart "
                  f"(attempt {attempt} of {ATTEMPTS})", flush=True)
        raise Wrong(f"rates were too far apart {ATTEMPTS} times")

    def official(self, addresses: list[str], scenario: str, mode: str, target: pathlib.Path, audit: str = "") -> None:
        """A run whose folder is `target`."""
        command, folder = self.command(addresses, scenario, mode, SETTINGS[scenario])
        ended = self.run([*command, *(["--audit-conf", self.compliance / audit] if audit else [])])
        expect_exit("lon-official", 0, ended)
        self.check_logs(folder, scenario, mode)
        self.check_network(folder, len(samples_of(folder)))
        summary, detail = [(folder / f"mlperf_log_{name}.txt").read_text() for name in ("summary", "detail")]
        if mode == "PerformanceOnly":
            expect(f"{scenario} with audit file {audit!r} is VALID", True, "Result is : VALID" in summary)
        expect("LoadGen says that it read an audit file", bool(audit), "Found Audit Config file" in detail)
        target.parent.mkdir(parents=True, exist_ok=True)
        folder.rename(target)

    def verdicts(self, audit: str, runs: Runs, *flags: str) -> dict[str, bool]:
        """Returns the official script's verdict on each of its checks."""
        beside = self.new_folder()
        beside.mkdir()
        script = self.compliance / audit / "run_verification.py"
        typed = ["--dtype", "float32"] if audit == "TEST01" else []
        ended = subprocess.run([sys.executable, script, "-r", runs.results, "-c", runs.audit, "-o", beside / "out",
                                *typed, *flags], cwd=beside, capture_output=True, text=True, timeout=300, check=False)
        expect_exit(f"{audit}/run_verification.py", 0, ended)
        found = {check: said == "True" for check, said in
                 re.findall(r"^(Accuracy|Performance) check pass: (True|False)$", ended.stdout, re.MULTILINE)}
        expect("checks", list(ALL_RIGHT[audit]), list(found))
        for check, passed in found.items():
            told = (beside / "out" / audit / f"verify_{check.lower()}.txt").read_text()
            expect(f"{check} has TEST PASS", passed, "TEST PASS" in told)
            # Without this, a script that has crashed would be one that has found something.
            expect(f"{check} has TEST FAIL; it says {told[-200:]!r}", not passed, "TEST FAIL" in told)
        return found

    def copy(self, folder: pathlib.Path) -> pathlib.Path:
        return pathlib.Path(shutil.copytree(folder, self.new_folder()))


def indices_of(folder: pathlib.Path) -> int:
    """Returns the number of different samples that were asked, by their place in LoadGen's order of loading."""
    return len({sample["index"] for sample in samples_of(folder)})


def check_sampled(runs: Runs) -> None:
    """The audit run has logged as many answers as the audit file asks for, about; every one of them at most once."""
    entries = json.loads((runs.audit / "mlperf_log_accuracy.json").read_text())
    issued = len(samples_of(runs.audit))
    wanted = min(4096, issued)
    expect(f"{len(entries)} answers of {issued} are logged, of {wanted} that are asked for", True,
           0.9 * wanted <= len(entries) <= min(1.1 * wanted, issued))
    expect("answers of samples", len(entries), len({entry["seq_id"] for entry in entries}))


def alter_answer(path: pathlib.Path) -> None:
    """Another bit in the first number of one answer in the middle of the log."""
    entries: list[dict[str, Any]] = json.loads(path.read_text())
    old = entries[len(entries) // 2]
    before = f'"seq_id" : {old["seq_id"]}, "qsl_idx" : {old["qsl_idx"]}, "data" : "{old["data"]}"'
    new = f"{int(old['data'][:2], 16) ^ 1:02X}{old['data'][2:]}"
    text = path.read_text()
    expect("places of an answer in its log", 1, text.count(before))
    path.write_text(text.replace(before, before.replace(old["data"], new)))


def rate_of(path: pathlib.Path, pattern: str) -> float:
    found = re.search(pattern, path.read_text(), re.MULTILINE)
    if found is None:
        raise Wrong(f"there is no rate in {path.name}")
    return float(found[1])


def alter_rate(path: pathlib.Path, pattern: str, rate: float) -> None:
    """Puts another rate in its place."""
    text = path.read_text()
    found = re.search(pattern, text, re.MULTILINE)
    assert found is not None
    path.write_text(f"{text[:found.start(1)]}{rate:.2f}{text[found.end(1):]}")


if __name__ == "__main__":
    main()
