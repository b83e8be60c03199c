//! The lines of `probe --watch`, for people.

use std::collections::BTreeMap;
use std::time::Duration;

use lon_run::network::fabric::rate;
use lon_run::outputs::documents::parts::Percentiles;
use lon_run::outputs::documents::probe::watch::{WatchDocument, WatchSpread, WatchSum};

/// The line of one interval.
pub(super) fn line(interval: &WatchDocument) -> String {
    let rate = |gbit_s: Option<f64>| rate(gbit_s.map(|gbit_s| gbit_s * 1e9));
    let loaded =
        |rtt: Option<Percentiles>| rtt.map_or("-".to_owned(), |rtt| format!("{:.1?}", Duration::from_nanos(rtt.p99)));
    let mut line = format!(
        "{}  up {:>12}  down {:>12}  RTT p99 of 64 B: {} (up full), {} (down full)",
        interval.at,
        rate(interval.up_gbit_s),
        rate(interval.down_gbit_s),
        loaded(interval.loaded_up_rtt_ns),
        loaded(interval.loaded_down_rtt_ns),
    );
    for (direction, slowest) in [("up", &interval.slowest_up), ("down", &interval.slowest_down)] {
        if let Some(slowest) = slowest {
            line += &format!("  least {direction} {} {}", slowest.node, rate(Some(slowest.gbit_s)));
        }
    }
    line + &counted(interval.retransmits, &interval.loadgen_counters_moved, &interval.sut_counters_moved)
}

/// The line of the sum of all intervals.
pub(super) fn sum(sum: &WatchSum) -> String {
    let spread = |spread: Option<WatchSpread>| {
        spread.map_or("-".to_owned(), |spread| {
            let [min, mean, max] = [spread.min, spread.mean, spread.max].map(|gbit_s| rate(Some(gbit_s * 1e9)));
            format!("mean {mean} ({min} to {max})")
        })
    };
    let intervals = if sum.intervals == 1 { "1 interval".to_owned() } else { format!("{} intervals", sum.intervals) };
    let counted = counted(sum.retransmits, &sum.loadgen_counters_moved, &sum.sut_counters_moved);
    format!("{intervals}: up {}; down {}{counted}", spread(sum.up_gbit_s), spread(sum.down_gbit_s))
}

fn counted(again: Option<u64>, loadgen: &BTreeMap<String, u64>, sut: &BTreeMap<String, u64>) -> String {
    let mut text = again.map(|again| format!("  retransmits {again}")).unwrap_or_default();
    for (end, moved) in [("LoadGen node", loadgen), ("SUT", sut)] {
        if !moved.is_empty() {
            let moved: Vec<String> = moved.iter().map(|(name, count)| format!("{name} {count}")).collect();
            text += &format!("  counters that changed at {end}: {}", moved.join(", "));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use lon_run::probe::watch::{Interval, Sum};

    #[test]
    fn a_line_has_all_that_is_known() {
        let interval = Interval {
            up: Some(9.4e9),
            slowest_up: Some((0, 4e9)),
            retransmits: Some(12),
            sut_troubles: [("nic.rx_dropped".to_owned(), 3)].into_iter().collect(),
            ..Interval::default()
        };
        let line = line(&WatchDocument::new(&interval, &["N1".to_owned()]));
        let counters = ["retransmits 12", "counters that changed at SUT: nic.rx_dropped 3"];
        for part in ["9.40 Gbit/s", "least up N1 4.00 Gbit/s"].into_iter().chain(counters) {
            assert!(line.contains(part), "no '{part}' in {line}");
        }
        let sum = sum(&WatchSum::new(&Sum { intervals: 1, up: vec![1e9], ..Sum::default() }, None));
        assert!(sum.starts_with("1 interval: up mean 1.00 Gbit/s") && sum.contains("down -"), "{sum}");
    }
}
