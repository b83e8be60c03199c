//! The output that an official script would have had: its verdict, and the text of its file.

use std::fmt::Write as _;

/// The output of a script.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Script {
    /// The text of its file.
    pub(super) text: String,
    /// True when the text has its word for a pass.
    pub(super) passed: bool,
    /// The result, for the table.
    pub(super) finding: String,
}

impl Script {
    /// Begins with this line.
    pub(super) fn begin(line: &str) -> Script {
        Script { text: format!("{line}\n"), ..Script::default() }
    }

    /// Adds a line.
    pub(super) fn line(&mut self, line: impl AsRef<str>) {
        // Writing to a String cannot fail.
        let _ = writeln!(self.text, "{}", line.as_ref());
    }

    /// Ends with a pass.
    pub(super) fn pass(mut self, finding: impl Into<String>) -> Script {
        self.line("TEST PASS");
        Script { passed: true, finding: finding.into(), ..self }
    }

    /// Ends with a failure: the reason of the script, and what was found.
    pub(super) fn fail(mut self, reason: &str, finding: impl Into<String>) -> Script {
        self.line(if reason.is_empty() { "TEST FAIL".to_owned() } else { format!("TEST FAIL: {reason}") });
        Script { passed: false, finding: finding.into(), ..self }
    }
}

/// A float as Python prints it.
pub(super) fn python_float(value: f64) -> String {
    let text = format!("{value:?}");
    let Some((digits, exponent)) = text.split_once('e') else { return text };
    let (sign, power) = match exponent.strip_prefix('-') {
        Some(power) => ('-', power),
        None => ('+', exponent),
    };
    format!("{digits}e{sign}{power:0>2}")
}

#[cfg(test)]
mod tests {
    use super::python_float;

    #[test]
    fn floats_are_printed_as_python_does() {
        let printed = [497.33, 500.0, 1e16, 1.5e-7, 123_456_789.0].map(python_float);
        assert_eq!(printed, ["497.33", "500.0", "1e+16", "1.5e-07", "123456789.0"]);
    }
}
