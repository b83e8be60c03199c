//! The command `demo`: the main job with nothing installed. The SUT nodes are real, only close by.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use lon_net::throwaway::Throwaway;
use lon_net::tls::ServerTls;
use lon_qsl::benchmark::Benchmark;
use lon_qsl::digits;
use sut_node::backend::{Backend, BackendOptions, onnx::Onnx};
use sut_node::{ServeConfig, Sockets};
use tokio::sync::oneshot;

use super::run;
use crate::cli::{CodecArgs, DemoArgs, DialArgs, FindPeakArgs, KserveArgs, RunArgs, SecurityArgs, TestArgs, Transport};
use crate::exit::{Exit, OrExit as _, Outcome};
use crate::test_run::setup;
use crate::verdict::division::Division;
use crate::world::pace::Spin;
use loadgen::settings::{Mode, Scenario};

const NODES: [&str; 2] = ["demo-sut-1", "demo-sut-2"];
/// Ten seconds of Server traffic that two small cores answer at ease.
const SETTINGS: [&str; 3] = ["target_qps=200", "min_duration=10000", "min_query_count=1000"];

/// Starts two SUT nodes on loopback and runs the digits benchmark against them: accuracy, then Server.
pub(crate) fn demo(args: DemoArgs) -> Outcome {
    let benchmark = Benchmark::find("digits").or_exit(Exit::Bug)?;
    let backend = load().or_exit(Exit::Usage)?;
    // Nobody listens on loopback; TLS is used all the same, because a run over a network would.
    let certificate = Throwaway::new(&["127.0.0.1"]).or_exit(Exit::Bug)?;
    let files = tempfile::tempdir().context("no temporary folder for a certificate").or_exit(Exit::Bug)?;
    let tls_files = certificate.write(files.path()).context("cannot write a certificate").or_exit(Exit::Bug)?;
    let tls = certificate.server().or_exit(Exit::Bug)?;
    let nodes = NODES.iter().map(|name| Node::start(name, &backend, &tls));
    let nodes: Vec<Node> = nodes.collect::<Result<_, _>>().or_exit(Exit::Bug)?;
    let addresses: Vec<String> = nodes.iter().map(|node| node.address.clone()).collect();
    let set = SETTINGS.iter().map(|text| text.parse()).collect::<Result<_, _>>().or_exit(Exit::Bug)?;
    let exit = run::run(&RunArgs {
        dial: DialArgs {
            sut: addresses.join(","),
            transport: Transport::Grpc,
            security: SecurityArgs { tls_ca: tls_files.ca, ..SecurityArgs::default() },
            wait_ready: Duration::from_secs(10),
        },
        scenario: Scenario::SERVER,
        benchmark: benchmark.name.to_owned(),
        test: TestArgs { mode: Some(Mode::SubmissionRun), set, ..TestArgs::default() },
        out: Some(args.out.unwrap_or_else(|| setup::default_out(benchmark, "demo"))),
        kserve: KserveArgs::default(),
        codecs: CodecArgs::default(),
        division: Division::Open,
        probe: false,
        baseline: None,
        system_desc: None,
        connections: NonZeroUsize::MIN,
        io_threads: None,
        spin: Spin::Auto,
        busy_poll: false,
        response_timeout: Duration::from_secs(60),
        // Its SUT nodes share the machine, so the demo's generator is allowed what a real one is not.
        max_lag: Some(Duration::from_millis(50)),
        trace_log: false,
        find_peak: FindPeakArgs::default(),
    })?;
    for node in nodes {
        node.stop().or_exit(Exit::Bug)?;
    }
    Ok(exit)
}

fn load() -> anyhow::Result<Arc<dyn Backend>> {
    let options = BackendOptions::default();
    let model = Onnx::from_bytes(digits::MODEL, digits::model()?, &options);
    Ok(Arc::new(model.context("the demo's model")?))
}

/// A SUT node on a thread of its own.
struct Node {
    address: String,
    stop: oneshot::Sender<()>,
    thread: JoinHandle<anyhow::Result<()>>,
}

impl Node {
    fn start(name: &str, backend: &Arc<dyn Backend>, tls: &ServerTls) -> anyhow::Result<Node> {
        let sockets = Sockets::bind("127.0.0.1:0")?;
        let address = sockets.address().to_string();
        let mut config = ServeConfig::new(name.parse()?);
        config.max_batch = NonZeroUsize::MIN;
        config.tls = Some(tls.clone());
        let backend = Arc::clone(backend);
        let (stop, stopped) = oneshot::channel::<()>();
        let body = move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            let shutdown = async {
                // The sender's drop is as good as its word.
                let _ = stopped.await;
            };
            Ok(runtime.block_on(sut_node::serve(sockets, config, backend, shutdown, || {}))?)
        };
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(body)?;
        Ok(Node { address, stop, thread })
    }

    fn stop(self) -> anyhow::Result<()> {
        drop(self.stop);
        self.thread.join().map_err(|_| anyhow!("a SUT node's thread panicked"))?
    }
}
