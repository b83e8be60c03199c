"""`python -m loadgen_network`: a test by the official LoadGen over a network, and where files of the package are."""

from __future__ import annotations

import argparse
import datetime
import os
import pathlib
import re
import signal
import sys
import threading
from typing import Any

from . import BUG, INTERRUPTED, NETWORK, USAGE, LonError, Run, cpp_header_path, header_path, library_path
from ._run import official_module

_SCENARIOS = ["SingleStream", "MultiStream", "Server", "Offline"]
_MODES = ["PerformanceOnly", "AccuracyOnly", "SubmissionRun", "FindPeakPerformance"]
_VERDICT = re.compile(r"^Result is *: .*$", re.MULTILINE)
_SUMMARY = "mlperf_log_summary.txt"

_AFTER_HELP = """\
example:
  echo '*.Server.target_qps = 100' >user.conf
  python -m loadgen_network run --sut 10.0.0.2:8000,10.0.0.3:8000 --option insecure \\
      --benchmark digits --scenario Server --user-conf user.conf

exit codes: 0 every sample was answered once (whether the result is valid is in LoadGen's summary),
1 a bug, or LoadGen wrote nothing, 2 usage, 3 the run cannot be used, 4 the network or a node failed,
5 interrupted. A lost node or sample ends the program at once, with exit code 4.
"""


class UsageError(Exception):
    """A mistake in the call: one sentence that says what to change."""


def main() -> int:
    """Runs the command line, and returns the exit code."""
    arguments = _parser().parse_args()
    if arguments.command == "files":
        print(f"header      {header_path()}\nC++ header  {cpp_header_path()}\nlibrary     {library_path()}")
        return 0
    try:
        return _run(arguments)
    except (UsageError, ModuleNotFoundError) as error:
        print(f"loadgen_network: {error}", file=sys.stderr)
        return USAGE
    except LonError as error:
        print(f"loadgen_network: {error}", file=sys.stderr)
        return _exit_code(error)


def _exit_code(error: LonError) -> int:
    return error.code if error.code <= NETWORK else BUG


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m loadgen_network", description=(__doc__ or "").partition(": ")[2])
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("files", help="print where the headers and the library are")
    run = commands.add_parser("run", help="run one test of the official LoadGen against SUT nodes", epilog=_AFTER_HELP,
                              description="Runs one test of the official LoadGen against SUT nodes.",
                              formatter_class=argparse.RawDescriptionHelpFormatter)
    run.add_argument("--sut", required=True, metavar="HOST:PORT[,..]", help="the SUT nodes")
    run.add_argument("--benchmark", required=True, metavar="NAME",
                     help="digits, resnet50, bert, ...: the dataset, and the model's name in config files")
    run.add_argument("--scenario", required=True, choices=_SCENARIOS)
    run.add_argument("--mode", default="PerformanceOnly", choices=_MODES, help="[%(default)s]")
    run.add_argument("--user-conf", metavar="FILE", help="the submitter's settings")
    run.add_argument("--mlperf-conf", metavar="FILE",
                     help="settings above those built into LoadGen, which logs an error when user.conf follows")
    run.add_argument("--audit-conf", metavar="FILE",
                     help="settings of a compliance test; an audit.config in the current folder is not read")
    run.add_argument("--out", metavar="FOLDER",
                     help="new folder for all files [results/<UTC>-<benchmark>-<scenario>-official]")
    run.add_argument("--issue-threads", type=int, default=0, metavar="N",
                     help="issue from N threads (Server), where the installed LoadGen lets Python register them")
    run.add_argument("--trace-log", action="store_true", help="LoadGen also writes mlperf_log_trace.json")
    run.add_argument("--option", action="append", default=[], metavar="KEY[=VALUE]",
                     help="any other flag of `loadgen-node run`, without its dashes; can be repeated")
    return parser


def _run(arguments: argparse.Namespace) -> int:
    loadgen = _loadgen(arguments.issue_threads, arguments.scenario)
    folder = _folder(arguments)
    options = _options(arguments, folder)
    settings = _settings(loadgen, arguments)
    # Threads that start from here on leave both signals to the one that waits for them.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    opened: list[Run] = []
    threading.Thread(target=_abort_when_told, args=(opened,), daemon=True).start()
    with Run(options) as run:
        opened.append(run)
        print(f"SUT       {run.qdl.name()}", flush=True)
        _start_test(loadgen, run, settings, arguments, folder)
        return _finish(run, folder)


def _loadgen(issue_threads: int, scenario: str) -> Any:
    """The official module, where it can issue from so many threads."""
    loadgen = official_module()
    if issue_threads and scenario != "Server":
        raise UsageError("--issue-threads is for scenario Server")
    if issue_threads and not hasattr(loadgen, "RegisterIssueQueryThread"):
        raise UsageError("--issue-threads: the installed LoadGen has no RegisterIssueQueryThread for Python, "
                         "and would wait for such threads for ever; programs in C++ can register them")
    return loadgen


def _folder(arguments: argparse.Namespace) -> pathlib.Path:
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%dT%H%M%SZ")
    benchmark = pathlib.Path(arguments.benchmark).stem
    folder = pathlib.Path(arguments.out or f"results/{now}-{benchmark}-{arguments.scenario}-official")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"--out: {folder} exists already and is not empty")
    return folder


def _options(arguments: argparse.Namespace, folder: pathlib.Path) -> dict[str, Any]:
    """The options of the library: flags that it shares with this program, and those given by --option."""
    given = {"sut": arguments.sut, "benchmark": arguments.benchmark, "scenario": arguments.scenario,
             "mode": arguments.mode, "user-conf": arguments.user_conf, "mlperf-conf": arguments.mlperf_conf,
             "audit-conf": arguments.audit_conf, "out": str(folder)}
    options: dict[str, Any] = {key: value for key, value in given.items() if value is not None}
    for text in arguments.option:
        key, equals, value = text.partition("=")
        if key in given:
            raise UsageError(f"--option {key}: give --{key} instead")
        if not equals:
            options[key] = True
        elif key in options:
            before = options[key]
            options[key] = [*before, value] if isinstance(before, list) else [before, value]
        else:
            options[key] = value
    return options


def _settings(loadgen: Any, arguments: argparse.Namespace) -> Any:
    """The official settings: built in, then those of the files. LoadGen logs what is wrong with them, and so it must
    be asked whether it took them."""
    settings = loadgen.TestSettings()
    model, scenario = pathlib.Path(arguments.benchmark).stem, arguments.scenario
    files = [("--mlperf-conf", arguments.mlperf_conf), ("--user-conf", arguments.user_conf)]
    if not any(path for _, path in files):
        settings.FromConfig("", model, scenario, 0)
    for flag, path in files:
        # The first file brings what is built in along, beneath it.
        if path and settings.FromConfig(path, model, scenario) != 0:
            raise UsageError(f"{flag}: LoadGen cannot read {path}")
    # LoadGen passes over an audit file that it cannot open.
    if arguments.audit_conf and not pathlib.Path(arguments.audit_conf).is_file():
        raise UsageError(f"--audit-conf: there is no file {arguments.audit_conf}")
    settings.scenario = getattr(loadgen.TestScenario, scenario)
    settings.mode = getattr(loadgen.TestMode, arguments.mode)
    settings.server_num_issue_query_threads = arguments.issue_threads
    return settings


def _start_test(loadgen: Any, run: Run, settings: Any, arguments: argparse.Namespace, folder: pathlib.Path) -> None:
    output = loadgen.LogOutputSettings()
    output.outdir = str(folder)
    logs = loadgen.LogSettings()
    logs.log_output = output
    logs.enable_trace = arguments.trace_log
    with run.official(loadgen) as (sut, qsl):
        for _ in range(arguments.issue_threads):
            threading.Thread(target=loadgen.RegisterIssueQueryThread, daemon=True).start()
        # No file has an empty name: without one LoadGen would take an audit.config of the current folder.
        loadgen.StartTestWithLogSettings(sut, qsl, settings, logs, arguments.audit_conf or "")


def _abort_when_told(opened: list[Run]) -> None:
    """Ends the process on SIGINT or SIGTERM: the main thread is inside of the library or of LoadGen, which cannot be
    interrupted."""
    signal.sigwait({signal.SIGINT, signal.SIGTERM})
    if opened:
        opened[0].abort(INTERRUPTED, "interrupted")
    print("loadgen_network: interrupted before the run began", file=sys.stderr, flush=True)
    os._exit(INTERRUPTED)


def _finish(run: Run, folder: pathlib.Path) -> int:
    """Closes the run, and says what both sides left. Only LoadGen's own words say whether the result is valid."""
    code, said = 0, "every sample that was issued was answered once"
    try:
        run.close()
    except LonError as error:
        code, said = _exit_code(error), str(error)
    print(f"Network   {said}; see {folder}/network_report.json")
    summary = folder / _SUMMARY
    if not summary.is_file():
        print(f"loadgen_network: LoadGen wrote no {summary}", file=sys.stderr)
        return code or BUG
    print(f"Official  {summary} and beside it")
    verdict = _VERDICT.search(summary.read_text(encoding="utf-8", errors="replace"))
    if verdict and code == 0:
        print(f"          the official log's own words: {verdict[0]}")
    return code


if __name__ == "__main__":
    sys.exit(main())
