"""Reads what a run of the official LoadGen left behind: traffic per phase, and the inputs of its verdict.

Times in the trace file are microseconds with three decimals, hence exact nanoseconds; they are kept as integers.
"""

import dataclasses
import json
import re

from random_cases import token_count

SAMPLE = re.compile(
    r'\{"name":"(Sample|Token)","cat":"default","ph":"b","pid":\d+,"id":\d+,"ts":(-?[\d.]+),"args":\{'
    r'"sample_seq":(\d+),"query_seq":(\d+),"sample_idx":(\d+),"issue_start_ns":(-?\d+),"complete_ns":(-?\d+)\}\}')
SERVER_TOKEN = re.compile(
    r'\{"name":"Token_Latency","ph": "C","pid":\d+,"ts":(-?[\d.]+),"args":\{ "issue_delay":(-?\d+),'
    r'"issue_to_done":(-?\d+)\}\}')
SPAN = re.compile(r'\{"name":"(GenerateQueries|Waiting)","ph":"X","pid":\d+,"tid":\d+,"ts":(-?[\d.]+),"dur":([\d.]+),')
DETAIL = re.compile(r':::MLLOG \{"key": "(\w[\w.]*)", "value": (.*?), "time_ms": ')
SEQ_ID = re.compile(r'"seq_id" : (\d+)')


@dataclasses.dataclass
class Sample:
    seq: int
    query: int
    index: int
    scheduled_ns: int
    issue_delay_ns: int
    latency_ns: int
    first_token_ns: int = 0


@dataclasses.dataclass
class Phase:
    loaded_set: list
    sample_indices: list
    samples: list
    generated_query_count: int
    generated_samples_per_query: int
    generated_query_duration_ns: int
    accuracy_log_seq_ids: list

    def query_count(self):
        return len({sample.query for sample in self.samples})

    def schedule_ns(self):
        """Schedule of each query, from the first; the trace has it for Server only."""
        at = {sample.query: sample.scheduled_ns for sample in self.samples}
        start = min(at.values())
        return [at[query] - start for query in sorted(at)]


@dataclasses.dataclass
class WheelRun:
    phases: list
    summary: str
    result_detail: list  # [key, raw JSON text], from result_validity to num_errors
    start_window_ns: tuple  # the last phase started between these two moments


def errors_of(detail):
    """Texts of the errors that a detail log has, of its pairs of key and value: what `num_errors` counts."""
    return [value for key, value in detail if key.startswith("error_")]


def read_run(folder):
    trace = (folder / "mlperf_log_trace.json").read_text()
    detail = DETAIL.findall((folder / "mlperf_log_detail.txt").read_text())
    logged = [int(seq) for seq in SEQ_ID.findall((folder / "mlperf_log_accuracy.json").read_text())]
    calls = json.loads((folder / "calls.json").read_text())
    keys = [key for key, _ in detail]
    results = detail[keys.index("result_validity"):] if "result_validity" in keys else []
    return WheelRun(
        phases=list(_phases(calls, _samples(trace), detail, sorted(logged))),
        summary=(folder / "mlperf_log_summary.txt").read_text(),
        result_detail=[list(pair) for pair in results],
        start_window_ns=_start_window_ns(trace),
    )


def _phases(calls, samples, detail, logged):
    generated = [[int(value) for key, value in detail if key == f"generated_{what}"]
                 for what in ["query_count", "samples_per_query", "query_duration"]]
    if any(len(values) != len(calls) for values in generated):
        raise ValueError("the detail log and the load callback disagree about the number of phases")
    first = 0
    for call, count, per_query, duration_ns in zip(calls, *generated):
        issued = samples[first:first + len(call["sample_indices"])]
        first += len(issued)
        if not issued:
            raise ValueError("a phase of the wheel has no samples")
        ids = {sample.seq for sample in issued}
        yield Phase(call["loaded_set"], call["sample_indices"], issued, count, per_query, duration_ns,
                    [seq for seq in logged if seq in ids])
    if first != len(samples):
        raise ValueError(f"{len(samples)} samples in the trace, {first} in the issue callback")


def _samples(trace):
    """All samples that the trace saw completed, by sequence id."""
    samples, tokens = {}, {}
    for name, at, seq, query, index, issue_delay, latency in SAMPLE.findall(trace):
        if name == "Token":
            tokens[int(seq)] = int(latency)
        else:
            samples[int(seq)] = Sample(int(seq), int(query), int(index), _ns(at), int(issue_delay), int(latency))
    # Server traces name no sample with a first token, but its scheduled time, in a counter that precedes the sample's.
    by_schedule = {}
    for at, delay, done in SERVER_TOKEN.findall(trace):
        by_schedule.setdefault(_ns(at), []).append(int(delay) + int(done))
    for seq in sorted(samples):
        sample = samples[seq]
        if seq in tokens:
            sample.first_token_ns = tokens[seq]
        elif sample.scheduled_ns in by_schedule:
            sample.first_token_ns = by_schedule[sample.scheduled_ns].pop(0)
    return [samples[seq] for seq in sorted(samples)]


def _start_window_ns(trace):
    """Between the end of the last generation and the first wait for a query after it."""
    spans = [(name, _ns(at), _ns(duration)) for name, at, duration in SPAN.findall(trace)]
    generated = max(at + duration for name, at, duration in spans if name == "GenerateQueries")
    waits = [at for name, at, _ in spans if name == "Waiting" and at >= generated]
    return generated, min(waits, default=generated)


def _ns(microseconds):
    """`12.345` -> 12345, without a detour through binary fractions."""
    whole, _, decimals = microseconds.partition(".")
    return int(whole + decimals.ljust(3, "0")[:3])


def report_vector(case, run):
    """The input of `replay --report-vector` for the performance phase of a run, which is always its last.

    SingleStream and MultiStream runs are measured from a start that the trace does not show; see `_final_issued_ns`.
    """
    settings, samples = case["settings"], run.phases[-1].samples
    queries = {}
    for sample in samples:
        queries.setdefault(sample.query, []).append(sample)
    final = queries[max(queries)]
    final_latency_ns = max(sample.latency_ns for sample in final)
    tokens = [token_count(sample.index) for sample in samples] if settings.get("use_token_latencies") else []
    if settings["scenario"] in ("Server", "Offline"):
        scheduled_ns = final[0].scheduled_ns - min(sample.scheduled_ns for sample in samples)
        issued_ns = scheduled_ns + final[0].issue_delay_ns
    else:
        issued_ns = _final_issued_ns(settings, run, len(samples), sum(tokens), final[0], final_latency_ns)
        scheduled_ns = issued_ns
    result = {
        "sample_latencies": [sample.latency_ns for sample in samples],
        "queries_issued": len(queries),
        "max_latency": max(sample.latency_ns for sample in samples) / 1e9,
        "final_query_scheduled_time": scheduled_ns / 1e9,
        "final_query_issued_time": issued_ns / 1e9,
        "final_query_all_samples_done_time": (scheduled_ns + final_latency_ns) / 1e9,
    }
    if settings["scenario"] == "MultiStream":
        result["query_latencies"] = [max(sample.latency_ns for sample in queries[query]) for query in sorted(queries)]
    if tokens:
        result["tokens_per_sample"] = tokens
    if tokens and settings["scenario"] != "Offline":
        result["first_token_latencies"] = [sample.first_token_ns for sample in samples]
        result["time_per_output_token"] = [(sample.latency_ns - sample.first_token_ns) // (count - 1)
                                           for sample, count in zip(samples, tokens)]
    return {"settings": settings, "qsl": case["qsl"], "sut_name": "PySUT", "result": result}


class StartNotFound(Exception):
    """No start of the phase explains the printed rates."""


def _final_issued_ns(settings, run, sample_count, token_total, final, final_latency_ns):
    """Time from the start of the phase to its last issue: a whole number of ns that the trace allows (a window of some
    microseconds) and that the wheel's printed rates and its duration check agree with.
    """
    earliest, latest = run.start_window_ns
    low, high = max(final.scheduled_ns - latest, 1), final.scheduled_ns - earliest
    detail = dict(run.result_detail)
    min_duration_ns = settings["min_duration_ms"] * 1_000_000
    if detail["result_min_duration_met"] == "true":
        low = max(low, min_duration_ns)
    else:
        high = min(high, min_duration_ns - 1)
    printed = [(sample_count - 1, 0, "%.2f", _labelled(run.summary, "QPS w/ loadgen overhead")),
               (sample_count - 1, 0, "%g", detail.get("result_qps_with_loadgen_overhead")),
               (token_total, 0, "%.2f", _labelled(run.summary, "TPS w/ loadgen overhead")),
               (token_total, 0, "%g", detail.get("result_token_throughput_with_loadgen_overhead")),
               (token_total, final_latency_ns, "%g", detail.get("result_completed_tokens_per_second"))]
    printed = [each for each in printed if each[3] is not None]
    # Rates fall as time grows: the matching times are those from the first that prints no more than the wheel did to
    # the last that prints no less.
    for amount, offset, form, text in printed:
        def rate(final_ns):
            return float(form % (amount / ((final_ns + offset) / 1e9)))
        low = _first(low, high, lambda final_ns: rate(final_ns) <= float(text))
        high = _first(low, high, lambda final_ns: rate(final_ns) < float(text)) - 1
    if low > high:
        raise StartNotFound(f"window {run.start_window_ns}, printed {printed}")
    return (low + high) // 2


def _first(low, high, holds):
    """The first number of low..high for which `holds`, which stays true once it is; high + 1 when there is none."""
    end = high + 1
    while low < end:
        middle = (low + end) // 2
        low, end = (low, middle) if holds(middle) else (middle + 1, end)
    return low


def _labelled(summary, label):
    found = re.search(rf"^{re.escape(label)} *: (.*)$", summary, re.MULTILINE)
    return found and found[1]
