//! Compression: which codecs a benchmark may have. Each sample is compressed for itself, the QSL has no other way.

use lon_qsl::Codec;
use lon_qsl::bandwidth::Direction;

use super::facts::Facts;
use super::rule::Verdict;

/// Section 6.2.4: the table of compression options.
pub(super) fn allowed(facts: &Facts<'_>) -> Verdict {
    let planned = facts.planned;
    let Some(rules) = planned.benchmark.network() else {
        return Verdict::unchecked(format!("the rules have no codecs for {}", planned.benchmark.name));
    };
    let codecs = [(planned.codec, Direction::Ingress), (planned.response_codec, Direction::Egress)];
    let breaches =
        codecs.into_iter().filter_map(|(codec, direction)| rules.check(codec, direction, planned.round).err());
    Verdict::of(breaches.map(|breach| breach.to_string()))
}

/// Section 6.2.4, note 1: the working group approves what is not left as it is, two weeks before the submission.
pub(super) fn approved(facts: &Facts<'_>) -> Verdict {
    match [facts.planned.codec, facts.planned.response_codec] {
        [Codec::None, Codec::None] => Verdict::KeptBecause("no codec, nothing to approve"),
        _ => Verdict::unchecked("only the submitter can say so"),
    }
}
