//! Cost of reading a chat server's stream in the backend `openai`, for people who change how it is read. `cargo run
//! --package lon-tests --bin openai-cost` prints two figures: the CPU time of a worker for a streamed token, and the
//! time from the server's write of the first token until the streamer reports it. No number is judged here.
#![allow(clippy::print_stdout, clippy::unwrap_used)]

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use lon_sut::backend::stream::What;
use lon_sut::backend::{BackendOptions, BackendSample, Backends};
use lon_tests::chat::{DONE, FINISH, ROLE, models, text, usage};
use lon_tests::prompts::{prompt, streamer};
use nix::sys::resource::{UsageWho, getrusage};

const PROMPTS: usize = 30;
const TOKENS: usize = 1000;
/// Time between two tokens, long enough that each is a read of its own.
const GAP: Duration = Duration::from_micros(200);

fn main() {
    println!("{}\n{}", measure(Some(GAP)), measure(None));
}

/// Processor time of this thread, the kernel's part included.
fn thread_cpu() -> Duration {
    let usage = getrusage(UsageWho::RUSAGE_THREAD).unwrap();
    let time = |value: nix::sys::time::TimeVal| {
        Duration::from_secs(value.tv_sec().unsigned_abs()) + Duration::from_micros(value.tv_usec().unsigned_abs())
    };
    time(usage.user_time()) + time(usage.system_time())
}

fn chunk(event: &str) -> String {
    format!("{:x}\r\ndata: {event}\n\n\r\n", event.len() + 8)
}

/// Answers each prompt with [`TOKENS`] tokens, `gap` apart or all at once, and tells when it wrote the first.
fn serve(gap: Option<Duration>) -> (String, mpsc::Receiver<Instant>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            answer(&mut stream.unwrap(), gap, &sender);
        }
    });
    (address, receiver)
}

fn answer(stream: &mut TcpStream, gap: Option<Duration>, first: &mpsc::Sender<Instant>) {
    stream.set_nodelay(true).unwrap();
    let mut request = [0; 4096];
    let len = stream.read(&mut request).unwrap();
    if request[..len].starts_with(b"GET ") {
        return stream.write_all(models(&["tiny"]).as_bytes()).unwrap();
    }
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n".to_owned();
    stream.write_all((head + &chunk(ROLE)).as_bytes()).unwrap();
    std::thread::sleep(Duration::from_millis(5));
    let token = chunk(&text(" token"));
    let _ = first.send(Instant::now());
    match gap {
        None => stream.write_all(token.repeat(TOKENS).as_bytes()).unwrap(),
        Some(gap) => (0..TOKENS).for_each(|_| {
            stream.write_all(token.as_bytes()).unwrap();
            std::thread::sleep(gap);
        }),
    }
    let end = [FINISH, &usage(8), DONE].map(chunk).concat() + "0\r\n\r\n";
    stream.write_all(end.as_bytes()).unwrap();
}

fn median(mut values: Vec<Duration>) -> Duration {
    values.sort_unstable();
    values[values.len() / 2]
}

/// Median CPU time of a token, median and 90th percentile of the time from the server's write to the first token.
fn measure(gap: Option<Duration>) -> String {
    let (address, wrote_first) = serve(gap);
    let backend = Backends::new().open(&format!("openai:http://{address}/tiny"), &BackendOptions::default()).unwrap();
    let mut streamer = streamer(backend.as_ref());
    let _warm_up = wrote_first.recv().unwrap();
    let (mut cpu, mut late) = (Vec::new(), Vec::new());
    for _ in 0..PROMPTS {
        let sample = BackendSample { tensors: prompt("a prompt", None), ..BackendSample::default() };
        let (before, mut events, mut done) = (thread_cpu(), Vec::new(), false);
        streamer.begin(0, &sample).unwrap();
        while !done {
            streamer.step(&mut events);
            for event in events.drain(..) {
                match event.what {
                    What::First(_) => late.push(Instant::now() - wrote_first.recv().unwrap()),
                    What::Done(_) => done = true,
                    What::Failed(error) => panic!("{error}"),
                }
            }
        }
        cpu.push((thread_cpu() - before) / TOKENS as u32);
    }
    late.sort_unstable();
    let p90 = late[late.len() * 9 / 10];
    format!("gap {gap:?}: {:?} of CPU a token, first token told after {:?} (p90 {p90:?})", median(cpu), median(late))
}
