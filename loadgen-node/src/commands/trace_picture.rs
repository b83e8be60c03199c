//! A picture of the arrivals of a test: when its queries are issued, and how many are in flight, in a simulated world
//! whose SUT takes the same time for every sample.

use std::fmt::Write as _;
use std::time::Duration;

use anyhow::{Context as _, Result};
use lon_proto::figures::number;

use loadgen::plan::Plan;
use loadgen::recorder::SampleEnd;
use loadgen::run::{RunOptions, run};
use loadgen::sim::{Service, SimOptions, SimWorld};

/// Width of the picture and of the room beside its bands, pixels.
const WIDTH: f64 = 720.0;
const LEFT: f64 = 84.0;
const RIGHT: f64 = 12.0;
/// The band of issues, and the band of queries in flight: top and bottom, pixels.
const ISSUES: (f64, f64) = (10.0, 40.0);
const IN_FLIGHT: (f64, f64) = (56.0, 110.0);
const HEIGHT: f64 = 140.0;
/// Most samples that are drawn.
const MOST: usize = 20_000;

/// The simulated SUT.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SimulatedSut {
    /// Time that it takes for a sample.
    pub(crate) service: Duration,
    /// Samples that it works on at one time.
    pub(crate) servers: usize,
}

/// A sample: from its issue to its answer, ns.
type Span = (u64, u64);

/// The picture as SVG.
///
/// # Errors
/// The plan measures nothing, or has too many samples for a picture.
pub(crate) fn picture(plan: &Plan, sut: SimulatedSut) -> Result<String> {
    let spans = spans(plan, sut)?;
    let end_ns = spans.iter().map(|(_, answered)| *answered).max().unwrap_or(1).max(1);
    let x = |ns: u64| LEFT + (WIDTH - LEFT - RIGHT) * ns as f64 / end_ns as f64;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" \
         font-size=\"12\">\n<rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#fff\"/>\n"
    );
    let _ = writeln!(svg, "<path d=\"{}\" stroke=\"#0072b2\" stroke-width=\"1\"/>", ticks(&spans, x));
    let (course, most) = course(&spans);
    let _ = writeln!(svg, "<path d=\"{}\" fill=\"#e8a070\"/>", area(&course, most, x));
    let (middle, below) = (f64::midpoint(ISSUES.0, ISSUES.1) + 4.0, f64::midpoint(IN_FLIGHT.0, IN_FLIGHT.1) + 4.0);
    label(&mut svg, 4.0, middle, "start", "issued");
    label(&mut svg, 4.0, below, "start", "in flight");
    label(&mut svg, LEFT - 4.0, IN_FLIGHT.0 + 10.0, "end", &most.to_string());
    label(&mut svg, LEFT, HEIGHT - 10.0, "start", "0 s");
    label(&mut svg, WIDTH - RIGHT, HEIGHT - 10.0, "end", &format!("{} s", number(end_ns as f64 / 1e9)));
    svg.push_str("</svg>\n");
    Ok(svg)
}

/// Issue and answer of every sample, in issue order.
fn spans(plan: &Plan, sut: SimulatedSut) -> Result<Vec<Span>> {
    let ns = u64::try_from(sut.service.as_nanos()).unwrap_or(u64::MAX);
    let options = SimOptions { service: Service::Constant { ns }, servers: sut.servers, ..SimOptions::default() };
    let keep = RunOptions { keep_issue_times: true, ..RunOptions::default() };
    let samples: u64 = plan.phases().iter().map(|phase| phase.generated.samples()).sum();
    anyhow::ensure!(
        samples <= MOST as u64 || !plan.effective().shape.has_schedule(),
        "a picture of {samples} samples shows nothing: {MOST} at most; a shorter min_duration makes them fewer"
    );
    let outcome = run(plan, &mut SimWorld::new(options), &mut (), keep);
    let phase = outcome.performance().context("the test measures nothing: a picture is of a performance run")?;
    let planned = plan.phases().iter().find(|phase| !phase.is_accuracy()).context("the test measures nothing")?;
    let timeline = phase.timeline.as_ref().context("the simulated run kept no times")?;
    let starts = timeline.starts(planned, plan.effective().shape);
    let issued = timeline.issued_ns().unwrap_or_default();
    let spans = starts.zip(timeline.samples()).zip(issued).map(|((start_ns, end), issued_ns)| match end {
        SampleEnd::Done { latency_ns } => (*issued_ns, start_ns + latency_ns),
        _ => (*issued_ns, *issued_ns),
    });
    Ok(spans.take(MOST).collect())
}

/// A line for each issue.
fn ticks(spans: &[Span], x: impl Fn(u64) -> f64) -> String {
    let mut path = String::new();
    let mut before = f64::NEG_INFINITY;
    for (issued_ns, _) in spans {
        let at = x(*issued_ns);
        // Lines at one place are one.
        if at - before >= 0.05 {
            let _ = write!(path, "M{at:.1} {}V{}", ISSUES.0, ISSUES.1);
            before = at;
        }
    }
    path
}

/// Samples in flight after each change, and the most of them.
fn course(spans: &[Span]) -> (Vec<(u64, i64)>, i64) {
    let mut changes: Vec<(u64, i64)> =
        spans.iter().flat_map(|(issued, answered)| [(*issued, 1), (*answered, -1)]).collect();
    changes.sort_unstable();
    let mut in_flight = 0;
    let mut course: Vec<(u64, i64)> = Vec::new();
    for (at, change) in changes {
        in_flight += change;
        match course.last_mut().filter(|(last, _)| *last == at) {
            Some((_, count)) => *count = in_flight,
            None => course.push((at, in_flight)),
        }
    }
    let most = course.iter().map(|(_, count)| *count).max().unwrap_or(0);
    (course, most)
}

/// The area below the samples in flight.
fn area(course: &[(u64, i64)], most: i64, x: impl Fn(u64) -> f64) -> String {
    let (top, bottom) = IN_FLIGHT;
    let y = |count: i64| bottom - (bottom - top) * count as f64 / most.max(1) as f64;
    let mut path = format!("M{LEFT} {bottom}");
    let mut before = 0;
    for (at, count) in course {
        let at = x(*at);
        let _ = write!(path, "L{at:.1} {:.1}L{at:.1} {:.1}", y(before), y(*count));
        before = *count;
    }
    path.push('Z');
    path
}

fn label(svg: &mut String, x: f64, y: f64, anchor: &str, text: &str) {
    let _ = writeln!(svg, "<text x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\" fill=\"#333\">{text}</text>");
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadgen::settings::{Qsl, Scenario, TestSettings};

    fn spans_of(scenario: Scenario, set: &[&str]) -> Vec<Span> {
        let mut settings = TestSettings { scenario, min_query_count: 1, ..TestSettings::default() };
        for text in set {
            settings.set(text).unwrap();
        }
        let plan = Plan::new(settings, Qsl { total: 8, performance: 8 }).unwrap();
        spans(&plan, SimulatedSut { service: Duration::from_millis(10), servers: 2 }).unwrap()
    }

    #[test]
    fn spans_are_those_of_the_simulated_run() {
        let ms = 1_000_000;
        let burst = spans_of(Scenario::BURST, &["burst_size=3", "burst_interval=100ms", "min_duration=150ms"]);
        let issue_times = [0, 0, 0, 100, 100, 100, 200, 200, 200].map(|issued| issued * ms);
        assert_eq!(burst.iter().map(|(issued, _)| *issued).collect::<Vec<_>>(), issue_times);
        assert_eq!(
            burst.iter().map(|(issued, answered)| (answered - issued) / ms).take(3).collect::<Vec<_>>(),
            [10, 10, 20]
        );
        let one = spans_of(Scenario::SINGLE_STREAM, &["min_duration=35ms", "target_latency=5ms"]);
        assert_eq!(one.iter().map(|(issued, _)| issued / ms).collect::<Vec<_>>(), [0, 10, 20, 30, 40]);
        assert_eq!(course(&burst).1, 3);
    }
}
