//! A test as a JSON object: the form in which a program that calls the C library says what it wants. Keys are the flags
//! of `loadgen-node run` without their dashes, with the same values, defaults and variables of the environment.

use std::fmt::Display;
use std::path::PathBuf;

use anyhow::{Context as _, anyhow, bail};
use lon_qsl::Codec;
use lon_qsl::benchmark::Benchmark;
use qdl::Transport;
use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use crate::division::Division;
use crate::exit::{Exit, OrExit as _, Outcome};
use crate::nodes::target_spec::TargetSpec;
use crate::test_run::{Call, Codecs, DataSpec, Label, Labels, Limits, SettingsSpec, TestSpec};
use crate::values::{self, CodecChoice};

/// The keys of the object. A key that is not there has the value of its variable, else that of [`TestSpec::new`].
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
struct Options {
    allow_open_key_files: Switch,
    aggregate: Text,
    arrivals: Text,
    audit_conf: Text,
    benchmark: Text,
    compression: Text,
    connections: Text,
    dataset: Text,
    division: Text,
    ids_alone: Switch,
    insecure: Switch,
    io_threads: Text,
    kserve_inputs: List,
    label: List,
    max_answer: Text,
    mixed_nodes: Switch,
    mlperf_conf: Text,
    mode: Text,
    model: Text,
    note: Text,
    out: Text,
    preprocess: Text,
    record_stages: Switch,
    response_compression: Text,
    response_timeout: Text,
    rules: Text,
    scenario: Text,
    set: List,
    strict_conf: Switch,
    sut: Text,
    system_desc: Text,
    tls_ca: Text,
    tls_cert: Text,
    tls_key: Text,
    token_file: Text,
    transport: Text,
    user_conf: Text,
    verify_dataset: Switch,
    wait_ready: Text,
    warm_up: Text,
}

/// Other names of keys.
const ALIASES: [(&str, &str); 2] = [("sut-server", "sut"), ("round", "rules")];

/// Keys of samples without nodes.
const OF_SAMPLES: [&str; 15] = [
    "aggregate",
    "arrivals",
    "audit-conf",
    "benchmark",
    "compression",
    "dataset",
    "ids-alone",
    "mlperf-conf",
    "mode",
    "preprocess",
    "response-compression",
    "rules",
    "set",
    "strict-conf",
    "user-conf",
];

const EXAMPLE: &str = r#"{"sut": "10.0.0.2:8000", "benchmark": "digits", "scenario": "Server"}"#;

/// A text or a number; null is none.
#[derive(Debug, Default, Serialize)]
struct Text(Option<String>);

/// Texts: an array, or one text in which commas separate them.
#[derive(Debug, Default, Serialize)]
struct List(Vec<String>);

/// Either true or false; null is false.
#[derive(Debug, Default, Serialize)]
struct Switch(bool);

/// The only item of an array, since an array is a flag that is given several times; null for none.
fn only(value: Value) -> Result<Value, String> {
    match value {
        Value::Array(items) if items.len() > 1 => Err(format!("has one value, not {}", items.len())),
        Value::Array(items) => Ok(items.into_iter().next().unwrap_or_default()),
        one => Ok(one),
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Text, D::Error> {
        match only(Value::deserialize(from)?).map_err(D::Error::custom)? {
            Value::Null => Ok(Text(None)),
            Value::String(text) => Ok(Text(Some(text))),
            Value::Number(number) => Ok(Text(Some(number.to_string()))),
            other => Err(D::Error::custom(format!("is a text or a number, not {other}"))),
        }
    }
}

impl<'de> Deserialize<'de> for List {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<List, D::Error> {
        let items = match Value::deserialize(from)? {
            Value::Array(items) => items,
            one => vec![one],
        };
        let texts =
            items.into_iter().map(Text::deserialize).collect::<Result<Vec<_>, _>>().map_err(D::Error::custom)?;
        let texts = texts.iter().filter_map(|text| text.0.as_deref());
        Ok(List(texts.flat_map(|text| text.split(',')).map(str::to_owned).collect()))
    }
}

impl<'de> Deserialize<'de> for Switch {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Switch, D::Error> {
        match only(Value::deserialize(from)?).map_err(D::Error::custom)? {
            Value::Null => Ok(Switch(false)),
            Value::Bool(is_set) => Ok(Switch(is_set)),
            other => Err(D::Error::custom(format!("is true or false, not {other}"))),
        }
    }
}

/// The samples to load, when no nodes are involved.
pub struct DataRequest {
    /// The benchmark that is loaded.
    pub benchmark: &'static Benchmark,
    /// Which samples of it are loaded.
    pub data: DataSpec,
    /// The codecs of the samples and answers.
    pub codecs: Codecs,
}

/// A test that another engine leads, from a JSON object; and the folder, where one is named.
///
/// # Errors
/// The text is no JSON object, a key is none of these, or a value is not as the flag wants it. The exit code is 2.
pub fn test_of(text: &str) -> Outcome<(TestSpec, Option<PathBuf>)> {
    let options = options(text, &keys()).or_exit(Exit::Usage)?;
    let spec = options.test()?;
    Ok((spec, options.out.path()))
}

/// Samples without nodes, from a JSON object with the keys that say what is sent.
///
/// # Errors
/// As [`test_of`].
pub fn data_of(text: &str) -> Outcome<DataRequest> {
    let keys: Vec<String> = keys().into_iter().filter(|key| OF_SAMPLES.contains(&key.as_str())).collect();
    let options = options(text, &keys).or_exit(Exit::Usage)?;
    let samples = options.samples_codec().or_exit(Exit::Usage)?;
    let (benchmark, data) = (options.benchmark()?, options.data().or_exit(Exit::Usage)?);
    Ok(DataRequest { benchmark, data, codecs: Codecs { samples, answers: Codec::None } })
}

impl Text {
    fn get(&self) -> Option<&str> {
        self.0.as_deref()
    }

    fn path(&self) -> Option<PathBuf> {
        self.get().map(PathBuf::from)
    }

    /// The value of the key, read by the parser of the flag.
    ///
    /// # Errors
    /// The value is not as the flag wants it.
    fn read<T, E: Display>(&self, key: &str, parse: impl Fn(&str) -> Result<T, E>) -> anyhow::Result<Option<T>> {
        self.get().map(|text| read(key, text, &parse)).transpose()
    }

    /// The value, which has to be there.
    ///
    /// # Errors
    /// It is missing.
    fn needed(&self, key: &str) -> anyhow::Result<&str> {
        self.get().ok_or_else(|| anyhow!("'{key}' is missing: the options are an object such as {EXAMPLE}"))
    }
}

fn read<T, E: Display>(key: &str, text: &str, parse: impl Fn(&str) -> Result<T, E>) -> anyhow::Result<T> {
    parse(text).map_err(|error| anyhow!("'{key}' is '{text}': {error}"))
}

impl Options {
    fn test(&self) -> Outcome<TestSpec> {
        let target = TargetSpec {
            sut: self.sut.needed("sut").or_exit(Exit::Usage)?.to_owned(),
            transport: self.transport().or_exit(Exit::Usage)?,
            tls_ca: self.tls_ca.path(),
            tls_cert: self.tls_cert.path(),
            tls_key: self.tls_key.path(),
            insecure: self.insecure.0,
            token_file: self.token_file.path(),
            allow_open_key_files: self.allow_open_key_files.0,
            wait_ready: self.wait_ready.read("wait-ready", values::duration).or_exit(Exit::Usage)?.unwrap_or_default(),
            model: self.model.0.clone(),
            inputs: self.kserve_inputs.0.clone(),
        };
        let scenario = read("scenario", self.scenario.needed("scenario").or_exit(Exit::Usage)?, values::scenario);
        let spec = TestSpec::new(self.benchmark()?, scenario.or_exit(Exit::Usage)?, target.open()?);
        self.fill(spec).or_exit(Exit::Usage)
    }

    fn fill(&self, spec: TestSpec) -> anyhow::Result<TestSpec> {
        let usual = Limits::default();
        let labels = self.label.0.iter().map(|label| read("label", label, str::parse::<Label>));
        let labels = Labels::new(labels.collect::<anyhow::Result<_>>()?).context("'label'")?;
        let mut pacing = spec.pacing;
        pacing.io_threads = self.io_threads.read("io-threads", str::parse::<u8>)?.map(usize::from);
        let timeout = self.response_timeout.read("response-timeout", values::duration)?;
        let max_answer_bytes = self.max_answer.read("max-answer", values::answer_bytes)?;
        let answers = self.response_compression.read("response-compression", str::parse::<Codec>)?;
        let connections = self.connections.read("connections", values::few)?;
        let call = Call::of_this_process(keys().iter().map(|key| variable(key).into()));
        Ok(TestSpec {
            data: DataSpec { verify: self.verify_dataset.0, ..self.data()? },
            settings: self.settings()?,
            codecs: Codecs { samples: self.samples_codec()?, answers: answers.unwrap_or_default() },
            division: self.division.read("division", Division::named)?.unwrap_or_default(),
            connections: connections.unwrap_or(spec.connections),
            pacing,
            limits: Limits {
                response_timeout: timeout.unwrap_or(usual.response_timeout),
                max_answer_bytes: max_answer_bytes.unwrap_or(usual.max_answer_bytes),
                ..usual
            },
            warm_up: self.warm_up.read("warm-up", values::some_duration)?,
            // The other engine decides if the result can become VALID.
            anyway: true,
            mixed_nodes: self.mixed_nodes.0,
            record_stages: self.record_stages.0,
            system_desc: self.system_desc.path(),
            call: Call { note: self.note.read("note", values::note)?, labels, ..call },
            ..spec
        })
    }

    fn benchmark(&self) -> Outcome<&'static Benchmark> {
        let name = self.benchmark.needed("benchmark").or_exit(Exit::Usage)?;
        Benchmark::named(name).or_exit(Exit::Usage)
    }

    fn transport(&self) -> anyhow::Result<Transport> {
        Ok(self.transport.read("transport", Transport::named)?.unwrap_or(Transport::GRPC))
    }

    fn samples_codec(&self) -> anyhow::Result<Codec> {
        match self.compression.read("compression", str::parse::<CodecChoice>)? {
            None => Ok(Codec::None),
            Some(CodecChoice::Codec(codec)) => Ok(codec),
            Some(CodecChoice::Auto) => bail!("'compression': auto is advice and no run; loadgen-node run gives it"),
        }
    }

    fn data(&self) -> anyhow::Result<DataSpec> {
        Ok(DataSpec {
            dataset: self.dataset.0.clone(),
            preprocess: self.preprocess.read("preprocess", str::parse)?,
            aggregate: self.aggregate.read("aggregate", str::parse)?,
            ids_alone: self.ids_alone.0,
            verify: false,
        })
    }

    fn settings(&self) -> anyhow::Result<SettingsSpec> {
        let set = self.set.0.iter().map(|text| read("set", text, values::assignment));
        Ok(SettingsSpec {
            mode: self.mode.read("mode", values::mode)?,
            set: set.collect::<anyhow::Result<_>>()?,
            arrivals: self.arrivals.0.clone(),
            mlperf_conf: self.mlperf_conf.path(),
            user_conf: self.user_conf.path(),
            audit_conf: self.audit_conf.path(),
            rules: self.rules.read("rules", values::rounds)?,
            strict_conf: self.strict_conf.0,
            ..SettingsSpec::default()
        })
    }
}

/// The names of all keys.
fn keys() -> Vec<String> {
    defaults().into_iter().map(|(key, _)| key).collect()
}

/// Every key, with the value that it has unless given.
fn defaults() -> Map<String, Value> {
    match serde_json::to_value(Options::default()) {
        Ok(Value::Object(options)) => options,
        _ => Map::new(),
    }
}

/// The variable of the environment that stands for a key.
fn variable(key: &str) -> String {
    format!("LON_{}", key.replace('-', "_").to_uppercase())
}

/// The object with these keys, and with the variables of the keys that it does not have.
fn options(text: &str, keys: &[String]) -> anyhow::Result<Options> {
    let mut object = Map::new();
    for (key, value) in parsed(text)? {
        let alias = ALIASES.iter().find(|(alias, _)| *alias == key);
        let name = alias.map_or(key.clone(), |(_, name)| (*name).to_owned());
        if !keys.contains(&name) {
            bail!("{}", unknown(&key, keys));
        }
        if object.insert(name.clone(), value).is_some() {
            bail!("'{name}' is there twice, by two names");
        }
    }
    for (key, usual) in defaults().into_iter().filter(|(key, _)| keys.contains(key)) {
        let Some(value) = std::env::var_os(variable(&key)).filter(|_| !object.contains_key(&key)) else { continue };
        let value = value.into_string().map_err(|_| anyhow!("{} in the environment is not UTF-8", variable(&key)))?;
        let switch = value.parse().ok().filter(|_| usual.is_boolean());
        object.insert(key, switch.map_or(Value::String(value), Value::Bool));
    }
    Options::deserialize(Value::Object(object.clone())).map_err(|error| {
        // Each key alone shows which one is wrong.
        let is_wrong = |(key, value): &(String, Value)| {
            let alone = Map::from_iter([(key.clone(), value.clone())]);
            Options::deserialize(Value::Object(alone)).is_err()
        };
        let wrong = object.into_iter().find(is_wrong).map_or_else(String::new, |(key, _)| format!("'{key}' "));
        anyhow!("{wrong}{error}")
    })
}

/// The members of a JSON object, in which no key is there twice: of two values the last one would count without a word.
fn parsed(text: &str) -> anyhow::Result<Map<String, Value>> {
    match serde_json::from_str(text) {
        Ok(Distinct(object)) => Ok(object),
        Err(error) if error.is_data() => bail!("the options are no JSON object such as {EXAMPLE}: {error}"),
        Err(error) => bail!("the options are no JSON: {error}"),
    }
}

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

fn unknown(key: &str, keys: &[String]) -> String {
    let near = keys.iter().map(|name| (strsim::jaro(key, name), name)).filter(|(likeness, _)| *likeness > 0.7);
    let meant = near.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, name)| format!("; did you mean '{name}'?"));
    let meant = meant.unwrap_or_default();
    format!("'{key}' is no option{meant} (flags of loadgen-node run, without those about its own engine and output)")
}

#[cfg(test)]
mod tests {
    use super::*;

    const NODE: &str = r#""sut": "127.0.0.1:1", "benchmark": "digits", "scenario": "Server""#;

    fn refused(more: &str) -> String {
        test_of(&format!("{{{NODE}{more}}}")).map(|_| ()).unwrap_err().one_line()
    }

    #[test]
    fn values_are_those_of_the_flags() {
        let text = format!(
            r#"{{{NODE}, "set": ["target_qps=5", "min_duration=1s"], "insecure": [true], "verify-dataset": false,
                "connections": ["2"], "wait-ready": "3s", "note": null, "label": ["a=1", "b=2"], "out": "there"}}"#
        );
        let (spec, out) = test_of(&text).unwrap();
        assert_eq!((spec.connections.get(), spec.settings.set.len(), out), (2, 2, Some(PathBuf::from("there"))));
        assert!(spec.target.allows_plain_text && !spec.data.verify && spec.call.note.is_none());
        assert_eq!(spec.call.labels.by_key().len(), 2);
    }

    #[test]
    fn each_fault_is_named() {
        for (more, part) in [
            (r#", "suts": "x""#, "'suts' is no option; did you mean 'sut'?"),
            (r#", "max-lag": "1ms""#, "'max-lag' is no option"),
            (r#", "find-peak-goal": "p99<=1s""#, "without those about its own engine"),
            (r#", "sut-server": "x""#, "'sut' is there twice"),
            (r#", "label": ["a=1", "a=2"]"#, "label a is there twice"),
            (r#", "insecure": "yes""#, "'insecure' is true or false, not \"yes\""),
            (r#", "connections": true"#, "'connections' is a text or a number, not true"),
            (r#", "connections": 0"#, "'connections' is '0': a number from 1 to 256"),
            (r#", "transport": "ipx""#, "'transport' is 'ipx': one of grpc"),
            (r#", "compression": "auto""#, "advice and no run"),
            (r#", "mode": ["AccuracyOnly", "PerformanceOnly"]"#, "'mode' has one value, not 2"),
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
            ("{}", "'sut' is missing"),
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
