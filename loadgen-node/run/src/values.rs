//! Values as users write them: of flags, of keys in files, and of options.

use std::num::NonZeroUsize;
use std::str::FromStr;
use std::time::Duration;

use loadgen::conf::rules::Rules;
use loadgen::settings::{Assignment, AssignmentError, IntegerRule, Mode, Scenario, UnknownName, named};
use loadgen::v05;
use lon_proto::figures::bytes_of;
use lon_proto::text::is_hidden;
use lon_qsl::{Codec, CodecError};
use lon_shell::duration::parse_duration;

/// The way to the scenario of the rules that LoadGen does not have.
const INTERACTIVE: &str = " (it is Server with the settings of --benchmark NAME-interactive)";

/// A scenario of LoadGen, by its name.
///
/// # Errors
/// The name is no scenario.
pub fn scenario(text: &str) -> Result<Scenario, UnknownName> {
    let scenario = named("scenario", text, &Scenario::ALL.map(Scenario::name)).map(|index| Scenario::ALL[index]);
    // A scenario of the rules from round v5.1 on, and none of LoadGen's.
    scenario.map_err(|unknown| match text.eq_ignore_ascii_case("interactive") {
        true => UnknownName { hint: INTERACTIVE.to_owned(), ..unknown },
        false => unknown,
    })
}

/// A mode of LoadGen, by its name.
///
/// # Errors
/// The name is no mode.
pub fn mode(text: &str) -> Result<Mode, UnknownName> {
    named("mode", text, &Mode::ALL.map(Mode::name)).map(|index| Mode::ALL[index])
}

/// A round whose tests can be run, round v0.5 among them.
///
/// # Errors
/// The name is no round.
pub fn rounds(text: &str) -> Result<&'static Rules, UnknownName> {
    Rules::named_of_all(text)
}

/// A setting. A key that round v0.5 alone has is refused later, where the round is another one.
///
/// # Errors
/// The text is no `KEY=VALUE` of a setting.
pub fn assignment(text: &str) -> Result<Assignment, AssignmentError> {
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

/// A rule by which a draw becomes an integer, by its name.
///
/// # Errors
/// The name is no rule.
pub fn integers(text: &str) -> Result<IntegerRule, UnknownName> {
    named("rule for integers", text, &IntegerRule::ALL.map(IntegerRule::name)).map(|index| IntegerRule::ALL[index])
}

/// A duration, by the grammar that both programs have.
///
/// # Errors
/// The text is no such duration.
pub fn duration(text: &str) -> Result<Duration, String> {
    let message = "write a number that is not negative and a unit, for example 500us, 20ms, 3s, 2m";
    parse_duration(text).map_err(|_| message.to_owned())
}

/// A share above 0 and at most 1: `20%`, or `0.2`.
///
/// # Errors
/// The text is no such share.
pub fn share(text: &str) -> Result<f64, String> {
    let number = match text.strip_suffix('%') {
        Some(percent) => percent.trim_end().parse::<f64>().ok().map(|percent| percent / 100.0),
        None => text.parse().ok(),
    };
    number.filter(|share| *share > 0.0 && *share <= 1.0).ok_or_else(|| "write a share such as 1% or 0.01".to_owned())
}

/// Bytes of an answer: a number and a unit, from 1 byte to 1 GiB, which is the most that travels as one answer.
///
/// # Errors
/// The text is no such size.
pub fn answer_bytes(text: &str) -> Result<u64, String> {
    const MOST: u64 = 1 << 30;
    let bytes = bytes_of(text).filter(|bytes| (1..=MOST).contains(bytes));
    bytes.ok_or_else(|| "write a number and a unit, for example 500kB, 64MiB; 1GiB at most".to_owned())
}

/// A duration that is long enough to measure something; a number alone is seconds.
///
/// # Errors
/// The text is no duration, or shorter than 100 ms.
pub fn some_duration(text: &str) -> Result<Duration, String> {
    let is_bare = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let duration = if is_bare { duration(&format!("{text}s"))? } else { duration(text)? };
    if duration >= Duration::from_millis(100) { Ok(duration) } else { Err("shorter than 100ms".to_owned()) }
}

/// Most characters of a note.
const MAX_NOTE_CHARS: usize = 1000;

/// A note: one line, since tables and logs show it.
///
/// # Errors
/// The text has several lines, or too many characters.
pub fn note(text: &str) -> Result<String, String> {
    match text.chars().count() {
        _ if text.contains(is_hidden) => Err("a note is one line, without control characters".to_owned()),
        more if more > MAX_NOTE_CHARS => Err(format!("a note has {MAX_NOTE_CHARS} characters at most, not {more}")),
        _ => Ok(text.to_owned()),
    }
}

/// A number from 1 to 256: more threads or connections than that are a slip.
///
/// # Errors
/// The text is no such number.
pub fn few(text: &str) -> Result<NonZeroUsize, String> {
    let number = text.parse().ok().filter(|number: &NonZeroUsize| number.get() <= 256);
    number.ok_or_else(|| "a number from 1 to 256".to_owned())
}

/// The value of `--compression`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodecChoice {
    /// Samples are encoded with this codec.
    Codec(Codec),
    /// No run, but advice on which codec to choose.
    Auto,
}

impl Default for CodecChoice {
    fn default() -> CodecChoice {
        CodecChoice::Codec(Codec::None)
    }
}

impl FromStr for CodecChoice {
    type Err = CodecError;

    fn from_str(text: &str) -> Result<CodecChoice, CodecError> {
        match text {
            "auto" => Ok(CodecChoice::Auto),
            _ => text.parse().map(CodecChoice::Codec),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units_and_bounds() {
        let size_of = |text| answer_bytes(text).ok();
        let sizes = ["1B", "500kB", "64MiB", "1 GiB", "2GB", "0B", "2GiB", "64", "64mb", "-1B", "99999999999999GiB"];
        let none = None;
        let expected =
            [Some(1), Some(500_000), Some(64 << 20), Some(1 << 30), none, none, none, none, none, none, none];
        assert_eq!(sizes.map(size_of), expected);
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
