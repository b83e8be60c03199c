//! Data of one sample besides its content.
//!
//! A [`Ticket`] is made by the reader when it has admitted a sample, and moves with the sample to the answer queue that
//! its answer leaves by. Each step on the way adds to the stages what it alone knows.

use lon_proto::stages::Stages;

/// One admitted sample, without its content.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ticket {
    /// The id that the LoadGen node gave the sample. It means nothing here.
    pub(crate) id: u64,
    /// The bytes that the sample was admitted with. They are released when its answer leaves.
    pub(crate) sample_bytes: u64,
    /// Where the sample's time went until now.
    pub(crate) stages: Stages,
}

impl Ticket {
    /// A ticket for a sample that was admitted with so many bytes.
    pub(crate) fn new(id: u64, sample_bytes: u64) -> Ticket {
        Ticket { id, sample_bytes, stages: Stages::default() }
    }
}
