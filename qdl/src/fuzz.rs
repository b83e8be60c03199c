//! Functions from any bytes to nothing, for the fuzz targets in `tests/fuzz` and for their seeds, which are run on
//! every build. They fail by a panic.

use bytes::Bytes;

use crate::carry::kserve;

/// The message with which a KServe server answers a call, of a model of which it said something or nothing.
///
/// # Panics
/// An answer is taken that does not have the bytes it says.
pub fn kserve_answer(bytes: &[u8]) {
    kserve::fuzz_answer(&Bytes::copy_from_slice(bytes));
}
