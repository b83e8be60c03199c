//! Load that a probed fabric carries: for each benchmark the samples per second that its bandwidth allows. Samples
//! count as they are, and with each codec that the rules allow.
//!
//! By the formulas of Appendix B; what messages, packet headers and answers that are not counted there take is not
//! subtracted. Benchmarks without a formula, such as a user's own, are counted by their inputs. Ratios and speeds of
//! codecs are measured here, on generated data like the benchmark's: the SUT's own may differ.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use loadgen::conf::rules::RULES;
use lon_proto::figures::digits;
use lon_proto::sample::DType;
use lon_qsl::Codec;
use lon_qsl::bandwidth::{Direction, Formula};
use lon_qsl::benchmark::{Benchmark, Membership, Suite};
use lon_qsl::codec_advice::{self, Figures};

/// Data that is like a benchmark's, for benchmarks that may be compressed. Others are like their file's example.
const LIKE: [(&str, &str); 3] = [
    ("resnet50", "synthetic:image-u8[224,224,3]x16"),
    ("retinanet", "synthetic:image-u8[800,800,3]x4"),
    ("bert", "synthetic:tokens-i64[384]x64"),
];

/// Codecs worth a column, unless others are named.
pub const USUAL_CODECS: [&str; 4] = ["lz4", "zstd:1", "shuffle-zstd:1", "delta-zstd:1"];

/// The mark behind a rate that decompression bounds.
const DECODING: &str = "*";

/// Samples of a file's example that ratios are taken from.
const SAMPLES: usize = 16;

/// Benchmarks, codecs and types that the user asks about for a fabric.
#[derive(Clone, Debug)]
pub struct Selection {
    /// The round of MLPerf whose suite and rules are taken.
    pub round: &'static str,
    /// The suite of the benchmarks.
    pub suite: Suite,
    /// Benchmarks beside those of the suite, a user's own.
    pub more: Vec<&'static Benchmark>,
    /// The codecs that are tried.
    pub codecs: Vec<Codec>,
    /// Types that samples are sent as, beside that of the formula.
    pub dtypes: Vec<DType>,
}

/// One benchmark with one codec.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    pub(crate) benchmark: &'static str,
    /// The type that samples are sent as; none: as the formula has it.
    pub(crate) dtype: Option<DType>,
    pub(crate) codec: Codec,
    pub(crate) ratio: f64,
    pub(crate) samples_per_s: f64,
    /// Decompression at the SUT bounds the rate, and not the link.
    pub(crate) is_decoding: bool,
    /// The last round whose suite has the benchmark; none: that of the selected round has it.
    pub(crate) last_round: Option<&'static str>,
}

/// All rows of a fabric with this goodput towards the SUT and back; none where it is not known both ways. With a codec,
/// a row is also bounded by what the SUT's decode threads decompress; without known ones (0) it has no such rows.
pub fn table(
    up_bits_per_s: Option<f64>,
    down_bits_per_s: Option<f64>,
    decoders: u32,
    selection: &Selection,
) -> Vec<Row> {
    let (Some(up), Some(down)) = (up_bits_per_s, down_bits_per_s) else { return Vec::new() };
    let of_suite = Benchmark::all().iter().filter(|benchmark| is_in(benchmark, selection.suite, selection.round));
    let benchmarks = selection.more.iter().copied().chain(of_suite).map(|benchmark| (benchmark, None));
    let former =
        Benchmark::all().iter().filter_map(|benchmark| Some((benchmark, Some(last_round(benchmark, selection)?))));
    let rows = |(benchmark, last_round): (&'static Benchmark, Option<&'static str>)| {
        let typed = move |(dtype, formula): (Option<DType>, Formula)| {
            let row = move |Figures { codec, ratio, inflate_bytes_per_s, .. }: Figures| {
                let sample_bytes = formula.sample_bytes(Direction::Ingress) as f64;
                let decompressed = f64::from(decoders) * inflate_bytes_per_s / sample_bytes;
                let carried = formula.samples_per_s(up, down, ratio);
                let samples_per_s = if codec.is_none() { carried } else { carried.min(decompressed) };
                let is_decoding = samples_per_s < carried;
                let benchmark = benchmark.name;
                let row = Row { benchmark, dtype, codec, ratio, samples_per_s, is_decoding, last_round };
                samples_per_s.is_finite().then_some(row)
            };
            codec_choices(benchmark, dtype, decoders, selection).into_iter().filter_map(row)
        };
        formulas(benchmark, selection).into_iter().flat_map(typed)
    };
    benchmarks.chain(former).flat_map(rows).collect()
}

fn is_in(benchmark: &Benchmark, suite: Suite, round: &str) -> bool {
    benchmark.membership(suite, round) != Membership::Absent
}

/// The last round before the selected one whose suite had the benchmark; none where that of the selected one has it, or
/// none had. People go on to measure such benchmarks.
fn last_round(benchmark: &Benchmark, selection: &Selection) -> Option<&'static str> {
    let Selection { suite, round, .. } = *selection;
    let rounds = RULES.iter().map(|rules| rules.round.name).take_while(|name| *name != round);
    rounds.filter(|name| is_in(benchmark, suite, name)).last().filter(|_| !is_in(benchmark, suite, round))
}

/// The formula as it stands, then that of each selected type that the benchmark's model takes.
fn formulas(benchmark: &'static Benchmark, selection: &Selection) -> Vec<(Option<DType>, Formula)> {
    let formula = if selection.more.iter().any(|own| own.name == benchmark.name) {
        benchmark.bandwidth_or_inputs()
    } else {
        benchmark.bandwidth().cloned()
    };
    let Some(formula) = formula else { return Vec::new() };
    let taken = benchmark.sent_dtypes();
    let typed = |dtype: &DType| {
        let typed = formula.with_dtypes(&benchmark.sent_as(*dtype), &[], benchmark.takes_texts());
        taken.contains(dtype).then_some((Some(*dtype), typed))
    };
    let typed: Vec<_> = selection.dtypes.iter().filter_map(typed).collect();
    [(None, formula)].into_iter().chain(typed).collect()
}

/// `none`, and what the rules allow beside it where there is data of this type to try it on, and processors for it.
fn codec_choices(benchmark: &Benchmark, dtype: Option<DType>, decoders: u32, selection: &Selection) -> Vec<Figures> {
    let infinite = f64::INFINITY;
    let none = Figures { codec: Codec::None, ratio: 1.0, encode_bytes_per_s: infinite, inflate_bytes_per_s: infinite };
    let mut choices = vec![none];
    if dtype.is_none() && decoders > 0 {
        let gained = figures(benchmark, &selection.codecs, selection.round).into_iter();
        choices.extend(gained.filter(|figures| figures.ratio > 1.0));
    }
    choices
}

/// Returns true when the rules of the round let a benchmark have a codec. A user's own benchmark has no such rules.
fn may_have(benchmark: &Benchmark, codec: Codec, round: &str) -> bool {
    match benchmark.network() {
        Some(rules) => rules.check(codec, Direction::Ingress, round).is_ok(),
        None => benchmark.file.is_some(),
    }
}

/// Data like the benchmark's, as `--dataset` names it.
fn like(benchmark: &Benchmark) -> Option<&str> {
    let like = LIKE.iter().find(|(name, _)| *name == benchmark.name).map(|(_, like)| *like);
    like.or(benchmark.example().filter(|_| benchmark.file.is_some()))
}

/// Measures each of these codecs on data like the benchmark's, where the rules of the round allow the codec. A user's
/// own benchmark without rules takes every codec, a benchmark of MLPerf outside the Network division none.
pub fn figures(benchmark: &Benchmark, codecs: &[Codec], round: &str) -> Vec<Figures> {
    let allowed = |codec: &Codec| !codec.is_none() && may_have(benchmark, *codec, round);
    let codecs: Vec<Codec> = codecs.iter().copied().filter(allowed).collect();
    let (Some(like), false) = (like(benchmark), codecs.is_empty()) else { return Vec::new() };
    let measured = benchmark.open(Some(like)).map(|dataset| codec_advice::measure(&dataset, &codecs, SAMPLES));
    match measured {
        Ok(Ok(measured)) => measured,
        Ok(Err(error)) | Err(error) => {
            tracing::warn!(benchmark = benchmark.name, %error, "no ratios");
            Vec::new()
        }
    }
}

/// Two measurements of the same codecs as one: the faster of each, since another program on the host makes one slower.
pub fn faster(first: Vec<Vec<Figures>>, second: Vec<Vec<Figures>>) -> Vec<Vec<Figures>> {
    let of_codec = |(one, other): (Figures, Figures)| Figures {
        encode_bytes_per_s: one.encode_bytes_per_s.max(other.encode_bytes_per_s),
        inflate_bytes_per_s: one.inflate_bytes_per_s.max(other.inflate_bytes_per_s),
        ..one
    };
    first.into_iter().zip(second).map(|(one, other)| one.into_iter().zip(other).map(of_codec).collect()).collect()
}

/// The benchmarks that the user has named and that have no row, and the reason. Empty where goodput is not known.
pub fn left_out(selection: &Selection, rows: &[Row]) -> Vec<String> {
    let has_row = |own: &&Benchmark| rows.iter().any(|row| row.benchmark == own.name);
    let missing = selection.more.iter().copied().filter(|own| !rows.is_empty() && !has_row(own));
    let reason = |own: &Benchmark| match own.bandwidth_or_inputs() {
        Some(_) => "its bandwidth is negligible",
        None => "the bytes of its samples are not fixed",
    };
    missing.map(|own| format!("{}: left out, {}", own.name, reason(own))).collect()
}

/// Why a benchmark has no rate with a codec.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Gap {
    Forbidden,
    NoData,
    NoGain,
    OtherType,
}

impl Gap {
    /// The reason for the cell of a row.
    fn of(row: &Row, codec: Codec, selection: &Selection) -> Gap {
        let own = selection.more.iter().copied().find(|own| own.name == row.benchmark);
        match own.or(Benchmark::find(row.benchmark).ok()) {
            _ if row.dtype.is_some() => Gap::OtherType,
            Some(benchmark) if !may_have(benchmark, codec, selection.round) => Gap::Forbidden,
            Some(benchmark) if like(benchmark).is_some() => Gap::NoGain,
            _ => Gap::NoData,
        }
    }

    /// The mark in the cell.
    fn mark(self) -> &'static str {
        match self {
            Gap::Forbidden => "a",
            Gap::NoData => "b",
            Gap::NoGain => "c",
            Gap::OtherType => "d",
        }
    }

    /// The footnote of the mark.
    fn footnote(self) -> &'static str {
        match self {
            Gap::Forbidden => "the rules do not allow this codec for the benchmark",
            Gap::NoData => "there is no data like the benchmark's to try codecs on",
            Gap::NoGain => "the codec makes data like the benchmark's no smaller",
            Gap::OtherType => "codecs are tried on the type of the rules' formula alone",
        }
    }
}

/// A line for each benchmark, codecs beside each other. The codecs are those that the rules allow. `of` names the
/// fabric, with processors of its SUT.
pub fn text(rows: &[Row], of: &str, decoders: u32, selection: &Selection) -> String {
    let round = selection.round;
    let suite = match selection.suite {
        Suite::Datacenter => "datacenter",
        Suite::Edge => "edge",
    };
    let mut text =
        format!("\nCapacity of {of}, in samples/s (Appendix B of the rules, round {round}, suite {suite})\n");
    if rows.is_empty() {
        text.push_str("  not known: goodput was not measured both ways\n");
        return text;
    }
    let columns: Vec<Codec> = [Codec::None].iter().chain(&selection.codecs).copied().collect();
    let head = |codec: &Codec| if codec.is_none() { "no codec".to_owned() } else { codec.to_string() };
    let heads: String = columns.iter().map(|codec| format!("{:>15}", head(codec))).collect();
    let name = |row: &Row| {
        let typed = row.dtype.map_or(row.benchmark.to_owned(), |dtype| format!("{} {dtype}", row.benchmark));
        row.last_round.map_or(typed.clone(), |last| format!("{typed} ({last})"))
    };
    let width = rows.iter().map(|row| name(row).chars().count()).fold(26, usize::max);
    let _ = writeln!(text, "  {:<width$}{heads}", "benchmark");
    let mut gaps = BTreeSet::new();
    for group in rows.chunk_by(|a, b| (a.benchmark, a.dtype) == (b.benchmark, b.dtype)) {
        let mut cell = |codec: &Codec| {
            let row = group.iter().find(|row| row.codec == *codec);
            let gap = row.is_none().then(|| Gap::of(&group[0], *codec, selection)).filter(|_| decoders > 0);
            gaps.extend(gap);
            let rate_text = |row: &Row| match row.is_decoding {
                true => format!("{} {DECODING}", number(row.samples_per_s)),
                false => number(row.samples_per_s),
            };
            let text = row.map(rate_text).or(gap.map(|gap| gap.mark().to_owned()));
            format!("{:>15}", text.unwrap_or_default())
        };
        let cells: String = columns.iter().map(&mut cell).collect();
        let line = format!("  {:<width$}{cells}", name(&group[0]));
        let _ = writeln!(text, "{}", line.trim_end());
    }
    if rows.iter().any(|row| row.last_round.is_some()) {
        let _ = writeln!(text, "  In brackets: the last round that has the benchmark; {round} does not have it.");
    }
    left_out(selection, rows).iter().for_each(|line| {
        let _ = writeln!(text, "  {line}");
    });
    if !selection.codecs.is_empty() {
        text.push_str(&match decoders {
            0 => "  The columns of codecs are blank: the SUT does not report its cores.\n".to_owned(),
            threads => format!(
                "  The column of a codec is the lower of two rates: what the link carries, and what decode threads of \
                 the SUT decompress ({threads} at one time).\n  \
                 Decompression is measured on the LoadGen host, for a moment and on generated data: a busy or slower \
                 host gives lower rates.\n  \
                 `run --compression auto` compares the time of one sample on one thread, and may prefer another \
                 codec.\n"
            ),
        });
    }
    if rows.iter().any(|row| row.is_decoding) {
        let _ = writeln!(text, "  {DECODING}: decompression at the SUT is the bound, and not the link");
    }
    for gap in gaps {
        let _ = writeln!(text, "  {}: {}", gap.mark(), gap.footnote());
    }
    text
}

/// Three digits, or all that stand before the point.
pub(crate) fn number(value: f64) -> String {
    format!("{value:.*}", digits(value))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// The Datacenter suite of a round, and the usual codecs.
    pub(crate) fn selection(round: &'static str) -> Selection {
        let codecs = USUAL_CODECS.iter().map(|codec| codec.parse().unwrap()).collect();
        Selection { round, suite: Suite::Datacenter, more: Vec::new(), codecs, dtypes: Vec::new() }
    }

    #[test]
    fn rates_follow_the_formulas_and_codecs_the_rules() {
        let v5 = selection("v5.0");
        let rows = table(Some(1_204_224_000.0), Some(1e9), 1_000, &v5);
        let of = |name: &str| rows.iter().filter(|row| row.benchmark == name).collect::<Vec<_>>();
        let resnet50 = of("resnet50");
        assert_eq!((resnet50[0].codec, resnet50[0].samples_per_s), (Codec::None, 1000.0));
        assert!(resnet50.len() > 1, "lossless codecs are allowed");
        for row in &resnet50[1..] {
            assert!(row.ratio > 1.0 && (row.samples_per_s / row.ratio - 1000.0).abs() < 1e-6, "{row:?}");
        }
        assert_eq!(of("gptj").len(), 1, "no codec is allowed");
        assert!(of("rgat").is_empty(), "negligible");
        assert!(table_text(&rows, &v5).contains("round v5.0") && table_text(&rows, &v5).contains("resnet50"));
        assert!(rows.iter().all(|row| row.last_round.is_none()), "no round was before");
        let v6 = selection("v6.1");
        let newer = table(Some(1_204_224_000.0), Some(1e9), 1_000, &v6);
        let resnet50 = newer.iter().find(|row| row.benchmark == "resnet50").unwrap();
        assert_eq!((resnet50.samples_per_s, resnet50.last_round), (1000.0, Some("v5.0")));
        assert!(newer[0].last_round.is_none() && table_text(&newer, &v6).contains("  resnet50 (v5.0) "));
        let dlrm = newer.iter().find(|row| row.benchmark == "dlrm-v2").unwrap();
        assert_eq!(dlrm.last_round, Some("v5.1"));
        assert_eq!(table(Some(1e9), None, 1, &selection("v6.1")), []);
    }

    fn table_text(rows: &[Row], selection: &Selection) -> String {
        text(rows, "this fabric over tcp", 2, selection)
    }

    #[test]
    fn a_codec_carries_no_more_than_the_sut_decompresses() {
        let v5 = selection("v5.0");
        // A link that is never full, and one processor at the SUT.
        let rows = table(Some(1e15), Some(1e15), 1, &v5);
        let resnet50: Vec<&Row> = rows.iter().filter(|row| row.benchmark == "resnet50").collect();
        assert!(resnet50.len() > 1 && resnet50[1..].iter().all(|row| row.samples_per_s < 1e6), "{resnet50:?}");
        assert!(!resnet50[0].is_decoding && resnet50[1..].iter().all(|row| row.is_decoding), "{resnet50:?}");
        assert!(
            table_text(&rows, &v5).contains(" *\n") || table_text(&rows, &v5).contains(" * "),
            "{}",
            table_text(&rows, &v5)
        );
        assert!(table_text(&rows, &v5).contains("  *: decompression at the SUT is the bound"));
        // Each cell without a rate has the mark of its reason.
        let may_have = |row: &Row| may_have(Benchmark::find(row.benchmark).unwrap(), v5.codecs[0], "v5.0");
        let forbidden = rows.iter().find(|row| !may_have(row));
        assert_eq!(Gap::of(forbidden.unwrap(), v5.codecs[0], &v5), Gap::Forbidden);
        assert_eq!(Gap::of(resnet50[0], v5.codecs[0], &v5), Gap::NoGain);
        let all = text(&rows, "this fabric", 1, &v5);
        assert!(all.contains("  a: the rules do not allow this codec for the benchmark\n"), "{all}");
        let unknown = table(Some(1e9), Some(1e9), 0, &v5);
        assert!(unknown.iter().all(|row| row.codec.is_none()), "no processors are known: {unknown:?}");
        assert!(text(&unknown, "this fabric", 0, &v5).contains("columns of codecs are blank"));
        let bare = Selection { codecs: Vec::new(), ..v5 };
        let head = table_text(&table(Some(1e9), Some(1e9), 2, &bare), &bare);
        assert_eq!((head.matches("codec").count(), head.matches("no codec").count()), (1, 1), "{head}");
    }

    #[test]
    fn types_suites_and_codecs_can_be_chosen() {
        let chosen = Selection {
            dtypes: vec![DType::F32, DType::I64],
            codecs: vec!["zstd:3".parse().unwrap()],
            suite: Suite::Edge,
            ..selection("v6.1")
        };
        let rows = table(Some(1_204_224_000.0), Some(1e9), 1_000, &chosen);
        let resnet50: Vec<&Row> = rows.iter().filter(|row| row.benchmark == "resnet50").collect();
        let f32s: Vec<&&Row> = resnet50.iter().filter(|row| row.dtype == Some(DType::F32)).collect();
        assert_eq!((f32s.len(), f32s[0].samples_per_s), (1, 250.0), "four bytes instead of one");
        assert!(resnet50.iter().all(|row| row.dtype != Some(DType::I64)), "its model takes none");
        assert!(resnet50.iter().any(|row| row.codec.to_string() == "zstd:3"), "{resnet50:?}");
        assert!(table_text(&rows, &chosen).contains("resnet50 f32"), "{}", table_text(&rows, &chosen));
    }

    #[test]
    fn a_benchmark_of_ones_own_is_counted_by_its_inputs() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("mine.toml");
        let content = "name = \"mine\"\nabout = \"my model\"\n[dataset]\nkind = \"tensors\"\n\
                       inputs = [\"x f32[N,3,4]\"]\nexample = \"synthetic:f32[3,4]x64\"\n";
        std::fs::write(&file, content).unwrap();
        let own = Benchmark::named(file.to_str().unwrap()).unwrap();
        let rows = table(Some(8.0 * 48.0 * 100.0), Some(1e9), 1, &Selection { more: vec![own], ..selection("v6.1") });
        assert_eq!((rows[0].benchmark, rows[0].samples_per_s), ("mine", 100.0), "{rows:?}");
    }

    #[test]
    fn numbers_have_three_digits() {
        assert_eq!([0.1234, 12.34, 123.4, 123_456.7].map(number), ["0.12", "12.3", "123", "123457"]);
    }
}
