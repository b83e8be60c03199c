//! The terminal, taken and given back. It is on standard error, as the progress line is: the result is on standard
//! output.

use std::io::{self, BufWriter, IsTerminal as _, Stderr, Write as _};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::{Duration, Instant};

use lon_shell::log::{self, Diverted};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor;
use ratatui::crossterm::event::{self, Event, KeyEvent, KeyEventKind};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{self, EnterAlternateScreen, LeaveAlternateScreen};

use super::draw;
use super::picture::Scene;
use super::size::too_small;

/// Lines of the log that are shown at most.
const LOG_LINES: usize = 100;

/// The terminal is taken.
static IS_UP: AtomicBool = AtomicBool::new(false);

/// The terminal while the dashboard has it. It is given back when this is dropped.
pub(super) struct Screen {
    terminal: Terminal<CrosstermBackend<BufWriter<Stderr>>>,
    /// The log, which would be written over the picture. Dropped last, so that it goes to the terminal as it was.
    log: Diverted,
}

/// Why this terminal can have no dashboard; none when it can.
pub(in crate::display) fn obstacle() -> Option<String> {
    if !io::stderr().is_terminal() {
        return Some("standard error is no terminal".to_owned());
    }
    if !io::stdin().is_terminal() {
        return Some("standard input is no terminal, so that no key can be read".to_owned());
    }
    if std::env::var_os("TERM").is_none_or(|name| name.is_empty() || name == "dumb") {
        return Some("TERM says that the terminal can show lines alone".to_owned());
    }
    match terminal::size() {
        Err(error) => Some(format!("the size of the terminal is not known: {error}")),
        Ok(size) => too_small(size),
    }
}

impl Screen {
    /// Takes the terminal.
    ///
    /// # Errors
    /// The terminal does not allow it; it is as it was.
    pub(super) fn enter() -> io::Result<Screen> {
        restore_before_panics_are_told();
        let log = log::divert();
        terminal::enable_raw_mode()?;
        IS_UP.store(true, SeqCst);
        let taken = execute!(io::stderr(), EnterAlternateScreen, cursor::Hide);
        let backend = CrosstermBackend::new(BufWriter::with_capacity(1 << 16, io::stderr()));
        match taken.and_then(|()| Terminal::new(backend)) {
            Ok(terminal) => Ok(Screen { terminal, log }),
            Err(error) => {
                restore();
                Err(error)
            }
        }
    }

    /// The terminal is still taken: a panic gives it back.
    pub(super) fn is_up(&self) -> bool {
        IS_UP.load(SeqCst)
    }

    /// The end of the log.
    pub(super) fn log(&self) -> Vec<String> {
        let lines = self.log.tail(LOG_LINES);
        lines.iter().map(|line| anstream::adapter::strip_str(line).to_string()).collect()
    }

    /// Draws the scene.
    ///
    /// # Errors
    /// The terminal is gone.
    pub(super) fn draw(&mut self, scene: &Scene<'_>) -> io::Result<()> {
        if self.is_up() {
            self.terminal.draw(|frame| draw::draw(frame, scene))?;
        }
        Ok(())
    }

    /// The next key that is pressed before `until`.
    ///
    /// # Errors
    /// The terminal is gone.
    pub(super) fn key(&self, until: Instant) -> io::Result<Option<KeyEvent>> {
        loop {
            let timeout = until.saturating_duration_since(Instant::now());
            if !event::poll(timeout)? {
                return Ok(None);
            }
            match event::read()? {
                Event::Key(key) if key.kind != KeyEventKind::Release => return Ok(Some(key)),
                _ if timeout == Duration::ZERO => return Ok(None),
                _ => {}
            }
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore();
    }
}

/// Gives the terminal back, if it is taken.
fn restore() {
    if IS_UP.swap(false, SeqCst) {
        let _ = execute!(io::stderr(), LeaveAlternateScreen, cursor::Show);
        let _ = terminal::disable_raw_mode();
        let _ = io::stderr().flush();
    }
}

/// Restores the terminal before the message of a panic, on any thread. The message then appears on the terminal as it
/// was.
fn restore_before_panics_are_told() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            restore();
            before(info);
        }));
    });
}
