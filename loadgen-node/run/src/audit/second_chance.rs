//! TEST01's second chance (`compliance/TEST01/README.md`, part III): where answers of the test differ from those of the
//! accuracy run, since the SUT is not deterministic, the scores of both over the same samples must be close.

use lon_qsl::benchmark::{Official, official_scores};

use super::answers::AnswerLog;

/// Per cent by which scores may differ, and where the target is 99.9 % of the reference's score.
const NEAR_PERCENT: f64 = 1.0;
const NEAR_PERCENT_OF_HIGH: f64 = 0.1;
/// A metric whose own bound the checker has (table `accuracy-delta-perc`).
const NEAR_PERCENT_OF: (&str, f64) = ("FID_SCORE", 2.0);

/// The names of both texts in the folder of the test.
pub const BASELINE_FILE: &str = "accuracy/baseline_accuracy.txt";
/// The file of the compliance run.
pub const COMPLIANCE_FILE: &str = "accuracy/compliance_accuracy.txt";

/// The scores of both logs over the samples that the test has logged, as the official script prints them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecondChance {
    /// Of the answers of the accuracy run.
    pub baseline: String,
    /// Of the answers of the test.
    pub compliance: String,
}

/// A metric in which both are compared.
#[derive(Clone, Debug, PartialEq)]
pub struct Near {
    metric: String,
    /// The largest difference of both, per cent.
    percent: f64,
}

/// The metrics that the checker compares for a benchmark.
pub fn nears(official: &Official) -> Vec<Near> {
    let percent = |metric: &str| match official.checker.contains("99.9") {
        _ if metric == NEAR_PERCENT_OF.0 => NEAR_PERCENT_OF.1,
        true => NEAR_PERCENT_OF_HIGH,
        false => NEAR_PERCENT,
    };
    let near = |metric: &String| Near { metric: metric.clone(), percent: percent(metric) };
    official.bounds.iter().filter(|bound| bound.at_least.is_some()).map(|bound| near(&bound.metric)).collect()
}

/// The metrics of a benchmark that the checker does not have.
pub fn near(metric: &str) -> Vec<Near> {
    vec![Near { metric: metric.to_owned(), percent: NEAR_PERCENT }]
}

impl SecondChance {
    /// Compares as the submission checker does. Both results say how far apart the scores are.
    ///
    /// # Errors
    /// A score is missing or 0, or two are too far apart.
    pub fn judge(&self, nears: &[Near]) -> Result<String, String> {
        let [baseline, compliance] = [&self.baseline, &self.compliance].map(|text| official_scores(text));
        let mut texts = Vec::new();
        let mut is_near = !nears.is_empty();
        for Near { metric, percent } in nears {
            let scores = [&baseline, &compliance].map(|scores| scores.of(metric).filter(|score| *score != 0.0));
            let [Some(baseline), Some(compliance)] = scores else {
                return Err(format!("there is no score in {metric} of both, or it is 0"));
            };
            let apart = (1.0 - baseline / compliance).abs() * 100.0;
            // A NaN is not near.
            is_near &= apart <= *percent;
            texts.push(format!(
                "{metric} {baseline} of the accuracy run, {compliance} of the test, {apart:.3} % apart ({percent} % at \
                 most)"
            ));
        }
        match is_near {
            true => Ok(texts.join("; ")),
            false => Err(if texts.is_empty() { "no metric is compared".to_owned() } else { texts.join("; ") }),
        }
    }
}

/// The accuracy log with the samples alone that a test has logged, as `create_accuracy_baseline.sh` makes it of logs in
/// the official form.
pub fn baseline_log(accuracy: &AnswerLog, test: &AnswerLog) -> String {
    let mark = |index: u64| format!("\"qsl_idx\" : {index}, \"data\" ");
    let marks: std::collections::BTreeSet<String> = test.answers.iter().map(|answer| mark(answer.qsl_idx)).collect();
    let is_wanted = |line: &&str| {
        let (Some(from), Some(to)) = (line.find("\"qsl_idx\""), line.find("\"data\" ")) else { return false };
        line.get(from..to + "\"data\" ".len()).is_some_and(|mark| marks.contains(mark))
    };
    let lines: Vec<&str> = accuracy.text.lines().filter(is_wanted).collect();
    let text = lines.join("\n");
    format!("[\n{}\n]\n", text.strip_suffix(',').unwrap_or(&text))
}

#[cfg(test)]
mod tests {
    use lon_qsl::benchmark::Official;

    use super::*;

    fn chance(baseline: &str, compliance: &str) -> SecondChance {
        SecondChance { baseline: baseline.to_owned(), compliance: compliance.to_owned() }
    }

    #[test]
    fn scores_are_near_within_the_bounds_of_the_checker() {
        let nears = nears(Official::named("resnet", "v5.0").unwrap());
        let near = |baseline: &str, compliance: &str| chance(baseline, compliance).judge(&nears);
        assert!(near("accuracy=76.000%, good=1, total=2", "accuracy=75.300%, good=1, total=2").is_ok());
        let far = near("accuracy=76.000%, good=1, total=2", "accuracy=75.200%, good=1, total=2").unwrap_err();
        assert!(far.contains("1.064 % apart (1 % at most)"), "{far}");
        assert!(near("accuracy=0.000%, good=0, total=2", "accuracy=0.000%, good=0, total=2").is_err());
        assert!(near("nothing", "accuracy=75.2%, good=1, total=2").unwrap_err().contains("no score in acc"));
        let high = super::nears(Official::named("bert-99.9", "v5.0").unwrap());
        let text = |f1: f64| format!("{{\"exact_match\": 80.0, \"f1\": {f1}}}");
        assert!(chance(&text(90.0), &text(90.08)).judge(&high).is_ok());
        assert!(chance(&text(90.0), &text(90.1)).judge(&high).is_err());
    }

    #[test]
    fn every_metric_has_its_own_bound() {
        let nears = nears(Official::named("stable-diffusion-xl", "v5.0").unwrap());
        let text = |clip: f64, fid: f64| format!("{{'FID_SCORE': {fid}, 'CLIP_SCORE': {clip}}}");
        assert!(chance(&text(31.7, 23.0), &text(31.7, 23.4)).judge(&nears).is_ok());
        assert!(chance(&text(31.7, 23.0), &text(31.3, 23.0)).judge(&nears).is_err());
        assert!(chance("", "").judge(&[]).is_err());
    }

    #[test]
    fn the_baseline_has_the_samples_of_the_test() {
        let line = |index: u64, data: &str| {
            format!("{{ \"seq_id\" : {index}, \"qsl_idx\" : {index}, \"data\" : \"{data}\" }}")
        };
        let log = |lines: &[String]| AnswerLog::read(format!("[\n{}\n]\n", lines.join(",\n"))).unwrap();
        let accuracy = log(&[line(1, "AA"), line(11, "BB"), line(2, "CC")]);
        let test = log(&[line(1, "AB"), line(1, "AC"), line(7, "AA"), line(11, "BB")]);
        assert_eq!(baseline_log(&accuracy, &test), format!("[\n{},\n{}\n]\n", line(1, "AA"), line(11, "BB")));
    }
}
