"""The official MLPerf LoadGen over a network: its Query Dispatch Library and its datasets, for Python.

    import mlperf_loadgen
    from loadgen_network import Run

    options = {"sut": "10.0.0.1:8000", "benchmark": "digits", "scenario": "Server", "out": "results/mine"}
    with Run(options) as run:
        with run.official() as (sut, qsl):
            mlperf_loadgen.StartTest(sut, qsl, settings)
        run.close()

LoadGen asks and judges. This package sends the samples to SUT nodes and hands back their answers. A lost node or a
lost sample ends the process with exit code 4; see `Run`.
"""

from ._library import (BUG, FORK, INTERRUPTED, NETWORK, UNUSABLE, USAGE, LonError, cpp_header_path, header_path,
                       library_path, version)
from ._run import Answer, Qdl, Qsl, Run

__all__ = ["BUG", "FORK", "INTERRUPTED", "NETWORK", "UNUSABLE", "USAGE", "Answer", "LonError", "Qdl", "Qsl", "Run",
           "cpp_header_path", "header_path", "library_path", "version"]
