//! The ways to score answers.

use super::gsm8k;
use super::rouge::{self, Rouge};
use super::squad;
use super::truth::{Truth, Truths};

/// A way to score answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    RougeL,
    /// The mean of the F-measure of ROUGE-Lsum, in which each line of a text is a sentence.
    RougeLsum,
    /// The share of samples whose text ends with the right number, as MLPerf judges answers to GSM8K.
    Gsm8k,
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
    /// Texts, of which one is to be given.
    Texts,
    /// One text, and no other.
    Text,
    Mask,
    Boxes,
    /// None: answers are counted.
    Nothing,
}

impl Metric {
    /// All metrics, in the order in which messages list them.
    pub const ALL: [Metric; 15] = [
        Metric::Top1,
        Metric::Top5,
        Metric::F1,
        Metric::ExactMatch,
        Metric::Rouge1,
        Metric::Rouge2,
        Metric::RougeL,
        Metric::RougeLsum,
        Metric::Gsm8k,
        Metric::Wer,
        Metric::Dice,
        Metric::Auc,
        Metric::Map,
        Metric::GenLen,
        Metric::TokensPerSample,
    ];

    /// Returns its name in results and in benchmarks' files.
    pub fn name(self) -> &'static str {
        match self {
            Metric::Top1 => "top1",
            Metric::Top5 => "top5",
            Metric::F1 => "f1",
            Metric::ExactMatch => "exact_match",
            Metric::Rouge1 => "rouge1",
            Metric::Rouge2 => "rouge2",
            Metric::RougeL => "rougeL",
            Metric::RougeLsum => "rougeLsum",
            Metric::Gsm8k => "gsm8k",
            Metric::Wer => "wer",
            Metric::Dice => "dice",
            Metric::Auc => "auc",
            Metric::Map => "map",
            Metric::GenLen => "gen_len",
            Metric::TokensPerSample => "tokens_per_sample",
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
            Metric::GenLen => Some("GEN_LEN"),
            Metric::TokensPerSample => Some("TOKENS_PER_SAMPLE"),
            // Sentences are found otherwise, or texts are brought into another form before.
            Metric::RougeLsum | Metric::Wer | Metric::ExactMatch | Metric::Top5 => None,
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

    /// Returns the index of the first sample without a right answer that this metric can use; none when all have one.
    pub fn first_lacking(self, truths: &Truths) -> Option<usize> {
        match truths {
            Truths::Samples(samples) | Truths::Decoded(samples, _) => {
                let lacks = |truth: &Option<Truth>| !truth.as_ref().is_some_and(|truth| self.takes(truth));
                samples.iter().position(lacks).filter(|_| self.needs() != Needs::Nothing)
            }
            Truths::Boxes(_) => (self.needs() != Needs::Boxes).then_some(0),
            Truths::Questions(_) => (!matches!(self, Metric::F1 | Metric::ExactMatch)).then_some(0),
        }
    }

    fn takes(self, truth: &Truth) -> bool {
        match (self.needs(), truth) {
            (Needs::Nothing, _) | (Needs::Class | Needs::Classes, Truth::Class(_)) => true,
            (Needs::Classes, Truth::Classes(labels)) => !labels.is_empty(),
            (Needs::Texts, Truth::Texts(_)) | (Needs::Mask, Truth::Mask(_)) => true,
            (Needs::Text, Truth::Texts(texts)) => texts.len() == 1,
            _ => false,
        }
    }

    fn needs(self) -> Needs {
        match self {
            Metric::Top1 | Metric::Top5 => Needs::Class,
            Metric::Auc => Needs::Classes,
            Metric::Wer => Needs::Text,
            Metric::Dice => Needs::Mask,
            Metric::Map => Needs::Boxes,
            Metric::GenLen | Metric::TokensPerSample => Needs::Nothing,
            Metric::F1 | Metric::ExactMatch | Metric::Gsm8k => Needs::Texts,
            Metric::Rouge1 | Metric::Rouge2 | Metric::RougeL | Metric::RougeLsum => Needs::Texts,
        }
    }

    /// Tells whether it compares texts, and not classes.
    pub(super) fn compares_texts(self) -> bool {
        matches!(self.needs(), Needs::Texts | Needs::Text)
    }

    /// Returns the points for a text, from 0 to 1. None when it does not give points to single texts.
    pub(super) fn points_of_text(self, text: &str, right: &[String]) -> Option<f64> {
        Some(match self {
            Metric::ExactMatch => f64::from(squad::is_exact_match(text, right)),
            Metric::F1 => squad::f1(text, right),
            Metric::Rouge1 => rouge::rouge(Rouge::Words(1), text, right),
            Metric::Rouge2 => rouge::rouge(Rouge::Words(2), text, right),
            Metric::RougeL => rouge::rouge(Rouge::Longest, text, right),
            Metric::RougeLsum => rouge::rouge(Rouge::LongestByLine, text, right),
            Metric::Gsm8k => f64::from(gsm8k::is_right(text, right)),
            Metric::Top1 | Metric::Top5 | Metric::Wer | Metric::Dice | Metric::Auc | Metric::Map => return None,
            Metric::GenLen | Metric::TokensPerSample => return None,
        })
    }
}
