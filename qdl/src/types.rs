//! What goes in and what comes out: samples, replies, and the sink that takes them.

use std::time::{Duration, Instant};

use bytes::Bytes;
use lon_proto::stages::Stages;

/// The caller's name for a sample; comes back with its reply and never crosses the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SampleId(pub u64);

/// Position of a node in the list the caller gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeIndex(pub usize);

/// One sample to send: opaque bytes under the caller's id.
#[derive(Clone, Debug)]
pub struct Sample {
    /// Comes back with the reply.
    pub id: SampleId,
    /// Sent as they are; shared, not copied.
    pub payload: Bytes,
    /// Bytes of the sample before its codec: counted, and never sent.
    pub tensor_bytes: u64,
}

/// What became of one sample, or the first token of it.
#[derive(Clone, Debug)]
pub struct Reply {
    /// Which sample.
    pub id: SampleId,
    /// Which node had it; none when it was refused before a node was chosen.
    pub node: Option<NodeIndex>,
    /// When the call that handed its last byte to the kernel began, if it ever did; over QUIC, when quinn took it.
    pub sent_at: Option<Instant>,
    /// When the reply's own bytes were complete, and inflated if the SUT compresses its answers.
    pub at: Instant,
    /// What it is.
    pub outcome: Outcome,
}

/// The kinds of [`Reply`].
#[derive(Clone, Debug)]
pub enum Outcome {
    /// First token of a streamed answer. Does not end the sample.
    FirstToken(Bytes),
    /// The answer. Ends the sample.
    Done(Answer),
    /// There will be no answer. Ends the sample.
    Failed(Failure),
}

/// A whole answer.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The outputs' bytes: as the SUT sent them, or inflated.
    pub data: Bytes,
    /// Number of tokens; 0 when the SUT gave none.
    pub n_tokens: u64,
    /// Where the time went at the SUT, and here to inflate it.
    pub stages: Stages,
}

/// Why a sample got no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The node said so.
    #[error("refused by the node: {0}")]
    Refused(String),
    /// What came is no answer: cut off, empty, or not what it says it is.
    #[error("no usable answer: {0}")]
    Unusable(String),
    /// No answer within the response timeout.
    #[error("no answer within {0:?}")]
    TimedOut(Duration),
    /// Its node was lost.
    #[error("its node was lost")]
    NodeLost,
    /// All nodes hold as much as they may: the target rate is beyond what they can take.
    #[error("overload: every node has as much in flight as it takes")]
    Overload,
    /// No node is left.
    #[error("no node is left")]
    NoNode,
    /// Its answer came, in a codec, and is not what an encoder made.
    #[error("its answer cannot be inflated: {0}")]
    Inflate(String),
    /// It was given up: the run ended before it was answered.
    #[error("the run ended first")]
    RunEnded,
}

/// Why a node is no longer used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NodeFailure {
    /// The connection or the stream ended.
    #[error("the connection failed: {0}")]
    Connection(String),
    /// The node ended its stream in the middle of the run.
    #[error("it ended the stream: {0}")]
    Ended(String),
    /// Nothing was heard, not even a heartbeat.
    #[error("nothing was heard from it for {0:?}")]
    Silent(Duration),
    /// It is there, but sample after sample runs into the response timeout.
    #[error("it answers nothing: sample after sample got no answer within {0:?}")]
    Stalled(Duration),
    /// It sent what the wire contract does not allow.
    #[error("it broke the protocol: {0}")]
    Protocol(String),
}

/// Takes replies. Called on I/O threads and on those that inflate answers, so it must be quick and must not block.
pub trait Sink: Send + Sync + 'static {
    /// Takes everything out of `replies`, which is used again.
    fn replies(&self, replies: &mut Vec<Reply>);

    /// A node is lost; the replies of its samples (failed) come separately.
    fn node_lost(&self, node: NodeIndex, failure: &NodeFailure);

    /// The backlog of [`crate::Run::issue`] has room again (only under [`crate::Policy::Pull`]).
    fn room(&self) {}

    /// Nothing happened, but some time has passed: comes about ten times a second.
    fn tick(&self) {}
}
