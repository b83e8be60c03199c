//! Answer of the node itself at its address: its name, and its description.

use std::time::Duration;

use anyhow::anyhow;
use lon_net::address::NodeAddress;
use lon_net::lookup::Lookup;
use lon_net::tls::ClientTls;
use lon_net::token::Token;
use lon_proto::text::printable;
use qdl::{Config, NodeDescription, Peers, Qdl, Transport};

use lon_run::outputs::documents::fleet::FleetAnswer;

/// Settings by which nodes are dialled from here.
pub(super) struct Dial {
    pub(super) tls: Option<ClientTls>,
    pub(super) token: Option<Token>,
    pub(super) lookup: Lookup,
    pub(super) transport: Transport,
}

impl Dial {
    /// Asks the node there for its name and its description, within about so long.
    ///
    /// # Errors
    /// Nobody answers there, or somebody who is no SUT node.
    pub(super) fn ask(&self, address: &NodeAddress, timeout: Duration) -> anyhow::Result<FleetAnswer> {
        let mut config = Config::new(Peers::sut_nodes(vec![address.clone()], self.transport));
        config.call_timeout = timeout;
        config.tls = self.tls.clone();
        config.token = self.token.clone();
        config.lookup = self.lookup.clone();
        let qdl = Qdl::connect(config)?;
        qdl.nodes().first().map(answer).ok_or_else(|| anyhow!("no node is described"))
    }
}

fn answer(node: &NodeDescription) -> FleetAnswer {
    let build = node.build.as_ref();
    let text_of = |text: &str| Some(printable(text)).filter(|text| !text.is_empty());
    FleetAnswer {
        name: printable(&node.name),
        engine: printable(&node.engine),
        model: text_of(&node.model),
        version: build.and_then(|build| text_of(&build.version)),
        revision: build.and_then(|build| text_of(&build.revision)),
    }
}
