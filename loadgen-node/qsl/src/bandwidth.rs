//! The bandwidth that a rate of samples needs, by Appendix B of the MLPerf Inference rules: bytes of raw input (and of
//! large output) of a sample, times samples per second. And the reverse: the rate that a bandwidth allows.
//!
//! All of it is arithmetic. Nothing is measured here.

use std::fmt;

pub use lon_proto::direction::Direction;
use lon_proto::figures::{bit_rate, bit_rate_to};
use lon_proto::sample::{DType, TensorSpec};
use serde::Deserialize;

/// The formula of a benchmark: the bytes of one sample in each direction. A direction without terms is negligible.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Formula {
    /// The terms of the bytes that one sample sends to the SUT.
    #[serde(default)]
    ingress: Vec<Term>,
    /// The terms of the bytes that the answer to one sample sends back.
    #[serde(default)]
    egress: Vec<Term>,
    /// The source of the formula.
    pub source: String,
    /// The source of the size of an element, when it is another one.
    pub dtype_source: Option<String>,
}

/// A number of elements of one type.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Term {
    /// The factors of the number, as the rules write them.
    elements: Vec<u64>,
    /// The size of an element, where it is not known what is sent.
    dtype_bytes: u32,
    /// The type of what is sent, once it is known.
    #[serde(skip)]
    dtype: Option<DType>,
    /// The place of the tensor whose type the elements have. None: the place of the term among the others.
    tensor: Option<usize>,
}

/// The bandwidth that is required.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Required {
    /// Bits per second towards the SUT; 0: negligible.
    pub ingress_bits_per_s: f64,
    /// Bits per second back from the SUT; 0: negligible.
    pub egress_bits_per_s: f64,
}

/// The bandwidth that was measured; none where it was not.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Probed {
    /// Bits per second towards the SUT.
    pub ingress_bits_per_s: Option<f64>,
    /// Bits per second back from the SUT.
    pub egress_bits_per_s: Option<f64>,
}

/// The verdict on a network. Later variants are worse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum BandwidthVerdict {
    /// The network has at least the required bandwidth.
    Enough,
    /// The bandwidth was not measured.
    NotProbed,
    /// The network has less than the required bandwidth.
    TooLittle,
}

/// The verdict on one direction, with the numbers behind it. It is shown as a sentence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judged {
    /// The direction that is judged.
    pub direction: Direction,
    /// The verdict on it.
    pub verdict: BandwidthVerdict,
    /// The required bits per second.
    pub required_bits_per_s: f64,
    /// The measured bits per second.
    pub probed_bits_per_s: Option<f64>,
}

impl Formula {
    /// Checks that the numbers are not 0 and that their products do not overflow.
    pub(crate) fn checked(self) -> Result<Formula, String> {
        for term in self.ingress.iter().chain(&self.egress) {
            if !(1..=MAX_DTYPE_BYTES).contains(&term.dtype_bytes) {
                return Err(format!("dtype_bytes {}: 1 to {MAX_DTYPE_BYTES}", term.dtype_bytes));
            }
            let elements = term.elements.iter().try_fold(1_u64, |product, factor| product.checked_mul(*factor));
            if term.elements.is_empty() || elements.is_none_or(|elements| elements == 0 || elements > MAX_ELEMENTS) {
                return Err(format!("elements {:?}: 1 to {MAX_ELEMENTS} of them", term.elements));
            }
        }
        Ok(self)
    }

    /// Returns the formula of a model that no rules know: the bytes of its inputs. None when the size of one is free.
    pub(crate) fn of_inputs(inputs: &[TensorSpec]) -> Option<Formula> {
        let term = |input: &TensorSpec| {
            let elements: Option<Vec<u64>> = input.own_dims().iter().map(|dim| dim.map(u64::from)).collect();
            let elements = elements.map(|elements| if elements.is_empty() { vec![1] } else { elements })?;
            let (dtype_bytes, dtype) = (input.dtype.size() as u32, Some(input.dtype));
            Some(Term { elements, dtype_bytes, dtype, tensor: None })
        };
        let ingress = inputs.iter().filter(|input| !input.is_optional).map(term).collect::<Option<Vec<Term>>>()?;
        let source = "the inputs of the benchmark's file".to_owned();
        let formula = Formula { ingress, egress: Vec::new(), source, dtype_source: None };
        formula.checked().ok()
    }

    /// Returns the formula with the sizes of elements that are sent: `sample_dtypes` are the types of a sample's
    /// tensors, `answer_dtypes` those of an answer's. A term whose tensor is not among them keeps its size.
    ///
    /// `texts` tells that a text (`u8`) may stand for tokens. The rules count tokens, so that such a term keeps its
    /// size, too.
    #[must_use]
    pub fn with_dtypes(&self, sample_dtypes: &[DType], answer_dtypes: &[DType], texts: bool) -> Formula {
        let mut formula = self.clone();
        for (terms, dtypes) in [(&mut formula.ingress, sample_dtypes), (&mut formula.egress, answer_dtypes)] {
            for (place, term) in terms.iter_mut().enumerate() {
                let is_text = |dtype: &DType| texts && *dtype == DType::U8 && term.dtype_bytes > 1;
                match dtypes.get(term.tensor.unwrap_or(place)) {
                    Some(dtype) if !is_text(dtype) => term.dtype = Some(*dtype),
                    _ => {}
                }
            }
        }
        formula
    }

    /// Returns the formula for samples that have the first of the inputs alone.
    pub(crate) fn of_first_input(self) -> Formula {
        let is_first = |(place, term): &(usize, Term)| term.tensor.unwrap_or(*place) == 0;
        let ingress = self.ingress.into_iter().enumerate().filter(is_first).map(|(_, term)| term).collect();
        Formula { ingress, ..self }
    }

    /// Returns the raw bytes of a sample in this direction; 0: negligible.
    pub fn sample_bytes(&self, direction: Direction) -> u64 {
        self.terms(direction).iter().map(Term::bytes).sum()
    }

    /// Returns the bandwidth that this many samples per second need.
    pub fn required(&self, samples_per_s: f64) -> Required {
        let bits_per_s = |direction| self.sample_bytes(direction) as f64 * 8.0 * samples_per_s;
        Required {
            ingress_bits_per_s: bits_per_s(Direction::Ingress),
            egress_bits_per_s: bits_per_s(Direction::Egress),
        }
    }

    /// Returns the samples per second that a network can carry when a codec makes inputs `ratio` times smaller (1
    /// without a codec). Infinite when both directions are negligible. The bytes of frames and headers are not
    /// subtracted.
    pub fn samples_per_s(&self, ingress_bits_per_s: f64, egress_bits_per_s: f64, ratio: f64) -> f64 {
        let rate = |direction, bits_per_s: f64| match self.sample_bytes(direction) {
            0 => f64::INFINITY,
            bytes => bits_per_s / (bytes as f64 * 8.0),
        };
        let ingress = rate(Direction::Ingress, ingress_bits_per_s * ratio);
        ingress.min(rate(Direction::Egress, egress_bits_per_s))
    }

    /// Shows the formula: `3x224x224 x 1 byte x samples/s`.
    pub fn explain(&self) -> String {
        let side = |direction| match self.terms(direction) {
            [] => None,
            terms => Some(format!("{} x samples/s", joined(terms))),
        };
        match [Direction::Ingress, Direction::Egress].map(side) {
            [None, None] => "negligible".to_owned(),
            [Some(ingress), None] => ingress,
            [ingress, Some(egress)] => {
                format!("{} in, {egress} out", ingress.unwrap_or_else(|| "negligible".to_owned()))
            }
        }
    }

    fn terms(&self, direction: Direction) -> &[Term] {
        match direction {
            Direction::Ingress => &self.ingress,
            Direction::Egress => &self.egress,
        }
    }
}

/// The largest number of elements of a term: more than any sample has, and so few that sums of their bytes cannot
/// overflow.
const MAX_ELEMENTS: u64 = 1 << 40;

/// The largest size of an element that a formula may have.
const MAX_DTYPE_BYTES: u32 = 16;

impl Term {
    /// Bits of one element.
    fn bits(&self) -> u32 {
        self.dtype.map_or(8 * self.dtype_bytes, DType::bits)
    }

    fn bytes(&self) -> u64 {
        (self.elements.iter().product::<u64>() * u64::from(self.bits())).div_ceil(8)
    }
}

/// Shows a term as `3x224x224 x 1 byte`.
impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let factors: Vec<String> = self.elements.iter().map(u64::to_string).collect();
        let unit = if self.bits() == 8 { "byte" } else { "bytes" };
        write!(f, "{} x {} {unit}", factors.join("x"), f64::from(self.bits()) / 8.0)
    }
}

/// Joins terms with plus signs, in parentheses when there are several. Equal terms side by side are one, with their
/// number before it: `3x384 x 4 bytes`.
fn joined(terms: &[Term]) -> String {
    let is_equal = |a: &Term, b: &Term| (&a.elements, a.bits()) == (&b.elements, b.bits());
    let text = |equal: &[Term]| match equal {
        [term] => term.to_string(),
        equal => format!("{}x{}", equal.len(), equal[0]),
    };
    let texts: Vec<String> = terms.chunk_by(is_equal).map(text).collect();
    if let [text] = &texts[..] { text.clone() } else { format!("({})", texts.join(" + ")) }
}

/// Compares the required bandwidth with the measured one. Ingress comes first.
pub fn judge(required: Required, probed: Probed) -> [Judged; 2] {
    let judge = |direction, required_bits_per_s: f64, probed_bits_per_s: Option<f64>| {
        let verdict = match probed_bits_per_s {
            // Where nothing is required, any network is enough.
            _ if required_bits_per_s == 0.0 => BandwidthVerdict::Enough,
            None => BandwidthVerdict::NotProbed,
            Some(probed_bits_per_s) if probed_bits_per_s >= required_bits_per_s => BandwidthVerdict::Enough,
            // A NaN is not enough either.
            Some(_) => BandwidthVerdict::TooLittle,
        };
        Judged { direction, verdict, required_bits_per_s, probed_bits_per_s }
    };
    [
        judge(Direction::Ingress, required.ingress_bits_per_s, probed.ingress_bits_per_s),
        judge(Direction::Egress, required.egress_bits_per_s, probed.egress_bits_per_s),
    ]
}

impl BandwidthVerdict {
    /// Returns the verdict in words.
    pub fn name(self) -> &'static str {
        match self {
            BandwidthVerdict::Enough => "enough",
            BandwidthVerdict::NotProbed => "not probed",
            BandwidthVerdict::TooLittle => "too little",
        }
    }

    /// Returns the verdict on both directions together, which is the worse one.
    pub fn of(judged: &[Judged; 2]) -> BandwidthVerdict {
        judged[0].verdict.max(judged[1].verdict)
    }
}

impl fmt::Display for Judged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let direction = self.direction.name();
        let required = bit_rate(self.required_bits_per_s);
        match (self.verdict, self.probed_bits_per_s) {
            (BandwidthVerdict::Enough, _) if self.required_bits_per_s == 0.0 => {
                write!(f, "{direction}: enough (the requirement is negligible)")
            }
            (BandwidthVerdict::Enough, Some(probed)) => {
                write!(f, "{direction}: enough, {required} of {} is required", bit_rate(probed))
            }
            (BandwidthVerdict::TooLittle, Some(probed)) => {
                let [required, probed] = apart(self.required_bits_per_s, probed);
                write!(f, "{direction}: too little, {required} is required and the fabric gave {probed}")
            }
            _ => write!(f, "{direction}: not probed, {required} is required (--probe measures what there is)"),
        }
    }
}

/// Shows two rates that differ with as many digits as it takes to see it, seven at most.
pub fn apart(one: f64, other: f64) -> [String; 2] {
    let rate_texts = |more: usize| [one, other].map(|rate| bit_rate_to(rate, more));
    (0..4).map(rate_texts).find(|[one, other]| one != other).unwrap_or_else(|| rate_texts(4))
}

#[cfg(test)]
mod tests {
    use Direction::{Egress, Ingress};

    use super::*;
    use crate::benchmark::Benchmark;

    #[test]
    fn rates_that_differ_are_shown_with_the_digits_that_do() {
        assert_eq!(apart(191.096e6, 190.993e6), ["191.1 Mbit/s", "191.0 Mbit/s"]);
        assert_eq!(apart(2e9, 1e9), ["2.00 Gbit/s", "1.00 Gbit/s"]);
    }

    fn formula(name: &str) -> &'static Formula {
        Benchmark::find(name).unwrap().bandwidth().unwrap()
    }

    /// The bytes of a sample when every element has the size that the files name.
    #[test]
    fn bytes_of_a_sample_are_the_published_ones() {
        for (name, ingress, egress) in [
            ("resnet50", 150_528, 0),
            ("retinanet", 1_920_000, 0),
            ("3d-unet", 32_944_795, 32_944_795),
            ("bert", 4_608, 0),
            ("dlrm-v2", 35_100, 0),
            ("dlrm-v3", 98_368, 0),
            ("gptj", 8_192, 0),
            ("llama2-70b", 4_096, 4_096),
            ("llama2-70b-interactive", 4_096, 4_096),
            ("llama3_1-8b", 10_240, 0),
            ("llama3_1-405b", 80_000, 80_000),
            ("llama3_1-405b-interactive", 80_000, 80_000),
            ("mixtral-8x7b", 8_192, 8_192),
            ("stable-diffusion-xl", 308, 3_145_728),
            ("rgat", 0, 0),
            ("deepseek-r1", 12_544, 80_000),
            ("gpt-oss-120b", 61_320, 131_072),
            ("qwen3-vl-235b-a22b", 108_204, 2_000),
            ("wan-2.2-t2v-a14b", 308, 223_948_800),
            ("whisper", 960_000, 0),
        ] {
            let sample_bytes = [Ingress, Egress].map(|direction| formula(name).sample_bytes(direction));
            assert_eq!(sample_bytes, [ingress, egress], "{name}");
        }
    }

    /// Source: Appendix B of the rules, number of inputs times 384 times the size of the type. Ids alone are one input.
    #[test]
    fn token_ids_that_are_sent_alone_are_all_that_is_required() {
        let of = |name: &str, dtypes: &[DType]| {
            let formula = Benchmark::find(name).unwrap().bandwidth_of(dtypes, &[]).unwrap();
            (formula.sample_bytes(Ingress), formula.explain())
        };
        assert_eq!(of("bert", &[DType::I32; 3]), (3 * 384 * 4, "3x384 x 4 bytes x samples/s".to_owned()));
        assert_eq!(of("bert", &[DType::I32]), (384 * 4, "384 x 4 bytes x samples/s".to_owned()));
        assert_eq!(of("bert", &[DType::I64]).0, 384 * 8);
        assert_eq!(of("bert", &[]).0, 3 * 384 * 4, "what is sent is not known");
        assert_eq!(of("gptj", &[DType::I32]).0, 2_048 * 4);
        assert_eq!(of("dlrm-v3", &[DType::I64]).0, 12_296 * 8, "numbers of a table are no token ids");
    }

    /// Elements of a sample and of an answer by the rules, worked out by hand, times the size of every type.
    #[test]
    fn every_dtype_has_its_own_bytes() {
        for (name, inputs, outputs) in [
            ("resnet50", 150_528, 0),
            ("retinanet", 1_920_000, 0),
            ("3d-unet", 32_944_795, 32_944_795),
            ("bert", 1_152, 0),
            ("dlrm-v2", 10_530, 0),
            ("dlrm-v3", 12_296, 0),
            ("gptj", 2_048, 0),
            ("llama2-70b", 1_024, 1_024),
            ("llama3_1-8b", 2_560, 0),
            ("llama3_1-405b", 20_000, 20_000),
            ("mixtral-8x7b", 2_048, 2_048),
            ("stable-diffusion-xl", 77, 3_145_728),
            ("rgat", 0, 0),
            ("deepseek-r1", 3_136, 20_000),
            ("gpt-oss-120b", 15_330, 32_768),
            ("qwen3-vl-235b-a22b", 27_051, 500),
            ("wan-2.2-t2v-a14b", 77, 223_948_800),
            ("whisper", 480_000, 0),
        ] {
            for dtype in DType::ALL {
                let typed = formula(name).with_dtypes(&[*dtype; 14], &[*dtype], false);
                let sample_bytes = [Ingress, Egress].map(|direction| typed.sample_bytes(direction));
                let bytes = [inputs, outputs].map(|elements: u64| dtype.bytes_of(elements).unwrap());
                assert_eq!(sample_bytes, bytes, "{name} {dtype}");
            }
        }
    }

    #[test]
    fn each_term_follows_its_own_tensor() {
        let bert = formula("bert").with_dtypes(&[DType::I64, DType::I32, DType::I32], &[], true);
        assert_eq!(bert.sample_bytes(Ingress), 384 * (8 + 4 + 4));
        assert_eq!(bert.explain(), "(384 x 8 bytes + 2x384 x 4 bytes) x samples/s");
        let dlrm = formula("dlrm-v2").with_dtypes(&[DType::F32, DType::I64], &[], false);
        assert_eq!(dlrm.sample_bytes(Ingress), 270 * (13 * 4 + 26 * 8));
        // One tensor of two: the other keeps its size.
        let dlrm = formula("dlrm-v2").with_dtypes(&[DType::F32], &[], false);
        assert_eq!(dlrm.sample_bytes(Ingress), 270 * (13 * 4 + 26 * 4));
        let history = [[DType::I64; 8], [DType::I32; 8]].concat();
        let dlrm = formula("dlrm-v3").with_dtypes(&history, &[], false);
        assert_eq!(dlrm.sample_bytes(Ingress), 2 * 8 + 6 * 8 + 6 * 2048 * 4);
    }

    #[test]
    fn texts_are_counted_as_tokens() {
        let text = |name| formula(name).with_dtypes(&[DType::U8], &[DType::U8], true);
        assert_eq!(text("llama2-70b"), *formula("llama2-70b"));
        assert_eq!(text("stable-diffusion-xl").sample_bytes(Egress), 3_145_728, "images are no texts");
        let floats = formula("stable-diffusion-xl").with_dtypes(&[DType::I64], &[DType::F32], true);
        assert_eq!([Ingress, Egress].map(|direction| floats.sample_bytes(direction)), [616, 4 * 3_145_728]);
    }

    #[test]
    fn required_follows_rate_and_type() {
        let resnet50 = formula("resnet50");
        assert_eq!(resnet50.required(1000.0), Required { ingress_bits_per_s: 1_204_224_000.0, egress_bits_per_s: 0.0 });
        let floats = resnet50.with_dtypes(&[DType::F32], &[DType::I64], false);
        assert_eq!(floats.required(1000.0).ingress_bits_per_s, 4.0 * 1_204_224_000.0);
        let sdxl = formula("sdxl").with_dtypes(&[DType::I64], &[], true).required(10.0);
        assert_eq!((sdxl.ingress_bits_per_s, sdxl.egress_bits_per_s), (10.0 * 77.0 * 64.0, 251_658_240.0));
    }

    #[test]
    fn what_a_fabric_carries_is_the_inverse() {
        let resnet50 = formula("resnet50");
        let rate = resnet50.samples_per_s(1_204_224_000.0, 1.0, 1.0);
        assert!((rate - 1000.0).abs() < 1e-9, "{rate}");
        assert!((resnet50.samples_per_s(1_204_224_000.0, 1.0, 1.8) - 1800.0).abs() < 1e-9);
        // Images out are what limits it, and no codec of inputs helps.
        let sdxl = formula("stable-diffusion-xl").samples_per_s(1e9, 25_165_824.0, 9.0);
        assert!((sdxl - 1.0).abs() < 1e-9, "{sdxl}");
        assert_eq!(formula("rgat").samples_per_s(1.0, 1.0, 1.0), f64::INFINITY);
    }

    #[test]
    fn formulas_explain_themselves() {
        assert_eq!(formula("resnet50").explain(), "3x224x224 x 1 byte x samples/s");
        assert_eq!(formula("bert").with_dtypes(&[DType::I64; 3], &[], true).explain(), "3x384 x 8 bytes x samples/s");
        assert_eq!(formula("dlrm-v2").explain(), "(270x13 x 2 bytes + 270x26 x 4 bytes) x samples/s");
        let sdxl = "77 x 4 bytes x samples/s in, 3x1024x1024 x 1 byte x samples/s out";
        assert_eq!(formula("sdxl").explain(), sdxl);
        assert_eq!(formula("rgat").explain(), "negligible");
    }

    #[test]
    fn verdicts_say_what_they_rest_on() {
        let required = Required { ingress_bits_per_s: 1.2e9, egress_bits_per_s: 0.0 };
        let judged = |ingress_bits_per_s| judge(required, Probed { ingress_bits_per_s, egress_bits_per_s: None });
        for (probed, verdict, text) in [
            (Some(9.41e9), BandwidthVerdict::Enough, "ingress: enough, 1.20 Gbit/s of 9.41 Gbit/s is required"),
            (Some(1.2e9), BandwidthVerdict::Enough, "ingress: enough, 1.20 Gbit/s of 1.20 Gbit/s is required"),
            (
                Some(94e6),
                BandwidthVerdict::TooLittle,
                "ingress: too little, 1.20 Gbit/s is required and the fabric gave 94.0 Mbit/s",
            ),
            (
                Some(f64::NAN),
                BandwidthVerdict::TooLittle,
                "ingress: too little, 1.20 Gbit/s is required and the fabric gave NaN bit/s",
            ),
            (
                None,
                BandwidthVerdict::NotProbed,
                "ingress: not probed, 1.20 Gbit/s is required (--probe measures what there is)",
            ),
        ] {
            let judged = judged(probed);
            assert_eq!((judged[0].verdict, judged[0].to_string().as_str()), (verdict, text));
            assert_eq!((judged[1].verdict, BandwidthVerdict::of(&judged)), (BandwidthVerdict::Enough, verdict));
            assert_eq!(judged[1].to_string(), "egress: enough (the requirement is negligible)");
        }
    }
}
