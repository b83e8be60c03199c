//! CSV with a header: Azure's traces, BurstGPT, and our own. Columns are found by their names.

use super::date::Dates;
use super::decimal;
use super::format::TraceFormat;
use super::row::{Row, fields};
use super::unit::TimeUnit;

/// The columns of a format.
struct Form {
    format: TraceFormat,
    time: &'static str,
    tokens_in: &'static str,
    tokens_out: &'static str,
    /// The column of samples, where the format has one.
    sample: Option<&'static str>,
    /// True where the file is ours: tokens may be left out, and other columns are errors.
    is_ours: bool,
}

const FORMS: [Form; 3] = [
    Form {
        format: TraceFormat::Azure,
        time: "TIMESTAMP",
        tokens_in: "ContextTokens",
        tokens_out: "GeneratedTokens",
        sample: None,
        is_ours: false,
    },
    Form {
        format: TraceFormat::Burstgpt,
        time: "Timestamp",
        tokens_in: "Request tokens",
        tokens_out: "Response tokens",
        sample: None,
        is_ours: false,
    },
    Form {
        format: TraceFormat::Due,
        time: "due_ns",
        tokens_in: "tokens_in",
        tokens_out: "tokens_out",
        sample: Some("sample"),
        is_ours: true,
    },
];

/// Rows below a header.
pub(super) struct Table {
    form: &'static Form,
    /// The places of time, input tokens, output tokens and sample.
    places: [Option<usize>; 4],
    /// The number of columns.
    columns: usize,
    dates: Dates,
}

/// The format whose column of times a header has.
pub(super) fn recognise(header: &str) -> Option<TraceFormat> {
    FORMS.iter().find(|form| fields(header).any(|name| name == form.time)).map(|form| form.format)
}

impl Table {
    /// The rows of a format below this header; none where the format has no header.
    pub(super) fn below(header: &str, format: TraceFormat) -> Option<Result<Table, String>> {
        let form = FORMS.iter().find(|form| form.format == format)?;
        Some(Table::of(header, form))
    }

    fn of(header: &str, form: &'static Form) -> Result<Table, String> {
        let names: Vec<&str> = fields(header).collect();
        if let Some(twice) = names.iter().enumerate().find(|(at, name)| names[..*at].contains(name)) {
            return Err(format!("column '{}' stands twice in the header", decimal::start_of(twice.1)));
        }
        let columns = [Some(form.time), Some(form.tokens_in), Some(form.tokens_out), form.sample];
        let places = columns.map(|name| names.iter().position(|other| Some(*other) == name));
        let needed = if form.is_ours { &columns[..1] } else { &columns[..3] };
        if let Some((name, _)) = needed.iter().zip(places).find(|(_, place)| place.is_none()) {
            let (name, format) = (name.unwrap_or_default(), form.format);
            return Err(format!("column {name} is missing in the header; {format} has {}", format.signs()));
        }
        match names.iter().find(|name| form.is_ours && !columns.contains(&Some(**name))) {
            Some(other) => {
                let (other, format) = (decimal::start_of(other), form.format);
                Err(format!("column '{other}' is unknown; {format} has {}", format.signs()))
            }
            None => Ok(Table { form, places, columns: names.len(), dates: Dates::default() }),
        }
    }

    pub(super) fn format(&self) -> TraceFormat {
        self.form.format
    }

    /// The row in a line.
    ///
    /// # Errors
    /// A column is missing, or has no number or date.
    pub(super) fn row<'a>(&mut self, line: &'a str) -> Result<Row<'a>, String> {
        let mut values = [None; 4];
        let mut columns = 0;
        for (at, field) in fields(line).enumerate() {
            if let Some(place) = self.places.iter().position(|place| *place == Some(at)) {
                values[place] = Some(field);
            }
            columns += 1;
        }
        if columns != self.columns {
            return Err(format!("it has {columns} columns, the header has {}", self.columns));
        }
        let [time, tokens_in, tokens_out, sample] = values;
        let time = time.unwrap_or_default();
        let tokens_in = self.count(tokens_in, self.form.tokens_in)?;
        let tokens_out = self.count(tokens_out, self.form.tokens_out)?;
        let sample = self.count(sample, "sample")?;
        let has_failed = self.form.format == TraceFormat::Burstgpt && tokens_out == Some(0);
        let time_ns = self.time_ns(time).map_err(|reason| format!("{}: {reason}", self.form.time))?;
        Ok(Row { time, time_ns, sample, tokens_in, tokens_out, has_failed })
    }

    fn count(&self, field: Option<&str>, column: &str) -> Result<Option<u32>, String> {
        field.map(decimal::count).transpose().map_err(|reason| format!("{column}: {reason}"))
    }

    fn time_ns(&mut self, time: &str) -> Result<u64, String> {
        match self.form.format {
            TraceFormat::Azure => self.dates.ns(time),
            TraceFormat::Due => decimal::whole_ns(time),
            _ => decimal::ns(time, TimeUnit::Seconds.ns()),
        }
    }
}
