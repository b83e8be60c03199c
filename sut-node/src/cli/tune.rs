//! `bench --tune`: tries numbers of workers and threads and sizes of batches, and shows the fastest of them with the
//! line that serves so.

use std::fmt;
use std::io::Write as _;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use lon_proto::node_name::NodeName;
use lon_shell::failure::OrExit as _;
use lon_sut::backend::{Backend, Backends};
use lon_sut::bench::measure;
use lon_sut::bench::samples::Samples;
use lon_sut::pipeline::post::Postprocess;

use super::args::BenchArgs;
use super::backend_args::BackendArgs;
use super::bench_samples::{bench_failure, bench_samples};
use super::exit::{Exit, Failure};
use super::opening::load;

/// Times that a free worker may wait for a batch to fill, beside not at all.
const DELAYS: [Duration; 2] = [Duration::from_millis(1), Duration::from_millis(5)];

/// Rates that are this near to the highest count as the same: of them the first is taken, which asks for the least.
const SAME: f64 = 0.97;

/// One setup of workers, threads and batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Setup {
    workers: NonZeroUsize,
    threads: NonZeroUsize,
    max_batch: NonZeroUsize,
    max_delay: Duration,
}

/// The rate and the latencies of a setup.
struct Trial {
    setup: Setup,
    samples_per_s: f64,
    p50: Duration,
    p99: Duration,
    failed: u64,
}

/// Tries one setup after the other, shows each as it is measured, and the best at the end.
pub(super) fn run(args: &BenchArgs, node: &NodeName, backends: &Backends) -> Result<(), Failure> {
    let cores = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let most = Setup {
        workers: NonZeroUsize::MIN,
        threads: cores,
        max_batch: args.compute.max_batch,
        max_delay: Duration::ZERO,
    };
    let (backend, config) = opened(args, most, node, backends)?;
    let samples = bench_samples(args, &config, backend.as_ref())?;
    let heeds_threads = backend.cores_per_inference() > 1;
    let runs_alone = backend.samples_of_a_run() == Some(NonZeroUsize::MIN) || backend.slots().is_some();
    drop(backend);
    let max_batch = if runs_alone { NonZeroUsize::MIN } else { args.compute.max_batch };
    let mut out = std::io::stdout();
    let say = |out: &mut std::io::Stdout, line: &str| writeln!(out, "{line}").or_exit(Exit::Bug);
    say(&mut out, &format!("Samples   {} ({} different ones)", samples.what, samples.count()))?;
    say(&mut out, HEAD)?;
    let mut trials = Vec::new();
    let mut tried = |setup: Setup, trials: &mut Vec<Trial>| {
        let trial = tried(args, setup, node, backends, &samples)?;
        say(&mut out, &trial.to_string())?;
        trials.push(trial);
        Ok::<(), Failure>(())
    };
    for setup in setups(cores, heeds_threads, max_batch) {
        tried(setup, &mut trials)?;
    }
    if let Some(best) = most_samples(&trials).map(|trial| trial.setup).filter(|setup| setup.max_batch.get() > 1) {
        for max_delay in DELAYS {
            tried(Setup { max_delay, ..best }, &mut trials)?;
        }
    }
    write!(std::io::stdout(), "{}", advice(&trials, &args.backend)).or_exit(Exit::Bug)
}

const HEAD: &str = "workers  threads  batch  delay   samples/s   p50 alone   p99 alone";

impl fmt::Display for Trial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Trial { setup: Setup { workers, threads, max_batch, max_delay }, samples_per_s, p50, p99, failed } = self;
        let [delay, p50, p99] = [format!("{max_delay:?}"), format!("{p50:.1?}"), format!("{p99:.1?}")];
        write!(f, "{workers:>7}  {threads:>7}  {max_batch:>5}  {delay:>5}")?;
        write!(f, "  {samples_per_s:>10.1}  {p50:>10}  {p99:>10}")?;
        if *failed > 0 { write!(f, "  {failed} failed") } else { Ok(()) }
    }
}

/// The backend of a setup, and the node that it would be in.
fn opened(
    args: &BenchArgs,
    setup: Setup,
    node: &NodeName,
    backends: &Backends,
) -> Result<(Arc<dyn Backend>, lon_sut::ServeConfig), Failure> {
    let (mut backend, mut compute) = (args.backend.clone(), args.compute.clone());
    backend.threads = setup.threads;
    (compute.workers, compute.max_batch, compute.max_delay) = (setup.workers, setup.max_batch, setup.max_delay);
    let config = compute.config(node.clone(), &backend.pipeline);
    Ok((load(&backend, Some(&compute), backends)?, config))
}

fn tried(
    args: &BenchArgs,
    setup: Setup,
    node: &NodeName,
    backends: &Backends,
    samples: &Samples,
) -> Result<Trial, Failure> {
    let (backend, config) = opened(args, setup, node, backends)?;
    let measured = measure::run(&config, backend.as_ref(), samples, args.phase()).map_err(bench_failure)?;
    let at = |quantile| Duration::from_nanos(measured.latency_ns.value_at_quantile(quantile));
    let saturation = &measured.saturation;
    Ok(Trial {
        setup,
        samples_per_s: saturation.samples as f64 / saturation.duration.as_secs_f64(),
        p50: at(0.5),
        p99: at(0.99),
        failed: saturation.failed + measured.failed_alone,
    })
}

/// All that is tried first, the least first: one core, then all cores in every split of workers and threads; batches in
/// powers of two.
fn setups(cores: NonZeroUsize, heeds_threads: bool, max_batch: NonZeroUsize) -> Vec<Setup> {
    let number = |n: usize| NonZeroUsize::new(n).unwrap_or(NonZeroUsize::MIN);
    let powers = |most: usize| (0..=most.ilog2()).map(|power| 1usize << power).chain([most]);
    let mut splits = vec![(1, 1)];
    for workers in powers(cores.get()) {
        let threads = if heeds_threads { cores.get() / workers } else { 1 };
        if !splits.contains(&(workers, threads)) {
            splits.push((workers, threads));
        }
    }
    let mut batches: Vec<usize> = powers(max_batch.get()).collect();
    batches.dedup();
    let of_split = |(workers, threads): (usize, usize)| {
        let setup = move |&batch: &usize| Setup {
            workers: number(workers),
            threads: number(threads),
            max_batch: number(batch),
            max_delay: Duration::ZERO,
        };
        batches.iter().map(setup).collect::<Vec<_>>()
    };
    splits.into_iter().flat_map(of_split).collect()
}

/// The first trial whose rate is as good as the highest. Trials with failed samples do not count.
fn most_samples(trials: &[Trial]) -> Option<&Trial> {
    let good = || trials.iter().filter(|trial| trial.failed == 0 && trial.samples_per_s > 0.0);
    let most = good().map(|trial| trial.samples_per_s).fold(0.0, f64::max);
    good().find(|trial| trial.samples_per_s >= SAME * most)
}

/// The first trial whose latency of samples alone is as good as the shortest.
fn shortest(trials: &[Trial]) -> Option<&Trial> {
    let good = || trials.iter().filter(|trial| trial.failed == 0 && !trial.p50.is_zero());
    let least = good().map(|trial| trial.p50).min()?;
    good().find(|trial| trial.p50.mul_f64(SAME) <= least)
}

/// The lines to copy.
fn advice(trials: &[Trial], args: &BackendArgs) -> String {
    let Some(rate) = most_samples(trials) else {
        return "\nNo setup answered every sample: see the failed ones above with bench alone.\n".to_owned();
    };
    // Where all were too slow for a sample alone.
    let latency = shortest(trials).unwrap_or(rate);
    let line = |Trial { setup: Setup { workers, threads, max_batch, max_delay }, .. }: &Trial| {
        let delay = if max_delay.is_zero() { String::new() } else { format!(" --max-delay {max_delay:?}") };
        format!(
            "sut-node serve --backend {}{} --workers {workers} --threads {threads} --max-batch {max_batch}{delay}",
            quoted(&args.backend),
            other_flags(args)
        )
    };
    format!(
        "\nMost samples per second (Offline, Server):\n  {}\n\
         Shortest latency of a sample alone (SingleStream):\n  {}\n",
        line(rate),
        line(latency)
    )
}

/// The flags of the model that were given, each with a blank before it.
fn other_flags(args: &BackendArgs) -> String {
    let pipeline = &args.pipeline;
    let list = |names: &[String]| (!names.is_empty()).then(|| names.join(","));
    let dims: Vec<String> = pipeline.dims.iter().map(ToString::to_string).collect();
    let postprocess = Some(pipeline.postprocess).filter(|postprocess| *postprocess != Postprocess::None);
    let given = [
        ("--ep", pipeline.ep.map(|ep| ep.to_string())),
        ("--inputs", list(&pipeline.inputs)),
        ("--outputs", list(&pipeline.outputs)),
        ("--batch-dim", pipeline.batch_dim.as_ref().map(ToString::to_string)),
        ("--dims", list(&dims)),
        ("--preprocess", pipeline.preprocess.as_ref().map(ToString::to_string)),
        ("--postprocess", postprocess.map(|postprocess| postprocess.to_string())),
    ];
    let mut flags: String =
        given.into_iter().filter_map(|(flag, value)| Some(format!(" {flag} {}", quoted(&value?)))).collect();
    if pipeline.allow_empty {
        flags += " --allow-empty";
    }
    flags
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=,".contains(c);
    if word.chars().all(is_plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(n: usize) -> NonZeroUsize {
        NonZeroUsize::new(n).unwrap()
    }

    #[test]
    fn all_cores_are_split_in_every_way_and_batches_double() {
        let tried = |cores, heeds_threads, batch| {
            let setups = setups(number(cores), heeds_threads, number(batch)).into_iter();
            setups.map(|it| (it.workers.get(), it.threads.get(), it.max_batch.get())).collect::<Vec<_>>()
        };
        assert_eq!(tried(2, true, 2), [(1, 1, 1), (1, 1, 2), (1, 2, 1), (1, 2, 2), (2, 1, 1), (2, 1, 2)]);
        assert_eq!(tried(1, true, 3), [(1, 1, 1), (1, 1, 2), (1, 1, 3)]);
        assert_eq!(tried(6, false, 1), [(1, 1, 1), (2, 1, 1), (4, 1, 1), (6, 1, 1)]);
        assert_eq!(tried(6, true, 1), [(1, 1, 1), (1, 6, 1), (2, 3, 1), (4, 1, 1), (6, 1, 1)]);
    }

    fn trial(workers: usize, max_batch: usize, samples_per_s: f64, p50_us: u64, failed: u64) -> Trial {
        let setup = Setup {
            workers: number(workers),
            threads: number(1),
            max_batch: number(max_batch),
            max_delay: Duration::ZERO,
        };
        let p50 = Duration::from_micros(p50_us);
        Trial { setup, samples_per_s, p50, p99: p50, failed }
    }

    #[test]
    fn the_best_is_the_first_of_those_that_are_as_good() {
        let trials =
            [trial(1, 1, 50.0, 99, 0), trial(1, 2, 98.0, 100, 0), trial(1, 4, 100.0, 98, 0), trial(2, 4, 500.0, 10, 3)];
        assert_eq!(most_samples(&trials).unwrap().setup.max_batch, number(2));
        assert_eq!(shortest(&trials).unwrap().setup.max_batch, number(1));
        assert!(most_samples(&trials[3..]).is_none());
    }

    #[test]
    fn words_are_quoted_for_a_shell_where_they_have_to_be() {
        assert_eq!(quoted("onnx:/m/a-b_1.onnx"), "onnx:/m/a-b_1.onnx");
        assert_eq!(quoted("onnx:my model's.onnx"), r"'onnx:my model'\''s.onnx'");
    }
}
