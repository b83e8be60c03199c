//! `mix_result.json`: tenants that ran together, each judged by itself, and how far they were in each other's way.

use std::fmt::Write as _;
use std::time::Duration;

use lon_proto::figures::{bytes, duration_ns};
use lon_proto::text::on_one_line;
use serde::{Deserialize, Serialize};

use super::lag::LagDocument;
use super::mix_search::{MixSearched, MixTrial};
use super::parts::{LatencySplit, LatencySpread};
use super::result_summary::{MetricDocument, PerformanceMetric, ResultSummary, Validity};
use crate::outputs::tables::table::Table;

/// The file of it.
pub const FILE: &str = "mix_result.json";

/// The version of [`MixResult`].
const SCHEMA: u32 = 1;

/// The text of `unofficial`.
const UNOFFICIAL: &str = "results of this tool are unverified and are not official MLPerf results";

/// Stands where there is no value.
const NONE: &str = "-";

const HEADS: [&str; 11] = [
    "tenant",
    "verdict",
    "model",
    "scenario",
    "achieved",
    "of target",
    "p50",
    "p99",
    "p99 alone",
    "interference",
    "lag p99",
];

/// Heads of the CSV.
const COLUMNS: [&str; 17] = [
    "tenant",
    "result",
    "model",
    "benchmark",
    "scenario",
    "target_per_s",
    "achieved_per_s",
    "p50_ns",
    "p90_ns",
    "p99_ns",
    "p99_9_ns",
    "alone_p99_ns",
    "interference_p99",
    "lag_p99_ns",
    "samples",
    "bytes_to_sut",
    "bytes_from_sut",
];

/// The whole document.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MixResult {
    /// Version of this form: 1.
    #[cfg_attr(test, schemars(extend("const" = SCHEMA)))]
    pub schema: u32,
    /// Says that these are no official results.
    pub unofficial: String,
    /// VALID when every tenant is.
    pub result: Validity,
    /// Why it is INVALID, in words; empty: it is VALID.
    pub reasons: Vec<String>,
    /// The search that the run belongs to; null where none was wanted. The tenants are those of its last good run.
    pub search: Option<MixSearched>,
    /// Duration for which each tenant ran alone before, ns; null where none did.
    pub alone_first_ns: Option<u64>,
    /// The tenants, in the order of the file.
    pub tenants: Vec<TenantResult>,
    /// Jain's index over the shares of their target rates that the tenants achieved: 1 is the same share for all, 1/n
    /// is everything for one of n. Null where fewer than two tenants have a target rate.
    pub fairness: Option<f64>,
}

/// Result of one tenant.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TenantResult {
    /// Name of the tenant.
    pub name: String,
    /// Its run folder, below that of the mix.
    pub folder: String,
    /// Its model at the nodes; null: the first one of each.
    pub model: Option<String>,
    /// The benchmark's name.
    pub benchmark: String,
    /// The scenario's official name.
    pub scenario: String,
    /// The names of its nodes.
    pub nodes: Vec<String>,
    /// When it started on the clock of the mix, ns.
    pub start_ns: u64,
    /// The verdict on it.
    pub result: Validity,
    /// Why it is INVALID, in words.
    pub reasons: Vec<String>,
    /// Every sample was answered once.
    pub is_whole: bool,
    /// It met the limits of its latency; null where that is not known, or it has none.
    pub is_within_limit: Option<bool>,
    /// It ended while others still measured.
    pub left_early: bool,
    /// Its metric; null where there is none.
    pub metric: Option<PerformanceMetric>,
    /// The rate that it was to have, queries per second; null where it has none.
    pub target_per_s: Option<f64>,
    /// Samples answered per second, over the time until the last answer.
    pub achieved_per_s: Option<f64>,
    /// Percentiles of its latency.
    pub latency_ns: Option<LatencySpread>,
    /// Time between when samples were due and when they were sent, ns.
    #[serde(default)]
    pub schedule_lag_ns: Option<LagDocument>,
    /// Where the time of its answered samples went, ns.
    #[serde(default)]
    pub latency_split_ns: LatencySplit,
    /// Samples that were issued.
    pub samples: u64,
    /// Bytes on the sockets of its streams, towards the SUT and from it.
    pub socket_bytes: [u64; 2],
    /// Its run alone; null where there was none.
    pub alone: Option<AloneResult>,
    /// p99 together over p99 alone; null where one of them is not known.
    pub interference_p99: Option<f64>,
}

/// A tenant's run alone.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct AloneResult {
    /// Its run folder, below that of the mix.
    pub folder: String,
    /// Percentiles of its latency.
    pub latency_ns: Option<LatencySpread>,
    /// Its metric; null where there is none.
    pub metric: Option<PerformanceMetric>,
}

impl MixResult {
    /// The result of these tenants.
    pub fn new(alone_first: Option<Duration>, tenants: Vec<TenantResult>) -> MixResult {
        let mut reasons = Vec::new();
        for tenant in &tenants {
            if tenant.left_early {
                reasons.push(format!("tenant {} ended while others still measured", tenant.name));
            }
            if tenant.result != Validity::Valid {
                reasons.push(format!("tenant {} is INVALID", tenant.name));
            }
        }
        MixResult {
            schema: SCHEMA,
            unofficial: UNOFFICIAL.to_owned(),
            result: Validity::of(reasons.is_empty()),
            reasons,
            search: None,
            alone_first_ns: alone_first.map(|time| time.as_nanos() as u64),
            fairness: fairness(&tenants),
            tenants,
        }
    }

    /// The result of a search whose reported run this is.
    #[must_use]
    pub fn of_search(mut self, searched: MixSearched) -> MixResult {
        self.reasons.splice(0..0, searched.reason());
        MixResult { result: Validity::of(self.reasons.is_empty()), search: Some(searched), ..self }
    }

    /// For the screen.
    pub fn text(&self) -> String {
        let mut text = format!("Result    {}\n", self.result.word());
        // Writing to a String cannot fail.
        for reason in &self.reasons {
            let _ = writeln!(text, "          - {}", on_one_line(reason));
        }
        text.extend(self.search.as_ref().map(MixSearched::text));
        text.push_str(&self.table().aligned());
        for tenant in self.tenants.iter().filter(|tenant| !tenant.reasons.is_empty()) {
            for reason in &tenant.reasons {
                let _ = writeln!(text, "  {}: {}", tenant.name, on_one_line(reason));
            }
        }
        if let Some(fairness) = self.fairness {
            let _ = writeln!(text, "Fairness  {fairness:.3} (Jain's index over achieved / target rate; 1: all alike)");
        }
        for TenantResult { name, latency_split_ns, .. } in self.tenants.iter().filter(|tenant| tenant.samples > 0) {
            let _ = writeln!(text, "p99       {name}: {}", latency_split_ns.sum(false, |at| at.p99));
        }
        for TenantResult { name, socket_bytes: [to, from], samples, .. } in &self.tenants {
            let _ =
                writeln!(text, "Network   {name}: {samples} samples, {} to SUT, {} from SUT", bytes(*to), bytes(*from));
        }
        text + "          Unverified: not an official MLPerf result.\n"
    }

    /// For programs: a row for each tenant, each number in a column of its own, with the unit in its name.
    pub fn columns(&self) -> Table {
        let mut table = Table::new(COLUMNS);
        for tenant in &self.tenants {
            let latency = tenant.latency_ns.unwrap_or_default();
            let alone = tenant.alone.as_ref().and_then(|alone| alone.latency_ns).unwrap_or_default();
            let [to, from] = tenant.socket_bytes;
            table.row([
                &tenant.name,
                tenant.result.word(),
                tenant.model.as_deref().unwrap_or_default(),
                &tenant.benchmark,
                &tenant.scenario,
                &cell(tenant.target_per_s),
                &cell(tenant.achieved_per_s),
                &cell(latency.p50),
                &cell(latency.p90),
                &cell(latency.p99),
                &cell(latency.p99_9),
                &cell(alone.p99),
                &cell(tenant.interference_p99),
                &cell(tenant.schedule_lag_ns.map(|lag| lag.p99)),
                &tenant.samples.to_string(),
                &to.to_string(),
                &from.to_string(),
            ]);
        }
        table
    }

    /// A row for each tenant.
    pub fn table(&self) -> Table {
        let mut table = Table::new(HEADS);
        for tenant in &self.tenants {
            let rate = |rate: Option<f64>| rate.map_or_else(|| NONE.to_owned(), |rate| format!("{rate:.1}/s"));
            let time = |ns: Option<i64>| ns.map_or_else(|| NONE.to_owned(), duration_ns);
            let share = tenant.share().map_or_else(|| NONE.to_owned(), |share| format!("{:.1} %", 100.0 * share));
            let latency = tenant.latency_ns.unwrap_or_default();
            let alone = tenant.alone.as_ref().and_then(|alone| alone.latency_ns).unwrap_or_default();
            let interference = tenant.interference_p99;
            table.row([
                &tenant.name,
                tenant.result.word(),
                tenant.model.as_deref().unwrap_or("the first"),
                &tenant.scenario,
                &rate(tenant.achieved_per_s),
                &share,
                &time(latency.p50),
                &time(latency.p99),
                &time(alone.p99),
                &interference.map_or_else(|| NONE.to_owned(), |times| format!("x {times:.2}")),
                &time(tenant.schedule_lag_ns.and_then(|lag| i64::try_from(lag.p99).ok())),
            ]);
        }
        table
    }
}

impl TenantResult {
    /// The facts that a run folder has of a tenant.
    pub fn of(run: &ResultSummary) -> TenantResult {
        TenantResult {
            benchmark: run.benchmark.clone(),
            scenario: run.scenario.clone(),
            result: run.result,
            reasons: run.reasons.clone(),
            metric: metric(run),
            latency_ns: run.latency_ns,
            schedule_lag_ns: run.schedule_lag_ns,
            samples: run.counts.issued,
            ..TenantResult::default()
        }
    }

    /// With its run alone.
    pub fn with_alone(self, folder: String, run: &ResultSummary) -> TenantResult {
        let p99 = |spread: Option<LatencySpread>| spread.and_then(|spread| spread.p99).filter(|ns| *ns > 0);
        let interference_p99 =
            p99(self.latency_ns).zip(p99(run.latency_ns)).map(|(together, alone)| together as f64 / alone as f64);
        let alone = AloneResult { folder, latency_ns: run.latency_ns, metric: metric(run) };
        TenantResult { alone: Some(alone), interference_p99, ..self }
    }

    /// Returns true when it lost nothing and missed no limit.
    pub fn keeps_its_limit(&self) -> bool {
        self.is_whole && self.is_within_limit != Some(false)
    }

    /// The share of its target rate that it achieved.
    fn share(&self) -> Option<f64> {
        let target = self.target_per_s.filter(|rate| *rate > 0.0)?;
        Some(self.achieved_per_s? / target)
    }
}

/// A number in a cell; empty where there is none.
fn cell(number: Option<impl ToString>) -> String {
    number.map_or_else(String::new, |number| number.to_string())
}

fn metric(run: &ResultSummary) -> Option<PerformanceMetric> {
    match run.metric.as_ref()? {
        MetricDocument::Performance(metric) => Some(metric.clone()),
        MetricDocument::Accuracy(_) => None,
    }
}

/// Jain's index: (sum x)^2 / (n sum x^2), over the shares of their targets that tenants achieved.
///
/// R. Jain, D. Chiu, W. Hawe: A Quantitative Measure of Fairness and Discrimination for Resource Allocation in Shared
/// Computer Systems, DEC-TR-301, 1984.
fn fairness(tenants: &[TenantResult]) -> Option<f64> {
    let shares: Vec<f64> = tenants.iter().filter_map(TenantResult::share).collect();
    let squares: f64 = shares.iter().map(|share| share * share).sum();
    let sum: f64 = shares.iter().sum();
    (shares.len() > 1 && squares > 0.0).then(|| sum * sum / (shares.len() as f64 * squares))
}

impl MixResult {
    /// This mix as a run of a search, judged: a trial by the limits of the tenants, a verification by their verdicts.
    pub fn trial(&self, load: f64, is_verification: bool, folder: String) -> MixTrial {
        let failed = self.tenants.iter().filter(|tenant| {
            let keeps = if is_verification { tenant.result == Validity::Valid } else { tenant.keeps_its_limit() };
            !keeps || tenant.left_early
        });
        let reasons: Vec<String> = failed
            .map(|tenant| {
                let why = tenant.reasons.first().map_or("it left the mix early", String::as_str);
                format!("{}: {why}", tenant.name)
            })
            .collect();
        MixTrial { load, passed: reasons.is_empty(), is_verification, folder, reasons }
    }
}

#[cfg(test)]
mod tests {
    use super::super::reads_back;
    use super::*;

    fn tenant(name: &str, target: Option<f64>, achieved: f64, p99_ns: i64) -> TenantResult {
        TenantResult {
            name: name.to_owned(),
            scenario: "Server".to_owned(),
            result: Validity::Valid,
            target_per_s: target,
            achieved_per_s: Some(achieved),
            latency_ns: Some(LatencySpread { p99: Some(p99_ns), ..LatencySpread::default() }),
            ..TenantResult::default()
        }
    }

    fn alone(p99_ns: i64) -> ResultSummary {
        let latency_ns = Some(LatencySpread { p99: Some(p99_ns), ..LatencySpread::default() });
        ResultSummary { latency_ns, ..ResultSummary::default() }
    }

    #[test]
    fn interference_is_the_ratio_of_the_percentiles() {
        let vision = tenant("vision", Some(100.0), 100.0, 6_000_000).with_alone("a".to_owned(), &alone(2_000_000));
        assert_eq!(vision.interference_p99, Some(3.0));
        let result = MixResult::new(None, vec![vision, tenant("chat", Some(4.0), 4.0, 1)]);
        assert_eq!((result.result, result.fairness), (Validity::Valid, Some(1.0)));
        assert!(result.text().contains("x 3.00"), "{}", result.text());
        reads_back(&result);
    }

    #[test]
    fn fairness_is_over_the_tenants_that_have_a_target() {
        let tenants = [(Some(100.0), 100.0), (Some(100.0), 0.0), (None, 50.0)];
        let tenants = tenants.map(|(target, achieved)| tenant("t", target, achieved, 1)).to_vec();
        assert_eq!(fairness(&tenants), Some(0.5));
        assert_eq!(fairness(&tenants[2..]), None);
    }

    #[test]
    fn one_invalid_tenant_makes_the_mix_invalid() {
        let slow = TenantResult { result: Validity::Invalid, ..tenant("slow", None, 1.0, 1) };
        let early = TenantResult { left_early: true, ..tenant("early", None, 1.0, 1) };
        let result = MixResult::new(None, vec![tenant("good", None, 1.0, 1), slow, early]);
        assert_eq!(
            (result.result, result.reasons),
            (
                Validity::Invalid,
                vec!["tenant slow is INVALID".to_owned(), "tenant early ended while others still measured".to_owned()]
            )
        );
    }
}
