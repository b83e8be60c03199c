//! Looks at a node: whether its host can be reached, what is there, and what answers.

use std::time::Duration;

use super::answers::{self, Facts};
use super::clock;
use super::node_access::NodeAccess;
use super::script::{self, NEEDED_SYSTEM};
use super::shell::ShellError;
use lon_run::outputs::documents::fleet::{FleetAnswer, FleetNode, FleetProgram};

/// Longest wait for an answer from a port that should have no listener.
const FREE_PORT: Duration = Duration::from_secs(2);

/// The build of this program, which nodes are held against.
pub(super) struct Ours {
    pub(super) version: &'static str,
    pub(super) revision: Option<&'static str>,
}

/// This very program.
pub(super) const OURS: Ours = Ours { version: env!("CARGO_PKG_VERSION"), revision: lon_shell::version::REVISION };

/// Checks that everything a node needs is there, and that nothing is in its way.
pub(super) fn check(at: NodeAccess<'_>, report: &mut FleetNode) -> Result<(), ShellError> {
    let program = at.node.program.as_deref();
    let facts = facts(at, program, report)?;
    if let Some(why) = other_system(&at.node.host, facts.system.as_deref()) {
        // Any other finding on such a host follows from this one alone.
        report.faults.push(why);
        return Ok(());
    }
    if let (Some(path), Some(version_text)) = (program, &facts.version) {
        match version_text {
            None => report.faults.push(format!(
                "there is no program {path} on the host: copy it there, or give its path as program = \"...\""
            )),
            Some(version_text) => match answers::version(version_text) {
                None => report.faults.push(format!("{path} is no sut-node: --version prints '{version_text}'")),
                Some((version, revision)) => {
                    report.faults.extend(other_build(path, &version, revision.as_deref(), &OURS));
                    report.program = Some(FleetProgram { version, revision });
                }
            },
        }
    }
    report.clock = clock::offset(at.shell(), at.fleet.timeout);
    let is_taken = facts.is_taken == Some(true);
    let answer =
        at.dial.ask(&at.node.address, if is_taken { at.fleet.timeout } else { at.fleet.timeout.min(FREE_PORT) });
    let address = &at.node.address;
    match answer {
        Ok(answer) => {
            judge(at, &answer, report);
            report.answer = Some(answer);
        }
        Err(error) if is_taken => report.faults.push(format!(
            "somebody listens on {}, and {address} is not answered as by a SUT node: {error:#}",
            at.node.listen
        )),
        Err(_) => {}
    }
    Ok(())
}

/// Checks that the node runs and answers.
pub(super) fn status(at: NodeAccess<'_>, report: &mut FleetNode) -> Result<(), ShellError> {
    let facts = facts(at, None, report)?;
    if facts.pid.is_none() && facts.is_taken == Some(false) {
        report.faults.push("does not run".to_owned());
        return Ok(());
    }
    match at.dial.ask(&at.node.address, at.fleet.timeout) {
        Ok(answer) => {
            judge(at, &answer, report);
            report.answer = Some(answer);
        }
        Err(error) => report.faults.push(match facts.pid {
            Some(_) => format!("runs, but does not answer: {error:#}"),
            None => format!("does not run, and somebody else has its port: {error:#}"),
        }),
    }
    Ok(())
}

/// Asks the host for the facts of the node.
pub(super) fn facts(at: NodeAccess<'_>, program: Option<&str>, report: &mut FleetNode) -> Result<Facts, ShellError> {
    let facts = Facts::of(&at.shell().run(&script::facts(at.node, program)?, at.fleet.timeout)?);
    if facts.is_taken.is_none() {
        report
            .faults
            .push("the host ran the line and did not answer: does the command of ssh start a shell?".to_owned());
    }
    (report.pid, report.port_taken) = (facts.pid, facts.is_taken);
    Ok(facts)
}

/// Adds the faults of the node that answers at a node's address.
pub(super) fn judge(at: NodeAccess<'_>, answer: &FleetAnswer, report: &mut FleetNode) {
    let (node, address) = (at.node, &at.node.address);
    if answer.name != node.name.as_ref() {
        let where_ = match report.port_taken {
            Some(false) => format!("; nobody listens on {} of host {}: is it another host?", node.listen, node.host),
            _ => String::new(),
        };
        report.faults.push(format!("{address} is answered by node '{}'{where_}", answer.name));
    }
    if let Some(version) = &answer.version {
        report.faults.extend(other_build("the node", version, answer.revision.as_deref(), &OURS));
    }
}

/// Why a host of this system cannot have a node; None where it can, or has not answered.
pub(super) fn other_system(host: &str, system: Option<&str>) -> Option<String> {
    let runs = match system? {
        NEEDED_SYSTEM => return None,
        "" => "does not say what system it runs (uname -s)".to_owned(),
        other => format!("runs {other} (uname -s)"),
    };
    Some(format!("host {host} {runs}: sut-node and `fleet` need {NEEDED_SYSTEM}"))
}

/// Describes the difference between a build and ours. `None` where no difference is known.
fn other_build(what: &str, version: &str, revision: Option<&str>, ours: &Ours) -> Option<String> {
    let is_same =
        version == ours.version && (revision == ours.revision || revision.is_none() || ours.revision.is_none());
    let build_text = |version: &str, revision: Option<&str>| match revision {
        Some(revision) => format!("{version}, revision {revision}"),
        None => version.to_owned(),
    };
    (!is_same).then(|| {
        let (there, here) = (build_text(version, revision), build_text(ours.version, ours.revision));
        format!("{what} is {there}, and this program {here}: use one build at all ends")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_of_another_system_are_named_with_it() {
        assert_eq!([other_system("h", Some("Linux")), other_system("h", None)], [None, None]);
        let message = other_system("me@h", Some("Darwin")).unwrap();
        assert_eq!(message, "host me@h runs Darwin (uname -s): sut-node and `fleet` need Linux");
        assert!(other_system("h", Some("")).unwrap().contains("host h does not say"));
    }

    #[test]
    fn builds_differ_by_version_or_by_revisions_that_are_known() {
        let ours = Ours { version: "1.2.0", revision: Some("abc") };
        let differs = |version, revision| other_build("sut-node", version, revision, &ours);
        assert_eq!([differs("1.2.0", Some("abc")), differs("1.2.0", None)], [None, None]);
        let message = differs("1.2.0", Some("abd")).unwrap();
        assert!(message.contains("sut-node is 1.2.0, revision abd, and this program 1.2.0, revision abc"), "{message}");
        assert!(differs("1.1.0", None).unwrap().contains("1.1.0"));
        assert_eq!(other_build("x", "1.2.0", Some("y"), &Ours { version: "1.2.0", revision: None }), None);
    }
}
