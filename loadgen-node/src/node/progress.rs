//! The progress line on standard error: elapsed, rate, outstanding, estimated end. Nothing when it is no terminal.

use std::io::IsTerminal as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed, Ordering::SeqCst};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

/// Counted by the world, read by the display.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    /// Samples handed to the QDL.
    pub(crate) issued: AtomicU64,
    /// Samples that ended, answered or failed.
    pub(crate) ended: AtomicU64,
    /// Samples the current phase will issue at least; 0 when that is not known.
    pub(crate) planned: AtomicU64,
}

/// A thread that redraws the line; ends, and clears the line, when dropped.
pub(crate) struct Progress {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

const REDRAW: Duration = Duration::from_millis(200);

impl Progress {
    /// Starts drawing, if anybody can see it.
    pub(crate) fn start(counts: Arc<Counts>, what: String) -> Progress {
        let stop = Arc::new(AtomicBool::new(false));
        if !std::io::stderr().is_terminal() {
            return Progress { stop, thread: None };
        }
        let stopped = Arc::clone(&stop);
        let draw = move || draw(&counts, what, &stopped);
        // Without the thread there is no display, which is no reason not to run.
        let thread = std::thread::Builder::new().name("progress".to_owned()).spawn(draw).ok();
        Progress { stop, thread }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.stop.store(true, SeqCst);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

fn draw(counts: &Counts, what: String, stop: &AtomicBool) {
    let bar = ProgressBar::new(0);
    let template = "{prefix} [{elapsed_precise}] {wide_bar} {msg}";
    bar.set_style(ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.set_prefix(what);
    let start = Instant::now();
    while !stop.load(SeqCst) {
        let (issued, ended) = (counts.issued.load(Relaxed), counts.ended.load(Relaxed));
        let planned = counts.planned.load(Relaxed).max(issued);
        let rate = ended as f64 / start.elapsed().as_secs_f64().max(1e-3);
        let left = planned.saturating_sub(ended) as f64 / rate.max(1e-3);
        bar.set_length(planned);
        bar.set_position(ended);
        let left = if rate > 0.0 { format!(", about {left:.0} s left") } else { String::new() };
        let outstanding = issued.saturating_sub(ended);
        bar.set_message(format!("{ended} of {planned}, {rate:.0}/s, {outstanding} outstanding{left}"));
        std::thread::park_timeout(REDRAW);
    }
    bar.finish_and_clear();
}
