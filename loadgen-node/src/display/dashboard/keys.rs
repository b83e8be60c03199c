//! Keys of the dashboard, and their effects.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// View of the runs, as keys have set it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Controls {
    /// Which of [`SPANS_S`] the charts show.
    span: usize,
    /// The first row of the list: of nodes, or of tenants.
    pub(super) first_row: usize,
    /// The place of the tenant that is shown alone; `None`: all are shown beside each other.
    pub(super) tenant: Option<usize>,
    /// Number of tenants; 0 where one run is shown.
    pub(super) tenants: usize,
    /// The keys are explained.
    pub(super) has_help: bool,
    /// It is asked whether the run is to stop.
    pub(super) asks: bool,
}

/// Request of a key, beside a change of the picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Request {
    Nothing,
    /// The run is to stop.
    Stop,
    /// The progress line is to be shown instead.
    Leave,
}

/// Spans of time that charts can show, s; the last one is the whole run.
const SPANS_S: [usize; 4] = [60, 300, 1_800, usize::MAX];

/// Rows that a page has.
const PAGE: usize = 10;

/// The keys, each with what it does.
pub(super) const HELP: [(&str, &str); 8] = [
    ("q", "stop the run, after a question; what was measured is written"),
    ("Ctrl-C", "stop the run at once, as SIGINT does"),
    ("+ -", "charts of a shorter or a longer time"),
    ("up, down", "the next rows of the list; also j and k, page up and page down"),
    ("home", "the first row"),
    ("tab, 1-9", "one tenant of a mix; 0: all of them"),
    ("l", "leave the dashboard: the progress line is shown"),
    ("h ?", "show or hide this"),
];

impl Controls {
    /// The view of so many tenants before the first key.
    #[cfg(test)]
    pub(super) fn of_tenants(tenants: usize) -> Controls {
        Controls { tenants, ..Controls::default() }
    }

    /// Returns the span of time that the charts show, s. `usize::MAX` means all.
    pub(super) fn span_s(&self) -> usize {
        SPANS_S.get(self.span).copied().unwrap_or(usize::MAX)
    }

    /// The same in words.
    pub(super) fn span_words(&self) -> String {
        match self.span_s() {
            usize::MAX => "whole run".to_owned(),
            seconds if seconds < 120 => format!("last {seconds} s"),
            seconds => format!("last {} min", seconds / 60),
        }
    }

    /// Takes a key.
    pub(super) fn press(&mut self, key: KeyEvent) -> Request {
        let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
        let has_question = std::mem::take(&mut self.asks);
        match key.code {
            KeyCode::Char('c') if is_control => return Request::Stop,
            KeyCode::Char('y' | 'Y') if has_question => return Request::Stop,
            // Any other key says no.
            _ if has_question => {}
            KeyCode::Char('q') => self.asks = true,
            KeyCode::Char('l') => return Request::Leave,
            KeyCode::Char('h' | '?') => self.has_help = !self.has_help,
            KeyCode::Esc => self.has_help = false,
            KeyCode::Char('+' | '=') => self.span = self.span.saturating_sub(1),
            KeyCode::Char('-' | '_') => self.span = (self.span + 1).min(SPANS_S.len() - 1),
            KeyCode::Down | KeyCode::Char('j') => self.first_row += 1,
            KeyCode::Up | KeyCode::Char('k') => self.first_row = self.first_row.saturating_sub(1),
            KeyCode::PageDown => self.first_row += PAGE,
            KeyCode::PageUp => self.first_row = self.first_row.saturating_sub(PAGE),
            KeyCode::Home => self.first_row = 0,
            KeyCode::Tab => self.turn_to(self.tenant.map_or(0, |place| place + 1)),
            KeyCode::BackTab => self.turn_to(self.tenant.unwrap_or(self.tenants).wrapping_sub(1)),
            KeyCode::Char(digit @ '0'..='9') => self.turn_to((digit as usize).wrapping_sub('1' as usize)),
            _ => {}
        }
        Request::Nothing
    }

    /// Shows the tenant at this place alone; all of them where there is none.
    fn turn_to(&mut self, place: usize) {
        self.tenant = Some(place).filter(|place| *place < self.tenants);
        self.first_row = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn press(controls: &mut Controls, code: KeyCode) -> Request {
        controls.press(KeyEvent::new(code, KeyModifiers::NONE))
    }

    #[test]
    fn a_run_is_not_stopped_by_one_key_alone() {
        let mut controls = Controls::default();
        assert_eq!((press(&mut controls, KeyCode::Char('y')), controls.asks), (Request::Nothing, false));
        assert_eq!((press(&mut controls, KeyCode::Char('q')), controls.asks), (Request::Nothing, true));
        assert_eq!((press(&mut controls, KeyCode::Char('n')), controls.asks), (Request::Nothing, false));
        press(&mut controls, KeyCode::Char('q'));
        assert_eq!(press(&mut controls, KeyCode::Char('y')), Request::Stop);
        let interrupt = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
        assert_eq!(controls.press(interrupt), Request::Stop);
        assert_eq!(press(&mut controls, KeyCode::Char('l')), Request::Leave);
    }

    #[test]
    fn zoom_and_rows_stay_within_bounds() {
        let mut controls = Controls::default();
        press(&mut controls, KeyCode::Char('+'));
        assert_eq!((controls.span_s(), controls.span_words().as_str()), (60, "last 60 s"));
        (0..9).for_each(|_| _ = press(&mut controls, KeyCode::Char('-')));
        assert_eq!((controls.span_s(), controls.span_words().as_str()), (usize::MAX, "whole run"));
        press(&mut controls, KeyCode::Char('+'));
        assert_eq!(controls.span_words(), "last 30 min");
        press(&mut controls, KeyCode::Up);
        press(&mut controls, KeyCode::PageDown);
        press(&mut controls, KeyCode::Char('k'));
        assert_eq!(controls.first_row, 9);
    }
    #[test]
    fn keys_turn_from_tenant_to_tenant_and_back_to_all() {
        let mut controls = Controls { tenants: 3, first_row: 2, ..Controls::default() };
        let mut turns = |code: KeyCode, times: usize| {
            let places = (0..times).map(|_| {
                press(&mut controls, code);
                controls.tenant
            });
            places.collect::<Vec<_>>()
        };
        assert_eq!(turns(KeyCode::Tab, 5), [Some(0), Some(1), Some(2), None, Some(0)]);
        assert_eq!(turns(KeyCode::BackTab, 3), [None, Some(2), Some(1)]);
        assert_eq!((turns(KeyCode::Char('3'), 1), turns(KeyCode::Char('4'), 1)), (vec![Some(2)], vec![None]));
        assert_eq!((turns(KeyCode::Char('1'), 1), turns(KeyCode::Char('0'), 1)), (vec![Some(0)], vec![None]));
        assert_eq!(controls.first_row, 0);
        let mut one = Controls::default();
        press(&mut one, KeyCode::Tab);
        assert_eq!(one.tenant, None, "a run alone has no tenants");
    }
}
