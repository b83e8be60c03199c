#!/usr/bin/env python3
"""`loadgen-node audit` against the official scripts, on the same folders, falsified ones too.

    audit_scripts.py --bin FOLDER [--inference CLONE] [--scenario NAME]... [--keep DIR]

FOLDER has loadgen-node and sut-node; CLONE is a clone of https://github.com/mlcommons/inference, MLCOMMONS_INFERENCE
unless given; without one nothing is run, and that is said. Runs are made with a SUT node; then copies of them are
altered, one thing at a time. The official verdict of the command, and the files that it writes, must be those of the
script. The last line is `N passed, N failed`; every failure is a line of its own.
"""

import argparse
import json
import pathlib
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
from typing import Callable, NamedTuple

import inference_clone

ROOT = pathlib.Path(__file__).resolve().parents[2]
DIGITS = ROOT / "loadgen-node/qsl/digits/digits.onnx"
DETAIL, SUMMARY, ANSWERS = "mlperf_log_detail.txt", "mlperf_log_summary.txt", "mlperf_log_accuracy.json"
SETTINGS = {
    "Offline": "target_qps=1000,min_duration=0,min_query_count=3000",
    "Server": "target_qps=400,min_duration=0,min_query_count=1500,target_latency=1000",
    "SingleStream": "min_duration=0,min_query_count=600",
    "MultiStream": "min_duration=0,min_query_count=900",
}
# Text before a result: in the detail log, and in the summary.
RESULTS = {
    "Offline": (r'"result_samples_per_second", "value": ([\d.e+]+)', r"^Samples per second: ([\d.e+]+)$"),
    "Server": (r'"result_completed_samples_per_sec", "value": ([\d.e+]+)',
               r"^Completed samples per second +: ([\d.e+]+)$"),
    "SingleStream": (r'"early_stopping_latency_ss", "value": ([\d.e+]+)',
                     r"Early stopping 90.0th percentile estimate: ([\d.e+]+)$"),
    "MultiStream": (r'"early_stopping_latency_ms", "value": ([\d.e+]+)',
                    r"Early stopping 99.0th percentile estimate: ([\d.e+]+)$"),
}
# Tests of a single run: the command has no reference for them.
ALONE = ("TEST06", "TEST07", "TEST09")
# Text that scripts print when the test has passed, where it is not TEST PASS.
PASSES = {"TEST06": "TEST06 verification complete", "TEST07": "Accuracy check pass: True"}
# Flags of TEST06 as the command has them; the scenario it reads from the log.
OWN_FLAGS = {"-s": None, "-d": "--dtype", "-e": "--eos-token-id"}
# Lines of a script that no other program can write: its log, a warning, a trace of Python.
NOT_COMPARED = re.compile(r"^\[\d{4}-|^\s|^Traceback|^\w+Error|^TEST FAIL|^$")


class Case(NamedTuple):
    """Two folders: the reference as submissions have it, and the audited run."""
    audit: str
    name: str
    reference: pathlib.Path
    test: pathlib.Path
    flags: list[str]
    # The flags of the command, where they are other ones.
    own: list[str] | None = None


class Wrong(Exception):
    """The command does not say what the script says."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", required=True, type=pathlib.Path, help="folder with loadgen-node and sut-node")
    parser.add_argument("--scenario", action="append", choices=list(SETTINGS), help="all unless given; repeatable")
    parser.add_argument("--keep", type=pathlib.Path, metavar="DIR", help="keep all folders here when a case fails")
    args = inference_clone.parsed(parser, ["compliance/TEST01/run_verification.py"])
    # So that the node is ended.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    with tempfile.TemporaryDirectory(prefix="audit-scripts-") as scratch:
        maker = Maker(args.bin.resolve(), pathlib.Path(scratch), args.scenario or list(SETTINGS))
        judge = Judge(args.bin.resolve(), args.inference.resolve() / "compliance", pathlib.Path(scratch))
        passed, failed = 0, 0
        for case in maker.cases():
            try:
                told = judge.compare(case)
                passed += 1
                print(f"{case.audit}, {case.name}: both say {told}", flush=True)
            except Wrong as wrong:
                failed += 1
                print(f"{case.audit}, {case.name} FAILED: {wrong}", flush=True)
        if failed and args.keep:
            shutil.copytree(scratch, args.keep, dirs_exist_ok=True)
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed or not passed else 0)


class Maker:
    """Makes runs, and copies of them with one thing altered."""

    def __init__(self, binaries: pathlib.Path, scratch: pathlib.Path, scenarios: list[str]):
        self.loadgen, self.sut, self.scratch = binaries / "loadgen-node", binaries / "sut-node", scratch
        self.scenarios = scenarios
        self.count = 0

    def folder(self) -> pathlib.Path:
        self.count += 1
        return self.scratch / f"{self.count:03}"

    def cases(self):
        """Every case. Those of a scenario share its runs."""
        node = subprocess.Popen([self.sut, "serve", "--listen", "127.0.0.1:0", "--node", "a", "--max-batch", "1",
                                 "--backend", f"onnx:{DIGITS}"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                text=True)
        try:
            line = node.stdout.readline()
            if " on " not in line:
                raise SystemExit(f"sut-node does not serve: {line.strip() or 'it said nothing'}")
            address = line.strip().rsplit(" on ", 1)[1]
            for scenario in self.scenarios:
                yield from self.of_scenario(address, scenario)
        finally:
            node.kill()
            node.wait()

    def of_scenario(self, address: str, scenario: str):
        reference = self.folder()
        self.run(address, scenario, reference / "accuracy", "--mode", "AccuracyOnly")
        self.run(address, scenario, reference / "performance/run_1")
        tests = {audit: self.folder() for audit in ("TEST01", "TEST04")}
        for audit, folder in tests.items():
            conf = self.scratch / f"{audit}.conf"
            conf.write_text(self.said("audit", audit, "--print-conf"))
            self.run(address, scenario, folder, "--audit-conf", conf)
        yield from self.tokens(scenario, tests["TEST04"])
        yield from self.test07(scenario, tests["TEST01"])
        if scenario == "Offline":
            yield from self.test08(reference, tests["TEST01"])
        yield from self.test01(scenario, reference, tests["TEST01"])
        yield from self.test04(scenario, reference, tests["TEST04"])

    def run(self, address: str, scenario: str, target: pathlib.Path, *more) -> None:
        target.parent.mkdir(parents=True, exist_ok=True)
        self.said("run", "--sut", address, "--benchmark", "digits", "--scenario", scenario, "--set",
                  SETTINGS[scenario], "--out", target, *more)

    def said(self, *args) -> str:
        # A run may be too short for the official rules; that is a case like others.
        ended = subprocess.run([self.loadgen, *args], capture_output=True, text=True, timeout=120, check=False)
        if ended.returncode not in (0, 3):
            raise SystemExit(f"{args}: {ended.stderr}")
        return ended.stdout

    def test01(self, scenario: str, reference: pathlib.Path, test: pathlib.Path):
        flags = ["--dtype", "float32"]
        in_detail = RESULTS[scenario][0]
        yield Case("TEST01", f"{scenario} as it was run", reference, test, flags)
        level = self.altered(test, DETAIL, lambda text: level_with(text, reference / f"performance/run_1/{DETAIL}",
                                                                   in_detail))
        yield Case("TEST01", f"{scenario}, the same rate", reference, level, flags)
        yield Case("TEST01", f"{scenario}, whole answers", reference, level, ["--unixmode", *flags])
        alterations = {
            "one bit of the lowest byte": (ANSWERS, lambda text: flipped(text, 0)),
            "one bit of the highest byte": (ANSWERS, lambda text: flipped(text, 6)),
            "half a rate": (DETAIL, lambda text: multiplied(text, in_detail, 0.5)),
            "a rate 9 % lower": (DETAIL, lambda text: multiplied(text, in_detail, 0.91)),
            "a rate 11 % higher": (DETAIL, lambda text: multiplied(text, in_detail, 1.11)),
            "an INVALID result": (DETAIL, lambda text: text.replace('"value": "VALID"', '"value": "INVALID"')),
            "an error": (DETAIL, lambda text: re.sub(r'("num_errors", "value": )\d+', r"\g<1>1", text)),
            "another latency limit": (DETAIL, lambda text: re.sub(r'("effective_target_latency_ns", "value": )\d+',
                                                                  r"\g<1>7", text)),
            "another scenario": (DETAIL, lambda text: re.sub(r'("effective_scenario", "value": ")\w+',
                                                             r"\g<1>Other", text)),
            "no answers": (ANSWERS, lambda _: "[\n]\n"),
            "40 answers": (ANSWERS, lambda text: "\n".join(text.split("\n")[:40]) + "\n" + last_of(text)),
            "samples that nobody knows": (ANSWERS, lambda text: text.replace('"qsl_idx" : ', '"qsl_idx" : 9')),
        }
        for name, (file, change) in alterations.items():
            altered = self.altered(level, file, change)
            for mode in ([], ["--unixmode"]):
                title = f"{scenario}, {name}{', whole answers' if mode else ''}"
                yield Case("TEST01", title, reference, altered, [*mode, *flags])
        highest = self.altered(level, ANSWERS, lambda text: flipped(text, 6))
        yield Case("TEST01", f"{scenario}, the highest byte, read as bytes", reference, highest, ["--dtype", "byte"])
        broken = self.altered(level, ANSWERS, lambda text: re.sub(r'"data" : "..', '"data" : "', text, count=1))
        yield Case("TEST01", f"{scenario}, a byte too few", reference, broken, flags)

    def test04(self, scenario: str, reference: pathlib.Path, test: pathlib.Path):
        in_summary = RESULTS[scenario][1]
        performance = reference / "performance/run_1"
        yield Case("TEST04", f"{scenario} as it was run", reference, test, [])
        yield Case("TEST04", f"{scenario}, an ordinary run", reference, performance, [])
        level = self.altered(test, SUMMARY, lambda text: level_with(text, performance / SUMMARY, in_summary))
        yield Case("TEST04", f"{scenario}, the same rate", reference, level, [])
        alterations: dict[str, Callable[[str], str]] = {
            "half a rate": lambda text: multiplied(text, in_summary, 0.5),
            "a result 9 % higher": lambda text: multiplied(text, in_summary, 1.09),
            "a result 11 % higher": lambda text: multiplied(text, in_summary, 1.11),
            "a result 15 % lower": lambda text: multiplied(text, in_summary, 0.85),
            "a result 25 % lower": lambda text: multiplied(text, in_summary, 0.75),
            "an INVALID result": lambda text: re.sub("^Result is : .*$", "Result is : INVALID", text, flags=re.M),
            "no verdict": lambda text: re.sub("^Result is : .*\n", "", text, flags=re.M),
            "another scenario": lambda text: text.replace(f"Scenario : {scenario}", "Scenario : Other"),
            "no result": lambda text: re.sub(in_summary, "nothing", text, flags=re.M),
        }
        for name, change in alterations.items():
            yield Case("TEST04", f"{scenario}, {name}", reference, self.altered(level, SUMMARY, change), [])

    def tokens(self, scenario: str, run: pathlib.Path):
        """Writes made-up answers in the folder of a run: the scripts look at nothing else."""
        flags = ["-s", scenario, "-d", "int32"]
        good = [entry(index, "i", [5 + index, 6, 7, 2]) for index in range(20)]
        alterations = {
            "good answers": good,
            "two ends": [*good, entry(20, "i", [5, 2, 2])],
            "two ends and nothing else": [*good, entry(20, "i", [2, 2])],
            "an end in the middle": [*good, entry(20, "i", [5, 2, 6, 2])],
            "another first token": [*good, entry(20, "i", [5, 6], first=6)],
            "no first token": [*good, entry(20, "i", [5, 6], first=None)],
            "another length": [*good, entry(20, "i", [5, 6], count=3)],
            "an empty answer": [*good, entry(20, "i", [], first=5, count=0)],
            "no answers": [],
        }
        for name, entries in alterations.items():
            folder = self.altered(run, ANSWERS, lambda _, entries=entries: json.dumps(entries))
            yield Case("TEST06", f"{scenario}, {name}", run, folder, flags)
            if name == "two ends":
                yield Case("TEST06", f"{scenario}, {name} of a given token", run, folder, [*flags, "-e", "2"])
            for least, most in (("3", "5"), ("3.9", "3.95"), ("4", "4"), ("5", "6")):
                title = f"{scenario}, {name}, from {least} to {most}"
                bounds = ["--min-output-tokens", least, "--max-output-tokens", most]
                yield Case("TEST09", title, run, folder, bounds)

    def test07(self, scenario: str, run: pathlib.Path):
        """Scores of a command that looks at no answer: the script takes what it prints."""
        for score, least in (("61.2", "60.698"), ("60.698", "60.698"), ("60.697", "60.698"), ("0", "0"), ("7", "50")):
            flags = ["--accuracy-script", f"echo \"'exact_match': {score}\"", "--accuracy-threshold", least]
            own = ["--scorer", f"echo '{{\"exact_match\": {score}}}' #", "--min-accuracy", least]
            yield Case("TEST07", f"{scenario}, a score of {score}, at least {least}", run, run, flags, own)

    def test08(self, reference: pathlib.Path, run: pathlib.Path):
        """Writes made-up predictions, labels and weights."""
        def sample(index: int, change: float = 0.0) -> list[float]:
            return [index // 5, index, 0.7 + change, 0.2, 0.6]

        known = [entry(index, "f", [*sample(index), 1, 0, 1, 1, 1, 2, 3]) for index in range(50)]
        before = self.altered(reference, f"accuracy/{ANSWERS}", lambda _: json.dumps(known))
        tests = {
            "the same predictions": [entry(index, "f", sample(index)) for index in range(30)],
            "predictions that differ a little": [entry(index, "f", sample(index, 0.0002)) for index in range(30)],
            "one prediction that differs": [entry(index, "f", sample(index, 0.01 * (index == 9)))
                                            for index in range(30)],
            "a sample that nobody knows": [entry(index, "f", sample(index)) for index in range(51)],
            "no answers": [],
        }
        for name, entries in tests.items():
            folder = self.altered(run, ANSWERS, lambda _, entries=entries: json.dumps(entries))
            yield Case("TEST08", name, before, folder, [])

    def altered(self, folder: pathlib.Path, file: str, change: Callable[[str], str]) -> pathlib.Path:
        copy = pathlib.Path(shutil.copytree(folder, self.folder()))
        path = copy / file
        path.write_text(change(path.read_text()))
        return copy


class Judge:
    """Asks both of a case."""

    def __init__(self, binaries: pathlib.Path, compliance: pathlib.Path, scratch: pathlib.Path):
        self.loadgen, self.compliance, self.scratch = binaries / "loadgen-node", compliance, scratch
        self.count = 0

    def compare(self, case: Case) -> str:
        self.count += 1
        if case.audit in ("TEST06", "TEST07", "TEST08", "TEST09"):
            return self.compare_alone(case)
        beside, ours = [self.scratch / f"{kind}-{self.count:03}" for kind in ("script", "ours")]
        beside.mkdir()
        script = self.official(case, beside)
        document = self.ours(case, ours)
        said = {True: "passed", False: "failed"}[all(script.values())]
        if document["official"] != said:
            rows = [row for row in document["checks"] if row["rule"] == "official"]
            raise Wrong(f"the script: {script}; the command: {rows}")
        for file in script:
            pair = [lines_of(folder / case.audit / file) for folder in (beside / "out", ours)]
            passes = ["TEST PASS" in (folder / case.audit / file).read_text() for folder in (beside / "out", ours)]
            if passes[0] != passes[1]:
                raise Wrong(f"{file}: TEST PASS in one of both")
            if passes[0] and pair[0] != pair[1]:
                raise Wrong(f"{file}: {pair[0]} and {pair[1]}")
        lists = [files_of(folder / case.audit) for folder in (beside / "out", ours)]
        if lists[0] != lists[1] - {"audit_result.json"}:
            raise Wrong(f"files: {lists[0] ^ lists[1]}")
        return said

    def compare_alone(self, case: Case) -> str:
        """The tests whose scripts have other flags, and say their verdict otherwise."""
        beside, ours = [self.scratch / f"{kind}-{self.count:03}" for kind in ("script", "ours")]
        beside.mkdir()
        script = self.compliance / case.audit / "run_verification.py"
        typed = ["-c", case.test, "-o", beside / "out", *case.flags]
        if case.audit == "TEST08":
            typed = ["-r", case.reference / "accuracy" / ANSWERS, "-t", case.test / ANSWERS]
        ended = subprocess.run([sys.executable, script, *typed], cwd=beside, capture_output=True, text=True,
                               timeout=300, check=False)
        if "ModuleNotFoundError" in ended.stderr or "ImportError" in ended.stderr:
            raise Wrong(f"the script cannot run: {ended.stderr.strip().splitlines()[-1]}")
        said = "passed" if PASSES.get(case.audit, "TEST PASS") in ended.stdout else "failed"
        own = case._replace(flags=translated(case.flags, OWN_FLAGS) if case.own is None else case.own)
        document = self.ours(own, ours)
        if document["official"] != said:
            rows = [row for row in document["checks"] if row["rule"] == "official"]
            raise Wrong(f"the script: {said}; {ended.stdout[-300:]} {ended.stderr[-300:]}; the command: {rows}")
        for file in ("verify_accuracy.txt", "verify_output_len.txt"):
            written = beside / "out" / case.audit / file
            # The scorer's own output stands first, in its own form.
            if case.audit == "TEST07" and written.is_file():
                written.write_text(re.sub(r"(?<=': )(\d+)$", r"\1.0", written.read_text(), count=1, flags=re.M))
            if written.is_file() and written.read_text() != (ours / case.audit / file).read_text():
                raise Wrong(f"{file}: {written.read_text()!r} and {(ours / case.audit / file).read_text()!r}")
        return said

    def official(self, case: Case, beside: pathlib.Path) -> dict[str, bool]:
        """Returns the script's verdict on each of its files."""
        run = subprocess.run([sys.executable, self.compliance / case.audit / "run_verification.py", "-r",
                              case.reference, "-c", case.test, "-o", beside / "out", *case.flags], cwd=beside,
                             capture_output=True, text=True, timeout=300, check=False)
        found = re.findall(r"^(Accuracy|Performance) check pass: (True|False)$", run.stdout, re.MULTILINE)
        if not found:
            raise Wrong(f"the script says nothing: {run.stdout[-300:]} {run.stderr[-300:]}")
        return {f"verify_{check.lower()}.txt": said == "True" for check, said in found}

    def ours(self, case: Case, out: pathlib.Path) -> dict:
        reference = [] if case.audit in ALONE else ["--reference", case.reference]
        ended = subprocess.run([self.loadgen, "audit", case.audit, *reference, "--test", case.test, "--out", out,
                                "--json", *case.flags], capture_output=True, text=True, timeout=120, check=False)
        if ended.returncode not in (0, 3):
            raise Wrong(f"exit code {ended.returncode}: {ended.stderr.strip()}")
        document = json.loads(ended.stdout)
        both = {document["official"], document["verdict"]}
        if (ended.returncode == 0) != (both == {"passed"}):
            raise Wrong(f"exit code {ended.returncode} with {both}")
        return document


def translated(typed: list[str], names: dict) -> list[str]:
    """Flags of a script as the command has them; None: it has no such flag."""
    pairs = zip(typed[::2], typed[1::2])
    kept = [(names.get(flag, flag), value) for flag, value in pairs]
    return [word for flag, value in kept if flag is not None for word in (flag, value)]


def entry(index: int, kind: str, numbers: list, first: int | None = -1, count: int | None = None) -> dict:
    """An answer of numbers; `first` is -1 for the first of them."""
    made = {"seq_id": index, "qsl_idx": index, "data": struct.pack(f"<{len(numbers)}{kind}", *numbers).hex().upper()}
    if kind == "i":
        first = numbers[0] if first == -1 else first
        made["token_count"] = len(numbers) if count is None else count
        if first is not None:
            made["token_data"] = struct.pack("<i", first).hex().upper()
    return made


def lines_of(path: pathlib.Path) -> list[str]:
    lines = path.read_text().splitlines()
    return [line.strip() for line in lines if not NOT_COMPARED.match(line)]


def files_of(folder: pathlib.Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def found_in(text: str, pattern: str) -> re.Match:
    found = re.search(pattern, text, re.MULTILINE)
    if found is None:
        raise SystemExit(f"there is no {pattern} in a log")
    return found


def multiplied(text: str, pattern: str, factor: float) -> str:
    found = found_in(text, pattern)
    return f"{text[:found.start(1)]}{float(found[1]) * factor:.2f}{text[found.end(1):]}"


def level_with(text: str, other: pathlib.Path, pattern: str) -> str:
    """The text with the result of another log. Rates of a busy machine differ by more than the scripts allow."""
    found = found_in(text, pattern)
    return text[:found.start(1)] + found_in(other.read_text(), pattern)[1] + text[found.end(1):]


def flipped(text: str, at: int) -> str:
    """Another bit in one answer in the middle of the log."""
    answers = list(re.finditer(r'"data" : "([0-9A-F]+)"', text))
    place = answers[len(answers) // 2].start(1) + at
    return f"{text[:place]}{int(text[place:place + 2], 16) ^ 1:02X}{text[place + 2:]}"


def last_of(text: str) -> str:
    """The last answer of a log, and its end."""
    return "\n".join(text.rstrip("\n").split("\n")[-2:]) + "\n"


if __name__ == "__main__":
    main()
