//! The formats of traces, and their names.

use std::fmt;
use std::str::FromStr;

/// A format of trace files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    pub const ALL: [TraceFormat; 8] = [
        TraceFormat::Azure,
        TraceFormat::Burstgpt,
        TraceFormat::Mooncake,
        TraceFormat::Bailian,
        TraceFormat::Jsonl,
        TraceFormat::Vegeta,
        TraceFormat::Gaps,
        TraceFormat::Due,
    ];

    /// The name of the format, as users write it.
    pub const fn name(self) -> &'static str {
        self.facts().0
    }

    /// A phrase that says by which signs the format is known.
    pub const fn signs(self) -> &'static str {
        self.facts().1
    }

    /// Name and signs of the format.
    const fn facts(self) -> (&'static str, &'static str) {
        match self {
            TraceFormat::Azure => ("azure", "header TIMESTAMP,ContextTokens,GeneratedTokens"),
            TraceFormat::Burstgpt => ("burstgpt", "header with Timestamp, Request tokens, Response tokens"),
            TraceFormat::Mooncake => ("mooncake", "JSON lines with timestamp in ms and input_length or hash_ids"),
            TraceFormat::Bailian => ("bailian", "JSON lines with timestamp in s and chat_id"),
            TraceFormat::Jsonl => ("jsonl", "JSON lines with timestamp; needs unit="),
            TraceFormat::Vegeta => ("vegeta", "no header, Unix time in ns first; of 'vegeta encode -to csv'"),
            TraceFormat::Gaps => ("gaps", "one number a line, the gap before each query; needs unit="),
            TraceFormat::Due => ("due", "header due_ns[,sample][,tokens_in][,tokens_out]"),
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

impl fmt::Display for TraceFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for TraceFormat {
    type Err = String;

    fn from_str(text: &str) -> Result<TraceFormat, String> {
        let format = TraceFormat::ALL.into_iter().find(|format| format.name() == text);
        format
            .ok_or_else(|| format!("format '{text}' is none of {}", TraceFormat::ALL.map(TraceFormat::name).join(", ")))
    }
}
