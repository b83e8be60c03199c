//! The progress line on standard error: elapsed, rate, latency and lag so far, outstanding, estimated end. Where it is
//! no terminal, a line of the log now and then.

use std::io::IsTerminal as _;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::{Arc, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::world::counts::{Counts, resident_bytes};
use hdrhistogram::Histogram;
use indicatif::{DecimalBytes, ProgressBar, ProgressStyle};
use lon_net::slice;
use lon_shell::figures::duration_ns;

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
    /// 99th percentile of the latencies of the phase so far, ns; `None` when there are none. A sample that is late
    /// hides those after it until it has ended.
    p99_ns: Option<u64>,
    /// The largest schedule lag of the phase, ns.
    max_lag_ns: u64,
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
    latencies: Latencies,
}

/// The latencies of a phase that have been read so far.
struct Latencies {
    /// `None` only if the library refused the constant bounds.
    histogram: Option<Histogram<u64>>,
    /// The sample to read next.
    next: usize,
}

/// How many samples are read at one look: reading must not take a core from who measures.
const MOST_READ: usize = 200_000;

/// The longest latency that is told apart: an hour.
const LONGEST_NS: u64 = 3_600_000_000_000;

impl Latencies {
    fn new() -> Latencies {
        Latencies { histogram: Histogram::new_with_bounds(1, LONGEST_NS, 2).ok(), next: 0 }
    }

    /// Reads what has ended since the last look; the 99th percentile of all.
    fn p99_ns(&mut self, counts: &Counts) -> Option<u64> {
        let live = counts.live.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let histogram = self.histogram.as_mut()?;
        if let Some(live) = live {
            self.next = live.latencies(self.next, MOST_READ, |ns| histogram.saturating_record(ns));
        }
        (!histogram.is_empty()).then(|| histogram.value_at_quantile(0.99))
    }
}

impl Watch {
    fn new(counts: Arc<Counts>) -> Watch {
        Watch { counts, phase: 0, start: Instant::now(), before: 0, latencies: Latencies::new() }
    }

    fn look(&mut self) -> Look {
        let counts = &self.counts;
        let ended = counts.ended.load(Relaxed);
        let phase = counts.phase.load(Relaxed);
        if std::mem::replace(&mut self.phase, phase) != phase {
            (self.start, self.before, self.latencies) = (Instant::now(), ended, Latencies::new());
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
            p99_ns: self.latencies.p99_ns(counts),
            max_lag_ns: counts.max_lag_ns.load(Relaxed),
            left_s: left_s.clamp(0.0, 1e7),
            position,
            length: length.max(position),
            loading: (loading > 0).then(|| (counts.loaded.load(Relaxed), loading)),
        }
    }
}

impl Look {
    /// As fields of a log line; what is not known is left out.
    fn log(&self, what: &str) {
        if let Some((loaded, loading)) = self.loading {
            let ram_bytes = resident_bytes();
            return tracing::info!(run = what, loaded, of_samples = loading, ram_bytes, "loading samples");
        }
        tracing::info!(
            run = what,
            samples = self.ended,
            rate_per_s = (self.rate_per_s * 10.0).round() / 10.0,
            p99_ns = self.p99_ns,
            max_lag_ns = (self.max_lag_ns > 0).then_some(self.max_lag_ns),
            outstanding = self.outstanding,
            left_s = self.left_s.round(),
            "under way"
        );
    }

    /// As a line beside the progress bar.
    fn text(&self) -> String {
        if let Some((loaded, loading)) = self.loading {
            let ram = DecimalBytes(resident_bytes());
            return format!("loading {loaded} of {loading} samples, {ram} of RAM");
        }
        let Look { ended, outstanding, rate_per_s, p99_ns, max_lag_ns, left_s, .. } = self;
        let digits = if *rate_per_s < 10.0 { 1 } else { 0 };
        let time = |ns: u64| duration_ns(i64::try_from(ns).unwrap_or(i64::MAX));
        let p99 = p99_ns.map(|ns| format!("p99 {}, ", time(ns))).unwrap_or_default();
        let lag = if *max_lag_ns > 0 { format!("lag up to {}, ", time(*max_lag_ns)) } else { String::new() };
        format!(
            "{ended} samples, {rate_per_s:.digits$}/s, {p99}{lag}{outstanding} outstanding, about {left_s:.0} s left"
        )
    }
}

fn draw(mut watch: Watch, what: String, stop: &AtomicBool) {
    give_way();
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

/// Whoever looks on gives way to those who work. Where the system does not grant that, it looks on as it is.
fn give_way() {
    let _ = slice::yield_to_others();
}

/// Writes the progress to the log from time to time.
fn tell(mut watch: Watch, what: &str, stop: &AtomicBool) {
    give_way();
    let mut next = Instant::now() + TELL;
    while !stop.load(SeqCst) {
        std::thread::park_timeout(LOOK);
        // Read more often than written, so that the clock of a phase starts with the phase.
        let look = watch.look();
        if Instant::now() >= next && !stop.load(SeqCst) {
            look.log(what);
            next += TELL;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_has_rate_latency_and_lag_as_far_as_they_are_known() {
        let mut look = Look {
            ended: 500,
            outstanding: 3,
            rate_per_s: 250.0,
            p99_ns: Some(2_000_000),
            max_lag_ns: 1_000_000,
            left_s: 8.0,
            position: 500,
            length: 2_500,
            loading: None,
        };
        let (p99, lag) = (duration_ns(2_000_000), duration_ns(1_000_000));
        let whole = format!("500 samples, 250/s, p99 {p99}, lag up to {lag}, 3 outstanding, about 8 s left");
        assert_eq!(look.text(), whole);
        (look.p99_ns, look.max_lag_ns) = (None, 0);
        assert_eq!(look.text(), "500 samples, 250/s, 3 outstanding, about 8 s left");
    }
}
