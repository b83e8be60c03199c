//! A peer that speaks `lon.v1` and follows a script, to show a LoadGen node what no real SUT node does, and to write
//! down what a LoadGen node says. It is reached over gRPC, plain TCP and QUIC, with TLS or without, and follows the
//! same script on each.

mod guard;
mod listeners;
mod service;
mod stream;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use lon_net::io::SocketCounters;
use lon_net::tls::ServerTls;
use lon_proto::WIRE_VERSION;
use lon_proto::codec::Codec;
use lon_proto::limits::SECRET_BYTES;
use lon_proto::v1::{
    DispatchRequest, DispatchResponse, EndRunRequest, EndRunResponse, FlushRequest, Stages, StartRunRequest,
    StartRunResponse, TensorSpec,
};
use tokio::sync::oneshot;
use tonic::Status;

use self::guard::Guard;

/// Function that returns the peer's steps for each complete sample. `number` counts the samples from 0, over all
/// streams.
pub type Script = fn(number: u64, id: u64) -> Vec<Step>;

/// One thing to do.
#[derive(Debug)]
pub enum Step {
    /// Send this.
    Send(DispatchResponse),
    /// End the stream with this.
    Fail(Status),
}

/// Reaction of a peer to Flush.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlushManner {
    /// It returns, as it should.
    Returns,
    /// It fails.
    Fails,
    /// It never returns.
    Hangs,
}

/// Behaviour of the peer beside its answers.
#[derive(Clone, Debug)]
pub struct Behaviour {
    /// Its name.
    pub name: String,
    /// The wire version it claims.
    pub wire_version: u32,
    /// The codecs that it claims to know.
    pub codecs: Vec<String>,
    /// Returns the nonce it was sent.
    pub honest_nonce: bool,
    /// Opens the stream that Dispatch asks for, instead of leaving the caller waiting.
    pub opens: bool,
    /// Says that it is there when it has nothing else to say.
    pub heartbeats: bool,
    /// Says at the end of a run that it received one sample more than it did, with all its bytes.
    pub miscounts: bool,
    /// Another name, from the third time it is asked: at the end of a run.
    pub later_name: Option<String>,
    /// Outputs that the peer declares for its answers.
    pub outputs: Vec<TensorSpec>,
    /// Says what its sockets carried, instead of nothing.
    pub honest_sockets: bool,
    /// It counts what crosses its sockets.
    pub counts_sockets: bool,
    /// Reply of the peer to StartRun. The secret is the peer's own.
    pub bounds: StartRunResponse,
    /// Reaction of the peer to Flush.
    pub flush: FlushManner,
    /// Serves one run at a time, and whoever shows its secret, as the contract wants it; else it is asked by anybody.
    pub guards: bool,
    /// Script for each sample.
    pub script: Script,
}

impl Behaviour {
    /// A well-behaved node that keeps every rule of the contract.
    pub fn strict(name: &str) -> Behaviour {
        let codecs = vec!["none".to_owned()];
        Behaviour { guards: true, codecs, script: answer_with_stages, ..Behaviour::good(name) }
    }

    /// A well-behaved node of this name.
    pub fn good(name: &str) -> Behaviour {
        Behaviour {
            name: name.to_owned(),
            wire_version: WIRE_VERSION,
            codecs: Codec::NAMES.map(str::to_owned).to_vec(),
            honest_nonce: true,
            opens: true,
            heartbeats: true,
            miscounts: false,
            later_name: None,
            outputs: Vec::new(),
            honest_sockets: true,
            counts_sockets: true,
            bounds: StartRunResponse {
                max_samples_in_flight: 1024,
                max_bytes_in_flight: 1 << 30,
                max_sample_bytes: 1 << 30,
                busy_samples: 8,
                ..StartRunResponse::default()
            },
            flush: FlushManner::Returns,
            guards: false,
            script: answer_once,
        }
    }
}

/// The well-behaved script.
pub fn answer_once(_number: u64, id: u64) -> Vec<Step> {
    vec![Step::Send(eight_bytes(id))]
}

/// The same with stages, of no time at all.
pub fn answer_with_stages(_number: u64, id: u64) -> Vec<Step> {
    vec![Step::Send(DispatchResponse { stages: Some(Stages::default()), ..eight_bytes(id) })]
}

/// A whole answer of eight bytes.
pub fn eight_bytes(id: u64) -> DispatchResponse {
    DispatchResponse { id, last: true, total_len: 8, data: Bytes::from_static(&[0; 8]), ..Default::default() }
}

/// Everything a peer was sent, in order of arrival.
#[derive(Debug, Default)]
pub struct Heard {
    /// GetName calls.
    pub nonces: Vec<u64>,
    /// StartRun calls.
    pub starts: Vec<StartRunRequest>,
    /// Dispatch messages, each with the number of the stream that it came on: ids mean nothing beyond one.
    pub messages: Vec<(u64, DispatchRequest)>,
    /// Samples that were complete.
    pub complete: u64,
    /// Bytes of the Dispatch messages as they came, without their prefixes.
    pub message_bytes: u64,
    /// Those of them that carried no sample: Open and heartbeats.
    pub other_bytes: u64,
    /// Heartbeats that came.
    pub client_heartbeats: u64,
    /// Heartbeats that went.
    pub heartbeats: u64,
    /// Bytes of the answers' messages as they went,
    pub answer_message_bytes: u64,
    /// and of the answers themselves.
    pub answer_bytes: u64,
    /// Dispatch streams that were opened.
    pub streams: u64,
    /// Of those, ended by the other end in good order.
    pub good_ends: u64,
    /// Flush calls.
    pub flushes: Vec<FlushRequest>,
    /// EndRun calls.
    pub ends: Vec<EndRunRequest>,
    /// Counters of the sockets of plain TCP, or of TCP over TLS.
    pub tcp_sockets: Vec<Arc<SocketCounters>>,
}

impl Heard {
    /// Returns the counters that an honest node would report.
    fn counters(&self) -> EndRunResponse {
        let sample_bytes = self.samples().map(|(_, message)| message.data.len() as u64).sum();
        EndRunResponse {
            samples_received: self.complete,
            samples_answered: self.complete,
            message_bytes_in: self.message_bytes - self.other_bytes,
            message_bytes_out: self.answer_message_bytes,
            payload_bytes_in: sample_bytes,
            payload_bytes_out: self.answer_bytes,
            tensor_bytes_in: sample_bytes,
            tensor_bytes_out: self.answer_bytes,
            // At least: what is around the messages is not counted here.
            socket_bytes_in: Some(self.message_bytes),
            socket_bytes_out: Some(self.answer_message_bytes),
            heartbeats: self.heartbeats,
            client_heartbeats: self.client_heartbeats,
            ..EndRunResponse::default()
        }
    }

    /// The Dispatch messages that carry a sample, or a part of one.
    pub fn samples(&self) -> impl Iterator<Item = &(u64, DispatchRequest)> {
        self.messages.iter().filter(|(_, message)| message.open.is_none() && message.heartbeat.is_none())
    }
}

/// Secret that the peer demands from the client of a run.
pub const SECRET: [u8; SECRET_BYTES] = [0x5E; SECRET_BYTES];

/// Number of looks for new messages, and the interval between two looks.
const LOOKS: u32 = 30_000;
const BETWEEN_LOOKS: Duration = Duration::from_millis(10);

/// A running peer. Stops when dropped.
#[derive(Debug)]
pub struct Peer {
    /// Where it listens: over TCP, and over UDP.
    pub address: SocketAddr,
    heard: Notes,
    _stop: oneshot::Sender<()>,
}

impl Peer {
    /// Starts it on a free port of 127.0.0.1, without TLS (QUIC: with a certificate of its own).
    pub fn start(behaviour: Behaviour) -> Peer {
        Peer::start_with(behaviour, None)
    }

    /// The same with TLS on every transport, if given.
    pub fn start_with(behaviour: Behaviour, tls: Option<ServerTls>) -> Peer {
        let sockets = listeners::Sockets::bind();
        let heard = Notes::default();
        let peer = Arc::new(Scripted { behaviour, heard: heard.clone(), guard: Guard::default() });
        let address = sockets.address();
        let (stop, stopped) = oneshot::channel();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(async {
                tokio::select! {
                    () = listeners::serve(peer, sockets, tls) => {}
                    // An error: the sender is gone, and with it the peer.
                    _ = stopped => {}
                }
            });
        });
        Peer { address, heard, _stop: stop }
    }

    /// Returns the calls and messages that the peer has received so far.
    pub fn heard(&self) -> MutexGuard<'_, Heard> {
        self.heard.lock()
    }

    /// Waits until the peer has received enough, and returns all that it has received. A program's last messages before
    /// its end may be on their way for a moment.
    ///
    /// # Panics
    /// It never is.
    pub fn wait_until(&self, enough: impl Fn(&Heard) -> bool) -> MutexGuard<'_, Heard> {
        for _ in 0..LOOKS {
            let heard = self.heard();
            if enough(&heard) {
                return heard;
            }
            drop(heard);
            std::thread::sleep(BETWEEN_LOOKS);
        }
        panic!("that was not all that should have come: {:?}", self.heard());
    }
}

/// Where everything that was heard is written down.
#[derive(Clone, Debug, Default)]
struct Notes(Arc<Mutex<Heard>>);

impl Notes {
    fn lock(&self) -> MutexGuard<'_, Heard> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A peer as its connections see it.
#[derive(Debug)]
struct Scripted {
    behaviour: Behaviour,
    heard: Notes,
    guard: Guard,
}
