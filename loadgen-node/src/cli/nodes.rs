//! Which nodes, and how they are reached.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use lon_shell::choice::{Choice, one_of};
use qdl::{PeerKind, Transport};
use serde_json::Value;

use super::headings::{NETWORK, NODES};
use super::parse::duration;
use lon_run::exit::Outcome;
use lon_run::nodes::target::Target;
use lon_run::nodes::target_spec::TargetSpec;

/// The transport unless `--transport` says otherwise. SUT nodes serve all of theirs on one port.
pub(crate) const USUAL_TRANSPORT: Transport = Transport::GRPC;

/// Which nodes, and how they are reached.
#[derive(Args, Debug, Clone)]
pub(crate) struct DialArgs {
    /// host[:port][,host[:port]...], @FILE or dns:NAME:PORT.
    ///
    /// The port is 8000 unless given. @FILE has a node on each line. dns:NAME:PORT is every address of a name.
    ///
    /// host:8000-8127 is a node on each of these ports, as sut-node serve --nodes 128 makes
    /// them.
    ///
    /// With --transport kserve each has a name: NAME=host:port[,NAME=host:port...], or @FILE.
    #[arg(long, alias = "sut-server", value_name = "NODES", env = "LON_SUT", help_heading = NODES)]
    pub(crate) sut: String,
    #[command(flatten)]
    pub(crate) connection: ConnectionArgs,
}

/// The connection to the nodes: transport, security and time to wait.
#[derive(Args, Debug, Clone)]
pub(crate) struct ConnectionArgs {
    /// The transport of queries.
    #[arg(long, value_parser = one_of(transports()), default_value = USUAL_TRANSPORT.name(), env = "LON_TRANSPORT",
          help_heading = NETWORK)]
    pub(crate) transport: Transport,
    #[command(flatten)]
    pub(crate) security: SecurityArgs,
    /// The longest time to wait for nodes.
    ///
    /// They may not be there yet, or busy.
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "0s", env = "LON_WAIT_READY",
          help_heading = NODES)]
    pub(crate) wait_ready: Duration,
}

/// The names that servers of KServe's protocol are asked for: the model and its inputs.
#[derive(Args, Debug, Clone, Default)]
pub(crate) struct KserveArgs {
    /// The model that is asked, by the name that the nodes have for it: SUT nodes with several models
    /// (`sut-node serve --backend NAME=...`; their first one unless given), and servers of --transport kserve.
    #[arg(long, value_name = "NAME", env = "LON_MODEL", help_heading = NODES, hide_short_help = true)]
    pub(crate) model: Option<String>,
    /// --transport kserve: the names of the model's inputs in the order of a sample's tensors; needed when the server
    /// does not say, or says it in another order.
    #[arg(long = "kserve-inputs", value_name = "NAME", value_delimiter = ',', env = "LON_KSERVE_INPUTS",
          help_heading = NODES, hide_short_help = true)]
    pub(crate) inputs: Vec<String>,
}

/// The security of the connections: TLS, its certificates and keys, and the token for nodes.
#[derive(Args, Debug, Clone, Default)]
pub(crate) struct SecurityArgs {
    /// TLS for every transport: the CA's file (PEM).
    ///
    /// Certificates of nodes must be signed by it.
    #[arg(long, value_name = "FILE", env = "LON_TLS_CA", help_heading = NETWORK)]
    pub(crate) tls_ca: Option<PathBuf>,
    /// The certificate (PEM) to show to nodes that ask for one.
    #[arg(long, value_name = "FILE", env = "LON_TLS_CERT", help_heading = NETWORK, hide_short_help = true)]
    pub(crate) tls_cert: Option<PathBuf>,
    /// The certificate's private key (PEM).
    #[arg(long, value_name = "FILE", env = "LON_TLS_KEY", help_heading = NETWORK, hide_short_help = true)]
    pub(crate) tls_key: Option<PathBuf>,
    /// Do without TLS towards nodes on other hosts.
    ///
    /// For networks that you trust.
    #[arg(long, env = "LON_INSECURE", help_heading = NETWORK)]
    pub(crate) insecure: bool,
    /// The file with the token that nodes want to be shown (their --token-file): one line of 16 characters at least.
    #[arg(long, value_name = "FILE", env = "LON_TOKEN_FILE", help_heading = NETWORK, hide_short_help = true)]
    pub(crate) token_file: Option<PathBuf>,
    /// Read --tls-key and --token-file though others can read them, too.
    #[arg(long, env = "LON_ALLOW_OPEN_KEY_FILES", help_heading = NETWORK, hide_short_help = true)]
    pub(crate) allow_open_key_files: bool,
}

/// The values of `--transport`.
fn transports() -> [Choice<Transport>; Transport::ALL.len()] {
    Transport::ALL.map(|transport| (transport.name(), transport.help(), transport))
}

impl DialArgs {
    /// Returns the kind of nodes that the transport reaches, with its properties.
    pub(crate) fn kind(&self) -> PeerKind {
        self.connection.transport.peer_kind()
    }

    /// The nodes and how they are reached, checked. Files and names in `--sut` are read and resolved here.
    pub(crate) fn target(&self, kserve: &KserveArgs) -> Outcome<Target> {
        self.spec(kserve).open()
    }

    fn spec(&self, kserve: &KserveArgs) -> TargetSpec {
        let SecurityArgs { tls_ca, tls_cert, tls_key, insecure, token_file, allow_open_key_files } =
            self.connection.security.clone();
        TargetSpec {
            sut: self.sut.clone(),
            transport: self.connection.transport,
            tls_ca,
            tls_cert,
            tls_key,
            insecure,
            token_file,
            allow_open_key_files,
            wait_ready: self.connection.wait_ready,
            model: kserve.model.clone(),
            inputs: kserve.inputs.clone(),
        }
    }
}

impl ConnectionArgs {
    /// The flags that were given, each with its value.
    pub(crate) fn typed(&self) -> Vec<(&'static str, Value)> {
        let SecurityArgs { tls_ca, tls_cert, tls_key, insecure, token_file, allow_open_key_files } = &self.security;
        let files = [("tls-ca", tls_ca), ("tls-cert", tls_cert), ("tls-key", tls_key), ("token-file", token_file)];
        let absolute = |path: &PathBuf| std::path::absolute(path).unwrap_or_else(|_| path.clone());
        let files = files.into_iter().filter_map(|(flag, path)| Some((flag, absolute(path.as_ref()?))));
        let mut typed: Vec<(&'static str, Value)> =
            files.map(|(flag, path)| (flag, path.display().to_string().into())).collect();
        if self.transport != USUAL_TRANSPORT {
            typed.push(("transport", self.transport.name().into()));
        }
        let switches = [("insecure", *insecure), ("allow-open-key-files", *allow_open_key_files)];
        typed.extend(switches.into_iter().filter(|(_, is_set)| *is_set).map(|(flag, _)| (flag, true.into())));
        typed
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use qdl::{KserveServer, Peers};

    use crate::cli::{Cli, Command, RunArgs};

    fn run_args(more: &[&str]) -> RunArgs {
        let typed = ["loadgen-node", "run", "--benchmark", "digits", "--scenario", "Offline"];
        match Cli::parse_from(typed.iter().chain(more)).command {
            Command::Run(args) => *args,
            other => panic!("{other:?}"),
        }
    }

    fn parsed(more: &[&str]) -> Result<Peers, String> {
        let args = run_args(more);
        args.dial.spec(&args.kserve).peers().map_err(|error| format!("{error:#}"))
    }

    #[test]
    fn servers_have_names_and_a_model() {
        let typed = ["--transport", "kserve", "--model", "m", "--sut", "a=127.0.0.1:8001, b=[::1]"];
        let server = |name: &str, at: &str| KserveServer { name: name.to_owned(), address: at.parse().unwrap() };
        let servers = vec![server("a", "127.0.0.1:8001"), server("b", "[::1]:8000")];
        assert_eq!(parsed(&typed), Ok(Peers::kserve(servers, "m".to_owned())));
        assert!(parsed(&["--transport", "kserve", "--sut", "a=h:1"]).unwrap_err().contains("--model"));
        assert!(parsed(&["--sut", "h:1", "--kserve-inputs", "x"]).unwrap_err().contains("--kserve-inputs"));
        let node = || Ok(Peers::sut_nodes(vec!["h:1".parse().unwrap()], qdl::Transport::GRPC));
        assert_eq!([parsed(&["--sut", "h:1"]), parsed(&["--sut", "h:1", "--model", "m"])], [node(), node()]);
    }
}
