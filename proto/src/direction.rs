//! Which way bytes go between the two ends.

use std::fmt;

/// Which way bytes go, seen from the SUT as the MLPerf Inference rules (Network division) see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Towards the SUT: samples.
    Ingress,
    /// Back from the SUT: answers.
    Egress,
}

impl Direction {
    /// Both directions, in the order in which reports list them.
    pub const ALL: [Direction; 2] = [Direction::Ingress, Direction::Egress];

    /// The word of the rules and of all reports: `ingress` or `egress`.
    pub const fn name(self) -> &'static str {
        match self {
            Direction::Ingress => "ingress",
            Direction::Egress => "egress",
        }
    }
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
