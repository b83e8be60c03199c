//! Tests of a person's work at a terminal.
//!
//! - `bad_input`: flags, settings, files and models that do not fit
//! - `dashboard`: the dashboard where there is no terminal
//! - `demo`: the one command that needs nothing
//! - `errors`: mistakes that people make, and what the one line of the error says
//! - `first_use`: what a new user meets: units, names, too short runs, a result shown again
//! - `fleet`: the nodes of several hosts, started and ended by one file
//! - `help`: every example in `--help`, pasted
//! - `log`: events of the log in JSON, and colours on terminals
//! - `priority`: real-time priority of threads at both ends

mod bad_input;
mod dashboard;
mod demo;
mod errors;
mod first_use;
mod fleet;
mod help;
mod log;
mod priority;
