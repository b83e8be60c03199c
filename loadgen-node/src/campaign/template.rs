//! The file that `campaign init` writes.

/// A campaign that runs as it is, with comments on everything that can be written.
pub(crate) const TEMPLATE: &str = include_str!("template.toml");

#[cfg(test)]
mod tests {
    use super::super::checked::Campaign;
    use super::*;

    #[test]
    fn the_file_can_be_run_as_it_is() {
        let campaign = Campaign::of(TEMPLATE, "c.toml").unwrap();
        assert_eq!((campaign.cells.len(), campaign.jobs().len()), (4, 4));
    }

    /// Every line that is commented out is right as well, once its table is there.
    #[test]
    fn commented_keys_are_right() {
        let is_key = |line: &&str| line.starts_with("# ") && (line.contains(" = ") || line.starts_with("# ["));
        let all = TEMPLATE.lines().map(|line| if is_key(&line) { &line[2..] } else { line });
        let text = all.collect::<Vec<_>>().join("\n");
        // Nodes that are up, and nodes that are started: one of them.
        let text = text.replace("\nsut = ", "\n# sut = ").replace("\ninsecure = ", "\n# insecure = ");
        let campaign = Campaign::of(&text, "c.toml").unwrap_or_else(|error| panic!("{error:#}\n{text}"));
        assert!(campaign.cells.len() > 4 && campaign.has_accuracy, "{text}");
    }
}
