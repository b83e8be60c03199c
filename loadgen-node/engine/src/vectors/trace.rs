//! The traffic that settings generate: the document, and the vector that it is made from.
//!
//! What is issued is what a SUT gets that answers at once while virtual time stands still: time only passes while the
//! issuer waits for a due time.

use serde::{Deserialize, Serialize};

use super::form::{VectorError, from_vector};
use super::listing::{Listing, Numbers};
use crate::mode::Qsl;
use crate::plan::Plan;
use crate::run::{Decision, Issuer};
use crate::scenarios::TestSettings;
use crate::settings::Profile;
use crate::trace::{Drawn, PhaseMode, PhasePlan, Picks, Query, Trace};
use crate::traffic::arrivals_text;
use crate::world::TimeNs;

/// Most samples whose lists are printed in full: each takes some hundred bytes on the way.
const MAX_LISTED: u64 = 2_000_000;
/// Most samples in loaded sets, which are held even when only digests are printed.
const MAX_LOADED: u64 = 100_000_000;
/// Samples fetched at once.
const PIECE: usize = 4_096;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Input {
    qsl: Qsl,
    settings: TestSettings,
}

/// The traffic of a test, as `trace` prints it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TrafficTrace {
    /// The phases, in the order in which they run.
    pub phases: Vec<PhaseTraffic>,
}

/// The traffic of one phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PhaseTraffic {
    /// Mode of the phase: `AccuracyOnly` or `PerformanceOnly`.
    pub mode: PhaseMode,
    /// Indices of the samples that are loaded for the phase, in order.
    pub loaded_set: Numbers,
    /// Queries that are generated.
    pub generated_query_count: u64,
    /// Samples in each generated query.
    pub generated_samples_per_query: u64,
    /// Time from the first generated query to the last, ns.
    pub generated_query_duration_ns: u64,
    /// Queries that are issued before the phase has what it needs.
    pub issued_query_count: u64,
    /// Samples in each issued query.
    pub samples_per_issued_query: u64,
    /// Sequence number of the first issued sample; those of later ones follow.
    pub first_sample_seq_id: u64,
    /// Indices of the issued samples, in the order in which they are issued.
    pub sample_indices: Numbers,
    /// When each issued query is due, ns since the start of the phase. Absent in scenarios without a schedule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule_ns: Option<Numbers>,
    /// Mean rate and variation of the due times, where the arrival process was set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drawn: Option<Drawn>,
    /// Samples whose answers are logged.
    pub accuracy_log_seq_ids: LoggedSamples,
}

/// Samples whose answers are logged, as a document has them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum LoggedSamples {
    /// Every sample of the phase: the text `all`.
    All(AllSamples),
    /// The samples with these sequence numbers.
    Some(Numbers),
}

/// The text `all`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum AllSamples {
    /// Every sample of a phase.
    All,
}

/// The phases of a test with the settings of a vector, by the newest rules. With `digest`, lists of more than 600
/// elements become digests.
///
/// # Errors
/// The input has another form, or its settings cannot be run.
pub fn trace(input: &str, digest: bool) -> Result<TrafficTrace, VectorError> {
    trace_by(input, Profile::NEWEST, digest)
}

/// As [`trace`], by the rules of another release.
///
/// # Errors
/// The same as for [`trace`].
pub fn trace_by(input: &str, profile: Profile, digest: bool) -> Result<TrafficTrace, VectorError> {
    let input: Input = from_vector(input)?;
    check_loaded(&input)?;
    traffic(&Plan::with_profile(input.settings, input.qsl, profile)?, digest)
}

/// The phases of a test as it is planned. With `digest`, lists of more than 600 elements become digests.
///
/// # Errors
/// The lists would be too long.
pub fn traffic(plan: &Plan, digest: bool) -> Result<TrafficTrace, VectorError> {
    check_listed(plan, digest)?;
    let effective = plan.effective();
    let mut picks = Picks::new(effective.settings.accuracy_log_rng_seed, effective.log_probability());
    let phase_traffic = |phase: &PhasePlan| {
        let mut issued = IssuedLists::new(digest);
        issued.collect(plan, phase, &mut picks);
        issued.into_traffic(plan, phase, digest)
    };
    Ok(TrafficTrace { phases: plan.phases().iter().map(phase_traffic).collect() })
}

/// Before a plan is made, because a plan holds the sets.
fn check_loaded(input: &Input) -> Result<(), VectorError> {
    let plan = Plan::for_judging(input.settings.clone(), input.qsl)?;
    let effective = plan.effective();
    let set_size = if effective.mode.has_accuracy() {
        effective.accuracy_sample_count.max(effective.performance_sample_count)
    } else {
        effective.performance_sample_count
    };
    let loaded = set_size.min(input.qsl.total);
    if loaded > MAX_LOADED {
        return Err(VectorError::TooMuch(format!(
            "the loaded sets have {loaded} samples, more than the {MAX_LOADED} that are taken: give a smaller qsl, \
             performance_sample_count_override or accuracy_sample_count_override"
        )));
    }
    Ok(())
}

fn check_listed(plan: &Plan, digest: bool) -> Result<(), VectorError> {
    let samples: u64 = plan.phases().iter().map(|phase| phase.generated.samples()).sum();
    if digest || samples <= MAX_LISTED {
        return Ok(());
    }
    Err(VectorError::TooMuch(format!(
        "the traffic has {samples} samples, more than the {MAX_LISTED} of which whole lists are printed: give \
         --digest, or ask for fewer queries"
    )))
}

/// Lists of the queries and samples that are issued in a phase.
struct IssuedLists {
    queries: u64,
    samples: u64,
    indices: Listing,
    schedule_ns: Listing,
    logged: Listing,
}

impl IssuedLists {
    fn new(digest: bool) -> Self {
        Self {
            queries: 0,
            samples: 0,
            indices: Listing::new(digest),
            schedule_ns: Listing::new(digest),
            logged: Listing::new(digest),
        }
    }

    /// Issues as the run loop does.
    fn collect(&mut self, plan: &Plan, phase: &PhasePlan, picks: &mut Picks) {
        let mut issuer = Issuer::new(plan.effective(), phase, TimeNs(0));
        let mut trace = Trace::new(phase);
        let mut upcoming = trace.next();
        let mut now = TimeNs(0);
        loop {
            match issuer.decide(now, 0, upcoming.as_ref()) {
                Decision::Issue => {
                    if let Some(query) = upcoming {
                        self.issue(phase, &mut trace, &query, picks);
                    }
                    issuer.issued(1, now, 0);
                    upcoming = trace.next();
                }
                Decision::WaitUntil(due) => now = due,
                Decision::AwaitReply => {}
                Decision::Stop(_) => break,
            }
        }
        self.queries = issuer.count();
        picks.skip(phase.generated.samples() - self.samples);
    }

    fn issue(&mut self, phase: &PhasePlan, trace: &mut Trace<'_>, query: &Query, picks: &mut Picks) {
        self.schedule_ns.push(query.due_ns);
        let mut buffer = Vec::new();
        let mut from = 0;
        while from < query.samples {
            buffer.clear();
            trace.samples(query, from, PIECE, &mut buffer);
            from += buffer.len() as u64;
            for sample in &buffer {
                self.indices.push(u64::from(sample.index.0));
                if picks.possible() && picks.next() && !phase.is_accuracy() {
                    self.logged.push(sample.seq.0);
                }
            }
        }
        self.samples += query.samples;
    }

    fn into_traffic(self, plan: &Plan, phase: &PhasePlan, digest: bool) -> PhaseTraffic {
        let generated = phase.generated;
        let loaded = Listing::of(digest, phase.set.indices.iter().map(|index| u64::from(index.0)));
        let has_schedule = plan.effective().shape.has_schedule();
        PhaseTraffic {
            mode: phase.mode,
            loaded_set: loaded.into_numbers(),
            generated_query_count: generated.queries,
            generated_samples_per_query: generated.samples_per_query,
            generated_query_duration_ns: generated.duration_ns,
            issued_query_count: self.queries,
            samples_per_issued_query: generated.samples_per_query,
            first_sample_seq_id: phase.first_sample.0,
            sample_indices: self.indices.into_numbers(),
            schedule_ns: has_schedule.then(|| self.schedule_ns.into_numbers()),
            drawn: arrivals_text(plan.requested()).filter(|_| !phase.is_accuracy()).map(|_| phase.drawn),
            accuracy_log_seq_ids: if phase.is_accuracy() {
                LoggedSamples::All(AllSamples::All)
            } else {
                LoggedSamples::Some(self.logged.into_numbers())
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn unknown_keys_are_named() {
        let text = r#"{"qsl":{"total":4,"performance":4},"settings":{},"extra":1}"#;
        let error = trace(text, false).unwrap_err().to_string();
        assert!(error.contains("extra"), "{error}");
    }

    #[test]
    fn what_does_not_fit_says_what_would() {
        let vector = |total: u64, min_query_count: u64| {
            let settings = json!({ "min_query_count": min_query_count, "min_duration_ms": 0 });
            json!({ "qsl": { "total": total, "performance": total }, "settings": settings }).to_string()
        };
        let message = trace(&vector(4, 2_000_001), false).unwrap_err().to_string();
        assert!(message.contains("--digest"), "{message}");
        assert!(trace(&vector(4, 2_000_001), true).is_ok());
        let message = trace(&vector(4_000_000_000, 10), true).unwrap_err().to_string();
        assert!(message.contains("performance_sample_count_override"), "{message}");
    }
}
