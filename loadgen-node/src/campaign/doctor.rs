//! Findings about the machines of a campaign before its start: what would spoil the numbers, and what is not known.
//!
//! A SUT node describes itself. It says nothing of its clock and of the condition of its machine: such findings are
//! made on this machine alone, and are named as not known of others.

use lon_net::lookup::stays_on_host;
use lon_proto::figures::bytes;
use lon_proto::text::few;
use qdl::{Host, NodeAddress, NodeDescription, Peers};

use super::checked::Campaign;
use super::condition::{self, Condition};
use super::job_command;
use lon_run::exit::Outcome;
use lon_run::nodes::target::Target;
use lon_run::outputs::documents::campaign_doctor::{CampaignDoctor, DoctorFinding, DoctorMachine, DoctorState, SCHEMA};

/// Free memory below this share of all is doubtful, and time that others take above this share.
const LITTLE_MEMORY: f64 = 0.1;
const MUCH_STOLEN: f64 = 0.01;
/// The findings that change from minute to minute.
const CONDITION: [&str; 4] = ["free memory", "governor", "turbo", "stolen time"];
/// The policy by which a processor keeps its clock rate.
const STEADY: &str = "performance";

impl Campaign {
    /// The different ways to nodes that are up, over all cells.
    ///
    /// # Errors
    /// A cell cannot be made.
    pub(crate) fn targets(&self) -> Outcome<Vec<Target>> {
        let mut targets: Vec<Target> = Vec::new();
        for job in self.jobs().iter().filter(|job| job.cell.nodes.is_none()) {
            let target = job_command::target(job)?;
            let is_known = targets.iter().any(|other| other.written == target.written);
            targets.extend((!is_known).then_some(target));
        }
        Ok(targets)
    }
}

/// The findings about this machine and the nodes of these targets.
pub(crate) fn findings(targets: &[Target]) -> CampaignDoctor {
    let mut machines = vec![here(&condition::here())];
    let mut addresses: Vec<&NodeAddress> = Vec::new();
    for target in targets {
        for address in target.peers.addresses() {
            if !addresses.contains(&address) {
                addresses.push(address);
                machines.push(node(target, address));
            }
        }
    }
    CampaignDoctor { schema: SCHEMA, machines }
}

/// A node that does not start.
pub(crate) fn not_started(cell: &str, why: &str) -> DoctorMachine {
    let findings = vec![finding("reached", DoctorState::Bad, why.to_owned())];
    DoctorMachine { name: format!("nodes of {cell}"), address: None, findings }
}

fn finding(what: &str, state: DoctorState, text: String) -> DoctorFinding {
    DoctorFinding { what: what.to_owned(), state, text }
}

/// The machine of the LoadGen node.
fn here(condition: &Condition) -> DoctorMachine {
    let findings = of_condition(condition, lon_machine::memory::total_bytes().unwrap_or(0));
    DoctorMachine { name: "LoadGen node".to_owned(), address: None, findings }
}

/// The findings that change from minute to minute, of this machine.
fn of_condition(condition: &Condition, memory_bytes: u64) -> Vec<DoctorFinding> {
    let unknown = |what: &str| finding(what, DoctorState::NotKnown, "the system does not say it".to_owned());
    let doubt = |is_doubtful: bool| if is_doubtful { DoctorState::Doubtful } else { DoctorState::Good };
    let memory = condition.free_memory_bytes.map_or_else(
        || unknown("free memory"),
        |free| {
            let is_little = (free as f64) < memory_bytes as f64 * LITTLE_MEMORY;
            finding("free memory", doubt(is_little), format!("{} of {}", bytes(free), bytes(memory_bytes)))
        },
    );
    let governor = match condition.governors.as_slice() {
        [] => unknown("governor"),
        [steady] if steady == STEADY => finding("governor", DoctorState::Good, steady.clone()),
        others => {
            let others = others.join(", ");
            finding(
                "governor",
                DoctorState::Doubtful,
                format!("{others}: clock rates follow the load; {STEADY} keeps them"),
            )
        }
    };
    let turbo = condition.turbo.map_or_else(
        || unknown("turbo"),
        |is_on| {
            let text = if is_on { "on: clock rates change with the heat" } else { "off" };
            finding("turbo", doubt(is_on), text.to_owned())
        },
    );
    let stolen = condition.stolen.map_or_else(
        || unknown("stolen time"),
        |share| {
            let text = format!("{:.2} % since the boot went to other machines on the same processors", share * 100.0);
            finding("stolen time", doubt(share > MUCH_STOLEN), text)
        },
    );
    vec![memory, governor, turbo, stolen]
}

fn node(target: &Target, address: &NodeAddress) -> DoctorMachine {
    let address_text = address.to_string();
    let peers = Peers::sut_nodes(vec![address.clone()], target.peers.transport());
    let qdl = match (Target { peers, ..target.clone() }).connect() {
        Ok(qdl) => qdl,
        Err(failure) => {
            let findings = vec![finding("reached", DoctorState::Bad, failure.one_line())];
            return DoctorMachine { name: address_text.clone(), address: Some(address_text), findings };
        }
    };
    let Some(node) = qdl.nodes().first() else {
        let findings = vec![finding("reached", DoctorState::Bad, "it does not describe itself".to_owned())];
        return DoctorMachine { name: address_text.clone(), address: Some(address_text), findings };
    };
    let own = &qdl.here();
    let is_here = is_same_machine(own, node);
    let mut findings = vec![finding("reached", DoctorState::Good, format!("{}, {}", node.software, node.engine))];
    findings.push(version(node));
    findings.push(clock(is_here));
    findings.push(mtu(own, node, is_here));
    match is_here {
        true => {
            let text = "that of the LoadGen node, whose findings are above".to_owned();
            findings.push(finding("machine", DoctorState::Good, text));
        }
        false => findings.extend(unknown_findings(&node.host)),
    }
    DoctorMachine { name: node.name.clone(), address: Some(address_text), findings }
}

/// The findings that a node does not have of its machine.
fn unknown_findings(host: &Host) -> Vec<DoctorFinding> {
    let of = |what: &str| {
        let all = if what == "free memory" { format!(" (of {})", bytes(host.memory_bytes)) } else { String::new() };
        finding(what, DoctorState::NotKnown, format!("a node does not say it of its machine{all}"))
    };
    CONDITION.map(of).to_vec()
}

fn is_same_machine(own: &Host, node: &NodeDescription) -> bool {
    let is_dialled_here = node.ends.is_some_and(|ends| stays_on_host(ends.remote.ip()) || ends.are_here());
    is_dialled_here || (!own.boot_id.is_empty() && own.boot_id == node.host.boot_id)
}

/// Compares the build of a node with that of this program.
fn version(node: &NodeDescription) -> DoctorFinding {
    let (own, revision) = (env!("CARGO_PKG_VERSION"), lon_shell::version::REVISION);
    let Some(build) = &node.build else {
        return finding("version", DoctorState::NotKnown, "the node does not say its build".to_owned());
    };
    let is_other_revision = revision.is_some_and(|own| !build.revision.is_empty() && build.revision != own);
    match build.version != own || is_other_revision {
        true => {
            let theirs = format!("{} {}", build.version, build.revision);
            let ours = format!("{own} {}", revision.unwrap_or_default());
            let text = format!("{}, and this program {}: use one build at all ends", theirs.trim(), ours.trim());
            finding("version", DoctorState::Doubtful, text)
        }
        false => finding("version", DoctorState::Good, build.version.clone()),
    }
}

fn clock(is_here: bool) -> DoctorFinding {
    match is_here {
        true => finding("clock", DoctorState::Good, "that of this machine".to_owned()),
        false => {
            let text = "a node does not say its time; `fleet check` compares clocks over ssh".to_owned();
            finding("clock", DoctorState::NotKnown, text)
        }
    }
}

/// The largest packets of both ends. The way between them is found out by a run or a probe alone.
fn mtu(own: &Host, node: &NodeDescription, is_here: bool) -> DoctorFinding {
    if is_here {
        return finding("MTU", DoctorState::Good, "loopback".to_owned());
    }
    let sizes = |host: &Host| {
        let mut sizes: Vec<u32> = host.nics.iter().map(|nic| nic.mtu_bytes).filter(|mtu| *mtu > 0).collect();
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    };
    let (ours, theirs) = (sizes(own), sizes(&node.host));
    let texts = |sizes: &[u32]| few(&sizes.iter().map(u32::to_string).collect::<Vec<_>>(), ", ");
    match (ours.is_empty() || theirs.is_empty(), ours == theirs && ours.len() == 1) {
        (true, _) => finding("MTU", DoctorState::NotKnown, "an end does not say it".to_owned()),
        (_, true) => {
            let text = format!("{} at both ends; `probe` finds out that of the way", texts(&ours));
            finding("MTU", DoctorState::Good, text)
        }
        (_, false) => {
            let text = format!(
                "interfaces here have {}, there {}: `probe` finds out what the way takes",
                texts(&ours),
                texts(&theirs)
            );
            finding("MTU", if ours == theirs { DoctorState::NotKnown } else { DoctorState::Doubtful }, text)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn states(condition: &Condition) -> Vec<(String, DoctorState)> {
        of_condition(condition, 1000).into_iter().map(|finding| (finding.what, finding.state)).collect()
    }

    #[test]
    fn what_would_spoil_the_numbers_is_doubtful() {
        let bad = Condition {
            free_memory_bytes: Some(99),
            governors: vec!["performance".to_owned(), "powersave".to_owned()],
            turbo: Some(true),
            stolen: Some(0.02),
        };
        assert!(states(&bad).iter().all(|(_, state)| *state == DoctorState::Doubtful), "{:?}", states(&bad));
        let good = Condition {
            free_memory_bytes: Some(100),
            governors: vec!["performance".to_owned()],
            turbo: Some(false),
            stolen: Some(0.0),
        };
        assert!(states(&good).iter().all(|(_, state)| *state == DoctorState::Good));
    }

    #[test]
    fn what_the_system_does_not_say_is_named() {
        let unknown = states(&Condition::default());
        let names: Vec<&str> = unknown.iter().map(|(what, _)| what.as_str()).collect();
        assert_eq!(names, CONDITION);
        assert!(unknown.iter().all(|(_, state)| *state == DoctorState::NotKnown));
    }
}
