//! Text for people at the end of a run: on standard output, and in the run folder as `result.txt`.

use lon_proto::figures::{duration_ns as human, length_ns, number};
use lon_proto::node_name::short_sut_name;
use lon_proto::text::on_one_line;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};

use super::{labels::labels_text, latencies, network_lines as lines, paint, search_lines, settings_line, tokens};
use crate::division::Division;
use crate::outputs::documents::arrivals::ArrivalsDocument;
use crate::outputs::documents::bursts::BurstsDocument;
use crate::outputs::documents::parts::LatencySpread;
use crate::outputs::documents::result_summary::{MetricDocument, ResultSummary, scheduled_rate};
use crate::outputs::documents::v05_intervals::IntervalsDocument;
use crate::outputs::documents::within::WithinDocument;
use crate::outputs::documents::{accuracy, find_peak};
use crate::outputs::report;
use crate::outputs::run_folder::write_order::{NotWritten, Saved};
use crate::test_run::finished::{Finished, Judgement};
use crate::verdict::limits::LatencyLimit;
use crate::verdict::{hints, stalls};
use loadgen::judge::early_stopping::{Rule, percent};
use loadgen::judge::{Counts, Reason, Summary, UsersSummary, Verdict};
use loadgen::run::{Bracket, End, LatencyKind, PhaseOutcome, SearchEnd};
use loadgen::trace::PhaseMode;

/// Name in the run folder of what the screen shows.
pub const FILE: &str = "result.txt";

/// Most reasons of one kind that are shown; `result_summary.json` has all.
const REASONS: usize = 5;

/// Note behind latencies where samples have no answer.
const SLOWEST: &str = " (failed samples count as slower than all others)";

/// Most stalls that are shown; `result_summary.json` has all.
const STALLS: usize = 5;

/// Prints the result of a run: the text that its folder has, with what was saved elsewhere.
pub fn show(finished: &Finished, folder: &Path, outcome: &Result<(), NotWritten>) -> io::Result<()> {
    let saved = outcome.as_ref().err().into_iter().flat_map(|failed| &failed.saved);
    let text = text(finished, folder, page_at(folder, outcome).as_deref(), saved);
    paint::print(&text)
}

/// Where the page is; none where no folder took it.
fn page_at(folder: &Path, outcome: &Result<(), NotWritten>) -> Option<PathBuf> {
    let is_page = |name: &String| name == report::FILE;
    match outcome {
        Err(failed) if failed.missing.iter().any(is_page) => None,
        Err(failed) => {
            let elsewhere = failed.saved.iter().find(|saved| saved.files.iter().any(is_page));
            Some(elsewhere.map_or(folder, |saved| saved.folder.as_path()).join(report::FILE))
        }
        Ok(()) => Some(folder.join(report::FILE)),
    }
}

/// Returns the text for the result of a run that was killed, or that could not write everything.
pub fn of_document(result: &ResultSummary, folder: &Path) -> String {
    let ResultSummary { benchmark, scenario, mode, dataset, counts, .. } = result;
    let mut text = "Result    INVALID\n".to_owned();
    let mut line = |name: &str, value: String| text.push_str(&format!("{name:<9} {}\n", on_one_line(&value)));
    result.reasons.iter().for_each(|reason| line("", format!("- {reason}")));
    let of = if benchmark == dataset { String::new() } else { format!(" of {benchmark}") };
    line("Test", format!("{scenario} {mode}{of} on {dataset}"));
    if let Some(MetricDocument::Performance(metric)) = &result.metric
        && let Some(value) = metric.value
    {
        line("Metric", format!("{} = {}", metric.name, of_unit(value, &metric.unit)));
    }
    if let Some(rate) = result.scheduled_samples_per_s {
        line("Scheduled", scheduled(rate));
    }
    if let Some(spread) = &result.latency_ns {
        line("Latency", latency(spread));
    }
    for limit in &result.latency_limits {
        let LatencyLimit { of, percentile, value_ns, limit_ns, kept } = limit;
        let value = latencies::latency_text(*value_ns);
        line("Limit", format!("{of} p{percentile} {value}, {}", latencies::limit_text(*limit_ns, *kept)));
    }
    if let Some(within) = &result.within {
        line("Within", within.text());
    }
    if let Some(search) = &result.find_peak {
        // Of a search that was killed no load is known to be verified.
        let low = search.bracket.low.filter(|_| search.end != SearchEnd::Stopped);
        line("Peak", search_lines::peak(&result.settings, Bracket { low, ..search.bracket }, &search.trials));
        for trial in &search.trials {
            line("", search_lines::trial(trial));
        }
        let record = folder.join(find_peak::FILE);
        line("", format!("--find-peak-resume {} goes on with these", record.display()));
    }
    if counts.issued > 0 {
        line("Samples", format!("{} issued, {} answered", counts.issued, counts.completed));
    }
    line("Files", folder.display().to_string());
    text
}

/// Returns the spread of latencies, with a note when samples have no answer.
fn latency(spread: &LatencySpread) -> String {
    let note = if spread.max.is_none() { SLOWEST } else { "" };
    format!("{}{note}", latencies::spread_text(spread))
}

/// A value of a metric with its unit; a time as people read it, too.
fn of_unit(value: f64, unit: &str) -> String {
    match unit {
        "ns" => format!("{} ({value:.0} ns)", human(value as i64)),
        _ => format!("{value:.2} {unit}"),
    }
}

/// The rate of the schedule in words.
fn scheduled(rate: f64) -> String {
    format!("{rate:.2} samples/s (the same samples over the time in which queries were due)")
}

/// The percentile of a metric that is a latency, and the estimate that it is, where it is one.
fn percentile(summary: &Summary, finished: &Finished) -> Option<String> {
    summary.metric.value.filter(|_| summary.metric.unit == "ns")?;
    let rule = finished.setup.plan.effective().scenario.judge().early_stopping();
    // Round v0.5 has no early stopping.
    let is_estimate = finished.setup.v05.is_none() && matches!(rule, Rule::Estimate { .. });
    let estimate = if is_estimate { ", as early stopping estimates it" } else { "" };
    Some(format!(", p{}{estimate}", percent(summary.target_percentile)))
}

/// The cause that held a measured run back, or that there is none.
fn bound(finished: &Finished) -> Option<String> {
    let (outcome, effective) = (&finished.outcome, finished.setup.plan.effective());
    if let Some(bound) = &finished.judgement.bound {
        return Some(bound.text());
    }
    let is_measured = outcome.summary.is_some() && outcome.find_peak.is_none() && finished.setup.v05.is_none();
    let why = match effective.shape.has_schedule() {
        true => "the nodes kept up with the schedule, within the limits",
        false => "each query waits for the answer before it, and no part of the round trip stands out",
    };
    (is_measured && outcome.end == End::Completed && outcome.counts().completed > 0).then(|| format!("nothing: {why}"))
}

/// The load that was asked for, where it stands in no other line.
fn load_text(finished: &Finished) -> String {
    let plan = &finished.setup.plan;
    // Each trial of a search has its own.
    let is_search = finished.outcome.find_peak.is_some();
    let load = plan.load().filter(|_| !is_search && plan.effective().shape.is_one_sample());
    load.map(|load| format!(" ({} {})", load.setting, load.value)).unwrap_or_default()
}

/// The result of a run in words: what stands in its folder, and on the screen. `page`: where the page is, if it is
/// anywhere.
pub fn text<'a>(
    finished: &Finished,
    folder: &Path,
    page: Option<&Path>,
    saved: impl Iterator<Item = &'a Saved>,
) -> String {
    let mut lines: Vec<(&str, String)> = Vec::new();
    let outcome = &finished.outcome;
    lines.push(("Result", verdict(finished)));
    for reason in reasons(outcome.verdict.reasons()) {
        lines.push(("", format!("- {reason}")));
    }
    let hints = finished.hints();
    lines.extend(hints.iter().map(|hint| ("", format!("  Try {hint}"))));
    // Of a run that was broken off it says what a longer one needs; where no lower rate helps, it advises one.
    let misleads = |hint: &String| hint.contains(hints::NO_RATE_HELPS);
    let whole = outcome.summary.iter().filter(|_| outcome.end == End::Completed && !hints.iter().any(misleads));
    for advice in whole.flat_map(|summary| &summary.advice) {
        lines.push(("", format!("  LoadGen's advice: {}", advice.detail.trim_end())));
    }
    lines.push(("SUT", format!("{} ({})", sut_name(finished), engines(finished))));
    lines.push(("Test", test(finished)));
    lines.extend(settings_line::text(finished).map(|settings| ("Settings", settings)));
    let labels = labels_text(finished.setup.call.labels.by_key());
    lines.extend((!labels.is_empty()).then_some(("Labels", labels)));
    if let Some(summary) = &outcome.summary {
        let metric = summary.metric;
        let value = metric.value.map(|value| of_unit(value, metric.unit));
        let value = value.as_deref().unwrap_or("none: too little was answered");
        let percentile = percentile(summary, finished).unwrap_or_default();
        let until = until(&outcome.end);
        lines.push(("Metric", format!("{} = {value}{percentile}{}{until}", metric.name, load_text(finished))));
        let rate = scheduled_rate(summary, finished.setup.plan.effective());
        // Where samples failed, the answered ones say nothing on the schedule.
        let rate = rate.filter(|_| outcome.counts().failed == 0);
        lines.extend(rate.map(|rate| ("Scheduled", scheduled(rate))));
        let limits = LatencyLimit::all(summary, finished.setup.plan.effective());
        lines.push(("Latency", latency(&summary.judged_latency().into())));
        if let Some(limit) = limits.iter().find(|limit| limit.of == LatencyKind::Latency) {
            let (percentile, value) = (limit.percentile, latencies::latency_text(limit.value_ns));
            let text = latencies::limit_text(limit.limit_ns, limit.kept);
            lines.push(("Limit", format!("p{percentile} {value}, {text}{until}")));
        }
        let intervals = finished.v05.as_ref().and_then(IntervalsDocument::of);
        lines.extend(intervals.map(|intervals| ("Intervals", intervals.text())));
        lines.extend(tokens::lines(summary, &limits));
        lines.extend(own_lines(summary));
    }
    if let Some(arrivals) = ArrivalsDocument::of(&finished.setup.plan).filter(|_| outcome.find_peak.is_none()) {
        lines.push(("Arrivals", arrivals.text()));
    }
    if let Some(within) = &finished.judgement.within {
        lines.push(("Within", WithinDocument::from(within).text()));
    }
    if let Some(warm_up) = &finished.setup.call.warm_up {
        let rate = warm_up.samples_per_s.map(|rate| format!(", {}/s", number(rate))).unwrap_or_default();
        let p99 = warm_up.p99_ns.map(|ns| format!(", p99 {}", human(ns))).unwrap_or_default();
        let (answered, failed) = (warm_up.answered, warm_up.failed);
        lines.push(("Warm-up", format!("{answered} samples answered, {failed} failed{rate}{p99}; not judged")));
    }
    lines.extend(bound(finished).map(|bound| ("Bound", bound)));
    if let Some(choice) = &finished.setup.auto_setting {
        let (key, value) = choice.set.split_once('=').unwrap_or_default();
        lines.push(("Found", format!("{key}=auto chose {value}: {}", choice.how)));
    }
    if let Some(search) = &outcome.find_peak {
        lines.push(("Peak", search_lines::peak(finished.setup.plan.requested(), search.bracket, &search.trials)));
        lines.extend(search.trials.iter().map(|trial| ("", search_lines::trial(trial))));
    }
    let lag = outcome.lag();
    // Offline has no schedule, since all of it is due at once.
    if lag.count > 0 && !finished.setup.plan.effective().shape.is_pulled() {
        let [p50, p99, max] = [lag.p50_ns, lag.p99_ns, lag.max_ns].map(length_ns);
        let limit = match outcome.verdict.official() {
            Some(_) => {
                let allowed = length_ns(finished.setup.lag_limit.ns());
                format!("; limit of p99 {allowed}, {}", finished.setup.lag_limit.why())
            }
            // Lateness was not judged: of accuracy alone it never is.
            None => String::new(),
        };
        lines.push(("Lag", format!("p50 {p50}, p99 {p99}, max {max} (delay between due and sent{limit})")));
        if let Some(behind) = outcome.behind().filter(|behind| behind.count > 0) {
            let [p50, p99, max] = [behind.p50_ns, behind.p99_ns, behind.max_ns].map(length_ns);
            lines.push(("", format!("behind others due at once, beside that: p50 {p50}, p99 {p99}, max {max}")));
        }
    }
    for stall in finished.judgement.stalls.iter().take(STALLS) {
        lines.push(("Stall", stalls::text(stall)));
    }
    if let (Some(Ok(score)), Some(target)) = (&finished.judgement.score, finished.setup.benchmark.accuracy) {
        lines.extend(accuracy::lines(score, target).into_iter().map(|line| ("Accuracy", line)));
    }
    if let Some(note) = finished.not_scored() {
        lines.push(("Accuracy", note));
    }
    lines.push(("Samples", samples(finished)));
    if let Some(nan) = finished.nan().filter(|nan| *nan > 0) {
        lines.push(("NaN", format!("answers with NaN in their outputs: {nan}; check the model and the dataset")));
    }
    if let Some((_, tax)) = finished.tax() {
        lines.push(("Fabric", tax.text(human)));
    }
    lines.extend(lines::lines(finished));
    lines
        .extend(marks(&finished.judgement, finished.setup.division, folder).into_iter().map(|mark| ("Division", mark)));
    lines.extend(finished.judgement.notes.iter().map(|note| ("Note", note.clone())));
    lines.push(("Files", folder.display().to_string()));
    lines.extend(page.filter(|_| finished.setup.report).map(|page| ("Page", page.display().to_string())));
    for saved in saved {
        lines.push(("Saved", format!("{}: {}", saved.folder.display(), saved.files.join(", "))));
    }
    lines.push(("", "Unverified: not an official MLPerf result.".to_owned()));
    let mut text = String::new();
    for (name, line) in lines {
        let _ = writeln!(text, "{name:<10}{}", on_one_line(&line));
    }
    text
}

/// The lines of scenarios of our own: whole bursts, or users.
fn own_lines(summary: &Summary) -> Vec<(&'static str, String)> {
    let mut lines = Vec::new();
    if let Some(bursts) = summary.bursts.as_ref().map(BurstsDocument::from) {
        let BurstsDocument { bursts: count, size, backlog_max, starts_with_backlog, .. } = bursts;
        lines.push((
            "Bursts",
            format!("{count} of {size} queries each; time of a burst {}", latency(&bursts.completion_ns)),
        ));
        let recovery = bursts.recovery_ns.map(|ns| format!(", recovery within {}", length_ns(ns)));
        let recovery = recovery.unwrap_or_default();
        let rate = |rate: Option<f64>| rate.map_or("unknown".to_owned(), |rate| format!("{}/s", number(rate)));
        let (offered, drained) = (rate(bursts.offered_per_s), rate(bursts.drained_per_s));
        lines.push((
            "",
            format!(
                "{starts_with_backlog} bursts were due while earlier queries had no answer ({backlog_max} queries at \
                 most){recovery}; offered {offered}, answered at {drained}"
            ),
        ));
    }
    if let Some(users) = summary.users {
        let UsersSummary { users, in_flight, expected_in_flight } = users;
        let (in_flight, expected) = (number(in_flight), number(expected_in_flight));
        lines
            .push(("Users", format!("{users}, {in_flight} queries in flight on average ({expected} by Little's law)")));
    }
    lines
}

/// The reasons of a verdict, each kind as far as it is shown: one fault may stand at every one of a thousand nodes.
fn reasons(all: &[Reason]) -> Vec<String> {
    let (mut lines, mut counts) = (Vec::new(), BTreeMap::<&str, usize>::new());
    for (at, reason) in all.iter().enumerate() {
        let count = counts.entry(&reason.code).or_default();
        *count += 1;
        if *count <= REASONS {
            lines.push(reason.text.clone());
        } else if *count == REASONS + 1 {
            let more = all[at..].iter().filter(|other| other.code == reason.code).count();
            lines.push(format!("and {more} more of this kind (`reasons` in result_summary.json has all)"));
        }
    }
    lines
}

/// Returns the findings on the rules of the Network division: all of them where the run is for the division. A run that
/// is not for it breaks many of the rules, and one line names these.
fn marks(judgement: &Judgement, division: Division, folder: &Path) -> Vec<String> {
    let findings = &judgement.findings;
    let ids: Vec<&str> = findings.broken().map(|(finding, _)| finding.rule.id).collect();
    if division == Division::None && !ids.is_empty() {
        let tally = findings.tally().text(&format!(" ({})", ids.join(", ")));
        return vec![format!(
            "not a Network division result: {tally}; the verdict above does not depend on this; reasons: \
             loadgen-node show --division {}",
            in_shell(folder)
        )];
    }
    findings.marks().into_iter().chain([format!("Network division: {}", findings.tally().text(""))]).collect()
}

/// A path as a shell takes it.
fn in_shell(path: &Path) -> String {
    let text = path.display().to_string();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=:,@".contains(c);
    if text.chars().all(is_plain) { text } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

fn verdict(finished: &Finished) -> String {
    let how = match finished.outcome.end {
        End::Interrupted => ", interrupted: the numbers below are of the time until then",
        End::Broken => ", the run ended early, since the SUT failed: the numbers below are of the time until then",
        _ => "",
    };
    let unscored = if finished.not_scored().is_some() { ", accuracy not scored" } else { "" };
    format!("{}{unscored}{how}", verdict_words(&finished.outcome.verdict))
}

/// Both verdicts: this program's, and that of LoadGen's own checks.
pub fn verdict_words(verdict: &Verdict) -> String {
    let word = |valid: bool| if valid { "VALID" } else { "INVALID" };
    let official = match verdict.official() {
        Some(official) => format!("LoadGen's own checks: {}", word(official)),
        None if verdict.is_valid() => "the accuracy run is complete; no performance was judged".to_owned(),
        None => "no performance was judged".to_owned(),
    };
    format!("{} ({official})", word(verdict.is_valid()))
}

fn engines(finished: &Finished) -> String {
    let mut engines: Vec<&str> = finished.nodes.described.iter().map(|node| node.engine.as_str()).collect();
    engines.dedup();
    format!("{} over {}", engines.join(", "), finished.setup.link.transport.name())
}

fn test(finished: &Finished) -> String {
    let settings = finished.setup.plan.requested();
    let rules = finished.setup.v05.as_ref().map_or("", |_| ", by the rules of round v0.5");
    format!("{} {} on {}{rules}", settings.scenario.name(), settings.mode.name(), finished.setup.dataset_name)
}

/// Nodes that are shown one by one.
const NODES: usize = 8;

/// The samples of each node; of many nodes the first one, the one with the fewest samples, and the number of all.
fn shares(nodes: &[(&str, u64)]) -> String {
    let text = |(name, samples): &(&str, u64)| format!("{name} {samples}");
    match (nodes.first(), nodes.iter().min_by_key(|(_, samples)| *samples)) {
        (Some(first), Some(least)) if nodes.len() > NODES => {
            format!("{} nodes: first {}, fewest {}", nodes.len(), text(first), text(least))
        }
        _ => nodes.iter().map(text).collect::<Vec<_>>().join(", "),
    }
}

/// The SUT's name; of many nodes the first name and the number of all. Of a run that a loss broke off it is the name
/// from before the run, since the reasons name the node that cannot say its name any more.
fn sut_name(finished: &Finished) -> String {
    let is_lost = finished.nodes.reports.iter().any(|report| report.lost.is_some());
    let name = if is_lost { &finished.nodes.first_name } else { &finished.nodes.last_name };
    short_sut_name(&name.text)
}

/// The end of a line on a part of a run, where the run ended early.
fn until(end: &End) -> &'static str {
    match end {
        End::Broken => ", until the SUT failed",
        End::Interrupted => ", until the interruption",
        _ => "",
    }
}

fn samples(finished: &Finished) -> String {
    let reports = finished.nodes.reports.iter();
    let share: Vec<(&str, u64)> = reports.map(|report| (report.name.as_str(), report.counts.samples_sent)).collect();
    let issued = finished.outcome.phases.iter().map(|phase| phase.counts.issued).sum();
    let whose = match finished.outcome.find_peak {
        Some(_) => " in all trials, those above the peak included",
        None => "",
    };
    format!("{}{whose} ({})", ended(&finished.outcome.phases), share_text(&share, issued))
}

/// The samples that each node was sent, and those that nobody was sent.
fn share_text(share: &[(&str, u64)], issued: u64) -> String {
    let sum: u64 = share.iter().map(|(_, samples)| samples).sum();
    match issued.saturating_sub(sum) {
        0 => shares(share),
        never => format!("sent: {}; never sent: {never}", shares(share)),
    }
}

/// Returns the counts of how the samples of all phases ended. Those of accuracy and of performance are apart, where
/// there are both.
fn ended(phases: &[PhaseOutcome]) -> String {
    let of = |mode: Option<PhaseMode>| {
        let mut sum = Counts::default();
        let mode_phases = phases.iter().filter(|phase| mode.is_none_or(|mode| phase.mode == mode));
        mode_phases.for_each(|phase| sum.add(&phase.counts));
        format!("{} issued, {} answered, {} failed", sum.issued, sum.completed, sum.failed + sum.lost)
    };
    let has = |mode: PhaseMode| phases.iter().any(|phase| phase.mode == mode);
    let (accuracy, performance) = (PhaseMode::AccuracyOnly, PhaseMode::PerformanceOnly);
    match has(accuracy) && has(performance) {
        true => format!("accuracy {}; performance {}", of(Some(accuracy)), of(Some(performance))),
        false => of(None),
    }
}

#[cfg(test)]
mod tests {
    use loadgen::judge::Against;

    use super::*;

    #[test]
    fn a_path_is_one_word_of_a_shell() {
        assert_eq!(in_shell(Path::new("results/20260101T000000Z-a")), "results/20260101T000000Z-a");
        assert_eq!(in_shell(Path::new("my runs/it's")), r"'my runs/it'\''s'");
    }

    #[test]
    fn an_accuracy_run_says_what_was_judged() {
        let mut verdict = Verdict::new(None, &Counts::default());
        assert_eq!(verdict_words(&verdict), "VALID (the accuracy run is complete; no performance was judged)");
        verdict.add("node_lost", "node a was lost");
        assert_eq!(verdict_words(&verdict), "INVALID (no performance was judged)");
    }

    #[test]
    fn samples_that_no_node_was_sent_are_counted() {
        assert_eq!(share_text(&[("N1", 15_085)], 23_148), "sent: N1 15085; never sent: 8063");
        assert_eq!(share_text(&[("N1", 2_521), ("N2", 2_509)], 5_030), "N1 2521, N2 2509");
    }

    #[test]
    fn many_nodes_are_the_first_the_worst_and_a_number() {
        assert_eq!(shares(&[("a", 3), ("b", 4)]), "a 3, b 4");
        let names: Vec<String> = (0..128).map(|number| format!("n{number}")).collect();
        let mut nodes: Vec<(&str, u64)> = names.iter().map(|name| (name.as_str(), 100)).collect();
        nodes[77].1 = 9;
        assert_eq!(shares(&nodes), "128 nodes: first n0 100, fewest n77 9");
        assert_eq!(shares(&[]), "");
    }

    #[test]
    fn of_reasons_of_one_kind_the_first_are_shown() {
        let reason = |code: &str, text: String| Reason { code: code.to_owned(), text, against: Against::Measurement };
        let mut all: Vec<Reason> =
            (0..1_000).map(|number| reason("node_lost", format!("node n{number} was lost"))).collect();
        all.push(reason("sut_name", "the name".to_owned()));
        let lines = reasons(&all);
        let [.., last, remainder, other] = &lines[..] else { panic!("{lines:?}") };
        assert_eq!((lines.len(), last.as_str(), other.as_str()), (REASONS + 2, "node n4 was lost", "the name"));
        assert_eq!(remainder, "and 995 more of this kind (`reasons` in result_summary.json has all)");
        assert_eq!(reasons(&all[..REASONS]).len(), REASONS);
    }
}
