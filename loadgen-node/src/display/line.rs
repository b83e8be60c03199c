//! The progress line on standard error: elapsed, rate, what is judged so far, outstanding, estimated end. Where it is
//! no terminal, a line of the log now and then.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use indicatif::{DecimalBytes, MultiProgress, ProgressBar, ProgressStyle};

use super::units::time;
use super::viewer::{RunView, Viewer};
use loadgen::judge::early_stopping::percent;
use lon_run::live::latest_snapshot::Newest;
use lon_run::live::live_checks::State;
use lon_run::live::phase::Phase;
use lon_run::live::snapshot::Snapshot;
use lon_world::counts::resident_bytes;

const REDRAW: Duration = Duration::from_millis(200);
/// Interval between two reads of the counts where there is no line to draw.
const LOOK: Duration = Duration::from_millis(500);
/// Interval between two reports of the progress to the log where there is no line to draw.
const TELL: Duration = Duration::from_secs(10);

/// Draws a line for each run until they are over.
pub(super) fn draw(viewer: &mut Viewer<'_>) {
    let lines = MultiProgress::new();
    let mut bars: BTreeMap<Option<String>, ProgressBar> = BTreeMap::new();
    while !viewer.is_over() {
        let runs: Vec<RunView> = viewer.look().into_iter().filter(RunView::goes_on).collect();
        bars.retain(|tenant, bar| {
            let stays = runs.iter().any(|run| run.tenant == *tenant);
            if !stays {
                bar.finish_and_clear();
            }
            stays
        });
        for run in runs {
            let title = run.title();
            let Newest { about, snapshot, .. } = run.newest;
            let bar = bars.entry(run.tenant).or_insert_with(|| new_bar(&lines));
            let (position, length) = extent(snapshot.phase.as_ref());
            bar.set_prefix(title);
            bar.set_length(length);
            bar.set_position(position);
            bar.set_message(text(&snapshot, about.terms.target_percentile));
        }
        std::thread::park_timeout(REDRAW);
    }
    bars.values().for_each(ProgressBar::finish_and_clear);
}

fn new_bar(lines: &MultiProgress) -> ProgressBar {
    let bar = lines.add(ProgressBar::new(0));
    let template = "{prefix} [{elapsed_precise}] {wide_bar} {msg}";
    bar.set_style(ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar
}

/// Writes the progress to the log from time to time.
pub(super) fn tell(viewer: &mut Viewer<'_>) {
    let mut next = Instant::now() + TELL;
    while !viewer.is_over() {
        std::thread::park_timeout(LOOK);
        // Read more often than written: other displays want what is read, too.
        let runs = viewer.look();
        if Instant::now() >= next && !viewer.is_over() {
            runs.iter().filter(|run| run.goes_on()).for_each(log);
            next += TELL;
        }
    }
}

/// Looks on, and shows nothing here.
pub(super) fn watch(viewer: &mut Viewer<'_>) {
    while !viewer.is_over() {
        std::thread::park_timeout(LOOK);
        viewer.look();
    }
}

/// Returns the position and the length of the bar.
fn extent(phase: Option<&Phase>) -> (u64, u64) {
    const LENGTH: f64 = 1e6;
    let share = phase.and_then(Phase::share_done);
    share.map_or((0, 0), |share| ((share * LENGTH) as u64, LENGTH as u64))
}

/// As fields of a log line; what is not known is left out.
fn log(view: &RunView) {
    let tenant = view.tenant.as_deref();
    let Newest { about, snapshot, .. } = &view.newest;
    let run = about.title();
    if let Some((loaded, of_samples)) = snapshot.loading {
        let ram_bytes = resident_bytes();
        return tracing::info!(tenant, run, loaded, of_samples, ram_bytes, "loading samples");
    }
    let phase = snapshot.phase.as_ref();
    // Without a schedule nothing is late.
    let lag = Some(snapshot.lag).filter(|lag| about.has_schedule && lag.count > 0);
    let rounded = |value: f64| (value * 10.0).round() / 10.0;
    tracing::info!(
        tenant,
        run,
        samples = snapshot.ended,
        rate_per_s = phase.map(|phase| rounded(phase.rate_per_s())),
        p99_ns = snapshot.latency.so_far.map(|percentiles| percentiles.p99_ns),
        lag_p99_ns = lag.map(|lag| lag.p99_ns),
        max_lag_ns = lag.map(|lag| lag.max_ns),
        outstanding = snapshot.outstanding(),
        left_s = phase.map(|phase| phase.remaining_time().as_secs()),
        judged = phase.map(|_| snapshot.standing.text()),
        "under way"
    );
}

/// As a line beside the progress bar. `percentile`: the one that is judged, as a fraction.
fn text(snapshot: &Snapshot, percentile: f64) -> String {
    if let Some((loaded, loading)) = snapshot.loading {
        let ram = DecimalBytes(resident_bytes());
        return format!("loading {loaded} of {loading} samples, {ram} of RAM");
    }
    let Some(phase) = &snapshot.phase else { return String::new() };
    let rate = phase.rate_per_s();
    let digits = if rate < 10.0 { 1 } else { 0 };
    let mut parts = vec![format!("{} samples, {rate:.digits$}/s", snapshot.ended)];
    let timed: Vec<String> = snapshot.standing.timed().map(|check| check.text()).collect();
    // Where there is no limit, the percentile that the result will have.
    let judged = snapshot.latency.so_far.filter(|_| timed.is_empty());
    parts.extend(judged.map(|percentiles| format!("p{} {}", percent(percentile), time(percentiles.judged_ns))));
    parts.extend(timed);
    parts.push(format!(
        "{} outstanding, about {:.0} s left",
        snapshot.outstanding(),
        phase.remaining_time().as_secs_f64()
    ));
    // Last, where a narrow terminal cuts it off last: it is what decides.
    let against = snapshot.standing.against().filter(|check| !check.is_timed || check.state == State::Broken);
    let text = parts.join(", ");
    match against {
        Some(_) => format!("{}; {text}", snapshot.standing.text()),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use lon_run::live::latencies::{Percentiles, Spread};
    use lon_run::live::live_checks::{Check, Standing};

    use super::*;

    fn check(name: &str, value: &str, requirement: &str, state: State, is_timed: bool) -> Check {
        let text = |text: &str| text.to_owned();
        Check { name: text(name), value: text(value), requirement: text(requirement), state, is_timed }
    }

    fn snapshot(checks: Vec<Check>) -> Snapshot {
        let so_far = Some(Percentiles { count: 500, judged_ns: 2_000_000, ..Percentiles::default() });
        let phase = Phase {
            number: 1,
            is_accuracy: false,
            trial: None,
            elapsed: Duration::from_secs(2),
            planned: Some(Duration::from_secs(10)),
            planned_samples: Some(2_500),
            ended: 500,
            is_over: false,
        };
        Snapshot {
            phase: Some(phase),
            issued: 503,
            ended: 500,
            latency: Spread { recent: None, so_far },
            standing: Standing { checks },
            ..Snapshot::default()
        }
    }

    #[test]
    fn the_line_says_what_is_judged_so_far() {
        let timed = [("p99 latency", "2.0ms", "100.0ms at most"), ("p99 lag", "20.0µs", "1.0ms at most")];
        let checks: Vec<Check> = timed
            .iter()
            .map(|(name, value, requirement)| check(name, value, requirement, State::Holds, true))
            .collect();
        let line = "500 samples, 250/s, p99 latency 2.0ms (100.0ms at most), p99 lag 20.0µs (1.0ms at most), \
                    3 outstanding, about 8 s left";
        assert_eq!(text(&snapshot(checks.clone()), 0.99), line);
        let lost = check("answers", "3 failed: timeout", "one for each sample", State::Broken, false);
        let line = format!("INVALID: answers 3 failed: timeout (one for each sample); {line}");
        assert_eq!(text(&snapshot([checks, vec![lost]].concat()), 0.99), line);
    }

    #[test]
    fn where_there_is_no_limit_the_line_has_the_percentile_of_the_result() {
        let line = "500 samples, 250/s, p90 2.0ms, 3 outstanding, about 8 s left";
        assert_eq!(text(&snapshot(Vec::new()), 0.9), line);
        assert_eq!(
            text(&Snapshot { loading: Some((3, 7)), ..Snapshot::default() }, 0.9)[..22],
            *"loading 3 of 7 samples"
        );
        assert_eq!(text(&Snapshot::default(), 0.9), "");
    }

    #[test]
    fn the_bar_is_as_far_as_the_phase() {
        assert_eq!(extent(snapshot(Vec::new()).phase.as_ref()), (200_000, 1_000_000));
        assert_eq!(extent(None), (0, 0));
    }
}
