//! The tip for a flag that does not exist, but has the name of a setting, or of an argument.

use clap::Error;
use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use loadgen::settings::{AssignmentError, Scenario, TestSettings};

/// Options of a SUT node that are taken for flags of the LoadGen node, and the flags of `sut-node serve`.
const OF_SUT: [(&str, &str); 6] = [
    ("batch", "--max-batch"),
    ("batch_size", "--max-batch"),
    ("max_batch", "--max-batch"),
    ("max_delay", "--max-delay"),
    ("threads", "--threads"),
    ("workers", "--workers"),
];

/// A flag that the command `list` does not have.
const FOLDER: &str = "results";

/// The ways of the command `replay`, which takes no argument.
const REPLAY_FLAGS: &str =
    "give --timeline RUN for a run folder of this program, or --official DIR for logs of LoadGen";

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
    } else if !unknown.starts_with('-') && of_command(&error, "replay") {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![StyledStr::from(REPLAY_FLAGS)]));
    } else if let Some((_, flag)) = OF_SUT.iter().find(|(option, _)| *option == key) {
        let tip = StyledStr::from(format!("it is set at the node: sut-node serve {flag}"));
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip]));
        error.remove(ContextKind::SuggestedArg);
    } else if key == FOLDER && of_command(&error, "list") {
        let tip = StyledStr::from("the folder is an argument, and `results` unless given: list FOLDER");
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip]));
        error.remove(ContextKind::SuggestedArg);
    }
    error
}

/// Returns true when the error shows the usage of this command.
fn of_command(error: &Error, name: &str) -> bool {
    error.get(ContextKind::Usage).is_some_and(|usage| usage.to_string().contains(&format!(" {name} ")))
}

/// Returns true when this is the key of a setting, in any scenario.
pub(crate) fn is_setting(key: &str) -> bool {
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

    fn message_of(args: &[&str]) -> String {
        let error = Cli::try_parse_from([&["loadgen-node", "run", "--sut=a:1"], args].concat()).unwrap_err();
        with_tip(error).render().to_string()
    }

    #[test]
    fn settings_that_are_given_as_flags_are_told_how() {
        for flag in ["--target-qps", "--target_qps", "--min-duration", "--server-target-latency-ns"] {
            let key = flag.trim_start_matches('-').replace('-', "_");
            let message = message_of(&[flag, "5"]);
            assert!(message.contains(&format!("it is a setting: --set {key}=VALUE")), "{message}");
        }
        let list = Cli::try_parse_from(["loadgen-node", "list", "--results", "x"]).unwrap_err();
        let list = with_tip(list).render().to_string();
        assert!(
            list.contains("the folder is an argument, and `results` unless given")
                && !list.contains("similar argument"),
            "{list}"
        );
        let replay = Cli::try_parse_from(["loadgen-node", "replay", "results/perf-Server"]).unwrap_err();
        let replay = with_tip(replay).render().to_string();
        assert!(replay.contains("'results/perf-Server' found") && replay.contains(REPLAY_FLAGS), "{replay}");
        let batch = message_of(&["--batch", "32"]);
        assert!(batch.contains("sut-node serve --max-batch") && !batch.contains("similar argument"), "{batch}");
        assert!(!message_of(&["--banchmark", "digits"]).contains("--set"));
        assert!(message_of(&["--banchmark", "digits"]).contains("--benchmark"));
    }
}
