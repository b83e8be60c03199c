//! A fleet whose values are checked, and whose defaults are filled in.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use lon_net::address::NodeAddress;
use lon_net::lookup::{Lookup, stays_on_host};
use lon_net::token::Token;
use lon_proto::files;
use lon_proto::node_name::NodeName;
use lon_proto::text::few;
use lon_shell::tls;
use qdl::Transport;
use toml::Table;

use super::dial::Dial;
use super::file::{FleetFile, NodeTable, Reach};
use super::file_copy::CopiedFile;
use super::{secrets, value_checks};

/// Stands for the folder of a node on its host.
pub(crate) const FOLDER: &str = "{folder}";
/// More nodes than this are a slip.
const MAX_NODES: usize = 4096;

/// The nodes of a file, and how they and their hosts are reached.
#[derive(Clone, Debug)]
pub(crate) struct Fleet {
    /// Words of the command that runs a line of shell on a host.
    pub(super) ssh: Vec<String>,
    pub(super) timeout: Duration,
    pub(super) ready_timeout: Duration,
    pub(super) stop_timeout: Duration,
    pub(super) parallel: usize,
    reach: Reach,
    pub(crate) nodes: Vec<Node>,
}

/// One of the nodes, with its defaults.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) name: NodeName,
    pub(crate) host: String,
    pub(crate) address: NodeAddress,
    /// Address on which the node listens, HOST:PORT.
    pub(super) listen: String,
    /// The program, where the node is one that `serve` starts.
    pub(super) program: Option<String>,
    /// The folder on its host.
    pub(super) folder: String,
    /// The name of its files, without an ending.
    pub(super) stem: String,
    /// The words that start it.
    pub(super) command: Vec<String>,
}

impl Node {
    /// The file of its log on its host.
    pub(super) fn log(&self) -> String {
        format!("{}/{}.log", self.folder, self.stem)
    }

    /// A file of this content on its host, which nodes of the same folder share.
    pub(super) fn copy(&self, copied: &CopiedFile) -> String {
        format!("{}/{}", self.folder, copied.place())
    }

    /// The file with its process on its host.
    pub(super) fn pid(&self) -> String {
        format!("{}/{}.pid", self.folder, self.stem)
    }
}

impl Fleet {
    /// Reads and checks a file.
    ///
    /// # Errors
    /// It cannot be read, is no TOML, has a secret or a key that is not known in it, or a value that cannot be used;
    /// the text names the key and what to write instead.
    pub(crate) fn read(path: &Path) -> Result<Fleet> {
        let path_text = || path.display().to_string();
        let text = files::user_text(path).with_context(|| {
            format!("cannot read {} (`loadgen-node fleet init FILE` writes one to fill in)", path.display())
        })?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let folder = std::path::absolute(if folder.as_os_str().is_empty() { Path::new(".") } else { folder });
        Fleet::of(&text, &folder.with_context(path_text)?).with_context(path_text)
    }

    /// The nodes with these names alone, in the order of the file.
    ///
    /// # Errors
    /// A name that no node has.
    pub(crate) fn only(mut self, names: &[String]) -> Result<Fleet> {
        let has_node = |name: &&String| self.nodes.iter().any(|node| node.name.as_ref() == name.as_str());
        if let Some(name) = names.iter().find(|name| !has_node(name)) {
            let all: Vec<&str> = self.nodes.iter().map(|node| node.name.as_ref()).collect();
            bail!("--only {name}: there is no such node; there are {}", few(&all, ", "));
        }
        self.nodes.retain(|node| names.is_empty() || names.iter().any(|name| name == node.name.as_ref()));
        Ok(self)
    }

    /// The same nodes, started with more flags of `sut-node serve`, in which `{folder}` stands for a node's folder.
    ///
    /// # Errors
    /// A node has a command of its own, or a flag has characters that are not seen.
    pub(crate) fn with_flags(&self, flags: &[String]) -> Result<Fleet> {
        value_checks::visible("flags", flags)?;
        let mut fleet = self.clone();
        for node in &mut fleet.nodes {
            let name = &node.name;
            ensure!(node.program.is_some(), "[[node]] {name}: its own `command` takes no flags of a campaign");
            node.command.extend(flags.iter().map(|flag| flag.replace(FOLDER, &node.folder)));
        }
        Ok(fleet)
    }

    /// The addresses of the nodes, as `--sut` takes them.
    pub(crate) fn addresses(&self) -> String {
        self.nodes.iter().map(|node| node.address.to_string()).collect::<Vec<_>>().join(",")
    }

    /// The flags that `loadgen-node run` reaches the nodes with. None of the words needs quotes.
    ///
    /// # Errors
    /// A path that a shell would break in two or replace.
    pub(crate) fn run_flags(&self) -> Result<Vec<String>> {
        let mut flags = vec!["--sut".to_owned(), self.addresses()];
        let Reach { tls_ca, tls_cert, tls_key, token_file, insecure, allow_open_key_files } = &self.reach;
        let paths = [("--tls-ca", tls_ca), ("--tls-cert", tls_cert), ("--tls-key", tls_key)];
        for (flag, path) in paths.into_iter().chain([("--token-file", token_file)]) {
            flags.extend(path.iter().flat_map(|path| [flag.to_owned(), path.display().to_string()]));
        }
        for (flag, is_set) in [("--insecure", insecure), ("--allow-open-key-files", allow_open_key_files)] {
            flags.extend(is_set.then(|| flag.to_owned()));
        }
        // IPv6 addresses have brackets, which a shell takes for a pattern; one that fits no file is left as it is.
        let is_plain = |c: char| c.is_alphanumeric() || "-._:,/@%+=[]".contains(c);
        match flags.iter().find(|word| !word.chars().all(is_plain)) {
            Some(word) => Err(anyhow!("[reach] '{word}' cannot be pasted: a shell breaks such a path, take another")),
            None => Ok(flags),
        }
    }

    /// Returns the settings by which the nodes are dialled from here.
    ///
    /// # Errors
    /// Files of `[reach]` that cannot be used.
    pub(super) fn dial(&self, transport: Transport) -> Result<Dial> {
        let Reach { tls_ca, tls_cert, tls_key, token_file, allow_open_key_files, .. } = &self.reach;
        let files = tls::files(tls_ca.as_ref(), tls_cert.as_ref(), tls_key.as_ref(), *allow_open_key_files);
        let tls = tls::client(&files).context("[reach]")?;
        let token = token_file.as_ref().map(|file| Token::read(file, *allow_open_key_files));
        let stays_here = tls.is_none() && !self.reach.insecure;
        let lookup = if stays_here { Lookup::on_this_host() } else { Lookup::anywhere() };
        Ok(Dial { tls, token: token.transpose().context("[reach]")?, lookup, transport })
    }

    fn of(text: &str, folder: &Path) -> Result<Fleet> {
        let table: Table = text.parse().map_err(|error: toml::de::Error| located(text, &error))?;
        secrets::refuse(&table)?;
        let file: FleetFile = toml::from_str(text).map_err(|error| located(text, &error))?;
        let ssh = value_checks::ssh(&file.ssh)?;
        ensure!(!file.node.is_empty(), "there is no [[node]]");
        ensure!(file.node.len() <= MAX_NODES, "there are {} nodes, more than {MAX_NODES}", file.node.len());
        let node = |table: &NodeTable| {
            Node::of(&file, table).with_context(|| format!("[[node]] {}", lon_proto::text::printable(&table.name)))
        };
        let nodes: Vec<Node> = file.node.iter().map(node).collect::<Result<_>>()?;
        for (at, node) in nodes.iter().enumerate() {
            let before = &nodes[..at];
            ensure!(!before.iter().any(|other| other.name == node.name), "[[node]] {} is there twice", node.name);
            let other = before.iter().find(|other| other.address == node.address);
            ensure!(other.is_none(), "[[node]] {}: {} is another node's address, too", node.name, node.address);
        }
        let reach = reach(&file.reach, folder, &nodes)?;
        Ok(Fleet {
            ssh,
            timeout: value_checks::duration("timeout", &file.timeout)?,
            ready_timeout: value_checks::duration("ready-timeout", &file.ready_timeout)?,
            stop_timeout: value_checks::duration("stop-timeout", &file.stop_timeout)?,
            parallel: value_checks::parallel(file.parallel)?,
            reach,
            nodes,
        })
    }
}

impl Node {
    fn of(file: &FleetFile, table: &NodeTable) -> Result<Node> {
        let name: NodeName = table.name.parse()?;
        value_checks::host(&table.host)?;
        let address = address(table)?;
        let listen = table.listen.clone().unwrap_or_else(|| listen(&address));
        let folder = table.folder.as_ref().unwrap_or(&file.folder).trim_end_matches('/').to_owned();
        value_checks::path("folder", &folder)?;
        let program = table.program.as_ref().unwrap_or(&file.program);
        value_checks::path("program", program)?;
        let own = table.command.as_ref().or(file.command.as_ref());
        ensure!(own.is_none_or(|command| !command.is_empty()), "command is empty");
        let placeholders = [
            ("{name}", table.name.clone()),
            ("{host}", table.host.clone()),
            ("{address}", address.to_string()),
            ("{listen}", listen.clone()),
            ("{port}", address.port().to_string()),
        ];
        let usual = || {
            // A name may begin with a hyphen.
            let first = ["serve", "--listen={listen}", "--node={name}"].map(str::to_owned);
            std::iter::once(program.clone())
                .chain(first)
                .chain([&file.serve, &table.serve].into_iter().flatten().cloned())
        };
        let arguments: Vec<String> = own.cloned().unwrap_or_else(|| usual().collect());
        let mut command = variables(&file.env, &table.env)?;
        command.extend(arguments.iter().map(|word| filled(word, &placeholders)));
        value_checks::visible("command", &command)?;
        Ok(Node {
            stem: value_checks::stem(&table.name)?,
            program: own.is_none().then(|| program.clone()),
            host: table.host.clone(),
            name,
            address,
            listen,
            folder,
            command,
        })
    }
}

/// The first words of a command that sets variables.
fn variables(all: &BTreeMap<String, String>, own: &BTreeMap<String, String>) -> Result<Vec<String>> {
    let merged: BTreeMap<&String, &String> = all.iter().chain(own).collect();
    merged.keys().try_for_each(|name| value_checks::variable(name))?;
    let assignments = merged.iter().map(|(name, value)| format!("{name}={value}"));
    Ok(if merged.is_empty() { Vec::new() } else { std::iter::once("env".to_owned()).chain(assignments).collect() })
}

/// The word with what is known in place of its placeholders. What came from one of them is not looked at again.
fn filled(word: &str, placeholders: &[(&str, String)]) -> String {
    let mut output = String::new();
    let mut tail = word;
    while let Some(at) = tail.find('{') {
        let (before, from) = tail.split_at(at);
        output.push_str(before);
        let pair = placeholders.iter().find(|(placeholder, _)| from.starts_with(placeholder));
        let (text, length) = pair.map_or(("{", 1), |(placeholder, value)| (value.as_str(), placeholder.len()));
        output.push_str(text);
        tail = &from[length..];
    }
    output + tail
}

/// Where a node is dialled: what it says, or its host without a user at the usual port.
fn address(table: &NodeTable) -> Result<NodeAddress> {
    let host = reached(&table.host);
    let bare_v6 = host.parse::<std::net::Ipv6Addr>().is_ok();
    let usual = if bare_v6 { format!("[{host}]") } else { host.to_owned() };
    match &table.address {
        Some(address) => address.parse().context("address"),
        None => usual
            .parse()
            .with_context(|| format!("give address = \"HOST:PORT\": no address can be made of host {host}")),
    }
}

/// The host of what ssh takes: without `ssh://` and the port behind it, and without a user.
fn reached(host: &str) -> &str {
    let (url, host) = host.strip_prefix("ssh://").map_or((false, host), |host| (true, host.trim_end_matches('/')));
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    match host.rsplit_once(':') {
        Some((host, port)) if url && port.parse::<u16>().is_ok() => host,
        _ => host,
    }
}

/// Returns the address on which a node listens unless it says so: the very address where that is a loopback one,
/// otherwise all addresses of its host.
fn listen(address: &NodeAddress) -> String {
    match (ip(address), address.port()) {
        (Some(ip), _) if stays_on_host(ip) => address.to_string(),
        (Some(IpAddr::V6(_)), port) => format!("[::]:{port}"),
        (_, port) => format!("0.0.0.0:{port}"),
    }
}

fn ip(address: &NodeAddress) -> Option<IpAddr> {
    address.host().trim_start_matches('[').trim_end_matches(']').parse().ok()
}

/// Paths from the folder of the file, and no plain text to other hosts that nobody has allowed.
fn reach(reach: &Reach, folder: &Path, nodes: &[Node]) -> Result<Reach> {
    let is_here = |node: &Node| ip(&node.address).map_or(node.address.host() == "localhost", stays_on_host);
    if reach.tls_ca.is_none()
        && !reach.insecure
        && let Some(node) = nodes.iter().find(|node| !is_here(node))
    {
        bail!(
            "[[node]] {}: {} is another host, and [reach] has neither tls-ca = \"FILE\" nor insecure = true (plain \
             text on a network that you trust)",
            node.name,
            node.address
        );
    }
    let at = |path: &Option<PathBuf>| path.as_ref().map(|path| folder.join(path));
    Ok(Reach {
        tls_ca: at(&reach.tls_ca),
        tls_cert: at(&reach.tls_cert),
        tls_key: at(&reach.tls_key),
        token_file: at(&reach.token_file),
        ..reach.clone()
    })
}

/// Returns the error of a text that is no TOML, with the number of the line. The line itself is left out, because it
/// may have a secret in it.
fn located(text: &str, error: &toml::de::Error) -> anyhow::Error {
    let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
    let (number, line) = (before.matches('\n').count() + 1, before.rsplit('\n').next().unwrap_or_default());
    // Before the value, so it is no secret.
    let key = line.split_once('=').map_or("", |(key, _)| key.trim());
    let key = if key.is_empty() { String::new() } else { format!(" ({})", lon_proto::text::printable(key)) };
    anyhow!("line {number}{key}: {}", error.message().replace('\n', "; "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet::TEMPLATE;

    fn fleet(text: &str) -> Result<Fleet, String> {
        Fleet::of(text, Path::new("/lab")).map_err(|error| format!("{error:#}"))
    }

    const TWO: &str = "serve = [\"--insecure\", \"--tls-cert\", \"certs/{name}.pem\"]\nreach.insecure = true\n\
                       [[node]]\nname = \"N1\"\nhost = \"me@10.0.0.2\"\n\
                       [[node]]\nname = \"N 2\"\nhost = \"h\"\naddress = \"127.0.0.3:8001\"\n\
                       serve = [\"--threads\", \"2\"]\n";

    #[test]
    fn defaults_are_filled_in() {
        let fleet = fleet(TWO).unwrap();
        let [one, two] = &fleet.nodes[..] else { panic!("{fleet:?}") };
        assert_eq!((one.address.to_string().as_str(), one.listen.as_str()), ("10.0.0.2:8000", "0.0.0.0:8000"));
        assert_eq!(two.listen, "127.0.0.3:8001", "loopback stays loopback");
        assert_eq!(
            one.command.join(" "),
            "sut-node serve --listen=0.0.0.0:8000 --node=N1 --insecure --tls-cert certs/N1.pem"
        );
        assert_eq!(two.command[3..], ["--node=N 2", "--insecure", "--tls-cert", "certs/N 2.pem", "--threads", "2"]);
        assert_eq!((two.log().as_str(), two.pid().as_str()), ("lon-fleet/N%202.log", "lon-fleet/N%202.pid"));
        assert_eq!(fleet.run_flags().unwrap(), ["--sut", "10.0.0.2:8000,127.0.0.3:8001", "--insecure"]);
        let one = fleet.only(&["N 2".to_owned()]).unwrap();
        assert_eq!(one.nodes.len(), 1);
        assert!(one.only(&["N1".to_owned()]).unwrap_err().to_string().contains("there are N 2"));
    }

    #[test]
    fn the_host_of_an_address_is_what_ssh_reaches() {
        for (host, address) in [
            ("me@10.0.0.2", "10.0.0.2:8000"),
            ("ssh://me@h:2222", "h:8000"),
            ("ssh://h:2222/", "h:8000"),
            ("ssh://h", "h:8000"),
        ] {
            let text = format!("[reach]\ninsecure = true\n[[node]]\nname = \"a\"\nhost = {host:?}");
            assert_eq!(fleet(&text).unwrap().nodes[0].address.to_string(), address, "{host}");
        }
    }

    #[test]
    fn a_command_of_its_own_has_the_same_placeholders() {
        let text = "command = [\"run\", \"{name}\", \"{listen}\", \"{port}{x}\"]\nenv = { A = \"1 2\" }\n\
                    [[node]]\nname = \"{host}\"\nhost = \"h\"\naddress = \"localhost:7\"\nenv = { B = \"3\" }";
        let node = fleet(text).unwrap().nodes.remove(0);
        assert_eq!(node.command, ["env", "A=1 2", "B=3", "run", "{host}", "0.0.0.0:7", "7{x}"]);
        assert_eq!(node.program, None);
    }

    #[test]
    fn paths_of_reach_are_from_the_files_folder() {
        let text = "reach = { tls-ca = \"ca.pem\", token-file = \"/t\" }\n[[node]]\nname = \"a\"\nhost = \"h\"";
        let flags = fleet(text).unwrap().run_flags().unwrap();
        assert_eq!(flags, ["--sut", "h:8000", "--tls-ca", "/lab/ca.pem", "--token-file", "/t"]);
        let text = text.replace("ca.pem", "a b.pem");
        assert!(fleet(&text).unwrap().run_flags().unwrap_err().to_string().contains("cannot be pasted"));
    }

    #[test]
    fn what_cannot_be_is_named() {
        let node = "[[node]]\nname = \"N1\"\nhost = \"127.0.0.1\"\n";
        for (text, parts) in [
            (String::new(), &["no [[node]]"][..]),
            ("ssh = 1".to_owned(), &["ssh", "string"]),
            (format!("colour = 1\n{node}"), &["colour", "unknown"]),
            (format!("{node}colour = 1"), &["colour", "unknown"]),
            (format!("token = \"x\"\n{node}"), &["token", "--token-file"]),
            (format!("{node}{node}"), &["N1", "twice"]),
            (format!("{node}{}", node.replace("N1", "N2")), &["N2", "127.0.0.1:8000", "another node's"]),
            (node.replace("127.0.0.1", "10.0.0.2"), &["N1", "10.0.0.2", "[reach]", "insecure = true"]),
            (node.replace("127.0.0.1", "-oProxyCommand=x"), &["N1", "host", "no - in front"]),
            (node.replace("N1", "a,b"), &["a,b", "without comma"]),
            (format!("folder = \"~/x\"\n{node}"), &["folder", "leave out ~/"]),
            (format!("command = []\n{node}"), &["N1", "command is empty"]),
            (format!("timeout = \"soon\"\n{node}"), &["timeout", "10s"]),
            (format!("parallel = 0\n{node}"), &["parallel", "from 1 to 256"]),
            (format!("env = {{ \"A;B\" = \"1\" }}\n{node}"), &["A;B", "variable"]),
            ("x = \"S3CRET\nname".to_owned(), &["line "]),
        ] {
            let message = fleet(&text).unwrap_err();
            for part in parts {
                assert!(message.contains(part), "no '{part}' in: {message}");
            }
            assert!(!message.contains("S3CRET"), "{message}");
        }
    }

    #[test]
    fn the_template_is_a_fleet_and_has_the_defaults() {
        let template_fleet = fleet(TEMPLATE).unwrap();
        assert_eq!(template_fleet.nodes.len(), 2);
        // Every line that is commented out says what holds without it.
        let all: String =
            TEMPLATE.lines().map(|line| format!("{}\n", line.strip_prefix("#= ").unwrap_or(line))).collect();
        let with = fleet(&all).unwrap();
        assert_eq!(format!("{template_fleet:?}"), format!("{with:?}"));
        assert!(all.matches(" = ").count() > TEMPLATE.matches("#= ").count() + 5);
    }
}
