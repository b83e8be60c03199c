//! What a probed fabric carries: for each benchmark of MLPerf the samples per second that its bandwidth allows, as they
//! are and with each codec that the rules allow.
//!
//! By the formulas of Appendix B; what messages, heads of packets and answers that are not counted there take is not
//! subtracted. Ratios are of generated data like the benchmark's, so they say what to expect, not what is.

use std::fmt::Write as _;

use lon_qsl::Codec;
use lon_qsl::advice;
use lon_qsl::bandwidth::Direction;
use lon_qsl::benchmark::{Benchmark, Membership, Suite};

/// Data that is like a benchmark's, for benchmarks that may be compressed.
const LIKE: [(&str, &str); 3] = [
    ("resnet50", "synthetic:image-u8[224,224,3]x16"),
    ("retinanet", "synthetic:image-u8[800,800,3]x4"),
    ("bert", "synthetic:tokens-i64[384]x64"),
];

/// Codecs worth a column, as they are shown.
const CODECS: [&str; 4] = ["lz4", "zstd:1", "shuffle-zstd:1", "delta-zstd:1"];

/// One benchmark with one codec.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Row {
    pub(crate) benchmark: &'static str,
    pub(crate) codec: Codec,
    pub(crate) ratio: f64,
    pub(crate) samples_per_s: f64,
}

/// All rows of a fabric with this goodput towards the SUT and back; none where it is not known both ways.
pub(crate) fn table(up_bits_per_s: Option<f64>, down_bits_per_s: Option<f64>, round: &str) -> Vec<Row> {
    let (Some(up), Some(down)) = (up_bits_per_s, down_bits_per_s) else { return Vec::new() };
    let rows = |benchmark: &'static Benchmark| {
        let formula = benchmark.bandwidth()?;
        let row = move |(codec, ratio): (Codec, f64)| {
            let samples_per_s = formula.samples_per_s(up, down, ratio);
            samples_per_s.is_finite().then_some(Row { benchmark: benchmark.name, codec, ratio, samples_per_s })
        };
        Some(ratios(benchmark, round).into_iter().filter_map(row))
    };
    // Of the suites, the Datacenter one alone is run over a network.
    let is_there = |benchmark: &&Benchmark| benchmark.membership(Suite::Datacenter, round) != Membership::Absent;
    Benchmark::all().iter().filter(is_there).filter_map(rows).flatten().collect()
}

/// `none`, and what the rules allow beside it where there is data to try it on.
fn ratios(benchmark: &Benchmark, round: &str) -> Vec<(Codec, f64)> {
    let mut ratios = vec![(Codec::None, 1.0)];
    let like = LIKE.iter().find(|(name, _)| *name == benchmark.name);
    let (Some((_, like)), Some(rules)) = (like, benchmark.network()) else { return ratios };
    let allowed = |codec: &Codec| rules.check(*codec, Direction::Ingress, round).is_ok();
    let codecs: Vec<Codec> = CODECS.iter().filter_map(|text| text.parse().ok()).filter(allowed).collect();
    let measured = benchmark.open(Some(like)).map(|dataset| advice::ratios(&dataset, &codecs));
    match measured {
        Ok(Ok(measured)) => ratios.extend(codecs.into_iter().zip(measured).filter(|(_, ratio)| *ratio > 1.0)),
        Ok(Err(error)) | Err(error) => tracing::warn!(benchmark = benchmark.name, %error, "no ratios"),
    }
    ratios
}

/// A line for each benchmark, codecs beside each other. The codecs are those that the rules of `round` allow.
pub(crate) fn text(rows: &[Row], round: &str) -> String {
    let mut text = format!("\nWhat this fabric carries, in samples/s (Appendix B of the rules, round {round})\n");
    if rows.is_empty() {
        text.push_str("  not known: goodput was not measured both ways\n");
        return text;
    }
    let columns = |cells: [String; CODECS.len() + 1]| cells.map(|cell| format!("{cell:>15}")).concat();
    let heads = std::array::from_fn(|column| column.checked_sub(1).map_or("none", |codec| CODECS[codec]).to_owned());
    let _ = writeln!(text, "  {:<26}{}", "benchmark", columns(heads));
    for group in rows.chunk_by(|a, b| a.benchmark == b.benchmark) {
        let cell = |column: usize| {
            let name = column.checked_sub(1).map_or("none", |codec| CODECS[codec]);
            group
                .iter()
                .find(|row| row.codec.to_string() == name)
                .map(|row| number(row.samples_per_s))
                .unwrap_or_default()
        };
        let line = format!("  {:<26}{}", group[0].benchmark, columns(std::array::from_fn(cell)));
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text.push_str(
        "  With codecs: where the rules allow them and they gain something, on generated data like the benchmark's.\n",
    );
    text
}

/// Three digits, or all that stand before the point.
fn number(value: f64) -> String {
    let digits = if value >= 100.0 {
        0
    } else if value >= 10.0 {
        1
    } else {
        2
    };
    format!("{value:.digits$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_follow_the_formulas_and_codecs_the_rules() {
        let rows = table(Some(1_204_224_000.0), Some(1e9), "v5.0");
        let of = |name: &str| rows.iter().filter(|row| row.benchmark == name).collect::<Vec<_>>();
        let resnet50 = of("resnet50");
        assert_eq!((resnet50[0].codec, resnet50[0].samples_per_s), (Codec::None, 1000.0));
        assert!(resnet50.len() > 1, "lossless codecs are allowed");
        for row in &resnet50[1..] {
            assert!(row.ratio > 1.0 && (row.samples_per_s / row.ratio - 1000.0).abs() < 1e-6, "{row:?}");
        }
        assert_eq!(of("gptj").len(), 1, "no codec is allowed");
        assert!(of("rgat").is_empty(), "negligible");
        assert!(text(&rows, "v5.0").contains("round v5.0") && text(&rows, "v5.0").contains("resnet50"));
        let newer = table(Some(1_204_224_000.0), Some(1e9), "v5.1");
        assert!(newer.iter().all(|row| row.benchmark != "resnet50"), "it is in no Datacenter suite any more");
        assert_eq!(table(Some(1e9), None, "v6.1"), []);
    }

    #[test]
    fn numbers_have_three_digits() {
        assert_eq!([0.1234, 12.34, 123.4, 123_456.7].map(number), ["0.12", "12.3", "123", "123457"]);
    }
}
