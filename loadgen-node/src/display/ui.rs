//! Which display a run is shown on.

use std::io::IsTerminal as _;

use super::dashboard;

/// A display of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Ui {
    /// The progress line; lines of the log where there is no terminal.
    #[default]
    Line,
    /// The terminal as a whole.
    Dashboard,
    /// Nothing is shown.
    None,
}

impl Ui {
    /// The display that this terminal can have. Says so in the log where that is not the one that was wanted.
    pub(crate) fn available(self) -> Ui {
        match self {
            Ui::Dashboard => match dashboard::obstacle() {
                None => Ui::Dashboard,
                Some(obstacle) => {
                    tracing::warn!(obstacle, "no dashboard; the progress line is shown");
                    Ui::Line
                }
            },
            other => other,
        }
    }
}

/// Returns true when there is a terminal to draw a line on.
pub(super) fn has_line() -> bool {
    std::io::stderr().is_terminal()
}
