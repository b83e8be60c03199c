//! Values as they are typed.

use std::ffi::OsString;
use std::time::Duration;

use loadgen::conf::rules::Rules;
use loadgen::settings::{Scenario, UnknownName};
pub(super) use lon_run::values::{
    answer_bytes, assignment, duration, few, integers, mode, note, rounds, scenario, share, some_duration,
};

/// The names of all scenarios, for help.
pub(super) fn scenarios() -> String {
    let names = Scenario::ALL.map(Scenario::name);
    let (last, others) = names.split_last().unwrap_or((&"", &[]));
    format!("{} or {last}", others.join(", "))
}

pub(super) fn rules(text: &str) -> Result<&'static Rules, UnknownName> {
    Rules::named(text)
}

/// The rate of a link in bit/s: a number and a unit, such as `25G`.
pub(super) fn link_rate(text: &str) -> Result<f64, String> {
    const UNITS: [(&str, f64); 4] = [("Gbit/s", 1e9), ("Mbit/s", 1e6), ("G", 1e9), ("M", 1e6)];
    let rate_of = |&(unit, bits_per_s): &(&str, f64)| {
        let number: f64 = text.strip_suffix(unit)?.trim_end().parse().ok()?;
        Some(number * bits_per_s).filter(|rate| (1e6..=1e15).contains(rate))
    };
    let rate = UNITS.iter().find_map(rate_of);
    rate.ok_or_else(|| "write a number and a unit: 25G, 400M or 25Gbit/s; 1M at least".to_owned())
}

/// An interval in which both directions can be measured.
pub(super) fn watch_interval(text: &str) -> Result<Duration, String> {
    let interval = duration(text)?;
    if interval >= Duration::from_millis(500) { Ok(interval) } else { Err("shorter than 500ms".to_owned()) }
}

/// The size of a request: bytes, with a unit or without, from 8 bytes to 16 MiB.
pub(super) fn request_bytes(text: &str) -> Result<usize, String> {
    let bytes = text.parse().ok().or_else(|| answer_bytes(text).ok()).and_then(|bytes| usize::try_from(bytes).ok());
    let bytes = bytes.filter(|bytes| (8..=16 << 20).contains(bytes));
    bytes.ok_or_else(|| "write bytes, or a number and a unit: 64, 4KiB, 1MiB; from 8 bytes to 16MiB".to_owned())
}

/// A share as percent, above 0 and below 100: `5%` or `5`. Below 1 with its sign alone, since `0.05` may be meant as a
/// fraction.
pub(super) fn percent(text: &str) -> Result<f64, String> {
    let (number, has_sign) = match text.trim().strip_suffix('%') {
        Some(number) => (number, true),
        None => (text, false),
    };
    let percent = number.trim().parse().ok().filter(|percent: &f64| *percent > 0.0 && *percent < 100.0);
    if let Some(percent) = percent.filter(|percent| !has_sign && *percent < 1.0) {
        return Err(format!("a percentage: write {percent}%, or {}% if a fraction is meant", percent * 100.0));
    }
    percent
        .map(|percent| percent / 100.0)
        .ok_or_else(|| "write a percentage above 0 and below 100, such as 5%".to_owned())
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
    use clap::builder::ValueParser;

    use super::super::Cli;
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    /// Each run records the words of the command line, and others see them in the list of processes.
    #[test]
    fn secrets_are_read_from_files() {
        let mut open = vec![Cli::command()];
        let mut count = 0;
        while let Some(command) = open.pop() {
            for flag in command.get_arguments().filter(|flag| flag.get_action().takes_values()) {
                let name = flag.get_long().unwrap_or_default();
                let is_secret = name != "eos-token-id"
                    && name.split('-').any(|word| ["token", "key", "secret", "password"].contains(&word));
                let is_path = flag.get_value_parser().type_id() == ValueParser::path_buf().type_id();
                assert!(!is_secret || is_path, "--{name} of {} takes a secret itself", command.get_name());
                count += usize::from(is_secret);
            }
            open.extend(command.get_subcommands().cloned());
        }
        assert!(count >= 4, "{count}");
    }

    #[test]
    fn underscore_spellings_are_taken() {
        let typed = ["loadgen-node", "run", "--sut_server=a_b:1", "--set", "target_qps=5", "--response_timeout", "2s"];
        let args: Vec<OsString> = with_dashes(typed.iter().map(OsString::from)).collect();
        assert_eq!(args[2..], ["--sut-server=a_b:1", "--set", "target_qps=5", "--response-timeout", "2s"]);
    }

    #[test]
    fn what_probes_take_is_bounded() {
        assert_eq!(
            [some_duration("2"), some_duration("500ms")].map(Result::ok),
            [2000, 500].map(|ms| Some(Duration::from_millis(ms)))
        );
        assert_eq!(["25G", "2.5Gbit/s", "400 M"].map(link_rate), [Ok(25e9), Ok(2.5e9), Ok(400e6)]);
        assert!(["25", "G", "0G", "-1G", "infG", "25GB/s"].iter().all(|text| link_rate(text).is_err()));
        assert!(some_duration("0").is_err() && some_duration("").is_err() && watch_interval("400ms").is_err());
        let sizes = ["64", "4KiB", "1MiB", "16MiB", "17MiB", "7", "x"].map(|text| request_bytes(text).ok());
        assert_eq!(sizes, [Some(64), Some(4 << 10), Some(1 << 20), Some(16 << 20), None, None, None]);
        assert_eq!([percent("5%"), percent("2.5")].map(Result::ok), [Some(0.05), Some(0.025)]);
        assert!(["0", "100%", "x", "-1%"].iter().all(|text| percent(text).is_err()));
    }
}
