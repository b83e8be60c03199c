//! The shape of a trace: seconds are filled, a window is cut, the rate is scaled, and the trace repeats.

use rand_mt::Mt;

use super::columns::Columns;
use super::format::TraceFormat;
use super::spec::{TraceSpec, Window, WithinSecond};
use super::unit;

const SECOND_NS: u64 = 1_000_000_000;

/// Makes due times of the times of sorted rows. Returns the time after which the trace begins again, where it does.
///
/// # Errors
/// The options do not suit the rows.
pub(super) fn shape(
    columns: &mut Columns,
    format: TraceFormat,
    spec: &TraceSpec,
    seed: u32,
) -> Result<Option<u64>, String> {
    let has_whole_seconds =
        format == TraceFormat::Burstgpt && columns.time_ns.iter().all(|time| time.is_multiple_of(SECOND_NS));
    match (spec.within_second, has_whole_seconds) {
        (Some(_), false) if format == TraceFormat::Burstgpt => {
            return Err("its times have fractions of seconds: leave within-second= out".to_owned());
        }
        (Some(within_second), _) => fill_seconds(&mut columns.time_ns, within_second, seed),
        (None, true) => check_seconds(&columns.time_ns)?,
        (None, false) => {}
    }
    let start_ns = if format.starts_at_zero() { 0 } else { columns.earliest_ns };
    columns.time_ns.iter_mut().for_each(|time| *time -= start_ns);
    let end_ns =
        if spec.repeat { Some(end_ns(&columns.time_ns, format, has_whole_seconds, spec.window)?) } else { None };
    if let Some(window) = spec.window {
        cut(columns, window)?;
    }
    scale(&mut columns.time_ns, spec)?;
    let from_ns = spec.window.map_or(0, |window| window.from_ns);
    let Some(period_ns) = end_ns.map(|end_ns| end_ns.saturating_sub(from_ns)) else { return Ok(None) };
    match spec.scale.apply(period_ns) {
        None => Err(too_long(spec)),
        Some(0) => Err("repeat: the trace takes no time, so it cannot repeat: give window=".to_owned()),
        period_ns => Ok(period_ns),
    }
}

/// Runs of rows with equal times.
fn runs(times: &mut [u64]) -> impl Iterator<Item = &mut [u64]> {
    times.chunk_by_mut(|one, other| one == other)
}

/// Spreads the rows of each second. Rows keep their order.
fn fill_seconds(times: &mut [u64], within_second: WithinSecond, seed: u32) {
    let mut random = Mt::new(seed);
    for run in runs(times) {
        let count = run.len() as u64;
        match within_second {
            WithinSecond::Burst => {}
            WithinSecond::Even => {
                for (at, time) in (0..).zip(run) {
                    *time += at * SECOND_NS / count;
                }
            }
            WithinSecond::Uniform => {
                for time in run.iter_mut() {
                    *time += (u64::from(random.next_u32()) * SECOND_NS) >> 32;
                }
                run.sort_unstable();
            }
        }
    }
}

/// Checks that no second has several rows.
fn check_seconds(times: &[u64]) -> Result<(), String> {
    let mut shared = times.chunk_by(|one, other| one == other).filter(|run| run.len() > 1);
    let Some(run) = shared.next() else { return Ok(()) };
    let others = match shared.count() {
        0 => String::new(),
        others => format!(", and {others} later seconds have several"),
    };
    Err(format!(
        "second {} has {} rows{others}: give within-second=uniform (drawn over the second), burst (all at its start) \
         or even (equal gaps)",
        run[0] / SECOND_NS,
        run.len()
    ))
}

/// The end of the trace, from its start, where it repeats.
fn end_ns(times: &[u64], format: TraceFormat, has_whole_seconds: bool, window: Option<Window>) -> Result<u64, String> {
    let (first, last) = (times.first().copied().unwrap_or(0), times.last().copied().unwrap_or(0));
    let gaps = times.len().saturating_sub(1) as u64;
    match window.and_then(|window| window.to_ns) {
        Some(to_ns) => Ok(to_ns),
        // The first gap leads to the first row again.
        None if format == TraceFormat::Gaps => Ok(last),
        None if has_whole_seconds => Ok((last / SECOND_NS + 1) * SECOND_NS),
        None if last == first => {
            Err("repeat: all rows have one time, so there is no mean gap: give window=FROM..TO".to_owned())
        }
        None => last.checked_add((last - first) / gaps).ok_or_else(|| "repeat: it ends after 584 years".to_owned()),
    }
}

/// Keeps the rows in a window, whose start becomes 0.
fn cut(columns: &mut Columns, window: Window) -> Result<(), String> {
    let times = &columns.time_ns;
    let from = times.partition_point(|time| *time < window.from_ns);
    let to = window.to_ns.map_or(times.len(), |to_ns| times.partition_point(|time| *time < to_ns));
    if from == to {
        let last = unit::duration(times.last().copied().unwrap_or(0));
        return Err(format!("window={window} has no row: the last row of the trace is at {last}"));
    }
    columns.keep(from, to);
    columns.time_ns.iter_mut().for_each(|time| *time -= window.from_ns);
    Ok(())
}

fn scale(times: &mut [u64], spec: &TraceSpec) -> Result<(), String> {
    for time in times {
        *time = spec.scale.apply(*time).ok_or_else(|| too_long(spec))?;
    }
    Ok(())
}

fn too_long(spec: &TraceSpec) -> String {
    format!("scale={} makes the trace longer than 584 years", spec.scale)
}
