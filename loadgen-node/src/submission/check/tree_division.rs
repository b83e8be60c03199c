//! The divisions that a tree has folders for, and in what the rules for their results differ.

use super::super::division::SubmissionDivision;

/// A folder at the top of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TreeDivision {
    /// The SUT and LoadGen are one system.
    Closed,
    /// The SUT is reached over a network.
    Network,
    /// Models, scores and scenarios are the submitter's.
    Open,
}

impl TreeDivision {
    /// The divisions that the official checker looks at; it passes over any other folder.
    pub(super) const ALL: [TreeDivision; 3] = [TreeDivision::Closed, TreeDivision::Network, TreeDivision::Open];

    /// The name of its folder.
    pub(super) fn name(self) -> &'static str {
        match self {
            TreeDivision::Closed => "closed",
            TreeDivision::Network => SubmissionDivision::Network.name(),
            TreeDivision::Open => SubmissionDivision::Open.name(),
        }
    }

    /// True where results can be compared with each other: the round prescribes scores, scenarios and compliance tests.
    pub(super) fn is_comparable(self) -> bool {
        self != TreeDivision::Open
    }

    /// True where its systems are networked; none: they are or are not.
    pub(super) fn is_networked(self) -> Option<bool> {
        match self {
            TreeDivision::Closed => Some(false),
            TreeDivision::Network => Some(true),
            TreeDivision::Open => None,
        }
    }
}
