//! `campaign doctor`: each machine of a campaign before its start.

use anyhow::{Context as _, anyhow};

use super::super::io::{print_in, print_text};
use super::nodes::{Hosts, Nodes, Place};
use crate::campaign::checked::{Campaign, NodeSetup};
use crate::campaign::doctor;
use crate::cli::{Format, USUAL_TRANSPORT};
use crate::jobs::commands::Commands;
use crate::jobs::guard::Lock;
use lon_run::exit::{Exit, OrExit as _, Outcome};
use lon_run::nodes::target::Target;
use lon_run::nodes::targets;
use lon_run::outputs::documents::campaign_doctor::{CampaignDoctor, DoctorState};

/// Prints the findings. A node that cannot be reached makes exit code 4. Nodes that the campaign starts are started for
/// this, with each of their setups.
pub(super) fn doctor(campaign: &Campaign, form: Format) -> Outcome {
    let mut report = doctor::findings(&campaign.targets()?);
    if campaign.starts_nodes {
        campaign.check_nodes().or_exit(Exit::Usage)?;
        started(campaign, &mut report)?;
    }
    print_in(form, &report, || print_text(&text(&report)), || report.table())?;
    Ok(if report.has(DoctorState::Bad) { Exit::Network } else { Exit::Ok })
}

/// Adds the findings about nodes of each setup.
fn started(campaign: &Campaign, report: &mut CampaignDoctor) -> Outcome<()> {
    let place = tempfile::tempdir().context("cannot make a folder for logs").or_exit(Exit::Bug)?;
    let lock = Lock::of(place.path()).or_exit(Exit::Bug)?;
    let commands = Commands::new().context("cannot handle signals").or_exit(Exit::Bug)?;
    let mut nodes = Nodes::new(&commands, &lock, Place::Hosts(Hosts::default()));
    let mut setups: Vec<&NodeSetup> = Vec::new();
    for cell in &campaign.cells {
        let Some(setup) = cell.nodes.as_ref().filter(|setup| !setups.contains(setup)) else { continue };
        setups.push(setup);
        let sut = nodes.with(setup, place.path());
        if commands.is_stopped() {
            return Err(anyhow!("interrupted")).or_exit(Exit::Interrupted);
        }
        match sut.and_then(|sut| targets::parse(&sut)) {
            Ok(addresses) => {
                let target = Target { allows_plain_text: false, ..Target::new(addresses, USUAL_TRANSPORT) };
                report.machines.extend(doctor::findings(&[target]).machines.into_iter().skip(1));
            }
            Err(why) => report.machines.push(doctor::not_started(&cell.name, &format!("{why:#}"))),
        }
    }
    Ok(())
}

/// The findings for people, and how many speak against the campaign.
fn text(report: &CampaignDoctor) -> String {
    let count = |state: DoctorState| {
        report.machines.iter().flat_map(|machine| &machine.findings).filter(|finding| finding.state == state).count()
    };
    let (bad, doubtful) = (count(DoctorState::Bad), count(DoctorState::Doubtful));
    let not_known = count(DoctorState::NotKnown);
    format!("{}{bad} bad, {doubtful} doubtful, {not_known} not known\n", report.table().aligned())
}
