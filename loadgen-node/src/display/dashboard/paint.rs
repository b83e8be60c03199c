//! Colours and signs. What a colour says is said by a sign, too.

use ratatui::style::{Color, Modifier, Style};

use lon_run::live::live_checks::State;

/// Styles of the dashboard, with colours or without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Paint {
    pub(super) has_colours: bool,
}

impl Paint {
    /// Colours, unless the user wants none (<https://no-color.org>).
    pub(super) fn from_env() -> Paint {
        Paint { has_colours: std::env::var_os("NO_COLOR").is_none_or(|text| text.is_empty()) }
    }

    /// The style of a rule that stands so.
    pub(super) fn state(self, state: State) -> Style {
        match state {
            State::Holds => self.coloured(Color::Green),
            State::Open => Style::new(),
            State::Fails => self.coloured(Color::Yellow).add_modifier(Modifier::BOLD),
            State::Broken => self.coloured(Color::Red).add_modifier(Modifier::BOLD),
        }
    }

    /// The style of bars and curves.
    pub(super) fn bar(self) -> Style {
        self.coloured(Color::Cyan)
    }

    /// The style of headings.
    pub(super) fn head(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    /// The style of what matters less.
    pub(super) fn quiet(self) -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    fn coloured(self, colour: Color) -> Style {
        if self.has_colours { Style::new().fg(colour) } else { Style::new() }
    }
}

/// The sign of a rule that stands so.
pub(super) fn sign(state: State) -> &'static str {
    match state {
        State::Holds => "✓",
        State::Open => "·",
        State::Fails => "!",
        State::Broken => "✗",
    }
}
