//! Releases of the official LoadGen, known by what their logs have: each line that not all of them write, and each that
//! has other words in some. The wheels of PyPI were asked, release by release.

use super::detail_log::{DETAIL_FILE, DetailLog};
use super::error::LogError;
use super::table::Lines;

/// Numbers of a release: `6.0.17`.
type Number = [u32; 3];

/// The first release whose logs are read.
const FIRST: Number = [5, 0, 0];

/// Lines, and the release that wrote them first.
const SINCE: [(&str, Number); 3] =
    [("num_errors", [5, 0, 16]), ("effective_accuracy_sample_count", [6, 0, 6]), ("accuracy_sample_count", [6, 0, 6])];

/// Words in the names of lines, those that older releases have for them, and the release that wrote the new ones first.
const WORDS: [(&str, &str, Number); 1] = [("Time per Output Token", "Time to Output Token", [5, 1, 1])];

/// Checks that this engine reads logs of this release.
///
/// # Errors
/// The release is too old.
pub fn is_read(log: &DetailLog) -> Result<(), LogError> {
    Release::of(log).map(drop)
}

/// A release; none: not one of the official LoadGen, with the words of the newest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Release(Option<Number>);

impl Release {
    /// The release that wrote a log.
    ///
    /// # Errors
    /// It is too old.
    pub(super) fn of(log: &DetailLog) -> Result<Release, LogError> {
        let version = log.text("loadgen_version").unwrap_or_default();
        let release = Release(number(version));
        if release.0.is_some_and(|number| number < FIRST) {
            let [major, minor, patch] = FIRST;
            let why =
                format!("loadgen_version is {version}: logs of releases before {major}.{minor}.{patch} are not read");
            return Err(LogError::new(DETAIL_FILE, 0, why));
        }
        Ok(release)
    }

    /// Lines of the newest release as this one writes them.
    pub(super) fn lines(self, newest: Lines) -> Lines {
        let is_before = |first: &Number| self.0.is_some_and(|number| number < *first);
        let is_written = |name: &str| !SINCE.iter().any(|(later, first)| *later == name && is_before(first));
        let in_release = |name: String| {
            let older = WORDS.iter().filter(|(.., first)| is_before(first));
            older.fold(name, |name, (new, old, _)| name.replace(new, old))
        };
        newest.into_iter().filter(|(name, _)| is_written(name)).map(|(name, value)| (in_release(name), value)).collect()
    }
}

/// The numbers at the beginning of what a log says: `6.0.5 @ 9142ef0e74`.
fn number(text: &str) -> Option<Number> {
    let mut parts = text.split([' ', '@']).next()?.split('.').map(|part| part.parse().ok());
    let [major, minor] = [parts.next()??, parts.next()??];
    Some([major, minor, parts.next().unwrap_or(Some(0))?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_is_known_by_all_its_numbers() {
        let versions = ["5.0.18", "4.1 (x)", "6.0.5 @ 9142ef0e74", "6.0.17", "lon 0.1.0, unofficial", "6.0.x", ""];
        let numbers = [Some([5, 0, 18]), Some([4, 1, 0]), Some([6, 0, 5]), Some([6, 0, 17]), None, None, None];
        assert_eq!(versions.map(number), numbers);
    }

    #[test]
    fn lines_are_those_that_the_release_writes() {
        let names = |number: Option<Number>| -> Vec<String> {
            let newest = ["accuracy_sample_count", "Min Time per Output Token (ns)", "max_duration (ms)"];
            let newest = newest.map(|name| (name.to_owned(), String::new())).to_vec();
            Release(number).lines(newest).into_iter().map(|(name, _)| name).collect()
        };
        let (old, new) = ("Min Time to Output Token (ns)", "Min Time per Output Token (ns)");
        for (number, expected) in [
            (Some([5, 0, 25]), vec![old, "max_duration (ms)"]),
            (Some([5, 1, 1]), vec![new, "max_duration (ms)"]),
            (Some([6, 0, 6]), vec!["accuracy_sample_count", new, "max_duration (ms)"]),
            (None, vec!["accuracy_sample_count", new, "max_duration (ms)"]),
        ] {
            assert_eq!(names(number), expected, "{number:?}");
        }
    }
}
