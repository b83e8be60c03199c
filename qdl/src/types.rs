//! Types that callers give and get: samples, replies, and the sink that takes replies.

use std::time::{Duration, Instant};

use bytes::Bytes;
use lon_proto::stages::Stages;

/// The caller's name for a sample. It comes back with the reply and is never sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SampleId(pub u64);

/// Position of a node in the list the caller gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeIndex(pub usize);

/// One sample to send: opaque bytes under the caller's id.
#[derive(Clone, Debug)]
pub struct Sample {
    /// The caller's name for the sample, which comes back with its replies.
    pub id: SampleId,
    /// The bytes to send, as they are. Shared, not copied.
    pub payload: Bytes,
    /// Size of the sample before its codec, in bytes. For the counters only; it is never sent.
    pub tensor_bytes: u64,
}

/// The end of one sample, or its first token.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The sample that it replies to.
    pub id: SampleId,
    /// The node that had the sample; `None` when the sample failed before a node was chosen.
    pub node: Option<NodeIndex>,
    /// When the system call began that gave the sample's last byte to the kernel; over QUIC, when quinn took it.
    /// `None` when the sample was never sent in full.
    pub sent_at: Option<Instant>,
    /// When the reply's own bytes were complete; for answers with a codec, when they were inflated.
    pub at: Instant,
    /// A first token, an answer or a failure.
    pub outcome: Outcome,
}

/// The kinds of [`Reply`].
#[derive(Clone, Debug)]
pub enum Outcome {
    /// The first token of an answer that comes token by token. The sample goes on.
    FirstToken(Bytes),
    /// The answer. It ends the sample.
    Done(Answer),
    /// There will be no answer. It ends the sample.
    Failed(Failure),
}

/// A whole answer.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The bytes of the model's outputs: as the SUT sent them, or inflated.
    pub data: Bytes,
    /// Number of tokens; 0 when the SUT gave none.
    pub n_tokens: u64,
    /// Durations of the stages at the SUT, and of inflating here.
    pub stages: Stages,
}

/// Why a sample got no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The node answered with an error.
    #[error("refused by the node: {0}")]
    Refused(String),
    /// The answer cannot be used: it is cut off, empty, or not what it says it is.
    #[error("no usable answer: {0}")]
    Unusable(String),
    /// No answer within the response timeout.
    #[error("no answer within {0:?}")]
    TimedOut(Duration),
    /// The node that had it was lost.
    #[error("its node was lost")]
    NodeLost,
    /// Every node holds as much as it may: samples come faster than the nodes answer them.
    #[error("overload: every node has as much in flight as it takes")]
    Overload,
    /// All nodes were lost.
    #[error("no node is left")]
    NoNode,
    /// Its answer came with a codec and cannot be inflated.
    #[error("its answer cannot be inflated: {0}")]
    Inflate(String),
    /// The run ended before the sample was answered.
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
    /// Nothing came from the node for this long, not even a heartbeat.
    #[error("nothing was heard from it for {0:?}")]
    Silent(Duration),
    /// The node is there, but several samples in a row had no answer within the response timeout.
    #[error("it answers nothing: sample after sample got no answer within {0:?}")]
    Stalled(Duration),
    /// The node sent something that the wire contract does not allow.
    #[error("it broke the protocol: {0}")]
    Protocol(String),
}

/// A stretch in which a node, or the way to it, stood still: nothing came from it, not even a heartbeat, although this
/// end looked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stall {
    /// When something had come last.
    pub since: Instant,
    /// Time for which nothing came.
    pub length: Duration,
}

/// Takes the replies of a run. Its functions are called on I/O threads and on threads that inflate answers, so they
/// must be quick and must not block.
pub trait Sink: Send + Sync + 'static {
    /// Takes the replies. The caller clears `replies` afterwards and uses it again.
    fn replies(&self, replies: &mut Vec<Reply>);

    /// A node was lost. Its samples fail, each with a reply of its own.
    fn node_lost(&self, node: NodeIndex, failure: &NodeFailure);

    /// [`crate::Run::room`] was 0, and now it is not. Only under [`crate::Policy::Pull`].
    fn room(&self) {}

    /// Time has passed. Called about ten times a second, whether or not anything happened.
    fn tick(&self) {}
}
