//! Content of the picture, and texts that fit.

use ratatui::text::Span;

use super::history::History;
use super::keys::Controls;
use super::paint::Paint;
use crate::live::about::About;
use crate::live::snapshot::Snapshot;

/// Everything that is drawn.
pub(super) struct Picture<'a> {
    pub(super) about: &'a About,
    pub(super) snapshot: &'a Snapshot,
    pub(super) history: &'a History,
    pub(super) controls: &'a Controls,
    /// The end of the log.
    pub(super) log: &'a [String],
    pub(super) paint: Paint,
}

/// As much of a text as fits into so many columns; what is cut off ends in `…`.
pub(super) fn fitted(text: &str, columns: usize) -> String {
    if Span::raw(text).width() <= columns {
        return text.to_owned();
    }
    let mut short = String::new();
    for sign in text.chars() {
        if Span::raw(format!("{short}{sign}…")).width() > columns {
            break;
        }
        short.push(sign);
    }
    short + "…"
}
