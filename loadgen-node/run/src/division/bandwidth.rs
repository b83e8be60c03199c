//! Bandwidth: what Appendix B requires for the measured rate, beside what a probe has measured.

use lon_qsl::bandwidth::apart;

use super::facts::Facts;
use super::rule::Verdict;
use crate::network::bandwidth::Bandwidth;

/// Appendix B: the network carries what the rate needs.
pub(super) fn enough(facts: &Facts<'_>) -> Verdict {
    match facts.run {
        None => Verdict::unchecked("known after the run"),
        Some(run) => of(run.bandwidth),
    }
}

/// The verdict on these figures.
pub(super) fn of(bandwidth: &Bandwidth) -> Verdict {
    let (required, probed) = (&bandwidth.required, &bandwidth.probed);
    let figures = [("ingress", required.ingress, probed.ingress), ("egress", required.egress, probed.egress)];
    let little = figures.into_iter().filter_map(|(direction, required, probed)| {
        let (required, probed) = (required?, probed?);
        let fault = || {
            let [required, probed] = apart(required, probed);
            format!("{direction}: {required} is required, the fabric gave {probed}")
        };
        (required > probed).then(fault)
    });
    let little: Vec<String> = little.collect();
    match () {
        () if !little.is_empty() => Verdict::of(little),
        () if required.ingress.is_none() => Verdict::unchecked(bandwidth.verdict.clone()),
        () if figures
            .iter()
            .any(|(_, required, probed)| required.is_some_and(|bits| bits > 0.0) && probed.is_none()) =>
        {
            Verdict::unchecked("the fabric was not measured (--probe)")
        }
        () => Verdict::Kept,
    }
}
