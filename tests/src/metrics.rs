//! Client of `GET /metrics`: asks a program for its metrics and reads them.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::process::free_ports;

/// Longest time on a busy machine for what is there at once on an idle one.
const PATIENCE: Duration = Duration::from_secs(300);

use crate::process::SutNode;

/// An answer of HTTP.
#[derive(Debug)]
pub struct Reply {
    /// The status.
    pub status: u16,
    /// Its head, in small letters.
    pub head: String,
    /// Text after the head.
    pub body: String,
}

/// A port of 127.0.0.1 that is free just now, as `HOST:PORT`. The system gives it to nobody who asks for any.
pub fn free_address() -> String {
    format!("127.0.0.1:{}", free_ports(1))
}

/// Waits until a metric at this address, all its series together, is as large.
///
/// # Errors
/// The program there does not answer any more.
///
/// # Panics
/// It never is.
pub fn wait_for(address: &str, name: &str, at_least: u64) -> io::Result<()> {
    let start = Instant::now();
    loop {
        let page = Page::of(&try_ask(address, "")?);
        // A run has its counters once it has begun.
        let value = if page.names().contains(name) { page.count(name, "") } else { 0 };
        if value >= at_least {
            return Ok(());
        }
        assert!(start.elapsed() < PATIENCE, "{name} is {value}, not {at_least}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Asks for metrics at this address, with more lines of the head.
///
/// # Panics
/// Nobody answers there.
pub fn ask(address: &str, more: &str) -> Reply {
    try_ask(address, more).unwrap_or_else(|error| panic!("{address}: {error}"))
}

fn try_ask(address: &str, more: &str) -> io::Result<Reply> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    write!(stream, "GET /metrics HTTP/1.1\r\nHost: here\r\n{more}\r\n")?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    let (head, body) = text.split_once("\r\n\r\n").ok_or(io::ErrorKind::UnexpectedEof)?;
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    Ok(Reply { status: status.expect("a status"), head: head.to_lowercase(), body: body.to_owned() })
}

/// The metrics of a program at one moment, from OpenMetrics text.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// The metrics by name, in the order in which they came.
    pub families: Vec<Family>,
    series: Vec<(String, BTreeMap<String, String>, f64)>,
}

/// One metric, as its head says it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Family {
    /// Its name, with the unit.
    pub name: String,
    /// `counter`, `gauge`, `histogram` or `info`.
    pub kind: String,
    /// The unit; empty where there is none.
    pub unit: String,
    /// Description of what the metric counts.
    pub help: String,
    /// The labels that its series have, besides `le`.
    pub labels: BTreeSet<String>,
}

impl Page {
    /// The metrics at this address.
    ///
    /// # Panics
    /// There are none, or they are not as OpenMetrics has them.
    pub fn at(address: &str) -> Page {
        Page::of(&ask(address, ""))
    }

    fn of(Reply { status, head, body }: &Reply) -> Page {
        assert_eq!(*status, 200, "{head}");
        assert!(head.contains("content-type: application/openmetrics-text; version=1.0.0"), "{head}");
        Page::read(body)
    }

    /// Reads OpenMetrics text.
    ///
    /// # Panics
    /// It is none.
    pub fn read(text: &str) -> Page {
        let mut page = Page::default();
        let lines = text.strip_suffix("# EOF\n").unwrap_or_else(|| panic!("no end in:\n{text}"));
        for line in lines.lines() {
            match line.strip_prefix("# ") {
                Some(head) => page.head(head),
                None => page.value_of(line),
            }
        }
        page
    }

    fn head(&mut self, head: &str) {
        let [what, name, value] = head.splitn(3, ' ').collect::<Vec<_>>()[..] else { panic!("'{head}'") };
        if what == "HELP" {
            self.families.push(Family { name: name.to_owned(), help: value.to_owned(), ..Family::default() });
        }
        let family = self.families.last_mut().expect("HELP comes first");
        assert_eq!(family.name, name, "all lines of a metric stand together");
        match what {
            "HELP" => {}
            "TYPE" => value.clone_into(&mut family.kind),
            "UNIT" => value.clone_into(&mut family.unit),
            other => panic!("'{other}'"),
        }
    }

    fn value_of(&mut self, line: &str) {
        let (series, value) = line.rsplit_once(' ').unwrap_or_else(|| panic!("'{line}'"));
        let (name, labels) = series.split_once('{').unwrap_or((series, "}"));
        let labels = labels.strip_suffix('}').unwrap_or_else(|| panic!("'{line}'"));
        // No value of ours has a comma before a quotation mark in it.
        let pairs = labels.strip_suffix('"').unwrap_or(labels).split("\",").filter(|pair| !pair.is_empty());
        let pairs = pairs.map(|pair| pair.split_once("=\"").unwrap_or_else(|| panic!("'{line}'")));
        let labels: BTreeMap<_, _> = pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let family = self.families.last_mut().expect("a head comes first");
        assert!(name.starts_with(&family.name), "'{line}' is not of {}", family.name);
        family.labels.extend(labels.keys().filter(|label| *label != "le").cloned());
        let value = value.parse().unwrap_or_else(|error| panic!("'{line}': {error}"));
        self.series.push((name.to_owned(), labels, value));
    }

    /// The names that series have: those with `_total`, `_bucket` and so on.
    pub fn names(&self) -> BTreeSet<&str> {
        self.series.iter().map(|(name, ..)| name.as_str()).collect()
    }

    /// The sum of all series of this name that have these labels, separated by commas: `purpose=run,layer=socket`.
    ///
    /// # Panics
    /// There is none.
    pub fn sum(&self, name: &str, labels: &str) -> f64 {
        let label_pairs: Vec<_> = labels.split(',').filter_map(|label| label.split_once('=')).collect();
        let has = |of: &BTreeMap<String, String>| {
            label_pairs.iter().all(|(name, value)| of.get(*name).is_some_and(|it| it == value))
        };
        let mut series = self.series.iter().filter(|(it, of, _)| it == name && has(of)).peekable();
        assert!(series.peek().is_some(), "no series {name}{{{labels}}} among {:?}", self.names());
        series.map(|(.., value)| value).sum()
    }

    /// The same as a whole number.
    ///
    /// # Panics
    /// There is none, or it is not whole.
    pub fn count(&self, name: &str, labels: &str) -> u64 {
        let sum = self.sum(name, labels);
        assert!(sum >= 0.0 && sum.fract() == 0.0, "{name}: {sum}");
        sum as u64
    }
}

/// A node that serves metrics.
pub struct Node {
    /// The node.
    pub node: SutNode,
    /// Where its metrics are, as `HOST:PORT`.
    pub metrics: String,
}

impl Node {
    /// Starts one that has a port for metrics.
    pub fn start(name: &str, backend: &str, more: &[&str]) -> Node {
        let metrics = free_address();
        let node = SutNode::start(name, backend, &[more, &["--metrics-listen", &metrics]].concat());
        Node { node, metrics }
    }

    /// Its metrics just now.
    pub fn page(&self) -> Page {
        Page::at(&self.metrics)
    }
}
