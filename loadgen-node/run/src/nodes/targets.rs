//! The nodes that `--sut` names: a list, ranges of ports in it, a file, or every address of a host name.

use std::collections::HashSet;
use std::path::Path;

use anyhow::{Context as _, anyhow, bail};
use lon_net::lookup::Lookup;
use lon_proto::files;
use qdl::NodeAddress;

/// The nodes that the text names: `host:port[,host:port...]` (`host:first-last` is a node on each of these ports),
/// `@FILE` (one a line, `#` comments), or `dns:NAME[:PORT]`.
pub fn parse(text: &str) -> anyhow::Result<Vec<NodeAddress>> {
    let nodes = if let Some(file) = text.strip_prefix('@') {
        from_file(file)?
    } else if let Some(name) = text.strip_prefix("dns:") {
        from_name(name)?
    } else {
        text.split(',').map(|node| plain(node.trim())).collect::<anyhow::Result<Vec<_>>>()?.concat()
    };
    let mut addresses = HashSet::new();
    match nodes.iter().find(|node| !addresses.insert(node.to_string())) {
        None => Ok(nodes),
        Some(twice) => bail!("{twice} is listed twice"),
    }
}

/// The nodes with names: `NAME=host:port[,NAME=host:port...]`, or `@FILE` with one a line.
pub fn parse_named(text: &str) -> anyhow::Result<Vec<(String, NodeAddress)>> {
    let named = |node: &str| {
        let (name, address) = node.split_once('=').filter(|(name, _)| !name.trim().is_empty()).ok_or_else(|| {
            anyhow!(
                "'{node}' has no name: servers of one kind cannot be told apart by what they say, write NAME=host:port"
            )
        })?;
        anyhow::Ok((name.trim().to_owned(), address.trim().parse()?))
    };
    let nodes = match (text.strip_prefix('@'), text.strip_prefix("dns:")) {
        (Some(file), _) => lines_of(file, named)?,
        (None, Some(_)) => bail!("dns: gives addresses and no names; write NAME=host:port[,NAME=host:port...]"),
        (None, None) => text.split(',').map(|node| named(node.trim())).collect::<anyhow::Result<Vec<_>>>()?,
    };
    for (position, (_, node)) in nodes.iter().enumerate() {
        if nodes[..position].iter().any(|(_, other)| other == node) {
            bail!("{node} is listed twice");
        }
    }
    Ok(nodes)
}

/// Reads an address without a name, or those of a range of ports.
fn plain(node: &str) -> anyhow::Result<Vec<NodeAddress>> {
    if let Some((name, address)) = node.split_once('=') {
        bail!(
            "'{node}' has a name, which servers of KServe's protocol are given: add --transport kserve; SUT nodes have \
             their own (without '{name}=': {address})"
        );
    }
    match range_of(node) {
        None => Ok(vec![node.parse()?]),
        Some((host, first, last)) if first > last => {
            bail!("'{node}': the first port of {host} is greater than the last")
        }
        Some((host, first, last)) => (first..=last).map(|port| Ok(format!("{host}:{port}").parse()?)).collect(),
    }
}

/// The host, the first and the last port of `host:first-last`.
fn range_of(node: &str) -> Option<(&str, u16, u16)> {
    let (host, ports) = node.rsplit_once(':')?;
    let (first, last) = ports.split_once('-')?;
    Some((host, first.parse().ok()?, last.parse().ok()?))
}

fn from_file(file: &str) -> anyhow::Result<Vec<NodeAddress>> {
    lines_of(file, plain).map(|lines| lines.concat())
}

/// Reads a file line by line. Comments and empty lines are left out.
fn lines_of<T>(file: &str, parser: impl Fn(&str) -> anyhow::Result<T>) -> anyhow::Result<Vec<T>> {
    let text = files::user_text(Path::new(file)).with_context(|| format!("cannot read {file}"))?;
    let lines =
        text.lines().enumerate().map(|(number, line)| (number + 1, line.split('#').next().unwrap_or("").trim()));
    let nodes: anyhow::Result<Vec<T>> = lines
        .filter(|(_, line)| !line.is_empty())
        .map(|(number, line)| parser(line).with_context(|| format!("{file}:{number}")))
        .collect();
    let nodes = nodes?;
    if nodes.is_empty() {
        bail!("{file} lists no node");
    }
    Ok(nodes)
}

fn from_name(name: &str) -> anyhow::Result<Vec<NodeAddress>> {
    let (host, port) = match name.rsplit_once(':') {
        Some((host, port)) => (host, port.parse().map_err(|_| anyhow!("'{port}' in dns:{name} is not a port"))?),
        None => (name, qdl::DEFAULT_PORT),
    };
    let addresses = Lookup::anywhere().find_now(&format!("{host}:{port}"))?;
    let mut nodes: Vec<NodeAddress> = Vec::new();
    for address in addresses {
        let node = address.to_string().parse()?;
        if !nodes.contains(&node) {
            nodes.push(node);
        }
    }
    // Resolvers rotate the list, and the order of nodes in the SUT's name must not depend on that.
    nodes.sort_by_key(ToString::to_string);
    Ok(nodes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(text: &str) -> String {
        match parse(text) {
            Ok(nodes) => nodes.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "),
            Err(error) => format!("{error:#}"),
        }
    }

    #[test]
    fn lists_files_and_names() {
        assert_eq!(outcome("a:1, b"), "a:1 b:8000");
        assert!(outcome("a:1,a:1").contains("twice"));
        assert_eq!(outcome("a:1-3,b,[::1]:8-9"), "a:1 a:2 a:3 b:8000 [::1]:8 [::1]:9");
        assert!(outcome("a:1-3,a:2").contains("a:2 is listed twice"));
        assert!(
            outcome("a:3-1").contains("greater than the last")
                && outcome("a:1-x").contains("a:1-x")
                && outcome("a:1-").contains("a:1-")
        );
        assert!(outcome("a:x").contains("a:x"));
        assert!(outcome("a=127.0.0.1:1").contains("--transport kserve"), "{}", outcome("a=127.0.0.1:1"));
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "# nodes\na:1\n\nb:2 # second\n").unwrap();
        let text = format!("@{}", file.path().display());
        assert_eq!(outcome(&text), "a:1 b:2");
        std::fs::write(file.path(), "a:1\nb c\n").unwrap();
        assert!(outcome(&text).contains(":2:"), "{}", outcome(&text));
        assert!(outcome("@/no/such/file").contains("/no/such/file"));
        assert!(outcome("dns:127.0.0.1:9000").contains("127.0.0.1:9000"));
        assert!(outcome("dns:127.0.0.1:port").contains("'port'"));
    }

    #[test]
    fn names_stand_before_their_nodes() {
        let outcome = |text: &str| match parse_named(text) {
            Ok(nodes) => nodes.iter().map(|(name, node)| format!("{name}@{node}")).collect::<Vec<_>>().join(" "),
            Err(error) => format!("{error:#}"),
        };
        assert_eq!(outcome("a=h:1, b = i"), "a@h:1 b@i:8000");
        assert!(outcome("a=h:1,b=h:1").contains("h:1 is listed twice"));
        for (bad, part) in [("h:1", "NAME=host:port"), ("=h:1", "NAME=host:port"), ("a=", "host"), ("dns:h:1", "NAME=")]
        {
            assert!(outcome(bad).contains(part), "{bad}: {}", outcome(bad));
        }
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "# servers\na=h:1\n\nb=i:2 # second\n").unwrap();
        assert_eq!(outcome(&format!("@{}", file.path().display())), "a@h:1 b@i:2");
    }
}
