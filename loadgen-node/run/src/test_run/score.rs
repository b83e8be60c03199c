//! Scores the answers of a run.

use anyhow::{anyhow, bail};
use lon_qsl::accuracy::{Rows, Score, ScoreError, Target, Truths};
use lon_qsl::dataset::Dataset;
use qdl::{AnswersChecked, NodeDescription};

use super::finished::Setup;

/// Checks, before a run, that the answers of these nodes can be scored.
///
/// # Errors
/// They cannot, or two nodes answer in different forms; the error says why.
pub(super) fn check(target: &Target, truths: &Truths, nodes: &[NodeDescription]) -> anyhow::Result<()> {
    let form = |node: &NodeDescription| Rows::of(&node.outputs);
    let Some((first, others)) = nodes.split_first() else { return Ok(()) };
    if let Some(other) = others.iter().find(|other| form(other) != form(first)) {
        let outputs_text = |node: &NodeDescription| match node.outputs.is_empty() {
            true => "what it does not say".to_owned(),
            false => node.outputs.to_string(),
        };
        bail!(
            "node {} answers with {}, node {} with {}, and an answer does not say whose it is: give nodes of one model",
            first.name,
            outputs_text(first),
            other.name,
            outputs_text(other)
        );
    }
    match form(first) {
        Some(rows) => target.fits(truths, rows).map_err(|why| anyhow!(why)),
        // Only a server of KServe's protocol says what is no signature.
        None if first.answers_checked != AnswersChecked::No => bail!(
            "the outputs of model '{}' are of a type or shape that is not scored, such as BYTES: serve a model that \
             gives numbers",
            first.model
        ),
        None => Ok(()),
    }
}

/// The form of the answers, when all nodes say the same.
pub(super) fn rows(nodes: &[NodeDescription]) -> Option<Rows> {
    agreed(nodes.iter().map(|node| Rows::of(&node.outputs)))
}

/// The one form that all of these have; `None` when there is none, one is not known, or two differ.
pub(crate) fn agreed(mut rows: impl Iterator<Item = Option<Rows>>) -> Option<Rows> {
    let first = rows.next()??;
    rows.all(|other| other == Some(first)).then_some(first)
}

/// Scores the answers of accuracy phases. `None` when there were none, or when the benchmark cannot be scored. A target
/// without right answers is an error: nobody has judged it.
pub(super) fn of(
    setup: &Setup,
    dataset: &Dataset,
    answers: &[(usize, Vec<u8>)],
    rows: Option<Rows>,
) -> Option<Result<Score, ScoreError>> {
    if !setup.plan.effective().mode.has_accuracy() {
        return None;
    }
    let Some(truths) = dataset.truths() else { return setup.benchmark.no_truths(dataset).map(Err) };
    let answers = answers.iter().map(|(index, data)| (*index, data.as_slice()));
    setup.benchmark.score(answers, truths, rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_of_different_outputs_say_nothing() {
        let rows = |texts: &[&str]| agreed(texts.iter().map(|text| Rows::from_text(text)));
        assert!(rows(&["y f32[N,10]", "z f32[N,10]"]).is_some());
        assert_eq!([rows(&["y f32[N,10]", "y i64[N,10]"]), rows(&["y f32[N,10]", ""]), rows(&[])], [None; 3]);
    }
}
