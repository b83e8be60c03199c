"""Random settings that the official LoadGen can run in a few tens of milliseconds.

Every case is `{"qsl": {"total", "performance"}, "settings": {...}}` with the field names of the wheel's TestSettings.
Settings on which the official code is known to crash, to hang or to read out of bounds are never drawn; each such
class is avoided at one place, marked `AVOID`.
"""

import math

SCENARIOS = ["SingleStream", "MultiStream", "Server", "Offline"]
MODES = ["PerformanceOnly", "AccuracyOnly", "SubmissionRun"]

# A wheel phase takes 10 ms or more of waiting, so accuracy runs get few loadable sets.
ACCURACY_SETS_MAX = 8
# Lists of 65536 entries and more are shuffled by another rule than shorter ones.
BIG_QSL = (65_530, 70_000)
BIG_QSL_SHARE = 0.03
# Wall clock that a Server phase may be scheduled for, in seconds.
SERVER_PHASE_MAX_S = 0.15
MIN_DURATION_MAX_MS = 30

OFFICIAL_SEEDS = [2085463073848966840, 2747215439041700203, 16159082839903944936, 720381539243781796]


def draw_case(rng):
    """One case; equal states of `rng` give equal cases."""
    scenario = rng.choice(SCENARIOS)
    mode = rng.choices(MODES, weights=[3, 1, 2])[0]
    qsl, counts, is_big = _draw_library(rng, scenario, mode)
    settings = {"scenario": scenario, "mode": mode, **counts}
    _draw_length(rng, settings)
    _draw_choice(rng, settings, qsl, is_big)
    _draw_seeds(rng, settings)
    _draw_accuracy_log(rng, settings)
    {"SingleStream": _draw_single_stream, "MultiStream": _draw_multi_stream, "Server": _draw_server,
     "Offline": _draw_offline}[scenario](rng, settings, qsl)
    _draw_tokens(rng, settings)
    return {"qsl": qsl, "settings": settings}


def performance_count(case_qsl, settings):
    """Samples that the settings let into memory at a time."""
    return settings.get("performance_sample_count_override", 0) or case_qsl["performance"]


def set_lengths(case_qsl, settings):
    """Lengths of all loadable sets of the run, MultiStream padding not counted."""
    total = case_qsl["total"]
    loaded_at_once = performance_count(case_qsl, settings)
    lengths = []
    if settings["mode"] != "AccuracyOnly":
        lengths.append(min(loaded_at_once, total))
    if settings["mode"] != "PerformanceOnly":
        left = min(settings.get("accuracy_sample_count_override", 0) or total, total)
        while left > 0:
            lengths.append(min(left, loaded_at_once))
            left -= loaded_at_once
    return lengths


def token_count(sample_index):
    """Tokens in the answer to a sample."""
    return 2 + sample_index % 7  # AVOID: below 2 tokens the official statistics are negative or uninitialised.


def _draw_library(rng, scenario, mode):
    # AVOID: a QSL that reports 0 samples, total or performance (SIGSEGV, or a run of nothing): counts start at 1.
    is_big = rng.random() < BIG_QSL_SHARE and (scenario == "Offline" or mode == "PerformanceOnly")
    total = rng.randint(*BIG_QSL) if is_big else _log_uniform_int(rng, 1, 400)
    qsl = {"total": total, "performance": total if is_big else rng.randint(1, total)}
    if rng.random() < 0.05:
        qsl["performance"] = total + rng.randint(1, 50)
    counts = {}
    if rng.random() < 0.25:
        counts["performance_sample_count_override"] = rng.randint(1, total + 5)
    if rng.random() < 0.25:
        counts["accuracy_sample_count_override"] = rng.randint(1, total + 5)
    if mode != "PerformanceOnly":
        least = math.ceil(min(counts.get("accuracy_sample_count_override", total), total) / ACCURACY_SETS_MAX)
        qsl["performance"] = max(qsl["performance"], least)
        if "performance_sample_count_override" in counts:
            counts["performance_sample_count_override"] = max(counts["performance_sample_count_override"], least)
    return qsl, counts, is_big


def _draw_length(rng, settings):
    settings["min_duration_ms"] = rng.choice([0, 0, rng.randint(1, 5), rng.randint(1, MIN_DURATION_MAX_MS)])
    settings["min_query_count"] = rng.choice([1, rng.randint(1, 20), rng.randint(20, 150), rng.randint(100, 1000)])
    # AVOID: min_query_count 0 with min_duration 0 generates nothing (SIGSEGV).
    if settings["min_duration_ms"] > 0 and rng.random() < 0.1:
        settings["min_query_count"] = 0
    if rng.random() < 0.15:
        settings["max_query_count"] = rng.randint(1, settings["min_query_count"] + 50)
    if rng.random() < 0.1:
        settings["max_duration_ms"] = rng.randint(1, MIN_DURATION_MAX_MS)


def _draw_choice(rng, settings, qsl, is_big):
    """Draws the settings that choose the samples of each query."""
    cheap = not is_big or settings["scenario"] == "Offline"  # these settings use up whole sets
    unique = cheap and rng.random() < 0.15
    if unique and settings["scenario"] == "Offline" and performance_count(qsl, settings) > qsl["total"]:
        unique = False  # AVOID: an Offline query of more unique samples than a set has: none is generated (SIGSEGV).
    equal = cheap and rng.random() < 0.25
    if unique and equal and settings["scenario"] == "MultiStream":
        equal = False  # AVOID: MultiStream, unique and equal issue together end in std::out_of_range.
    if unique:
        settings["performance_issue_unique"] = True
    if equal:
        settings["sample_concatenate_permutation"] = True
        # AVOID: Server, equal issue and min_query_count 0: a remainder modulo the length of an empty list (SIGFPE).
        if settings["scenario"] == "Server":
            settings["min_query_count"] = max(settings["min_query_count"], 1)
    if rng.random() < 0.15:
        settings["performance_issue_same"] = True
        # AVOID: an index past the end of a set, which may be a short last one, is an out-of-bounds read.
        settings["performance_issue_same_index"] = rng.randrange(min(set_lengths(qsl, settings)))


def _draw_seeds(rng, settings):
    for name in ["qsl", "sample_index", "schedule"]:
        settings[f"{name}_rng_seed"] = _draw_seed(rng)
    if rng.random() < 0.05 and settings["mode"] == "PerformanceOnly":
        settings["test05"] = True
        for name in ["qsl", "sample_index", "schedule"]:
            settings[f"test05_{name}_rng_seed"] = _draw_seed(rng)


def _draw_seed(rng):
    return rng.choice([
        rng.randrange(100),
        rng.randrange(2**32),
        rng.randrange(2**32, 2**64),
        2**32 + rng.randrange(3),
        rng.choice([5489, 2**32 - 1, 2**32, 2**63, 2**64 - 1]),
        rng.choice(OFFICIAL_SEEDS),
    ])


def _draw_accuracy_log(rng, settings):
    if rng.random() < 0.4:
        settings["accuracy_log_probability"] = rng.choice([1.0, rng.random(), rng.random() ** 3])
    if rng.random() < 0.3:
        settings["accuracy_log_sampling_target"] = rng.randint(1, 60)
    if rng.random() < 0.8:
        settings["accuracy_log_rng_seed"] = _draw_seed(rng)


def _draw_single_stream(rng, settings, _qsl):
    # AVOID: an expected latency of 0 generates queries until memory ends.
    settings["single_stream_expected_latency_ns"] = _log_uniform(rng, 2e4, 1e6)
    settings["single_stream_target_latency_percentile"] = _draw_percentile(rng)


def _draw_multi_stream(rng, settings, _qsl):
    settings["multi_stream_expected_latency_ns"] = _log_uniform(rng, 3e5, 8e6)
    settings["multi_stream_target_latency_percentile"] = _draw_percentile(rng)
    # AVOID: 0 samples per query generates queries until memory ends.
    settings["multi_stream_samples_per_query"] = rng.choice([1, 2, 8, rng.randint(1, 20)])


def _draw_server(rng, settings, qsl):
    # AVOID: a target of 0 queries per second generates queries until memory ends.
    queries = max([settings["min_query_count"], *set_lengths(qsl, settings)])
    if settings.get("sample_concatenate_permutation"):
        queries += max(set_lengths(qsl, settings))
    slowest = max(300.0, queries / SERVER_PHASE_MAX_S)
    settings["server_target_qps"] = _log_uniform(rng, slowest, max(2 * slowest, 5e4))
    settings["server_target_latency_ns"] = int(_log_uniform(rng, 3e3, 1e8))
    settings["server_target_latency_percentile"] = _draw_percentile(rng)
    if rng.random() < 0.2:
        settings["server_coalesce_queries"] = True
    if rng.random() < 0.2:
        settings["server_max_async_queries"] = rng.randint(1, 50)


def _draw_offline(rng, settings, _qsl):
    # AVOID: 0 expected queries per second gives a nonsense duration; a query of 0 samples is a SIGSEGV.
    settings["offline_expected_qps"] = _log_uniform(rng, 1.0, 1.5e5)
    expected = 1.1 * settings["min_duration_ms"] / 1000 * settings["offline_expected_qps"]
    if expected < 2:
        settings["min_query_count"] = max(settings["min_query_count"], 1)


def _draw_percentile(rng):
    return rng.choice([0.5, 0.9, 0.95, 0.97, 0.99, 0.999, round(rng.uniform(0.3, 0.999), 3)])


def _draw_tokens(rng, settings):
    if rng.random() < 0.15:
        settings["use_token_latencies"] = True
        settings["ttft_latency"] = int(_log_uniform(rng, 3e3, 1e8))
        settings["tpot_latency"] = int(_log_uniform(rng, 3e2, 1e7))
    elif rng.random() < 0.1:
        settings["infer_token_latencies"] = True
        settings["token_latency_scaling_factor"] = rng.randint(1, 300)


def _log_uniform(rng, low, high):
    return math.exp(rng.uniform(math.log(low), math.log(high)))


def _log_uniform_int(rng, low, high):
    return min(high, int(_log_uniform(rng, low, high + 1)))
