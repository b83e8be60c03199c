//! The codecs that the Network division allows, by direction and round.
//!
//! The rules speak of classes of codecs, so a codec is judged by its class.

use std::fmt;

use lon_proto::codec::Codec;
use lon_proto::direction::Direction;
use serde::Deserialize;
use strum::IntoStaticStr;

use super::rounds::Rounds;

/// The compression rules of one benchmark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkRules {
    /// The name of the benchmark in the rules, which do not tell variants apart.
    pub(super) benchmark: &'static str,
    /// The allowed codecs. Each known round is in exactly one entry.
    pub(super) compressions: Vec<Compression>,
}

/// The codecs that are allowed in some rounds.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Compression {
    /// The rounds that have this rule; each known one is in exactly one entry.
    pub(super) rounds: Rounds,
    /// The classes that samples may have.
    pub ingress: Vec<CodecClass>,
    /// The classes that answers may have.
    pub egress: Vec<CodecClass>,
    /// The rule in words.
    pub allows: String,
    /// The source of the rule.
    pub source: String,
}

/// The classes of codecs that the rules tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, IntoStaticStr)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum CodecClass {
    /// No codec: bytes are sent as they are.
    None,
    /// Codecs whose output becomes the same bytes again.
    Lossless,
    /// The compression that the dataset already has: JPEG for images.
    Original,
}

/// The reasons why a codec is against the rules.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Breach {
    /// The rules allow other codecs only.
    #[error(
        "--{flag} {codec} is against the Network division's compression rules of {benchmark} (round {round}), \
         which allow {allowed} for {what}: {clause} ({source_})",
        flag = flag(*direction),
        what = what(*direction),
        allowed = classes(rule.allowed(*direction)),
        clause = rule.allows,
        source_ = rule.source,
    )]
    Codec {
        /// The name of the benchmark.
        benchmark: &'static str,
        /// The codec as typed.
        codec: String,
        /// The direction in which it would be used.
        direction: Direction,
        /// The round whose rules apply.
        round: String,
        /// The rule that it breaks.
        rule: Box<Compression>,
    },
    /// The rules of this round are not known.
    #[error("the Network division's compression rules of {benchmark} are not known for round {round} (known: {rounds})",
            rounds = super::rounds::ROUNDS.join(", "))]
    Round {
        /// The name of the benchmark.
        benchmark: &'static str,
        /// The round that was given.
        round: String,
    },
}

impl CodecClass {
    /// Returns the class of a codec by its name (`zstd`) or as typed (`zstd:3`). None when the rules do not speak of
    /// it.
    pub fn of(codec: &str) -> Option<CodecClass> {
        match codec.split(':').next() {
            Some("none") => Some(CodecClass::None),
            Some("zstd" | "lz4" | "shuffle-zstd" | "delta-zstd") => Some(CodecClass::Lossless),
            Some("original") => Some(CodecClass::Original),
            _ => None,
        }
    }

    /// Returns the name of the class in the benchmarks' files.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

impl NetworkRules {
    /// Checks that the rules of a round (`v6.1`) allow a codec in this direction.
    ///
    /// # Errors
    /// They do not; the error names the rule and the codecs that it allows.
    pub fn check(&self, codec: Codec, direction: Direction, round: &str) -> Result<(), Breach> {
        self.check_typed(&codec.to_string(), direction, round)
    }

    /// Checks a codec as [`NetworkRules::check`] does, by its name as typed.
    ///
    /// # Errors
    /// As [`NetworkRules::check`].
    pub fn check_typed(&self, codec: &str, direction: Direction, round: &str) -> Result<(), Breach> {
        let benchmark = self.benchmark;
        let unknown = || Breach::Round { benchmark, round: round.to_owned() };
        let rule = self.of_round(round).ok_or_else(unknown)?;
        match CodecClass::of(codec) {
            Some(class) if rule.allowed(direction).contains(&class) => Ok(()),
            _ => Err(Breach::Codec {
                benchmark,
                codec: codec.to_owned(),
                direction,
                round: round.to_owned(),
                rule: Box::new(rule.clone()),
            }),
        }
    }

    /// Returns the codecs that are allowed in a round; none when its rules are not known.
    pub fn of_round(&self, round: &str) -> Option<&Compression> {
        self.compressions.iter().find(|compression| compression.rounds.has(round))
    }
}

impl Compression {
    /// Returns the allowed classes in a direction.
    pub fn allowed(&self, direction: Direction) -> &[CodecClass] {
        match direction {
            Direction::Ingress => &self.ingress,
            Direction::Egress => &self.egress,
        }
    }
}

impl fmt::Display for CodecClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Returns the name of the flag that sets the codec in a direction.
fn flag(direction: Direction) -> &'static str {
    match direction {
        Direction::Ingress => "compression",
        Direction::Egress => "response-compression",
    }
}

/// Returns the word for the data that go in a direction.
fn what(direction: Direction) -> &'static str {
    match direction {
        Direction::Ingress => "samples",
        Direction::Egress => "responses",
    }
}

fn classes(classes: &[CodecClass]) -> String {
    classes.iter().map(|class| class.name()).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use Direction::{Egress, Ingress};

    use super::*;
    use crate::benchmark::{Benchmark, ROUNDS};

    fn rules(name: &str) -> &'static NetworkRules {
        Benchmark::find(name).unwrap().network().unwrap()
    }

    /// Tells which codecs are allowed: lossless and original for samples, lossless for responses.
    fn allowed(name: &str) -> [bool; 3] {
        let rules = rules(name);
        let cases = [("zstd:3", Ingress), ("original", Ingress), ("lz4", Egress)];
        let mut verdicts = cases.map(|(codec, direction)| rules.check_typed(codec, direction, "v6.1").is_ok());
        for round in ROUNDS {
            let in_round = cases.map(|(codec, direction)| rules.check_typed(codec, direction, round).is_ok());
            assert_eq!(in_round, verdicts, "{name}: no rule differs between the rounds so far");
            verdicts = in_round;
            for direction in [Ingress, Egress] {
                assert_eq!(rules.check(Codec::None, direction, round), Ok(()), "{name}");
            }
        }
        verdicts
    }

    #[test]
    fn the_table() {
        for name in ["resnet50", "retinanet"] {
            assert_eq!(allowed(name), [true, true, false], "{name}");
        }
        for name in ["bert", "dlrm-v2"] {
            assert_eq!(allowed(name), [true, false, false], "{name}");
        }
        assert_eq!(allowed("3d-unet"), [true, false, true]);
        let others = ["resnet50", "retinanet", "bert", "dlrm-v2", "3d-unet"];
        let others = Benchmark::all().iter().filter(|benchmark| !others.contains(&benchmark.name));
        let ruled: Vec<&str> = others.filter(|benchmark| benchmark.network().is_some()).map(|b| b.name).collect();
        for name in &ruled {
            assert_eq!(allowed(name), [false; 3], "{name}");
        }
        for name in ["gptj", "llama2-70b", "llama3_1-405b", "mixtral-8x7b", "stable-diffusion-xl", "rgat"] {
            assert!(ruled.contains(&name), "{name} is not in {ruled:?}");
        }
        for name in ["digits", "synthetic", "pointpainting", "yolo", "llama3_1-8b-edge"] {
            assert!(Benchmark::find(name).unwrap().network().is_none(), "{name}");
        }
    }

    #[test]
    fn a_breach_names_rule_benchmark_codec_and_what_is_allowed() {
        let text = rules("bert").check_typed("original", Ingress, "v6.1").unwrap_err().to_string();
        for part in [
            "--compression original",
            "Network division's compression rules of bert",
            "none, lossless for samples",
            "v6.1",
            "MLPerf Inference rules",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let text = rules("gptj").check_typed("zstd:3", Egress, "v5.0").unwrap_err().to_string();
        assert!(text.contains("--response-compression zstd:3") && text.contains("none for responses"), "{text}");
        let text = rules("gptj").check(Codec::None, Egress, "v9.0").unwrap_err().to_string();
        assert!(text.contains("round v9.0") && text.contains("v6.1"), "{text}");
    }

    #[test]
    fn every_codec_of_ours_has_a_class_and_others_are_refused() {
        for name in Codec::NAMES {
            let class = CodecClass::of(name).unwrap();
            assert_eq!(class == CodecClass::None, name == "none");
            let codec: Codec = name.parse().unwrap();
            assert_eq!(rules("gptj").check(codec, Ingress, "v6.1").is_ok(), codec.is_none(), "{name}");
            assert_eq!(rules("3d-unet").check(codec, Egress, "v6.1"), Ok(()), "{name}");
        }
        assert!(rules("resnet50").check_typed("jpeg-xs", Ingress, "v6.1").is_err());
    }
}
