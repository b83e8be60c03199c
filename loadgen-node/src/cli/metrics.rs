//! The flags of `run` about metrics.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use lon_shell::metrics::port::MetricsPort;

use super::headings::OUTPUT;
use super::nodes::SecurityArgs;
use super::parse::duration;
use crate::display::metrics::options::MetricsOptions;
use lon_run::exit::{Exit, OrExit as _, Outcome};

/// Where metrics go.
#[derive(Args, Debug, Clone, Default)]
pub(crate) struct MetricsArgs {
    /// Serve metrics of the run at http://HOST:PORT/metrics, as OpenMetrics text for Prometheus.
    ///
    /// Over TLS with --tls-cert and --tls-key, and then only to clients with a certificate of --tls-ca, if that is
    /// given. Plain text stays on this host unless --insecure is given.
    #[arg(long, value_name = "HOST:PORT", env = "LON_METRICS_LISTEN", help_heading = OUTPUT, hide_short_help = true)]
    pub(crate) metrics_listen: Option<String>,
    /// The time for which --metrics-listen goes on after the end of the run, so that its last numbers are read.
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "0s", requires = "metrics_listen",
          env = "LON_METRICS_GRACE", help_heading = OUTPUT, hide_short_help = true)]
    pub(crate) metrics_grace: Duration,
    /// Write the metrics of the run into this file when it is over, as OpenMetrics text. It may be there already.
    #[arg(long, value_name = "FILE", env = "LON_METRICS_FILE", help_heading = OUTPUT, hide_short_help = true)]
    pub(crate) metrics_file: Option<PathBuf>,
}

impl MetricsArgs {
    /// Returns the options that the flags ask for. The port is open from here on.
    ///
    /// # Errors
    /// The port cannot be had, or plain text would leave this host (exit code 2).
    pub(crate) fn options(&self, security: &SecurityArgs) -> Outcome<MetricsOptions> {
        let bind = |listen: &String| {
            let SecurityArgs { tls_ca, tls_cert, tls_key, insecure, allow_open_key_files, .. } = security;
            // Without a certificate to show there is no TLS: --tls-ca is for the nodes then.
            let has_certificate = tls_cert.is_some();
            let ca = tls_ca.as_ref().filter(|_| has_certificate);
            let files = lon_shell::tls::files(ca, tls_cert.as_ref(), tls_key.as_ref(), *allow_open_key_files);
            let tls = lon_shell::tls::server(&files, &[]).or_exit(Exit::Usage)?;
            MetricsPort::bind(listen, tls, *insecure).or_exit(Exit::Usage)
        };
        let port = self.metrics_listen.as_ref().map(bind).transpose()?;
        Ok(MetricsOptions { port, grace: self.metrics_grace, file: self.metrics_file.clone() })
    }
}
