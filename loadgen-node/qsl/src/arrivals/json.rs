//! JSON lines: Mooncake and AIPerf (milliseconds), Bailian (seconds), and others in a unit that the user gives.
//!
//! The same key `timestamp` counts milliseconds in one format and seconds in another, so other keys decide.

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use super::decimal;
use super::format::TraceFormat;
use super::row::Row;
use super::unit::TimeUnit;

/// The keys that are read, or that tell formats apart. Others are ignored.
#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow)]
    timestamp: Option<&'a RawValue>,
    input_length: Option<u32>,
    output_length: Option<u32>,
    chat_id: Option<IgnoredAny>,
    delay: Option<IgnoredAny>,
    hash_ids: Option<IgnoredAny>,
    input_text: Option<IgnoredAny>,
    messages: Option<IgnoredAny>,
    payload: Option<IgnoredAny>,
    session_id: Option<IgnoredAny>,
    text_input: Option<IgnoredAny>,
}

/// Lines of one of the formats.
pub(super) struct JsonLines {
    format: TraceFormat,
    unit_ns: u64,
    /// True where the user gave the format: a fraction of a millisecond is meant.
    is_given: bool,
}

/// The format that the keys of a line say.
///
/// # Errors
/// The line is no JSON object, or a value has another type.
pub(super) fn recognise(line: &str) -> Result<TraceFormat, String> {
    let line = parse(line)?;
    let of_mooncake = [&line.hash_ids, &line.input_text, &line.messages, &line.payload, &line.session_id];
    let is_mooncake =
        line.input_length.is_some() || line.text_input.is_some() || of_mooncake.iter().any(|value| value.is_some());
    Ok(match (line.chat_id, is_mooncake) {
        (Some(_), _) => TraceFormat::Bailian,
        (None, true) => TraceFormat::Mooncake,
        (None, false) => TraceFormat::Jsonl,
    })
}

impl JsonLines {
    /// Lines of a format, whose unit the user has given where the format has none; none where the format is no JSON.
    pub(super) fn of(format: TraceFormat, unit: Option<TimeUnit>, is_given: bool) -> Option<JsonLines> {
        let unit = match format {
            TraceFormat::Mooncake => TimeUnit::Milliseconds,
            TraceFormat::Bailian => TimeUnit::Seconds,
            TraceFormat::Jsonl => unit?,
            _ => return None,
        };
        Some(JsonLines { format, unit_ns: unit.ns(), is_given })
    }

    pub(super) fn format(&self) -> TraceFormat {
        self.format
    }

    /// The row in a line.
    ///
    /// # Errors
    /// The line is no JSON object, or its time is no number.
    pub(super) fn row<'a>(&self, line: &'a str) -> Result<Row<'a>, String> {
        let line = parse(line)?;
        let time = match (line.timestamp, line.delay) {
            (Some(time), _) => time.get(),
            (None, Some(_)) => {
                return Err(
                    "it has a delay and no timestamp: a turn that waits for an answer has no time of its own; \
                            leave such lines out"
                        .to_owned(),
                );
            }
            (None, None) => return Err("key timestamp is missing".to_owned()),
        };
        self.check(time)?;
        let time = time.trim_matches('"');
        let time_ns = decimal::ns(time, self.unit_ns).map_err(|reason| format!("timestamp: {reason}"))?;
        let (tokens_in, tokens_out) = (line.input_length, line.output_length);
        Ok(Row { time, time_ns, tokens_in, tokens_out, ..Row::default() })
    }

    /// Checks that a value has the form of the format's times: other sources have the same keys and other units.
    fn check(&self, time: &str) -> Result<(), String> {
        if time.starts_with('"') && self.format != TraceFormat::Jsonl {
            let (format, time) = (self.format, decimal::start_of(time.trim_matches('"')));
            return Err(format!("timestamp is the text '{time}', not a number as in {format}: {JSONL}"));
        }
        if self.format == TraceFormat::Mooncake
            && !self.is_given
            && !decimal::is_digits(time)
            && decimal::is_number(time)
        {
            return Err(format!(
                "timestamp {time} is no whole number of milliseconds, as in mooncake: give format=mooncake where it \
                 counts milliseconds; else {JSONL}"
            ));
        }
        Ok(())
    }
}

/// The remedy for a unit that is in doubt.
const JSONL: &str = "give format=jsonl and its unit, such as unit=s";

fn parse(line: &str) -> Result<Line<'_>, String> {
    serde_json::from_str(line).map_err(|error| {
        // The parser sees one line alone, so its own line number is always 1.
        let (text, column) = (error.to_string(), error.column());
        format!("{} (column {column})", text.split(" at line ").next().unwrap_or(&text))
    })
}
