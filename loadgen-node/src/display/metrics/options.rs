//! Where metrics go: a port that is asked, a file at the end, or both.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::{Duration, Instant};

use lon_shell::metrics::port::MetricsPort;
use lon_shell::metrics::server::MetricsServer;

use super::Boards;

/// Interval between two checks whether the time after a run is to end early.
const LOOK: Duration = Duration::from_millis(50);

/// Metrics that are asked for. Nothing, by default.
#[derive(Debug, Default)]
pub(crate) struct MetricsOptions {
    /// The port on which metrics are served.
    pub(crate) port: Option<MetricsPort>,
    /// Time for which the port stays open after the end of the run.
    pub(crate) grace: Duration,
    /// The file that has the metrics when the run is over.
    pub(crate) file: Option<PathBuf>,
}

/// Metrics while they are served.
#[derive(Debug)]
pub(crate) struct Metrics {
    server: Option<MetricsServer>,
    grace: Duration,
    file: Option<PathBuf>,
    boards: Boards,
}

impl MetricsOptions {
    /// Serves what is put on the boards from now on.
    ///
    /// # Errors
    /// There is no thread for it.
    pub(crate) fn start(self, boards: Boards) -> std::io::Result<Metrics> {
        let MetricsOptions { port, grace, file } = self;
        let server = port.map(|port| MetricsServer::start(port, boards.metrics())).transpose()?;
        if let Some(server) = &server {
            tracing::info!(address = %server.address(), "metrics are served at /metrics");
        }
        Ok(Metrics { server, grace, file, boards })
    }
}

impl Metrics {
    /// The file that is to be written, and its text; none where no file is wanted.
    pub(crate) fn file(&self) -> Option<(PathBuf, String)> {
        let file = self.file.clone()?;
        // Nothing of a run can make encoding fail.
        let text = self.boards.metrics().open_metrics().unwrap_or_default();
        Some((file, text))
    }

    /// Serves for the time that was asked for, or until `stop` turns true. Then the port is closed.
    pub(crate) fn end(self, stop: &Arc<AtomicBool>) {
        let until = Instant::now() + self.grace;
        if self.server.is_some() && !self.grace.is_zero() {
            tracing::info!(grace_ms = self.grace.as_millis(), "metrics are served a while longer");
        }
        while self.server.is_some() && Instant::now() < until && !stop.load(SeqCst) {
            std::thread::sleep(LOOK.min(until.saturating_duration_since(Instant::now())));
        }
    }
}
