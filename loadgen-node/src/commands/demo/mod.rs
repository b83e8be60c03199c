//! The command `demo`: the main job with nothing installed. The SUT nodes are real, only close by, and what they answer
//! with is the small net in `net`.

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use lon_net::throwaway::Throwaway;
use lon_net::tls::ServerTls;
use lon_qsl::benchmark::Benchmark;
use lon_sut::backend::Backend;
use lon_sut::{ServeConfig, Sockets};
use qdl::{NodeAddress, Transport};
use tokio::sync::oneshot;

use self::net::DigitsNet;
use super::run;
use super::test_series::LiveOutput;
use crate::cli::{DemoArgs, this_call};
use loadgen::settings::{Mode, Scenario};
use lon_run::exit::{Exit, OrExit as _, Outcome};
use lon_run::nodes::target::Target;
use lon_run::outputs::run_folder::folder::{Place, RESULTS};
use lon_run::test_run::TestSpec;

mod net;

const NODES: [&str; 2] = ["demo-sut-1", "demo-sut-2"];
/// Ten seconds of Server traffic, at a rate that two small cores can answer.
const SETTINGS: [&str; 3] = ["target_qps=200", "min_duration=10000", "min_query_count=1000"];

/// Starts two SUT nodes on loopback and runs the digits benchmark against them: accuracy, then Server.
pub(crate) fn demo(args: DemoArgs) -> Outcome {
    let benchmark = Benchmark::find("digits").or_exit(Exit::Bug)?;
    let backend: Arc<dyn Backend> = Arc::new(DigitsNet::load().context("the demo's model").or_exit(Exit::Usage)?);
    // Loopback has no eavesdroppers. TLS is used all the same, because a run over a network would use it.
    let certificate = Throwaway::new(&["127.0.0.1"]).or_exit(Exit::Bug)?;
    let tls = certificate.server().or_exit(Exit::Bug)?;
    let nodes = NODES.iter().map(|name| Node::start(name, &backend, &tls));
    let nodes: Vec<Node> = nodes.collect::<Result<_, _>>().or_exit(Exit::Bug)?;
    let addresses = nodes.iter().map(|node| node.address.clone()).collect();
    let mut target = Target::new(addresses, Transport::GRPC);
    target.tls = Some(certificate.client().or_exit(Exit::Bug)?);
    target.wait_ready = Duration::from_secs(10);
    let mut spec = TestSpec::new(benchmark, Scenario::SERVER, target);
    spec.settings.mode = Some(Mode::SubmissionRun);
    spec.settings.set = SETTINGS.iter().map(|text| text.parse()).collect::<Result<_, _>>().or_exit(Exit::Bug)?;
    // Its SUT nodes share the machine, however many cores that has.
    spec.limits.max_lag = Some(Duration::from_millis(50));
    spec.call = this_call::<DemoArgs>();
    let live = LiveOutput { ui: args.ui, ..LiveOutput::default() };
    let place = args.out.map_or_else(|| Place::usual(Path::new(RESULTS), benchmark, "demo"), Place::At);
    let form = if args.json { run::ResultForm::Json } else { run::ResultForm::Text };
    let exit = run::run_test(spec, &place, form, live)?;
    for node in nodes {
        node.stop().or_exit(Exit::Bug)?;
    }
    Ok(exit)
}

/// A SUT node on a thread of its own.
struct Node {
    address: NodeAddress,
    stop: oneshot::Sender<()>,
    thread: JoinHandle<anyhow::Result<()>>,
}

impl Node {
    fn start(name: &str, backend: &Arc<dyn Backend>, tls: &ServerTls) -> anyhow::Result<Node> {
        let sockets = Sockets::bind("127.0.0.1:0")?;
        let address = sockets.address().to_string().parse()?;
        let mut config = ServeConfig::new(name.parse()?);
        config.model.max_batch = NonZeroUsize::MIN;
        config.tls = Some(tls.clone());
        let backend = Arc::clone(backend);
        let (stop, stopped) = oneshot::channel::<()>();
        let body = move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            let shutdown = async {
                // The sender's drop is as good as its word.
                let _ = stopped.await;
            };
            Ok(runtime.block_on(lon_sut::serve(sockets, config, backend, shutdown, || {}))?)
        };
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(body)?;
        Ok(Node { address, stop, thread })
    }

    fn stop(self) -> anyhow::Result<()> {
        drop(self.stop);
        self.thread.join().map_err(|_| anyhow!("a SUT node's thread panicked"))?
    }
}
