//! The messages, client and server of `lon.v1`, generated from `lon/v1/lon.proto`.
#![allow(missing_docs, unreachable_pub, clippy::all, clippy::pedantic, clippy::semicolon_if_nothing_returned)]

use std::fmt;

include!("gen/lon.v1.rs");

/// Shows a message without the secret in it, which must not come into any log.
macro_rules! debug_without_secret {
    ($message:ident, $($field:ident),*) => {
        impl fmt::Debug for $message {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($message))$(.field(stringify!($field), &self.$field))*.finish_non_exhaustive()
            }
        }
    };
}

debug_without_secret!(
    StartRunResponse,
    max_samples_in_flight,
    max_bytes_in_flight,
    max_sample_bytes,
    busy_samples,
    tenants
);
debug_without_secret!(TenantTerms, max_samples_in_flight, max_bytes_in_flight, max_sample_bytes, busy_samples);
debug_without_secret!(Open, run_id);
debug_without_secret!(FlushRequest, run_id, samples_sent);
debug_without_secret!(EndRunRequest, run_id);
debug_without_secret!(GetProbeCountersRequest, run_id);
debug_without_secret!(ProbePeerRequest, run_id, address, transport, connections, time_ns, max_bytes, repeats);
