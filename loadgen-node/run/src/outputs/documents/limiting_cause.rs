//! Cause that limited a run: a part of `result_summary.json`.

use serde::{Deserialize, Serialize};

use super::parts::to_thousandths;
use crate::network::cause::{Evidence, Route};
use crate::verdict::limiting_cause::Bound;

/// The cause that held a run back, and the measures of each cause. Shares are of the time in which samples were
/// timed, to a thousandth; of several nodes it is the largest.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct BoundDocument {
    /// `link`, `node`, `window` (the samples, or the bytes over HTTP/2, that a node takes at once), `loadgen_host` or
    /// `not_known`; null where nothing held the run back, or nothing was judged.
    pub cause: Option<String>,
    /// Measurement of the cause, in words, with the number that would fit.
    pub why: Option<String>,
    /// Share in which writes to a node waited for room.
    pub writes_blocked: f64,
    /// Share in which the sockets to a node were full.
    pub sockets_full: f64,
    /// Share of the time in which the kernel had something to send and a node's receive window kept it from sending.
    pub receiver_limited: f64,
    /// Share in which the node's HTTP/2 window kept samples from a socket that had room.
    pub http2_window_full: f64,
    /// Share in which a node was given no more samples because it takes no more.
    pub window_full: f64,
    /// Share in which a thread that issues or carries samples waited for a core; null where the system does not say.
    pub threads_waited: Option<f64>,
    /// The same and the time in which it ran; null where the system does not say, or that thread spins.
    pub threads_restless: Option<f64>,
    /// Samples a second that the links carry, by what the sockets took while they were full, or the probe; null where
    /// that is not known.
    pub links_fit_per_s: Option<f64>,
}

impl BoundDocument {
    pub(super) fn new(bound: Option<&Bound>, evidence: &Evidence) -> BoundDocument {
        let most = |of: fn(&Route) -> f64| to_thousandths(evidence.routes.iter().map(of).fold(0.0, f64::max));
        BoundDocument {
            cause: bound.map(|bound| bound.cause.name().to_owned()),
            why: bound.map(|bound| bound.why.clone()),
            writes_blocked: most(|route| route.blocked),
            sockets_full: most(|route| route.full),
            receiver_limited: most(|route| route.receiver),
            http2_window_full: most(|route| route.http2_window_full),
            window_full: most(|route| route.window_full),
            threads_waited: evidence.host.map(|host| to_thousandths(host.waited)),
            threads_restless: evidence.host.and_then(|host| host.restless).map(to_thousandths),
            links_fit_per_s: evidence.fits_per_s(),
        }
    }

    /// As a line: the cause and what was measured of it.
    pub(crate) fn text(&self) -> Option<String> {
        let cause = match self.cause.as_deref()? {
            "link" => "the link",
            "node" => "the SUT nodes",
            "window" => "the window of the SUT nodes",
            "loadgen_host" => "the LoadGen node's host",
            _ => "not known",
        };
        Some(format!("{cause}: {}", self.why.as_deref().unwrap_or_default()))
    }
}
