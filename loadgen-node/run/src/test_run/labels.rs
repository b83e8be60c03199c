//! Labels of a run (`--label KEY=VALUE`): words of the user, by which lists, comparisons and metrics tell runs apart.

use std::collections::BTreeMap;
use std::str::FromStr;

use lon_proto::text::is_hidden;

/// Most labels of a run.
const MOST: usize = 16;
/// Most characters of a key.
const MAX_KEY_CHARS: usize = 64;
/// Most characters of a value.
const MAX_VALUE_CHARS: usize = 128;

/// Label of a run, as `--label` gives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// Key of the label: letters, digits, `_`, `-` and `.`.
    pub key: String,
    /// Value of the label: one line, without hidden characters.
    pub value: String,
}

/// The labels of a run, by their keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Labels(BTreeMap<String, String>);

/// Reason why a text is no label, or labels do not go together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LabelError {
    /// The text has no key, or no value.
    #[error("'{0}' is no label: write KEY=VALUE")]
    Form(String),
    /// The key has other characters, or too many.
    #[error("'{0}' is no key of a label: write up to {most} ASCII letters, digits, _, - and .", most = MAX_KEY_CHARS)]
    Key(String),
    /// The value has too many characters, or hidden ones.
    #[error("the value of label {0} has {most} characters at most, none of them hidden", most = MAX_VALUE_CHARS)]
    Value(String),
    /// A key is there twice.
    #[error("label {0} is there twice: give each key once")]
    Twice(String),
    /// Two keys have one name in metrics.
    #[error("labels {0} and {1} have one name in metrics, where - and . are _: give another key")]
    Alike(String, String),
    /// There are too many of them.
    #[error("a run has {most} labels at most, not {0}", most = MOST)]
    TooMany(usize),
}

impl FromStr for Label {
    type Err = LabelError;

    fn from_str(text: &str) -> Result<Label, LabelError> {
        let pair = text.split_once('=').filter(|(key, value)| !key.is_empty() && !value.is_empty());
        let (key, value) = pair.ok_or_else(|| LabelError::Form(text.to_owned()))?;
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
        if !key.chars().all(is_plain) || key.len() > MAX_KEY_CHARS {
            return Err(LabelError::Key(key.to_owned()));
        }
        if value.contains(is_hidden) || value.chars().count() > MAX_VALUE_CHARS {
            return Err(LabelError::Value(key.to_owned()));
        }
        Ok(Label { key: key.to_owned(), value: value.to_owned() })
    }
}

impl Labels {
    /// These labels together.
    ///
    /// # Errors
    /// There are too many, or two of them have one key, or one name in metrics.
    pub fn new(labels: Vec<Label>) -> Result<Labels, LabelError> {
        if labels.len() > MOST {
            return Err(LabelError::TooMany(labels.len()));
        }
        let mut names: BTreeMap<String, String> = BTreeMap::new();
        for Label { key, .. } in &labels {
            match names.insert(in_metrics(key), key.clone()) {
                Some(other) if other == *key => return Err(LabelError::Twice(other)),
                Some(other) => return Err(LabelError::Alike(other, key.clone())),
                None => {}
            }
        }
        Ok(Labels(labels.into_iter().map(|label| (label.key, label.value)).collect()))
    }

    /// Each value by its key.
    pub fn by_key(&self) -> &BTreeMap<String, String> {
        &self.0
    }

    /// Each value by its name in metrics.
    pub(crate) fn for_metrics(&self) -> Vec<(String, String)> {
        self.0.iter().map(|(key, value)| (in_metrics(key), value.clone())).collect()
    }
}

/// Name of a label in metrics, whose names have letters, digits and underscores.
fn in_metrics(key: &str) -> String {
    format!("label_{}", key.replace(['-', '.'], "_"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(texts: &[&str]) -> Result<Labels, String> {
        let list: Result<Vec<Label>, LabelError> = texts.iter().map(|text| text.parse()).collect();
        list.and_then(Labels::new).map_err(|error| error.to_string())
    }

    #[test]
    fn labels_are_keys_with_values() {
        let labels = labels(&["rack=7", "team-a.x=n=1, \u{e9}t\u{e9}"]).unwrap();
        let pairs: Vec<(&str, &str)> =
            labels.by_key().iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        assert_eq!(pairs, [("rack", "7"), ("team-a.x", "n=1, \u{e9}t\u{e9}")]);
        assert_eq!(labels.for_metrics()[1].0, "label_team_a_x");
    }

    #[test]
    fn labels_that_cannot_be_kept_are_refused_by_name() {
        let (long, value) = ("k".repeat(65) + "=v", format!("k={}", "v".repeat(129)));
        for (texts, part) in [
            (vec!["rack"], "'rack' is no label: write KEY=VALUE"),
            (vec!["rack="], "is no label"),
            (vec!["=7"], "is no label"),
            (vec!["a b=7"], "'a b' is no key of a label: write up to 64"),
            (vec!["\u{e9}=7"], "is no key of a label"),
            (vec![&long], "is no key of a label"),
            (vec!["k=a\u{202e}b"], "the value of label k has 128 characters at most"),
            (vec![&value], "the value of label k"),
            (vec!["a=1", "a=2"], "label a is there twice"),
            (vec!["a.b=1", "a-b=2"], "labels a.b and a-b have one name"),
        ] {
            let error = labels(&texts).unwrap_err();
            assert!(error.contains(part), "{texts:?}: {error}");
        }
        let many: Vec<String> = (0..17).map(|number| format!("k{number}=v")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert!(labels(&many[..16]).is_ok());
        assert_eq!(labels(&many).unwrap_err(), "a run has 16 labels at most, not 17");
    }
}
