//! Several models on one node: tenants of a run ask them side by side, and end each by itself.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use lon_proto::run_identity::run_name;
use lon_proto::v1::{Backend as Described, Model as DescribedModel, StartRunResponse};
use lon_sut::backend::{
    Backend, BackendError, BackendInfo, BackendOptions, BackendSample, Backends, Half, InferError, Input, Worker,
};
use lon_sut::tensor::Signature;
use lon_sut::{Limits, Model, ModelConfig, Models};
use tonic::Code;

use crate::client::{Control, Stream, with_models};

fn model(name: &str, backend: &str) -> Model {
    let backend = Backends::new().open(backend, &BackendOptions::default()).unwrap();
    Model { name: name.parse().unwrap(), backend, config: None }
}

/// A model that answers at once, and one whose answers have four bytes.
fn two() -> Models {
    Models::new(vec![model("vision", "null"), model("chat", "synthetic:constant=1ms,output=4")]).unwrap()
}

/// Claims the node for these tenants. Each has a control of its own.
async fn claimed<const N: usize>(address: &str, tenants: [&str; N]) -> (StartRunResponse, [Control; N]) {
    let mut control = Control::connect(address, 1).await;
    let tenants = tenants.map(|model| (model, "", ""));
    let response = control.start_tenants(&tenants).await.unwrap();
    let of = |place: usize| control.of_tenant(&response.tenants[place].secret);
    let controls = std::array::from_fn(of);
    (response, controls)
}

async fn ask(stream: &mut Stream, id: u64) -> Result<Bytes, String> {
    stream.send(id, Bytes::from_static(b"a sample")).await;
    let answer = stream.answer().await;
    assert_eq!(answer.id, id);
    answer.result
}

#[test]
fn two_models_answer_side_by_side_with_counters_of_their_own() {
    with_models(two(), async |address| {
        let (response, [mut vision, mut chat]) = claimed(&address, ["vision", "chat"]).await;
        let Limits { max_samples_in_flight, .. } = Limits::default();
        for terms in &response.tenants {
            assert_eq!(terms.max_samples_in_flight, max_samples_in_flight / 2);
            assert!(terms.max_sample_bytes <= terms.max_bytes_in_flight);
        }
        assert_eq!(response.secret, response.tenants[0].secret);
        assert_ne!(response.tenants[0].secret, response.tenants[1].secret);
        assert_eq!((response.tenants[0].busy_samples, response.tenants[1].busy_samples), (256, 16));
        let (mut of_vision, _) = Stream::tcp(&address, &vision.pass).await;
        let (mut of_chat, _) = Stream::tcp(&address, &chat.pass).await;
        for id in 0..5 {
            assert_eq!(ask(&mut of_vision, id).await.unwrap().len(), 8);
        }
        for id in 0..3 {
            assert_eq!(ask(&mut of_chat, id).await.unwrap().len(), 4);
        }
        vision.flush(5).await.unwrap();
        chat.flush(3).await.unwrap();
        let (of_vision, of_chat) = (vision.end().await, chat.end().await);
        assert_eq!((of_vision.samples_answered, of_vision.payload_bytes_out), (5, 40));
        assert_eq!((of_chat.samples_answered, of_chat.payload_bytes_out), (3, 12));
        vision.start("", "").await.unwrap();
    });
}

#[test]
fn tenants_of_one_model_are_counted_apart() {
    with_models(two(), async |address| {
        let (_, [mut first, mut second]) = claimed(&address, ["chat", "chat"]).await;
        let (mut of_first, _) = Stream::tcp(&address, &first.pass).await;
        let (mut of_second, _) = Stream::tcp(&address, &second.pass).await;
        for id in 0..4 {
            of_first.send(id, Bytes::from_static(b"first")).await;
            of_second.send(id, Bytes::from_static(b"the second")).await;
        }
        for _ in 0..4 {
            of_first.answer().await.result.unwrap();
            of_second.answer().await.result.unwrap();
        }
        assert_eq!(ask(&mut of_second, 4).await.unwrap().len(), 4);
        let (first, second) = (first.end().await, second.end().await);
        assert_eq!((first.samples_received, first.payload_bytes_in), (4, 20));
        assert_eq!((second.samples_received, second.payload_bytes_in), (5, 48));
    });
}

#[test]
fn a_tenant_ends_alone_and_the_node_is_free_after_the_last() {
    with_models(two(), async |address| {
        let (_, [mut vision, mut chat]) = claimed(&address, ["vision", "chat"]).await;
        let (mut of_chat, _) = Stream::tcp(&address, &chat.pass).await;
        vision.end().await;
        assert_eq!(vision.flush(0).await.unwrap_err().0, Code::NotFound, "it has ended");
        let mut other = Control::connect(&address, 2).await;
        let busy = (Code::ResourceExhausted, format!("node n1 is busy with run {} from there", run_name(&[1; 16])));
        assert_eq!(other.start("", "").await.unwrap_err(), busy);
        assert_eq!(other.probe().await.unwrap_err(), busy);
        assert_eq!(ask(&mut of_chat, 7).await.unwrap().len(), 4);
        assert_eq!(chat.end().await.samples_answered, 1);
        other.start("", "").await.unwrap();
    });
}

#[test]
fn a_tenant_whose_streams_are_gone_lapses_alone() {
    with_models(two(), async |address| {
        let (_, [mut vision, mut chat]) = claimed(&address, ["vision", "chat"]).await;
        let (mut of_chat, _) = Stream::tcp(&address, &chat.pass).await;
        drop(Stream::tcp(&address, &vision.pass).await);
        // A Flush of samples that never come ends with its run.
        assert_eq!(vision.flush(1).await.unwrap_err().0, Code::Aborted);
        assert_eq!(vision.flush(0).await.unwrap_err().0, Code::NotFound);
        assert_eq!(ask(&mut of_chat, 7).await.unwrap().len(), 4);
        assert_eq!(chat.end().await.samples_answered, 1);
        vision.start("", "").await.unwrap();
    });
}

#[test]
fn a_claim_lapses_with_all_its_tenants_when_its_client_is_gone() {
    with_models(two(), async |address| {
        let (_, [vision, chat, _]) = claimed(&address, ["vision", "chat", "chat"]).await;
        let streams = [Stream::tcp(&address, &vision.pass).await, Stream::tcp(&address, &chat.pass).await];
        let mut other = Control::connect(&address, 2).await;
        drop(streams);
        // The third tenant never had a stream: it has ten seconds from the moment in which the others are gone.
        while let Err((code, _)) = other.start("", "").await {
            assert_eq!(code, Code::ResourceExhausted);
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    });
}

#[test]
fn models_that_are_not_there_and_too_many_tenants_are_refused() {
    with_models(two(), async |address| {
        let mut control = Control::connect(&address, 1).await;
        let (code, message) = control.start_tenants(&[("vision", "", ""), ("voice", "", "")]).await.unwrap_err();
        assert_eq!(code, Code::InvalidArgument);
        assert_eq!(message, "node n1 has no model 'voice' (its models: vision, chat)");
        let (code, message) = control.start_tenants(&[("chat", "", ""); 17]).await.unwrap_err();
        assert!(code == Code::InvalidArgument && message.contains("17 tenants"), "{message}");
        let (code, message) = control.start_tenants(&[("vision", "", ""), ("chat", "snappy", "")]).await.unwrap_err();
        assert!(code == Code::Unimplemented && message.starts_with("tenant 2 (chat): codec 'snappy'"), "{message}");
        control.start_tenants(&[("chat", "", ""); 16]).await.unwrap();
    });
}

#[test]
fn a_client_that_knows_no_tenants_asks_the_first_model() {
    with_models(two(), async |address| {
        let mut control = Control::connect(&address, 1).await;
        let models = control.describe().await.models;
        let engines = models.iter().map(|DescribedModel { name, backend, codecs, settings }| {
            assert!(codecs.iter().any(|codec| codec == "zstd"), "{codecs:?}");
            assert!(settings.iter().any(|setting| setting.name == "max_batch"), "{settings:?}");
            let engine = backend.as_ref().map(|Described { engine, .. }| engine.as_str());
            (name.as_str(), engine.unwrap_or_default())
        });
        let engines: Vec<(&str, &str)> = engines.collect();
        assert_eq!(engines, [("vision", "null"), ("chat", "synthetic:constant=1ms,output=4")]);
        let response = control.start("", "").await.unwrap();
        assert!(response.tenants.is_empty());
        assert_eq!(response.max_samples_in_flight, Limits::default().max_samples_in_flight);
        let (mut stream, _) = Stream::tcp(&address, &control.pass).await;
        assert_eq!(ask(&mut stream, 1).await.unwrap().len(), 8);
        assert_eq!(control.end().await.samples_answered, 1);
    });
}

/// A model that answers no sample.
struct Broken(BackendInfo);

impl Backend for Broken {
    fn info(&self) -> &BackendInfo {
        &self.0
    }

    fn input(&self) -> Input {
        Input::Opaque
    }

    fn worker(&self) -> Result<Half, BackendError> {
        Ok(Half::Batch(Box::new(BrokenWorker)))
    }
}

struct BrokenWorker;

impl Worker for BrokenWorker {
    fn infer(&mut self, _batch: &[BackendSample]) -> Vec<Result<Bytes, InferError>> {
        panic!("the model is broken");
    }
}

#[test]
fn a_model_that_fails_is_the_failure_of_its_tenant_alone() {
    let info = BackendInfo {
        engine: "broken".to_owned(),
        model: String::new(),
        model_sha256: None,
        model_bytes: None,
        settings: Vec::new(),
        inputs: Signature::default(),
        outputs: Signature::default(),
    };
    let broken = Model { name: "bad".parse().unwrap(), backend: Arc::new(Broken(info)), config: None };
    let models = Models::new(vec![broken, model("good", "synthetic:constant=1ms,output=4")]).unwrap();
    with_models(models, async |address| {
        let (_, [mut bad, mut good]) = claimed(&address, ["bad", "good"]).await;
        let (mut of_bad, _) = Stream::tcp(&address, &bad.pass).await;
        let (mut of_good, _) = Stream::tcp(&address, &good.pass).await;
        for id in 0..3 {
            ask(&mut of_bad, id).await.unwrap_err();
            assert_eq!(ask(&mut of_good, id).await.unwrap().len(), 4);
        }
        let (bad, good) = (bad.end().await, good.end().await);
        assert_eq!((bad.samples_answered, bad.samples_failed), (3, 3));
        assert_eq!((good.samples_answered, good.samples_failed), (3, 0));
    });
}

/// Each model has options of its own, and samples of one never wait for the other.
#[test]
fn a_slow_model_delays_no_other() {
    let mut slow = model("slow", "synthetic:constant=1000s");
    slow.config = Some(ModelConfig { max_delay: Duration::from_secs(1000), ..ModelConfig::default() });
    with_models(Models::new(vec![slow, model("fast", "synthetic:constant=1ms")]).unwrap(), async |address| {
        let (_, [mut slow, mut fast]) = claimed(&address, ["slow", "fast"]).await;
        let (mut of_slow, _) = Stream::tcp(&address, &slow.pass).await;
        let (mut of_fast, _) = Stream::tcp(&address, &fast.pass).await;
        of_slow.send(1, Bytes::from_static(b"waits")).await;
        for id in 0..10 {
            ask(&mut of_fast, id).await.unwrap();
        }
        assert_eq!(fast.end().await.samples_answered, 10);
        let slow = slow.end().await;
        assert_eq!((slow.samples_received, slow.samples_answered), (1, 0));
    });
}
