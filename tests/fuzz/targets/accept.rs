//! Any bytes on a connection to a whole node: HTTP/2, plain TCP, or nothing known. The node goes on serving.
#![no_main]

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::OnceLock;
use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use lon_sut::backend::{BackendOptions, Backends};
use lon_sut::{ServeConfig, Sockets, serve};

/// A node of this process, which serves until the process ends. A panic on one of its threads ends the process.
fn node() -> SocketAddr {
    static NODE: OnceLock<SocketAddr> = OnceLock::new();
    *NODE.get_or_init(|| {
        // SAFETY: no handler is set, the signal is ignored, as in every program of Rust's.
        unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
        let sockets = Sockets::bind("127.0.0.1:0").expect("a port");
        let address = sockets.address();
        std::thread::spawn(move || {
            let config = ServeConfig::new("fuzz".parse().expect("a name"));
            let backend = Backends::new().open("null", &BackendOptions::default()).expect("the null backend");
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(serve(sockets, config, backend, std::future::pending(), || {}))
        });
        address
    })
}

fuzz_target!(|bytes: &[u8]| {
    let mut stream = TcpStream::connect(node()).expect("the node accepts");
    let _ = stream.set_read_timeout(Some(Duration::from_millis(1)));
    // The node may close at any byte.
    if stream.write_all(bytes).is_ok() {
        let _ = stream.read(&mut [0; 4096]);
        let _ = stream.shutdown(Shutdown::Write);
        let _ = stream.read(&mut [0; 4096]);
    }
});
