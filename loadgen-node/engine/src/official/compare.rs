//! Official logs, held against what this engine makes of them.

use super::detail_log::{DETAIL_FILE, DetailLog};
use super::error::LogError;
use super::loaded_sets;
use super::phase::TracedPhase;
use super::phase_facts::{PhaseFacts, Sources};
use super::quantity::{Agreement, Comparison, Part, Quantity, TraceExtent};
use super::release::Release;
use super::statements::{Plans, Statements};
use super::table::{self, Lines, Ours, lines_of};
use super::token_counts::TokenCounts;
use super::trace_log::TraceLog;
use crate::judge::{Counts, Verdict};
use crate::mode::Mode;
use crate::plan::Plan;
use crate::report::{Trailer, accuracy_only_text, settings_keys};
use crate::settings::IntegerRule;
use crate::trace::{Generated, Trace};
use crate::vectors::report;

/// The name of the summary file.
pub const SUMMARY_FILE: &str = "mlperf_log_summary.txt";

/// Names of the verdict in both logs.
const VERDICTS: &[&str] = &["result_validity", "Result is"];
/// Results of a search that name no trial.
const SEARCH: &str = "the logs do not say which trial of the search the result is of";
/// Keys of what is generated for a phase.
const GENERATED: [&str; 3] = ["generated_query_count", "generated_samples_per_query", "generated_query_duration"];
const ROUNDED: &str = "the log has six digits of the requested rate, which leave open how many queries there are";
const REFUSED: &str = "this engine refuses to run these settings";
const INFERRED: &str = "the log does not have token_latency_scaling_factor";
/// Means over all samples, in both logs.
const MEANS: [&str; 2] = ["result_mean_latency_ns", "Mean latency (ns)"];
const OVERFLOW: &str = "overflowed: LoadGen adds latencies in 64 bits, and these come to more";
const NOT_KNOWN: &str = "this engine has no such setting";

/// Logs of an official run.
#[derive(Clone, Debug)]
pub struct Logs {
    /// The detail log.
    pub detail: DetailLog,
    /// The text of the summary file.
    pub summary: String,
    /// The trace, where the run had one.
    pub trace: Option<TraceLog>,
    /// The counts of tokens in the accuracy log.
    pub tokens: Option<TokenCounts>,
}

/// Holds the logs of an official run against what this engine makes of the same settings and latencies.
///
/// # Errors
/// The logs are not whole, or contradict each other so that nothing can be judged.
pub fn compare(logs: &Logs) -> Result<Comparison, LogError> {
    compare_by(logs, None)
}

/// As [`compare()`], with the rule by which the run drew integers. Without one, any is taken that explains its sets.
///
/// # Errors
/// The same as for [`compare()`].
pub fn compare_by(logs: &Logs, integers: Option<IntegerRule>) -> Result<Comparison, LogError> {
    let release = Release::of(&logs.detail)?;
    let statements = Statements::read(&logs.detail)?;
    let plans = statements.plans(&logs.detail)?;
    let effective = plans.judging.effective();
    let mut comparison = Comparison {
        loadgen_version: logs.detail.text("loadgen_version").unwrap_or_default().to_owned(),
        scenario: effective.scenario.name().to_owned(),
        mode: effective.mode.name().to_owned(),
        official: logs.detail.text("result_validity").map(str::to_owned),
        ours: None,
        trace: None,
        quantities: settings(&logs.detail, release, &statements, &plans),
    };
    let mut run = Compared { logs, release, statements: &statements, plans: &plans, comparison: &mut comparison };
    run.traffic();
    run.loaded(integers);
    match effective.mode {
        Mode::FindPeakPerformance => run.search(),
        mode if mode.has_performance() => run.performance()?,
        _ => run.accuracy_only(),
    }
    Ok(comparison)
}

/// The settings in force against those that this engine makes of the requested ones.
fn settings(log: &DetailLog, release: Release, statements: &Statements, plans: &Plans) -> Vec<Quantity> {
    let of_log = |prefix| log.beginning(prefix).map(|entry| (entry.key.clone(), entry.value.clone()));
    let ours = |plan: &Plan| {
        let entries = settings_keys(plan).into_iter().filter(|(key, _)| key.starts_with("effective_"));
        release.lines(entries.map(|(key, value)| (key, value.detail())).collect())
    };
    let mut ends: Vec<Lines> = plans.extremes.iter().map(ours).collect();
    ends.insert(ends.len() / 2, ours(&plans.judging));
    let mut quantities = table::compare(Part::Settings, &of_log("effective_").collect(), &Ours::certain(ends));
    quantities.extend(statements.unknown.iter().map(|(key, value)| unchecked(Part::Settings, key, value, NOT_KNOWN)));
    quantities
}

/// Queries and samples that are generated for the phases of a plan.
fn generated(plan: &Plan) -> Lines {
    let value = |key: &str, generated: Generated| match key {
        "generated_query_count" => generated.queries,
        "generated_samples_per_query" => generated.samples_per_query,
        _ => generated.duration_ns,
    };
    let phases = || plan.phases().iter().enumerate();
    let of_key = |key| phases().map(move |(at, phase)| (in_phase(key, at), value(key, phase.generated).to_string()));
    GENERATED.into_iter().flat_map(of_key).collect()
}

/// The name of a line that each phase has: the first without a number.
fn in_phase(key: &str, phase: usize) -> String {
    if phase == 0 { key.to_owned() } else { format!("{key} ({})", phase + 1) }
}

/// True where the latencies of a run can come to more than LoadGen adds in.
fn overflows(log: &DetailLog) -> bool {
    let number = |key| log.number::<u64>(key).map(u128::from).unwrap_or_default();
    let samples = number("result_query_count") * number("generated_samples_per_query");
    samples.saturating_mul(number("result_max_latency_ns")) > i64::MAX.unsigned_abs().into()
}

fn unchecked(part: Part, name: &str, official: &str, note: &str) -> Quantity {
    Quantity {
        part,
        name: name.to_owned(),
        official: Some(official.to_owned()),
        ours: None,
        agreement: Agreement::Unchecked,
        note: Some(note.to_owned()),
    }
}

/// A comparison that is being made.
struct Compared<'a> {
    logs: &'a Logs,
    release: Release,
    statements: &'a Statements,
    plans: &'a Plans,
    comparison: &'a mut Comparison,
}

impl Compared<'_> {
    /// The size of each phase against that which this engine generates.
    fn traffic(&mut self) {
        let is_search = self.plans.judging.effective().mode == Mode::FindPeakPerformance;
        // Of a search the first trial alone is known before.
        let most = if is_search { 1 } else { usize::MAX };
        let logged = |key| self.logs.detail.all(key).take(most).enumerate();
        let of_key = |key| logged(key).map(move |(phase, entry)| (in_phase(key, phase), entry.value.clone()));
        let official: Lines = GENERATED.into_iter().flat_map(of_key).collect();
        let Some(whole) = &self.plans.whole else {
            let quantities = official.iter().map(|(name, value)| unchecked(Part::Traffic, name, value, REFUSED));
            return self.comparison.quantities.extend(quantities);
        };
        let mut quantities = table::compare(Part::Traffic, &official, &Ours::certain(vec![generated(whole)]));
        let differs = |quantities: &[Quantity]| quantities.iter().any(|q| q.agreement == Agreement::Differs);
        if differs(&quantities) {
            quantities = table::compare(Part::Traffic, &official, &Ours::certain(self.plans.generated(generated)));
            let is_open = quantities.iter().any(|quantity| quantity.name == GENERATED[0] && quantity.is_within());
            for quantity in quantities.iter_mut().filter(|q| is_open && q.name.starts_with(GENERATED[2])) {
                // With another number of queries it ends at another one.
                let official = quantity.official.as_deref().unwrap_or_default();
                *quantity = unchecked(Part::Traffic, &quantity.name, official, ROUNDED);
            }
        }
        self.comparison.quantities.append(&mut quantities);
    }

    /// The loaded sets against those that are drawn here.
    fn loaded(&mut self, integers: Option<IntegerRule>) {
        self.comparison.quantities.extend(match &self.plans.whole {
            Some(plan) => loaded_sets::quantities(&self.logs.detail, plan, integers),
            None => loaded_sets::unchecked(&self.logs.detail, REFUSED),
        });
    }

    /// The verdict stands in both logs, and has to be the same in both.
    fn verdicts(&mut self) {
        let lines = lines_of(&self.logs.summary);
        let summary = lines.into_iter().find(|(name, _)| name == VERDICTS[1]).map(|(_, text)| text);
        let agreement = if summary == self.comparison.official { Agreement::Same } else { Agreement::Differs };
        self.comparison.quantities.push(Quantity {
            part: Part::Summary,
            name: "Result is, and result_validity of the detail log".to_owned(),
            official: summary,
            ours: self.comparison.official.clone(),
            agreement,
            note: None,
        });
    }

    /// A search for the peak has a result that names no trial.
    fn search(&mut self) {
        self.verdicts();
        let results = self.logs.detail.results();
        let results = results.iter().map(|(key, value)| unchecked(Part::Results, key, value, SEARCH));
        self.comparison.quantities.extend(results);
        let lines = lines_of(&self.logs.summary).into_iter().filter(|(_, value)| !value.is_empty());
        self.comparison.quantities.extend(lines.map(|(name, value)| unchecked(Part::Summary, &name, &value, SEARCH)));
    }

    /// Without a performance phase there is nothing but the number of warnings and errors.
    fn accuracy_only(&mut self) {
        let ours = accuracy_only_text(&Verdict::new(None, &Counts::default()), self.trailer());
        let ours = Ours::certain(vec![lines_of(&ours)]);
        self.comparison.quantities.extend(table::compare(Part::Summary, &lines_of(&self.logs.summary), &ours));
    }

    fn trailer(&self) -> Trailer {
        Trailer { warnings: self.logs.detail.warnings(), errors: self.logs.detail.errors() }
    }

    fn performance(&mut self) -> Result<(), LogError> {
        let (log, effective) = (&self.logs.detail, self.plans.judging.effective());
        if self.comparison.official.is_none() {
            return Err(LogError::new(DETAIL_FILE, 0, "it has no result_validity: the run did not come to its end"));
        }
        self.verdicts();
        let phase = self.logs.trace.as_ref().map(|trace| TracedPhase::new(log, trace, effective)).transpose()?;
        if let (Some(phase), Some(trace)) = (&phase, &self.logs.trace) {
            self.trace(phase, trace);
        }
        let sources = Sources {
            log,
            effective,
            phase: phase.as_ref(),
            tokens: self.logs.tokens.as_ref(),
            last_due_ns: self.last_due_ns(),
        };
        let PhaseFacts { fillings, taken } = PhaseFacts::new(&sources)?;
        let mut judged = Judged::default();
        for (filling, plan) in self.plans.with_fillings(fillings) {
            let reports =
                filling.into_iter().map(|measured| report(plan, measured, &self.statements.sut_name, self.trailer()));
            let in_release = |lines| self.release.lines(lines);
            let (detail, summary) =
                reports.map(|report| (in_release(report.detail), in_release(lines_of(&report.summary)))).unzip();
            judged.detail.push(detail);
            judged.summary.push(summary);
        }
        let uncertain = if judged.is_certain() { &[] } else { VERDICTS };
        let detail = Ours { fillings: judged.detail, taken, uncertain };
        let results = table::compare(Part::Results, &log.results(), &detail);
        let summary = Ours { fillings: judged.summary, taken: [].into(), uncertain };
        let lines = table::compare(Part::Summary, &lines_of(&self.logs.summary), &summary);
        let verdict = results.iter().find(|quantity| quantity.name == VERDICTS[0]).and_then(|q| q.ours.clone());
        self.comparison.ours = verdict.map(|text| text.trim_matches('"').to_owned());
        let is_inferred = |quantity: &Quantity| quantity.name.contains("inferred") && quantity.ours.is_none();
        let has_overflow = overflows(log);
        let is_overflow = |quantity: &Quantity| {
            has_overflow && MEANS.contains(&&*quantity.name) && quantity.agreement == Agreement::Differs
        };
        let quantities = results.into_iter().chain(lines).map(|quantity| match &quantity.official {
            Some(official) if is_inferred(&quantity) => unchecked(quantity.part, &quantity.name, official, INFERRED),
            Some(official) if is_overflow(&quantity) => unchecked(quantity.part, &quantity.name, official, OVERFLOW),
            _ => quantity,
        });
        self.comparison.quantities.extend(quantities);
        Ok(())
    }

    /// Notes the size of the trace and the uncertainty of the phase's start. Checks that the trace agrees with itself.
    fn trace(&mut self, phase: &TracedPhase, trace: &TraceLog) {
        let span = phase.starts.last().zip(phase.starts.first()).map_or(0, |(last, first)| last - first);
        self.comparison.trace = Some(TraceExtent {
            samples: phase.len() as u64,
            resolution_ns: 1,
            start_uncertain_ns: u64::try_from(span).unwrap_or(0),
        });
        let quantity = |name: String, official: String, ours: String, agreement| Quantity {
            part: Part::Trace,
            name,
            official: Some(official),
            ours: Some(ours),
            agreement,
            note: None,
        };
        let row = match trace.misfits.first() {
            Some((seq, by_latency, at)) => quantity(
                format!("end of sample {seq}, ns of the trace"),
                at.to_string(),
                by_latency.to_string(),
                Agreement::Differs,
            ),
            None => {
                let [ends, starts] = [trace.ends.len(), trace.samples.len()];
                let agreement = if ends == starts { Agreement::Same } else { Agreement::Differs };
                let name = "samples that end when their latency says".to_owned();
                quantity(name, ends.to_string(), starts.to_string(), agreement)
            }
        };
        self.comparison.quantities.push(row);
    }

    /// When the last query was due by the settings, if they generate what was generated.
    fn last_due_ns(&self) -> Option<u64> {
        let whole = self.plans.whole.as_ref()?;
        let mut traffic = self.comparison.quantities.iter().filter(|quantity| quantity.part == Part::Traffic);
        let is_same = traffic.all(|quantity| quantity.agreement == Agreement::Same && !quantity.is_within());
        let is_by_schedule = whole.effective().shape.has_schedule();
        let last = self.logs.detail.number::<u64>("result_query_count")?.checked_sub(1)?;
        let phase = whole.phases().iter().find(|phase| !phase.is_accuracy())?;
        let mut trace = Trace::new(phase);
        (is_same && is_by_schedule).then(|| std::iter::from_fn(|| trace.next()).nth(last as usize))?.map(|q| q.due_ns)
    }
}

/// The reports by all fillings.
#[derive(Default)]
struct Judged {
    detail: Vec<Vec<Lines>>,
    summary: Vec<Vec<Lines>>,
}

impl Judged {
    /// Returns true when the verdict follows from the logged facts: from each of its conditions, or from one that
    /// cannot be met.
    fn is_certain(&self) -> bool {
        let Some(conditions) = self.detail.first().and_then(|filling| filling.first()) else { return false };
        let mut conditions = conditions.iter().filter(|(key, _)| key.ends_with("_met"));
        let texts_of = |key: &str| -> Vec<Vec<Option<&str>>> {
            let text = |lines: &'_ Lines| lines.iter().position(|(name, _)| name == key);
            self.detail
                .iter()
                .map(|f| f.iter().map(|lines| text(lines).map(|at| lines[at].1.as_str())).collect())
                .collect()
        };
        let mut all_known = true;
        conditions.any(|(key, _)| {
            let texts = texts_of(key);
            all_known &= texts.iter().flatten().all(|text| *text == texts[0][0]);
            texts.iter().flatten().all(|text| *text == Some("false"))
        }) || all_known
    }
}
