//! The tip for a flag that does not exist, but has the name of a setting, or of an argument.

use clap::Error;
use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use loadgen::settings::{AssignmentError, Scenario, TestSettings};

/// A flag that the command `list` does not have.
const FOLDER: &str = "results";

/// The error, with how the setting is given whose name was typed as a flag.
pub(crate) fn with_tip(mut error: Error) -> Error {
    let unknown = match (error.kind(), error.get(ContextKind::InvalidArg)) {
        (ErrorKind::UnknownArgument, Some(ContextValue::String(flag))) => flag,
        _ => return error,
    };
    let key = unknown.trim_start_matches('-').replace('-', "_");
    if is_setting(&key) {
        let tip = StyledStr::from(format!("it is a setting: --set {key}=VALUE"));
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip]));
        // The suggested flag merely looks like the typed word. The setting is the one that the user wants.
        error.remove(ContextKind::SuggestedArg);
    } else if key == FOLDER && error.get(ContextKind::Usage).is_some_and(|usage| usage.to_string().contains(" list ")) {
        let tip = StyledStr::from("the folder is the argument: list FOLDER");
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip]));
        error.remove(ContextKind::SuggestedArg);
    }
    error
}

/// Returns true when this is the key of a setting, in any scenario.
fn is_setting(key: &str) -> bool {
    Scenario::ALL.into_iter().any(|scenario| {
        let refused = TestSettings { scenario, ..TestSettings::default() }.set(&format!("{key}=1"));
        !matches!(
            refused,
            Err(AssignmentError::Key { .. } | AssignmentError::Form { .. } | AssignmentError::Scenario(_))
        )
    })
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::cli::Cli;

    fn told(args: &[&str]) -> String {
        let error = Cli::try_parse_from([&["loadgen-node", "run", "--sut=a:1"], args].concat()).unwrap_err();
        with_tip(error).render().to_string()
    }

    #[test]
    fn settings_that_are_given_as_flags_are_told_how() {
        for flag in ["--target-qps", "--target_qps", "--min-duration", "--server-target-latency-ns"] {
            let key = flag.trim_start_matches('-').replace('-', "_");
            let told = told(&[flag, "5"]);
            assert!(told.contains(&format!("it is a setting: --set {key}=VALUE")), "{told}");
        }
        let list = Cli::try_parse_from(["loadgen-node", "list", "--results", "x"]).unwrap_err();
        let list = with_tip(list).render().to_string();
        assert!(list.contains("the folder is the argument") && !list.contains("similar argument"), "{list}");
        assert!(!told(&["--banchmark", "digits"]).contains("--set"));
        assert!(told(&["--banchmark", "digits"]).contains("--benchmark"));
    }
}
