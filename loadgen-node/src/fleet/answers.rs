//! Answers of hosts: lines of a word and a value. People see the text of a host, so it is made fit for that.

use lon_proto::text::{printable, printable_within};

/// Seconds since 1970 have so many digits until the year 2286; with nanoseconds behind them there are nine more.
const SECOND_DIGITS: usize = 10;
const NS_PER_S: i128 = 1_000_000_000;
/// The most characters of a line of a log that are shown.
const MAX_LOG_CHARS: usize = 300;
/// The same of the name of a system.
const MAX_SYSTEM_CHARS: usize = 60;

/// Facts of a node, as its host reports them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Facts {
    /// The system, as `uname -s` names it: None where it was not asked, empty where it does not say.
    pub(super) system: Option<String>,
    /// The process, where one runs that was started from here.
    pub(super) pid: Option<u32>,
    /// True when a process listens on the node's port.
    pub(super) is_taken: Option<bool>,
    /// Version of the program, as the program prints it. `None` where it was not asked, `Some(None)` where there is no
    /// program.
    pub(super) version: Option<Option<String>>,
    /// The last lines of the log.
    pub(super) log: Vec<String>,
}

impl Facts {
    pub(super) fn of(text: &str) -> Facts {
        let mut facts = Facts::default();
        for line in text.lines() {
            match line.split_once(' ').unwrap_or((line, "")) {
                ("system", name) => facts.system = Some(printable_within(name, MAX_SYSTEM_CHARS)),
                ("pid", pid) => facts.pid = pid.parse().ok(),
                ("port", state) => facts.is_taken = Some(state == "taken"),
                ("version", "none") => facts.version = Some(None),
                ("version", text) => facts.version = Some(Some(printable_within(text, MAX_LOG_CHARS))),
                ("log", text) if text.trim().is_empty() => {}
                ("log", text) => facts.log.push(printable_within(text, MAX_LOG_CHARS)),
                // A login shell may greet.
                _ => {}
            }
        }
        facts
    }
}

/// Outcome of a start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Started {
    /// A process was started; its log had so many bytes before.
    New { pid: u32, from: u64 },
    /// It runs already.
    Running { pid: u32 },
    /// Another process listens on its port.
    Taken,
    /// The host has another system, of this name; empty where it does not say.
    OtherSystem(String),
}

/// Outcome of a stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Stopped {
    /// It has ended.
    Ended { pid: u32 },
    /// It was told to end, and has not.
    Still { pid: u32 },
    /// No process of it ran.
    NotRunning,
}

/// The answer to a start; None: it is none.
pub(super) fn started(text: &str) -> Option<Started> {
    last(text, |tokens| match tokens {
        ["started", pid, from] => Some(Started::New { pid: pid.parse().ok()?, from: from.parse().ok()? }),
        ["running", pid] => Some(Started::Running { pid: pid.parse().ok()? }),
        ["taken"] => Some(Started::Taken),
        ["system", name @ ..] => Some(Started::OtherSystem(name.join(" "))),
        _ => None,
    })
}

/// The answer to a stop; None: it is none.
pub(super) fn stopped(text: &str) -> Option<Stopped> {
    last(text, |tokens| match tokens {
        ["ended", pid] => Some(Stopped::Ended { pid: pid.parse().ok()? }),
        ["still", pid] => Some(Stopped::Still { pid: pid.parse().ok()? }),
        ["none"] => Some(Stopped::NotRunning),
        _ => None,
    })
}

/// Returns what `read` makes of the last line that says something.
fn last<T>(text: &str, parse: impl Fn(&[&str]) -> Option<T>) -> Option<T> {
    text.lines().rev().find_map(|line| parse(&line.split_whitespace().collect::<Vec<_>>()))
}

/// The time that `date +%s%N` prints, in ns since 1970, and how much finer it could have been. A `date` without
/// nanoseconds prints whole seconds, and perhaps letters behind them: the middle of that second, give or take half.
pub(super) fn time(text: &str) -> Option<(i128, i128)> {
    let digits: String = text.trim().chars().take_while(char::is_ascii_digit).collect();
    let number: i128 = digits.parse().ok()?;
    match digits.len() {
        SECOND_DIGITS => Some((number * NS_PER_S + NS_PER_S / 2, NS_PER_S / 2)),
        length if length == SECOND_DIGITS + 9 => Some((number, 0)),
        _ => None,
    }
}

/// Version and revision in what `--version` prints: `sut-node 0.1.0 (revision abc, features: onnx)`. The revision may
/// not be known. None: it is no such text.
pub(super) fn version(text: &str) -> Option<(String, Option<String>)> {
    let (name_and_version, build) = text.split_once(" (revision ")?;
    let (_, version) = name_and_version.split_once(' ')?;
    let (revision, _) = build.split_once(", ")?;
    let revision = Some(revision).filter(|revision| *revision != "not known");
    Some((version.to_owned(), revision.map(str::to_owned)))
}

/// The last words of a program's standard error, on one line.
pub(super) fn last_words(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    printable(&lines[lines.len().saturating_sub(2)..].join(" / "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_are_read_among_other_lines() {
        let text =
            "Welcome to h\nsystem Linux\npid 12\nport taken\nversion sut-node 1\u{1b}[31m\nlog one\nlog \nlog two\n";
        let facts = Facts::of(text);
        assert_eq!((facts.pid, facts.is_taken), (Some(12), Some(true)));
        assert_eq!(facts.system.as_deref(), Some("Linux"));
        assert_eq!(Facts::of("system \nport free\n").system.as_deref(), Some(""));
        assert_eq!(facts.version, Some(Some("sut-node 1\u{fffd}[31m".to_owned())));
        assert_eq!(facts.log, ["one", "two"]);
        assert_eq!(Facts::of("port free\nversion none\n").version, Some(None));
        assert_eq!(Facts::of("pid x"), Facts::default());
    }

    #[test]
    fn answers_are_read_or_none() {
        assert_eq!(started("hello\nstarted 7 120\n"), Some(Started::New { pid: 7, from: 120 }));
        assert_eq!([started("running 7"), started("taken")], [Some(Started::Running { pid: 7 }), Some(Started::Taken)]);
        assert_eq!([started(""), started("started x 1"), started("started 7")], [None, None, None]);
        assert_eq!(started("hello\nsystem Darwin"), Some(Started::OtherSystem("Darwin".to_owned())));
        assert_eq!(started("system"), Some(Started::OtherSystem(String::new())));
        assert_eq!([stopped("ended 7"), stopped("none")], [Some(Stopped::Ended { pid: 7 }), Some(Stopped::NotRunning)]);
        assert_eq!([stopped("still 7"), stopped("?")], [Some(Stopped::Still { pid: 7 }), None]);
    }

    #[test]
    fn times_have_nanoseconds_or_half_a_second_of_doubt() {
        assert_eq!(time("1764000000123456789\n"), Some((1_764_000_000_123_456_789, 0)));
        for whole in ["1764000000", "1764000000N", "1764000000%N"] {
            assert_eq!(time(whole), Some((1_764_000_000_500_000_000, 500_000_000)), "{whole}");
        }
        assert_eq!([time(""), time("date: no"), time("17")], [None, None, None]);
    }

    #[test]
    fn versions_are_read() {
        let of = |text| version(text);
        assert_eq!(
            of("sut-node 0.1.0 (revision abc, features: x)"),
            Some(("0.1.0".to_owned(), Some("abc".to_owned())))
        );
        assert_eq!(of("sut-node 0.1.0 (revision not known, features: x)"), Some(("0.1.0".to_owned(), None)));
        assert_eq!([of(""), of("bash 5.2"), of("x (revision")], [None, None, None]);
    }

    #[test]
    fn last_words_are_one_line() {
        assert_eq!(last_words("a\nb\n\nc\n"), "b / c");
        assert_eq!(last_words(""), "");
    }
}
