//! Content of a picture, and texts that fit.

use ratatui::text::Span;

use super::super::viewer::RunView;
use super::history::{Histories, History};
use super::keys::Controls;
use super::paint::Paint;
use lon_run::live::run_facts::About;
use lon_run::live::snapshot::Snapshot;

/// Everything that may be drawn.
#[derive(Clone, Copy)]
pub(super) struct Scene<'a> {
    /// The runs that have begun: one, or tenants.
    pub(super) runs: &'a [RunView],
    pub(super) histories: &'a Histories,
    pub(super) controls: &'a Controls,
    /// The end of the log.
    pub(super) log: &'a [String],
    pub(super) paint: Paint,
}

/// One run of a scene.
pub(super) struct Picture<'a> {
    /// Benchmark and scenario, after the name of the tenant where there is one.
    pub(super) title: String,
    /// True when the result is VALID; `None` until that is known.
    pub(super) is_valid: Option<bool>,
    pub(super) about: &'a About,
    pub(super) snapshot: &'a Snapshot,
    /// Empty before the first look.
    pub(super) history: Option<&'a History>,
    pub(super) controls: &'a Controls,
    pub(super) paint: Paint,
}

impl<'a> Scene<'a> {
    /// The run that fills the picture: the one that is alone, or the tenant that the controls point at.
    pub(super) fn chosen(&self) -> Option<Picture<'a>> {
        let run = match self.controls.tenants {
            0 => self.runs.first(),
            _ => self.controls.tenant.and_then(|place| self.runs.get(place)),
        };
        run.map(|run| Picture {
            title: run.title(),
            is_valid: run.newest.is_valid,
            about: &run.newest.about,
            snapshot: &run.newest.snapshot,
            history: self.histories.of(run),
            controls: self.controls,
            paint: self.paint,
        })
    }
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
