//! The ways to score answers.

use strum::{EnumString, IntoStaticStr, VariantNames};

use super::bleu::Style;
use super::gsm8k;
use super::long_context;
use super::map::Precision;
use super::rouge::{self, Rouge};
use super::squad;
use super::truth::{Truth, Truths};

/// A way to score answers. Messages list the names in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, EnumString, IntoStaticStr, VariantNames)]
#[strum(serialize_all = "snake_case")]
pub enum Metric {
    /// The share of samples whose class is the label.
    ///
    /// An answer is a row of logits or scores, one for each class, of any type, whose largest value gives the class. Or
    /// it is whole numbers, fewer than there are classes, of which the first is the class, as an argmax or top-k at the
    /// SUT leaves them. Of several largest values the first counts, as in numpy's `argmax`. A row with a NaN is wrong.
    /// [`Rows`](super::Rows) tell which layout an answer has. When they are not known, a row has as many f32 as there
    /// are [`Target::classes`](super::Target::classes); when those are not known either, every answer is a row of f32.
    Top1,
    /// The share of samples whose label is among the first five classes.
    Top5,
    /// The mean of SQuAD's F1 over questions. An answer is UTF-8, or start and end logits of a window.
    F1,
    /// The share of questions whose text is right, as SQuAD compares texts.
    ExactMatch,
    /// The mean of the F-measure of ROUGE-1 over samples. Answers are texts, as for all that compares texts: UTF-8, or
    /// token ids where a tokenizer is known.
    Rouge1,
    /// The mean of the F-measure of ROUGE-2.
    Rouge2,
    /// The mean of the F-measure of ROUGE-L.
    #[strum(serialize = "rougeL")]
    RougeL,
    /// The mean of the F-measure of ROUGE-Lsum, in which each line of a text is a sentence.
    #[strum(serialize = "rougeLsum")]
    RougeLsum,
    /// The BLEU of all samples together, as the package `sacrebleu` computes it (see [`bleu`](super::bleu)).
    Bleu,
    /// The BLEU of all samples together, as the reference implementation of round v0.5 computes it: blanks divide
    /// words.
    BleuWords,
    /// The share of samples whose text ends with the right number, as MLPerf judges answers to GSM8K.
    Gsm8k,
    /// The mean of the points for answers to questions about long contexts, as MLPerf judges them: the part of each
    /// sample says by which rule (see [`long_context`]).
    LongExactMatch,
    /// The share of answers that are right programs. Programs are not run here, so that there is no score.
    Mbxp,
    /// The word error rate: wrong words of all samples for each word of the right texts. Lower is better.
    Wer,
    /// The mean of DICE over samples and over all classes but the first. An answer is the class of each voxel, as a
    /// whole number.
    Dice,
    /// The area under the curve of the receiver operating characteristic. An answer is a score for each item of the
    /// sample, or for each item a score and its label as another number.
    Auc,
    /// The mean average precision of boxes by COCO's rules. An answer is seven floats for each box: the number of the
    /// sample, top, left, bottom and right as shares of the image, score, category.
    Map,
    /// The mean average precision where an overlap of half is enough.
    Map50,
    /// The mean average precision where an overlap of three quarters is enough.
    Map75,
    /// The mean average precision for objects of up to 32 x 32 pixels.
    MapSmall,
    /// The mean average precision for objects of 32 x 32 to 96 x 96 pixels.
    MapMedium,
    /// The mean average precision for objects of 96 x 96 pixels and more.
    MapLarge,
    /// The number of characters of all answers together, each without blanks at its ends and with its sentences on
    /// lines of their own (`gen_len` of the official scripts). It needs the model of sentences.
    GenLen,
    /// The mean number of token ids of an answer. Answers are token ids, whole numbers of any type but u8.
    TokensPerSample,
}

/// The truths that a metric needs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Needs {
    /// One class, by its number.
    Class,
    /// A class of each item.
    Classes,
    /// Texts of a part that has a rule for long contexts.
    LongContext,
    /// Texts, of which one is to be given.
    Texts,
    /// One text, and no other.
    Text,
    Mask,
    Boxes,
    /// No truths: the metric counts answers.
    Nothing,
}

impl Metric {
    /// Returns its name in results and in benchmarks' files.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Returns the right answers that it needs, and where they lie beside the samples.
    pub(crate) fn truths_beside(self) -> (&'static str, &'static str) {
        match self.needs() {
            Needs::Class | Needs::Classes => ("labels", "labels.txt or labels.npy"),
            Needs::Mask => ("masks", "masks/"),
            Needs::Boxes => ("boxes", "annotations.json, or annotations/instances_val2017.json"),
            _ => ("right answers", "answers.jsonl"),
        }
    }

    /// Returns the name that the official submission checker has for the same score; none when the official scripts
    /// compute it in another way than is done here, or not at all.
    pub fn checker_name(self) -> Option<&'static str> {
        match self {
            Metric::Top1 => Some("acc"),
            Metric::F1 => Some("F1"),
            Metric::Rouge1 => Some("ROUGE1"),
            Metric::Rouge2 => Some("ROUGE2"),
            Metric::RougeL => Some("ROUGEL"),
            Metric::Gsm8k => Some("gsm8k_accuracy"),
            Metric::Dice => Some("DICE"),
            Metric::Auc => Some("AUC"),
            Metric::Map => Some("mAP"),
            Metric::BleuWords => Some("bleu"),
            Metric::GenLen => Some("GEN_LEN"),
            Metric::TokensPerSample => Some("TOKENS_PER_SAMPLE"),
            // Sentences are found otherwise, or texts are brought into another form before.
            Metric::RougeLsum | Metric::LongExactMatch | Metric::Wer | Metric::ExactMatch => None,
            Metric::Top5 | Metric::Mbxp | Metric::Bleu => None,
            Metric::Map50 | Metric::Map75 | Metric::MapSmall | Metric::MapMedium | Metric::MapLarge => None,
        }
    }

    /// Returns the same for texts whose sentences were found with the model of the official scripts.
    pub fn checker_name_with_sentences(self) -> Option<&'static str> {
        match self {
            Metric::RougeLsum => Some("ROUGELSUM"),
            Metric::LongExactMatch => Some("exact_match"),
            metric => metric.checker_name(),
        }
    }

    /// Returns its unit in results: `%`, `1` for a number from 0 to 1, `characters` or `tokens`.
    pub fn unit(self) -> &'static str {
        match self {
            Metric::Dice => "1",
            Metric::GenLen => "characters",
            Metric::TokensPerSample => "tokens",
            _ => "%",
        }
    }

    /// Returns what stands behind a score for people: its unit, or nothing.
    pub fn behind(self) -> &'static str {
        match self {
            Metric::Dice => "",
            Metric::GenLen => " characters",
            Metric::TokensPerSample => " tokens",
            _ => " %",
        }
    }

    /// The factor from a number from 0 to 1 to its unit; 1 for what is counted.
    pub(super) fn scale(self) -> f64 {
        if self.unit() == "%" { 100.0 } else { 1.0 }
    }

    /// Tells whether it can use this right answer to a sample.
    pub(super) fn takes(self, truth: &Truth) -> bool {
        match (self.needs(), truth) {
            (Needs::Nothing, _) | (Needs::Class, Truth::Class(_)) => true,
            (Needs::Classes, truth) => truth.items().is_some(),
            (Needs::Mask, Truth::Mask(_)) => true,
            (Needs::Texts, truth) => truth.texts().is_some(),
            (Needs::Text, truth) => truth.texts().is_some_and(|texts| texts.len() == 1),
            (Needs::LongContext, truth) => truth.texts().is_some() && truth.part().is_some_and(long_context::has_rule),
            _ => false,
        }
    }

    /// Tells whether it needs right answers.
    pub(super) fn needs_truths(self) -> bool {
        self.needs() != Needs::Nothing
    }

    /// Tells whether it can use the right answers to a dataset that is not scored sample by sample; none: it is.
    pub(super) fn takes_all(self, truths: &Truths) -> Option<bool> {
        match truths {
            Truths::Samples(_) | Truths::Decoded(..) => None,
            Truths::Boxes(_) => Some(self.needs() == Needs::Boxes),
            Truths::Questions(_) => Some(matches!(self, Metric::F1 | Metric::ExactMatch)),
        }
    }

    fn needs(self) -> Needs {
        match self {
            Metric::Top1 | Metric::Top5 => Needs::Class,
            Metric::Auc => Needs::Classes,
            Metric::Wer => Needs::Text,
            Metric::Dice => Needs::Mask,
            Metric::Map | Metric::Map50 | Metric::Map75 => Needs::Boxes,
            Metric::MapSmall | Metric::MapMedium | Metric::MapLarge => Needs::Boxes,
            Metric::GenLen | Metric::TokensPerSample | Metric::Mbxp => Needs::Nothing,
            Metric::LongExactMatch => Needs::LongContext,
            Metric::F1 | Metric::ExactMatch | Metric::Gsm8k => Needs::Texts,
            Metric::Rouge1 | Metric::Rouge2 | Metric::RougeL | Metric::RougeLsum => Needs::Texts,
            Metric::Bleu | Metric::BleuWords => Needs::Texts,
        }
    }

    /// Tells whether it compares texts, and not classes.
    pub(super) fn compares_texts(self) -> bool {
        matches!(self.needs(), Needs::Texts | Needs::Text | Needs::LongContext)
    }

    /// Tells whether the script that computes it first puts each sentence of a text on a line of its own.
    pub(super) fn reads_sentences(self) -> bool {
        matches!(self, Metric::RougeLsum | Metric::LongExactMatch)
    }

    /// Returns the points for a text, from 0 to 1; `part` is the part of its sample, where it has one. None when it
    /// does not give points to such single texts.
    pub(super) fn points_of_text(self, text: &str, right: &[String], part: Option<&str>) -> Option<f64> {
        Some(match self {
            Metric::LongExactMatch => return long_context::points(part?, text, right),
            Metric::ExactMatch => f64::from(squad::is_exact_match(text, right)),
            Metric::F1 => squad::f1(text, right),
            Metric::Rouge1 => rouge::rouge(Rouge::Words(1), text, right),
            Metric::Rouge2 => rouge::rouge(Rouge::Words(2), text, right),
            Metric::RougeL => rouge::rouge(Rouge::Longest, text, right),
            Metric::RougeLsum => rouge::rouge(Rouge::LongestByLine, text, right),
            Metric::Gsm8k => f64::from(gsm8k::is_right(text, right)),
            _ => return None,
        })
    }

    /// Returns the choice of thresholds and areas by which it counts boxes; none when it does not.
    pub(super) fn precision(self) -> Option<Precision> {
        Some(match self {
            Metric::Map => Precision::ALL,
            Metric::Map50 => Precision::HALF,
            Metric::Map75 => Precision::THREE_QUARTERS,
            Metric::MapSmall => Precision::SMALL,
            Metric::MapMedium => Precision::MEDIUM,
            Metric::MapLarge => Precision::LARGE,
            _ => return None,
        })
    }

    /// Returns the way in which it counts runs of words of all texts together; none when it does not.
    pub(super) fn bleu(self) -> Option<Style> {
        match self {
            Metric::Bleu => Some(Style::Sacre),
            Metric::BleuWords => Some(Style::Words),
            _ => None,
        }
    }
}
