//! What the scripts of the reference implementations print of accuracy (`accuracy.txt`), as the official submission
//! checker reads it.

use std::collections::BTreeMap;

use serde::Deserialize;

/// How scripts print a metric.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Printed {
    /// The name of the metric in the checker.
    metric: String,
    /// The texts of which one stands before the number, with blanks, quotes, colons and equal signs between.
    after: Vec<String>,
}

/// The scores in an `accuracy.txt`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OfficialScores {
    scores: BTreeMap<String, f64>,
    /// SHA-256 of the accuracy log that was scored, in hexadecimal digits: the line `hash=`; none: there is none.
    pub log_sha256: Option<String>,
}

impl OfficialScores {
    /// Reads the text. A metric that is printed twice has the first number.
    pub(super) fn new(text: &str, printed: &[Printed]) -> OfficialScores {
        let found = |Printed { metric, after }: &Printed| {
            let mut numbers = text.lines().filter_map(|line| after.iter().find_map(|mark| number(line, mark)));
            Some((metric.clone(), numbers.next()?))
        };
        let hash = text.lines().find_map(|line| line.trim().strip_prefix("hash="));
        OfficialScores {
            scores: printed.iter().filter_map(found).collect(),
            log_sha256: hash.map(str::to_ascii_lowercase),
        }
    }

    /// The score in this metric, by its name in the checker.
    pub fn of(&self, metric: &str) -> Option<f64> {
        self.scores.get(metric).copied()
    }
}

/// The number behind `mark`.
fn number(line: &str, mark: &str) -> Option<f64> {
    let (_, rest) = line.split_once(mark)?;
    let rest = rest.trim_start_matches([' ', '\t', '\'', '"', ':', '=']);
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
    rest[..end].parse().ok()
}

#[cfg(test)]
mod tests {
    use crate::benchmark::official_scores;

    #[test]
    fn every_form_is_read() {
        for (text, metric, score) in [
            ("accuracy=76.456%, good=38228, total=50000", "acc", 76.456),
            ("{\"accuracy\": 0.7286}", "acc", 0.7286),
            ("AUC=80.31%, accuracy=81.2", "AUC", 80.31),
            ("metric/lifetime_gauc/rating: 0.78663", "DLRM_AUC", 0.78663),
            ("mAP=37.550%", "mAP", 37.55),
            ("{'Total': '54.2', 'x': 1}", "mAP", 54.2),
            ("{\"exact_match\": 83.67, \"f1\": 90.87487}", "F1", 90.87487),
            ("Word Error Rate: 2.0671%, accuracy=97.9329%", "ACCURACY", 97.9329),
            ("Accuracy: mean = 0.86170, kidney = 0.9, tumor = 0.8", "DICE", 0.8617),
            ("{'rouge1': '42.9865', 'rouge2': 20.1, 'rougeL': 29.9, 'rougeLsum': 40.0}", "ROUGEL", 29.9),
            ("{'rouge1': '42.9865', 'rouge2': 20.1, 'rougeL': 29.9, 'rougeLsum': 40.0}", "ROUGELSUM", 40.0),
            ("{'gen_len': 4016878.0, 'tokens_per_sample': 145.9}", "TOKENS_PER_SAMPLE", 145.9),
            ("{'FID_SCORE': '23.5', 'CLIP_SCORE': 31.7}", "FID_SCORE", 23.5),
            ("{'gsm8k': 73.66, 'mbxp': 60.16}", "mbxp_accuracy", 60.16),
        ] {
            let scores = official_scores(&format!("a line before\n{text}\nhash=AB12\n"));
            assert_eq!(scores.of(metric), Some(score), "{text}");
            assert_eq!(scores.log_sha256.as_deref(), Some("ab12"));
        }
        let none = official_scores("nothing is scored here\n");
        assert!(none.of("acc").is_none() && none.log_sha256.is_none());
    }
}
