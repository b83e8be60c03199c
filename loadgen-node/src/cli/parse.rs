//! Values as they are typed.

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::time::Duration;

use lon_shell::duration::parse_duration;

use loadgen::conf::rules::{RULES, Rules};
use loadgen::settings::{Mode, Scenario};

pub(super) fn scenario(text: &str) -> Result<Scenario, String> {
    Scenario::from_name(text).ok_or_else(|| format!("the scenarios are {}", names(Scenario::ALL.map(Scenario::name))))
}

pub(super) fn mode(text: &str) -> Result<Mode, String> {
    Mode::from_name(text).ok_or_else(|| format!("the modes are {}", names(Mode::ALL.map(Mode::name))))
}

pub(super) fn rules(text: &str) -> Result<&'static Rules, String> {
    Rules::find(text).ok_or_else(|| format!("the rounds are {}", names(RULES.each_ref().map(|rules| rules.round.name))))
}

pub(super) fn names<const N: usize>(names: [&str; N]) -> String {
    names.join(", ")
}

/// A duration, by the grammar that both programs have.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let told = "write a number and a unit, for example 500us, 20ms, 3s, 2m";
    parse_duration(text).map_err(|_| told.to_owned())
}

/// The same, and long enough to measure something.
pub(super) fn some_duration(text: &str) -> Result<Duration, String> {
    let duration = duration(text)?;
    if duration >= Duration::from_millis(100) { Ok(duration) } else { Err("shorter than 100ms".to_owned()) }
}

/// A number from 1 to 256: more threads or connections than that are a slip.
pub(super) fn few(text: &str) -> Result<NonZeroUsize, String> {
    let number = text.parse().ok().filter(|number: &NonZeroUsize| number.get() <= 256);
    number.ok_or_else(|| "a number from 1 to 256".to_owned())
}

/// Underscores in flag names mean dashes, as in the reference implementations (`--sut_server`). What is no Unicode is
/// left to whoever reads the flag.
pub(crate) fn with_dashes(args: impl Iterator<Item = OsString>) -> impl Iterator<Item = OsString> {
    args.map(|arg| {
        let Some(flag) = arg.to_str().and_then(|text| text.strip_prefix("--")) else { return arg };
        match flag.split_once('=') {
            Some((name, value)) => format!("--{}={value}", name.replace('_', "-")).into(),
            None => format!("--{}", flag.replace('_', "-")).into(),
        }
    })
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::super::Cli;
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn underscore_spellings_are_taken() {
        let typed = ["loadgen-node", "run", "--sut_server=a_b:1", "--set", "target_qps=5", "--response_timeout", "2s"];
        let args: Vec<OsString> = with_dashes(typed.iter().map(OsString::from)).collect();
        assert_eq!(args[2..], ["--sut-server=a_b:1", "--set", "target_qps=5", "--response-timeout", "2s"]);
    }

    #[test]
    fn durations_have_units() {
        assert_eq!(duration("1.5s"), Ok(Duration::from_millis(1500)));
        assert_eq!(duration("500us"), Ok(Duration::from_micros(500)));
        for bad in ["5", "s", "-1s", "1h", "x ms"] {
            assert!(duration(bad).is_err(), "{bad}");
        }
    }
}
