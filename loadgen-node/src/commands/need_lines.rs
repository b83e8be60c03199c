//! The lines of `probe --require`, for people.

use std::fmt::Write as _;

use crate::network::fabric::rate;
use crate::outputs::documents::needs::{NeedDocument, NeedLimitKind, NeedsDocument};

/// A block for each codec.
pub(super) fn text(needs: &NeedsDocument) -> String {
    let rates: Vec<String> =
        needs.rates.iter().map(|rate| format!("{} {} samples/s", rate.benchmark, rate.samples_per_s)).collect();
    let mut text = format!("\nNeeds of {}\n", rates.join(" and "));
    needs.by_codec.iter().for_each(|need| block(&mut text, need));
    text
}

fn block(text: &mut String, need: &NeedDocument) {
    let gbit_s = |gbit_s: f64| if gbit_s > 0.0 { rate(Some(gbit_s * 1e9)) } else { "negligible".to_owned() };
    let verdict = if need.is_carried { "carried" } else { "NOT carried" };
    let _ = writeln!(
        text,
        "  {}: {verdict}; goodput {} up, {} down; link rate {} up, {} down",
        if need.codec == "none" { "without a codec" } else { &need.codec },
        gbit_s(need.goodput_gbit_s.ingress),
        gbit_s(need.goodput_gbit_s.egress),
        gbit_s(need.link_rate_gbit_s.ingress),
        gbit_s(need.link_rate_gbit_s.egress),
    );
    let count = |count: Option<u64>| count.map_or("not known".to_owned(), |count| count.to_string());
    let _ = writeln!(
        text,
        "    links like this one: {}; connections to each node: {}",
        count(need.links),
        count(need.connections)
    );
    if let Some(first) = need.limits.first() {
        let kind = match first.kind {
            NeedLimitKind::Wire => "wire",
            NeedLimitKind::Kernel => "kernel",
            NeedLimitKind::Cpu => "CPU",
            NeedLimitKind::Codec => "codec",
        };
        let _ = writeln!(text, "    first limit: {kind}: {}, {:.2} of what is needed", first.what, first.share);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outputs::documents::needs::{NeedLimit, RateDocument};
    use crate::outputs::documents::parts::ByDirection;

    #[test]
    fn a_block_says_whether_it_is_carried_and_what_limits_it_first() {
        let both = ByDirection { ingress: 24.08, egress: 0.0 };
        let limits = vec![NeedLimit { kind: NeedLimitKind::Cpu, what: "all processors".to_owned(), share: 0.5 }];
        let need = NeedDocument {
            codec: "none".to_owned(),
            goodput_gbit_s: both,
            link_rate_gbit_s: both,
            links: Some(3),
            connections: None,
            is_carried: false,
            limits,
        };
        let rates = vec![RateDocument { benchmark: "resnet50".to_owned(), samples_per_s: 20_000.0 }];
        let text = text(&NeedsDocument { rates, by_codec: vec![need] });
        for part in [
            "resnet50 20000 samples/s",
            "without a codec: NOT carried",
            "24.1 Gbit/s up, negligible down",
            "links like this one: 3; connections to each node: not known",
            "first limit: CPU: all processors, 0.50",
        ] {
            assert!(text.contains(part), "no '{part}' in {text}");
        }
    }
}
