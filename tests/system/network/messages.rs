//! Messages that cross the network, on every way to travel, as a peer records them.

use std::collections::{HashMap, HashSet};

use lon_net::framing::{Outbound, PREFIX_BYTES};
use lon_net::tcp::MAGIC;
use lon_proto::limits::PART_BYTES;
use lon_proto::run_identity::run_name;
use lon_tests::peer::{Behaviour, Heard, Peer, SECRET};
use lon_tests::route::{OpenRoute, Route};
use lon_tests::run_folder::RunFolder;
use lon_tests::test_run::TestRun;

fn run(opened: &OpenRoute, peer: &Peer, scenario: &str, settings: &str) -> RunFolder {
    finish(opened, peer, TestRun::digits(scenario).set(settings))
}

fn finish(opened: &OpenRoute, peer: &Peer, test: TestRun) -> RunFolder {
    let (finished, folder) = opened.to(test, &peer.address.to_string()).finish();
    assert!(matches!(finished.code, Some(0 | 3)), "{:?}: {finished:?}", opened.route);
    folder
}

/// Bytes of the messages that were heard, as they must be: each field once, none that the contract does not know.
fn contract_bytes(heard: &Heard) -> u64 {
    let mut out = Outbound::default();
    heard.messages.iter().map(|(_, message)| out.push_message(message)).sum()
}

#[test]
fn each_query_is_a_message_of_its_own_and_every_sample_is_sent_each_time() {
    for route in Route::ALL {
        let opened = route.open();
        for (scenario, settings) in [
            ("Server", "min_duration=0,min_query_count=1000,target_qps=5000"),
            ("SingleStream", "min_duration=0,min_query_count=1000,target_latency=1"),
            ("Offline", "min_duration=0,min_query_count=1000,target_qps=1"),
        ] {
            let peer = opened.peer(Behaviour::good("peer"));
            let folder = run(&opened, &peer, scenario, settings);
            let heard = peer.heard();
            let issued = folder.result()["counts"]["issued"].as_u64().unwrap();
            let samples: Vec<_> = heard.samples().collect();
            assert_eq!(
                samples.len() as u64,
                issued,
                "{route:?} {scenario}: one message a sample, none saved by a cache"
            );
            // 80 bytes: the layout's header and 64 pixels. Nothing is added to fill a message,
            assert!(samples.iter().all(|(_, message)| message.data.len() == 80 && message.last && message.part == 0));
            // nor hidden in it.
            assert_eq!(heard.message_bytes, contract_bytes(&heard), "{route:?} {scenario}: padding");
            let ids: HashSet<_> = samples.iter().map(|(stream, message)| (stream, message.id)).collect();
            assert_eq!(ids.len() as u64, issued, "{route:?} {scenario}: an id is never used twice on a stream");
        }
    }
}

/// Without HTTP and TLS every byte can be accounted for.
#[test]
fn nothing_is_between_the_messages() {
    let opened = Route::Tcp.open();
    let peer = opened.peer(Behaviour::good("peer"));
    let settings = "min_duration=0,min_query_count=500,target_qps=5000";
    finish(&opened, &peer, TestRun::digits("Server").set(settings).args(&["--connections", "3"]));
    let heard = peer.wait_until(|heard| heard.good_ends == 3);
    let crossed: u64 = heard.tcp_sockets.iter().map(|socket| socket.read()).sum();
    let messages = heard.message_bytes + (heard.messages.len() * PREFIX_BYTES) as u64;
    // The magic before the first message of a stream, and an empty End after its last one.
    let framing_bytes = heard.streams * (MAGIC.len() + PREFIX_BYTES) as u64;
    assert_eq!((heard.streams, crossed), (3, messages + framing_bytes));
}

#[test]
fn a_large_sample_travels_in_parts_of_its_own() {
    const SAMPLE_BYTES: usize = 2_500_000;
    for route in Route::ALL {
        let opened = route.open();
        let peer = opened.peer(Behaviour::good("peer"));
        let test = TestRun::new("Offline").dataset(&format!("synthetic:u8[{SAMPLE_BYTES}]x4"));
        finish(&opened, &peer, test.set("min_duration=0,min_query_count=8,target_qps=1"));
        let heard = peer.heard();
        assert_eq!(heard.message_bytes, contract_bytes(&heard), "{route:?}: padding");
        let mut parts = HashMap::<_, Vec<_>>::new();
        for (stream, message) in heard.samples() {
            parts.entry((stream, message.id)).or_default().push(message);
        }
        assert_eq!(parts.len(), 8, "{route:?}");
        for parts in parts.values() {
            let sizes: Vec<usize> = parts.iter().map(|part| part.data.len()).collect();
            let numbers: Vec<u32> = parts.iter().map(|part| part.part).collect();
            assert_eq!(numbers, [0, 1, 2], "{route:?}");
            assert_eq!(sizes[..2], [PART_BYTES; 2], "{route:?}");
            // The layout's header comes on top of the sample.
            let whole: usize = sizes.iter().sum();
            assert_eq!(parts[0].total_len, whole as u64, "{route:?}");
            assert!((SAMPLE_BYTES..SAMPLE_BYTES + 100).contains(&whole), "{route:?}: {whole}");
            assert!(parts[2].last && parts[1..].iter().all(|part| part.total_len == 0), "{route:?}");
        }
    }
}

#[test]
fn ids_do_not_follow_the_sample_index() {
    for route in Route::ALL {
        let opened = route.open();
        let peer = opened.peer(Behaviour::good("peer"));
        run(&opened, &peer, "Server", "min_duration=0,min_query_count=2000,target_qps=5000");
        let heard = peer.heard();
        // The same payload comes back under different ids, so an id says nothing about the sample.
        let mut ids_of = HashMap::<_, HashSet<u64>>::new();
        for (_, message) in heard.samples() {
            ids_of.entry(message.data.clone()).or_default().insert(message.id);
        }
        assert!(ids_of.values().any(|ids| ids.len() > 1), "{route:?}");
        assert!(ids_of.len() > 300, "{route:?}: most of the 450 samples were asked");
    }
}

#[test]
fn nothing_in_a_run_says_what_it_is() {
    for route in Route::ALL {
        let opened = route.open();
        let [one, mut other] = [
            ("Server", "min_duration=0,min_query_count=200,target_qps=5000"),
            ("SingleStream", "min_duration=0,min_query_count=100,target_latency=1"),
        ]
        .map(|(scenario, settings)| {
            let peer = opened.peer(Behaviour::good("peer"));
            run(&opened, &peer, scenario, settings);
            let mut heard = peer.heard();
            assert_eq!(heard.starts.len(), 1, "{route:?}");
            heard.starts.remove(0)
        });
        assert_ne!(one.run_id, other.run_id, "{route:?}: run ids are random");
        other.run_id.clone_from(&one.run_id);
        other.client.clone_from(&one.client);
        assert_eq!(one, other, "{route:?}: beside the ids, a run of one scenario starts like a run of another");
    }
}

/// Each node gave a secret when it was claimed: all that touches the run shows it, and nothing that is kept has it.
#[test]
fn the_secret_of_a_run_is_shown_to_its_node_and_to_nobody_else() {
    for route in Route::ALL {
        let opened = route.open();
        let peer = opened.peer(Behaviour::good("peer"));
        let test = TestRun::digits("Offline").patient().set("min_duration=0,min_query_count=10,target_qps=1");
        let (finished, folder) = opened.to(test, &peer.address.to_string()).finish();
        assert_eq!(finished.code, Some(0), "{route:?}: {finished:?}");
        let heard = peer.heard();
        let run_id = &heard.starts[0].run_id;
        let opens: Vec<_> = heard.messages.iter().filter_map(|(_, message)| message.open.as_ref()).collect();
        assert_eq!(opens.len() as u64, heard.streams, "{route:?}");
        assert!(opens.iter().all(|open| open.run_id == run_id && open.secret == SECRET[..]), "{route:?}");
        assert!(heard.flushes.iter().all(|flush| flush.run_id == run_id && flush.secret == SECRET[..]), "{route:?}");
        assert!(heard.ends.iter().all(|end| end.run_id == run_id && end.secret == SECRET[..]), "{route:?}");
        let texts: String = folder.texts().into_iter().chain([finished.stdout, finished.stderr]).collect();
        for never in [hex::encode(SECRET), hex::encode(run_id)] {
            assert!(!texts.contains(&never), "{route:?}");
        }
        assert!(texts.contains(&run_name(run_id)), "{route:?}: the log has the name that the node's log has");
    }
}

#[test]
fn name_trips_are_real_and_each_has_a_nonce_of_its_own() {
    for route in Route::ALL {
        let opened = route.open();
        let peers = ["a", "b"].map(|name| opened.peer(Behaviour::good(name)));
        let sut = peers.each_ref().map(|peer| peer.address.to_string()).join(",");
        let test = TestRun::digits("Offline").patient().set("min_duration=0,min_query_count=10,target_qps=1");
        let (finished, _folder) = opened.to(test, &sut).finish();
        assert_eq!(finished.code, Some(0), "{route:?}: {finished:?}");
        let nonces = peers.each_ref().map(|peer| peer.heard().nonces.clone());
        // At the first contact, before the run, and when the results are built.
        assert_eq!(nonces.each_ref().map(Vec::len), [3, 3], "{route:?}");
        assert_eq!(nonces.iter().flatten().collect::<HashSet<_>>().len(), 6, "{route:?}: asked anew each time");
        for peer in &peers {
            let heard = peer.heard();
            assert_eq!((heard.ends.len(), heard.flushes.len()), (1, 1), "{route:?}");
            assert_eq!(heard.flushes[0].samples_sent, heard.samples().count() as u64, "{route:?}");
        }
    }
}
