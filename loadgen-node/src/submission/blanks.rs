//! The lines of a submission's file that a person has to write and that are still open.

/// The file up to the description of the system, as `submission init` writes it.
pub(super) const HEAD: &str = include_str!("template.toml");

/// The mark of a line that a person has to write.
const MARK: &str = "# FILL IN: ";

/// The end of a mark on a line that a run gave and that cannot be submitted; the value of the line follows.
pub(super) const OF_THE_RUN: &str = " (found: ";

/// A value of the template that is right for nobody.
#[derive(Clone, Copy, Debug)]
pub(super) struct Placeholder {
    pub(super) value: &'static str,
    /// The text that belongs there.
    pub(super) remedy: &'static str,
}

/// The placeholder of the submitter.
pub(super) const ORGANISATION: Placeholder =
    Placeholder { value: "ORGANISATION", remedy: "the name of your organisation, as its folder is called" };
/// The placeholder of the system.
pub(super) const SYSTEM: Placeholder =
    Placeholder { value: "SYSTEM", remedy: "the name of the system, as its folders are called" };
/// The placeholder of the weights.
pub(super) const WEIGHTS: Placeholder =
    Placeholder { value: "WEIGHTS", remedy: "the name of the file from which the model was made" };
/// The placeholder of the code.
pub(super) const CODE: Placeholder = Placeholder {
    value: "The SUT nodes run sut-node of https://example.org at revision ...",
    remedy: "where the code of your system is, and how it is built and started",
};

/// Text of the system's description that the file has where no run has found one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Prefilled {
    /// A guess, whose line a person has to look at.
    Guess(&'static str),
    /// The text that most people write.
    Usual(&'static str),
}

/// All of these texts by their keys.
const PREFILLED: [(&str, Prefilled); 13] = [
    ("status", Prefilled::Guess("available")),
    ("cooling", Prefilled::Guess("air")),
    ("network_type", Prefilled::Guess("Ethernet")),
    ("network_media", Prefilled::Guess("copper")),
    ("system_type", Prefilled::Usual("datacenter")),
    ("system_type_detail", Prefilled::Usual("N/A")),
    ("host_networking_topology", Prefilled::Usual("N/A")),
    ("accelerators_per_node", Prefilled::Usual("0")),
    ("accelerator_model_name", Prefilled::Usual("N/A")),
    ("accelerator_memory_capacity", Prefilled::Usual("N/A")),
    ("accelerator_memory_configuration", Prefilled::Usual("N/A")),
    ("accelerator_host_interconnect", Prefilled::Usual("N/A")),
    ("accelerator_interconnect", Prefilled::Usual("N/A")),
];

impl Prefilled {
    /// The text of a key; none where the file has no text for it.
    pub(super) fn of(key: &str) -> Option<Prefilled> {
        PREFILLED.iter().find(|(name, _)| *name == key).map(|(_, text)| *text)
    }

    /// Returns true when this is a guess with these words.
    fn is_guess(self, value: &str) -> bool {
        matches!(self, Prefilled::Guess(text) if text == value)
    }
}

/// Lines of a file that are marked, and empty or as the template has them: each with the file and its number, its table
/// and key, and what belongs there.
pub(super) fn open_lines(file: &str, text: &str) -> Vec<String> {
    let (mut lines, mut remark, mut table) = (Vec::new(), None, String::new());
    let is_guess =
        |key: &str, value: &str| Prefilled::of(key).is_some_and(|text| text.is_guess(value.trim_matches('"')));
    for (number, line) in (1..).zip(text.lines().map(str::trim)) {
        if line.is_empty() || line.starts_with('#') {
            remark = line.strip_prefix(MARK);
        } else if let Some(name) = line.strip_prefix('[') {
            table = format!("{}.", name.trim_matches(['[', ']']));
        } else if let (Some(remark), Some((key, value))) = (remark, line.split_once('=')) {
            let (key, value) = (key.trim(), value.trim());
            let is_of_the_run = remark.ends_with(&format!("{OF_THE_RUN}{value})"));
            let is_as_written =
                value == "\"\"" || is_of_the_run || is_guess(key, value) || HEAD.lines().any(|own| own == line);
            lines.extend(is_as_written.then(|| format!("{file}:{number}, {table}{key}: {remark}")));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_those_of_the_template() {
        for Placeholder { value, .. } in [ORGANISATION, SYSTEM, WEIGHTS, CODE] {
            assert!(HEAD.contains(&format!(" = \"{value}\"\n")), "{value}");
        }
    }

    #[test]
    fn a_value_of_the_run_is_left_until_it_changes() {
        let text = "# FILL IN: the benchmark (found: \"digits\")\nname = \"digits\"\n";
        assert_eq!(open_lines("s.toml", text).len(), 1);
        assert!(open_lines("s.toml", &text.replace("name = \"digits\"", "name = \"resnet50\"")).is_empty());
    }

    #[test]
    fn a_line_is_left_until_it_is_filled_in() {
        let whole = format!(
            "{HEAD}# FILL IN: The name of the system.\nsystem_name = \"\"\n# FILL IN: Air, water.\ncooling = \"air\"\n"
        );
        let keys = |text: &str| -> Vec<String> {
            let open = open_lines("s.toml", text);
            open.iter().filter_map(|line| Some(line.split(", ").nth(1)?.split(':').next()?.to_owned())).collect()
        };
        let open = keys(&whole);
        assert_eq!(open[..4], ["submitter", "system", "round", "run.sut"], "{open:?}");
        for key in ["benchmark.name", "benchmark.settings.Offline", "benchmark.model.retraining", "texts.code"] {
            assert!(open.iter().any(|name| name == key), "{key}: {open:?}");
        }
        assert_eq!(open[open.len() - 2..], ["system-description.system_name", "system-description.cooling"]);
        assert!(open_lines("s.toml", &whole).last().is_some_and(|line| line.ends_with("cooling: Air, water.")));
        let filled = whole.replace("ORGANISATION", "Acme").replace("system_name = \"\"", "system_name = \"two\"");
        // A line that is right as it is has no mark any more.
        let filled = filled.replace("# FILL IN: the SUT nodes.\n", "").replace("\"air\"", "\"water\"");
        let open_keys = keys(&filled);
        assert_eq!(open_keys.len(), open.len() - 4, "{open_keys:?}");
        assert!(open_keys.iter().all(|key| !["submitter", "run.sut"].contains(&key.as_str())), "{open_keys:?}");
    }
}
