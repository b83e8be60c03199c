//! The words by which a user names a trace: a file, and options with commas between them.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use super::error::TraceSpecError;
use super::format::TraceFormat;
use super::scale::Scale;
use super::unit::{self, TimeUnit};

/// The grammar of [`TraceSpec`], as help texts and the reference show it.
pub const GRAMMAR: &str = "\
Traces: FILE[,OPTION]..., plain or gzip. Header or keys give the format, never
the file's name:
  azure     CSV, header TIMESTAMP,ContextTokens,GeneratedTokens (LLM 2023 and
            2024, LMM 2025); dates, seven digits after the point are kept
  burstgpt  CSV, header with Timestamp, Request tokens, Response tokens; seconds
  mooncake  JSON lines, timestamp in ms, with input_length, hash_ids or keys of
            AIPerf
  bailian   JSON lines, timestamp in s, with chat_id
  jsonl     JSON lines, timestamp in the unit that unit= gives
  vegeta    CSV without a header: vegeta encode -to csv
  gaps      a number a line: the gap before each query, in the unit of unit=
  due       CSV of our own, header due_ns[,sample][,tokens_in][,tokens_out]
The first row is due at 0; times of gaps and due are taken as they are.
Options, in the order in which they act:
  format=NAME          the format, where header or keys do not say it
  unit=s|ms|us|ns      unit of jsonl and gaps, which have none of their own
  sort=yes             rows in the order of their times; else a time that goes
                       back is an error
  fails=drop|keep      burstgpt: rows whose response has 0 tokens (keep)
  within-second=uniform|burst|even
                       burstgpt: the rows of one second are drawn over it, all
                       at its start, or at equal gaps
  window=FROM..TO      rows from FROM on and before TO, such as 10m..20m, in the
                       trace's own time; FROM becomes 0
  scale=RATE           factor of the rate: 2 halves all due times
  repeat               the trace begins again at its end: that of the window,
                       else one mean gap after the last row";

/// The arrival of rows that share a whole second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WithinSecond {
    /// Times are drawn, each as likely as the others, and sorted.
    Uniform,
    /// All rows are due at the start of the second.
    Burst,
    /// Gaps between the rows are equal.
    Even,
}

impl WithinSecond {
    /// All choices, as texts name them.
    const ALL: [(&str, WithinSecond); 3] =
        [("uniform", WithinSecond::Uniform), ("burst", WithinSecond::Burst), ("even", WithinSecond::Even)];
}

/// The treatment of rows that failed in the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fails {
    /// Such rows are left out.
    Drop,
    /// Such rows are queries like the others.
    Keep,
}

impl Fails {
    /// All choices, as texts name them.
    const ALL: [(&str, Fails); 2] = [("drop", Fails::Drop), ("keep", Fails::Keep)];
}

/// A part of a trace, in the trace's own time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The start, which belongs to the window.
    pub from_ns: u64,
    /// The end, which does not. None is the end of the trace.
    pub to_ns: Option<u64>,
}

/// A file of arrivals, and the way in which its times become due times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceSpec {
    /// The path of the file.
    pub path: PathBuf,
    /// The format, where the user gives it.
    pub format: Option<TraceFormat>,
    /// The unit, for formats that have none of their own.
    pub unit: Option<TimeUnit>,
    /// The treatment of rows that failed in the source. Unless given, they are kept.
    pub fails: Option<Fails>,
    /// The arrival of rows that share a whole second.
    pub within_second: Option<WithinSecond>,
    /// The part of the trace. Unless given, all of it.
    pub window: Option<Window>,
    /// The factor of the rate.
    pub scale: Scale,
    /// True where rows are sorted by their times.
    pub sort: bool,
    /// True where the trace begins again at its end.
    pub repeat: bool,
}

impl TraceSpec {
    /// The trace in a file, as it is.
    pub fn of(path: impl Into<PathBuf>) -> TraceSpec {
        TraceSpec {
            path: path.into(),
            format: None,
            unit: None,
            fails: None,
            within_second: None,
            window: None,
            scale: Scale::ONE,
            sort: false,
            repeat: false,
        }
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        match key {
            "format" => self.format = Some(value.parse()?),
            "unit" => self.unit = Some(value.parse()?),
            "fails" => self.fails = Some(choice(key, value, &Fails::ALL)?),
            "within-second" => self.within_second = Some(choice(key, value, &WithinSecond::ALL)?),
            "window" => self.window = Some(value.parse()?),
            "scale" => self.scale = value.parse()?,
            "sort" => self.sort = choice(key, value, &[("yes", true), ("no", false)])?,
            _ => return Err(format!("there is no option {key}=")),
        }
        Ok(())
    }

    /// Checks that format and options go together, as far as they are known without the file.
    pub(super) fn check(&self, format: TraceFormat) -> Result<(), String> {
        let is_burstgpt = format == TraceFormat::Burstgpt;
        match (format.needs_unit(), self.unit) {
            (true, None) => {
                return Err(format!("the format {format} has no unit of its own: give unit=s, ms, us or ns"));
            }
            (false, Some(_)) => {
                return Err(format!(
                    "the format {format} fixes its unit: leave unit= out (it goes with jsonl and gaps)"
                ));
            }
            _ => {}
        }
        if self.within_second.is_some() && !is_burstgpt {
            return Err(format!("within-second= is for burstgpt, whose times are whole seconds; this is {format}"));
        }
        if self.fails.is_some() && !is_burstgpt {
            return Err(format!("fails= is for burstgpt, whose rows say that they failed; this is {format}"));
        }
        Ok(())
    }
}

fn choice<T: Copy>(key: &str, value: &str, of: &[(&str, T)]) -> Result<T, String> {
    let names: Vec<&str> = of.iter().map(|(name, _)| *name).collect();
    let entry = of.iter().find(|(name, _)| *name == value).map(|(_, choice)| *choice);
    entry.ok_or_else(|| format!("{key}={value} is none of {}", names.join(", ")))
}

fn name<T: Copy + PartialEq>(value: T, of: &[(&'static str, T)]) -> &'static str {
    of.iter().find(|(_, choice)| *choice == value).map_or("", |(name, _)| name)
}

impl FromStr for TraceSpec {
    type Err = TraceSpecError;

    fn from_str(text: &str) -> Result<TraceSpec, TraceSpecError> {
        let refused = |reason: String| TraceSpecError { text: text.to_owned(), reason };
        let mut parts = text.split(',');
        let path = parts.next().filter(|path| !path.is_empty()).ok_or_else(|| refused("no file is named".into()))?;
        let mut spec = TraceSpec::of(path);
        let mut keys = Vec::new();
        for part in parts {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            if keys.contains(&key) {
                return Err(refused(format!("{key} stands twice")));
            }
            keys.push(key);
            match part {
                "repeat" => spec.repeat = true,
                _ if !part.contains('=') => {
                    return Err(refused(format!("'{part}' is no option; the path of a trace has no comma")));
                }
                _ => spec.set(key, value).map_err(refused)?,
            }
        }
        if let Some(format) = spec.format {
            spec.check(format).map_err(refused)?;
        }
        Ok(spec)
    }
}

impl fmt::Display for TraceSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())?;
        if let Some(format) = self.format {
            write!(f, ",format={format}")?;
        }
        if let Some(unit) = self.unit {
            write!(f, ",unit={}", unit.name())?;
        }
        if self.sort {
            f.write_str(",sort=yes")?;
        }
        if let Some(fails) = self.fails {
            write!(f, ",fails={}", name(fails, &Fails::ALL))?;
        }
        if let Some(within_second) = self.within_second {
            write!(f, ",within-second={}", name(within_second, &WithinSecond::ALL))?;
        }
        if let Some(window) = self.window {
            write!(f, ",window={window}")?;
        }
        if self.scale != Scale::ONE {
            write!(f, ",scale={}", self.scale)?;
        }
        f.write_str(if self.repeat { ",repeat" } else { "" })
    }
}

impl FromStr for Window {
    type Err = String;

    fn from_str(text: &str) -> Result<Window, String> {
        let wrong = |reason: &str| format!("window '{text}' {reason}: give FROM..TO, such as 10m..20m");
        let (from, to) = text.split_once("..").ok_or_else(|| wrong("has no '..'"))?;
        let from_ns = if from.is_empty() { 0 } else { unit::duration_ns(from)? };
        let to_ns = if to.is_empty() { None } else { Some(unit::duration_ns(to)?) };
        match to_ns {
            Some(to_ns) if to_ns <= from_ns => Err(wrong("is empty")),
            _ => Ok(Window { from_ns, to_ns }),
        }
    }
}

impl fmt::Display for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let to = self.to_ns.map(unit::duration).unwrap_or_default();
        write!(f, "{}..{to}", unit::duration(self.from_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_comes_back_as_it_was() {
        for text in [
            "a.csv",
            "some folder/a.csv.gz,repeat",
            "a.csv,format=azure,window=10m..20m,scale=2,repeat",
            "a.csv,format=gaps,unit=us,window=0s..1500ms,scale=0.25",
            "b.csv,format=burstgpt,sort=yes,fails=drop,within-second=uniform,window=1h..",
            "b.csv,fails=keep,within-second=even",
            "b.csv,within-second=burst",
            "a.jsonl,format=jsonl,unit=ns",
        ] {
            let spec: TraceSpec = text.parse().unwrap();
            assert_eq!(spec.to_string(), text);
            assert_eq!(spec.to_string().parse(), Ok(spec));
        }
    }

    #[test]
    fn texts_of_one_meaning_are_one_spec() {
        let spec: TraceSpec = "a.csv,repeat,scale=2.0,window=600s..20min,sort=no".parse().unwrap();
        assert_eq!(spec.to_string(), "a.csv,window=10m..20m,scale=2,repeat");
        assert_eq!(TraceSpec { window: None, scale: Scale::ONE, repeat: false, ..spec }, TraceSpec::of("a.csv"));
        let window: Window = "..1m".parse().unwrap();
        assert_eq!(window, Window { from_ns: 0, to_ns: Some(60_000_000_000) });
    }

    #[test]
    fn each_wrong_option_is_named() {
        for (text, reason) in [
            ("", "'': no file is named; a trace is FILE[,format=NAME]"),
            (",repeat", "no file is named"),
            ("a,b.csv", "'b.csv' is no option; the path of a trace has no comma"),
            ("a.csv,speed=2", "there is no option speed="),
            ("a.csv,repeat=1", "there is no option repeat="),
            ("a.csv,repeat,repeat", "repeat stands twice"),
            ("a.csv,scale=1,scale=2", "scale stands twice"),
            (
                "a.csv,format=csv",
                "format 'csv' is none of azure, burstgpt, mooncake, bailian, jsonl, vegeta, gaps, due",
            ),
            ("a.csv,unit=m", "unit 'm' is none of s, ms, us and ns"),
            ("a.csv,scale=0", "scale '0' is no decimal number above 0"),
            ("a.csv,window=10m", "window '10m' has no '..': give FROM..TO, such as 10m..20m"),
            ("a.csv,window=20m..10m", "window '20m..10m' is empty"),
            ("a.csv,window=10..20", "'10' is no time: give a number and ns, us, ms, s, m or h"),
            ("a.csv,within-second=random", "within-second=random is none of uniform, burst, even"),
            ("a.csv,fails=skip", "fails=skip is none of drop, keep"),
            ("a.csv,sort=1", "sort=1 is none of yes, no"),
            ("a.csv,format=gaps", "the format gaps has no unit of its own: give unit=s, ms, us or ns"),
            ("a.csv,format=azure,unit=s", "the format azure fixes its unit: leave unit= out"),
            ("a.csv,format=due,within-second=even", "within-second= is for burstgpt"),
            ("a.csv,format=due,fails=drop", "fails= is for burstgpt"),
        ] {
            let message = text.parse::<TraceSpec>().unwrap_err().to_string();
            assert!(message.contains(reason), "{text}: {message}");
            assert!(message.starts_with(&format!("'{text}': ")), "{message}");
        }
    }

    #[test]
    fn the_grammar_has_all_formats_and_fits_a_screen() {
        for format in TraceFormat::ALL {
            assert!(GRAMMAR.contains(&format!("\n  {format} ")), "{format}");
        }
        assert!(GRAMMAR.lines().all(|line| line.len() <= 80));
    }
}
