//! The contents of a benchmark's TOML file. An unknown key or word is an error.

use lon_image::{Preprocess, SpecError};
use lon_proto::text::is_hidden;
use serde::{Deserialize, Deserializer};
use strum::VariantNames as _;

use super::definition::{Benchmark, QslSize};
use super::generation::{self, Generation};
use super::kind::{DatasetKind, Form};
use super::network::{Compression, NetworkRules};
use super::published::Published;
use super::quality::Quality;
use super::rounds::{ROUNDS, Rounds, count};
use super::suite::{Entry, SUITE_ROUNDS, ScenarioName, Scenarios, Suite};
use crate::accuracy::{Categories, Metric, Target};
use crate::bandwidth::Formula;
use crate::encode::inputs::Inputs;

/// A file of `benchmarks/`, or one of the user's.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    /// The name of the benchmark: that of the file without `.toml`, and the model's in official config files.
    name: Text,
    /// Other names for `--benchmark`.
    #[serde(default)]
    aliases: Vec<Text>,
    /// A description of the benchmark, on one line.
    about: Text,
    /// Settings that it has unless others are given, each as `--set` takes it.
    #[serde(default)]
    settings: Vec<Text>,
    /// The samples that it has.
    dataset: DatasetLine,
    /// The official suites that have it.
    #[serde(default)]
    suites: Vec<SuiteLine>,
    /// The rules by which answers are scored. Without this table, answers have no score.
    accuracy: Option<Accuracy>,
    /// The scores that the official rules ask for, for `conf` to show.
    #[serde(default)]
    quality: Vec<Quality>,
    /// The codecs that the Network division allows; without it the division does not have the benchmark.
    #[serde(default)]
    network: Vec<Compression>,
    /// The parameters with which the rules have its answers generated.
    #[serde(default)]
    generation: Vec<Generation>,
    /// The formula of the bytes that a sample requires of the network (Appendix B of the rules).
    bandwidth: Option<Formula>,
    /// The same samples and rules under other names.
    #[serde(default)]
    variants: Vec<Variant>,
}

/// A variant: the same samples and rules under another name, with settings of its own.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Variant {
    /// The name of the variant, as config files have it, where they have it.
    name: Text,
    /// Other names for `--benchmark`.
    #[serde(default)]
    aliases: Vec<Text>,
    /// A description of the variant, on one line.
    about: Text,
    /// Settings that it has unless others are given; without them those of the benchmark.
    settings: Option<Vec<Text>>,
    /// The official suites that have it.
    #[serde(default)]
    suites: Vec<SuiteLine>,
}

/// The samples of a benchmark.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DatasetLine {
    /// The kind of dataset that `--dataset` takes.
    kind: KindName,
    /// A description of synthetic samples with the same shapes. Required, except with digits.
    example: Option<Text>,
    /// The inputs of the model, `NAME[?] DTYPE[|DTYPE...][DIMS]` each. `?` stands for an input that a sample may lack,
    /// `|` for other types that may be sent. A letter in DIMS stands for a size that may be any, `N` as the first one
    /// for the batch.
    inputs: Option<Vec<String>>,
    /// The source of the inputs.
    #[serde(rename = "inputs_source")]
    _inputs_source: Option<String>,
    /// The preprocessing of images, in the words of `--preprocess`.
    preprocess: Option<String>,
    /// The number of samples of the official dataset.
    total_samples: Option<usize>,
    /// The number of samples from which a performance run draws.
    performance_samples: Option<usize>,
    /// The source of these numbers.
    source: Option<String>,
    /// Files of the dataset that are published with their sums.
    #[serde(default)]
    published: Vec<Published>,
}

/// Kinds of datasets.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum KindName {
    /// The digits that are part of the program.
    Digits,
    /// Synthetic samples alone.
    Synthetic,
    /// A folder of JPEGs with `val_map.txt`, or COCO's folder.
    ImageFolder,
    /// Numbers of the nodes of a graph, as arrays.
    NodeIds,
    /// Prompts, as JSON lines.
    Prompts,
    /// Arrays of any shape.
    Tensors,
    /// Token ids: JSON lines, arrays, or SQuAD's folder.
    TokenIds,
}

/// A suite that has the benchmark in some rounds.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SuiteLine {
    /// The suite that has the benchmark.
    suite: Suite,
    /// The rounds in which it has the benchmark.
    rounds: Rounds,
    /// Scenarios that a submission must have.
    #[serde(default)]
    required: Vec<ScenarioName>,
    /// Scenarios that it may have.
    #[serde(default)]
    optional: Vec<ScenarioName>,
}

/// The rules by which answers are scored.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Accuracy {
    /// The metric. In percent: top1, top5, f1, exact_match, rouge1, rouge2, rougeL, rougeLsum, bleu, bleu_words, gsm8k,
    /// long_exact_match, mbxp, wer, auc, map, map50, map75, map_small, map_medium or map_large. From 0 to 1: dice.
    /// Counts: gen_len, the characters of all answers, and tokens_per_sample.
    metric: String,
    /// The parts of the dataset whose samples it scores; unless given, all samples.
    #[serde(default)]
    parts: Vec<Text>,
    /// The score that has to be reached, in the metric's unit. Either this or `at_most`, or both.
    target: Option<f64>,
    /// The score that must not be exceeded, in the metric's unit.
    at_most: Option<f64>,
    /// The number of classes of the model. An output of as many numbers has a score for each class. An output of fewer
    /// whole numbers has numbers of classes, the likeliest first. Needed where an output has several whole numbers. For
    /// dice the number includes the background; it is 3 unless given, as in KiTS19.
    classes: Option<usize>,
    /// The numbers by which boxes name their categories. Unless given, those of the file of annotations.
    #[serde(default)]
    categories: Categories,
    /// The source of the target.
    #[serde(default, rename = "source")]
    _source: String,
    /// Other metrics in which the same answers are scored.
    #[serde(default)]
    others: Vec<OtherAccuracy>,
}

/// Another metric in which the same answers are scored.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OtherAccuracy {
    /// The metric, as in `accuracy`.
    metric: String,
    /// The parts of the dataset whose samples it scores; unless given, all samples.
    #[serde(default)]
    parts: Vec<Text>,
    /// The score that has to be reached, in the metric's unit. Without this and `at_most` the score is only told.
    target: Option<f64>,
    /// The score that must not be exceeded, in the metric's unit.
    at_most: Option<f64>,
    /// The source of the target.
    #[serde(default, rename = "source")]
    _source: String,
}

/// A text that stays in memory as long as the program runs.
#[derive(Clone, Copy)]
struct Text(&'static str);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Text, D::Error> {
        Ok(Text(String::deserialize(deserializer)?.leak()))
    }
}

fn texts(texts: &[Text]) -> Vec<&'static str> {
    texts.iter().map(|text| text.0).collect()
}

/// Reads the text of a file. Returns its benchmark, followed by the variants. `name` is the file's name without
/// `.toml`, which must be the name of the benchmark.
pub(super) fn read(name: &str, text: &str) -> Result<Vec<Benchmark>, String> {
    let mut file: File = toml::from_str(text).map_err(|error| error.to_string())?;
    if file.name.0 != name {
        return Err(format!("name = '{}' in it and the file's own name have to be the same", file.name.0));
    }
    let variants = file.variants.iter();
    let mut names = variants.flat_map(|variant| std::iter::once(&variant.name).chain(&variant.aliases));
    if name.contains(is_hidden) || names.any(|name| name.0.contains(is_hidden)) {
        return Err("a name in it has a control character, or another that is not seen".to_owned());
    }
    let variants = std::mem::take(&mut file.variants);
    let plain = file.benchmark()?;
    let variant = |variant: Variant| {
        let Variant { name: Text(name), aliases, about: Text(about), settings, suites } = variant;
        let aliases = texts(&aliases);
        let settings = settings.map_or_else(|| plain.settings.clone(), |settings| texts(&settings));
        Ok(Benchmark { name, aliases, about, settings, suites: entries(suites)?, ..plain.clone() })
    };
    let variants: Result<Vec<Benchmark>, String> = variants.into_iter().map(variant).collect();
    Ok(std::iter::once(plain.clone()).chain(variants?).collect())
}

impl File {
    fn benchmark(mut self) -> Result<Benchmark, String> {
        Ok(Benchmark {
            published: std::mem::take(&mut self.dataset.published),
            name: self.name.0,
            aliases: texts(&self.aliases),
            about: self.about.0,
            settings: texts(&self.settings),
            accuracy: self.accuracy.as_ref().map(Accuracy::first).transpose()?,
            other_accuracy: self.accuracy.as_ref().map(Accuracy::others).transpose()?.unwrap_or_default(),
            quality: self.quality.into_iter().map(Quality::checked).collect::<Result<_, _>>()?,
            qsl: self.dataset.qsl()?,
            file: None,
            inputs: self.dataset.inputs.as_deref().map(Inputs::parse).transpose()?,
            preprocess: self.dataset.preprocess()?,
            dataset: self.dataset.kind()?,
            suites: entries(self.suites)?,
            generation: generation::checked(self.generation)?,
            network: rules(self.name.0, self.network)?,
            bandwidth: self.bandwidth.map(Formula::checked).transpose()?,
        })
    }
}

impl DatasetLine {
    fn kind(&self) -> Result<DatasetKind, String> {
        let form = match self.kind {
            KindName::Digits | KindName::Synthetic => None,
            KindName::ImageFolder => Some(Form::Images),
            KindName::Prompts => Some(Form::Prompts),
            KindName::TokenIds => Some(Form::Tokens),
            KindName::NodeIds | KindName::Tensors => Some(Form::Tensors),
        };
        match (self.kind, form, self.example) {
            (KindName::Digits, _, None) => Ok(DatasetKind::Digits),
            (KindName::Digits, _, Some(_)) => Err("digits need no example".to_owned()),
            (_, None, Some(Text(example))) => Ok(DatasetKind::Synthetic { example }),
            (_, Some(form), Some(Text(example))) => Ok(DatasetKind::Files { example, form }),
            (_, _, None) => Err("this kind of dataset needs an example of synthetic samples".to_owned()),
        }
    }

    fn qsl(&self) -> Result<QslSize, String> {
        let DatasetLine { total_samples, performance_samples, .. } = *self;
        match (total_samples.or(performance_samples), &self.source) {
            (Some(_), None) => Err("numbers of samples need a source".to_owned()),
            _ => Ok(QslSize { total_samples, performance_samples }),
        }
    }

    fn preprocess(&self) -> Result<Option<Preprocess>, String> {
        match &self.preprocess {
            Some(_) if self.kind != KindName::ImageFolder => Err("only images are preprocessed".to_owned()),
            Some(spec) => spec.parse().map(Some).map_err(|error: SpecError| format!("preprocess: {error}")),
            None => Ok(None),
        }
    }
}

impl Accuracy {
    fn first(&self) -> Result<Target, String> {
        match (self.target, self.at_most) {
            (None, None) => Err("accuracy needs a target, at_most or both".to_owned()),
            (at_least, at_most) => self.target(&self.metric, at_least, at_most, &self.parts),
        }
    }

    fn others(&self) -> Result<Vec<Target>, String> {
        let mut targets = Vec::with_capacity(self.others.len());
        for OtherAccuracy { metric, parts, target: at_least, at_most, .. } in &self.others {
            let other = self.target(metric, *at_least, *at_most, parts)?;
            let is_known = |target: &Target| target.metric == other.metric;
            if *metric == self.metric || targets.iter().any(is_known) {
                return Err(format!("accuracy has the metric {metric} twice"));
            }
            targets.push(other);
        }
        Ok(targets)
    }

    fn target(
        &self,
        name: &str,
        at_least: Option<f64>,
        at_most: Option<f64>,
        parts: &[Text],
    ) -> Result<Target, String> {
        let metric: Metric =
            name.parse().map_err(|_| format!("'{name}' is not a metric (known: {})", Metric::VARIANTS.join(", ")))?;
        let are_finite = [at_least, at_most].into_iter().flatten().all(f64::is_finite);
        // Any model would reach a fraction.
        if let Some(least) = at_least.filter(|least| metric.unit() == "%" && *least > 0.0 && *least < 1.0) {
            return Err(format!("the target of {name} is in percent: {}, not {least}", least * 100.0));
        }
        if let Some(least) = at_least.filter(|least| metric.unit() == "%" && *least > 100.0) {
            return Err(format!("the target of {name} is in percent, and {least} is above 100"));
        }
        let (classes, categories, parts) = (self.classes, self.categories, texts(parts).leak());
        match (at_least, at_most) {
            (Some(least), Some(most)) if least > most => Err(format!("no score is from {least} to {most}")),
            _ if !are_finite => Err("target and at_most are numbers that end".to_owned()),
            _ => Ok(Target { metric, at_least, at_most, classes, categories, parts }),
        }
    }
}

fn entries(lines: Vec<SuiteLine>) -> Result<Vec<Entry>, String> {
    for suite in [Suite::Datacenter, Suite::Edge] {
        let of_suite = lines.iter().filter(|line| line.suite == suite);
        let counts = count(of_suite.map(|line| &line.rounds), &SUITE_ROUNDS)?;
        if let Some((round, times)) = counts.iter().find(|(_, times)| **times > 1) {
            return Err(format!("round {round} is {times} times in suite {suite:?}"));
        }
    }
    if let Some(line) = lines.iter().find(|line| line.required.is_empty() && line.optional.is_empty()) {
        return Err(format!("no scenario for {:?} in suite {:?}", line.rounds.names(), line.suite));
    }
    let entry = |line: SuiteLine| Entry {
        suite: line.suite,
        rounds: line.rounds,
        scenarios: Scenarios { required: line.required, optional: line.optional },
    };
    Ok(lines.into_iter().map(entry).collect())
}

fn rules(benchmark: &'static str, compressions: Vec<Compression>) -> Result<Option<NetworkRules>, String> {
    if compressions.is_empty() {
        return Ok(None);
    }
    let counts = count(compressions.iter().map(|compression| &compression.rounds), &ROUNDS)?;
    if let Some((round, times)) = counts.iter().find(|(_, times)| **times != 1) {
        return Err(format!("{times} compression rules for round {round}"));
    }
    if compressions.iter().any(|compression| compression.ingress.is_empty() || compression.egress.is_empty()) {
        return Err("a compression rule that allows nothing".to_owned());
    }
    Ok(Some(NetworkRules { benchmark, compressions }))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns what is wrong with a file that ends with `lines`.
    fn fault(lines: &str) -> String {
        let dataset = "dataset = { kind = \"tensors\", example = \"synthetic:u8[1]x1\" }";
        let text = format!("name = \"some\"\nabout = \"it\"\n{dataset}\n{lines}");
        read("some", &text).map(|_| ()).unwrap_err()
    }

    #[test]
    fn unknown_keys_and_words_are_errors() {
        for (lines, part) in [
            ("colour = 1", "colour"),
            ("[accuracy]\nmetric = \"top7\"\ntarget = 1.0", "top7"),
            ("[accuracy]\nmetric = \"top1\"\ntarget = 0.5", "in percent: 50, not 0.5"),
            ("[accuracy]\nmetric = \"top1\"\ntarget = 1.0\nmore = 1", "more"),
            ("[accuracy]\nmetric = \"wer\"", "at_most"),
            ("[accuracy]\nmetric = \"wer\"\ntarget = 2\nat_most = 1.5", "from 2 to 1.5"),
            ("[accuracy]\nmetric = \"wer\"\nat_most = inf", "at_most"),
            ("[[suites]]\nsuite = \"cloud\"\nrounds = [\"v5.0\"]", "cloud"),
            ("[[suites]]\nsuite = \"edge\"\nrounds = [\"v5.0\"]\nrequired = [\"Burst\"]", "Burst"),
            ("[[suites]]\nsuite = \"edge\"\nrounds = [\"v5.0\"]", "no scenario"),
            ("[[suites]]\nsuite = \"edge\"\nrounds = [\"v7.0\"]\nrequired = [\"Offline\"]", "v7.0"),
        ] {
            let fault = fault(lines);
            assert!(fault.contains(part), "{lines}: {fault}");
        }
        let other = read("other", "name = \"some\"\nabout = \"it\"\ndataset = { kind = \"digits\" }");
        assert!(other.unwrap_err().contains("some"));
    }

    #[test]
    fn a_rule_for_every_round_and_only_one() {
        let rule = |rounds: &str| {
            format!(
                "[[network]]\nrounds = {rounds}\ningress = [\"none\"]\negress = [\"none\"]\n\
                 allows = \"\"\nsource = \"\"\n"
            )
        };
        assert!(fault(&rule("[\"v5.0\"]")).contains("0 compression rules for round v5.1"));
        assert!(fault(&(rule("\"all\"") + &rule("[\"v6.0\"]"))).contains("2 compression rules for round v6.0"));
        assert!(fault(&rule("[\"v4.1\"]")).contains("v4.1"));
        assert!(!fault(&rule("\"some\"")).is_empty());
        assert!(fault(&rule("\"all\"").replace("[\"none\"]", "[]")).contains("allows nothing"));
    }

    #[test]
    fn formulas_without_elements_are_errors() {
        let formula = |ingress: &str| fault(&format!("[bandwidth]\nsource = \"\"\ningress = {ingress}"));
        assert!(formula("[{ elements = [], dtype_bytes = 1 }]").contains("elements"));
        assert!(formula("[{ elements = [0], dtype_bytes = 1 }]").contains("elements"));
        assert!(formula("[{ elements = [1], dtype_bytes = 0 }]").contains("dtype_bytes"));
        assert!(formula("[{ elements = [4294967295, 4294967295], dtype_bytes = 8 }]").contains("elements"));
    }
}
