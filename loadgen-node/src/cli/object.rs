//! The flags of `run` as a JSON object: how a program that calls the library says what it wants. Names, values,
//! defaults and errors are those of the command line, since the same parser reads them.

use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::{anyhow, bail};
use clap::{Arg, Parser};
use lon_qsl::Codec;
use lon_qsl::benchmark::Benchmark;
use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use super::checked::RunRequest;
use super::run::RunArgs;
use super::shared::{CodecArgs, Compression, TestArgs};
use lon_run::exit::{Exit, OrExit as _, Outcome};
use lon_run::test_run::{Codecs, DataSpec, TestSpec};

/// Flags of `run` that are about the engine of this program, or about its own output.
const OF_OUR_ENGINE: [&str; 24] = [
    "anyway",
    "baseline",
    "busy-poll",
    "extend",
    "find-peak-give-up",
    "find-peak-max-trials",
    "find-peak-resume",
    "format",
    "integers",
    "json",
    "max-lag",
    "metrics-file",
    "metrics-grace",
    "metrics-listen",
    "mix",
    "no-report",
    "priority",
    "probe",
    "repeat",
    "spin",
    "trace-log",
    "ui",
    "within",
    "accuracy-run",
];

#[derive(Parser)]
#[command(name = "options", disable_help_flag = true, disable_version_flag = true)]
struct RunObject {
    #[command(flatten)]
    run: RunArgs,
}

#[derive(Parser)]
#[command(name = "options", disable_help_flag = true, disable_version_flag = true)]
struct DataObject {
    /// The benchmark whose samples are loaded.
    #[arg(long, env = "LON_BENCHMARK")]
    benchmark: String,
    #[command(flatten)]
    test: TestArgs,
    #[command(flatten)]
    codecs: CodecArgs,
}

/// The samples to load, when no nodes are involved.
pub struct DataAsked {
    /// The benchmark that is loaded.
    pub benchmark: &'static Benchmark,
    /// Which samples of it are loaded.
    pub data: DataSpec,
    /// The codecs of the samples and answers.
    pub codecs: Codecs,
}

/// A test that another engine leads, from a JSON object with the flags of `run`; and the folder, where one is named.
///
/// # Errors
/// The text is no JSON object, a key is no flag or one of our own engine, or a value is not as the flag wants it. The
/// exit code is 2.
pub fn test_of(text: &str) -> Outcome<(TestSpec, Option<PathBuf>)> {
    let object = object(text).or_exit(Exit::Usage)?;
    if let Some(key) = OF_OUR_ENGINE.iter().find(|key| object.contains_key(**key)) {
        return Err(anyhow!("'{key}' is about the engine of loadgen-node, and here another engine leads the run"))
            .or_exit(Exit::Usage);
    }
    let RunObject { run } = parsed(&object).or_exit(Exit::Usage)?;
    match run.check()? {
        RunRequest::Advice(_) => Err(anyhow!("'compression': auto is advice and no run; loadgen-node run gives it")),
        // The other engine decides if the result can become VALID.
        RunRequest::Test { spec, out } => Ok((TestSpec { anyway: true, ..*spec }, out)),
    }
    .or_exit(Exit::Usage)
}

/// Samples without nodes, from a JSON object with the flags of `run` that say what is sent.
///
/// # Errors
/// As [`test_of`].
pub fn data_of(text: &str) -> Outcome<DataAsked> {
    let object = object(text).or_exit(Exit::Usage)?;
    let DataObject { benchmark, test, codecs } = parsed(&object).or_exit(Exit::Usage)?;
    let benchmark = Benchmark::named(&benchmark).or_exit(Exit::Usage)?;
    let samples = match codecs.compression {
        Compression::Codec(samples) => samples,
        Compression::Auto => {
            return Err(anyhow!("'compression': auto is advice; loadgen-node run gives it")).or_exit(Exit::Usage);
        }
    };
    Ok(DataAsked { benchmark, data: test.data(), codecs: Codecs { samples, answers: Codec::None } })
}

fn object(text: &str) -> anyhow::Result<Map<String, Value>> {
    match serde_json::from_str(text) {
        Ok(Distinct(object)) => Ok(object),
        Err(error) if error.is_data() => bail!("the options are no JSON object such as {EXAMPLE}: {error}"),
        Err(error) => bail!("the options are no JSON: {error}"),
    }
}

const EXAMPLE: &str = r#"{"sut": "10.0.0.2:8000", "benchmark": "digits", "scenario": "Server"}"#;

/// An object in which no key is there twice: of two values the last one would count without a word.
struct Distinct(Map<String, Value>);

impl<'de> Deserialize<'de> for Distinct {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Distinct, D::Error> {
        struct Keys;
        impl<'de> Visitor<'de> for Keys {
            type Value = Map<String, Value>;

            fn expecting(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                out.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Map<String, Value>, A::Error> {
                let mut object = Map::new();
                while let Some((key, value)) = from.next_entry::<String, Value>()? {
                    if object.contains_key(&key) {
                        return Err(A::Error::custom(format!("'{key}' is there twice")));
                    }
                    object.insert(key, value);
                }
                Ok(object)
            }
        }
        from.deserialize_map(Keys).map(Distinct)
    }
}

/// The flags that the object stands for, read as the command line is.
fn parsed<T: Parser>(object: &Map<String, Value>) -> anyhow::Result<T> {
    // A flag that is refused as a key is no setting of the environment either.
    let command =
        T::command().mut_args(|flag| match flag.get_long().is_some_and(|name| OF_OUR_ENGINE.contains(&name)) {
            true => flag.env(None::<&str>),
            false => flag,
        });
    let flags: Vec<&Arg> = command.get_arguments().collect();
    let mut args = vec![OsString::from("options")];
    for (key, value) in object {
        let named = |flag: &&&Arg| {
            flag.get_long() == Some(key) || flag.get_all_aliases().is_some_and(|names| names.contains(&key.as_str()))
        };
        let Some(flag) = flags.iter().find(named) else { bail!("{}", unknown(key, &flags)) };
        let takes_value = flag.get_action().takes_values();
        let values = match value {
            Value::Array(values) => values.as_slice(),
            one => std::slice::from_ref(one),
        };
        for value in values {
            match (value, takes_value) {
                (Value::Null, _) | (Value::Bool(false), false) => {}
                (Value::Bool(true), false) => args.push(format!("--{key}").into()),
                (_, false) => bail!("'{key}' is true or false, not {value}"),
                (Value::String(text), true) => args.push(format!("--{key}={text}").into()),
                (Value::Number(number), true) => args.push(format!("--{key}={number}").into()),
                (_, true) => bail!("'{key}' is a text or a number, not {value}"),
            }
        }
    }
    let matches = command.clone().try_get_matches_from(args).map_err(|error| anyhow!(one_line(&error)))?;
    Ok(T::from_arg_matches(&matches)?)
}

fn unknown(key: &str, flags: &[&Arg]) -> String {
    let names = flags.iter().filter_map(|flag| flag.get_long()).filter(|name| !OF_OUR_ENGINE.contains(name));
    let near = names.map(|name| (strsim::jaro(key, name), name)).filter(|(likeness, _)| *likeness > 0.7);
    let meant = near.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, name)| format!("; did you mean '{name}'?"));
    format!("'{key}' is no option{}", meant.unwrap_or_default())
}

/// Returns the fault in an error, without the form of the flag on the command line.
fn one_line(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let fault = text.split("\n\nUsage").next().unwrap_or(&text).trim_start_matches("error: ");
    fault.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const NODE: &str = r#""sut": "127.0.0.1:1", "benchmark": "digits", "scenario": "Server""#;

    fn refused(more: &str) -> String {
        test_of(&format!("{{{NODE}{more}}}")).map(|_| ()).unwrap_err().one_line()
    }

    #[test]
    fn flags_are_read_as_the_command_line_reads_them() {
        let text = format!(
            r#"{{{NODE}, "set": ["target_qps=5", "min_duration=1s"], "insecure": true, "verify-dataset": false,
                "connections": 2, "wait-ready": "3s", "note": null, "label": ["a=1", "b=2"], "out": "there"}}"#
        );
        let (spec, out) = test_of(&text).unwrap();
        assert_eq!((spec.connections.get(), spec.settings.set.len(), out), (2, 2, Some(PathBuf::from("there"))));
        assert!(spec.target.allows_plain_text && !spec.data.verify && spec.call.note.is_none());
        assert_eq!(spec.call.labels.by_key().len(), 2);
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (more, part) in [
            (r#", "suts": "x""#, "'suts' is no option; did you mean 'sut'?"),
            (r#", "max-lag": "1ms""#, "'max-lag' is about the engine of loadgen-node"),
            (r#", "within": "latency=1s""#, "'within' is about the engine of loadgen-node"),
            (r#", "label": ["a=1", "a=2"]"#, "label a is there twice"),
            (r#", "insecure": "yes""#, "'insecure' is true or false, not \"yes\""),
            (r#", "connections": true"#, "'connections' is a text or a number, not true"),
            (r#", "connections": 0"#, "a number from 1 to 256"),
            (r#", "compression": "auto""#, "advice and no run"),
            (r#", "help": true"#, "'help' is no option"),
        ] {
            let error = refused(more);
            assert!(error.contains(part), "{more}: {error}");
        }
        let twice = format!(r#"{{{NODE}, "scenario": "Offline"}}"#);
        for (text, part) in [
            (&*twice, "'scenario' is there twice"),
            ("[]", "no JSON object"),
            ("{", "no JSON: "),
            ("{}", "--sut <NODES>"),
        ] {
            let error = test_of(text).map(|_| ()).unwrap_err().one_line();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn samples_need_a_benchmark_alone() {
        let options = data_of(r#"{"benchmark": "digits", "compression": "zstd"}"#).unwrap();
        assert_eq!((options.benchmark.name, options.codecs.samples.name()), ("digits", "zstd"));
        assert!(
            data_of(r#"{"benchmark": "digits", "sut": "x"}"#).map(|_| ()).unwrap_err().one_line().contains("'sut'")
        );
    }
}
