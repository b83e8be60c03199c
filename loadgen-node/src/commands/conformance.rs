//! The command `conformance`: a SUT node of somebody's own, held against the wire contract.

use anyhow::anyhow;
use qdl::Payload;

use super::io::{print_in, print_verdict};
use crate::cli::{ConformanceArgs, KserveArgs};
use lon_run::exit::{Exit, OrExit as _, Outcome};
use lon_run::outputs::documents::conformance::ConformanceDocument;

/// Checks one node, prints what was found, and ends as a run does: INVALID when a rule is broken.
pub(crate) fn conformance(args: &ConformanceArgs) -> Outcome {
    if args.dial.kind().payload != Payload::Sample {
        let why = anyhow!("the wire contract is for SUT nodes, and this --transport reaches others: leave it out");
        return Err(why).or_exit(Exit::Usage);
    }
    let target = args.dial.target(&KserveArgs::default())?;
    let [address] = target.peers.addresses() else {
        return Err(anyhow!("--sut {}: one node is checked at a time", target.written)).or_exit(Exit::Usage);
    };
    let report = qdl::conformance::check(&target.config()).map_err(|error| target.refused(error))?;
    let transport = target.peers.transport().name();
    let document = ConformanceDocument::new(&report, &address.to_string(), transport);
    print_in(args.form.check(), &document, || print_verdict(&document.text()), || document.table())?;
    Ok(if document.broken == 0 { Exit::Ok } else { Exit::Invalid })
}
