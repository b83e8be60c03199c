//! The trace that is sent, and the facts about its file.

use super::format::TraceFormat;

/// The due times of a trace file, as they are sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArrivalTrace {
    /// The due time of each query, from the start of the window. The times are sorted; there is at least one.
    pub due_ns: Vec<u64>,
    /// The sample of each query, an index in the dataset, where the file says it.
    pub samples: Option<Vec<u32>>,
    /// The input tokens of each query, where the file says them.
    pub tokens_in: Option<Vec<u32>>,
    /// The output tokens of each query, where the file says them.
    pub tokens_out: Option<Vec<u32>>,
    /// The time after which the trace begins again, where it repeats: at least the last due time, and above 0.
    pub repeat_ns: Option<u64>,
    /// The facts about the file.
    pub facts: TraceFacts,
}

/// The facts about a trace file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceFacts {
    /// The format of the file.
    pub format: TraceFormat,
    /// True where the file is packed with gzip.
    pub is_gzip: bool,
    /// The size of the file, as it lies on the disk.
    pub bytes: u64,
    /// SHA-256 of the file as it lies on the disk, in hexadecimal.
    pub sha256: String,
    /// The rows of the file.
    pub rows: u64,
    /// The rows that failed in the source, left out or not.
    pub failed: u64,
    /// The rows whose time is before that of the row before. More than 0 where they were sorted alone.
    pub out_of_order: u64,
    /// The rows that are not sent.
    pub dropped: DroppedRows,
    /// The earliest time in the file, as it is written there; of gaps, the first gap.
    pub first: String,
    /// The latest time in the file, as it is written there; of gaps, the last gap.
    pub last: String,
}

/// The rows of a file that are not sent, by reason. Each row is counted once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DroppedRows {
    /// The rows that failed in the source, where the user leaves those out.
    pub failed: u64,
    /// The rows outside of the window.
    pub outside_window: u64,
}
