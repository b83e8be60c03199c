//! Flags whose value is one of a few names.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use lon_net::slice::Priority;

/// A value that a flag may have: its name, its help, and its meaning. Where a help is empty, `--help` lists the names
/// on one line.
pub type Choice<T> = (&'static str, &'static str, T);

/// The values of `--priority`.
pub const PRIORITIES: [Choice<Priority>; 3] = [
    ("auto", "Real-time where it is granted", Priority::Auto),
    ("normal", "The usual one", Priority::Normal),
    ("realtime", "Real-time, or an error", Priority::Realtime),
];

/// The parser of a flag that has one of these values.
pub fn one_of<T, const N: usize>(choices: [Choice<T>; N]) -> impl TypedValueParser<Value = T>
where
    T: Copy + Send + Sync + 'static,
{
    let names = choices.map(|(name, help, _)| match help {
        "" => PossibleValue::new(name),
        help => PossibleValue::new(name).help(help),
    });
    PossibleValuesParser::new(names).try_map(move |typed| {
        let chosen = choices.iter().find(|(name, ..)| name.eq_ignore_ascii_case(&typed));
        chosen.map(|(.., value)| *value).ok_or("not one of its values")
    })
}
