//! The messages, client and server of `lon.v1`, generated from `lon/v1/lon.proto`.
#![allow(missing_docs, unreachable_pub, clippy::all, clippy::pedantic, clippy::semicolon_if_nothing_returned)]

include!("gen/lon.v1.rs");
