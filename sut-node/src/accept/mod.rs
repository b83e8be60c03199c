//! What a node listens on, and the threads that serve what comes in.

pub(crate) mod io_threads;
pub(crate) mod listener;
pub(crate) mod sockets;
pub(crate) mod streams;
