//! The counters of the kernel and of an interface for what was lost, late or refused. They say why a link is slower
//! than it should be.
//!
//! Read from `/proc/net` (of this process's network namespace) and from `/sys/class/net`. What the system does not show
//! is missing. The counters are the host's: they hold the traffic of all programs.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Counters of `/proc/net/netstat` and `/proc/net/snmp`, by section. Most of what stands there counts what is normal.
const KERNEL: [(&str, &[&str]); 4] = [
    ("Tcp", &["RetransSegs", "InErrs", "InCsumErrors", "AttemptFails", "EstabResets"]),
    (
        "TcpExt",
        &[
            "TCPTimeouts",
            "TCPLostRetransmit",
            "TCPFastRetrans",
            "TCPSlowStartRetrans",
            "TCPSpuriousRTOs",
            "TCPRetransFail",
            "TCPBacklogDrop",
            "TCPRcvQDrop",
            "TCPZeroWindowDrop",
            "TCPOFODrop",
            "TCPRcvCollapsed",
            "PruneCalled",
            "RcvPruned",
            "OfoPruned",
            "TCPMemoryPressures",
            "TCPAbortOnMemory",
            "TCPAbortOnTimeout",
            "ListenOverflows",
            "ListenDrops",
        ],
    ),
    ("Udp", &["InErrors", "RcvbufErrors", "SndbufErrors", "InCsumErrors", "MemErrors"]),
    ("Ip", &["InHdrErrors", "InDiscards", "OutDiscards", "ReasmFails", "FragFails", "FragCreates"]),
];

/// The counters of an interface that are no sign of trouble.
const NORMAL: [&str; 8] =
    ["rx_bytes", "tx_bytes", "rx_packets", "tx_packets", "multicast", "rx_compressed", "tx_compressed", "rx_nohandler"];

/// Columns of `/proc/net/softnet_stat`, a line for each processor: packets dropped since its queue was full, and turns
/// of its network work that ended for lack of time.
const SOFTNET: [(usize, &str); 2] = [(1, "softnet.dropped"), (2, "softnet.time_squeeze")];

/// Counters that are not 0, by name: `tcp.RetransSegs`, `tcpext.TCPTimeouts`, `nic.rx_dropped`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Troubles(BTreeMap<String, u64>);

impl Troubles {
    /// Reads the kernel's counters, and those of the interface of this name.
    pub fn now(interface: Option<&str>) -> Troubles {
        let mut troubles = Troubles::default();
        for file in ["/proc/net/snmp", "/proc/net/netstat"] {
            troubles.add_sections(&fs::read_to_string(file).unwrap_or_default());
        }
        troubles.add_softnet(&fs::read_to_string("/proc/net/softnet_stat").unwrap_or_default());
        if let Some(name) = interface {
            troubles.add_interface(&Path::new("/sys/class/net").join(name));
        }
        troubles
    }

    /// Those that have grown since an earlier reading, each by how much.
    #[must_use]
    pub fn since(&self, earlier: &Troubles) -> Troubles {
        let grown = self.0.iter().filter_map(|(name, count)| {
            let more = count.saturating_sub(earlier.0.get(name).copied().unwrap_or(0));
            (more > 0).then(|| (name.clone(), more))
        });
        Troubles(grown.collect())
    }

    /// Adds what has grown elsewhere, or at another time.
    pub fn add(&mut self, more: &Troubles) {
        for (name, count) in &more.0 {
            *self.0.entry(name.clone()).or_default() += count;
        }
    }

    /// Each counter, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u64)> {
        self.0.iter().map(|(name, count)| (name.as_str(), *count))
    }

    /// Returns true when all counters are 0.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Lines come in pairs: names, then values, each with the section before it.
    fn add_sections(&mut self, text: &str) {
        let lines: Vec<&str> = text.lines().collect();
        for pair in lines.chunks_exact(2) {
            let (Some((section, names)), Some((_, values))) = (pair[0].split_once(':'), pair[1].split_once(':')) else {
                continue;
            };
            let Some((_, counters)) = KERNEL.iter().find(|(own, _)| *own == section) else { continue };
            for (name, value) in names.split_whitespace().zip(values.split_whitespace()) {
                if counters.contains(&name) {
                    self.count(format!("{}.{name}", section.to_lowercase()), value.parse().unwrap_or(0));
                }
            }
        }
    }

    fn add_softnet(&mut self, text: &str) {
        for line in text.lines() {
            let columns: Vec<&str> = line.split_whitespace().collect();
            for (column, name) in SOFTNET {
                let count = columns.get(column).and_then(|hex| u64::from_str_radix(hex, 16).ok());
                self.count(name.to_owned(), count.unwrap_or(0));
            }
        }
    }

    /// The interface's own counters, and how often each of its queues stood still.
    fn add_interface(&mut self, folder: &Path) {
        let read = |path: &Path| fs::read_to_string(path).ok()?.trim().parse::<u64>().ok();
        for entry in fs::read_dir(folder.join("statistics")).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if !NORMAL.contains(&name.as_str()) {
                self.count(format!("nic.{name}"), read(&entry.path()).unwrap_or(0));
            }
        }
        for queue in fs::read_dir(folder.join("queues")).into_iter().flatten().flatten() {
            let name = queue.file_name().to_string_lossy().into_owned();
            self.count(format!("nic.{name}.tx_timeout"), read(&queue.path().join("tx_timeout")).unwrap_or(0));
        }
    }

    fn count(&mut self, name: String, count: u64) {
        if count > 0 {
            *self.0.entry(name).or_default() += count;
        }
    }
}

impl FromIterator<(String, u64)> for Troubles {
    fn from_iter<T: IntoIterator<Item = (String, u64)>>(counters: T) -> Troubles {
        let mut troubles = Troubles::default();
        counters.into_iter().for_each(|(name, count)| troubles.count(name, count));
        troubles
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SNMP: &str = "Ip: Forwarding InDiscards\nIp: 1 0\nTcp: InSegs RetransSegs\nTcp: 900 7\n";

    #[test]
    fn only_trouble_is_counted() {
        let mut troubles = Troubles::default();
        troubles.add_sections(SNMP);
        troubles.add_sections("TcpExt: SyncookiesSent TCPTimeouts\nTcpExt: 3 2\n");
        troubles.add_softnet("0000ffff 00000010 00000001 0\n0000ffff 00000001 00000000 0\n");
        let counters: Vec<(&str, u64)> = troubles.iter().collect();
        let expected = [("softnet.dropped", 17), ("softnet.time_squeeze", 1), ("tcp.RetransSegs", 7)];
        assert_eq!(counters, [&expected[..], &[("tcpext.TCPTimeouts", 2)]].concat());
    }

    #[test]
    fn an_interface_shows_its_drops_and_its_queues() {
        let folder = tempfile::tempdir().unwrap();
        let write = |file: &str, text: &str| {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("statistics/rx_dropped", "5\n");
        write("statistics/rx_bytes", "5000\n");
        write("queues/tx-0/tx_timeout", "1\n");
        let mut troubles = Troubles::default();
        troubles.add_interface(folder.path());
        assert_eq!(troubles.iter().collect::<Vec<_>>(), [("nic.rx_dropped", 5), ("nic.tx-0.tx_timeout", 1)]);
    }

    #[test]
    fn what_moved_is_the_difference() {
        let of = |counts: &[(&str, u64)]| counts.iter().map(|(name, n)| ((*name).to_owned(), *n)).collect::<Troubles>();
        let (before, after) = (of(&[("a", 3), ("b", 2)]), of(&[("a", 3), ("b", 5), ("c", 1)]));
        let mut moved = after.since(&before);
        assert_eq!(moved, of(&[("b", 3), ("c", 1)]));
        moved.add(&of(&[("b", 1)]));
        assert_eq!(moved, of(&[("b", 4), ("c", 1)]));
        assert!(before.since(&after).is_empty());
    }
}
