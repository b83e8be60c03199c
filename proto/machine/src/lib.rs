//! The description of a machine, read in the same way at both ends.
//!
//! Each part is one struct: it is read from Linux, sent as a message of `lon.v1`, and written in documents.
//!
//! - `host`: the machine, and the ids by which a caller compares machines;
//! - `processor`: its processors; `memory`: its memory; `storage`: its disks; `accelerator`: devices that compute
//!   beside the CPU;
//! - `nic`: its network interfaces, and the bytes that they have carried.

pub mod accelerator;
pub mod host;
pub mod memory;
pub mod nic;
pub mod processor;
pub mod storage;
