//! `accuracy.txt`: the scores of a run as the official scripts print them. Where nothing here computes a score, the
//! official script has to, and its `accuracy.txt` is put into the run folder.

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use lon_proto::files::{self, Limit};
use lon_qsl::accuracy::Metric;
use lon_qsl::accuracy::to_five_digits;
use lon_qsl::benchmark::{Bound, OfficialScores, official_scores, official_text};
use lon_shell::documents::of_text;

use super::division::SubmissionDivision;
use super::entry::Entry;
use super::kind::Kind;
use super::run_result::Scored;
use super::step::Step;
use loadgen::official::ACCURACY_FILE;
use lon_run::audit::AuditTest;
use lon_run::outputs::documents::accuracy_subset::AccuracySubset;

/// Name in a submission, and in a run folder that an official script has scored.
pub(super) const FILE: &str = "accuracy.txt";
/// Name in the folder of a compliance test whose answers were scored: what `accuracy --json` printed.
pub(crate) const SUBSET_FILE: &str = "accuracy_subset.json";

/// The text of `accuracy.txt` for an accuracy run, without the sum of its log.
///
/// # Errors
/// There is no score, or it is of another log.
pub(super) fn of_accuracy(step: &Step<'_>) -> Result<String> {
    if let Some(text) = scored_officially(step)? {
        return Ok(text);
    }
    let Some(score) = step.run_result()?.score else { return Err(no_score(step)) };
    in_form(step, &score)
}

/// Scores in the form of the official script, where all are there that the checker looks for.
fn in_form(step: &Step<'_>, score: &Scored) -> Result<String> {
    let Some(text) = line(step.entry, score) else { return Err(no_score(step)) };
    let scores = official_scores(&text);
    match step.entry.official.bounds.iter().find(|bound| scores.of(&bound.metric).is_none()) {
        None => Ok(text),
        Some(Bound { metric, .. }) => {
            let whys: Vec<&str> = score.others.iter().filter_map(|other| other.why.as_deref()).collect();
            Err(no_score(step).context(format!("no score in {metric}; {}", whys.join("; "))))
        }
    }
}

/// Refuses a score that misses its target, but in the open division, which has none. A score that is not there is no
/// reason to make the run again.
///
/// # Errors
/// The score misses its target.
pub(super) fn reaches_target(step: &Step<'_>) -> Result<()> {
    match (step.submission.division, of_accuracy(step)) {
        (SubmissionDivision::Network, Ok(text)) => reached(&step.entry.official.bounds, &official_scores(&text)),
        _ => Ok(()),
    }
}

/// Returns the action that gives the score that the run lacks. `None` when it lacks none.
pub(super) fn missing(step: &Step<'_>) -> Option<String> {
    let outcome = match step.kind {
        kind if !is_needed(kind) => return None,
        Kind::Accuracy => of_accuracy(step),
        _ => of_subset(step),
    };
    outcome.err().map(|why| format!("{why:#}"))
}

/// Returns true for a run whose answers are scored.
pub(crate) fn is_needed(kind: Kind) -> bool {
    matches!(kind, Kind::Accuracy | Kind::Compliance(AuditTest::Test01))
}

/// The text of `accuracy.txt` for the answers that a compliance run has logged.
///
/// # Errors
/// There is no score.
pub(super) fn of_subset(step: &Step<'_>) -> Result<String> {
    if let Some(text) = scored_officially(step)? {
        return Ok(text);
    }
    let path = step.folder().join(SUBSET_FILE);
    let Ok(text) = files::text(&path, Limit::DOCUMENT) else { return Err(no_score(step)) };
    let subset: AccuracySubset = of_text(&text).with_context(|| path.display().to_string())?;
    in_form(step, &Scored { value: subset.value, samples: subset.samples, others: subset.others })
}

/// Returns true when a score of this benchmark can be printed as its official script prints it.
pub(crate) fn is_printed(entry: &Entry) -> bool {
    not_printed(entry).is_none()
}

/// Why a score of this benchmark cannot be printed as its official script prints it.
pub(crate) fn not_printed(entry: &Entry) -> Option<String> {
    let names = names(entry);
    let metrics = entry.official.bounds.iter().map(|bound| bound.metric.as_str());
    let lacking: Vec<&str> = metrics.filter(|metric| !names.contains(metric)).collect();
    if !lacking.is_empty() {
        return Some(format!("this program does not compute {}", lacking.join(", ")));
    }
    let zeros: Vec<(String, f64)> = names.iter().map(|name| ((*name).to_owned(), 0.0)).collect();
    official_text(&zeros, 0).is_none().then(|| "the form of its official script is not known here".to_owned())
}

/// The checker's names for all metrics in which a benchmark is scored here, the first metric first.
fn names(entry: &Entry) -> Vec<&'static str> {
    let targets = entry.benchmark.accuracy.iter().chain(&entry.benchmark.other_accuracy);
    targets.map(|target| name(target.metric)).collect()
}

/// Sentences are looked for when the score is made; then it is known whether it is the official one.
fn name(metric: Metric) -> &'static str {
    metric.checker_name_with_sentences().unwrap_or(metric.name())
}

/// Returns the text that the official script wrote into the run folder, for the log that is there.
fn scored_officially(step: &Step<'_>) -> Result<Option<String>> {
    let path = step.folder().join(FILE);
    if !path.is_file() {
        return Ok(None);
    }
    let text = files::text(&path, Limit::DOCUMENT).with_context(|| format!("cannot read {}", path.display()))?;
    let log = lon_run::outputs::logs::audit_folder::sum_of(&step.folder().join(ACCURACY_FILE))?;
    let named = official_scores(&text).log_sha256;
    ensure!(
        named.as_deref() == Some(log.as_str()),
        "{} does not say that it was made of the log beside it: its last line is to be hash={log}",
        path.display()
    );
    Ok(Some(text))
}

/// The line of the official script, for metrics of which it prints nothing that is not known here.
fn line(entry: &Entry, score: &Scored) -> Option<String> {
    let first = entry.benchmark.accuracy?.metric.checker_name()?;
    let others = score.others.iter().filter_map(|other| {
        let name = other.official.clone().unwrap_or_else(|| other.metric.clone());
        Some((name, other.value?))
    });
    // Without sentences they are other scores.
    let is_other = |name: &str| [Metric::RougeLsum, Metric::LongExactMatch].iter().any(|metric| metric.name() == name);
    let others = others.filter(|(name, _)| !is_other(name));
    let scores: Vec<(String, f64)> = std::iter::once((first.to_owned(), score.value)).chain(others).collect();
    official_text(&scores, score.samples)
}

fn no_score(step: &Step<'_>) -> anyhow::Error {
    let why = not_printed(step.entry).unwrap_or_else(|| "its result has no score".to_owned());
    anyhow!(by_official_script(step, &why))
}

/// The action that gives the score of a run that cannot be scored here, and why it cannot.
pub(crate) fn by_official_script(step: &Step<'_>, why: &str) -> String {
    let folder = step.folder();
    format!(
        "{step} cannot be scored here ({why}): let the official script score {} and put its {FILE} into {}, with hash= \
         and the SHA-256 of the log as its last line",
        folder.join(ACCURACY_FILE).display(),
        folder.display()
    )
}

/// Refuses scores that are not between the bounds, or are not there. The official checker looks for no score that has
/// an upper bound alone.
pub(super) fn reached(bounds: &[Bound], scores: &OfficialScores) -> Result<()> {
    for bound in bounds {
        let metric = &bound.metric;
        let Some(score) = scores.of(metric).map(to_five_digits) else {
            ensure!(bound.at_least.is_none(), "there is no score in {metric}");
            continue;
        };
        if let Some(least) = bound.at_least.filter(|least| score < *least) {
            bail!("the accuracy target is missed: {metric} is {score}, {least} at least");
        }
        if let Some(most) = bound.at_most.filter(|most| score > *most) {
            bail!("the accuracy target is missed: {metric} is {score}, {most} at most");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_score_is_held_against_both_bounds() {
        let bound = |at_least, at_most| [Bound { metric: "acc".to_owned(), at_least, at_most }];
        let scores = official_scores("accuracy=75.696%, good=1, total=2\n");
        assert!(reached(&bound(Some(75.6954), None), &scores).is_ok());
        for (bounds, part) in [(bound(Some(75.7), None), "75.7 at least"), (bound(None, Some(75.0)), "75 at most")] {
            assert!(reached(&bounds, &scores).unwrap_err().to_string().contains(part));
        }
        let none = official_scores("");
        assert!(reached(&bound(Some(1.0), None), &none).unwrap_err().to_string().contains("no score in acc"));
        assert!(reached(&bound(None, Some(1.0)), &none).is_ok());
    }
}
