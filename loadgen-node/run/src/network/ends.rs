//! The costs and counts of the two ends of a probe, node by node: processor time for the bytes that they carried,
//! retransmits, counters of trouble that moved, and how the connections send.

use std::fmt::Write as _;

use lon_machine::nic::Interface;
use lon_net::link_errors::Troubles;
use lon_net::path::Path;
use lon_proto::figures::bit_rate as rate;
use qdl::EndCounters;

use super::by_way::ByWay;

/// Processor time that floods of one way cost at one end.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spent {
    /// Processor time of the end's process for 10^9 bytes of payload, s.
    pub cpu_s_per_gb: Option<f64>,
    /// Time for which its threads were ready to run and had no core, all threads together, s a second.
    pub core_wait_s_per_s: Option<f64>,
}

/// An end whose threads wait for a core for this share of the time is slower than its links.
pub const STARVED: f64 = 0.2;

/// One end of the connections to a node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct End {
    /// Processor time that the floods of each way cost.
    pub spent: ByWay<Spent>,
    /// Segments or packets that it sent again while the node was measured; none when its system does not say.
    pub retransmits: Option<u64>,
    /// Counters of its kernel and interface that grew meanwhile.
    pub troubles: Troubles,
    /// The path of its connections.
    pub path: Option<Path>,
    /// The network interface of the path.
    pub interface: Option<Interface>,
    /// Number of its cores.
    pub cores: u32,
}

impl End {
    /// Of two readings at this end. The processor times come from elsewhere: they belong to single floods.
    pub(crate) fn between(before: &EndCounters, after: EndCounters, spent: ByWay<Spent>) -> End {
        let retransmits = after.retransmits.zip(before.retransmits);
        let EndCounters { path, interface, cores, ref troubles, .. } = after;
        End {
            spent,
            retransmits: retransmits.map(|(after, before)| after.saturating_sub(before)),
            troubles: troubles.since(&before.troubles),
            path,
            interface,
            cores,
        }
    }

    /// The longest wait for a core of all ways, s a second, where it is long.
    pub(crate) fn starved(&self) -> Option<f64> {
        let waits = self.spent.each().into_iter().filter_map(|spent| spent.core_wait_s_per_s);
        waits.reduce(f64::max).filter(|wait| *wait >= STARVED)
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
        let cost = |spent: Spent| spent.cpu_s_per_gb.map_or("-".to_owned(), |seconds| format!("{seconds:.2}"));
        let [up, down, both] = end.spent.each().map(cost);
        let size_text =
            |bytes: Option<u32>| bytes.filter(|bytes| *bytes > 0).map_or("-".to_owned(), |it| it.to_string());
        let mtu = size_text(end.path.as_ref().map(|path| path.mtu_bytes));
        let segment = size_text(end.path.as_ref().map(|path| path.segment_bytes));
        let again = end.retransmits.map_or("-".to_owned(), |count| count.to_string());
        let control = end.path.as_ref().map_or("-", |path| path.congestion_control.as_str());
        let interface = end.interface.as_ref().map_or("loopback".to_owned(), interface_text);
        let _ = writeln!(
            text,
            "  {node:<22}{who:<9}{up:>13}{down:>7}{both:>7}{mtu:>7}{segment:>7}{again:>13}  {control:<20}{interface}"
        );
        if let Some(wait) = end.starved() {
            let _ = writeln!(
                text,
                "  {:<22}  its threads were ready to run and had no core for {wait:.2} s of each second",
                ""
            );
        }
        if let Some(moved) = end.moved() {
            let _ = writeln!(text, "  {:<22}  counters of the whole host that changed: {moved}", "");
        }
    }
}

fn interface_text(interface: &Interface) -> String {
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
        let cost = |wait| Spent { cpu_s_per_gb: Some(0.5), core_wait_s_per_s: Some(wait) };
        let spent = ByWay { up: cost(0.1), down: cost(0.79), ..ByWay::default() };
        let end = End::between(&reading(3), reading(5), spent);
        assert_eq!((end.retransmits, &end.troubles), (Some(2), &troubles(20)));
        let mut text = String::new();
        rows(&mut text, "N1", Some(&end), None);
        for word in [
            "N1",
            "LoadGen",
            "0.50",
            "1448",
            "cubic",
            "loopback",
            "had no core for 0.79 s of each second",
            "counters of the whole host that changed: tcp.RetransSegs 20",
        ] {
            assert!(text.contains(word), "no '{word}' in {text}");
        }
        assert!(!text.contains("SUT"), "{text}");
        let calm = End { spent: ByWay { up: cost(0.19), ..ByWay::default() }, ..end };
        assert_eq!(calm.starved(), None);
    }
}
