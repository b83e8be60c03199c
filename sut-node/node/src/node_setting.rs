//! An option of the node or of its backend, as the node tells it.

pub use lon_proto::setup::Setting;
