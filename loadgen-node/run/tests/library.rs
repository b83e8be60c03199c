//! Tests as values: made without a command line, several in one process.
#![allow(clippy::unwrap_used, reason = "a test that cannot start its node has failed")]

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread::JoinHandle;
use std::time::Duration;

use loadgen::run::End;
use loadgen::settings::{Mode, Scenario};
use lon_onnx::Onnx;
use lon_qsl::benchmark::Benchmark;
use lon_qsl::digits;
use lon_run::{Exit, Place, Recorded, Target, Test, TestSpec, record};
use lon_sut::backend::{Backend, BackendOptions};
use lon_sut::{ServeConfig, Sockets};
use qdl::{NodeAddress, Transport};
use tokio::sync::oneshot;

/// A SUT node on a thread of this process, which runs the digits model.
struct Node {
    address: NodeAddress,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Node {
    fn start() -> Node {
        let model = Onnx::from_bytes(digits::MODEL, digits::model().unwrap(), &BackendOptions::default());
        let backend: Arc<dyn Backend> = Arc::new(model.unwrap());
        let sockets = Sockets::bind("127.0.0.1:0").unwrap();
        let address = sockets.address().to_string().parse().unwrap();
        let mut config = ServeConfig::new("library-sut".parse().unwrap());
        config.model.max_batch = NonZeroUsize::MIN;
        let (stop, stopped) = oneshot::channel::<()>();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            let shutdown = async { drop(stopped.await) };
            runtime.block_on(lon_sut::serve(sockets, config, backend, shutdown, || {})).unwrap();
        });
        Node { address, stop: Some(stop), thread: Some(thread) }
    }

    fn spec(&self, scenario: Scenario, mode: Mode, set: &[&str]) -> TestSpec {
        let target = Target::new(vec![self.address.clone()], Transport::GRPC);
        let mut spec = TestSpec::new(Benchmark::find("digits").unwrap(), scenario, target);
        spec.settings.mode = Some(mode);
        // The verdict must not depend on the lateness of this machine.
        spec.limits.max_lag = Some(Duration::from_secs(3600));
        spec.settings.set = set.iter().map(|text| text.parse().unwrap()).collect();
        spec
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        drop(self.stop.take());
        self.thread.take().unwrap().join().unwrap();
    }
}

fn never() -> Arc<AtomicBool> {
    Arc::new(AtomicBool::new(false))
}

#[test]
fn two_tests_in_one_process() {
    let node = Node::start();
    let few = ["min_query_count=64", "min_duration=100ms", "target_latency=0.01"];
    let test = Test::new(node.spec(Scenario::SINGLE_STREAM, Mode::PerformanceOnly, &few)).unwrap();
    let first = test.run(&never(), &mut ()).unwrap();
    assert_eq!((&first.outcome.end, first.exit()), (&End::Completed, Exit::Ok), "{:?}", first.outcome.verdict);
    assert!(first.outcome.counts().completed >= 64);
    // The second one goes step by step, and leaves a run folder.
    let above = tempfile::tempdir().unwrap();
    let out = above.path().join("accuracy");
    let test = Test::new(node.spec(Scenario::OFFLINE, Mode::AccuracyOnly, &[])).unwrap();
    let claimed = test.connect().unwrap().claim(&never()).unwrap();
    let Recorded { finished, folder, written } = record(claimed, &Place::At(out.clone())).unwrap();
    written.unwrap();
    assert_eq!(finished.exit(), Exit::Ok, "{:?}", finished.outcome.verdict);
    assert_eq!(folder.path(), out);
    for file in ["result_summary.json", "network_report.json", "system_desc.json", "mlperf_log_accuracy.json"] {
        assert!(out.join(file).is_file(), "{file}");
    }
}

#[test]
fn a_test_that_is_told_to_stop_ends_early_and_frees_its_nodes() {
    let node = Node::start();
    let stop = never();
    stop.store(true, SeqCst);
    let long = ["min_duration=600000", "target_qps=10"];
    let test = Test::new(node.spec(Scenario::SERVER, Mode::PerformanceOnly, &long)).unwrap();
    let finished = test.run(&stop, &mut ()).unwrap();
    assert_eq!((&finished.outcome.end, finished.exit()), (&End::Interrupted, Exit::Interrupted));
    // A claimed test that is given up leaves the node to the next one.
    let few = ["min_query_count=8", "min_duration=10ms"];
    let spec = node.spec(Scenario::SINGLE_STREAM, Mode::PerformanceOnly, &few);
    Test::new(spec.clone()).unwrap().connect().unwrap().claim(&never()).unwrap().release();
    assert_eq!(Test::new(spec).unwrap().run(&never(), &mut ()).unwrap().outcome.end, End::Completed);
}

#[test]
fn what_cannot_be_run_is_refused_before_a_node_is_asked() {
    let nowhere = Target::new(vec!["127.0.0.1:1".parse().unwrap()], Transport::TCP);
    let mut spec = TestSpec::new(Benchmark::find("digits").unwrap(), Scenario::OFFLINE, nowhere);
    spec.data.dataset = Some("/no/such.npz".to_owned());
    let failure = Test::new(spec).err().unwrap();
    assert_eq!(failure.exit, Exit::Usage);
    assert!(format!("{failure:?}").contains("/no/such.npz"), "{failure:?}");
}
