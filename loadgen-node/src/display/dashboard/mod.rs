//! The terminal as a whole shows a run: rates, latencies, what is judged so far, nodes, the end of the log. Tenants of
//! a mix stand beside each other, and each can be looked at alone.
//!
//! It goes away at the first request to stop, whether that is a key or a signal: while a run drains, a second signal
//! ends the program at once, and must find the terminal as it was before.
//!
//! - here: the loop of looks, keys and drawing;
//! - `screen`: the terminal, taken and given back; `size`: how large it must be; `keys`: what keys do;
//! - `picture`: what is drawn; `history`: what was seen before;
//! - `draw`: which part stands where; the parts are `tenants`, `numbers`, `charts` and `nodes`, in the colours of
//!   `paint`.

mod charts;
mod draw;
mod history;
mod keys;
mod nodes;
mod numbers;
mod paint;
mod picture;
mod screen;
mod size;
mod tenants;

use std::time::{Duration, Instant};

use self::history::Histories;
use self::keys::{Controls, Request};
use self::picture::Scene;
use self::screen::Screen;
use super::viewer::Viewer;

pub(super) use self::screen::obstacle;

/// Interval between two drawings of the picture.
const REDRAW: Duration = Duration::from_millis(400);

/// Shows the runs until they are over, somebody asks to stop, or the dashboard is left.
pub(super) fn show(viewer: &mut Viewer<'_>) {
    let mut screen = match Screen::enter() {
        Ok(screen) => screen,
        Err(error) => return tracing::warn!(%error, "no dashboard: the terminal does not allow it"),
    };
    let paint = paint::Paint::from_env();
    let (mut controls, mut histories) = (Controls::default(), Histories::default());
    while !viewer.is_over() && !viewer.is_stopping() && screen.is_up() {
        let runs = viewer.look();
        let next = Instant::now() + REDRAW;
        histories.see(&runs);
        controls.tenants = runs.iter().filter(|run| run.tenant.is_some()).count();
        loop {
            let log = screen.log();
            let scene = Scene { runs: &runs, histories: &histories, controls: &controls, log: &log, paint };
            let event = screen.draw(&scene).and_then(|()| screen.key(next));
            match event.map(|key| key.map(|key| controls.press(key))) {
                Ok(Some(Request::Nothing)) => {}
                Ok(Some(Request::Stop)) => stop(),
                Ok(Some(Request::Leave)) | Err(_) => return,
                Ok(None) => break,
            }
        }
    }
}

/// Asks to stop, as SIGINT does.
fn stop() {
    let _ = nix::sys::signal::raise(nix::sys::signal::Signal::SIGINT);
}

#[cfg(test)]
mod tests;
