//! The `requested_*` and `effective_*` keys of the detail log, in official order.

use crate::effective::Effective;
use crate::plan::Plan;
use crate::scenarios::TestSettings;
use crate::value::{Entry, Value};

/// The requested settings, then the effective ones, each key with its prefix.
pub(crate) fn settings_keys(plan: &Plan) -> Vec<Entry> {
    let requested = requested(plan.requested()).into_iter().map(|(name, value)| (format!("requested_{name}"), value));
    let effective = effective(plan.effective()).into_iter().map(|(name, value)| (format!("effective_{name}"), value));
    requested.chain(effective).collect()
}

fn requested(s: &TestSettings) -> Vec<Entry> {
    let mut entries: Vec<Entry> =
        vec![("scenario".into(), s.scenario.name().into()), ("test_mode".into(), s.mode.name().into())];
    entries.extend(s.scenario.traffic().requested(s));
    let common: [(&str, Value); 17] = [
        ("min_duration_ms", s.min_duration_ms.into()),
        ("max_duration_ms", s.max_duration_ms.into()),
        ("min_query_count", s.min_query_count.into()),
        ("max_query_count", s.max_query_count.into()),
        ("qsl_rng_seed", s.qsl_rng_seed.into()),
        ("sample_index_rng_seed", s.sample_index_rng_seed.into()),
        ("schedule_rng_seed", s.schedule_rng_seed.into()),
        ("accuracy_log_rng_seed", s.accuracy_log_rng_seed.into()),
        ("accuracy_log_probability", s.accuracy_log_probability.into()),
        ("accuracy_log_sampling_target", s.accuracy_log_sampling_target.into()),
        ("print_timestamps", s.print_timestamps.into()),
        ("performance_issue_unique", s.performance_issue_unique.into()),
        ("performance_issue_same", s.performance_issue_same.into()),
        ("performance_issue_same_index", s.performance_issue_same_index.into()),
        ("performance_sample_count_override", s.performance_sample_count_override.into()),
        ("accuracy_sample_count_override", s.accuracy_sample_count_override.into()),
        ("sample_concatenate_permutation", s.sample_concatenate_permutation.into()),
    ];
    entries.extend(common.into_iter().map(|(name, value)| (name.to_owned(), value)));
    if s.use_token_latencies {
        entries.push(("use_token_latencies".into(), true.into()));
        if s.scenario.judge().has_token_latencies() {
            entries.push(("server_ttft_latency".into(), s.server_ttft_latency.into()));
            entries.push(("server_tpot_latency".into(), s.server_tpot_latency.into()));
        }
    }
    entries
}

fn effective(e: &Effective) -> Vec<Entry> {
    let entries: [(&str, Value); 26] = [
        ("scenario", e.scenario.name().into()),
        ("test_mode", e.mode.name().into()),
        ("samples_per_query", e.samples_per_query.into()),
        ("target_qps", e.target_qps.into()),
        ("target_latency_ns", e.target_latency_ns.into()),
        ("target_latency_percentile", e.target_latency_percentile.into()),
        ("max_async_queries", e.max_async_queries.into()),
        ("target_duration_ms", e.target_duration_ms.into()),
        ("min_duration_ms", e.settings.min_duration_ms.into()),
        ("max_duration_ms", e.settings.max_duration_ms.into()),
        ("min_query_count", e.min_query_count.into()),
        ("max_query_count", e.settings.max_query_count.into()),
        ("min_sample_count", e.min_sample_count.into()),
        ("qsl_rng_seed", e.settings.qsl_rng_seed.into()),
        ("sample_index_rng_seed", e.settings.sample_index_rng_seed.into()),
        ("schedule_rng_seed", e.settings.schedule_rng_seed.into()),
        ("accuracy_log_rng_seed", e.settings.accuracy_log_rng_seed.into()),
        ("accuracy_log_probability", e.settings.accuracy_log_probability.into()),
        ("accuracy_log_sampling_target", e.settings.accuracy_log_sampling_target.into()),
        ("print_timestamps", e.settings.print_timestamps.into()),
        ("performance_issue_unique", e.settings.performance_issue_unique.into()),
        ("performance_issue_same", e.settings.performance_issue_same.into()),
        ("performance_issue_same_index", e.settings.performance_issue_same_index.into()),
        ("performance_sample_count", e.performance_sample_count.into()),
        ("accuracy_sample_count", e.accuracy_sample_count.into()),
        ("sample_concatenate_permutation", e.settings.sample_concatenate_permutation.into()),
    ];
    entries.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}
