//! Where the time of one sample went: the durations of its stages at the SUT node and, for `inflate`, at the LoadGen
//! node.

use std::time::Duration;

use crate::v1;

/// Durations of the stages that one sample passes, in ns. A stage that does not exist for a sample takes 0 ns.
///
/// The SUT node fills in all but `inflate_ns` and sends them with the answer; the QDL fills in `inflate_ns`, which does
/// not cross the network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stages {
    /// From the parts of a sample to its tensors.
    pub decode_ns: u64,
    /// From pixels to the model's input, where the SUT node does that.
    pub preprocess_ns: u64,
    /// Waiting for a free worker.
    pub queue_ns: u64,
    /// Waiting for the batch to fill.
    pub batch_ns: u64,
    /// The backend at work.
    pub inference_ns: u64,
    /// From the model's outputs to the answer.
    pub postprocess_ns: u64,
    /// From the answer to the bytes of its codec; 0 without a codec.
    pub encode_ns: u64,
    /// From the answer's arrival at the LoadGen node until it was inflated, the wait for a thread included; 0 when
    /// answers have no codec.
    pub inflate_ns: u64,
}

impl Stages {
    /// The names of the stages in the order in which a sample passes them: the order of [`Stages::durations_ns`].
    pub const NAMES: [&'static str; 8] =
        ["decode", "preprocess", "queue", "batch", "inference", "postprocess", "encode", "inflate"];

    /// The durations in ns, in the order of [`Stages::NAMES`].
    pub const fn durations_ns(&self) -> [u64; Stages::NAMES.len()] {
        let Stages {
            decode_ns,
            preprocess_ns,
            queue_ns,
            batch_ns,
            inference_ns,
            postprocess_ns,
            encode_ns,
            inflate_ns,
        } = *self;
        [decode_ns, preprocess_ns, queue_ns, batch_ns, inference_ns, postprocess_ns, encode_ns, inflate_ns]
    }
}

impl Stages {
    /// Clocks of two machines do not run at the same speed: stages may take this share longer than was measured here,
    const SLACK_SHARE: u64 = 100;
    /// and this much more, in ns.
    const SLACK_NS: u64 = 1_000_000;

    /// All of them together.
    pub fn sum_ns(&self) -> u64 {
        self.durations_ns().into_iter().fold(0, u64::saturating_add)
    }

    /// Returns true when all stages fit into `whole_ns`, the time that the sample and its answer were under way.
    pub fn fit_into_ns(&self, whole_ns: u64) -> bool {
        self.sum_ns() <= whole_ns.saturating_add(whole_ns / Stages::SLACK_SHARE).saturating_add(Stages::SLACK_NS)
    }
}

/// A duration in ns as [`Stages`] has it; [`u64::MAX`] for those that are longer (584 years).
pub fn duration_ns(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// The stages as a SUT node reports them; `inflate_ns` is 0.
impl From<v1::Stages> for Stages {
    fn from(message: v1::Stages) -> Stages {
        let v1::Stages { decode_ns, preprocess_ns, queue_ns, batch_ns, inference_ns, postprocess_ns, encode_ns } =
            message;
        Stages { decode_ns, preprocess_ns, queue_ns, batch_ns, inference_ns, postprocess_ns, encode_ns, inflate_ns: 0 }
    }
}

/// The message in which a SUT node reports its stages; `inflate_ns` is not part of it.
impl From<Stages> for v1::Stages {
    fn from(stages: Stages) -> v1::Stages {
        let Stages { decode_ns, preprocess_ns, queue_ns, batch_ns, inference_ns, postprocess_ns, encode_ns, .. } =
            stages;
        v1::Stages { decode_ns, preprocess_ns, queue_ns, batch_ns, inference_ns, postprocess_ns, encode_ns }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stage_of_the_sut_crosses_the_network() {
        let stages = Stages {
            decode_ns: 1,
            preprocess_ns: 2,
            queue_ns: 3,
            batch_ns: 4,
            inference_ns: 5,
            postprocess_ns: 6,
            encode_ns: 7,
            inflate_ns: 8,
        };
        assert_eq!(stages.durations_ns(), [1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(Stages::from(v1::Stages::from(stages)), Stages { inflate_ns: 0, ..stages });
    }

    #[test]
    fn stages_fit_into_the_time_under_way_but_for_a_slack() {
        let fits =
            |inference_ns| Stages { decode_ns: 10_000_000, inference_ns, ..Stages::default() }.fit_into_ns(20_000_000);
        assert!(fits(10_000_000) && fits(11_200_000) && !fits(11_200_001) && !fits(u64::MAX));
    }

    #[test]
    fn a_duration_without_end_is_the_longest() {
        assert_eq!(duration_ns(Duration::from_micros(3)), 3_000);
        assert_eq!(duration_ns(Duration::MAX), u64::MAX);
    }
}
