//! A SUT node of somebody's own, held against the wire contract: each rule is kept, broken, or could not be seen.
//!
//! - `rules`: the rules in their order; `notes`: what was found about each of them;
//! - `caller`: control calls as they are; `dispatch_stream`: one stream, message by message; `samples`: what is sent;
//! - `identity`, `claims`, `tenants`, `answers`, `ends`: the checks, a file for each group of rules.

mod answers;
mod caller;
mod claims;
mod dispatch_stream;
mod ends;
mod identity;
mod notes;
mod rules;
mod samples;
mod tenants;

use lon_machine::host::HostNonce;
use lon_net::random;
use lon_proto::limits::HOST_NONCE_BYTES;
use tonic::Code;

use self::caller::Caller;
use self::notes::Notes;
pub use self::notes::{Finding, Verdict};
pub use self::rules::{RULES, Rule};
use crate::config::Config;
use crate::control::{NodeDescription, Reach};
use crate::error::ConnectError;
use crate::peer_kind::Payload;

/// Result of the check of one node.
#[derive(Clone, Debug)]
pub struct Conformance {
    /// The node's name; empty when it gives none.
    pub name: String,
    /// Software of the node, as it describes itself; empty when it gives no description.
    pub software: String,
    /// Each of [`RULES`], in their order.
    pub findings: Vec<Finding>,
}

impl Conformance {
    /// Returns the number of rules with this verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.findings.iter().filter(|finding| finding.verdict == verdict).count()
    }
}

/// Holds the first node of `config` against the wire contract, over its transport. Takes some seconds, at the end of
/// which no claim is left on the node.
///
/// # Errors
/// The node cannot be reached, is no SUT node, is busy with the run of somebody else, or wants a token.
pub fn check(config: &Config) -> Result<Conformance, ConnectError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let os = |error: std::io::Error| ConnectError::Os { what: "cannot build a runtime", reason: error.to_string() };
    runtime.map_err(os)?.block_on(all(config))
}

async fn all(config: &Config) -> Result<Conformance, ConnectError> {
    let (peers, transport) = (&config.peers, config.peers.transport());
    if transport.peer_kind().payload != Payload::Sample || !peers.fit_transport() {
        return Err(ConnectError::WrongTransport { transport: transport.name() });
    }
    let address = peers.addresses().first().ok_or(ConnectError::NoNodes)?;
    let reach = reach(config)?;
    match peers.reach_all(&reach).await {
        // A nonce of its own is a rule that it breaks.
        Ok(_) | Err(ConnectError::Nonce { .. }) => {}
        Err(error) => return Err(error),
    }
    let caller = Caller::connect(address, transport, &reach, &config.client).await?;
    let mut notes = Notes::default();
    let name = identity::names(&caller, &mut notes).await;
    let described = match identity::described(&caller, &name, &mut notes).await {
        Ok(described) => Some(described),
        Err(status) if status.code() == Code::Unauthenticated => return Err(caller.refused("Describe", &status)),
        Err(_) => None,
    };
    let models = described.as_ref().map_or(&[][..], |described| &described.models);
    let models: Vec<String> = models.iter().map(|model| model.name.clone()).collect();
    let (software, node) = match described.map(|described| NodeDescription::read(address.clone(), None, described)) {
        Some(Ok(node)) => (node.software.clone(), Some(node)),
        _ => (String::new(), None),
    };
    let Some(node) = node else {
        notes.stop("Describe gave no description to go by");
        return Ok(Conformance { name, software, findings: notes.findings() });
    };
    if let Some(claim) = claims::check(&caller, &node, &models, &mut notes).await? {
        let (heard, stream) = answers::check(&caller, &node, &claim, &mut notes).await;
        ends::check(&caller, claim, heard, stream, &mut notes).await;
    }
    Ok(Conformance { name, software, findings: notes.findings() })
}

fn reach(config: &Config) -> Result<Reach, ConnectError> {
    let mut nonce = [0; HOST_NONCE_BYTES];
    let os = |error: random::Error| ConnectError::Os { what: "no random bytes for a nonce", reason: error.to_string() };
    random::fill(&mut nonce).map_err(os)?;
    let Config { wait_ready, call_timeout, tls, token, lookup, network, .. } = config.clone();
    Ok(Reach { wait_ready, call_timeout, tls, token, lookup, nonce: HostNonce(nonce), network })
}
