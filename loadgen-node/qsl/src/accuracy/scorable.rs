//! Layouts of answers that can be scored, and those that cannot: known before a run.

use lon_proto::sample::DType;

use super::elements::Kind;
use super::metric::Metric;
use super::reader::Reader;
use super::rows::{Naming, Rows};
use super::target::Target;
use super::truth::{Truth, Truths};

/// Why token ids cannot be compared with texts.
const NO_TOKENIZER: &str = "the SUT answers with token ids, and there is no tokenizer.json beside the right texts";

/// The remedy for a model whose answers have another type.
const CAST: &str = "a Cast to f32 at the end of the model makes them that";

/// Why several outputs are no boxes.
const MANY: &str = "boxes are answered by one output of seven floats for each box, and not by several outputs: \
                    --postprocess retinanet=SIZE makes one of those of RetinaNet";

/// The numbers of a box.
const BOX: u64 = 7;

impl Target {
    /// Checks that answers with this layout can be scored against these right answers.
    ///
    /// # Errors
    /// They cannot, or it is not known what they would be; the error is a clause that says why, and what to do.
    pub fn fits(&self, truths: &Truths, rows: Rows) -> Result<(), String> {
        let (kind, dtype) = (rows.kind(), rows.dtype());
        if kind.is_none() {
            return Err(format!("answers of {dtype} are not scored, those of f32 are: {CAST}"));
        }
        if let Truths::Questions(_) = truths {
            let none = || format!("questions are answered by start and end logits, not by {rows}");
            return rows.logits().map(|_| ()).ok_or_else(none);
        }
        if !rows.has_end() {
            return Err(format!(
                "the first output has {rows}, the size of an output behind it is free, too, and so it is not known \
                 where the first ends: leave one of them out"
            ));
        }
        match truths {
            Truths::Boxes(_) => fits_boxes(rows),
            Truths::Samples(samples) => self.fits_samples(samples, &Reader::default(), rows),
            Truths::Decoded(samples, reader) => self.fits_samples(samples, reader, rows),
            Truths::Questions(_) => Ok(()),
        }
    }

    fn fits_samples(&self, samples: &[Option<Truth>], reader: &Reader, rows: Rows) -> Result<(), String> {
        let (is_whole, dtype) = (rows.kind() == Some(Kind::WholeNumbers), rows.dtype());
        match self.metric {
            Metric::Top1 | Metric::Top5 => self.fits_classes(samples, rows),
            Metric::Dice if !is_whole => Err(format!(
                "the classes of voxels are whole numbers, not {rows}: an argmax at the SUT (--postprocess argmax) \
                 makes them of scores"
            )),
            Metric::Auc if !is_exact_in_f32(dtype) => {
                Err(format!("scores of items are compared as f32, and are {rows}: {CAST}"))
            }
            Metric::Dice | Metric::Auc => Ok(()),
            metric if metric.precision().is_some() => Ok(()),
            Metric::TokensPerSample if dtype == DType::U8 => {
                Err("the SUT answers with texts (u8): how many tokens they were is not known".to_owned())
            }
            _ if !is_whole => Err(format!(
                "texts are answered by u8 or by whole numbers that are token ids, not by {rows}: give the node a model \
                 that generates"
            )),
            Metric::TokensPerSample => Ok(()),
            _ if dtype != DType::U8 && reader.tokenizer.is_none() => Err(NO_TOKENIZER.to_owned()),
            _ => Ok(()),
        }
    }

    /// Answers name classes: by a score for each, or by their numbers.
    fn fits_classes(&self, samples: &[Option<Truth>], rows: Rows) -> Result<(), String> {
        if rows.dtype() == DType::U8 && rows.count().is_none() {
            let reason =
                "the SUT answers with texts (u8), and labels are classes: give the node a model that names them";
            return Err(reason.to_owned());
        }
        let label = |(index, truth): (usize, &Option<Truth>)| match truth {
            Some(Truth::Class(class)) => Some((index, *class)),
            _ => None,
        };
        let beyond = |classes: u64| {
            let is_beyond = |class: i64| !u64::try_from(class).is_ok_and(|class| class < classes);
            samples.iter().enumerate().filter_map(label).find(|(_, class)| is_beyond(*class))
        };
        let is_known = rows.kind() == Some(Kind::Floats) || rows.count() == Some(1) || self.classes.is_some();
        if !is_known && rows.count().is_none_or(|count| beyond(count).is_none()) {
            return Err(format!(
                "answers of {rows} may be a score for each class, or the likeliest classes in order: give the number \
                 of classes in the benchmark's file (accuracy.classes)"
            ));
        }
        let Some(count) = rows.count() else { return Ok(()) };
        match (rows.naming(count, self.classes), self.classes) {
            (None, classes) => Err(format!(
                "answers of {rows} are no score for each of {} classes, nor some of the classes as whole numbers: give \
                 the node the benchmark's model, or the number of its classes in the benchmark's file \
                 (accuracy.classes)",
                classes.unwrap_or_default()
            )),
            (Some(Naming::Scores), _) if self.metric == Metric::Top5 && count <= MOST_IN_TOP5 => {
                Err(format!("top5 is 100 % for any model of five classes or fewer, and this one has {count}: use top1"))
            }
            (Some(Naming::Scores), _) => match beyond(count) {
                Some((index, class)) => Err(format!(
                    "the label of sample {index} is {class}, and the model has {count} classes, numbered 0 to {} (its \
                     answers are {rows}): {}",
                    count.saturating_sub(1),
                    if class.try_into() == Ok(count) {
                        "number the labels from 0"
                    } else {
                        "give the node the benchmark's model, or the dataset the labels of that model"
                    }
                )),
                None => Ok(()),
            },
            (Some(Naming::Classes), _) => Ok(()),
        }
    }
}

fn fits_boxes(rows: Rows) -> Result<(), String> {
    match rows.count() {
        _ if rows.kind() != Some(Kind::Floats) => Err(format!("boxes are answered by floats, not by {rows}: {CAST}")),
        _ if rows.is_first_of_many() => Err(MANY.to_owned()),
        Some(count) if !count.is_multiple_of(BOX) => {
            Err(format!("boxes are answered by seven floats for each box, not by {rows}"))
        }
        _ => Ok(()),
    }
}

/// Classes among which the right one is looked for by top5.
const MOST_IN_TOP5: u64 = 5;

/// True where all numbers of this type are numbers of f32.
fn is_exact_in_f32(dtype: DType) -> bool {
    matches!(dtype, DType::F32 | DType::F16 | DType::Bf16 | DType::I8 | DType::U8 | DType::I16 | DType::U16)
}
