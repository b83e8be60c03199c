//! The identity of a run at a node: an id and a secret. Others see a short hash of the id. Only the client that claimed
//! the node has the secret.

use std::fmt;

use bytes::Bytes;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use crate::v1::{EndRunRequest, FlushRequest, GetProbeCountersRequest, Open, ProbePeerRequest};

/// Bytes of the hash of a run's id that are shown.
const SHOWN_BYTES: usize = 4;

/// The proof that a run belongs to a client, which the client shows to the node. The node gives the secret to the
/// client that claims it.
///
/// Neither its `Debug` nor [`RunPass::name`] contains the secret.
#[derive(Clone)]
pub struct RunPass {
    run_id: Bytes,
    secret: Bytes,
}

impl RunPass {
    /// The pass of the run with this id. Their lengths are checked by whoever got them from the other end.
    pub fn new(run_id: Bytes, secret: Bytes) -> RunPass {
        RunPass { run_id, secret }
    }

    /// The secret, for the answer to the client that claimed the node, and for nobody else.
    pub fn secret(&self) -> &Bytes {
        &self.secret
    }

    /// Returns true when the id and the secret are those of the run: then the sender is the client of the run. The time
    /// of the comparison does not depend on how many of the bytes are right.
    pub fn admits(&self, run_id: &[u8], secret: &[u8]) -> bool {
        (self.run_id.ct_eq(run_id) & self.secret.ct_eq(secret)).into()
    }

    /// Returns the name under which people see the run, the same at both ends.
    pub fn name(&self) -> String {
        run_name(&self.run_id)
    }

    /// The first message of a stream.
    pub fn open(&self) -> Open {
        Open { run_id: self.run_id.clone(), secret: self.secret.clone() }
    }

    /// Asks the node to answer all of the samples that it was sent.
    pub fn flush(&self, samples_sent: u64) -> FlushRequest {
        FlushRequest { run_id: self.run_id.clone(), samples_sent, secret: self.secret.clone() }
    }

    /// Ends the run.
    pub fn end_run(&self) -> EndRunRequest {
        EndRunRequest { run_id: self.run_id.clone(), secret: self.secret.clone() }
    }

    /// Asks what the node's end of a probe has spent and counted.
    pub fn probe_counters(&self) -> GetProbeCountersRequest {
        GetProbeCountersRequest { run_id: self.run_id.clone(), secret: self.secret.clone() }
    }

    /// Asks the node to probe another one; `order` says which and how, its id and secret are filled in.
    pub fn probe_peer(&self, order: ProbePeerRequest) -> ProbePeerRequest {
        ProbePeerRequest { run_id: self.run_id.clone(), secret: self.secret.clone(), ..order }
    }
}

impl fmt::Debug for RunPass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RunPass({})", self.name())
    }
}

/// Returns the name under which people see a run: the first eight hexadecimal digits of the SHA-256 of its id. The name
/// gives no access to the run.
pub fn run_name(run_id: &[u8]) -> String {
    hex::encode(&Sha256::digest(run_id)[..SHOWN_BYTES])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::{RUN_ID_BYTES, SECRET_BYTES};
    use crate::v1::{DispatchRequest, StartRunResponse};

    fn pass() -> RunPass {
        RunPass::new(Bytes::from(vec![0xA1; RUN_ID_BYTES]), Bytes::from(vec![0xB2; SECRET_BYTES]))
    }

    #[test]
    fn only_the_id_and_the_secret_together_admit() {
        let (pass, other) = (pass(), [0; SECRET_BYTES]);
        let Open { run_id, secret } = pass.open();
        assert!(pass.admits(&run_id, &secret));
        for (run_id, secret) in [
            (&run_id[..], &other[..]),
            (&run_id[..], &[]),
            (&run_id[..], &run_id[..]),
            (&run_id[..], &secret[..SECRET_BYTES - 1]),
            (&other[..RUN_ID_BYTES], &secret[..]),
            (&[], &[]),
        ] {
            assert!(!pass.admits(run_id, secret), "{run_id:?} {secret:?}");
        }
    }

    #[test]
    fn no_text_has_the_secret_or_the_id() {
        let pass = pass();
        let secret = pass.secret().clone();
        let open = DispatchRequest { open: Some(pass.open()), ..DispatchRequest::default() };
        let answer = StartRunResponse { secret, ..StartRunResponse::default() };
        let peer = pass.probe_peer(ProbePeerRequest::default());
        let calls = format!("{:?} {:?} {peer:?}", pass.flush(7), pass.probe_counters());
        let texts = [format!("{pass:?}"), format!("{open:?} {:?}", pass.end_run()), format!("{answer:?}"), calls];
        for text in &texts {
            assert!(!text.contains("178, 178") && !text.contains("\\xb2") && !text.contains("b2b2"), "{text}");
        }
        assert_eq!((pass.name().len(), pass.name()), (2 * SHOWN_BYTES, run_name(&[0xA1; RUN_ID_BYTES])));
        assert!(!pass.name().contains("a1a1"), "{}", pass.name());
    }
}
