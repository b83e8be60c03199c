//! The lines of a submission's file that a person has to write and that are still open.

/// The file up to the description of the system, as `submission init` writes it.
pub(super) const HEAD: &str = include_str!("template.toml");

/// The mark of a line that a person has to write.
const MARK: &str = "# FILL IN: ";

/// Lines of a file that are marked, and empty or as the template has them: each with its number, its key and what
/// belongs there.
pub(super) fn left(text: &str) -> Vec<String> {
    let (mut found, mut wanted) = (Vec::new(), None);
    for (number, line) in (1..).zip(text.lines().map(str::trim)) {
        if line.is_empty() || line.starts_with('#') {
            wanted = line.strip_prefix(MARK);
        } else if let (Some(wanted), Some((key, value))) = (wanted, line.split_once('=')) {
            let is_as_written = value.trim() == "\"\"" || HEAD.lines().any(|own| own == line);
            found.extend(is_as_written.then(|| format!("line {number}, {}: {wanted}", key.trim())));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_left_until_it_is_filled_in() {
        let whole =
            format!("{HEAD}# FILL IN: The name of the system.\nsystem_name = \"\"\n# Air, water.\ncooling = \"air\"\n");
        let open = left(&whole);
        let keys: Vec<&str> = open.iter().filter_map(|line| line.split(", ").nth(1)?.split(':').next()).collect();
        assert_eq!(keys, ["submitter", "system", "sut", "code", "calibration", "system_name"], "{open:?}");
        assert!(open[5].ends_with(", system_name: The name of the system."), "{open:?}");
        let filled = whole.replace("ORGANISATION", "Acme").replace("system_name = \"\"", "system_name = \"two\"");
        // A line that is right as it is has no mark any more.
        let filled = filled.replace("# FILL IN: the SUT nodes.\n", "");
        let keys: Vec<String> =
            left(&filled).iter().filter_map(|line| Some(line.split(", ").nth(1)?.to_owned())).collect();
        let begins: Vec<&str> = keys.iter().filter_map(|key| key.split(':').next()).collect();
        assert_eq!(begins, ["system", "code", "calibration"], "{keys:?}");
    }
}
