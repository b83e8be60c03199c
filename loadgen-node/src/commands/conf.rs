//! The command `conf`: what config files and flags come to, without a SUT.

use anyhow::{Context as _, anyhow};
use lon_qsl::Codec;
use lon_qsl::benchmark::{Benchmark, BenchmarkError};
use lon_qsl::dataset::Dataset;

use super::io::{input_text, path_text, print, print_in, print_json};
use super::run::accuracy_run;
use crate::cli::{ConfArgs, TestArgs};
use loadgen::conf::rules::Rules;
use loadgen::plan::predict::{self, SampleSize};
use loadgen::settings::{Mode, Qsl, Scenario, TestSettings, named};
use loadgen::vectors::config_cases;
use lon_run::division::{self, Data, Division, Facts, Findings};
use lon_run::exit::{Exit, OrExit as _, Outcome};
use lon_run::outputs::documents::conf::{ConfDocument, View};
use lon_run::outputs::screen::conf_text;
use lon_run::test_run::settings::{self, Beforehand, Subject};
use lon_run::test_run::{DataSpec, samples};

/// Counts and size of a benchmark's samples, as far as they are known.
struct Samples {
    counts: Qsl,
    size: SampleSize,
}

/// `conf`, and `conf --config-vector FILE.json`.
pub(crate) fn conf(args: &ConfArgs) -> Outcome {
    if let Some(path) = &args.config_vector {
        let cases = config_cases(&input_text(path)?).with_context(|| path_text(path)).or_exit(Exit::Usage)?;
        return print_json(&cases);
    }
    let (Some(name), Some(scenario)) = (&args.benchmark, args.scenario) else {
        return Err(anyhow!("--benchmark and --scenario are needed")).or_exit(Exit::Usage);
    };
    let mut view = view(&args.test, name, scenario)?;
    if args.division == Division::Network {
        view.findings = Some(findings(args, name, scenario, &view)?);
    }
    let document = ConfDocument::from(&view);
    let text = || print(conf_text::text(&document).trim_end());
    print_in(args.form.check(), &document, text, || conf_text::table(&document))?;
    match view.plan {
        Ok(_) => Ok(Exit::Ok),
        Err(error) => Err(error).context("these settings cannot be run").or_exit(Exit::Usage),
    }
}

/// Everything that is known of a test before it is run.
pub(super) fn view(test: &TestArgs, name: &str, scenario: Scenario) -> Outcome<View> {
    let rules = test.files.rules.unwrap_or_else(Rules::newest);
    let benchmark = Benchmark::named(name);
    if let Err(error @ BenchmarkError::File { .. }) = &benchmark {
        return Err(error.clone()).or_exit(Exit::Usage);
    }
    let models = rules.models();
    let name = if benchmark.is_ok() { name } else { of_round(name, &models)? };
    let (model, data) = benchmark.as_ref().map_or((name, &[][..]), |benchmark| (benchmark.name, &benchmark.settings));
    let layers =
        settings::layer(Subject { model, benchmark_settings: data, scenario }, &test.settings())?.with_due_times()?;
    let mut warnings = layers.sourced.warnings().to_vec();
    let is_official = |benchmark: &Benchmark| [rules, Rules::newest()].iter().any(|rules| rules.knows(benchmark.name));
    let dataset = match (&benchmark, test.dataset.as_deref()) {
        // Its settings can be looked at without its data.
        (Ok(benchmark), None) if is_official(benchmark) && !benchmark.has_dataset() => None,
        (Ok(benchmark), _) => Some(samples::open(benchmark, &test.data(), Codec::None)?),
        (Err(_), Some(_)) => Some(any_dataset(&test.data())?),
        (Err(_), None) => None,
    };
    let has_samples = dataset.is_some();
    let settings = layers.sourced.settings().clone();
    let samples = dataset.map_or_else(|| Ok(Samples::unknown(&settings)), |dataset| Samples::of(&dataset))?;
    let qsl = samples.counts;
    if !has_samples {
        warnings.push(format!(
            "{name} has no dataset here: a QSL of {} samples is assumed \
                 (performance_sample_count_override, or {} without), and \
                 predicted bytes leave the samples themselves out",
            qsl.total,
            samples::UNKNOWN_COUNT
        ));
    }
    if settings.test05 {
        warnings.push("test05 is on: the run is PerformanceOnly, with the seeds of test05".to_owned());
    }
    if settings.mode == Mode::FindPeakPerformance {
        warnings.push("the search consists of several runs, the predicted one is its first".to_owned());
    }
    let plan = layers.plan(qsl);
    match &plan {
        Ok(plan) => warnings.extend(settings::doubts(&layers, plan, false)),
        Err(error) => warnings.push(format!("these settings cannot be run: {error}")),
    }
    let is_auto = settings::to_find(&layers.sourced).is_some();
    let prediction = plan.as_ref().ok().filter(|_| !is_auto).map(|plan| predict::predict(plan, samples.size));
    let catalog_entry = benchmark.as_ref().ok();
    let inputs = catalog_entry.and_then(|benchmark| benchmark.inputs()).map(ToString::to_string);
    let takes_texts = catalog_entry.is_some_and(|benchmark| benchmark.takes_texts());
    Ok(View {
        benchmark: model.to_owned(),
        inputs,
        takes_texts,
        layers,
        qsl,
        has_samples,
        plan,
        prediction,
        warnings,
        findings: None,
    })
}

/// The name of a benchmark that is not built in, but has settings in the round: one of `models`.
fn of_round<'a>(name: &str, models: &'a [String]) -> Outcome<&'a str> {
    let mut names: Vec<&str> = models.iter().map(String::as_str).collect();
    // Those of our own are there for the suggestion alone: they would have been found.
    names.extend(Benchmark::all().iter().map(|benchmark| benchmark.name));
    names.sort_unstable();
    names.dedup();
    let index = named("benchmark", name, &names).map_err(|error| anyhow!("{error}; or a file, NAME.toml"));
    let full_name = names[index.or_exit(Exit::Usage)?];
    models
        .iter()
        .map(String::as_str)
        .find(|model| *model == full_name)
        .context("a benchmark of no round")
        .or_exit(Exit::Bug)
}

/// Returns the findings on the rules of the Network division that are visible before a run.
fn findings(args: &ConfArgs, name: &str, scenario: Scenario, view: &View) -> Outcome<Findings> {
    let benchmark = Benchmark::named(name).context("--division network").or_exit(Exit::Usage)?;
    let settings = view.layers.sourced.settings();
    let codecs = args.codecs.codecs();
    let data = match view.has_samples {
        false => None,
        true => {
            let dataset = samples::open(benchmark, &args.test.data(), codecs.samples)?;
            let data = Data::of(benchmark, &dataset, settings.performance_sample_count_override);
            // Nothing is read here.
            Some(Data { is_compared: false, ..data })
        }
    };
    let test = Beforehand {
        benchmark,
        scenario,
        codecs,
        preprocess: args.test.preprocess.as_ref(),
        no_counters: None,
        accuracy_run: args.accuracy_run.as_deref().map(accuracy_run).transpose()?,
    };
    let planned = view.layers.planned(test, data, view.plan.as_ref().ok());
    Ok(division::judge(&Facts { planned: &planned, nodes: None, run: None }))
}

impl Samples {
    /// Nothing but a count, as official settings give it.
    fn unknown(settings: &TestSettings) -> Samples {
        let counts = samples::unknown_counts(settings);
        Samples { counts, size: SampleSize { memory_bytes: 0, wire_bytes: samples::MESSAGE_FIELDS_BYTES } }
    }

    fn of(dataset: &Dataset) -> Outcome<Samples> {
        Ok(Samples { counts: samples::counts(dataset), size: samples::sample_size(dataset)? })
    }
}

/// The dataset that was given, for a benchmark that has none of its own.
fn any_dataset(spec: &DataSpec) -> Outcome<Dataset> {
    samples::open(Benchmark::find("synthetic").or_exit(Exit::Bug)?, spec, Codec::None)
}
