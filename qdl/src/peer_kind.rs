//! Abilities of the kinds of nodes beyond answering samples.

/// Why servers of KServe's protocol have no counters.
pub const KSERVE_NO_COUNTERS: &str = "SUT counters not available: not a SUT node";

/// One kind of node: a SUT node, or a server of another protocol. Which kind is reached is a property of the transport
/// ([`crate::Carry::peer_kind`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerKind {
    /// Form of a sample's payload.
    pub payload: Payload,
    /// Why nodes of this kind have no counters to compare with; `None` when they have counters.
    pub no_counters: Option<&'static str>,
    /// Why nodes of this kind cannot be probed; `None` when they can.
    pub no_probe: Option<&'static str>,
    /// Nodes of this kind know codecs, for samples and for answers.
    pub has_codecs: bool,
    /// A request for the name carries a nonce, which the node returns.
    pub has_nonce: bool,
}

/// Form that a sample's payload must have for [`crate::Run::issue`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Payload {
    /// The sample as the dataset encodes it.
    Sample,
    /// The body of a ModelInfer request (KServe's protocol) without its id.
    KserveRequest,
}

impl PeerKind {
    /// SUT nodes: they speak `lon.v1`.
    pub const SUT_NODE: PeerKind =
        PeerKind { payload: Payload::Sample, no_counters: None, no_probe: None, has_codecs: true, has_nonce: true };

    /// Servers that speak KServe's protocol (Open Inference Protocol V2 over gRPC).
    pub const KSERVE_SERVER: PeerKind = PeerKind {
        payload: Payload::KserveRequest,
        no_counters: Some(KSERVE_NO_COUNTERS),
        no_probe: Some("KServe's protocol has no such call"),
        has_codecs: false,
        has_nonce: false,
    };
}
