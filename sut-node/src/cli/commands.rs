//! Commands that do not serve: `describe`, `bench` and `healthcheck`.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write as _};
use std::path::Path;
use std::str::FromStr as _;

use anyhow::{Context as _, anyhow};
use lon_proto::node_name::NodeName;
use lon_shell::documents::DescribeDocument;
use lon_shell::failure::OrExit as _;
use lon_sut::backend::Backends;
use lon_sut::bench::dli::DliReport;
use lon_sut::bench::measure::{self, Saturation};
use lon_sut::bench::report::Report;
use lon_sut::describe;

use super::args::{BenchArgs, DescribeArgs};
use super::bench_samples::{bench_failure, bench_samples};
use super::exit::{Exit, Failure};
use super::healthcheck::{HealthError, HealthcheckArgs, healthcheck};
use super::host_load::{self, HostLoad};
use super::open_backend::load;
use super::{trial, tune};

/// `sut-node describe`: prints what a node would say of itself.
pub(super) fn run_describe(args: DescribeArgs, backends: &Backends) -> Result<(), Failure> {
    let node = args.node.map_or_else(host_name, Ok)?;
    let named = args.backend.only()?;
    let (backend, tried) = match args.try_engines {
        false => (load(&args.backend, named, None, backends)?, Vec::new()),
        true => {
            backends.check_flag("--try", &named.text).or_exit(Exit::Usage)?;
            trial::of_engines(&args.backend, named, backends)?
        }
    };
    let description = describe::document(&node, backend.as_ref(), args.backend.pipeline.preprocess(&named.name()));
    let description = DescribeDocument { tried, ..description };
    let output = match args.text {
        true => describe::text(&description),
        false => serde_json::to_string_pretty(&description).or_exit(Exit::Bug)? + "\n",
    };
    write!(std::io::stdout(), "{output}").or_exit(Exit::Bug)
}

/// `sut-node bench`: measures the backend, prints the result, and writes it to a file if one was named.
pub(super) fn run_bench(args: &BenchArgs, backends: &Backends) -> Result<(), Failure> {
    let node = NodeName::from_str("bench").or_exit(Exit::Bug)?;
    if args.tune {
        return tune::run(args, &node, backends);
    }
    let (named, config) = (args.backend.only()?, args.config(node)?);
    if let Some(file) = &args.out {
        check_writable(file).with_context(|| cannot_write(file)).or_exit(Exit::Usage)?;
    }
    let backend = load(&args.backend, named, Some(&config.model), backends)?;
    let samples = bench_samples(args, &config, backend.as_ref())?;
    let before = HostLoad::now();
    if let Some(facts) = &args.dli {
        let measured = measure::run_batches(&config, backend.as_ref(), &samples, args.phase());
        let measured = measured.map_err(bench_failure)?;
        host_load::warn_since(before);
        check_answered(&measured.saturation, measured.failure.as_deref())?;
        let description = describe::document(&config.node, backend.as_ref(), None);
        let report =
            DliReport { description: &description, config: &config, samples: &samples, facts, measured: &measured };
        let table = report.csv();
        write!(std::io::stdout(), "{table}").or_exit(Exit::Bug)?;
        return write_out(args.out.as_deref(), &table);
    }
    let measured = measure::run(&config, backend.as_ref(), &samples, args.phase()).map_err(bench_failure)?;
    host_load::warn_since(before);
    check_answered(&measured.saturation, measured.failure.as_deref())?;
    let report = Report {
        info: backend.info(),
        config: &config,
        threads: args.backend.threads(&named.name()).get(),
        postprocess: args.backend.pipeline.postprocess(&named.name()).to_string(),
        samples: &samples,
        phase: args.phase(),
        measured: &measured,
    };
    let document = serde_json::to_string_pretty(&report.document()).or_exit(Exit::Bug)? + "\n";
    let output = if args.json { document.clone() } else { report.text() };
    write!(std::io::stdout(), "{output}").or_exit(Exit::Bug)?;
    write_out(args.out.as_deref(), &document)
}

/// Checks that a sample was answered.
fn check_answered(saturation: &Saturation, failure: Option<&str>) -> Result<(), Failure> {
    match (saturation.samples, failure) {
        (0, Some(reason)) => Err(Failure::new(Exit::Usage, anyhow!("no sample was answered: {reason}"))),
        _ => Ok(()),
    }
}

/// Writes the result to the file of `--out`, where one is given.
fn write_out(out: Option<&Path>, text: &str) -> Result<(), Failure> {
    let write = |file: &Path| std::fs::write(file, text).with_context(|| cannot_write(file)).or_exit(Exit::Usage);
    out.map_or(Ok(()), write)
}

fn cannot_write(file: &Path) -> String {
    format!("cannot write {} (--out)", file.display())
}

/// Checks, before anything is measured, that the file can be written. Leaves no trace.
fn check_writable(file: &Path) -> std::io::Result<()> {
    match OpenOptions::new().write(true).create_new(true).open(file) {
        Ok(_) => std::fs::remove_file(file),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => OpenOptions::new().write(true).open(file).map(|_| ()),
        Err(error) => Err(error),
    }
}

/// `sut-node healthcheck`: asks a node whether it serves.
pub(super) fn run_healthcheck(args: HealthcheckArgs) -> Result<(), Failure> {
    healthcheck(args).map_err(|error| match error {
        HealthError::Tls(_) | HealthError::Address(_) => Failure::new(Exit::Usage, error),
        // The same exit code as a bug: callers look for 0 or 1.
        _ => Failure::new(Exit::Bug, error),
    })
}

/// The node's name where none was given.
pub(super) fn host_name() -> Result<NodeName, Failure> {
    let name = nix::unistd::gethostname().context("the host name cannot be read; give --node").or_exit(Exit::Usage)?;
    name.to_string_lossy().parse().context("the host name will not do; give --node").or_exit(Exit::Usage)
}
