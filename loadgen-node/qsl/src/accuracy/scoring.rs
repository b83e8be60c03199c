//! Scores the answers of a run: from bytes, and the right answers, to a number.

use std::borrow::Cow;
use std::cell::Cell;

use lon_proto::files::{self, Limit};
use lon_proto::limits::MAX_SAMPLE_BYTES;
use lon_proto::sample::DType;

use super::auc;
use super::bleu::{Counts, Style};
use super::boxes::{Boxes, OddBoxes};
use super::dice;
use super::elements::Elements;
use super::error::ScoreError;
use super::logits::Layout;
use super::metric::Metric;
use super::reader::Reader;
use super::rows::{self, Rows};
use super::spans::{self, Span};
use super::target::{Score, Target};
use super::truth::{Truth, Truths};
use super::wer::{self, WordErrors};
use crate::encode::passages::Reading;

impl Target {
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
            Truths::Boxes(boxes) => self.of_boxes(answers, boxes, rows.unwrap_or(Rows::untold(DType::F32))),
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

    /// Scores boxes in images.
    fn of_boxes<'a>(
        &self,
        answers: impl Iterator<Item = (usize, &'a [u8])>,
        boxes: &Boxes,
        rows: Rows,
    ) -> Result<Score, ScoreError> {
        let (metric, samples) = (self.metric, boxes.len());
        let precision = metric.precision().ok_or(ScoreError::Label { index: 0, metric: metric.name() })?;
        let by_image = of_each(answers, samples, |index, answer| {
            let elements = rows.elements(answer).ok_or(OddBoxes::Form);
            let detections = elements.and_then(|elements| boxes.detections(index, elements, self.categories));
            detections.map_err(|odd| match odd {
                OddBoxes::Form => ScoreError::Boxes { index, bytes: answer.len(), dtype: rows.dtype() },
                OddBoxes::Place(category) => ScoreError::Category { index, category, count: boxes.category_count() },
            })
        })?;
        let value = precision.of(boxes, &by_image).ok_or(ScoreError::NoBoxes)?;
        Ok(Score { value: value * metric.scale(), samples, questions: None, others: Vec::new() })
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
                    count => scale * sum(|errors| errors.errors) as f64 / count as f64,
                }
            }
            metric if let Some(style) = metric.bleu() => {
                scale
                    * style.score(&each.judge(answers, |index, answer| self.runs(style, index, answer, truth(index)))?)
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
                let mask_error = |reason| ScoreError::Mask { index, path: path.clone(), reason };
                let mask = files::bytes(path, Limit::bytes(MAX_SAMPLE_BYTES))
                    .map_err(|error| mask_error(error.to_string()))?;
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

    /// Counts the runs of words that a text shares with the right ones.
    fn runs(&self, style: Style, index: usize, answer: &[u8], truth: Option<&Truth>) -> Result<Counts, ScoreError> {
        let right = truth.and_then(Truth::texts).ok_or(ScoreError::Label { index, metric: Metric::Bleu.name() })?;
        Ok(Counts::of(style, &self.text(index, answer)?, right))
    }

    /// Returns the DICE of a segmentation. Its classes are u8 unless the SUT says otherwise.
    fn dice(&self, index: usize, answer: &[u8], mask: &[u8], classes: usize) -> Result<f64, ScoreError> {
        let rows = self.rows_or(DType::U8);
        let score = rows.elements(answer).and_then(|elements| dice::dice(elements.classes(), mask, classes));
        let (bytes, voxels, dtype) = (answer.len(), mask.len(), rows.dtype());
        score.ok_or(ScoreError::Voxels { index, bytes, dtype, classes, voxels })
    }

    /// Returns the score of each item of a sample, and whether its label is 1. Scores are f32 unless the SUT says
    /// otherwise. They may be followed by another number each, which is the label in the log of MLPerf's reference
    /// implementation; it is not looked at.
    fn items(&self, index: usize, answer: &[u8], truth: Option<&Truth>) -> Result<Vec<(f32, bool)>, ScoreError> {
        let none = ScoreError::Label { index, metric: Metric::Auc.name() };
        let labels = truth.and_then(Truth::items).ok_or(none)?;
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
        let origin = match layout {
            Some(layout) => format!("the SUT's outputs are {layout}"),
            None => format!("taken for {}, since the SUT does not say what it is", Layout::UNTOLD),
        };
        ScoreError::Logits { index, bytes, least, places, origin }
    })?;
    Ok(spans::likeliest(reading, index, &logits))
}
