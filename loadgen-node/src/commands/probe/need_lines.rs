//! The lines of `probe --require`, for people.

use std::fmt::Write as _;

use lon_run::network::fabric::rate;
use lon_run::outputs::documents::probe::needs::{NeedDocument, NeedsDocument};

/// A block for each codec, by the fabric over this transport.
pub(super) fn text(needs: &NeedsDocument, transport: &str) -> String {
    let rates: Vec<String> =
        needs.rates.iter().map(|rate| format!("{} {} samples/s", rate.benchmark, rate.samples_per_s)).collect();
    let mut text = format!("\nNeeds of {} over {transport}\n", rates.join(" and "));
    needs.by_codec.iter().for_each(|need| block(&mut text, need));
    text
}

fn block(text: &mut String, need: &NeedDocument) {
    let gbit_s = |gbit_s: f64| if gbit_s > 0.0 { rate(Some(gbit_s * 1e9)) } else { "negligible".to_owned() };
    let verdict = if need.is_carried { "carried" } else { "NOT carried" };
    let _ = writeln!(
        text,
        "  {}: {verdict}; needs {} up and {} down of payload, a link of {} up and {} down ({})",
        if need.codec == "none" { "without a codec" } else { &need.codec },
        gbit_s(need.goodput_gbit_s.ingress),
        gbit_s(need.goodput_gbit_s.egress),
        gbit_s(need.link_rate_gbit_s.ingress),
        gbit_s(need.link_rate_gbit_s.egress),
        need.link_rate_over,
    );
    // Where one link is enough and something else is not, links are no remedy.
    if need.is_carried || need.links != Some(1) {
        let _ = writeln!(text, "    as measured, that is {}, {}", links(need.links), connections(need.connections));
    }
    if let Some(first) = need.limits.first() {
        let word = if need.is_carried { "tightest" } else { "first limit" };
        let _ = writeln!(text, "    {word}: {}", first.what);
    }
}

fn links(count: Option<u64>) -> String {
    match count {
        Some(1) => "1 link like this one".to_owned(),
        Some(count) => format!("{count} links like this one"),
        None => "an unknown number of links".to_owned(),
    }
}

fn connections(count: Option<u64>) -> String {
    match count {
        Some(1) => "1 connection to each node".to_owned(),
        Some(count) => format!("{count} connections to each node"),
        None => "an unknown number of connections".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lon_run::network::by_direction::ByDirection;
    use lon_run::outputs::documents::probe::needs::RateDocument;
    use lon_run::probe::needs::{Limit, LimitKind};

    #[test]
    fn a_block_says_whether_it_is_carried_and_what_limits_it_first() {
        let both = ByDirection { ingress: 24.08, egress: 0.0 };
        let what = "decompression needs 5.2 decode threads, the SUT has 2".to_owned();
        let limits = vec![Limit { kind: LimitKind::Codec, what, share: 0.38 }];
        let need = NeedDocument {
            codec: "none".to_owned(),
            goodput_gbit_s: both,
            link_rate_gbit_s: both,
            link_rate_over: "TCP over MTU 1500".to_owned(),
            links: Some(3),
            connections: None,
            is_carried: false,
            limits,
        };
        let rates = vec![RateDocument { benchmark: "resnet50".to_owned(), samples_per_s: 20_000.0 }];
        let one_link = NeedDocument { links: Some(1), ..need.clone() };
        let text_of = |need: NeedDocument| text(&NeedsDocument { rates: rates.clone(), by_codec: vec![need] }, "tcp");
        assert!(!text_of(one_link).contains("like this one"), "links are no remedy");
        let text = text_of(need);
        for part in [
            "resnet50 20000 samples/s over tcp",
            "without a codec: NOT carried",
            "needs 24.1 Gbit/s up and negligible down of payload, a link of 24.1 Gbit/s up and negligible down (TCP",
            "as measured, that is 3 links like this one, an unknown number of connections",
            "first limit: decompression needs 5.2 decode threads, the SUT has 2",
        ] {
            assert!(text.contains(part), "no '{part}' in {text}");
        }
    }
}
