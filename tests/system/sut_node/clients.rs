//! A SUT node against callers that are no LoadGen node.

use std::time::Duration;

use bytes::Bytes;
use lon_proto::run_identity::{RunPass, run_name};
use lon_proto::v1::sut_node_client::SutNodeClient;
use lon_proto::v1::{DescribeRequest, DispatchRequest};
use lon_proto::{WIRE_VERSION, limits};
use lon_tests::client::{open, start, talk};
use lon_tests::process::SutNode;
use nix::sys::signal::Signal;
use tonic::Code;
use tonic::transport::Channel;

fn sample(id: u64) -> DispatchRequest {
    DispatchRequest { id, last: true, total_len: 4, data: Bytes::from_static(b"abcd"), ..Default::default() }
}

#[test]
fn the_end_of_a_run_ends_its_streams_and_frees_the_node() {
    let node = SutNode::start("a", "synthetic:constant=1s", &["--max-batch", "1"]);
    talk(&node, async |mut client| {
        let run = start(&mut client, 1).await.unwrap();
        let (sender, mut answers) = open(&mut client, &run).await.unwrap();
        for id in 0..50 {
            sender.send(sample(id)).await.unwrap();
        }
        assert!(answers.message().await.unwrap().is_some());
        client.end_run(run.end_run()).await.unwrap();
        let mut after = 0;
        while let Ok(Some(message)) = answers.message().await {
            after += u32::from(message.error.is_empty() && message.heartbeat.is_none());
        }
        assert!(after < 10, "{after} samples of a run that had ended were computed");
        let again = open(&mut client, &run).await;
        assert_eq!(again.err().map(|status| status.code()), Some(Code::NotFound));
        start(&mut client, 2).await.expect("the node is free");
    });
}

#[test]
fn flushes_overlap_and_end_with_the_run() {
    let node = SutNode::start("a", "synthetic:constant=20ms", &["--max-batch", "1"]);
    talk(&node, async |mut client| {
        let run = start(&mut client, 1).await.unwrap();
        let (sender, _answers) = open(&mut client, &run).await.unwrap();
        for id in 0..20 {
            sender.send(sample(id)).await.unwrap();
        }
        let flush = |samples_sent| {
            let (mut client, flush) = (client.clone(), run.flush(samples_sent));
            tokio::spawn(async move { client.flush(flush).await })
        };
        let (all, half, never) = (flush(20), flush(10), flush(u64::MAX));
        half.await.unwrap().unwrap();
        all.await.unwrap().unwrap();
        client.end_run(run.end_run()).await.unwrap();
        assert_eq!(never.await.unwrap().map_err(|status| status.code()).err(), Some(Code::Aborted));
    });
}

#[test]
fn samples_that_are_begun_and_not_ended_count_against_the_bounds() {
    let node = SutNode::start("a", "null", &[]);
    talk(&node, async |mut client| {
        let run = start(&mut client, 1).await.unwrap();
        let (sender, mut answers) = open(&mut client, &run).await.unwrap();
        // Each announces the whole of what a node holds; only the first is taken in, and reading stops.
        let first_piece = |id| DispatchRequest { last: false, total_len: 1 << 30, ..sample(id) };
        for id in 0..3 {
            sender.send(first_piece(id)).await.unwrap();
        }
        sender.send(sample(9)).await.unwrap();
        let quiet = tokio::time::timeout(Duration::from_secs(2), async {
            while let Some(message) = answers.message().await.unwrap() {
                assert!(message.heartbeat.is_some(), "sample 9 was read past the bounds: {message:?}");
            }
        });
        assert!(quiet.await.is_err(), "the stream stays open");
        client.end_run(run.end_run()).await.unwrap();
        let run = start(&mut client, 2).await.unwrap();
        let (sender, mut answers) = open(&mut client, &run).await.unwrap();
        sender.send(sample(1)).await.unwrap();
        assert_eq!(answers.message().await.unwrap().unwrap().data.len(), 8, "the next run is served");
    });
}

#[test]
fn what_breaks_the_protocol_is_told_its_cause() {
    let node = SutNode::start("a", "null", &[]);
    talk(&node, async |mut client| {
        let run = start(&mut client, 1).await.unwrap();
        for (odd, cause) in [
            (DispatchRequest { part: 1, ..sample(1) }, "part 1 came where part 0 was due"),
            (DispatchRequest { total_len: 5, ..sample(1) }, "5 bytes announced, 4 came"),
            (DispatchRequest { total_len: u64::MAX, ..sample(1) }, "bytes announced"),
            (DispatchRequest { open: Some(run.open()), ..sample(1) }, "a second Open"),
        ] {
            let (sender, mut answers) = open(&mut client, &run).await.unwrap();
            sender.send(odd).await.unwrap();
            let status = loop {
                match answers.message().await {
                    Ok(Some(_)) => {}
                    Ok(None) => panic!("no status for: {cause}"),
                    Err(status) => break status,
                }
            };
            assert_eq!(status.code(), Code::InvalidArgument, "{status}");
            assert!(status.message().contains(cause), "{status}");
        }
        let secret = run.secret().clone();
        let unknown = open(&mut client, &RunPass::new(Bytes::from(vec![7; limits::RUN_ID_BYTES]), secret)).await;
        assert_eq!(unknown.err().map(|status| status.code()), Some(Code::NotFound));
        let busy = start(&mut client, 2).await.unwrap_err();
        assert!(busy.message().contains("busy with run"), "{busy}");
    });
}

/// A stranger that asks a busy node learns who has it, and nothing that ends or spoils the run.
#[test]
fn a_stranger_cannot_touch_the_run_of_another() {
    let node = SutNode::start("a", "null", &[]);
    talk(&node, async |mut client| {
        let run = start(&mut client, 1).await.unwrap();
        let run_id = run.open().run_id;
        let (sender, mut answers) = open(&mut client, &run).await.unwrap();
        let busy = start(&mut client, 2).await.unwrap_err();
        assert!(busy.message().contains(&format!("busy with run {}", run_name(&run_id))), "{busy}");
        assert!(!busy.message().contains(&hex::encode(&run_id)), "{busy}");
        // Even one who knows the id.
        let claimed = start(&mut client, 1).await.unwrap_err();
        assert_eq!(claimed.code(), Code::ResourceExhausted, "{claimed}");
        for secret in [vec![], vec![0; limits::SECRET_BYTES], run_id.to_vec(), vec![0; 4 << 10]] {
            let stranger = RunPass::new(run_id.clone(), secret.into());
            let refusals = [
                open(&mut client, &stranger).await.err(),
                client.flush(stranger.flush(0)).await.err(),
                client.end_run(stranger.end_run()).await.err(),
            ];
            for refusal in refusals {
                let refusal = refusal.expect("a refusal");
                assert_eq!(refusal.code(), Code::NotFound, "{refusal}");
                assert!(refusal.message().starts_with("no such run at a"), "{refusal}");
            }
        }
        sender.send(sample(1)).await.unwrap();
        assert_eq!(answers.message().await.unwrap().unwrap().id, 1);
        let counts = client.end_run(run.end_run()).await.unwrap().into_inner();
        assert_eq!((counts.samples_received, counts.samples_answered), (1, 1));
        // The secret of a run that is over opens nothing, not even a run with the same id.
        let next = start(&mut client, 1).await.unwrap();
        assert_eq!(client.end_run(run.end_run()).await.unwrap_err().code(), Code::NotFound);
        client.end_run(next.end_run()).await.unwrap();
    });
}

#[test]
fn a_node_is_described_without_the_ids_of_its_machine() {
    let node = SutNode::start("a", "null", &[]);
    talk(&node, async |mut client| {
        let ask = async |client: &mut SutNodeClient<Channel>, nonce: Vec<u8>| {
            let request = DescribeRequest { wire_version: WIRE_VERSION, nonce: nonce.into() };
            client.describe(request).await.map(|description| description.into_inner().host.unwrap())
        };
        let [one, again, other] = [1, 1, 2].map(|byte| vec![byte; limits::HOST_NONCE_BYTES]);
        let one = ask(&mut client, one).await.unwrap();
        assert_eq!(one.boot_id, ask(&mut client, again).await.unwrap().boot_id);
        assert_ne!(one.boot_id, ask(&mut client, other).await.unwrap().boot_id);
        let raw = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
        assert!(!format!("{one:?}").contains(raw.trim()), "{one:?}");
        for length in [0, limits::HOST_NONCE_BYTES - 1, 4 << 10] {
            let refused = ask(&mut client, vec![0; length]).await.unwrap_err();
            assert_eq!(refused.code(), Code::InvalidArgument, "{refused}");
        }
    });
}

#[test]
fn an_idle_connection_does_not_delay_the_end() {
    let node = SutNode::start("a", "null", &[]);
    let _idle = std::net::TcpStream::connect(&node.address).unwrap();
    node.signal(Signal::SIGTERM);
    let (code, log) = node.wait_with_log();
    assert_eq!(code, Some(0));
    assert!(
        log.contains("shutting down") && log.contains("SIGTERM") && !log.contains("not everything was answered"),
        "{log}"
    );
}
