//! A mix, checked: each tenant is a test of its own.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, bail};
use lon_proto::files;
use lon_shell::duration::parse_duration;
use qdl::{NodeAddress, NodeIndex};
use toml::Value;

use super::file::MixFile;
use super::search_request::SearchRequest;
use crate::keys::key::{Key, text};
use crate::keys::key_values::{KeyValue, Keys};
use crate::keys::test::spec;
use loadgen::settings::Mode;
use loadgen::traffic::Expected;
use lon_run::exit::{Exit, Failure, OrExit as _, Outcome};
use lon_run::nodes::target::Target;
use lon_run::outputs::documents::mix_result;
use lon_run::outputs::report;
use lon_run::test_run::tenants::ONE_QUERY;
use lon_run::test_run::{FindPeakSpec, Test, TestSpec};

/// The most tenants of a mix: nodes refuse more.
const MOST_TENANTS: usize = 16;

/// Flags of the whole run, which no tenant has.
const OF_THE_RUN: [&str; 17] = [
    "sut",
    "transport",
    "tls-ca",
    "tls-cert",
    "tls-key",
    "insecure",
    "allow-open-key-files",
    "token-file",
    "wait-ready",
    "metrics-listen",
    "metrics-grace",
    "mix",
    "probe",
    "warm-up",
    "division",
    "mode",
    "take",
];

/// Flags of the search, which the whole run has, too.
const OF_THE_SEARCH: &str = "find-peak-";

/// A mix of tenants.
pub(crate) struct CheckedMix {
    /// Duration for which each tenant runs alone before.
    pub(crate) alone_first: Option<Duration>,
    pub(crate) tenants: Vec<CheckedTenant>,
    /// The search for the highest load, where one is wanted.
    pub(crate) search: Option<SearchRequest>,
}

/// A tenant and its test.
pub(crate) struct CheckedTenant {
    /// Its name, which no other one has.
    pub(crate) name: String,
    /// When it starts, after the clock of the mix.
    pub(crate) start: Duration,
    /// Its nodes among those of the run; `None`: all.
    pub(crate) nodes: Option<Vec<NodeIndex>>,
    pub(crate) spec: TestSpec,
}

impl CheckedMix {
    /// Reads the file. `words` are those of the command line that hold for every tenant, from `run` on.
    ///
    /// # Errors
    /// The file cannot be read, or a tenant is no test; the failure names the tenant.
    pub(crate) fn read(path: &Path, arguments: &[String]) -> Outcome<CheckedMix> {
        let name = path.display().to_string();
        let bytes = files::user_file(path).with_context(|| format!("--mix {name}")).or_exit(Exit::Usage)?;
        let text = String::from_utf8(bytes).context("it is not UTF-8").with_context(|| name.clone());
        let file: MixFile = toml::from_str(&text.or_exit(Exit::Usage)?)
            .map_err(|error| anyhow!("{}", error.to_string().trim_end()))
            .with_context(|| name.clone())
            .or_exit(Exit::Usage)?;
        let checked = checked(file, arguments);
        checked.map_err(|failure| Failure { error: failure.error.context(name), ..failure })
    }
}

impl CheckedMix {
    /// The nodes of the mix, and how they are reached.
    pub(crate) fn target(&self) -> Outcome<&Target> {
        Ok(&self.tenants.first().context("a mix has tenants").or_exit(Exit::Bug)?.spec.target)
    }

    /// Opens the datasets, and predicts for how long samples are issued together and alone, s. No node is asked.
    ///
    /// # Errors
    /// A tenant cannot be run; the failure names it.
    pub(crate) fn predicted_s(&self) -> Outcome<f64> {
        let mut longest_s = 0.0_f64;
        for CheckedTenant { name, start, spec, .. } in &self.tenants {
            let predicted = Test::new(spec.clone()).and_then(|test| {
                test.check_beside_others()?;
                test.doubts().iter().for_each(|doubt| tracing::warn!(tenant = name, doubt, "settings"));
                test.predicted()
            });
            let named =
                |failure: Failure| Failure { error: failure.error.context(format!("tenant '{name}'")), ..failure };
            longest_s = longest_s.max(start.as_secs_f64() + predicted.map_err(named)?.duration_s);
        }
        let alone_s = self.alone_first.unwrap_or_default().as_secs_f64() * self.tenants.len() as f64;
        Ok(longest_s + alone_s)
    }
}

fn checked(file: MixFile, arguments: &[String]) -> Outcome<CheckedMix> {
    let alone_first = file.alone_first.map(|text| parse_duration(text.get_ref()).map_err(|error| anyhow!(error)));
    let alone_first = alone_first.transpose().context("alone_first").or_exit(Exit::Usage)?;
    if alone_first.is_some_and(|time| time.is_zero()) {
        return Err(anyhow!("alone_first is 0: leave it out for no run alone")).or_exit(Exit::Usage);
    }
    if !(1..=MOST_TENANTS).contains(&file.tenant.len()) {
        let wrong = format!("a mix has 1 to {MOST_TENANTS} tenants ([[tenant]]), this one has {}", file.tenant.len());
        return Err(anyhow!(wrong)).or_exit(Exit::Usage);
    }
    let mut tenants = Vec::with_capacity(file.tenant.len());
    let (mut names, mut search_spec) = (BTreeSet::new(), None);
    for (place, keys) in file.tenant.into_iter().enumerate() {
        let tenant = tenant(place, keys.into_inner(), arguments)?;
        if !names.insert(tenant.tenant.name.clone()) {
            return Err(anyhow!("two tenants are named '{}'", tenant.tenant.name)).or_exit(Exit::Usage);
        }
        search_spec = search_spec.or(tenant.search);
        tenants.push(tenant.tenant);
    }
    let names: Vec<&str> = tenants.iter().map(|tenant| tenant.name.as_str()).collect();
    let search = search_spec.map(|spec| SearchRequest::new(&spec, &names)).transpose().or_exit(Exit::Usage)?;
    Ok(CheckedMix { alone_first, tenants, search })
}

/// A tenant, and the search that the flags of the whole run ask for.
struct TenantEntry {
    tenant: CheckedTenant,
    search: Option<FindPeakSpec>,
}

fn tenant(place: usize, keys: Keys, arguments: &[String]) -> Outcome<TenantEntry> {
    let own = OwnKeys::of(keys);
    let named = |error: anyhow::Error, name: &str| error.context(format!("tenant '{name}'"));
    let OwnKeys { name, start, nodes, flags } =
        own.with_context(|| format!("tenant {}", place + 1)).or_exit(Exit::Usage)?;
    let mut own = flag_arguments(&flags).map_err(|error| named(error, &name)).or_exit(Exit::Usage)?;
    own.push(format!("--label=tenant={name}"));
    let spec = spec(arguments.iter().chain(&own));
    let mut spec = spec.map_err(|failure| Failure { error: named(failure.error, &name), ..failure })?;
    let nodes = nodes.map(|nodes| places(&nodes, spec.target.peers.addresses()));
    let nodes = nodes.transpose().map_err(|error| named(error, &name)).or_exit(Exit::Usage)?;
    let wants_a_look = spec.wants_a_look();
    if wants_a_look.map_err(|failure| Failure { error: named(failure.error, &name), ..failure })? {
        let remedy = match spec.scenario.traffic().expected() {
            Expected::SampleRate => ONE_QUERY,
            _ => "a setting is auto: run the tenant alone to find its value, and write it down",
        };
        return Err(named(anyhow!(remedy), &name)).or_exit(Exit::Usage);
    }
    let mut keys = BTreeSet::new();
    if let Some(twice) =
        spec.settings.set.iter().find(|it| !keys.insert((it.scenario.map(|scenario| scenario.name()), it.key.as_str())))
    {
        let why = format!("setting '{}' is given twice: in the file, and on the command line or before", twice.key);
        return Err(named(anyhow!(why), &name)).or_exit(Exit::Usage);
    }
    spec.settings.seed_offset = place as u64;
    let find_peak = std::mem::take(&mut spec.find_peak);
    let searches = spec.settings.mode == Some(Mode::FindPeakPerformance);
    if searches {
        // The search is over whole mixes: each tenant of a trial is a performance run.
        spec.settings.mode = Some(Mode::PerformanceOnly);
    } else if find_peak.tenant.is_some() {
        return Err(anyhow!("--find-peak-tenant goes with --mode FindPeakPerformance")).or_exit(Exit::Usage);
    }
    Ok(TenantEntry { tenant: CheckedTenant { name, start, nodes, spec }, search: searches.then_some(find_peak) })
}

/// Keys of a tenant that are no flags, and the others.
struct OwnKeys {
    name: String,
    start: Duration,
    nodes: Option<Vec<String>>,
    flags: Vec<KeyValue>,
}

impl OwnKeys {
    fn of(keys: Keys) -> Result<OwnKeys> {
        let (mut name, mut start, mut nodes, mut flags) = (None, Duration::ZERO, None, Vec::new());
        for entry in keys.0 {
            match entry.key.as_str() {
                "name" => name = Some(text(&entry.value)),
                "start" => start = parse_duration(&text(&entry.value)).map_err(|error| anyhow!("start: {error}"))?,
                "nodes" => nodes = Some(list(&entry.value)),
                _ => flags.push(entry),
            }
        }
        let name = name.context("it has no name")?;
        let is_usual = |letter: char| letter.is_ascii_alphanumeric() || "._-".contains(letter);
        if name.is_empty() || name.len() > 64 || !name.chars().all(is_usual) || name.starts_with('.') {
            bail!(
                "its name '{name}' cannot be that of a folder: letters, digits, '.', '_' and '-', 64 at most, and the \
                 first no '.'"
            );
        }
        if TAKEN.contains(&name.as_str()) {
            bail!("its name '{name}' is taken: the folder of the mix has something of that name");
        }
        if nodes.as_ref().is_some_and(Vec::is_empty) {
            bail!("nodes is empty: leave it out for all nodes of the run");
        }
        Ok(OwnKeys { name, start, nodes, flags })
    }
}

/// Folder of the runs of tenants alone.
pub(crate) const ALONE: &str = "alone";

/// Folder of the runs of a search.
pub(crate) const TRIALS: &str = "trials";

/// Names in the folder of a mix, which no tenant can have.
const TAKEN: [&str; 4] = [ALONE, TRIALS, mix_result::FILE, report::FILE];

fn list(value: &Value) -> Vec<String> {
    match value {
        Value::Array(values) => values.iter().map(text).collect(),
        one => text(one).split(',').map(|node| node.trim().to_owned()).collect(),
    }
}

/// Places of these nodes among those of the run.
fn places(nodes: &[String], all: &[NodeAddress]) -> Result<Vec<NodeIndex>> {
    let place = |node: &String| {
        let address: NodeAddress = node.parse().with_context(|| format!("nodes: {node}"))?;
        let place = all.iter().position(|other| *other == address);
        place.map(NodeIndex).with_context(|| format!("nodes: {node} is not among the nodes of --sut"))
    };
    nodes.iter().map(place).collect()
}

/// The words that give these keys their values.
fn flag_arguments(flags: &[KeyValue]) -> Result<Vec<String>> {
    let mut arguments = Vec::new();
    for KeyValue { key, value, .. } in flags {
        let key = Key::read(key)?;
        match &key {
            Key::Run(flag) if flag == "warm-up" => {
                bail!("a mix has no warm-up: alone_first measures each tenant before")
            }
            Key::Run(flag) if OF_THE_RUN.contains(&flag.as_str()) || flag.starts_with(OF_THE_SEARCH) => {
                bail!("'{flag}' is of the whole run: give --{flag} on the command line")
            }
            Key::Run(_) | Key::Setting(_) => arguments.extend(key.arguments(value)?),
            Key::Node(_) | Key::Nodes | Key::Dli(_) | Key::LinkRate => bail!("'{key}' is a key of campaigns"),
        }
    }
    Ok(arguments)
}
