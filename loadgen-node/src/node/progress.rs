//! The progress line on standard error: elapsed, rate, outstanding, estimated end. Nothing when it is no terminal.

use std::io::IsTerminal as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed, Ordering::SeqCst};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use indicatif::{DecimalBytes, ProgressBar, ProgressStyle};

/// Counted by the world, read by the display.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    /// Samples handed to the QDL.
    pub(crate) issued: AtomicU64,
    /// Samples that ended, answered or failed.
    pub(crate) ended: AtomicU64,
    /// Samples that will have been issued at the end of the phase; 0 when time decides, not their number.
    pub(crate) planned: AtomicU64,
    /// How long the phase will take at least, if that is known; else 0.
    pub(crate) planned_ns: AtomicU64,
    /// Samples of the set that is being loaded; 0 when none is,
    pub(crate) loading: AtomicU64,
    /// of which so many are ready.
    pub(crate) loaded: AtomicU64,
    /// Which phase it is, counted from 1; the display starts its clock anew with each.
    pub(crate) phase: AtomicU64,
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

/// A line that says how many of how many are done, if anybody can see it.
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

/// What Linux says that this process has in memory; 0 elsewhere.
pub(crate) fn resident_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok());
    kib.unwrap_or_default().saturating_mul(1024)
}

fn draw(counts: &Counts, what: String, stop: &AtomicBool) {
    let bar = ProgressBar::new(0);
    let template = "{prefix} [{elapsed_precise}] {wide_bar} {msg}";
    bar.set_style(ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.set_prefix(what);
    let (mut phase, mut start, mut before) = (0, Instant::now(), 0);
    while !stop.load(SeqCst) {
        let ended = counts.ended.load(Relaxed);
        if std::mem::replace(&mut phase, counts.phase.load(Relaxed)) != phase {
            (start, before) = (Instant::now(), ended);
        }
        let elapsed_s = start.elapsed().as_secs_f64();
        let rate = (ended - before) as f64 / elapsed_s.max(1e-3);
        let issued = counts.issued.load(Relaxed).max(ended);
        let planned = counts.planned.load(Relaxed);
        let planned_s = counts.planned_ns.load(Relaxed) as f64 / 1e9;
        let by_count = planned.saturating_sub(ended) as f64 / rate.max(1e-3);
        let left_s = if planned_s > 0.0 { planned_s - elapsed_s } else { by_count };
        let (length, position) = match (planned, planned_s > 0.0) {
            (0, true) => ((planned_s * 1e3) as u64, (elapsed_s * 1e3) as u64),
            (planned, _) => (planned, ended),
        };
        bar.set_length(length.max(position));
        bar.set_position(position);
        let outstanding = issued - ended;
        let left_s = left_s.clamp(0.0, 1e7);
        let loading = counts.loading.load(Relaxed);
        if loading > 0 {
            let ram = DecimalBytes(resident_bytes());
            bar.set_message(format!("loading {} of {loading} samples, {ram} of RAM", counts.loaded.load(Relaxed)));
            std::thread::park_timeout(REDRAW);
            continue;
        }
        bar.set_message(format!("{ended} samples, {rate:.0}/s, {outstanding} outstanding, about {left_s:.0} s left"));
        std::thread::park_timeout(REDRAW);
    }
    bar.finish_and_clear();
}
