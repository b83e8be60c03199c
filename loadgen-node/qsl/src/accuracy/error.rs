//! The reasons why answers cannot be scored.

use std::path::PathBuf;

use lon_proto::sample::DType;

/// The reasons why answers cannot be scored.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScoreError {
    /// No answer with the layout that the SUT gives can be scored; the clause says why.
    #[error("{0}")]
    Unfit(String),
    /// The dataset has no right answers, so that nobody knows if the target is reached.
    #[error("the accuracy target {target} was not judged: {lacks}")]
    NoTruths {
        /// The metric and its bounds, in words.
        target: String,
        /// A clause that names the dataset, and the place where right answers are missing.
        lacks: String,
    },
    /// The dataset does not have the sample.
    #[error("the log answers sample {index}, the dataset has {count}")]
    NoSample {
        /// The index of the sample in the log.
        index: usize,
        /// The number of samples in the dataset.
        count: usize,
    },
    /// The answer does not name a class.
    #[error("the answer to sample {index} has {bytes} bytes: not a row of {rows}")]
    Answer {
        /// The index of the sample.
        index: usize,
        /// The length of the answer in bytes.
        bytes: usize,
        /// The layouts that an answer could have.
        rows: String,
    },
    /// All answers have as many whole numbers as there are classes, and each class once.
    #[error(
        "every answer has each class once: as many whole numbers as there are classes are their scores, and these may \
         be the classes in order; answer with fewer of them (--postprocess top-k=NUMBER)"
    )]
    InOrder,
    /// The answer is not a text. The number is the sample's index.
    #[error(
        "the answer to sample {0} is not UTF-8: on this dataset texts are scored; start and end logits are on a folder \
         with dev-v1.1.json and vocab.txt"
    )]
    Text(usize),
    /// The answer is not start and end logits.
    #[error(
        "the answer to sample {index} has {bytes} bytes: no start and end logits of {least} to {places} places; \
         {origin}"
    )]
    Logits {
        /// The index of the sample.
        index: usize,
        /// The length of the answer in bytes.
        bytes: usize,
        /// The number of places of the sample that are not padding.
        least: usize,
        /// The number of places of the sample.
        places: usize,
        /// A clause that says where the expected layout comes from.
        origin: String,
    },
    /// The sample has no right answer that the metric can use.
    #[error("sample {index} has no label for {metric}")]
    Label {
        /// The index of the sample.
        index: usize,
        /// The name of the metric.
        metric: &'static str,
    },
    /// The sample has no answer.
    #[error("sample {index} has no answer: {answered} of {count} samples were answered")]
    Missing {
        /// The index of the first sample without an answer.
        index: usize,
        /// The number of samples with an answer.
        answered: usize,
        /// The number of samples in the dataset.
        count: usize,
    },
    /// The answer is not a row of token ids.
    #[error("the answer to sample {index} has {bytes} bytes: no row of {dtype} token ids")]
    Tokens {
        /// The index of the sample.
        index: usize,
        /// The length of the answer in bytes.
        bytes: usize,
        /// The type of token ids.
        dtype: DType,
    },
    /// The answer does not have a score for each item of the sample.
    #[error("the answer to sample {index} has {bytes} bytes: no {dtype} for each of {items} items, none of them a NaN")]
    Items {
        /// The index of the sample.
        index: usize,
        /// The length of the answer in bytes.
        bytes: usize,
        /// The number of items that have a label.
        items: usize,
        /// The type of the scores.
        dtype: DType,
    },
    /// The labels of all items are equal, so that there is nothing to tell apart.
    #[error("all labels are equal: there is no auc")]
    OneClass,
    /// The answer is no segmentation like the right one.
    #[error(
        "the answer to sample {index} has {bytes} bytes: no {dtype} from 0 to {} for each of {voxels} voxels",
        classes - 1
    )]
    Voxels {
        /// The index of the sample.
        index: usize,
        /// The length of the answer in bytes.
        bytes: usize,
        /// The type of classes in the answer.
        dtype: DType,
        /// The number of classes, the background included.
        classes: usize,
        /// The number of voxels of the right segmentation.
        voxels: usize,
    },
    /// The right segmentation cannot be used.
    #[error("the mask of sample {index}, {path}: {reason}", path = path.display())]
    Mask {
        /// The index of the sample.
        index: usize,
        /// The path of the mask.
        path: PathBuf,
        /// A clause that says what is wrong with it.
        reason: String,
    },
    /// The answer is no row of boxes.
    #[error("the answer to sample {index} has {bytes} bytes: no boxes of seven finite {dtype}")]
    Boxes {
        /// The index of the sample.
        index: usize,
        /// The length of the answer in bytes.
        bytes: usize,
        /// The type of the numbers.
        dtype: DType,
    },
    /// The category of a box is no place in the list of categories.
    #[error(
        "the answer to sample {index} has category {category}, and answers number the {count} categories of the \
         annotations from 1 on: where answers have the annotations' own numbers, write accuracy.categories = \"ids\" \
         in a benchmark file"
    )]
    Category {
        /// The index of the sample.
        index: usize,
        /// The category of the box.
        category: i64,
        /// The number of categories.
        count: usize,
    },
    /// There is nothing to find.
    #[error("the annotations have no box that counts")]
    NoBoxes,
    /// There is no model by which the sentences of a text are found.
    #[error("{0} needs the model that finds sentences: put the folder punkt_tab of NLTK's data beside the right texts")]
    Sentences(&'static str),
    /// No sample belongs to the parts of the dataset that a metric is for.
    #[error("no sample is of part {0}: name the part of each sample beside its right answers (\"part\")")]
    NoPart(String),
    /// Answers are programs.
    #[error("answers are programs, which are not run here: accuracy --scorer CMD scores the log with a command")]
    Programs,
    /// The right texts have no words, of which a share could be wrong.
    #[error("the right texts have no words")]
    NoWords,
}

impl ScoreError {
    /// Tells whether a text is that of [`ScoreError::NoTruths`].
    pub fn is_no_truths(text: &str) -> bool {
        text.starts_with("the accuracy target ") && text.contains(" was not judged: ")
    }
}
