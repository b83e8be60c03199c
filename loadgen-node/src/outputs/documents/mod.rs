//! The JSON documents, one file each.

pub(crate) mod accuracy;
pub(crate) mod conf;
pub(crate) mod find_peak;
pub(crate) mod latency;
pub(crate) mod network_report;
pub(crate) mod result_summary;
pub(crate) mod system_desc;
