//! What crosses the network, seen by a peer that records it.

use std::collections::HashSet;

use lon_tests::peer::{Manners, Peer};
use lon_tests::run_folder::RunFolder;
use lon_tests::test_run::TestRun;

fn run(peer: &Peer, scenario: &str, settings: &str) -> RunFolder {
    let test = TestRun::digits(scenario).on(&peer.address.to_string()).set(settings);
    let (finished, folder) = test.finish();
    assert!(matches!(finished.code, Some(0 | 3)), "{finished:?}");
    folder
}

#[test]
fn each_query_is_a_message_of_its_own_and_every_sample_is_sent_each_time() {
    for (scenario, settings) in [
        ("Server", "min_duration=0,min_query_count=1000,target_qps=5000"),
        ("SingleStream", "min_duration=0,min_query_count=1000,target_latency=1"),
        ("Offline", "min_duration=0,min_query_count=1000,target_qps=1"),
    ] {
        let peer = Peer::start(Manners::good("peer"));
        let folder = run(&peer, scenario, settings);
        let heard = peer.heard();
        let issued = folder.result()["counts"]["issued"].as_u64().unwrap();
        let samples: Vec<_> = heard.messages.iter().filter(|message| message.open.is_none()).collect();
        assert_eq!(samples.len() as u64, issued, "{scenario}: one message a sample, none saved by a cache");
        // 80 bytes: the layout's header and 64 pixels. Nothing is added to fill a message.
        assert!(samples.iter().all(|message| message.data.len() == 80 && message.last && message.part == 0));
        let ids: HashSet<u64> = samples.iter().map(|message| message.id).collect();
        assert_eq!(ids.len() as u64, issued, "{scenario}: an id is never used twice");
    }
}

#[test]
fn ids_do_not_follow_the_sample_index() {
    let peer = Peer::start(Manners::good("peer"));
    run(&peer, "Server", "min_duration=0,min_query_count=2000,target_qps=5000");
    let heard = peer.heard();
    // The same payload comes back under different ids, so an id says nothing about the sample.
    let mut ids_of = std::collections::HashMap::<_, HashSet<u64>>::new();
    for message in heard.messages.iter().filter(|message| message.open.is_none()) {
        ids_of.entry(message.data.clone()).or_default().insert(message.id);
    }
    assert!(ids_of.values().any(|ids| ids.len() > 1));
    assert!(ids_of.len() > 300, "most of the 450 samples were asked");
}

#[test]
fn nothing_in_a_run_says_what_it_is() {
    let starts: Vec<_> = [
        ("Server", "min_duration=0,min_query_count=200,target_qps=5000"),
        ("SingleStream", "min_duration=0,min_query_count=100,target_latency=1"),
    ]
    .map(|(scenario, settings)| {
        let peer = Peer::start(Manners::good("peer"));
        run(&peer, scenario, settings);
        let mut heard = peer.heard();
        assert_eq!(heard.starts.len(), 1);
        heard.starts.remove(0)
    })
    .into();
    assert_ne!(starts[0].run_id, starts[1].run_id, "run ids are random");
    let mut same = starts[0].clone();
    same.run_id = starts[1].run_id.clone();
    same.client = starts[1].client.clone();
    assert_eq!(same, starts[1], "beside the ids, a run of one scenario starts like a run of another");
}

#[test]
fn name_trips_are_real_and_each_has_a_nonce_of_its_own() {
    let peers = [Peer::start(Manners::good("a")), Peer::start(Manners::good("b"))];
    let sut = format!("{},{}", peers[0].address, peers[1].address);
    let (finished, _folder) =
        TestRun::digits("Offline").on(&sut).set("min_duration=0,min_query_count=10,target_qps=1").finish();
    assert_eq!(finished.code, Some(0), "{finished:?}");
    for peer in &peers {
        let heard = peer.heard();
        // At the first contact, before the run, and when the results are built.
        assert_eq!(heard.nonces.len(), 3);
        assert_eq!(heard.nonces.iter().collect::<HashSet<_>>().len(), 3);
        assert_eq!((heard.ends, heard.flushes.len()), (1, 1));
        let sent = heard.messages.iter().filter(|message| message.open.is_none()).count() as u64;
        assert_eq!(heard.flushes[0].samples_sent, sent);
    }
}
