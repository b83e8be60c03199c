//! The counters of one end of a probe: what it has spent and counted until now. The code is the same at both ends, and
//! includes the message in which the counters cross between them.

use std::net::IpAddr;
use std::num::NonZeroUsize;

use lon_proto::text::printable;
use lon_proto::v1;
use nix::time::{ClockId, clock_gettime};

use crate::link_errors::Troubles;
use crate::path::Path;
use crate::thread_time::ThreadTime;
use lon_machine::nic::{self, Interface};

/// The counters of one end since it began. The difference of two readings is what happened in between.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EndCounters {
    /// Time that the process has had on processors, in ns.
    pub cpu_ns: u64,
    /// Time for which threads of the process were ready to run while others had the cores, all threads together, in ns;
    /// none when the system does not say.
    pub waited_ns: Option<u64>,
    /// Segments (over QUIC: packets) that this end has sent again; none when the system does not say.
    pub retransmits: Option<u64>,
    /// The events that the kernel and the interface have counted as lost, late or refused.
    pub troubles: Troubles,
    /// The path of the connections; `None` when it is not known yet.
    pub path: Option<Path>,
    /// The interface that the connections leave by; none on loopback.
    pub interface: Option<Interface>,
    /// Processors that the process may use; 0 when it is not known.
    pub cores: u32,
}

impl EndCounters {
    /// Reads what the system counts, now. `local`: the address of this end; `retransmits` and `path`: of the
    /// connections, by whoever has them.
    pub fn now(local: Option<IpAddr>, retransmits: Option<u64>, path: Option<Path>) -> EndCounters {
        let interface = local.and_then(nic::routed);
        let cpu = clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID);
        let cpu_ns = cpu.map_or(0, |time| time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64);
        let troubles = Troubles::now(interface.as_ref().map(|nic| nic.name.as_str()));
        let cores = std::thread::available_parallelism().map_or(0, NonZeroUsize::get) as u32;
        let waited_ns = ThreadTime::of_process().map(|time| time.waited.as_nanos() as u64);
        EndCounters { cpu_ns, waited_ns, retransmits, troubles, path, interface, cores }
    }
}

impl From<EndCounters> for v1::ProbeCounters {
    fn from(counters: EndCounters) -> v1::ProbeCounters {
        let EndCounters { cpu_ns, waited_ns, retransmits, troubles, path, interface, cores } = counters;
        let troubles = troubles.iter().map(|(name, count)| v1::Counter { name: name.to_owned(), count }).collect();
        let (path, nic) = (path.map(v1::Path::from), interface.map(v1::Nic::from));
        v1::ProbeCounters { cpu_ns, retransmits, troubles, path, nic, cores, waited_ns }
    }
}

/// The counters that a node told, its texts made fit to be shown.
impl From<v1::ProbeCounters> for EndCounters {
    fn from(message: v1::ProbeCounters) -> EndCounters {
        let v1::ProbeCounters { cpu_ns, retransmits, troubles, path, nic, cores, waited_ns } = message;
        let troubles = troubles.into_iter().map(|counter| (printable(&counter.name), counter.count)).collect();
        let path = path.map(Path::from);
        EndCounters { cpu_ns, waited_ns, retransmits, troubles, path, interface: nic.map(Interface::from), cores }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_passes_and_what_is_told_is_what_was_read() {
        let path = Path { segment_bytes: 1448, mtu_bytes: 1500, congestion_control: "cubic".to_owned() };
        let first = EndCounters::now(None, Some(3), Some(path));
        assert!(first.cpu_ns > 0 && first.cores > 0 && first.interface.is_none(), "{first:?}");
        assert_eq!(EndCounters::from(v1::ProbeCounters::from(first.clone())), first);
        let then = EndCounters::now(None, None, None);
        assert!(then.cpu_ns >= first.cpu_ns, "{first:?} {then:?}");
    }
}
