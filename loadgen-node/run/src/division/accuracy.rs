//! Accuracy: the score of this run, or of an accuracy run of the same setup, against the round's bounds.

use std::collections::BTreeSet;
use std::path::Path;

use lon_qsl::accuracy::to_five_digits;
use lon_qsl::benchmark::{Bound, Official, OfficialScores, Quality};
use qdl::{Host, NodeDescription};
use serde_json::Value;

use super::facts::{AccuracyRun, Data, Facts, NodeFacts};
use super::identity;
use super::rule::Verdict;

/// Two bounds that are this near, as a share, are one that was written with more digits.
const ROUNDING: f64 = 1e-6;

/// Section 4.1: the accuracy target, and its upper limit where there is one. Of a benchmark with several targets the
/// lowest counts: which of them is met is for the submission to say.
pub(super) fn target(facts: &Facts<'_>) -> Verdict {
    let planned = facts.planned;
    let officials = planned.benchmark.official(planned.round);
    let Some(official) = officials.first() else {
        return Verdict::unchecked(format!("round {} has no target for {}", planned.round, planned.benchmark.name));
    };
    match scored(facts) {
        Err(why) => Verdict::unchecked(why),
        Ok(scores) => within(official, &planned.benchmark.quality, &scores, planned.round),
    }
}

/// The scores that count for a run.
enum Scores<'a> {
    /// The scores that this program computes, by the names of the official checker.
    Own(Vec<(&'a str, f64)>),
    /// The scores that the official script printed.
    Official(&'a OfficialScores),
}

impl Scores<'_> {
    /// The score that is held against one of these bounds.
    fn of(&self, bound: &Bound) -> Option<f64> {
        match self {
            Scores::Own(scores) => scores.iter().find(|(metric, _)| *metric == bound.metric).map(|(_, score)| *score),
            Scores::Official(scores) => scores.of(&bound.metric),
        }
    }
}

/// Section 4.1: scores are rounded to five digits, half to even. The bounds are not: the official checker takes them as
/// they are.
fn within(official: &Official, quality: &[Quality], scores: &Scores<'_>, round: &str) -> Verdict {
    let (bounds, name) = (&official.bounds, &official.checker);
    let mut missing = bounds.iter().filter(|bound| scores.of(bound).is_none()).peekable();
    if missing.peek().is_some() {
        let metrics: Vec<&str> = missing.map(|bound| bound.metric.as_str()).collect();
        return Verdict::unchecked(format!("round {round} asks for {}, which is not scored here", metrics.join(", ")));
    }
    let fault = |bound: &Bound| {
        let (score, metric) = (to_five_digits(scores.of(bound)?), &bound.metric);
        match *bound {
            Bound { at_least: Some(least), .. } if score < least => {
                Some(format!("{metric} is {score}, {least} at least in round {round} ({name})"))
            }
            Bound { at_most: Some(most), .. } if score > most => {
                Some(format!("{metric} is {score}, {most} at most in round {round} ({name})"))
            }
            _ => None,
        }
    };
    match Verdict::of(bounds.iter().filter_map(fault)) {
        Verdict::Kept => {
            let doubts = bounds.iter().filter_map(|bound| doubt(bound, quality, to_five_digits(scores.of(bound)?)));
            doubts.reduce(|one, other| format!("{one}; {other}")).map_or(Verdict::Kept, Verdict::unchecked)
        }
        broken => broken,
    }
}

/// A score that the official checker takes, and the stricter table of benchmarks in the rules does not.
fn doubt(bound: &Bound, quality: &[Quality], score: f64) -> Option<String> {
    let of_metric = || quality.iter().filter(|quality| quality.metric == bound.metric);
    let remark = |limit: f64, by_text: f64| {
        format!("{} is {score}: the official checker has {limit} for it, the rules' text {by_text:.6}", bound.metric)
    };
    let least = of_metric().filter_map(Quality::least).reduce(f64::max).zip(bound.at_least);
    let most = of_metric().filter_map(Quality::most).reduce(f64::min).zip(bound.at_most);
    let low = least.filter(|(text, checker)| *text > checker * (1.0 + ROUNDING) && score < *text);
    let high = most.filter(|(text, checker)| *text < checker * (1.0 - ROUNDING) && score > *text);
    low.or(high).map(|(text, checker)| remark(checker, text))
}

/// The scores of this run, or of the accuracy run that belongs to it.
fn scored<'a>(facts: &Facts<'a>) -> Result<Scores<'a>, String> {
    let metric = facts.planned.benchmark.accuracy.and_then(|target| target.metric.checker_name());
    let own = |value: f64, others: Vec<(&'a str, f64)>| {
        Scores::Own(metric.map(|metric| (metric, value)).into_iter().chain(others).collect())
    };
    if let Some(score) = facts.run.and_then(|run| run.score) {
        let others = score.others.iter().filter_map(|other| Some((other.official?, *other.value.as_ref().ok()?)));
        return Ok(own(score.value, others.collect()));
    }
    match &facts.planned.accuracy_run {
        None => Err("no accuracy run of this setup is given (--accuracy-run FOLDER)".to_owned()),
        Some(run) => match (&run.official, run.score) {
            (Some(official), _) => of_its_log(run, official).map(|()| Scores::Official(official)),
            (None, Some(score)) => {
                Ok(own(score, run.other_scores.iter().map(|(name, value)| (name.as_str(), *value)).collect()))
            }
            (None, None) => Err(format!("{} has no score: the official script gives it (accuracy.txt)", run.folder)),
        },
    }
}

/// Scores count only for the log that they were made of.
fn of_its_log(run: &AccuracyRun, official: &OfficialScores) -> Result<(), String> {
    let folder = &run.folder;
    match (&official.log_sha256, &run.log_sha256) {
        (Some(scored), Some(log)) if scored == log => Ok(()),
        (Some(_), _) => Err(format!("{folder}/accuracy.txt was made of another log than its own (hash=)")),
        (None, _) => Err(format!(
            "{folder}/accuracy.txt does not say which log it was made of: its last line is to be hash= and the SHA-256 \
             of mlperf_log_accuracy.json"
        )),
    }
}

/// Section 5.1: the accuracy run is of the same setup, VALID and over the whole set.
pub(super) fn same_setup(facts: &Facts<'_>) -> Verdict {
    let planned = facts.planned;
    let Some(run) = &planned.accuracy_run else {
        return match facts.run.and_then(|run| run.score) {
            Some(_) => Verdict::Kept,
            None => Verdict::unchecked("no accuracy run of this setup is given (--accuracy-run FOLDER)"),
        };
    };
    let mut faults = differences(facts, run);
    if !run.is_valid {
        faults.push(format!("the accuracy run of {} is INVALID", run.folder));
    }
    let whole =
        planned.benchmark.official(planned.round).iter().find_map(|of| of.accuracy_samples.or(of.dataset_samples));
    if let Some(whole) = whole.filter(|whole| *whole != run.samples) {
        faults.push(format!("the accuracy run has {} samples of {whole}", run.samples));
    }
    match facts.nodes {
        Some(_) => Verdict::of(faults),
        None if !faults.is_empty() => Verdict::of(faults),
        None => Verdict::unchecked("whether the models are the same is known when the nodes have been asked"),
    }
}

/// Settings that both runs have alike. Rates, limits, durations and counts of queries are those of each run.
const SAME_SETTINGS: [&str; 5] = [
    "qsl_rng_seed",
    "sample_index_rng_seed",
    "schedule_rng_seed",
    "accuracy_sample_count_override",
    "use_token_latencies",
];

/// Returns the differences between the accuracy run and this one.
fn differences(facts: &Facts<'_>, run: &AccuracyRun) -> Vec<String> {
    let planned = facts.planned;
    let mut pairs = vec![
        ("benchmark", run.benchmark.clone(), planned.benchmark.name.to_owned()),
        ("scenario", run.scenario.clone(), planned.scenario.name().to_owned()),
        ("round", run.round.clone(), planned.round.to_owned()),
        ("codec", run.codecs[0].clone(), planned.codec.to_string()),
        ("response codec", run.codecs[1].clone(), planned.response_codec.to_string()),
    ];
    pairs.extend(planned.data.iter().flat_map(|data| data_pairs(run, data)));
    let steps = |preprocess: &Option<String>| preprocess.clone().unwrap_or_default();
    pairs.push(("pre-processing", steps(&run.preprocess), steps(&planned.preprocess)));
    let text = |value: Option<&Value>| value.map(ToString::to_string).unwrap_or_default();
    for name in SAME_SETTINGS {
        pairs.push((name, text(run.settings.get(name)), text(planned.settings.values.get(name))));
    }
    if let Some(NodeFacts { nodes, .. }) = facts.nodes {
        let engines = nodes.iter().map(|node| identity::engine(&node.engine).to_owned());
        let models = nodes.iter().map(|node| identity::model(&node.model, &node.model_sha256));
        pairs.push(("engine", listed(run.engines.iter().cloned()), listed(engines)));
        pairs.push(("model", listed(run.models.iter().cloned()), listed(models)));
        if !run.machines.is_empty() {
            let machines = nodes.iter().map(|node| machine(&node.host));
            pairs.push(("machine", listed(run.machines.iter().cloned()), listed(machines)));
        }
        for name in answering_options(nodes, run) {
            let then = run.options.get(name).into_iter().flatten().cloned();
            let settings = nodes.iter().flat_map(|node| &node.settings);
            let now = settings.filter(|setting| setting.name == name).map(|setting| setting.value.clone());
            pairs.push((name, listed(then), listed(now)));
        }
    }
    let here = |text: &str| if text.is_empty() { "not told".to_owned() } else { text.to_owned() };
    let differ = pairs.iter().filter(|(_, then, now)| then != now);
    differ
        .map(|(what, then, now)| format!("the accuracy run's {what} is {}, this one's {}", here(then), here(now)))
        .collect()
}

/// Returns the identity of a node's machine.
fn machine(host: &Host) -> String {
    identity::machine(&host.cpu, host.accelerators.iter().map(|accelerator| accelerator.device.as_str()))
}

/// Returns the identities of the datasets of both runs: their lists of sums and the last parts of their names, wherever
/// they lie; their whole names where one has no such list.
fn data_pairs(run: &AccuracyRun, data: &Data) -> Vec<(&'static str, String, String)> {
    let last = |name: &str| Path::new(name).file_name().unwrap_or_default().to_string_lossy().into_owned();
    match (&run.dataset_sums_sha256, &data.sums_sha256) {
        (Some(then), Some(now)) => {
            vec![("dataset's SHA256SUMS", then.clone(), now.clone()), ("dataset", last(&run.dataset), last(&data.name))]
        }
        _ => vec![("dataset", run.dataset.clone(), data.name.clone())],
    }
}

/// The names of the nodes' options that may change answers, and of those that no node of this run has any more.
fn answering_options<'a>(nodes: &'a [NodeDescription], run: &'a AccuracyRun) -> BTreeSet<&'a str> {
    let now = || nodes.iter().flat_map(|node| &node.settings);
    let answering = now().filter(|setting| setting.shapes_answers).map(|setting| setting.name.as_str());
    let gone = run.options.keys().map(String::as_str).filter(|name| now().all(|setting| setting.name != *name));
    answering.chain(gone).collect()
}

/// Each value once, in order.
fn listed(values: impl Iterator<Item = String>) -> String {
    let values: BTreeSet<String> = values.collect();
    values.into_iter().collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use lon_qsl::benchmark::Benchmark;

    use super::*;

    /// 3D-UNet: 0.99 of 0.8617 in the checker (`accuracy-target`), of 0.8633 in the rules' table of benchmarks.
    /// Mixtral: 1.1 of 144.84 in the rules' table, 160.49 in the checker (`accuracy-upper-limit`).
    #[test]
    fn between_the_checker_and_a_stricter_text_nothing_is_said() {
        let judged = |name: &str, scores: &[(&str, f64)]| {
            let benchmark = Benchmark::find(name).unwrap();
            within(benchmark.official("v5.0")[0], &benchmark.quality, &Scores::Own(scores.to_vec()), "v5.0")
        };
        let dice = |score| judged("3d-unet", &[("DICE", score)]);
        assert!(matches!(dice(0.853_04), Verdict::Broken(_)));
        assert_eq!([dice(0.854_67), dice(0.9)], [Verdict::Kept, Verdict::Kept]);
        let message = "DICE is 0.854: the official checker has 0.853083 for it, the rules' text 0.854667";
        assert_eq!(dice(0.854), Verdict::unchecked(message));
        let mixtral = |tokens| {
            let good = ["ROUGE1", "ROUGE2", "ROUGEL", "gsm8k_accuracy", "mbxp_accuracy"].map(|metric| (metric, 99.0));
            judged("mixtral-8x7b", &[&good[..], &[("TOKENS_PER_SAMPLE", tokens)]].concat())
        };
        assert_eq!([mixtral(140.0), mixtral(159.32)], [Verdict::Kept, Verdict::Kept]);
        let message = "TOKENS_PER_SAMPLE is 160: the official checker has 160.49 for it, the rules' text 159.324000";
        assert_eq!(mixtral(160.0), Verdict::unchecked(message));
        assert!(matches!(mixtral(160.5), Verdict::Broken(_)));
    }

    /// The checker has 0.7286 x 0.99 for R-GAT and reads what the script prints, which is percent. The table of
    /// benchmarks in the rules has 99 % of 72.86 %.
    #[test]
    fn a_bound_in_another_unit_than_the_score_says_nothing() {
        let rgat = Benchmark::find("rgat").unwrap();
        let official = rgat.official("v6.1")[0];
        let judged = |score| within(official, &rgat.quality, &Scores::Own(vec![("acc", score)]), "v6.1");
        assert_eq!(judged(72.14), Verdict::Kept);
        let message = "acc is 72.13: the official checker has 0.721314 for it, the rules' text 72.131400";
        assert_eq!(judged(72.13), Verdict::unchecked(message));
    }
}
