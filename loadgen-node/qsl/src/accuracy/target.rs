//! Scores the answers of a run, and compares the score with what it must reach.

use std::borrow::Cow;
use std::cell::Cell;

use lon_proto::files::{self, Limit};
use lon_proto::limits::MAX_SAMPLE_BYTES;
use lon_proto::sample::DType;

use super::auc;
use super::boxes::Boxes;
use super::dice;
use super::elements::Elements;
use super::error::ScoreError;
use super::logits::Layout;
use super::map;
use super::metric::Metric;
use super::reader::Reader;
use super::round;
use super::rows::{self, Rows};
use super::spans::{self, Span};
use super::truth::{Truth, Truths};
use super::wer::{self, WordErrors};
use crate::encode::passages::Reading;

/// A metric, and between which bounds the score must be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Target {
    /// The metric by which answers are scored.
    pub metric: Metric,
    /// The lowest score that passes, in the metric's unit; none: any does.
    pub at_least: Option<f64>,
    /// The highest score that passes, in the metric's unit; none: any does.
    pub at_most: Option<f64>,
    /// The number of classes that a model tells apart, when it is known.
    pub classes: Option<usize>,
    /// The parts of the dataset whose samples are scored; empty: all samples are.
    pub parts: &'static [&'static str],
}

/// A metric over all samples, without bounds.
impl From<Metric> for Target {
    fn from(metric: Metric) -> Target {
        Target { metric, at_least: None, at_most: None, classes: None, parts: &[] }
    }
}

/// A score, and the number of samples behind it.
#[derive(Clone, Debug, PartialEq)]
pub struct Score {
    /// The score in the metric's unit.
    pub value: f64,
    /// The number of distinct samples that were answered, those of parts that are not scored included.
    pub samples: usize,
    /// The number of questions that they answer; none when each sample is a question of its own.
    pub questions: Option<usize>,
    /// The scores in the other metrics that the benchmark asks for.
    pub others: Vec<Other>,
}

/// A score in a metric that is asked for beside the first one.
#[derive(Clone, Debug, PartialEq)]
pub struct Other {
    /// The metric and its bounds.
    pub target: Target,
    /// The score in the metric's unit, or why there is none.
    pub value: Result<f64, ScoreError>,
    /// The name that the official submission checker has for this score; none: it is not computed as the official
    /// scripts do.
    pub official: Option<&'static str>,
}

impl Other {
    /// Tells whether there is a score, and it is between the bounds.
    pub fn is_reached(&self) -> bool {
        self.value.as_ref().is_ok_and(|value| self.target.is_between(*value))
    }
}

impl Score {
    /// Returns the other scores that are there and not between their bounds.
    pub fn missed(&self) -> impl Iterator<Item = (&Target, f64)> {
        let missed = |other: &&Other| other.value.is_ok() && !other.is_reached();
        self.others.iter().filter(missed).filter_map(|other| Some((&other.target, *other.value.as_ref().ok()?)))
    }
}

impl Target {
    /// Tells whether a score is between the bounds, and the others that are there between theirs.
    pub fn is_reached_by(&self, score: &Score) -> bool {
        self.is_between(score.value) && score.missed().next().is_none()
    }

    /// Returns the parts that are scored, for people: ` (part GSM8K)`; empty where all samples are.
    pub fn of_parts(&self) -> String {
        match self.parts {
            [] => String::new(),
            parts => format!(" (part {})", parts.join(", ")),
        }
    }

    /// Tells whether a number is between the bounds. All are rounded to five significant digits (half to even), by the
    /// rules.
    pub fn is_between(&self, value: f64) -> bool {
        let value = round::to_five_digits(value);
        self.at_least.is_none_or(|least| value >= round::to_five_digits(least))
            && self.at_most.is_none_or(|most| value <= round::to_five_digits(most))
    }

    /// Returns the bounds with their unit: `97 %`, `at most 5 %`, `23.011 to 23.95`.
    pub fn wanted(&self) -> String {
        let unit = self.metric.behind();
        match (self.at_least, self.at_most) {
            (Some(least), Some(most)) => format!("{least} to {most}{unit}"),
            (Some(least), None) => format!("{least}{unit}"),
            (None, Some(most)) => format!("at most {most}{unit}"),
            (None, None) => "any".to_owned(),
        }
    }

    /// Returns the index of the first sample without a right answer that the metric can use; none when all have one.
    /// Where parts are scored, every sample has to name its own.
    pub fn first_lacking(&self, truths: &Truths) -> Option<usize> {
        let (Truths::Samples(samples) | Truths::Decoded(samples, _)) = truths else {
            return (self.metric.takes_all(truths) == Some(false)).then_some(0);
        };
        let is_known = |truth: &Truth| match self.parts {
            [] => self.metric.takes(truth),
            parts => truth.part().is_some_and(|part| !parts.contains(&part) || self.metric.takes(truth)),
        };
        let lacking = samples.iter().position(|truth| !truth.as_ref().is_some_and(is_known));
        lacking.filter(|_| self.metric.needs_truths() || !self.parts.is_empty())
    }

    /// Tells whether a sample is scored.
    fn scores(&self, truth: Option<&Truth>) -> bool {
        let is_of = |part: &str| self.parts.contains(&part);
        self.parts.is_empty() || truth.and_then(Truth::part).is_some_and(is_of)
    }

    /// Scores answers (sample index and bytes) against the right ones. `rows` is the layout of the answers, when it is
    /// known. Every sample must have an answer. Of several answers to one sample the first counts.
    ///
    /// # Errors
    /// See [`ScoreError`].
    pub fn score<'a>(
        &self,
        answers: impl Iterator<Item = (usize, &'a [u8])>,
        truths: &Truths,
        rows: Option<Rows>,
    ) -> Result<Score, ScoreError> {
        if self.metric.takes_all(truths) == Some(false) {
            return Err(ScoreError::Label { index: 0, metric: self.metric.name() });
        }
        if let Some(rows) = rows {
            self.fits(truths, rows).map_err(ScoreError::Unfit)?;
        }
        match truths {
            Truths::Samples(truths) => Form { rows, reader: &Reader::default() }.score(self, answers, truths),
            Truths::Decoded(truths, reader) => Form { rows, reader }.score(self, answers, truths),
            Truths::Boxes(boxes) => of_boxes(answers, boxes, rows.unwrap_or(Rows::untold(DType::F32))),
            Truths::Questions(reading) => self.of_questions(answers, reading, rows),
        }
    }

    /// Scores start and end logits.
    fn of_questions<'a>(
        &self,
        answers: impl Iterator<Item = (usize, &'a [u8])>,
        reading: &Reading,
        rows: Option<Rows>,
    ) -> Result<Score, ScoreError> {
        let samples = reading.samples();
        let spans = of_each(answers, samples, |index, answer| span(reading, index, answer, rows))?;
        let questions = reading.questions();
        let points = questions.iter().map(|question| {
            let text = spans::answer(reading, question, &spans);
            self.metric.points_of_text(text, &question.answers, None).unwrap_or(0.0)
        });
        let points: Vec<f64> = points.collect();
        let value = mean(self.metric, &points);
        Ok(Score { value, samples, questions: Some(questions.len()), others: Vec::new() })
    }

    /// Returns the first `most` classes that an answer names, the likeliest first.
    fn likeliest(&self, index: usize, answer: &[u8], most: usize, rows: Option<Rows>) -> Result<Vec<i64>, ScoreError> {
        let layout = rows.or_else(|| rows::guessed(answer, self.classes));
        layout.and_then(|rows| rows.classes(answer, most, self.classes)).ok_or_else(|| {
            let rows = match (rows, self.classes) {
                (Some(rows), Some(classes)) if rows.count().is_none() => format!("{classes} {}", rows.dtype()),
                (Some(rows), _) => rows.to_string(),
                (None, Some(classes)) => format!("{classes} f32, and not 1 to 5 i32 or i64"),
                (None, None) => "f32".to_owned(),
            };
            ScoreError::Answer { index, bytes: answer.len(), rows }
        })
    }
}

/// The form of answers to samples that each have a right answer.
struct Form<'t> {
    rows: Option<Rows>,
    reader: &'t Reader,
}

impl Form<'_> {
    fn score<'a>(
        &self,
        target: &Target,
        answers: impl Iterator<Item = (usize, &'a [u8])>,
        truths: &[Option<Truth>],
    ) -> Result<Score, ScoreError> {
        let (each, truth) = (Each { target, truths }, |index: usize| truths[index].as_ref());
        let scale = target.metric.scale();
        let value = match target.metric {
            Metric::Mbxp => return Err(ScoreError::Programs),
            Metric::Wer => {
                let errors = each.judge(answers, |index, answer| self.word_errors(index, answer, truth(index)))?;
                let sum = |of: fn(&WordErrors) -> usize| errors.iter().map(of).sum::<usize>();
                match sum(|errors| errors.words) {
                    0 => return Err(ScoreError::NoWords),
                    words => scale * sum(|errors| errors.errors) as f64 / words as f64,
                }
            }
            Metric::GenLen => each.judge(answers, |index, answer| self.characters(index, answer))?.iter().sum(),
            Metric::TokensPerSample => {
                mean(target.metric, &each.judge(answers, |index, answer| self.tokens(index, answer))?)
            }
            Metric::Auc => {
                let items = each.judge(answers, |index, answer| self.items(index, answer, truth(index)))?;
                scale * auc::auc(items.into_iter().flatten().collect()).ok_or(ScoreError::OneClass)?
            }
            _ => {
                let all_in_order = Cell::new(matches!(target.metric, Metric::Top1 | Metric::Top5));
                let points = each.judge(answers, |index, answer| {
                    let in_order = |rows: Rows| rows.may_be_in_order(answer, target.classes);
                    all_in_order.set(all_in_order.get() && self.rows.is_some_and(in_order));
                    self.points(target, index, answer, truth(index))
                })?;
                if all_in_order.get() && !points.is_empty() {
                    return Err(ScoreError::InOrder);
                }
                mean(target.metric, &points)
            }
        };
        Ok(Score { value, samples: truths.len(), questions: None, others: Vec::new() })
    }

    /// Returns the points for one answer, from 0 to 1.
    fn points(&self, target: &Target, index: usize, answer: &[u8], truth: Option<&Truth>) -> Result<f64, ScoreError> {
        let top = |most, label| Ok(f64::from(target.likeliest(index, answer, most, self.rows)?.contains(label)));
        match (target.metric, truth) {
            (Metric::Top1, Some(Truth::Class(label))) => top(1, label),
            (Metric::Top5, Some(Truth::Class(label))) => top(5, label),
            (Metric::Dice, Some(Truth::Mask(path))) => {
                let told = |reason| ScoreError::Mask { index, path: path.clone(), reason };
                let mask =
                    files::bytes(path, Limit::bytes(MAX_SAMPLE_BYTES)).map_err(|error| told(error.to_string()))?;
                self.dice(index, answer, &mask, target.classes.unwrap_or(dice::KITS_CLASSES))
            }
            (metric, Some(truth)) if metric.compares_texts() => {
                let (text, part) = (self.text(index, answer)?, truth.part());
                let points = truth.texts().and_then(|texts| match &self.reader.sentences {
                    Some(sentences) if metric.reads_sentences() => {
                        let right: Vec<String> = texts.iter().map(|text| sentences.lines(text)).collect();
                        metric.points_of_text(&sentences.lines(&text), &right, part)
                    }
                    _ => metric.points_of_text(&text, texts, part),
                });
                points.ok_or(ScoreError::Label { index, metric: metric.name() })
            }
            (metric, _) => Err(ScoreError::Label { index, metric: metric.name() }),
        }
    }

    /// Returns the layout of answers, which are one output of a type unless the SUT says otherwise.
    fn rows_or(&self, dtype: DType) -> Rows {
        self.rows.unwrap_or(Rows::untold(dtype))
    }

    /// Returns the token ids of an answer.
    fn token_ids<'a>(&self, index: usize, answer: &'a [u8]) -> Result<Elements<'a>, ScoreError> {
        let rows = self.rows_or(DType::I64);
        rows.elements(answer).ok_or(ScoreError::Tokens { index, bytes: answer.len(), dtype: rows.dtype() })
    }

    /// Returns the text of an answer. Where there is a tokenizer, it is token ids of i64 unless the SUT says otherwise.
    fn text<'a>(&self, index: usize, answer: &'a [u8]) -> Result<Cow<'a, str>, ScoreError> {
        match &self.reader.tokenizer {
            Some(tokenizer) if self.rows_or(DType::I64).dtype() != DType::U8 => {
                Ok(tokenizer.decode(self.token_ids(index, answer)?.classes()).into())
            }
            _ => {
                let own = self.rows.map_or(Some(answer), |rows| rows.elements(answer).map(Elements::bytes));
                let text = own.and_then(|bytes| std::str::from_utf8(bytes).ok());
                text.map(Cow::from).ok_or(ScoreError::Text(index))
            }
        }
    }

    /// Returns the number of characters of an answer, with each sentence on a line of its own.
    fn characters(&self, index: usize, answer: &[u8]) -> Result<f64, ScoreError> {
        let sentences = self.reader.sentences.as_ref().ok_or(ScoreError::Sentences(Metric::GenLen.name()))?;
        Ok(sentences.lines(&self.text(index, answer)?).chars().count() as f64)
    }

    /// Returns the number of token ids of an answer.
    fn tokens(&self, index: usize, answer: &[u8]) -> Result<f64, ScoreError> {
        Ok(self.token_ids(index, answer)?.iter().len() as f64)
    }

    fn word_errors(&self, index: usize, answer: &[u8], truth: Option<&Truth>) -> Result<WordErrors, ScoreError> {
        match truth.and_then(Truth::texts) {
            Some([right]) => Ok(wer::word_errors(&self.text(index, answer)?, right)),
            _ => Err(ScoreError::Label { index, metric: Metric::Wer.name() }),
        }
    }

    /// Returns the DICE of a segmentation. Its classes are u8 unless the SUT says otherwise.
    fn dice(&self, index: usize, answer: &[u8], mask: &[u8], classes: usize) -> Result<f64, ScoreError> {
        let rows = self.rows_or(DType::U8);
        let score = rows.elements(answer).and_then(|given| dice::dice(given.classes(), mask, classes));
        let (bytes, voxels, dtype) = (answer.len(), mask.len(), rows.dtype());
        score.ok_or(ScoreError::Voxels { index, bytes, dtype, classes, voxels })
    }

    /// Returns the score of each item of a sample, and whether its label is 1. Scores are f32 unless the SUT says
    /// otherwise. They may be followed by another number each, which is the label in the log of MLPerf's reference
    /// implementation; it is not looked at.
    fn items(&self, index: usize, answer: &[u8], truth: Option<&Truth>) -> Result<Vec<(f32, bool)>, ScoreError> {
        let labels = match truth {
            Some(Truth::Class(label)) => std::slice::from_ref(label),
            Some(Truth::Classes(labels)) => labels,
            _ => &[],
        };
        if labels.is_empty() || labels.iter().any(|label| !matches!(label, 0 | 1)) {
            return Err(ScoreError::Label { index, metric: Metric::Auc.name() });
        }
        let (rows, bytes, items) = (self.rows_or(DType::F32), answer.len(), labels.len());
        let scored = rows.elements(answer).and_then(|elements| {
            let step = elements.iter().len() / items;
            let is_whole = matches!(step, 1 | 2) && elements.iter().len() == step * items;
            let scores = elements.floats().map(|score| score as f32).step_by(step.max(1));
            let scored: Vec<(f32, bool)> = scores.zip(labels.iter().map(|label| *label == 1)).collect();
            (is_whole && scored.iter().all(|(score, _)| !score.is_nan())).then_some(scored)
        });
        scored.ok_or(ScoreError::Items { index, bytes, items, dtype: rows.dtype() })
    }
}

/// The samples that a target scores.
struct Each<'t> {
    target: &'t Target,
    truths: &'t [Option<Truth>],
}

impl Each<'_> {
    /// Returns the results of `judge` on the first answer to each of them, in their order. The other samples have to be
    /// answered, too.
    fn judge<'a, T: Clone>(
        &self,
        answers: impl Iterator<Item = (usize, &'a [u8])>,
        judge: impl Fn(usize, &[u8]) -> Result<T, ScoreError>,
    ) -> Result<Vec<T>, ScoreError> {
        let Each { target, truths } = self;
        let judged = of_each(answers, truths.len(), |index, answer| {
            let is_scored = target.scores(truths[index].as_ref());
            is_scored.then(|| judge(index, answer)).transpose()
        })?;
        match judged.into_iter().flatten().collect::<Vec<T>>() {
            none if none.is_empty() && !target.parts.is_empty() => Err(ScoreError::NoPart(target.parts.join(", "))),
            judged => Ok(judged),
        }
    }
}

/// Scores boxes in images.
fn of_boxes<'a>(
    answers: impl Iterator<Item = (usize, &'a [u8])>,
    boxes: &Boxes,
    rows: Rows,
) -> Result<Score, ScoreError> {
    let samples = boxes.len();
    let found = of_each(answers, samples, |index, answer| {
        let detections = rows.elements(answer).and_then(|elements| boxes.detections(index, elements));
        detections.ok_or(ScoreError::Boxes { index, bytes: answer.len(), dtype: rows.dtype() })
    })?;
    let value = map::mean_average_precision(boxes, &found).ok_or(ScoreError::NoBoxes)?;
    Ok(Score { value: value * Metric::Map.scale(), samples, questions: None, others: Vec::new() })
}

/// Returns the results of `judge` on the first answer to each sample, by sample index.
fn of_each<'a, T: Clone>(
    answers: impl Iterator<Item = (usize, &'a [u8])>,
    count: usize,
    judge: impl Fn(usize, &[u8]) -> Result<T, ScoreError>,
) -> Result<Vec<T>, ScoreError> {
    let mut judged: Vec<Option<T>> = vec![None; count];
    for (index, answer) in answers {
        let slot = judged.get_mut(index).ok_or(ScoreError::NoSample { index, count })?;
        if slot.is_none() {
            *slot = Some(judge(index, answer)?);
        }
    }
    if let Some(index) = judged.iter().position(Option::is_none) {
        let answered = judged.iter().flatten().count();
        return Err(ScoreError::Missing { index, answered, count });
    }
    Ok(judged.into_iter().flatten().collect())
}

/// Returns the mean of points from 0 to 1, in the metric's unit. It divides once, so that whole points add up exactly.
fn mean(metric: Metric, points: &[f64]) -> f64 {
    metric.scale() * points.iter().sum::<f64>() / points.len() as f64
}

/// Returns the likeliest span of one window, by its logits. None when the window has no spans.
fn span(reading: &Reading, index: usize, answer: &[u8], rows: Option<Rows>) -> Result<Option<Span>, ScoreError> {
    let (bytes, least, places) = (answer.len(), reading.len(index), reading.places());
    let layout = rows.and_then(Rows::logits);
    let logits = layout.unwrap_or(Layout::UNTOLD).read(answer, least, places).ok_or_else(|| {
        let told = match layout {
            Some(layout) => format!("the SUT's outputs are {layout}"),
            None => format!("taken for {}, since the SUT does not say what it is", Layout::UNTOLD),
        };
        ScoreError::Logits { index, bytes, least, places, told }
    })?;
    Ok(spans::likeliest(reading, index, &logits))
}
