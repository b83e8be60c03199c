//! The costs and counts of the two ends of a probe, node by node: processor time for the bytes that they carried,
//! retransmits, counters of trouble that moved, and how the connections send.

use std::fmt::Write as _;

use lon_net::nic::Interface;
use lon_net::path::Path;
use lon_net::trouble::Troubles;
use lon_qsl::bandwidth::rate;
use qdl::EndCounters;

/// A value for each way in which a fabric is filled.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct ByWay<T> {
    pub(crate) up: T,
    pub(crate) down: T,
    pub(crate) both: T,
}

/// One end of the connections to a node.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct End {
    /// Processor time of the end's process for 10^9 bytes of payload.
    pub(crate) cpu_s_per_gb: ByWay<Option<f64>>,
    /// Segments or packets that it sent again while the node was measured; none when its system does not say.
    pub(crate) retransmits: Option<u64>,
    /// Counters of its kernel and interface that grew meanwhile.
    pub(crate) troubles: Troubles,
    pub(crate) path: Option<Path>,
    pub(crate) interface: Option<Interface>,
    pub(crate) cores: u32,
}

impl End {
    /// Of two readings at this end. The processor times come from elsewhere: they belong to single floods.
    pub(crate) fn between(before: &EndCounters, after: EndCounters, cpu_s_per_gb: ByWay<Option<f64>>) -> End {
        let retransmits = after.retransmits.zip(before.retransmits);
        let EndCounters { path, interface, cores, ref troubles, .. } = after;
        End {
            cpu_s_per_gb,
            retransmits: retransmits.map(|(after, before)| after.saturating_sub(before)),
            troubles: troubles.since(&before.troubles),
            path,
            interface,
            cores,
        }
    }

    /// The counters that moved, as words; none when none did.
    fn moved(&self) -> Option<String> {
        let moved: Vec<String> = self.troubles.iter().map(|(name, count)| format!("{name} {count}")).collect();
        (!moved.is_empty()).then(|| moved.join(", "))
    }
}

/// The head of the table of ends.
pub(crate) fn head(text: &mut String) {
    let _ = writeln!(
        text,
        "\nEnds\n  {:<22}{:<9}{:>13}{:>7}{:>7}{:>7}{:>7}{:>13}  {:<20}interface",
        "node", "end", "CPU s/GB up", "down", "both", "MTU", "MSS", "retransmits", "congestion control"
    );
}

/// A line for each end of a node that is known, and one for what moved there.
pub(crate) fn rows(text: &mut String, node: &str, loadgen: Option<&End>, sut: Option<&End>) {
    for (who, end) in [("LoadGen", loadgen), ("SUT", sut)] {
        let Some(end) = end else { continue };
        let [up, down, both] = [end.cpu_s_per_gb.up, end.cpu_s_per_gb.down, end.cpu_s_per_gb.both]
            .map(|seconds| seconds.map_or("-".to_owned(), |seconds| format!("{seconds:.2}")));
        let known = |bytes: Option<u32>| bytes.filter(|bytes| *bytes > 0).map_or("-".to_owned(), |it| it.to_string());
        let mtu = known(end.path.as_ref().map(|path| path.mtu_bytes));
        let segment = known(end.path.as_ref().map(|path| path.segment_bytes));
        let again = end.retransmits.map_or("-".to_owned(), |count| count.to_string());
        let control = end.path.as_ref().map_or("-", |path| path.congestion_control.as_str());
        let interface = end.interface.as_ref().map_or("loopback".to_owned(), shown);
        let _ = writeln!(
            text,
            "  {node:<22}{who:<9}{up:>13}{down:>7}{both:>7}{mtu:>7}{segment:>7}{again:>13}  {control:<20}{interface}"
        );
        if let Some(moved) = end.moved() {
            let _ = writeln!(text, "  {:<22}  counters that changed: {moved}", "");
        }
    }
}

fn shown(interface: &Interface) -> String {
    let speed = interface.speed_mbit_s.map(|mbit_s| format!(", {}", rate(mbit_s as f64 * 1e6)));
    format!("{} (MTU {}{})", interface.name, interface.mtu_bytes, speed.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_is_the_difference_of_two_readings() {
        let troubles = |count: u64| [("tcp.RetransSegs".to_owned(), count)].into_iter().collect::<Troubles>();
        let reading = |count| EndCounters {
            retransmits: Some(count),
            troubles: troubles(10 * count),
            path: Some(Path { segment_bytes: 1448, mtu_bytes: 1500, congestion_control: "cubic".to_owned() }),
            ..EndCounters::default()
        };
        let cpu = ByWay { up: Some(0.5), ..ByWay::default() };
        let end = End::between(&reading(3), reading(5), cpu);
        assert_eq!((end.retransmits, &end.troubles), (Some(2), &troubles(20)));
        let mut text = String::new();
        rows(&mut text, "N1", Some(&end), None);
        for word in ["N1", "LoadGen", "0.50", "1448", "cubic", "loopback", "counters that changed: tcp.RetransSegs 20"]
        {
            assert!(text.contains(word), "no '{word}' in {text}");
        }
        assert!(!text.contains("SUT"), "{text}");
    }
}
