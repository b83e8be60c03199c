//! Names that a person types: capitals do not matter, nor do dashes, underscores and blanks; a slip gets a suggestion.

use thiserror::Error;

use super::keys;

/// A name that is none of those that are known.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("'{name}' is not a {what}{hint}; there are: {}", names.join(", "))]
pub struct UnknownName {
    /// Name that the user typed.
    pub name: String,
    /// Kind of thing that the name should name.
    pub what: &'static str,
    /// A suggestion, or nothing.
    pub hint: String,
    /// The names that are known.
    pub names: Vec<String>,
}

/// Which of the known names was typed: its place among them.
///
/// # Errors
/// It is none of them. The error has them all, and the nearest.
pub fn named(what: &'static str, name: &str, names: &[&str]) -> Result<usize, UnknownName> {
    let key = bare(name);
    let position = names.iter().position(|other| bare(other) == key);
    position.ok_or_else(|| {
        let bares: Vec<String> = names.iter().map(|other| bare(other)).collect();
        let closest = keys::closest(&key, bares.iter().map(String::as_str));
        let closest = closest.and_then(|closest| names.iter().find(|other| bare(other) == closest));
        let hint = closest.map(|other| format!(" (did you mean {other}?)")).unwrap_or_default();
        let names = names.iter().map(ToString::to_string).collect();
        UnknownName { name: name.to_owned(), what, hint, names }
    })
}

fn bare(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, '-' | '_' | ' ')).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 3] = ["SingleStream", "Server", "Offline"];

    #[test]
    fn capitals_and_dashes_do_not_matter() {
        for (typed, place) in
            [("Server", 1), ("server", 1), ("single-stream", 0), ("SINGLE_STREAM", 0), (" offline", 2)]
        {
            assert_eq!(named("scenario", typed, &NAMES), Ok(place), "{typed}");
        }
    }

    #[test]
    fn slips_get_a_suggestion_and_all_names() {
        let text = named("scenario", "Sever", &NAMES).unwrap_err().to_string();
        assert_eq!(text, "'Sever' is not a scenario (did you mean Server?); there are: SingleStream, Server, Offline");
        assert!(named("scenario", "off", &NAMES).unwrap_err().hint.contains("Offline"), "a beginning");
        assert_eq!(named("scenario", "x", &NAMES).unwrap_err().hint, "");
    }
}
