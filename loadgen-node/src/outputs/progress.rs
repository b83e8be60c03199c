//! The progress line on standard error: elapsed, rate, outstanding, estimated end. Where it is no terminal, a line of
//! the log now and then.

use std::io::IsTerminal as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed, Ordering::SeqCst};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::world::counts::{Counts, resident_bytes};
use indicatif::{DecimalBytes, ProgressBar, ProgressStyle};

/// A thread that redraws the line; ends, and clears the line, when dropped.
pub(crate) struct Progress {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

const REDRAW: Duration = Duration::from_millis(200);
/// How often the counts are read where there is no line to draw.
const LOOK: Duration = Duration::from_millis(500);
/// How often the progress goes to the log where there is no line to draw.
const TELL: Duration = Duration::from_secs(10);

impl Progress {
    /// Starts the thread that draws, or writes to the log.
    pub(crate) fn start(counts: Arc<Counts>, what: String) -> Progress {
        let stop = Arc::new(AtomicBool::new(false));
        let (stopped, watch) = (Arc::clone(&stop), Watch::new(counts));
        let is_seen = std::io::stderr().is_terminal();
        let show = move || if is_seen { draw(watch, what, &stopped) } else { tell(watch, &what, &stopped) };
        // Without the thread there is no display; the run does not need one.
        let thread = std::thread::Builder::new().name("progress".to_owned()).spawn(show).ok();
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

/// The progress at one moment.
struct Look {
    ended: u64,
    outstanding: u64,
    rate_per_s: f64,
    left_s: f64,
    /// How far the bar is, in the unit of `length`.
    position: u64,
    length: u64,
    /// How many samples are loaded, of how many. `None` when nothing is being loaded.
    loading: Option<(u64, u64)>,
}

/// Looks at the counts of a run, phase by phase.
struct Watch {
    counts: Arc<Counts>,
    phase: u64,
    start: Instant,
    /// Samples that had ended when the phase began.
    before: u64,
}

impl Watch {
    fn new(counts: Arc<Counts>) -> Watch {
        Watch { counts, phase: 0, start: Instant::now(), before: 0 }
    }

    fn look(&mut self) -> Look {
        let counts = &self.counts;
        let ended = counts.ended.load(Relaxed);
        let phase = counts.phase.load(Relaxed);
        if std::mem::replace(&mut self.phase, phase) != phase {
            (self.start, self.before) = (Instant::now(), ended);
        }
        let elapsed_s = self.start.elapsed().as_secs_f64();
        let rate_per_s = (ended - self.before) as f64 / elapsed_s.max(1e-3);
        let planned = counts.planned.load(Relaxed);
        let planned_s = counts.planned_ns.load(Relaxed) as f64 / 1e9;
        let by_count_s = planned.saturating_sub(ended) as f64 / rate_per_s.max(1e-3);
        let left_s = if planned_s > 0.0 { planned_s - elapsed_s } else { by_count_s };
        let (length, position) = match (planned, planned_s > 0.0) {
            (0, true) => ((planned_s * 1e3) as u64, (elapsed_s * 1e3) as u64),
            (planned, _) => (planned, ended),
        };
        let loading = counts.loading.load(Relaxed);
        Look {
            ended,
            outstanding: counts.issued.load(Relaxed).max(ended) - ended,
            rate_per_s,
            left_s: left_s.clamp(0.0, 1e7),
            position,
            length: length.max(position),
            loading: (loading > 0).then(|| (counts.loaded.load(Relaxed), loading)),
        }
    }
}

impl Look {
    fn text(&self) -> String {
        if let Some((loaded, loading)) = self.loading {
            let ram = DecimalBytes(resident_bytes());
            return format!("loading {loaded} of {loading} samples, {ram} of RAM");
        }
        let Look { ended, outstanding, rate_per_s, left_s, .. } = self;
        let digits = if *rate_per_s < 10.0 { 1 } else { 0 };
        format!("{ended} samples, {rate_per_s:.digits$}/s, {outstanding} outstanding, about {left_s:.0} s left")
    }
}

fn draw(mut watch: Watch, what: String, stop: &AtomicBool) {
    let bar = ProgressBar::new(0);
    let template = "{prefix} [{elapsed_precise}] {wide_bar} {msg}";
    bar.set_style(ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.set_prefix(what);
    while !stop.load(SeqCst) {
        let look = watch.look();
        bar.set_length(look.length);
        bar.set_position(look.position);
        bar.set_message(look.text());
        std::thread::park_timeout(REDRAW);
    }
    bar.finish_and_clear();
}

/// Writes the progress to the log from time to time.
fn tell(mut watch: Watch, what: &str, stop: &AtomicBool) {
    let mut next = Instant::now() + TELL;
    while !stop.load(SeqCst) {
        std::thread::park_timeout(LOOK);
        // Read more often than written, so that the clock of a phase starts with the phase.
        let look = watch.look();
        if Instant::now() >= next && !stop.load(SeqCst) {
            tracing::info!("{what}: {}", look.text());
            next += TELL;
        }
    }
}
