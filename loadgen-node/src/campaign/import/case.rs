//! A test of DLI as a case of a campaign: keys with their values, and the elements without a counterpart.

use std::path::Path;

use anyhow::{Context as _, Result, anyhow, bail};
use toml::Value;

use super::source::{DATASET, DEPENDENT, Element, INDEPENDENT, MODEL, Test};

/// The ending of models that nodes run.
const ONNX: &str = "onnx";
/// The most that flags of nodes take, and the most users of Closed.
const MOST_BATCH: u64 = 4096;
const MOST_THREADS: u64 = 1024;
const MOST_WORKERS: u64 = 1024;
const MOST_IN_FLIGHT: u64 = 1 << 20;
const MOST_ITERATIONS: u64 = 1 << 32;
const MOST_MINUTES: u64 = 60 * 24 * 365;
/// Longest wait for the rest of a batch, whose samples are sent together.
const FILLS: &str = "100ms";

/// Work to do where a test names no dataset.
const NO_DATASET: &str = "name the dataset: dataset = \"PATH\", or one such as \"synthetic:f32[3,224,224]x64\"";

/// A test as a case.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Case {
    /// The line of the test in DLI's file.
    pub(super) line: usize,
    pub(super) name: String,
    pub(super) keys: Vec<(&'static str, Value)>,
    /// Elements without a counterpart.
    pub(super) left_out: Vec<LeftOut>,
    /// Work that is left before the case can be planned.
    pub(super) to_do: Vec<String>,
}

/// An element without a counterpart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LeftOut {
    /// The section and the element, such as `Model/Module`.
    pub(crate) element: String,
    pub(crate) value: String,
    /// The line in DLI's file.
    pub(crate) line: usize,
    /// The reason, with the key that may help.
    pub(crate) why: &'static str,
}

/// The keys that a case comes to, while its elements are taken.
#[derive(Default)]
struct Keys {
    keys: Vec<(&'static str, Value)>,
    left_out: Vec<LeftOut>,
}

/// The way in which DLI asks: its mode, its batch, and its number of requests.
struct Load {
    is_sync: bool,
    batch: u64,
    iterations: u64,
    /// Requests in flight. None: the framework chooses.
    requests: Option<u64>,
}

impl Case {
    /// Makes the case of a test.
    ///
    /// # Errors
    /// An element is missing without which there is no test, or has a value that cannot be meant; the text has the
    /// line.
    pub(super) fn of(mut test: Test) -> Result<Case> {
        let (line, mut keys, mut to_do) = (test.line, Keys::default(), Vec::new());
        let load = Load::take(&mut test, &mut keys)?;
        let path = test.value(MODEL, "ModelPath").ok_or_else(|| missing(line, "ModelPath", "the model's file"))?;
        let name = test.value(MODEL, "Name").unwrap_or_else(|| stem(&path));
        let precision = test.value(MODEL, "Precision");
        let case_name = load.name(&name, precision.as_deref());
        match test.value(DATASET, "Path") {
            Some(dataset) => keys.set("dataset", dataset),
            None => to_do.push(NO_DATASET.to_owned()),
        }
        load.set(&mut test, &mut keys);
        if is_onnx(&path) {
            keys.set("node.backend", format!("{ONNX}:{path}"));
        } else {
            let converted = Path::new(&path).with_extension(ONNX);
            to_do.push(format!("convert {path} to ONNX, and write the path of the result into node.backend"));
            keys.set("node.backend", format!("{ONNX}:{}", converted.display()));
        }
        keys.set("node.max-batch", whole(load.batch));
        keys.take_number(&mut test, "ThreadCount", "node.threads", MOST_THREADS);
        provider(&mut test, &mut keys);
        let facts = [
            ("dli.task", test.value(MODEL, "Task")),
            ("dli.topology", Some(name)),
            ("dli.framework", test.value(MODEL, "SourceFramework")),
            ("dli.precision", precision),
            ("dli.dataset", test.value(DATASET, "Name")),
        ];
        facts.into_iter().filter_map(|(key, fact)| Some((key, fact?))).for_each(|(key, fact)| keys.set(key, fact));
        keys.left_out.extend(test.leftovers().iter().map(LeftOut::of));
        keys.left_out.sort_by_key(|left_out| left_out.line);
        Ok(Case { line, name: case_name, keys: keys.keys, left_out: keys.left_out, to_do })
    }
}

impl Load {
    fn take(test: &mut Test, keys: &mut Keys) -> Result<Load> {
        let batch = needed(test, "BatchSize", MOST_BATCH)?;
        let iterations = needed(test, "IterationCount", MOST_ITERATIONS)?;
        let is_sync = match test.take(DEPENDENT, "Mode") {
            // Frameworks with one mode have latency mode.
            None => true,
            Some(mode) if mode.value.eq_ignore_ascii_case("sync") => true,
            Some(mode) if mode.value.eq_ignore_ascii_case("async") => false,
            Some(mode) => bail!("line {}: Mode is Sync or Async, not '{}'", mode.line, mode.value),
        };
        let requests = match is_sync {
            true => None,
            false => keys.number(test, "AsyncRequestCount", MOST_IN_FLIGHT / batch),
        };
        Ok(Load { is_sync, batch, iterations, requests })
    }

    /// The name of the case: model, precision, batch, mode.
    fn name(&self, model: &str, precision: Option<&str>) -> String {
        let precision = precision.map_or_else(String::new, |precision| format!("-{precision}"));
        let mode = if self.is_sync { "sync" } else { "async" };
        format!("{model}{precision}-batch{}-{mode}", self.batch)
    }

    /// Sets the scenario that asks in this way. DLI runs as many requests as are in flight, at least.
    fn set(&self, test: &mut Test, keys: &mut Keys) {
        let Load { batch, iterations, .. } = *self;
        match (self.is_sync, self.requests) {
            (true, _) if batch == 1 => {
                keys.set("scenario", "SingleStream");
                keys.set("settings.min_query_count", whole(iterations));
            }
            (true, _) => {
                keys.set("scenario", "MultiStream");
                keys.set("settings.samples_per_query", whole(batch));
                keys.set("settings.min_query_count", whole(iterations));
                keys.set("node.max-delay", FILLS);
            }
            (false, Some(requests)) => {
                keys.set("scenario", "Closed");
                keys.set("settings.concurrency", whole(requests * batch));
                keys.set("settings.min_query_count", whole(iterations.max(requests) * batch));
            }
            // Nodes take what they have room for, as a framework does that chooses the number of requests itself.
            (false, None) => {
                keys.set("scenario", "Offline");
                keys.set("settings.min_query_count", whole(iterations * batch));
            }
        }
        if !self.is_sync {
            let streams = keys.number(test, "StreamCount", MOST_WORKERS);
            // As many streams as requests, unless their number is given.
            let workers = streams.or(self.requests.map(|requests| requests.min(MOST_WORKERS)));
            workers.into_iter().for_each(|workers| keys.set("node.workers", whole(workers)));
        }
        if self.requests.is_some() || self.is_sync {
            let minutes = keys.limit(test);
            minutes.into_iter().for_each(|minutes| keys.set("settings.max_duration", whole(minutes * 60_000)));
        }
    }
}

impl Keys {
    fn set(&mut self, key: &'static str, value: impl Into<Value>) {
        self.keys.push((key, value.into()));
    }

    /// Takes a number of the framework's section. One that is none, or too large, is left out.
    fn number(&mut self, test: &mut Test, name: &str, most: u64) -> Option<u64> {
        self.number_of(&test.take(DEPENDENT, name)?, most)
    }

    /// Takes the limit of the time, in minutes.
    fn limit(&mut self, test: &mut Test) -> Option<u64> {
        self.number_of(&test.take(INDEPENDENT, "TestTimeLimit")?, MOST_MINUTES)
    }

    fn number_of(&mut self, element: &Element, most: u64) -> Option<u64> {
        let number = element.value.parse().ok().filter(|number| (1..=most).contains(number));
        if number.is_none() {
            let why = "it is no whole number above 0 that can be taken";
            self.left_out.push(LeftOut { why, ..LeftOut::of(element) });
        }
        number
    }

    fn take_number(&mut self, test: &mut Test, name: &str, key: &'static str, most: u64) {
        if let Some(number) = self.number(test, name, most) {
            self.set(key, whole(number));
        }
    }
}

impl LeftOut {
    pub(super) fn of(element: &Element) -> LeftOut {
        let why = if element.is_known() { why(&element.name) } else { "it is no element of DLI that is known here" };
        LeftOut { element: element.path(), value: element.value.clone(), line: element.line, why }
    }
}

/// Takes the execution provider, the device and the framework, as far as a node has the same.
fn provider(test: &mut Test, keys: &mut Keys) {
    let is_cpu = |name: &str| ["cpu", "default"].iter().any(|usual| name.eq_ignore_ascii_case(usual));
    let one = |test: &Test, name: &str| {
        let value = test.peek(DEPENDENT, name).map(|element| element.value.trim_end_matches("ExecutionProvider"))?;
        value.chars().all(|c| c.is_ascii_alphanumeric()).then(|| value.to_owned())
    };
    let mut has_provider = false;
    for name in ["ExecutionProviders", "Provider"] {
        let Some(provider) = one(test, name).filter(|_| !has_provider) else { continue };
        test.take(DEPENDENT, name);
        if !is_cpu(&provider) {
            keys.set("node.ep", provider);
            has_provider = true;
        }
    }
    let has_device = test.peek(INDEPENDENT, "Device").is_some_and(|element| is_cpu(&element.value) != has_provider);
    if has_device {
        test.take(INDEPENDENT, "Device");
    }
    let letters = |text: &str| text.to_ascii_lowercase().replace([' ', '_', '-'], "");
    let framework = test.peek(INDEPENDENT, "InferenceFramework").map(|element| letters(&element.value));
    if framework.is_some_and(|framework| framework.starts_with("onnxruntime")) {
        test.take(INDEPENDENT, "InferenceFramework");
    }
}

/// Takes a number without which there is no test.
fn needed(test: &mut Test, name: &str, most: u64) -> Result<u64> {
    let line = test.line;
    let element = test.take(INDEPENDENT, name).ok_or_else(|| missing(line, name, "a number"))?;
    let number = element.value.parse().ok().filter(|number| (1..=most).contains(number));
    let wrong = || format!("line {}: {name} is a number from 1 to {most}, not '{}'", element.line, element.value);
    number.with_context(wrong)
}

fn missing(line: usize, name: &str, what: &str) -> anyhow::Error {
    anyhow!("line {line}: the test has no {name}: write {what}; other configurations of DLI are not read")
}

/// A number in TOML, which has a sign. All numbers here are below 2^53.
fn whole(number: u64) -> Value {
    Value::Integer(i64::try_from(number).unwrap_or(i64::MAX))
}

fn is_onnx(path: &str) -> bool {
    Path::new(path).extension().is_some_and(|extension| extension.eq_ignore_ascii_case(ONNX))
}

fn stem(path: &str) -> String {
    Path::new(path).file_stem().map_or_else(|| "model".to_owned(), |stem| stem.to_string_lossy().into_owned())
}

/// Why an element of DLI has no counterpart, with the key that may help.
fn why(name: &str) -> &'static str {
    match name {
        "WeightsPath" => "weights are in the ONNX file, or in files beside it",
        "Module" => "a model is read from its file",
        "InferenceFramework" => "nodes run ONNX Runtime or tract, and the table names which",
        "Device" => "nodes compute on the processor; node.ep names an execution provider of ONNX Runtime",
        "TestTimeLimit" => "the one query of Offline does not end early; stop.hours ends the campaign",
        "RawOutput" => "an accuracy run keeps the answers",
        "CodeSource" | "Runtime" => "there is one program for nodes",
        "Hint" => "node.max-batch, node.workers and node.threads say the same in numbers",
        "Frontend" => "nodes read ONNX alone",
        "Extension" => "nodes take no libraries of operators",
        "AsyncRequestCount" | "StreamCount" => "it counts in Async alone",
        "InputShape" => "samples of the dataset have their shape; node.dims gives sizes that a model leaves free",
        "Layout" | "Mean" | "InputScale" | "ChannelSwap" | "ChangePreprocessOptions" => {
            "images are prepared by the key preprocess"
        }
        "UseLatencyPerTokenLLM" => "the table has latencies per token wherever tokens are counted",
        "InputName" => "nodes read names from the model; node.inputs gives an order",
        "ExecutionProviders" | "Provider" => "node.ep names one execution provider",
        "InterThreadCount" | "ExecutionMode" => "node.threads is the number of threads of an inference",
        "InferenceRequestsCount" => "requests in flight are settings.concurrency of scenario Closed",
        _ => "nothing here is like it",
    }
}

#[cfg(test)]
mod tests {
    use super::super::source::Source;
    use super::*;

    fn case(independent: &str, dependent: &str) -> Result<Case> {
        let text = format!(
            "<Tests><Test><Model><Task>detection</Task><Name>ssd</Name><Precision>FP16</Precision>\
             <SourceFramework>PyTorch</SourceFramework><ModelPath>/m/ssd.onnx</ModelPath></Model>\
             <Dataset><Name>COCO</Name><Path>/d/coco</Path></Dataset><FrameworkIndependent>\
             <InferenceFramework>ONNX Runtime</InferenceFramework><Device>CPU</Device>{independent}\
             </FrameworkIndependent><FrameworkDependent>{dependent}</FrameworkDependent></Test></Tests>"
        );
        Case::of(Source::read(&text).unwrap().tests.remove(0))
    }

    fn counts(batch: u64) -> String {
        format!("<BatchSize>{batch}</BatchSize><IterationCount>10</IterationCount>")
    }

    /// The keys between the dataset and the facts, as they are written.
    fn keys(case: &Case) -> Vec<String> {
        let own = case.keys.iter().filter(|(key, _)| *key != "dataset" && !key.starts_with("dli."));
        own.map(|(key, value)| format!("{key}={}", crate::keys::key::text(value))).collect()
    }

    fn left_out(case: &Case) -> Vec<&str> {
        case.left_out.iter().map(|left_out| left_out.element.as_str()).collect()
    }

    #[test]
    fn one_request_after_the_other_is_single_or_multi_stream() {
        let single = case(&counts(1), "<Mode>sync</Mode><ThreadCount>4</ThreadCount>").unwrap();
        let backend = "node.backend=onnx:/m/ssd.onnx";
        let right =
            ["scenario=SingleStream", "settings.min_query_count=10", backend, "node.max-batch=1", "node.threads=4"];
        assert_eq!((keys(&single), single.name.as_str()), (right.map(str::to_owned).to_vec(), "ssd-FP16-batch1-sync"));
        assert_eq!((left_out(&single), single.to_do.len()), (vec![], 0));
        let multi = case(&counts(8), "<Mode>Sync</Mode><StreamCount>2</StreamCount>").unwrap();
        let right = [
            "scenario=MultiStream",
            "settings.samples_per_query=8",
            "settings.min_query_count=10",
            "node.max-delay=100ms",
            backend,
            "node.max-batch=8",
        ];
        assert_eq!(
            (keys(&multi), left_out(&multi)),
            (right.map(str::to_owned).to_vec(), vec!["FrameworkDependent/StreamCount"])
        );
        assert_eq!(keys(&case(&counts(8), "").unwrap()), right, "without a mode, too");
    }

    /// 4 requests of 8 are 32 samples in flight, and 10 requests 80; 16 requests are run where so many are in flight.
    #[test]
    fn requests_in_flight_are_closed_or_offline() {
        let elements = "<Mode>Async</Mode><AsyncRequestCount>4</AsyncRequestCount><StreamCount>2</StreamCount>";
        let right = [
            "scenario=Closed",
            "settings.concurrency=32",
            "settings.min_query_count=80",
            "node.workers=2",
            "node.backend=onnx:/m/ssd.onnx",
            "node.max-batch=8",
        ];
        assert_eq!(keys(&case(&counts(8), elements).unwrap()), right);
        let many = case(&counts(1), "<Mode>async</Mode><AsyncRequestCount>16</AsyncRequestCount>").unwrap();
        let right = ["scenario=Closed", "settings.concurrency=16", "settings.min_query_count=16", "node.workers=16"];
        assert_eq!(keys(&many)[..4], right);
        let free = case(&counts(8), "<Mode>Async</Mode>").unwrap();
        assert_eq!(keys(&free)[..2], ["scenario=Offline", "settings.min_query_count=80"]);
        assert!(!keys(&free).concat().contains("node.workers"), "{free:?}");
    }

    #[test]
    fn a_limit_of_the_time_is_one_of_the_run() {
        let limited = format!("{}<TestTimeLimit>3</TestTimeLimit>", counts(1));
        assert!(keys(&case(&limited, "").unwrap()).contains(&"settings.max_duration=180000".to_owned()));
        let offline = case(&limited, "<Mode>Async</Mode>").unwrap();
        assert_eq!(left_out(&offline), ["FrameworkIndependent/TestTimeLimit"]);
    }

    #[test]
    fn facts_are_those_of_the_table() {
        let case_of_test = case(&counts(1), "").unwrap();
        let facts: Vec<&str> = case_of_test
            .keys
            .iter()
            .filter_map(|(key, value)| value.as_str().filter(|_| key.starts_with("dli.")))
            .collect();
        assert_eq!(facts, ["detection", "ssd", "PyTorch", "FP16", "COCO"]);
        assert!(case_of_test.keys.contains(&("dataset", Value::from("/d/coco"))), "{case_of_test:?}");
    }

    #[test]
    fn providers_are_flags_of_nodes_and_devices_follow_from_them() {
        let gpu = counts(1);
        let with = |dependent: &str, device: &str| {
            let text = format!(
                "<Tests><Test><Model><ModelPath>a.onnx</ModelPath></Model><Dataset><Path>d.npy</Path></Dataset>\
                 <FrameworkIndependent>{gpu}<Device>{device}</Device></FrameworkIndependent>\
                 <FrameworkDependent>{dependent}</FrameworkDependent></Test></Tests>"
            );
            Case::of(Source::read(&text).unwrap().tests.remove(0)).unwrap()
        };
        let cuda = with("<ExecutionProviders>CUDAExecutionProvider</ExecutionProviders>", "GPU");
        assert!(keys(&cuda).contains(&"node.ep=CUDA".to_owned()) && cuda.left_out.is_empty(), "{cuda:?}");
        let usual = with("<Provider>Default</Provider>", "CPU");
        assert!(!keys(&usual).concat().contains("node.ep") && usual.left_out.is_empty(), "{usual:?}");
        let two = with("<ExecutionProviders>CUDAExecutionProvider CPUExecutionProvider</ExecutionProviders>", "GPU");
        assert_eq!(left_out(&two), ["FrameworkIndependent/Device", "FrameworkDependent/ExecutionProviders"]);
    }

    #[test]
    fn elements_without_a_counterpart_are_listed_with_their_lines() {
        let case_of_test = case(
            &counts(1),
            "\n<Hint>latency</Hint>\n<Mean>[1 2 3]</Mean><Own>5</Own>\n<ThreadCount>all</ThreadCount>",
        )
        .unwrap();
        let names = ["Hint", "Mean", "Own", "ThreadCount"].map(|name| format!("FrameworkDependent/{name}"));
        assert_eq!(left_out(&case_of_test), names);
        assert_eq!(case_of_test.left_out.iter().map(|left_out| left_out.line).collect::<Vec<_>>(), [2, 3, 3, 4]);
        assert!(case_of_test.left_out[2].why.contains("no element of DLI"), "{case_of_test:?}");
    }

    #[test]
    fn a_model_of_another_form_and_a_missing_dataset_are_work_to_do() {
        let text = "<Tests><Test><Model><ModelPath>/m/a.xml</ModelPath><WeightsPath>/m/a.bin</WeightsPath></Model>\
                    <FrameworkIndependent><BatchSize>1</BatchSize><IterationCount>1</IterationCount>\
                    </FrameworkIndependent></Test></Tests>";
        let case_of_test = Case::of(Source::read(text).unwrap().tests.remove(0)).unwrap();
        let [dataset, convert] = &case_of_test.to_do[..] else { panic!("{case_of_test:?}") };
        assert!(
            dataset.contains("name the dataset") && convert.starts_with("convert /m/a.xml to ONNX"),
            "{case_of_test:?}"
        );
        assert!(keys(&case_of_test).contains(&"node.backend=onnx:/m/a.onnx".to_owned()), "{case_of_test:?}");
        assert_eq!((left_out(&case_of_test), case_of_test.name.as_str()), (vec!["Model/WeightsPath"], "a-batch1-sync"));
    }

    #[test]
    fn a_value_that_cannot_be_meant_is_an_error_with_its_line() {
        for (independent, dependent, why) in [
            (String::new(), "", "has no BatchSize"),
            ("<BatchSize>1</BatchSize>".to_owned(), "", "has no IterationCount"),
            (counts(0), "", "line 1: BatchSize is a number from 1 to 4096, not '0'"),
            (counts(1), "\n<Mode>both</Mode>", "line 2: Mode is Sync or Async, not 'both'"),
        ] {
            let error = case(&independent, dependent).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    }
}
