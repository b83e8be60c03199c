"""Single edits of a good tree of submissions, each with the words by which `submission check` must name it.

An edit changes one thing in a copy of the tree. Some are refused by the official checker, too; where `refused` is set,
it must. Where `runs` is set, the edit can only be seen by holding the tree against its runs (`--file`). Where `advice`
is set, no official text forbids it, and the tree stays good.
"""

import pathlib
import re
import shutil
from collections.abc import Callable
from typing import NamedTuple

DETAIL, SUMMARY, ANSWERS = "mlperf_log_detail.txt", "mlperf_log_summary.txt", "mlperf_log_accuracy.json"
SYSTEM = "systems/two_nodes.json"
RESULTS, COMPLIANCE, MEASUREMENTS = (f"{part}/two_nodes/resnet50/Server"
                                     for part in ("results", "compliance", "measurements"))
PERFORMANCE, ACCURACY = f"{RESULTS}/performance/run_1", f"{RESULTS}/accuracy"
OFFLINE = "results/two_nodes/resnet50/Offline/performance/run_1"
TEST01, TEST04 = f"{COMPLIANCE}/TEST01", f"{COMPLIANCE}/TEST04"
MEASURED = f"{MEASUREMENTS}/two_nodes_Server.json"

Act = Callable[[pathlib.Path], None]


class Edit(NamedTuple):
    """One thing that is wrong. The folder that an act gets is that of the submitter."""
    name: str
    act: Act
    said: str
    refused: bool = False
    runs: bool = False
    advice: bool = False


def replaced(path: str, old: str, new: str, count: int = 0) -> Act:
    """A pattern in a file."""
    def act(above: pathlib.Path) -> None:
        text, found = re.subn(old, new, (above / path).read_text(), count=count)
        if not found:
            raise SystemExit(f"{path} has no {old}")
        (above / path).write_text(text)
    return act


def value(folder: str, key: str, new: str) -> Act:
    """The value of a key in a detail log."""
    return replaced(f"{folder}/{DETAIL}", rf'("key": "{key}", "value": )("[^"]*"|[^,]+)', rf"\g<1>{new}")


def both(folder: str, key: str, new: str, requested: str | None = None) -> Act:
    """A setting, as it was asked for and as it was in force: nothing contradicts itself then."""
    acts = value(folder, f"requested_{requested or key}", new), value(folder, f"effective_{key}", new)
    return lambda above: [act(above) for act in acts] and None


def removed(path: str) -> Act:
    """A file or folder is not there."""
    def act(above: pathlib.Path) -> None:
        if (above / path).is_dir():
            shutil.rmtree(above / path)
        else:
            (above / path).unlink()
    return act


def written(path: str, text: str) -> Act:
    """A file with this text."""
    def act(above: pathlib.Path) -> None:
        (above / path).parent.mkdir(parents=True, exist_ok=True)
        (above / path).write_text(text)
    return act


def copied(source: str, target: str) -> Act:
    """The logs of another run."""
    def act(above: pathlib.Path) -> None:
        for name in (DETAIL, SUMMARY):
            shutil.copy(above / source / name, above / target / name)
    return act


def linked(path: str, target: str) -> Act:
    """A link in the place of a file."""
    def act(above: pathlib.Path) -> None:
        (above / path).unlink()
        (above / path).symlink_to(target)
    return act


def cut(path: str) -> Act:
    """The first half of a file."""
    def act(above: pathlib.Path) -> None:
        text = (above / path).read_text()
        (above / path).write_text(text[:len(text) // 2])
    return act


def scored(baseline: str) -> Act:
    """Answers of TEST01 differ, and these are the scores: of the accuracy run, and of the test a little more."""
    def act(above: pathlib.Path) -> None:
        verified = above / TEST01 / "verify_accuracy.txt"
        verified.write_text(verified.read_text().replace("TEST PASS", "TEST FAIL"))
        (above / TEST01 / "accuracy" / "baseline_accuracy.txt").write_text(baseline)
        (above / TEST01 / "accuracy" / "compliance_accuracy.txt").write_text("accuracy=79.501%, good=1, total=2\n")
    return act


def raised(above: pathlib.Path) -> None:
    """The result is three times what it was, in both logs of the performance run."""
    for name, mark in ((DETAIL, r'("key": "result_completed_samples_per_sec", "value": )([\d.]+)'),
                       (SUMMARY, r"(Completed samples per second\s+: )([\d.]+)")):
        path = above / PERFORMANCE / name
        text, found = re.subn(mark, lambda match: f"{match[1]}{3 * float(match[2]):.6g}", path.read_text())
        if not found:
            raise SystemExit(f"{path} has no result")
        path.write_text(text)


def turned(above: pathlib.Path) -> None:
    """A digit of the last answer of the accuracy log is another one."""
    path = above / ACCURACY / ANSWERS
    text = path.read_text()
    at = text.rindex('"') - 1
    path.write_text(text[:at] + ("0" if text[at] != "0" else "1") + text[at + 1:])


SETTINGS = [
    Edit("another seed of the schedule", value(PERFORMANCE, "effective_schedule_rng_seed", "1"),
         "effective_schedule_rng_seed is 1", refused=True),
    Edit("another seed, asked for and in force", both(PERFORMANCE, "qsl_rng_seed", "5"),
         "effective_qsl_rng_seed is 5", refused=True),
    Edit("another seed in the accuracy run", both(ACCURACY, "sample_index_rng_seed", "5"),
         "effective_sample_index_rng_seed is 5"),
    Edit("another seed in TEST01", both(f"{TEST01}/performance/run_1", "qsl_rng_seed", "5"),
         "effective_qsl_rng_seed is 5", refused=True),
    Edit("no Network SUT", replaced(f"{PERFORMANCE}/{DETAIL}", "Network SUT", "A SUT"),
         'has to contain "Network SUT"', refused=True),
    Edit("another SUT in the accuracy run", replaced(f"{ACCURACY}/{DETAIL}", "Network SUT", "Network SUT of others"),
         "name of the SUT"),
    Edit("a length in force that was not asked for", value(PERFORMANCE, "effective_min_duration_ms", "600000"),
         "effective_min_duration_ms: 600000 is there, and 4000 follows"),
    Edit("too short, and no rehearsal", removed("../../REHEARSAL.md"), "min_duration_ms is 4000, 600000 at least"),
    Edit("too small a dataset, and no rehearsal", removed("../../REHEARSAL.md"), "is 1200, 50000 is wanted"),
    Edit("a higher latency limit", both(PERFORMANCE, "target_latency_ns", "20000000", "server_target_latency_ns"),
         "server_target_latency_ns is 20000000, 15000000 at most", refused=True),
    Edit("another percentile", both(PERFORMANCE, "target_latency_percentile", "0.9",
                                    "server_target_latency_percentile"),
         "server_target_latency_percentile is 0.9, 0.99 in round v5.0"),
    Edit("a draw that the round does not have", both(PERFORMANCE, "performance_issue_unique", "true"),
         "performance_issue_unique is true, false in round v5.0"),
    Edit("too few samples in memory", value(PERFORMANCE, "effective_performance_sample_count", "1000"),
         "effective_performance_sample_count is 1000, 1024 at least", refused=True),
    Edit("too few samples in the query", value(OFFLINE, "effective_samples_per_query", "20000"),
         "effective_samples_per_query is 20000, 24576 at least"),
    Edit("another dataset in the performance run", value(PERFORMANCE, "qsl_reported_total_count", "1300"),
         "qsl_reported_total_count 1200 instead of 1300"),
]
LOGS = [
    Edit("a run that is INVALID", value(PERFORMANCE, "result_validity", '"INVALID"'), "the run is not VALID"),
    Edit("INVALID in the summary", replaced(f"{PERFORMANCE}/{SUMMARY}", "Result is : VALID", "Result is : INVALID"),
         "Result is: INVALID is there, and VALID follows"),
    Edit("early stopping not met", value(PERFORMANCE, "early_stopping_met", "false"), "early_stopping_met is not true",
         refused=True),
    Edit("a higher rate in the summary", replaced(f"{PERFORMANCE}/{SUMMARY}", r"(Completed samples .*: )1", r"\g<1>9"),
         "Completed samples per second: 9"),
    Edit("a higher rate in the detail log", value(PERFORMANCE, "result_completed_samples_per_sec", "900"),
         "Completed samples per second: "),
    Edit("a higher rate in both logs", raised, "TEST01, rates"),
    Edit("a lower percentile", value(PERFORMANCE, r"result_99\.00_percentile_latency_ns", "1"),
         "the logs contradict themselves in result_"),
    Edit("a line less in the summary", replaced(f"{PERFORMANCE}/{SUMMARY}", "schedule_rng_seed : .*\n", ""),
         "schedule_rng_seed: nothing is there"),
    Edit("a result less in the detail log", replaced(f"{PERFORMANCE}/{DETAIL}", '.*"result_query_count".*\n', ""),
         "result_query_count"),
    Edit("half of a detail log", cut(f"{PERFORMANCE}/{DETAIL}"), "performance/run_1/mlperf_log_detail.txt",
         refused=True),
    Edit("no detail log", removed(f"{PERFORMANCE}/{DETAIL}"), "mlperf_log_detail.txt is missing", refused=True),
    Edit("an error in the accuracy run", replaced(f"{ACCURACY}/{DETAIL}", '"is_error": false', '"is_error": true', 1),
         "lines that are errors: 1", refused=True),
    Edit("an error in TEST04", replaced(f"{TEST04}/performance/run_1/{DETAIL}", '"is_error": false',
                                        '"is_error": true', 1), "lines that are errors: 1"),
    Edit("a day to come", value(PERFORMANCE, "test_datetime", '"2099-01-01T00:00:00Z"'), "in the future"),
    Edit("no day", value(PERFORMANCE, "test_datetime", '"soon"'), "a date and a time are wanted"),
    Edit("another LoadGen in the accuracy run", value(ACCURACY, "loadgen_version", '"9.9"'), "version of LoadGen: 9.9",
         advice=True),
    Edit("logs of Offline for Server", copied(OFFLINE, PERFORMANCE), 'effective_scenario is "Offline"', refused=True),
    Edit("an accuracy run for the performance run", copied(ACCURACY, PERFORMANCE),
         'effective_test_mode is "AccuracyOnly"'),
    Edit("a performance run for the accuracy run", copied(PERFORMANCE, ACCURACY),
         'effective_test_mode is "PerformanceOnly"'),
    Edit("a link for a log", linked(f"{PERFORMANCE}/{SUMMARY}", DETAIL), "is a link: a file has to be here"),
]
TESTS = [
    Edit("the performance run for TEST04", copied(PERFORMANCE, f"{TEST04}/performance/run_1"),
         "performance_issue_same false"),
    Edit("the performance run for TEST01", copied(PERFORMANCE, f"{TEST01}/performance/run_1"),
         "accuracy_log_rng_seed 0"),
    Edit("another sample in TEST04", both(f"{TEST04}/performance/run_1", "performance_issue_same_index", "5"),
         "performance_issue_same_index 5"),
    Edit("another seed of the answers", both(f"{TEST01}/performance/run_1", "accuracy_log_rng_seed", "1"),
         "accuracy_log_rng_seed 1"),
    Edit("fewer answers", both(f"{TEST01}/performance/run_1", "accuracy_log_sampling_target", "10"),
         "accuracy_log_sampling_target 10"),
    Edit("other samples in memory", replaced(f"{TEST01}/performance/run_1/{DETAIL}",
                                             r'("loaded_qsl_set", "value": \[)(\d+)', r"\g<1>1"),
         "loaded_qsl_set"),
    Edit("TEST01 not passed", replaced(f"{TEST01}/verify_performance.txt", "TEST PASS", "TEST FAIL"),
         "does not say TEST PASS", refused=True),
    Edit("TEST01 with other answers", replaced(f"{TEST01}/verify_accuracy.txt", "TEST PASS", "TEST FAIL"),
         "does not say TEST PASS", refused=True),
    Edit("TEST01 with scores that are far apart", scored("accuracy=10.000%, good=1, total=10\n"),
         "the scores are not near", refused=True),
    Edit("TEST01 with scores of other answers", scored("accuracy=79.500%, good=1, total=2\n"),
         "has another score in acc than accuracy.txt beside it"),
    Edit("TEST01 with scores although it passed",
         written(f"{TEST01}/accuracy/baseline_accuracy.txt", "accuracy=79.500%, good=1, total=2\n"),
         "does not say TEST FAIL"),
    Edit("TEST01 on other answers than were logged", replaced(f"{TEST01}/verify_accuracy.txt",
                                                              r"(num_perf_log_entries = )\d+", r"\g<1>7"),
         "says num_perf_log_entries = 7"),
    Edit("TEST01 with samples that were not compared", replaced(f"{TEST01}/verify_accuracy.txt",
                                                                r"(num_missing_qsl_idxs = )\d+", r"\g<1>9"),
         "says num_missing_qsl_idxs = 9"),
    Edit("other scores in TEST04", replaced(f"{TEST04}/verify_performance.txt", r"(test score = )\d", r"\g<1>9"),
         "and the logs have"),
    Edit("TEST04 not verified", removed(f"{TEST04}/verify_performance.txt"), "verify_performance.txt is missing",
         refused=True),
    Edit("no TEST04", removed(TEST04), "round v5.0 asks for TEST04", refused=True),
    Edit("no answers in TEST01", removed(f"{TEST01}/accuracy"), "mlperf_log_accuracy.json is missing"),
    Edit("an answer of another sample", replaced(f"{TEST01}/accuracy/{ANSWERS}", r'"qsl_idx" : \d+',
                                                 '"qsl_idx" : 1199', 1), "which the seeds do not pick"),
    Edit("an answer to another query", replaced(f"{TEST01}/accuracy/{ANSWERS}", r'"seq_id" : \d+',
                                                '"seq_id" : 999999', 1), "which the seeds do not pick"),
    Edit("an answer that is none", replaced(f"{TEST01}/accuracy/{ANSWERS}", '"data" : "..', '"data" : "xy', 1),
         "is no accuracy log of LoadGen"),
]
TEXTS = [
    Edit("a sample that the dataset does not have", replaced(f"{ACCURACY}/{ANSWERS}", r'"qsl_idx" : \d+',
                                                             '"qsl_idx" : 1200', 1), "has an answer of sample 1200"),
    Edit("a whole accuracy log", written(f"{ACCURACY}/{ANSWERS}", "x" * 10241), "has 10241 bytes", refused=True),
    Edit("another text for the accuracy log", written(f"{ACCURACY}/{ANSWERS}", "none"), "is no accuracy log"),
    Edit("accuracy missed", replaced(f"{ACCURACY}/accuracy.txt", r"accuracy=[\d.]+", "accuracy=75.0"),
         "the accuracy target is missed", refused=True),
    Edit("a better score than was counted", replaced(f"{ACCURACY}/accuracy.txt", r"accuracy=[\d.]+",
                                                     "accuracy=90.000"), "says 90 %"),
    Edit("the score of a part", replaced(f"{ACCURACY}/accuracy.txt", r"accuracy=.*",
                                         "accuracy=80.000%, good=800, total=1000"), "the score of 1000 samples"),
    Edit("a score that no script prints", replaced(f"{ACCURACY}/accuracy.txt", "%, good", "e, good"),
         "which the script does not print"),
    Edit("no hash", replaced(f"{ACCURACY}/accuracy.txt", "hash=.*", ""), "has no line hash=", refused=True),
    Edit("a short hash", replaced(f"{ACCURACY}/accuracy.txt", "hash=.*", "hash=abc"), "has no line hash="),
    Edit("another hash", replaced(f"{ACCURACY}/accuracy.txt", "hash=.*", "hash=" + "ab" * 32),
         "is another file than", runs=True),
    Edit("a falsified answer", turned, "is another file than", runs=True),
    Edit("no user.conf", removed(f"{MEASUREMENTS}/user.conf"), "user.conf is missing", refused=True),
    Edit("another rate in user.conf", replaced(f"{MEASUREMENTS}/user.conf", "= 150", "= 100"),
         "makes server_target_qps 100", advice=True),
    Edit("no key of the measurements", replaced(MEASURED, '.*"retraining".*\n', ""), "lacks the key retraining",
         refused=True),
    Edit("no word on weights", replaced(MEASURED, r'("weight_data_types": )"[^"]*"', r'\g<1>""'),
         "has no text under weight_data_types", refused=True),
    Edit("an empty README", written(f"{MEASUREMENTS}/README.md", ""), "README.md is empty", refused=True),
    Edit("another README", written(f"{MEASUREMENTS}/README.md", "x"), "is another file than", runs=True),
]
SYSTEMS = [
    Edit("not networked", replaced(SYSTEM, '("is_network": )"True"', r'\g<1>"False"'), 'is_network "False"',
         refused=True),
    Edit("no key of the system", replaced(SYSTEM, '.*"cooling".*\n', ""), "lacks the key cooling", refused=True),
    Edit("nothing under a key", replaced(SYSTEM, '("framework": )"[^"]*"', r'\g<1>""'), "says nothing under framework",
         refused=True),
    Edit("a key of no system", replaced(SYSTEM, '"cooling"', '"colour": "red", "cooling"'), "has the key colour",
         advice=True),
    Edit("no kind of system", replaced(SYSTEM, '("system_type": )"[^"]*"', r'\g<1>"cloud"'), 'system_type "cloud"',
         refused=True),
    Edit("another submitter", replaced(SYSTEM, '("submitter": )"[^"]*"', r'\g<1>"Other"'), 'submitter "Other"',
         refused=True),
    Edit("nodes that are no number", replaced(SYSTEM, '("number_of_nodes": )"[^"]*"', r'\g<1>"two"'),
         'number_of_nodes "two"', refused=True),
    Edit("a system without results", written("systems/three.json", "{}"), "describes a system without results",
         advice=True),
    Edit("no system", removed(SYSTEM), "two_nodes.json is missing", refused=True),
]
FILES = [
    Edit("a file too many", written(f"{TEST04}/performance/run_1/note.txt", "x"), "does not belong here", refused=True),
    Edit("a file beside the results", written(f"{RESULTS}/note.txt", "x"), "is nothing that a submission", advice=True),
    Edit("a hidden file", written("documentation/.note", "x"), "hidden files"),
    Edit("a blank in a name", written("documentation/a note.md", "x"), "has a blank in its name"),
    Edit("an empty folder", lambda above: (above / "documentation/empty").mkdir(), "is an empty folder",
         advice=True),
    Edit("a large file", written("documentation/large.md", "x" * (50 * 1024 * 1024 + 1)), "52428800 are the most"),
    Edit("one scenario alone", removed(RESULTS), "lacks scenario Server", refused=True),
    Edit("no performance run", removed(f"{RESULTS}/performance"), "mlperf_log_detail.txt is missing", refused=True),
    Edit("no accuracy run", removed(ACCURACY), "accuracy.txt is missing", refused=True),
    Edit("no code", removed("code"), "the code of the benchmark", refused=True),
    Edit("no word on calibration", removed("documentation/calibration.md"), "calibration.md is missing",
         advice=True),
    Edit("a benchmark of no round", lambda above: shutil.move(above / "results/two_nodes/resnet50",
                                                               above / "results/two_nodes/resnet51"),
         "is no benchmark of round v5.0"),
    Edit("a division of no rules", written("../../fast/Acme/README.md", "x"), "is no division"),
    Edit("no results", removed("results"), "has no result"),
]
EDITS = [*SETTINGS, *LOGS, *TESTS, *TEXTS, *SYSTEMS, *FILES]
