//! One run of the product: its SUT nodes, one LoadGen node, and what the run folder says.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;

use crate::process::{Place, Process, Starter};
use crate::reference::tls::Files;
use crate::row::{Cpu, Figure, Transport};

/// A run may take this long.
const PATIENCE: Duration = Duration::from_secs(60);

/// The product's programs.
#[derive(Debug)]
pub(crate) struct Programs {
    sut_node: PathBuf,
    loadgen_node: PathBuf,
}

impl Programs {
    /// Those in `folder`; the error says how to get them there.
    pub(crate) fn find(folder: &Path) -> Result<Programs> {
        let [sut_node, loadgen_node] = ["sut-node", "loadgen-node"].map(|name| folder.join(name));
        for program in [&sut_node, &loadgen_node] {
            ensure!(program.is_file(), "{} is missing: cargo build --release --workspace", program.display());
        }
        Ok(Programs { sut_node, loadgen_node })
    }

    /// The QDL as a library, which stands beside the programs.
    pub(crate) fn library(&self) -> Result<PathBuf> {
        let path = self.sut_node.with_file_name("liblon_qdl.so");
        ensure!(path.is_file(), "{} is missing: cargo build --release --workspace", path.display());
        Ok(path)
    }
}

/// Settings of one run.
#[derive(Clone, Debug)]
pub(crate) struct Spec {
    pub(crate) scenario: &'static str,
    /// Bytes of one sample.
    pub(crate) size: usize,
    /// LoadGen's settings, as `--set` takes them.
    pub(crate) set: String,
    pub(crate) transport: Transport,
    pub(crate) tls: bool,
    pub(crate) busy_poll: bool,
    /// Nodes, and what they run.
    pub(crate) nodes: usize,
    pub(crate) backend: String,
    pub(crate) workers: u32,
    /// Samples in an inference at most.
    pub(crate) max_batch: u32,
    /// Another dataset than bytes of that size.
    pub(crate) dataset: Option<&'static str>,
    /// True when the processes are held on separate cores.
    pub(crate) is_pinned: bool,
}

impl Spec {
    /// One node that answers at once, over gRPC.
    pub(crate) fn new(scenario: &'static str, size: usize, set: String) -> Spec {
        Spec {
            scenario,
            size,
            set,
            transport: Transport::Grpc,
            tls: false,
            busy_poll: false,
            nodes: 1,
            backend: "null".to_owned(),
            workers: 1,
            max_batch: 8,
            dataset: None,
            is_pinned: false,
        }
    }

    fn place(&self, place: Place) -> Place {
        if self.is_pinned { place } else { Place::Anywhere }
    }
}

/// A run that ended.
#[derive(Debug)]
pub(crate) struct Run {
    /// The content of `result_summary.json`.
    pub(crate) summary: Value,
    pub(crate) cpu: Cpu,
}

impl Run {
    /// A number of the summary, by its JSON pointer.
    pub(crate) fn number(&self, pointer: &str) -> Result<f64> {
        let value = self.summary.pointer(pointer).and_then(Value::as_f64);
        value.with_context(|| format!("result_summary.json has no number at {pointer}"))
    }

    /// Returns true when the strict verdict is VALID.
    pub(crate) fn is_valid(&self) -> bool {
        self.summary["result"] == "VALID"
    }

    /// An error unless every sample was answered: what is faster because it drops some is not faster.
    pub(crate) fn all_answered(self) -> Result<Run> {
        let count = |name: &str| self.number(&format!("/counts/{name}"));
        let (issued, completed) = (count("issued")?, count("completed")?);
        if issued != completed || issued == 0.0 {
            bail!("{completed} of {issued} samples were answered: {}", self.summary["reasons"]);
        }
        Ok(self)
    }
}

/// Samples/s of a backend in process, as `sut-node bench` measures it.
pub(crate) fn bench(starter: &Starter, programs: &Programs, folder: &Path, spec: &Spec, seconds: u64) -> Result<f64> {
    let file = folder.join("bench.json");
    let mut command = Command::new(&programs.sut_node);
    command.args(["bench", "--backend", &spec.backend]).arg("--out").arg(&file);
    command.args([format!("--max-batch={}", spec.max_batch), format!("--workers={}", spec.workers)]);
    command.arg(format!("--seconds={seconds}"));
    starter.start(&mut command, Place::Anywhere)?.wait(PATIENCE)?.expect_code(&[0])?;
    let result: Value = serde_json::from_slice(&std::fs::read(&file)?)?;
    let rate = result.pointer("/throughput/samples_per_s").and_then(Value::as_f64);
    rate.context("sut-node bench gave no rate")
}

/// SUT nodes that serve and the LoadGen node that drives them.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) nodes: Vec<Process>,
    pub(crate) loadgen: Process,
    out: PathBuf,
}

/// A node that answers at once, and where it listens.
pub(crate) fn null_node(starter: &Starter, programs: &Programs) -> Result<(Process, String)> {
    let mut command = Command::new(&programs.sut_node);
    command.args(["serve", "--node", "N1", "--listen", "127.0.0.1:0", "--backend", "null"]);
    let mut node = starter.start(&mut command, Place::Anywhere)?;
    let address = address(&node.first_line()?)?.to_owned();
    Ok((node, address))
}

/// Starts everything; the caller waits.
pub(crate) fn start(
    starter: &Starter,
    programs: &Programs,
    tls: &Files,
    folder: &Path,
    spec: &Spec,
) -> Result<Running> {
    let mut nodes = Vec::new();
    let mut addresses = Vec::new();
    for number in 1..=spec.nodes {
        let mut command = Command::new(&programs.sut_node);
        command.args(["serve", "--listen", "127.0.0.1:0", "--backend", &spec.backend]);
        command.args([format!("--node=N{number}"), format!("--workers={}", spec.workers)]);
        command.args([format!("--max-batch={}", spec.max_batch)]);
        if spec.tls {
            command.arg("--tls-cert").arg(&tls.certificate).arg("--tls-key").arg(&tls.key);
        }
        if spec.busy_poll {
            command.arg("--busy-poll");
        }
        let mut node = starter.start(&mut command, spec.place(Place::Answering))?;
        addresses.push(address(&node.first_line()?)?.to_owned());
        nodes.push(node);
    }
    let out = folder.join("run");
    // A run that was given up may have left this folder.
    let _ = std::fs::remove_dir_all(&out);
    let mut command = Command::new(&programs.loadgen_node);
    command.args(["run", "--benchmark", "synthetic", "--scenario", spec.scenario, "--set", &spec.set]);
    command.args(["--sut", &addresses.join(","), "--transport", spec.transport.name()]);
    let dataset = spec.dataset.map_or_else(|| format!("synthetic:u8[{}]x64", spec.size), str::to_owned);
    command.arg("--dataset").arg(dataset).arg("--out").arg(&out);
    if spec.tls {
        command.arg("--tls-ca").arg(&tls.authority);
    }
    if spec.busy_poll {
        command.arg("--busy-poll");
    }
    let loadgen = starter.start(&mut command, spec.place(Place::Asking))?;
    Ok(Running { nodes, loadgen, out })
}

impl Running {
    /// Waits for the end of the run, ends the nodes, and reads what it left.
    pub(crate) fn wait(self, limit: Duration) -> Result<Run> {
        // VALID and INVALID: what counts as measured is for the row to say.
        let loadgen = self.loadgen.wait(limit)?.expect_code(&[0, 3])?;
        let mut cpu = Cpu { loadgen_s: loadgen.cpu_s, ..Cpu::default() };
        for node in self.nodes {
            cpu.sut_s += node.stop()?.expect_code(&[0])?.cpu_s;
        }
        let path = self.out.join("result_summary.json");
        let text = std::fs::read(&path).with_context(|| format!("{} cannot be read", path.display()))?;
        let mut run = Run { summary: serde_json::from_slice(&text)?, cpu };
        run.cpu.samples = run.number("/counts/completed")? as u64;
        std::fs::remove_dir_all(&self.out)?;
        Ok(run)
    }
}

/// Starts everything and waits.
pub(crate) fn run(starter: &Starter, programs: &Programs, tls: &Files, folder: &Path, spec: &Spec) -> Result<Run> {
    start(starter, programs, tls, folder, spec)?.wait(PATIENCE)
}

/// Samples/s of so many tenants of one node together, all with these settings.
pub(crate) fn tenants(
    starter: &Starter,
    programs: &Programs,
    folder: &Path,
    count: u32,
    spec: &Spec,
) -> Result<Figure> {
    let (node, address) = null_node(starter, programs)?;
    let (file, out) = (folder.join("mix.toml"), folder.join("mix"));
    let _ = std::fs::remove_dir_all(&out);
    let Spec { scenario, size, set, .. } = spec;
    let settings =
        set.split(',').filter_map(|one| one.split_once('=')).map(|(key, value)| format!("{key} = \"{value}\""));
    let settings = settings.collect::<Vec<_>>().join(", ");
    let tenant = |number| {
        format!(
            "[[tenant]]\nname = \"t{number}\"\nbenchmark = \"synthetic\"\ndataset = \"synthetic:u8[{size}]x64\"\n\
             scenario = \"{scenario}\"\nsettings = {{ {settings} }}\n"
        )
    };
    std::fs::write(&file, (1..=count).map(tenant).collect::<String>())?;
    let mut command = Command::new(&programs.loadgen_node);
    command.args(["run", "--sut", &address]).arg("--mix").arg(&file).arg("--out").arg(&out);
    let loadgen = starter.start(&mut command, Place::Anywhere)?.wait(PATIENCE)?.expect_code(&[0, 3])?;
    let mut cpu = Cpu { loadgen_s: loadgen.cpu_s, ..Cpu::default() };
    cpu.sut_s = node.stop()?.expect_code(&[0])?.cpu_s;
    let result: Value = serde_json::from_slice(&std::fs::read(out.join("mix_result.json"))?)?;
    let each = result["tenants"].as_array().context("mix_result.json has no tenants")?;
    let sum = |key: &str| each.iter().map(|tenant| tenant[key].as_f64().unwrap_or(0.0)).sum::<f64>();
    cpu.samples = sum("samples") as u64;
    std::fs::remove_dir_all(&out)?;
    Ok(Figure { value: sum("achieved_per_s"), cpu })
}

/// Where a node says that it serves: the last word of its line.
fn address(line: &str) -> Result<&str> {
    let word = line.rsplit(' ').next().filter(|word| word.parse::<std::net::SocketAddr>().is_ok());
    word.with_context(|| format!("sut-node said '{line}', which does not end with an address"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_is_the_last_word() {
        assert_eq!(address("sut-node N1 serving null on 127.0.0.1:4711").unwrap(), "127.0.0.1:4711");
        assert!(address("sut-node N1 serving null on port").is_err());
    }

    #[test]
    fn runs_that_lost_samples_do_not_count() {
        let run = |completed: u64| Run {
            summary: serde_json::json!({"result": "INVALID", "counts": {"issued": 5, "completed": completed}}),
            cpu: Cpu::default(),
        };
        assert!(run(5).all_answered().is_ok());
        assert!(run(4).all_answered().unwrap_err().to_string().starts_with("4 of 5 samples"));
        assert!(run(5).number("/latency_ns/p50").is_err());
    }

    #[test]
    fn missing_programs_are_named_with_the_command_that_builds_them() {
        let folder = tempfile::tempdir().unwrap();
        let error = Programs::find(folder.path()).unwrap_err().to_string();
        assert!(error.contains("sut-node is missing") && error.contains("cargo build --release"), "{error}");
    }
}
