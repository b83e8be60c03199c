//! How right the answers were.

use lon_qsl::accuracy::{Rows, Score, ScoreError};
use lon_qsl::dataset::Dataset;
use qdl::NodeDescription;

use super::finished::Setup;

/// The form of the answers, when all nodes say the same.
pub(super) fn rows(nodes: &[NodeDescription]) -> Option<Rows> {
    agreed(nodes.iter().map(|node| Rows::of(&node.outputs)))
}

/// The one form that all of these have; `None` when there is none, one is not known, or two differ.
pub(crate) fn agreed(mut rows: impl Iterator<Item = Option<Rows>>) -> Option<Rows> {
    let first = rows.next()??;
    rows.all(|other| other == Some(first)).then_some(first)
}

/// Scores the answers of accuracy phases. `None` when there were none, or when the benchmark cannot be scored.
pub(super) fn of(
    setup: &Setup,
    dataset: &Dataset,
    answers: &[(usize, Vec<u8>)],
    rows: Option<Rows>,
) -> Option<Result<Score, ScoreError>> {
    let truths = dataset.truths()?;
    if !setup.plan.effective().mode.has_accuracy() {
        return None;
    }
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
