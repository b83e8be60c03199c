//! Results of the edge suite that follow from the run of another scenario (rules v5, 4.1.1). Their folders have the
//! logs of that run, and the official checker works the number out.
//!
//! Source of the numbers: `get_inferred_result` of the checker, mlcommons/inference b66003e1.

use loadgen::settings::Scenario;

use crate::audit::Detail;

const SINGLE: &str = "SingleStream";
const MULTI: &str = "MultiStream";
const OFFLINE: &str = "Offline";
/// Which result may follow from which run: to, from.
const ALLOWED: [(&str, &str); 3] = [(MULTI, SINGLE), (OFFLINE, MULTI), (OFFLINE, SINGLE)];
/// The samples of a query that a result of MultiStream is of.
const SAMPLES: f64 = 8.0;
const NS_PER_MS: f64 = 1e6;
const NS_PER_S: f64 = 1e9;

/// Returns true when a result of `to` may follow from a run of `from`, in the edge suite.
pub(super) fn is_allowed(to: Scenario, from: Scenario) -> bool {
    ALLOWED.contains(&(to.name(), from.name()))
}

/// The pairs that are allowed, for messages.
pub(super) fn allowed() -> String {
    ALLOWED.map(|(to, from)| format!("{to} from {from}")).join(", ")
}

/// The number that follows from a run, with how and its unit. None: the log lacks what it takes.
pub(super) fn result(to: Scenario, from: Scenario, detail: &Detail) -> Option<String> {
    let positive = |key: &str| detail.number(key).filter(|number| *number > 0.0);
    let (to, from) = (to.name(), from.name());
    match (to, from) {
        (MULTI, SINGLE) => {
            let latency_ns = positive("early_stopping_latency_ms")?;
            Some(format!(
                "{SAMPLES} times the 99th percentile of early stopping, {:.6} ms",
                SAMPLES * latency_ns / NS_PER_MS
            ))
        }
        (OFFLINE, SINGLE) => {
            let rate = positive("result_qps_without_loadgen_overhead")?;
            Some(format!("1 through the mean latency, {rate:.2} samples/s"))
        }
        (OFFLINE, MULTI) => {
            let (samples, mean_ns) =
                (positive("effective_samples_per_query")?, positive("result_mean_query_latency_ns")?);
            let rate = samples * NS_PER_S / mean_ns;
            Some(format!("{samples} samples through the mean latency of a query, {rate:.2} samples/s"))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scenario(name: &str) -> Scenario {
        Scenario::ALL.into_iter().find(|known| known.name() == name).unwrap()
    }

    #[test]
    fn numbers_are_those_of_the_checker() {
        let line = |key: &str, value: &str| format!(":::MLLOG {{\"key\": \"{key}\", \"value\": {value}}}\n");
        let text = line("early_stopping_latency_ms", "2000000")
            + &line("result_qps_without_loadgen_overhead", "812.5")
            + &line("effective_samples_per_query", "8")
            + &line("result_mean_query_latency_ns", "4000000");
        let detail = Detail::read(&text).unwrap();
        let told = |to, from| result(scenario(to), scenario(from), &detail).unwrap_or_default();
        assert!(told(MULTI, SINGLE).ends_with(", 16.000000 ms"));
        assert!(told(OFFLINE, SINGLE).ends_with(", 812.50 samples/s"));
        assert!(told(OFFLINE, MULTI).ends_with(", 2000.00 samples/s"));
        assert_eq!(told("Server", OFFLINE), "");
        assert!(is_allowed(scenario(OFFLINE), scenario(MULTI)) && !is_allowed(scenario(MULTI), scenario(OFFLINE)));
    }
}
