//! The table: what goes wrong, and how a run must end that meets it. One file, since a reader looks for a fault in one
//! list.

use std::thread::sleep;
use std::time::Duration;

use lon_proto::v1::DispatchResponse;
use lon_tests::peer::{Behaviour, Script, Step, eight_bytes};
use lon_tests::relay::Heading;
use lon_tests::route::Route;
use nix::sys::signal::Signal;
use tonic::Status;

use super::cell::Length;
use super::mix::{ALIKE, Tenant};
use super::scene::Scene;

/// A row of the table.
pub(super) struct Fault {
    pub(super) name: &'static str,
    /// SUT of the run.
    pub(super) sut: Sut,
    pub(super) length: Length,
    /// Flags of the run.
    pub(super) flags: &'static [&'static str],
    /// Limit of the lateness of samples: enough for any machine, unless the fault is about that.
    pub(super) max_lag: &'static str,
    /// Command that starts the run.
    pub(super) under: &'static [&'static str],
    /// Action before the start of the run.
    pub(super) before: fn(&mut Scene),
    /// Action a moment after the run has begun.
    pub(super) during: fn(&mut Scene),
    pub(super) expect: Expect,
    pub(super) over: Over,
}

/// SUT nodes or peer that the run asks.
#[derive(Clone, Copy)]
pub(super) enum Sut {
    /// Two SUT nodes, a and b, with this backend.
    Nodes(&'static str),
    /// The same, b started by this program.
    Limited(&'static str, &'static [&'static str]),
    /// The same, each behind a relay.
    Relayed(&'static str),
    /// A peer that follows a script.
    Scripted(fn() -> Behaviour),
}

/// Which cells a fault has.
#[derive(Clone, Copy)]
pub(super) enum Over {
    /// Every scenario and a mix over every transport, the modes in turn; and a search for the peak.
    Everything,
    /// The same without the search, which does not report the failures of its trials.
    EveryRun,
    /// Every scenario and a mix, modes and transports in turn.
    EveryScenario,
    /// Every scenario in the same way, without a mix.
    EveryTest,
    /// One scenario over every transport, with certificates and without.
    EveryWay(&'static str),
    /// One scenario over these.
    Routes(&'static str, &'static [Route]),
    /// A mix of these tenants over every transport without certificates.
    Mix(&'static [Tenant]),
}

/// Conditions on the end of the run.
pub(super) struct Expect {
    /// One of these exit codes; none: by a signal.
    pub(super) codes: &'static [Option<i32>],
    /// Texts that the reasons or the program must say, all of them, unless the exit code is 0.
    pub(super) says: &'static [&'static str],
    /// Texts that the marks must say if the exit code is 0.
    pub(super) marks: &'static [&'static str],
    pub(super) files: Files,
    /// The longest from the fault, or from the start where the fault was there before, to the end of the program:
    /// several times what it takes on a machine that is not busy.
    pub(super) within: Duration,
}

/// Files that are left of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Files {
    /// A run folder.
    Folder,
    /// Nothing.
    None,
}

/// Answers a sample in 2 ms.
const STEADY: &str = "synthetic:constant=2ms";

/// A tenant that nothing happens to.
const WELL: Tenant = Tenant { name: "well", goes_well: true, ..Tenant::with("scenario = \"Server\"") };

const USUAL: Duration = Duration::from_secs(30);

/// Values of a row unless it says otherwise: a run to which nothing happens.
const QUIET: Fault = Fault {
    name: "",
    sut: Sut::Nodes(STEADY),
    length: Length::Short,
    flags: &[],
    max_lag: "5s",
    under: &[],
    before: |_| {},
    during: |_| {},
    expect: Expect { codes: &[Some(0)], says: &[], marks: &[], files: Files::Folder, within: USUAL },
    over: Over::EveryScenario,
};

const fn ends(code: &'static [Option<i32>], says: &'static [&'static str]) -> Expect {
    Expect { codes: code, says, marks: &[], files: Files::Folder, within: USUAL }
}

/// Returns the expectation that the run is refused before anything was measured.
const fn refused(code: &'static [Option<i32>], says: &'static [&'static str]) -> Expect {
    Expect { files: Files::None, ..ends(code, says) }
}

const INVALID: &[Option<i32>] = &[Some(3)];
const NETWORK: &[Option<i32>] = &[Some(4)];
const INTERRUPTED: &[Option<i32>] = &[Some(5)];

const TCP_AND_GRPC: &[Route] = &[Route::Grpc, Route::Tcp, Route::GrpcTls, Route::TcpTls];
const QUIC: &[Route] = &[Route::Quic, Route::QuicTls];

/// Against a peer with this script.
const fn scripted(name: &'static str, behaviour: fn() -> Behaviour, expect: Expect) -> Fault {
    Fault { name, sut: Sut::Scripted(behaviour), expect, over: Over::EveryWay("Server"), ..QUIET }
}

fn behaviour(script: Script) -> Behaviour {
    Behaviour { script, ..Behaviour::good("odd") }
}

pub(super) static FAULTS: &[Fault] = &[
    Fault { name: "none", over: Over::Everything, ..QUIET },
    // Nodes that are gone, or say nothing.
    Fault {
        name: "node killed before the start",
        before: |scene| scene.kill(1),
        expect: refused(NETWORK, &["cannot be reached"]),
        ..QUIET
    },
    Fault {
        name: "node killed in the middle",
        length: Length::Long,
        during: |scene| scene.kill(1),
        expect: ends(NETWORK, &["node b was lost"]),
        over: Over::Everything,
        ..QUIET
    },
    Fault {
        name: "all nodes killed in the middle",
        length: Length::Long,
        during: |scene| {
            scene.kill(0);
            scene.kill(1);
        },
        expect: ends(NETWORK, &["was lost"]),
        over: Over::Everything,
        ..QUIET
    },
    Fault {
        name: "node killed when all is asked",
        // Half a minute's work, of which the asking takes a second.
        sut: Sut::Nodes("synthetic:constant=100ms"),
        during: |scene| {
            sleep(Duration::from_millis(1_500));
            scene.kill(1);
        },
        expect: ends(NETWORK, &["node b was lost"]),
        over: Over::Routes("Offline", &[Route::Grpc, Route::Tcp, Route::Quic]),
        ..QUIET
    },
    Fault {
        name: "node restarted in the middle",
        length: Length::Long,
        during: |scene| {
            scene.kill(1);
            scene.restart(1);
        },
        expect: ends(NETWORK, &["node b was lost"]),
        ..QUIET
    },
    Fault {
        name: "node told to stop (SIGTERM)",
        length: Length::Long,
        during: |scene| scene.end(1),
        expect: ends(NETWORK, &["node b was lost", "shutting down"]),
        ..QUIET
    },
    Fault {
        name: "node frozen for ever",
        length: Length::Long,
        during: |scene| scene.node().signal(Signal::SIGSTOP),
        expect: ends(NETWORK, &["node b was lost", "nothing was heard"]),
        over: Over::Everything,
        ..QUIET
    },
    Fault {
        name: "node frozen for 3 s",
        length: Length::Medium,
        max_lag: "500ms",
        during: |scene| {
            scene.node().signal(Signal::SIGSTOP);
            sleep(Duration::from_secs(3));
            scene.node().signal(Signal::SIGCONT);
        },
        expect: Expect { marks: &["stood still"], ..ends(&[Some(0), Some(3)], &["stood still"]) },
        over: Over::Everything,
        ..QUIET
    },
    Fault {
        name: "node that never opens its streams",
        sut: Sut::Scripted(|| Behaviour { opens: false, ..Behaviour::good("closed") }),
        expect: refused(NETWORK, &["closed", "open the stream"]),
        ..QUIET
    },
    scripted(
        "node silent on a connection that stands",
        || Behaviour { heartbeats: false, ..behaviour(|_, _| Vec::new()) },
        ends(NETWORK, &["nothing was heard"]),
    ),
    Fault {
        name: "node busy with another run",
        before: Scene::occupy,
        expect: refused(NETWORK, &["busy with"]),
        ..QUIET
    },
    // The network between.
    Fault {
        name: "partition for ever",
        sut: Sut::Relayed(STEADY),
        length: Length::Long,
        during: |scene| scene.relays[1].cut(),
        expect: ends(NETWORK, &["node b was lost", "nothing was heard"]),
        over: Over::Everything,
        ..QUIET
    },
    Fault {
        name: "partition from all nodes for ever",
        sut: Sut::Relayed(STEADY),
        length: Length::Long,
        during: |scene| scene.relays.iter().for_each(lon_tests::relay::Relay::cut),
        expect: ends(NETWORK, &["was lost", "nothing was heard"]),
        ..QUIET
    },
    Fault {
        name: "partition for 3 s",
        sut: Sut::Relayed(STEADY),
        length: Length::Medium,
        max_lag: "500ms",
        during: |scene| {
            scene.relays[1].cut();
            sleep(Duration::from_secs(3));
            scene.relays[1].heal();
        },
        expect: Expect { marks: &["stood still"], ..ends(&[Some(0), Some(3)], &["stood still"]) },
        over: Over::Everything,
        ..QUIET
    },
    Fault {
        name: "connections reset once",
        sut: Sut::Relayed(STEADY),
        length: Length::Long,
        during: |scene| scene.relays[1].reset(),
        expect: ends(NETWORK, &["node b was lost"]),
        over: Over::Routes("Server", TCP_AND_GRPC),
        ..QUIET
    },
    Fault {
        name: "packets come from another port",
        sut: Sut::Relayed(STEADY),
        length: Length::Medium,
        during: |scene| scene.relays[1].reset(),
        over: Over::Routes("Server", QUIC),
        ..QUIET
    },
    Fault {
        name: "20 ms more on the way",
        sut: Sut::Relayed(STEADY),
        before: |scene| scene.relays.iter().for_each(|relay| relay.delay(Duration::from_millis(20))),
        ..QUIET
    },
    Fault {
        name: "every 20th packet lost",
        sut: Sut::Relayed(STEADY),
        before: |scene| scene.relays.iter().for_each(|relay| relay.lose_every(20)),
        over: Over::Routes("Offline", QUIC),
        ..QUIET
    },
    Fault {
        name: "rubbish on the way to the node",
        sut: Sut::Relayed(STEADY),
        length: Length::Long,
        during: |scene| scene.relays[1].spoil(Heading::Node),
        expect: ends(NETWORK, &["node b was lost"]),
        over: Over::Routes("Server", TCP_AND_GRPC),
        ..QUIET
    },
    Fault {
        name: "rubbish on the way back",
        sut: Sut::Relayed(STEADY),
        length: Length::Long,
        during: |scene| scene.relays[1].spoil(Heading::LoadGen),
        expect: ends(NETWORK, &["node b was lost"]),
        over: Over::Routes("Offline", TCP_AND_GRPC),
        ..QUIET
    },
    Fault {
        name: "packets of rubbish both ways",
        sut: Sut::Relayed(STEADY),
        during: |scene| {
            scene.relays[1].spoil_packets(Heading::Node);
            scene.relays[1].spoil_packets(Heading::LoadGen);
        },
        over: Over::Routes("Offline", QUIC),
        ..QUIET
    },
    // Answers that are no answers.
    Fault {
        name: "all samples fail at the node",
        sut: Sut::Scripted(|| behaviour(|_, id| vec![Step::Send(failure(id))])),
        expect: ends(INVALID, &["bad weather"]),
        over: Over::EveryRun,
        ..QUIET
    },
    Fault {
        name: "one sample in ten fails at the node",
        sut: Sut::Scripted(|| {
            behaviour(|number, id| match number % 10 {
                5 => vec![Step::Send(failure(id))],
                _ => vec![Step::Send(eight_bytes(id))],
            })
        }),
        expect: ends(INVALID, &["bad weather"]),
        over: Over::EveryRun,
        ..QUIET
    },
    Fault {
        name: "one sample is never answered",
        sut: Sut::Scripted(|| {
            behaviour(|number, id| match number {
                5 => Vec::new(),
                _ => vec![Step::Send(eight_bytes(id))],
            })
        }),
        flags: &["--response-timeout", "500ms"],
        expect: ends(INVALID, &["no answer within"]),
        over: Over::EveryWay("MultiStream"),
        ..QUIET
    },
    Fault {
        name: "answers later than --response-timeout",
        sut: Sut::Nodes("synthetic:constant=2ms,stall=1200ms,stall_share=0.015,seed=3"),
        flags: &["--response-timeout", "700ms"],
        expect: ends(&[Some(3), Some(4)], &["no answer within"]),
        over: Over::EveryScenario,
        ..QUIET
    },
    scripted(
        "one answer comes twice",
        || {
            behaviour(|number, id| {
                std::iter::repeat_with(|| Step::Send(eight_bytes(id))).take(1 + usize::from(number == 7)).collect()
            })
        },
        ends(INVALID, &["odd sent 1 answer to samples that it had answered"]),
    ),
    scripted(
        "an answer to nothing that was asked",
        || {
            behaviour(|number, id| {
                let mut steps = vec![Step::Send(eight_bytes(id))];
                steps.extend((number == 3).then(|| Step::Send(eight_bytes(id ^ 0x00ff_0000))));
                steps
            })
        },
        ends(INVALID, &["odd sent 1 answer to samples that it was never sent"]),
    ),
    scripted(
        "answers whose parts do not begin",
        || behaviour(|_, id| vec![Step::Send(DispatchResponse { part: 1, ..eight_bytes(id) })]),
        ends(NETWORK, &["node odd was lost"]),
    ),
    scripted(
        "answers of another length than they say",
        || behaviour(|_, id| vec![Step::Send(DispatchResponse { total_len: 9, ..eight_bytes(id) })]),
        ends(NETWORK, &["node odd was lost"]),
    ),
    scripted(
        "answers longer than any may be",
        || {
            behaviour(|_, id| {
                vec![Step::Send(DispatchResponse { total_len: u64::MAX, data: bytes::Bytes::new(), ..eight_bytes(id) })]
            })
        },
        ends(NETWORK, &["node odd was lost"]),
    ),
    scripted(
        "a stream ended with a reason",
        || {
            behaviour(|number, id| match number {
                5 => vec![Step::Fail(Status::internal("out of order"))],
                _ => vec![Step::Send(eight_bytes(id))],
            })
        },
        ends(NETWORK, &["node odd was lost", "out of order"]),
    ),
    scripted(
        "a name that changes in the run",
        || Behaviour { later_name: Some("other".to_owned()), ..Behaviour::good("first") },
        ends(NETWORK, &["other"]),
    ),
    scripted(
        "counters that differ from ours",
        || Behaviour { miscounts: true, ..Behaviour::good("odd") },
        ends(INVALID, &["node odd"]),
    ),
    Fault {
        name: "another wire version",
        sut: Sut::Scripted(|| Behaviour { wire_version: 9_999, ..Behaviour::good("new") }),
        expect: refused(NETWORK, &["wire version 9999"]),
        ..QUIET
    },
    Fault {
        name: "another nonce than was sent",
        sut: Sut::Scripted(|| Behaviour { honest_nonce: false, ..Behaviour::good("liar") }),
        expect: refused(NETWORK, &["nonce"]),
        ..QUIET
    },
    Fault {
        name: "more is asked than can be answered",
        sut: Sut::Nodes("synthetic:constant=200ms"),
        flags: &["--response-timeout", "2s"],
        // A node that is late with one sample after the other is as good as lost.
        expect: ends(&[Some(3), Some(4)], &["no answer within"]),
        over: Over::Routes("Server", &[Route::Grpc, Route::Tcp, Route::Quic]),
        ..QUIET
    },
    // The LoadGen node itself.
    Fault {
        name: "LoadGen frozen for 3 s",
        length: Length::Medium,
        max_lag: "500ms",
        during: |scene| {
            scene.signal_run(Signal::SIGSTOP);
            sleep(Duration::from_secs(3));
            scene.signal_run(Signal::SIGCONT);
        },
        expect: Expect { marks: &["stood still"], ..ends(&[Some(0), Some(3)], &["stood still"]) },
        over: Over::Everything,
        ..QUIET
    },
    Fault {
        name: "LoadGen killed",
        length: Length::Long,
        during: |scene| scene.signal_run(Signal::SIGKILL),
        expect: ends(&[None], &[]),
        over: Over::EveryWay("Server"),
        ..QUIET
    },
    Fault {
        name: "SIGINT to LoadGen",
        length: Length::Long,
        during: |scene| scene.signal_run(Signal::SIGINT),
        expect: ends(INTERRUPTED, &["interrupted"]),
        over: Over::Everything,
        ..QUIET
    },
    Fault {
        name: "SIGTERM to LoadGen, twice",
        length: Length::Long,
        during: |scene| {
            scene.signal_run(Signal::SIGTERM);
            scene.signal_run(Signal::SIGTERM);
        },
        expect: ends(INTERRUPTED, &["interrupted"]),
        ..QUIET
    },
    Fault {
        name: "files of LoadGen can have 4 kB",
        under: &["sh", "-c", "ulimit -f 8; exec \"$0\" \"$@\""],
        // The run ends before anything is measured: the folder begins with a file that shows the fault. A mix has no
        // cell here yet: it ends with 2 as well, and leaves a folder with mix_result.json.
        expect: refused(&[Some(2)], &["cannot write", "File too large"]),
        over: Over::EveryTest,
        ..QUIET
    },
    Fault {
        name: "LoadGen has 12 descriptors",
        under: &["sh", "-c", "ulimit -n 12; exec \"$0\" \"$@\""],
        expect: Expect { files: Files::None, ..ends(&[Some(2)], &["12 open files", "ulimit -n"]) },
        ..QUIET
    },
    Fault {
        name: "node has 48 descriptors",
        sut: Sut::Limited(STEADY, &["sh", "-c", "ulimit -n 48; exec \"$0\" \"$@\""]),
        ..QUIET
    },
    // One tenant of two.
    Fault {
        name: "one model stalls",
        expect: ends(&[Some(3), Some(4)], &["no answer within"]),
        over: Over::Mix(&[
            WELL,
            Tenant {
                name: "stalls",
                backend: Some("synthetic:constant=2ms,stall=1200ms,stall_share=0.1,seed=3"),
                keys: "scenario = \"Server\"\nresponse-timeout = \"700ms\"",
                ..WORSE
            },
        ]),
        ..QUIET
    },
    Fault {
        name: "one model is slower than its limit",
        expect: ends(INVALID, &["latency"]),
        over: Over::Mix(&[
            WELL,
            Tenant {
                name: "slow",
                backend: Some("synthetic:constant=20ms"),
                keys: "scenario = \"Server\"\nsettings = { target_qps = 40, target_latency = \"10ms\" }",
                ..WORSE
            },
        ]),
        ..QUIET
    },
    Fault {
        name: "one tenant asks more than is answered",
        expect: ends(&[Some(3), Some(4)], &["no answer within"]),
        over: Over::Mix(&[
            WELL,
            Tenant {
                name: "flooded",
                backend: Some("synthetic:constant=200ms"),
                keys: "scenario = \"Server\"\nresponse-timeout = \"2s\"",
                ..WORSE
            },
        ]),
        ..QUIET
    },
    Fault {
        name: "LoadGen killed",
        length: Length::Long,
        during: |scene| scene.signal_run(Signal::SIGKILL),
        expect: ends(&[None], &[]),
        over: Over::Mix(&ALIKE),
        ..QUIET
    },
    Fault {
        name: "the only node of one tenant killed",
        during: |scene| scene.kill(1),
        expect: ends(NETWORK, &["node b was lost"]),
        over: Over::Mix(&APART),
        ..QUIET
    },
    Fault {
        name: "the only node of one tenant frozen",
        during: |scene| scene.node().signal(Signal::SIGSTOP),
        expect: ends(NETWORK, &["node b was lost", "nothing was heard"]),
        over: Over::Mix(&APART),
        ..QUIET
    },
    Fault {
        name: "the only node of one tenant cut off",
        sut: Sut::Relayed(STEADY),
        during: |scene| scene.relays[1].cut(),
        expect: ends(NETWORK, &["node b was lost", "nothing was heard"]),
        over: Over::Mix(&APART),
        ..QUIET
    },
    Fault {
        name: "a node that knows no tenants",
        sut: Sut::Scripted(|| Behaviour::good("old")),
        expect: refused(&[Some(2)], &["old", "it knows no tenants"]),
        over: Over::Mix(&ALIKE),
        ..QUIET
    },
];

/// The tenant to which the fault of a row happens.
const WORSE: Tenant = Tenant::with("");

/// Tenants with a node each, of which the second one loses its own. It would go on for a minute, and the first one goes
/// on for it: so the fault comes first on any machine.
static APART: [Tenant; 2] = [
    Tenant { name: "well", node: Some(0), goes_well: true, ..Tenant::with("scenario = \"Server\"") },
    Tenant {
        name: "robbed",
        node: Some(1),
        keys: "scenario = \"Server\"\nsettings.Server.min_duration = \"60s\"",
        ..WORSE
    },
];

/// An answer that says that there is none.
fn failure(id: u64) -> DispatchResponse {
    DispatchResponse { id, last: true, error: "bad weather".into(), ..DispatchResponse::default() }
}
