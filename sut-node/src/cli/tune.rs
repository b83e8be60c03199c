//! `bench --tune`: tries numbers of workers and threads and sizes of batches, and shows the fastest of them with the
//! line that serves so.

use std::fmt;
use std::io::Write as _;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use lon_proto::node_name::NodeName;
use lon_shell::failure::OrExit as _;
use lon_sut::ModelConfig;
use lon_sut::backend::{Backend, Backends};
use lon_sut::bench::measure;
use lon_sut::bench::samples::Samples;

use super::args::BenchArgs;
use super::bench_samples::{bench_failure, bench_samples};
use super::exit::{Exit, Failure};
use super::for_model::ForModel;
use super::host_load::{self, HostLoad};
use super::line::{Setup, library, line};
use super::open_backend::load_quietly;

/// Times that a free worker may wait for a batch to fill, beside not at all.
const DELAYS: [Duration; 2] = [Duration::from_millis(1), Duration::from_millis(5)];

/// Rates that are this near to the highest count as the same: of them the first is taken, which asks for the least.
const SAME: f64 = 0.97;

/// The rate and the latencies of a setup.
struct Trial {
    setup: Setup,
    samples_per_s: f64,
    p50: Duration,
    p99: Duration,
    failed: u64,
    /// Cores that other programs had on average.
    others: f64,
}

/// Tries one setup after the other, shows each as it is measured, and the best at the end.
pub(super) fn run(args: &BenchArgs, node: &NodeName, backends: &Backends) -> Result<(), Failure> {
    // Each row opens the model anew, with the same warnings.
    let _once = lon_shell::log::once();
    let cores = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let largest_batch = args.config(node.clone())?.model.max_batch;
    let most =
        Setup { workers: NonZeroUsize::MIN, threads: cores, max_batch: largest_batch, max_delay: Duration::ZERO };
    let (backend, config) = opened(args, most, node, backends)?;
    let samples = bench_samples(args, &config, backend.as_ref())?;
    let heeds_threads = backend.cores_per_inference() > 1;
    let runs_alone = backend.samples_of_a_run() == Some(NonZeroUsize::MIN) || backend.slots().is_some();
    drop(backend);
    let max_batch = if runs_alone { NonZeroUsize::MIN } else { largest_batch };
    let mut out = std::io::stdout();
    let say = |out: &mut std::io::Stdout, line: &str| writeln!(out, "{line}").or_exit(Exit::Bug);
    say(&mut out, &format!("Samples   {} ({} different ones)", samples.what, samples.count()))?;
    let setups = setups(cores, heeds_threads, max_batch);
    let delays = if max_batch.get() > 1 { DELAYS.len() } else { 0 };
    say(&mut out, &plan(setups.len() + delays, args.phase()))?;
    say(&mut out, HEAD)?;
    let mut trials = Vec::new();
    let mut tried = |setup: Setup, trials: &mut Vec<Trial>| {
        let trial = tried(args, setup, node, backends, &samples)?;
        say(&mut out, &trial.to_string())?;
        trials.push(trial);
        Ok::<(), Failure>(())
    };
    for setup in setups {
        tried(setup, &mut trials)?;
    }
    if let Some(best) = most_samples(&trials).map(|trial| trial.setup).filter(|setup| setup.max_batch.get() > 1) {
        for max_delay in DELAYS {
            tried(Setup { max_delay, ..best }, &mut trials)?;
        }
    }
    write!(std::io::stdout(), "{}", advice(&trials, args, backends, largest_batch)).or_exit(Exit::Bug)
}

/// The number of rows that follow at most, and the time that they take.
fn plan(rows: usize, phase: Duration) -> String {
    let all = phase.saturating_mul(2).saturating_mul(u32::try_from(rows).unwrap_or(u32::MAX));
    format!(
        "Plan      {rows} rows at most, two phases of {phase:.1?} each (--seconds): about {all:.0?}, and the time to \
         open the model for each row"
    )
}

const HEAD: &str = "workers  threads  batch  delay   samples/s  one at a time: p50         p99";

impl fmt::Display for Trial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Trial { setup: Setup { workers, threads, max_batch, max_delay }, samples_per_s, p50, p99, failed, .. } =
            self;
        let [delay, p50, p99] = [format!("{max_delay:?}"), format!("{p50:.1?}"), format!("{p99:.1?}")];
        write!(f, "{workers:>7}  {threads:>7}  {max_batch:>5}  {delay:>5}")?;
        write!(f, "  {samples_per_s:>10.1}  {p50:>18}  {p99:>10}")?;
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
    let (mut backend, mut config) = (args.backend.clone(), args.config(node.clone())?);
    backend.threads = vec![ForModel::every(setup.threads)];
    let Setup { workers, max_batch, max_delay, .. } = setup;
    config.model = ModelConfig { workers, max_batch, max_delay, ..config.model };
    Ok((load_quietly(&backend, backend.only()?, Some(&config.model), backends)?, config))
}

fn tried(
    args: &BenchArgs,
    setup: Setup,
    node: &NodeName,
    backends: &Backends,
    samples: &Samples,
) -> Result<Trial, Failure> {
    let (backend, config) = opened(args, setup, node, backends)?;
    let before = HostLoad::now();
    let measured = measure::run(&config, backend.as_ref(), samples, args.phase()).map_err(bench_failure)?;
    let others = HostLoad::others_since(before);
    let at = |quantile| Duration::from_nanos(measured.latency_ns.value_at_quantile(quantile));
    let saturation = &measured.saturation;
    Ok(Trial {
        setup,
        samples_per_s: saturation.samples as f64 / saturation.duration.as_secs_f64(),
        p50: at(0.5),
        p99: at(0.99),
        failed: saturation.failed + measured.failed_alone,
        others,
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

impl Trial {
    /// All samples were answered.
    fn is_good(&self) -> bool {
        self.failed == 0 && self.samples_per_s > 0.0
    }
}

/// The gain of a delay of batches over the rate of `best`, in words, where it is more than chance.
fn delay(trials: &[Trial], best: &Trial) -> String {
    let delayed = trials.iter().filter(|trial| !trial.setup.max_delay.is_zero() && trial.is_good());
    let most = delayed.max_by(|a, b| a.samples_per_s.total_cmp(&b.samples_per_s));
    let better = most.filter(|trial| trial.samples_per_s * SAME > best.samples_per_s);
    better.map_or_else(String::new, |trial| {
        let (delay, rate) = (trial.setup.max_delay, trial.samples_per_s);
        format!(
            "With --max-delay {delay:?} the rate is {rate:.1} samples/s; each latency is then up to {delay:?} longer.\n"
        )
    })
}

/// The first trial without a delay whose rate is as good as the highest. Trials with failed samples do not count.
fn most_samples(trials: &[Trial]) -> Option<&Trial> {
    let good = || trials.iter().filter(|trial| trial.setup.max_delay.is_zero() && trial.is_good());
    let most = good().map(|trial| trial.samples_per_s).fold(0.0, f64::max);
    good().find(|trial| trial.samples_per_s >= SAME * most)
}

/// The first trial whose latency of samples alone is as good as the shortest.
fn shortest(trials: &[Trial]) -> Option<&Trial> {
    let good = || trials.iter().filter(|trial| trial.failed == 0 && !trial.p50.is_zero());
    let least = good().map(|trial| trial.p50).min()?;
    good().find(|trial| trial.p50.mul_f64(SAME) <= least)
}

/// The reason why rows may differ by more than their setups.
fn note(others: f64) -> String {
    format!(
        "Note: other programs had up to {others:.1} cores of this host during a row, and the table depends on them. \
         Tune again on a quiet host.\n"
    )
}

/// Limits of the table that the setup with the highest rate stands at.
fn edges(best: &Setup, largest_batch: NonZeroUsize, cores: usize) -> String {
    let mut lines = String::new();
    if best.max_batch == largest_batch && largest_batch.get() > 1 {
        lines += "The best batch is the largest that was tried: a larger --max-batch may be faster.\n";
    }
    if best.workers.get() * best.threads.get() >= cores {
        lines += "The table has no network, and its best row takes every core. Where a LoadGen node or a second SUT \
                  node runs on this host as well, divide the cores between them.\n";
    }
    lines
}

/// The lines to copy, and the rule by which they were chosen.
fn advice(trials: &[Trial], args: &BenchArgs, backends: &Backends, largest_batch: NonZeroUsize) -> String {
    let Some(rate) = most_samples(trials) else {
        return "\nNo setup answered every sample: bench without --tune names the reason.\n".to_owned();
    };
    // Where all were too slow for a sample alone.
    let latency = shortest(trials).unwrap_or(rate);
    let others = trials.iter().map(|trial| trial.others).fold(0.0, f64::max);
    let note = if host_load::is_busy(others) { note(others) } else { String::new() };
    let library = library(&args.backend, backends);
    let edges = edges(&rate.setup, largest_batch, host_load::cores());
    format!(
        "\nMost samples per second (Offline, Server), {:.1} samples/s:\n  {library}{}\n\
         Shortest latency of a sample alone (SingleStream), p50 {:.1?}:\n  {library}{}\n\
         Rows within {:.0} % of the best count as equal: each line has the one with the fewest workers, threads and \
         batches.\n\
         The lines serve clients of this host. For other hosts: --listen 0.0.0.0:8000 with --tls-cert and --tls-key, \
         or with --insecure.\n{}{edges}{note}",
        rate.samples_per_s,
        line(&rate.setup, args),
        latency.p50,
        line(&latency.setup, args),
        100.0 * (1.0 - SAME),
        delay(trials, rate),
    )
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
        Trial { setup, samples_per_s, p50, p99: p50, failed, others: 0.0 }
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
    fn the_limits_of_the_table_are_named() {
        let setup = |workers| Setup {
            workers: number(workers),
            threads: number(1),
            max_batch: number(8),
            max_delay: Duration::ZERO,
        };
        assert!(edges(&setup(2), number(8), 2).contains("a larger --max-batch may be faster"));
        assert!(edges(&setup(2), number(16), 2).starts_with("The table has no network"));
        assert_eq!(edges(&setup(1), number(16), 2), "");
    }

    #[test]
    fn the_plan_has_the_rows_and_their_time() {
        let plan = plan(16, Duration::from_secs(2));
        assert!(plan.contains("16 rows at most, two phases of 2.0s each (--seconds): about 64s,"), "{plan}");
    }
}
