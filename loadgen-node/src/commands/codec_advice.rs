//! `--compression auto`: what each codec would buy on this dataset. Advice only; the choice stays with the user.

use std::fmt::Write as _;

use anyhow::Context as _;
use lon_qsl::Codec;
use lon_qsl::bandwidth::Direction;
use lon_qsl::benchmark::Benchmark;
use lon_qsl::codec_advice::{Figures, measure};

use super::io::{print, print_in};
use crate::cli::{AdviceSpec, Format};
use lon_run::exit::{Exit, OrExit as _, Outcome};
use lon_run::network::fabric::{gbit_s, rate};
use lon_run::outputs::documents::codec_advice::{AdvisedCodec, CodecAdvice};
use lon_run::test_run::samples;

/// Codecs that are tried, as a user would type them.
const CODECS: [&str; 6] = ["lz4", "zstd:1", "zstd:3", "zstd:9", "shuffle-zstd:1", "delta-zstd:1"];

/// Samples that the figures are taken from.
const SAMPLES: usize = 64;

/// Measures every codec on the dataset and prints below which bandwidth it wins. Nothing is run.
pub(crate) fn advise(spec: &AdviceSpec, form: Format) -> Outcome {
    let AdviceSpec { benchmark, data, rules } = spec;
    let dataset = samples::open(benchmark, data, Codec::None)?;
    let codecs: Vec<Codec> = CODECS.iter().filter_map(|text| text.parse().ok()).collect();
    let count = dataset.total_count().min(SAMPLES);
    tracing::info!(codecs = codecs.len(), samples = count, dataset = dataset.name(), "measuring codecs");
    let figures = measure(&dataset, &codecs, SAMPLES).context("--compression auto").or_exit(Exit::Usage)?;
    let round = rules.round.name;
    let advised = figures.iter().map(|figures| advised(benchmark, figures, round)).collect();
    let document = CodecAdvice::new(dataset.name(), count, round, advised);
    print_in(form, &document, || print(text(&document).trim_end()), || document.table())
}

fn advised(benchmark: &Benchmark, figures: &Figures, round: &str) -> AdvisedCodec {
    AdvisedCodec {
        codec: figures.codec.to_string(),
        ratio: figures.ratio,
        encode_bytes_per_s: figures.encode_bytes_per_s,
        inflate_bytes_per_s: figures.inflate_bytes_per_s,
        wins_below_gbit_s: figures.break_even_bits_per_s().map(gbit_s),
        network_division: allowed(benchmark, figures.codec, round).to_owned(),
    }
}

fn text(advice: &CodecAdvice) -> String {
    let mut text = format!("Codecs on {} samples of {}, one thread\n\n", advice.samples, advice.dataset);
    let _ = writeln!(
        text,
        "  {:<16}{:>7}{:>14}{:>14}{:>18}  network division",
        "--compression", "ratio", "encode", "inflate", "wins below"
    );
    for of in &advice.codecs {
        let [encode, inflate] =
            [of.encode_bytes_per_s, of.inflate_bytes_per_s].map(|speed| format!("{:.0} MB/s", speed / 1e6));
        let wins = of.wins_below_gbit_s.map_or("never".to_owned(), |gbit_s| rate(Some(gbit_s * 1e9)));
        let AdvisedCodec { codec, ratio, network_division, .. } = of;
        let _ = writeln!(text, "  {codec:<16}{ratio:>7.2}{encode:>14}{inflate:>14}{wins:>18}  {network_division}");
    }
    text.push_str(
        "
Wins below: with less bandwidth than this between the hosts, sending the encoded sample and inflating it on one
thread takes less time than sending it as it is. Where a SUT node has several decode threads to spare and throughput
is what counts, the bound is that many times higher. Encoding happens before any clock starts and costs memory only.
`loadgen-node probe` measures the bandwidth there is. Its Capacity counts samples a second with all decode threads of
the SUT, on generated data, so that it may prefer another codec. Nothing was run: choose one with --compression.
",
    );
    text
}

/// Returns the judgement of a codec by the rules of the Network division.
fn allowed(benchmark: &Benchmark, codec: Codec, round: &str) -> &'static str {
    match benchmark.network() {
        None => "not a benchmark of it",
        Some(rules) if rules.check(codec, Direction::Ingress, round).is_ok() => "allowed",
        Some(_) => "refused",
    }
}
