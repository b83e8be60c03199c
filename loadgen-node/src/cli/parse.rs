//! Values as they are typed.

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::time::Duration;

use lon_proto::text::is_hidden;
use lon_shell::duration::parse_duration;

use loadgen::conf::rules::Rules;
use loadgen::settings::{Assignment, AssignmentError, IntegerRule, Mode, Scenario, UnknownName, named};
use loadgen::v05;

/// The way to the scenario of the rules that LoadGen does not have.
const INTERACTIVE: &str = " (it is Server with the settings of --benchmark NAME-interactive)";

pub(super) fn scenario(text: &str) -> Result<Scenario, UnknownName> {
    let scenario = named("scenario", text, &Scenario::ALL.map(Scenario::name)).map(|index| Scenario::ALL[index]);
    // A scenario of the rules from round v5.1 on, and none of LoadGen's.
    scenario.map_err(|unknown| match text.eq_ignore_ascii_case("interactive") {
        true => UnknownName { hint: INTERACTIVE.to_owned(), ..unknown },
        false => unknown,
    })
}

pub(super) fn mode(text: &str) -> Result<Mode, UnknownName> {
    named("mode", text, &Mode::ALL.map(Mode::name)).map(|index| Mode::ALL[index])
}

pub(super) fn rules(text: &str) -> Result<&'static Rules, UnknownName> {
    Rules::named(text)
}

/// A round whose tests can be run, round v0.5 among them.
pub(super) fn rounds(text: &str) -> Result<&'static Rules, UnknownName> {
    Rules::named_of_all(text)
}

/// A setting. A key that round v0.5 alone has is refused later, where the round is another one.
pub(super) fn assignment(text: &str) -> Result<Assignment, AssignmentError> {
    text.parse().or_else(|error| match (&error, text.split_once('=')) {
        (AssignmentError::Key { .. }, Some((name, value))) => {
            let (scenario, key) = match name.trim().split_once('.') {
                Some((scenario, key)) => (Scenario::from_name(scenario.trim()), key.trim()),
                None => (None, name.trim()),
            };
            let scenarios =
                Scenario::ALL.into_iter().filter(|candidate| scenario.is_none_or(|only| only == *candidate));
            let mut v05_scenarios =
                scenarios.filter_map(|candidate| v05::scenario::Scenario::from_name(candidate.name()));
            let assignment = Assignment { scenario, key: key.to_owned(), value: value.trim().to_owned() };
            if v05_scenarios.any(|candidate| v05::conf::field(key, candidate).is_some()) {
                Ok(assignment)
            } else {
                Err(error)
            }
        }
        _ => Err(error),
    })
}

pub(super) fn integers(text: &str) -> Result<IntegerRule, UnknownName> {
    named("rule for integers", text, &IntegerRule::ALL.map(IntegerRule::name)).map(|index| IntegerRule::ALL[index])
}

/// A duration, by the grammar that both programs have.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let message = "write a number that is not negative and a unit, for example 500us, 20ms, 3s, 2m";
    parse_duration(text).map_err(|_| message.to_owned())
}

/// A share above 0 and at most 1: `20%`, or `0.2`.
pub(super) fn share(text: &str) -> Result<f64, String> {
    let number = match text.strip_suffix('%') {
        Some(percent) => percent.trim_end().parse::<f64>().ok().map(|percent| percent / 100.0),
        None => text.parse().ok(),
    };
    number.filter(|share| *share > 0.0 && *share <= 1.0).ok_or_else(|| "write a share such as 1% or 0.01".to_owned())
}

/// Bytes of an answer: a number and a unit, from 1 byte to 1 GiB, which is the most that travels as one answer.
pub(super) fn answer_bytes(text: &str) -> Result<u64, String> {
    const MOST: u64 = 1 << 30;
    const UNITS: [(&str, u64); 7] = [
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30),
        ("kB", 1_000),
        ("MB", 1_000_000),
        ("GB", 1_000_000_000),
        ("B", 1),
    ];
    let bytes_of = |&(unit, bytes): &(&str, u64)| {
        let number: u64 = text.strip_suffix(unit)?.trim_end().parse().ok()?;
        number.checked_mul(bytes).filter(|bytes| (1..=MOST).contains(bytes))
    };
    let bytes = UNITS.iter().find_map(bytes_of);
    bytes.ok_or_else(|| "write a number and a unit, for example 500kB, 64MiB; 1GiB at most".to_owned())
}

/// A duration that is long enough to measure something; a number alone is seconds.
pub(super) fn some_duration(text: &str) -> Result<Duration, String> {
    let is_bare = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let duration = if is_bare { duration(&format!("{text}s"))? } else { duration(text)? };
    if duration >= Duration::from_millis(100) { Ok(duration) } else { Err("shorter than 100ms".to_owned()) }
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

/// Most characters of a note.
const MAX_NOTE_CHARS: usize = 1000;

/// A note: one line, since tables and logs show it.
pub(super) fn note(text: &str) -> Result<String, String> {
    match text.chars().count() {
        _ if text.contains(is_hidden) => Err("a note is one line, without control characters".to_owned()),
        more if more > MAX_NOTE_CHARS => Err(format!("a note has {MAX_NOTE_CHARS} characters at most, not {more}")),
        _ => Ok(text.to_owned()),
    }
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
    #[test]
    fn sizes_have_units_and_bounds() {
        let size_of = |text| super::answer_bytes(text).ok();
        let sizes = ["1B", "500kB", "64MiB", "1 GiB", "2GB", "0B", "2GiB", "64", "64mb", "-1B", "99999999999999GiB"];
        let none = None;
        let expected =
            [Some(1), Some(500_000), Some(64 << 20), Some(1 << 30), none, none, none, none, none, none, none];
        assert_eq!(sizes.map(size_of), expected);
    }

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

    #[test]
    fn durations_have_units() {
        assert_eq!(duration("1.5s"), Ok(Duration::from_millis(1500)));
        assert_eq!(duration("500us"), Ok(Duration::from_micros(500)));
        for bad in ["5", "s", "-1s", "1d", "x ms"] {
            assert!(duration(bad).is_err(), "{bad}");
        }
    }
}
