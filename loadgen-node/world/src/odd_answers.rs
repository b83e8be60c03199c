//! Answers as no honest node often gives them: without a byte, or with stages that took longer than sample and answer
//! were under way. They are counted, to be told beside the result.

use qdl::{Answer, NodeIndex};

/// Odd answers of one node, in all phases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OddAnswers {
    /// Its answers, odd or not.
    pub answers: u64,
    /// Those without a byte: a detector that found nothing, or a node that did nothing.
    pub empty: u64,
    /// Those whose stages took longer than sample and answer were under way.
    pub too_long: u64,
}

/// Counts odd answers, one by one.
#[derive(Debug, Default)]
pub struct Odd {
    /// By the node's place in the list that the user gave; as long as the last node that answered asks for.
    nodes: Vec<OddAnswers>,
    /// By the number of the phase, counted from 0.
    phases: Vec<OddAnswers>,
}

impl Odd {
    /// Counts an answer of this node in this phase. `round_trip_ns` is None where it is not known when the sample was
    /// sent.
    pub fn answered(&mut self, phase: usize, node: NodeIndex, answer: &Answer, round_trip_ns: Option<u64>) {
        let empty = u64::from(answer.data.is_empty());
        let too_long = u64::from(round_trip_ns.is_some_and(|whole_ns| !answer.stages.fit_into_ns(whole_ns)));
        for (all, place) in [(&mut self.nodes, node.0), (&mut self.phases, phase)] {
            if place >= all.len() {
                all.resize_with(place + 1, OddAnswers::default);
            }
            all[place].answers += 1;
            all[place].empty += empty;
            all[place].too_long += too_long;
        }
    }

    /// Returns the odd answers of each node, by its place. Nodes that answered nothing may be missing.
    pub fn nodes(&self) -> &[OddAnswers] {
        &self.nodes
    }

    /// Returns the number of answers of each phase in which no answer had a byte.
    pub fn empty_phases(&self) -> impl Iterator<Item = u64> {
        self.phases.iter().filter(|phase| phase.answers > 0 && phase.empty == phase.answers).map(|phase| phase.answers)
    }
}

#[cfg(test)]
mod tests {
    use qdl::Stages;

    use super::*;

    fn answer(bytes: usize, inference_ns: u64) -> Answer {
        let stages = Stages { inference_ns, ..Stages::default() };
        Answer { data: vec![0; bytes].into(), n_tokens: 0, stages }
    }

    #[test]
    fn odd_answers_are_counted_by_node_and_by_phase() {
        let mut odd = Odd::default();
        odd.answered(0, NodeIndex(1), &answer(0, 0), Some(10));
        odd.answered(0, NodeIndex(1), &answer(1, 1_000_000_000), Some(10));
        odd.answered(0, NodeIndex(1), &answer(1, 1_000_000_000), None);
        assert_eq!(odd.nodes(), [OddAnswers::default(), OddAnswers { answers: 3, empty: 1, too_long: 1 }]);
        assert_eq!(odd.empty_phases().count(), 0);
        (0..7).for_each(|_| odd.answered(2, NodeIndex(0), &answer(0, 0), Some(10)));
        assert_eq!(odd.empty_phases().collect::<Vec<_>>(), [7]);
    }
}
