//! The formats of traces, and their names.

use strum::{Display, EnumString, VariantArray};

/// A format of trace files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Display, EnumString, VariantArray)]
#[strum(serialize_all = "lowercase", parse_err_fn = unknown, parse_err_ty = String)]
pub enum TraceFormat {
    /// Azure's traces of 2023, 2024 and 2025: CSV with dates.
    Azure,
    /// BurstGPT: CSV with seconds.
    Burstgpt,
    /// Mooncake's traces, and AIPerf's fixed schedules: JSON lines with milliseconds.
    Mooncake,
    /// The traces of Qwen at Bailian: JSON lines with seconds.
    Bailian,
    /// JSON lines of others; the user gives the unit.
    Jsonl,
    /// Results of vegeta as CSV without a header: Unix time in nanoseconds.
    Vegeta,
    /// A number on each line, the gap before a query; the user gives the unit.
    Gaps,
    /// Our own CSV: due times in nanoseconds, and if known the sample and its tokens.
    Due,
}

impl TraceFormat {
    /// All formats that are read.
    pub const ALL: &[TraceFormat] = TraceFormat::VARIANTS;

    /// A phrase that says by which signs the format is known.
    pub const fn signs(self) -> &'static str {
        match self {
            TraceFormat::Azure => "header TIMESTAMP,ContextTokens,GeneratedTokens",
            TraceFormat::Burstgpt => "header with Timestamp, Request tokens, Response tokens",
            TraceFormat::Mooncake => "JSON lines with timestamp in ms and input_length or hash_ids",
            TraceFormat::Bailian => "JSON lines with timestamp in s and chat_id",
            TraceFormat::Jsonl => "JSON lines with timestamp; needs unit=",
            TraceFormat::Vegeta => "no header, Unix time in ns first; of 'vegeta encode -to csv'",
            TraceFormat::Gaps => "one number a line, the gap before each query; needs unit=",
            TraceFormat::Due => "header due_ns[,sample][,tokens_in][,tokens_out]",
        }
    }

    /// Tells whether the times count from the start of the trace. In all others the first row is the start.
    pub(super) const fn starts_at_zero(self) -> bool {
        matches!(self, TraceFormat::Gaps | TraceFormat::Due)
    }

    /// Tells whether the user gives the unit, since the format leaves it open.
    pub(super) const fn needs_unit(self) -> bool {
        matches!(self, TraceFormat::Gaps | TraceFormat::Jsonl)
    }
}

fn unknown(text: &str) -> String {
    let names: Vec<String> = TraceFormat::ALL.iter().map(ToString::to_string).collect();
    format!("format '{text}' is none of {}", names.join(", "))
}
