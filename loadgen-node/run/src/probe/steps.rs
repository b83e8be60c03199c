//! Shows how far a probe is: a line that is redrawn on a terminal; elsewhere a line of the log now and then.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

/// Time between two lines of the log.
const BETWEEN_LINES: Duration = Duration::from_secs(10);

/// Progress of a probe.
pub(super) struct Steps {
    bar: ProgressBar,
    last_line: Instant,
}

impl Steps {
    /// Nothing is done yet of so many steps, which take about this long, and at most about that.
    pub(super) fn new(steps: usize, [about, most]: [Duration; 2]) -> Steps {
        let bar = ProgressBar::new(steps as u64);
        let style = ProgressStyle::with_template("probe [{elapsed_precise}] {pos}/{len} {msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        let [about_ms, most_ms] = [about, most].map(|time| time.as_millis() as u64);
        tracing::info!(measurements = steps, about_ms, most_ms = (most_ms > about_ms).then_some(most_ms), "probing");
        Steps { bar, last_line: Instant::now() }
    }

    /// The next step begins.
    pub(super) fn next(&mut self, what: &str) {
        self.bar.inc(1);
        self.bar.set_message(what.to_owned());
        if self.bar.is_hidden() && self.last_line.elapsed() >= BETWEEN_LINES {
            self.last_line = Instant::now();
            tracing::info!(step = self.bar.position(), of = self.bar.length(), what, "probe");
        }
    }

    /// There is one step more than was known.
    pub(super) fn one_more(&self) {
        self.bar.inc_length(1);
    }
}

impl Drop for Steps {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
