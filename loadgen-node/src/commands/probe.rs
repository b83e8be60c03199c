//! The command `probe`: measures the fabric, prints, and says what it would carry.

use anyhow::{Context as _, anyhow};

use super::io::{print, print_json_pretty};
use crate::cli::{KserveArgs, ProbeArgs};
use crate::exit::{Exit, Failure, OrExit as _, Outcome};
use crate::outputs::documents::probe::{CarriedDocument, FabricDocument, ProbeDocument};
use crate::probe::{carries, failed, measure};
use crate::test_run::kserve;
use crate::world::signals::Signals;
use loadgen::conf::rules::Rules;

/// `probe`: measures, prints, and says what the fabric would carry.
pub(crate) fn probe(args: &ProbeArgs) -> Outcome {
    if args.dial.kind().no_probe.is_some() {
        return Err(anyhow!(kserve::no_probe())).context("--transport kserve").or_exit(Exit::Usage);
    }
    let signals = Signals::catch().context("cannot handle signals").or_exit(Exit::Bug)?;
    let target = args.dial.target(&KserveArgs::default())?;
    let qdl = target.connect()?;
    let (fabric, outcome) = measure(&qdl, target.peers.transport().name(), args.limits.check(), &signals)?;
    let outcome = outcome.map_err(|error| failed(error, "the probe ended early; what it had measured was printed"));
    let round = args.rules.unwrap_or_else(Rules::newest).round.name;
    let carries = carries::table(fabric.together.up, fabric.together.down, round);
    if args.json {
        print_json_pretty(&ProbeDocument {
            fabric: FabricDocument::from(&fabric),
            carries: carries.iter().map(CarriedDocument::from).collect(),
            ended_early: outcome.as_ref().err().map(Failure::one_line),
        })?;
    } else {
        print(format!("{}{}", fabric.text(), carries::text(&carries, round)).trim_end())?;
    }
    outcome.map(|()| Exit::Ok)
}
