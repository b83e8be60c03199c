//! Path of a sample from the connection that brings it to the connection that takes its answer away.
//!
//! In the order in which a sample meets them:
//! - [`parts`]: the parts of a sample that has several become one piece of bytes;
//! - [`reader`]: reads one stream, admits samples, and sends them where they are answered;
//! - [`ticket`]: what is known of a sample besides its content: made by the reader, kept until the answer leaves;
//! - [`job`]: a sample with its ticket that waits for another thread;
//! - [`decode`]: threads that inflate and decode the samples of runs with a codec;
//! - [`queue`]: where samples wait for a worker, and the batches that leave it;
//! - [`batches`]: a worker thread whose backend answers batches;
//! - [`compute_turns`]: how many batches compute at one time, where models share their workers;
//! - [`tasks`]: a worker that only pretends, and is a task;
//! - [`token_streams`]: a worker thread whose backend answers token by token;
//! - [`infer`]: calling a backend so that its failures stay those of its samples;
//! - [`coder`]: one thread's inflater and encoder;
//! - [`probe`]: what the samples of a probe are answered with;
//! - [`answer_queue`]: where the answers of one stream are put;
//! - [`output`]: the messages that leave on the stream.
//!
//! [`threads`] starts and ends the threads that compute.

pub(crate) mod answer_queue;
pub(crate) mod batches;
pub(crate) mod coder;
pub(crate) mod compute_turns;
pub(crate) mod decode;
pub(crate) mod infer;
pub(crate) mod job;
pub(crate) mod output;
pub(crate) mod parts;
pub(crate) mod probe;
pub(crate) mod queue;
pub(crate) mod reader;
pub(crate) mod tasks;
pub(crate) mod threads;
pub(crate) mod ticket;
pub(crate) mod token_streams;
