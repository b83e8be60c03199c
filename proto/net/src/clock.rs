//! The clock that both ends read, for waiting and for measuring.
//!
//! It is the system's monotonic clock, read as [`Instant::now`] reads it. On a runtime whose clock stands still (a
//! test's, see `tokio::time::pause`) it is that runtime's clock. So both ends can run in virtual time.

use std::time::{Duration, Instant};

/// The present time.
pub fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

/// The time that has passed since `then`; zero when that is still to come.
pub fn since(then: Instant) -> Duration {
    now().saturating_duration_since(then)
}
