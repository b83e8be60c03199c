//! Common part of two probes: each node of both, side by side.

use lon_run::outputs::documents::probe::NodeFabricDocument;
use lon_run::outputs::documents::probe::changes::ChangeKind;

/// The ways in which a fabric is filled, as they are called.
pub(super) const DIRECTIONS: [&str; 3] = ["up", "down", "both ways at once (sum)"];

/// Change of one goodput from one probe to the other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Judged {
    /// Mean of the repeats. `None` where there are none.
    pub(super) before_gbit_s: Option<f64>,
    pub(super) now_gbit_s: Option<f64>,
    /// Share by which the mean is higher than before. `None` where one of the two is missing.
    pub(super) change: Option<f64>,
    pub(super) interval: Option<[f64; 2]>,
    pub(super) kind: ChangeKind,
}

/// One node, or all nodes at once, of both probes.
pub(super) struct Pair<'a> {
    /// Name of the node. `None` for all nodes at once.
    pub(super) node: Option<&'a str>,
    /// Up, down and both.
    pub(super) judged: [Judged; 3],
    /// Both ends before and now; none for all nodes at once.
    pub(super) ends: Option<(&'a NodeFabricDocument, &'a NodeFabricDocument)>,
}

/// One transport of both probes.
pub(super) struct Compared<'a> {
    pub(super) transport: &'a str,
    pub(super) nodes: Vec<Pair<'a>>,
    /// All nodes at once. `None` with one node: `nodes` says all of it then.
    pub(super) together: Option<Pair<'a>>,
}
