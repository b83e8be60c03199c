//! A test from its first contact with the nodes to its end.

use super::connected::Connected;
use super::finished::Finished;
use super::test::Test;
use crate::exit::Outcome;
use crate::signals::StopRequests;
use loadgen::run::Observer;

impl Test {
    /// Reaches the nodes, and checks that they take the samples.
    ///
    /// # Errors
    /// A node cannot be reached (exit code 4), or its model does not fit (exit code 2).
    pub fn connect(self) -> Outcome<Connected> {
        Connected::new(self)
    }

    /// The whole test: reaches the nodes, probes the fabric if that is wanted, runs, and gathers what is known
    /// afterwards. `observer` sees the answers for the accuracy log; `()` takes no notice of them.
    ///
    /// # Errors
    /// The nodes cannot be reached, do not fit or cannot be claimed. A test that has begun always finishes; how it
    /// ended is in what it returns.
    pub fn run(self, stop: &dyn StopRequests, observer: &mut impl Observer) -> Outcome<Finished> {
        self.verify(&|_, _| {})?;
        let mut connected = self.connect()?;
        connected.probe_if_wanted(stop)?;
        Ok(connected.claim(stop)?.measure(observer).finish())
    }
}
