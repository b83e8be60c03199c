//! The machine that a node runs on, as `Describe` and `EndRun` tell it.

pub(crate) mod ecc;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use lon_machine::host;
use lon_net::clock;

/// Time for which the node reports one reading of the machine before it reads again. A reading takes as long as
/// answering many samples, on a thread that answers samples.
const READ_INTERVAL: Duration = Duration::from_secs(10);

/// This machine, read now and then instead of at every question.
#[derive(Debug, Default)]
pub(crate) struct Machine(Mutex<Option<Reading>>);

/// Reading of the machine, and its time.
#[derive(Debug)]
struct Reading {
    at: Instant,
    machine: Arc<host::Machine>,
}

impl Machine {
    /// This machine as it was a short time ago.
    pub(crate) fn now(&self) -> Arc<host::Machine> {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &*last {
            Some(reading) if clock::since(reading.at) < READ_INTERVAL => Arc::clone(&reading.machine),
            _ => {
                let machine = Arc::new(host::Machine::here());
                *last = Some(Reading { at: clock::now(), machine: Arc::clone(&machine) });
                machine
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_questions_are_one_reading() {
        let machine = Machine::default();
        let first = machine.now();
        assert_eq!(*first, host::Machine::here());
        assert!((0..1000).all(|_| Arc::ptr_eq(&first, &machine.now())));
    }
}
