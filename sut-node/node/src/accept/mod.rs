//! Access of clients to a node: the ports it listens on, the threads that serve connections, and one file per
//! transport.
//!
//! - [`sockets`]: what one `--listen HOST:PORT` opens;
//! - [`acceptor`]: what a transport is, and what it gives its streams to;
//! - [`grpc`], [`tcp`], [`quic`]: the transports, one file each;
//! - [`registry`]: the list of them;
//! - [`open_connections`]: the connections of a node, and the one to close when there are too many;
//!   [`open_connection`]: one of them, a stranger's or of the run; [`read_limit`]: what it may send now;
//! - [`listener`]: takes connections of the TCP port in, spreads them over the I/O threads, and finds out what is
//!   spoken on each;
//! - [`io_threads`]: serves all transports, on the caller's thread and on others;
//! - [`refusal`]: tells clients why a node will not serve.

pub(crate) mod acceptor;
pub(crate) mod grpc;
pub(crate) mod io_threads;
pub(crate) mod listener;
pub(crate) mod open_connection;
pub(crate) mod open_connections;
pub(crate) mod quic;
pub(crate) mod read_limit;
pub(crate) mod refusal;
pub(crate) mod registry;
pub(crate) mod sockets;
pub(crate) mod tcp;
