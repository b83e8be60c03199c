//! This host's network interfaces: what they carried during a run, and how much of that the run explains.
//!
//! Information, never a gate: an interface also carries other programs' bytes, the heads of packets (3 to 5 % of full
//! ones) and what was sent again.

use std::net::IpAddr;

use lon_machine::nic::{self, Interface, Traffic};
use qdl::NicTraffic;

use super::traffic::Bytes;

/// All interfaces' counters at some moment.
pub(crate) struct Counters(Vec<(String, Traffic)>);

/// One interface that the run used.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NicUse {
    pub(crate) interface: Interface,
    /// Bytes that the interface carried during the run.
    pub(crate) carried: Bytes,
    /// Bytes of the run's own sockets.
    pub(crate) explained: Bytes,
}

impl Counters {
    /// Reads the counters now.
    pub(crate) fn now() -> Counters {
        let counters = nic::all().into_iter().filter_map(|interface| {
            let traffic = nic::traffic(&interface.name)?;
            Some((interface.name, traffic))
        });
        Counters(counters.collect())
    }

    /// Returns the traffic since these counters of the interfaces that have these addresses: each with the bytes of its
    /// sockets.
    pub(crate) fn since(&self, sockets: &[(IpAddr, Bytes)]) -> Vec<NicUse> {
        let mut used: Vec<NicUse> = Vec::new();
        for &(local, bytes) in sockets {
            let Some(interface) = nic::routed(local) else { continue };
            match used.iter_mut().find(|nic| nic.interface.name == interface.name) {
                Some(nic) => nic.explained = nic.explained.plus(bytes),
                None => {
                    let carried = self.carried(&interface.name);
                    used.push(NicUse { interface, carried, explained: bytes });
                }
            }
        }
        used
    }

    fn carried(&self, name: &str) -> Bytes {
        let before = self.0.iter().find(|(interface, _)| interface == name).map(|(_, traffic)| *traffic);
        let (Some(before), Some(after)) = (before, nic::traffic(name)) else { return Bytes::default() };
        // Ingress is towards the SUT: what leaves here.
        Bytes {
            ingress: after.bytes_out.saturating_sub(before.bytes_out),
            egress: after.bytes_in.saturating_sub(before.bytes_in),
        }
    }
}

impl NicUse {
    /// The interface of a node: what it carried, and what crossed the run's sockets there.
    pub(crate) fn of_node(nic: &NicTraffic, sockets: Bytes) -> NicUse {
        let carried = Bytes { ingress: nic.bytes_in, egress: nic.bytes_out };
        NicUse { interface: nic.interface.clone(), carried, explained: sockets }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_is_no_interface() {
        assert_eq!(Counters::now().since(&[([127, 0, 0, 1].into(), Bytes::default())]), []);
    }
}
