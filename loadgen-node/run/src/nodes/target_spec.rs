//! The nodes that are asked for, as plain values: names and files are not looked at yet.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, anyhow, bail};
use lon_net::token::Token;
use qdl::{KserveServer, Payload, Peers, Transport};

use super::target::Target;
use super::targets;
use crate::exit::{Exit, OrExit as _, Outcome};

/// Which nodes, and how they are reached, by the flags that ask for it.
#[derive(Clone, Debug)]
pub struct TargetSpec {
    /// The nodes, as `--sut` takes them.
    pub sut: String,
    /// The transport of queries.
    pub transport: Transport,
    /// The file of the CA that signs the certificates of nodes.
    pub tls_ca: Option<PathBuf>,
    /// The certificate to show to nodes that ask for one.
    pub tls_cert: Option<PathBuf>,
    /// The private key of the certificate.
    pub tls_key: Option<PathBuf>,
    /// Nodes on other hosts are reached without TLS.
    pub insecure: bool,
    /// The file with the token that nodes want to be shown.
    pub token_file: Option<PathBuf>,
    /// Keys and tokens are read though others can read them, too.
    pub allow_open_key_files: bool,
    /// The longest time to wait for nodes.
    pub wait_ready: Duration,
    /// The model that is asked, where nodes have several.
    pub model: Option<String>,
    /// The names of the model's inputs, for servers of KServe's protocol.
    pub inputs: Vec<String>,
}

impl TargetSpec {
    /// The nodes and how they are reached, checked. Files are read and names are resolved here.
    ///
    /// # Errors
    /// A name, a file or a combination that cannot be used. The exit code is 2.
    pub fn open(&self) -> Outcome<Target> {
        let peers = self.peers().context("--sut").or_exit(Exit::Usage)?;
        let (ca, cert, key) = (self.tls_ca.as_ref(), self.tls_cert.as_ref(), self.tls_key.as_ref());
        let files = lon_shell::tls::files(ca, cert, key, self.allow_open_key_files);
        let tls = lon_shell::tls::client(&files).or_exit(Exit::Usage)?;
        Ok(Target {
            peers,
            model: self.model.clone().filter(|_| !self.is_kserve()),
            inputs: self.inputs.clone(),
            tls,
            token: self.token().or_exit(Exit::Usage)?,
            allows_plain_text: self.insecure,
            wait_ready: self.wait_ready,
            written: self.sut.clone(),
        })
    }

    fn is_kserve(&self) -> bool {
        self.transport.peer_kind().payload == Payload::KserveRequest
    }

    /// Returns the token for nodes that want one.
    fn token(&self) -> anyhow::Result<Option<Token>> {
        let Some(file) = &self.token_file else { return Ok(None) };
        if self.is_kserve() {
            bail!("--token-file is for SUT nodes, not for --transport kserve");
        }
        Ok(Some(Token::read(file, self.allow_open_key_files)?))
    }

    /// With transport kserve nodes have names (`NAME=host:port`), and there is a model. Other transports want neither.
    ///
    /// # Errors
    /// No node, an address that is none, or names and a model that do not suit the transport.
    pub fn peers(&self) -> anyhow::Result<Peers> {
        if !self.is_kserve() {
            if !self.inputs.is_empty() {
                bail!("--kserve-inputs is for --transport kserve");
            }
            return Ok(Peers::sut_nodes(targets::parse(&self.sut)?, self.transport));
        }
        let model = self.model.clone().filter(|model| !model.is_empty());
        let needs = "--transport kserve needs --model NAME: the name that the server knows it by";
        let model = model.ok_or_else(|| anyhow!(needs))?;
        let servers = targets::parse_named(&self.sut)?;
        let servers = servers.into_iter().map(|(name, address)| KserveServer { name, address });
        Ok(Peers::kserve(servers.collect(), model))
    }
}
