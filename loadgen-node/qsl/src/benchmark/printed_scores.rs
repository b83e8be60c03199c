//! The scores that the scripts of the reference implementations print (`accuracy.txt`), as the official submission
//! checker reads them.

use std::collections::BTreeMap;

use serde::Deserialize;

/// The form in which scripts print a metric.
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
        let first_number = |Printed { metric, after }: &Printed| {
            let mut numbers = text.lines().filter_map(|line| after.iter().find_map(|mark| number(line, mark)));
            Some((metric.clone(), numbers.next()?))
        };
        let hash = text.lines().find_map(|line| line.trim().strip_prefix("hash="));
        OfficialScores {
            scores: printed.iter().filter_map(first_number).collect(),
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
    let (_, tail) = line.split_once(mark)?;
    let tail = tail.trim_start_matches([' ', '\t', '\'', '"', ':', '=']);
    let end = tail.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(tail.len());
    tail[..end].parse().ok()
}

/// Writes scores as the official scripts do, by the checker's names for the metrics; `samples` is the number of samples
/// behind the first. None: the script of such a metric prints more than is known here.
pub fn official_text(scores: &[(String, f64)], samples: usize) -> Option<String> {
    let (name, value) = scores.first()?;
    let of = |metric: &str| scores.iter().find(|(name, _)| name == metric).map(|(_, value)| *value);
    let text = match name.as_str() {
        "acc" => format!("accuracy={value:.3}%, good={}, total={samples}", (value / 100.0 * samples as f64).round()),
        "mAP" => format!("mAP={value:.3}%"),
        "AUC" => format!("AUC={value:.3}%"),
        "bleu" => format!("BLEU: {value:.1}"),
        "DICE" => format!("Accuracy: mean = {value:.5}"),
        "F1" => format!("{{\"exact_match\": {:?}, \"f1\": {value:?}}}", of("exact_match")?),
        _ => {
            let entries: Option<Vec<String>> = scores.iter().map(|(name, value)| entry(name, *value)).collect();
            format!("{{{}}}", entries?.join(", "))
        }
    };
    Some(text + "\n")
}

/// An entry of the dictionary that the scripts of language and picture models print.
fn entry(name: &str, value: f64) -> Option<String> {
    let text = match name {
        "ROUGE1" => format!("'rouge1': {:?}", four_decimals(value)),
        "ROUGE2" => format!("'rouge2': {:?}", four_decimals(value)),
        "ROUGEL" => format!("'rougeL': {:?}", four_decimals(value)),
        "ROUGELSUM" => format!("'rougeLsum': {:?}", four_decimals(value)),
        "GEN_LEN" => format!("'gen_len': {value:.0}"),
        "TOKENS_PER_SAMPLE" => format!("'tokens_per_sample': {value:.1}"),
        "CLIP_SCORE" | "FID_SCORE" => format!("'{name}': {value:?}"),
        "gsm8k_accuracy" => format!("'gsm8k': {value:?}"),
        "mbxp_accuracy" => format!("'mbxp': {value:?}"),
        "exact_match" | "vbench_score" => format!("'{name}': {value:?}"),
        _ => return None,
    };
    Some(text)
}

/// Rounds as Python's `round(value, 4)` does.
fn four_decimals(value: f64) -> f64 {
    format!("{value:.4}").parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::official_text;
    use crate::benchmark::official_scores;

    #[test]
    fn what_is_written_is_read_again() {
        let scores: [(&[&str], f64); 6] = [
            (&["acc"], 75.25),
            (&["mAP"], 37.25),
            (&["DICE"], 0.86125),
            (&["F1", "exact_match"], 90.875),
            (&["ROUGE1", "ROUGE2", "ROUGEL", "ROUGELSUM", "GEN_LEN", "TOKENS_PER_SAMPLE"], 44.0),
            (&["FID_SCORE", "CLIP_SCORE"], 23.5),
        ];
        for (names, value) in scores {
            let pairs: Vec<(String, f64)> = names.iter().map(|name| ((*name).to_owned(), value)).collect();
            let official = official_scores(&official_text(&pairs, 8).unwrap());
            // The exact match beside F1 is none that the checker looks for.
            for name in names.iter().filter(|name| names.len() != 2 || **name != "exact_match") {
                assert_eq!(official.of(name), Some(value), "{name}");
            }
        }
        assert_eq!(official_text(&[("F1".to_owned(), 1.0)], 8), None);
        assert_eq!(official_text(&[("E2E_ACCURACY".to_owned(), 1.0)], 8), None);
        let counted = official_text(&[("acc".to_owned(), 75.0)], 8).unwrap();
        assert_eq!(counted, "accuracy=75.000%, good=6, total=8\n");
        let tokens = [("ROUGE1".to_owned(), 44.431_24), ("TOKENS_PER_SAMPLE".to_owned(), 294.45)];
        assert_eq!(official_text(&tokens, 8).unwrap(), "{'rouge1': 44.4312, 'tokens_per_sample': 294.4}\n");
    }

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
