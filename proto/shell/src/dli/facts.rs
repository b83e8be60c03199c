//! Facts of a test that no run knows.

use std::str::FromStr;

use serde::Deserialize;

/// Facts for the table of the DLI benchmark that no run knows. The table has `N/A` where one is left out. A case, an
/// axis or a zip of a campaign has them as keys `dli.FACT`, for models of their own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Facts {
    /// Task of the model, such as `Classification`.
    pub task: Option<String>,
    /// Name of the model; the name that the node has for it unless given.
    pub topology: Option<String>,
    /// Framework in which the model was trained, such as `PyTorch`.
    pub framework: Option<String>,
    /// Precision of the weights: `FP32`, `FP16`, `INT8`.
    pub precision: Option<String>,
    /// Name of the dataset; the name that the run has for it unless given.
    pub dataset: Option<String>,
}

impl Facts {
    /// The names of the facts.
    pub const NAMES: [&str; 5] = ["task", "topology", "framework", "precision", "dataset"];

    /// The place of the fact with this name.
    pub fn fact(&mut self, name: &str) -> Option<&mut Option<String>> {
        match name {
            "task" => Some(&mut self.task),
            "topology" => Some(&mut self.topology),
            "framework" => Some(&mut self.framework),
            "precision" => Some(&mut self.precision),
            "dataset" => Some(&mut self.dataset),
            _ => None,
        }
    }
}

impl FromStr for Facts {
    type Err = String;

    /// Reads `task=Classification,precision=FP32`. An empty text has no facts.
    fn from_str(text: &str) -> Result<Facts, String> {
        let mut facts = Facts::default();
        for part in text.split(',').filter(|part| !part.trim().is_empty()) {
            let refusal = || format!("'{part}' is not FACT=TEXT with one of {}", Facts::NAMES.join(", "));
            let (name, value) = part.split_once('=').ok_or_else(refusal)?;
            *facts.fact(name.trim()).ok_or_else(refusal)? = Some(value.trim().to_owned());
        }
        Ok(facts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fact_has_a_name() {
        for name in Facts::NAMES {
            let mut facts: Facts = format!("{name}=a b").parse().unwrap();
            assert_eq!(facts.fact(name).unwrap().as_deref(), Some("a b"));
        }
        assert_eq!("".parse(), Ok(Facts::default()));
        let both = Facts { task: Some("t".to_owned()), precision: Some("INT8".to_owned()), ..Facts::default() };
        assert_eq!("task=t, precision=INT8".parse(), Ok(both));
        for bad in ["batch=1", "task"] {
            let error = bad.parse::<Facts>().unwrap_err();
            assert!(error.contains(bad) && error.contains("task, topology, framework"), "{error}");
        }
    }
}
