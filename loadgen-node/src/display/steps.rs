//! Progress of work that is done before a run: the number of steps that are done, and of all steps.

use std::io::IsTerminal as _;

use indicatif::{ProgressBar, ProgressStyle};

/// A line that shows how many of how many are done, on a terminal only.
pub(crate) fn steps(what: &'static str) -> impl Fn(usize, usize) {
    let bar = std::io::stderr().is_terminal().then(|| ProgressBar::new(0).with_prefix(what));
    if let Some(bar) = &bar {
        let style = ProgressStyle::with_template("{prefix} [{elapsed_precise}] {wide_bar} {pos} of {len}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    }
    move |done, of| {
        if let Some(bar) = &bar {
            bar.set_length(of as u64);
            bar.set_position(done as u64);
            if done == of {
                bar.finish_and_clear();
            }
        }
    }
}
