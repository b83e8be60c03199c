//! Comparisons of made-up probes.

use std::collections::BTreeMap;

use lon_machine::nic::Interface;

use super::compare::{compare, same_flags, same_nodes};
use super::steady::{saved, starved, unsteady};
use super::text::text;
use lon_run::examples::probe;
use lon_run::examples::{judged, matrix};
use lon_run::network::by_way::ByWay;
use lon_run::outputs::documents::probe::changes::{AgainstDocument, ChangeKind, LikelyDocument, Place};
use lon_run::outputs::documents::probe::{AskedDocument, EndDocument, ProbeDocument};

/// A probe of nodes with this goodput up and down in Gbit/s, five repeats of each that differ by a per mille.
fn measured(nodes: &[(&str, f64, f64)], together: (f64, f64)) -> ProbeDocument {
    let repeats = |mean: f64| [-1.0, -0.5, 0.0, 0.5, 1.0].map(|off| mean * (1.0 + off / 1000.0)).to_vec();
    let goodputs = |up: f64, down: f64| ByWay { up: repeats(up), down: repeats(down), both: repeats(up.min(down)) };
    let mut document = probe(&nodes.iter().map(|(name, ..)| *name).collect::<Vec<_>>());
    for (node, (_, up, down)) in document.fabric.nodes.iter_mut().zip(nodes) {
        node.goodput_repeats_gbit_s = goodputs(*up, *down);
    }
    document.fabric.together.goodput_repeats_gbit_s = goodputs(together.0, together.1);
    document
}

fn against(before: &ProbeDocument, now: &ProbeDocument) -> AgainstDocument {
    compare(before, now, 0.05, "base.json").unwrap()
}

#[test]
fn what_is_as_it_was_passes() {
    let before = measured(&[("N1", 10.0, 10.0), ("N2", 10.0, 10.0)], (10.0, 10.0));
    let comparison = against(&before, &measured(&[("N1", 9.6, 10.2), ("N2", 10.0, 9.9)], (9.7, 10.0)));
    assert!(comparison.passed && comparison.changes.is_empty(), "{comparison:?}");
    assert_eq!(comparison.unchanged.len(), 9, "two nodes and all at once, three ways each: {comparison:?}");
    let output = text(&comparison);
    let line = "same       tcp N1: goodput up was 10.0 Gbit/s, is 9.60 Gbit/s (-4.0 %";
    assert!(output.contains(line) && output.contains("passed: no goodput fell by more than 5 %"), "{output}");
}

/// A baseline of +-20 % and a probe of +-17 % cannot tell a loss of 5 %.
#[test]
fn what_scatters_more_than_the_tolerance_is_undecided() {
    let scatter =
        |mean: f64, off: f64| (0..15).map(|at| mean * (1.0 + off * f64::from(at % 3 - 1))).collect::<Vec<_>>();
    let mut before = measured(&[("N1", 10.0, 10.0)], (10.0, 10.0));
    let mut now = before.clone();
    before.fabric.nodes[0].goodput_repeats_gbit_s.up = scatter(10.0, 0.43);
    now.fabric.nodes[0].goodput_repeats_gbit_s.up = scatter(9.79, 0.37);
    let comparison = against(&before, &now);
    assert!(!comparison.passed && comparison.is_undecided(), "{comparison:?}");
    assert_eq!(comparison.changes.iter().map(|it| it.kind).collect::<Vec<_>>(), [ChangeKind::Undecided]);
    let output = text(&comparison);
    for part in ["undecided  tcp N1: goodput up", "-2.1 %", "reaches below -5 %: more --repeats", "UNDECIDED"] {
        assert!(output.contains(part), "no '{part}' in {output}");
    }
    assert_eq!(unsteady(&before, 0.05), ["tcp goodput up of N1: \u{b1}20.1 %"]);
    let remark = "a weak baseline: its goodputs scatter more than --tolerance 5% (tcp goodput up of N1: \u{b1}20.1 %)";
    assert_eq!(saved(&before, 0.05, "good.json"), format!("\nSaved good.json, {remark}\n"));
    let steady = measured(&[("N1", 1.0, 1.0)], (1.0, 1.0));
    assert_eq!(unsteady(&steady, 0.05), Vec::<String>::new());
    assert_eq!(saved(&steady, 0.05, "good.json"), "\nSaved good.json: a baseline for --tolerance 5%\n");
}

#[test]
fn what_was_not_measured_or_too_rarely_is_undecided() {
    let before = measured(&[("N1", 10.0, 10.0)], (10.0, 10.0));
    let mut now = before.clone();
    now.fabric.nodes[0].goodput_repeats_gbit_s.down.clear();
    now.fabric.nodes[0].goodput_repeats_gbit_s.up.truncate(2);
    let comparison = against(&before, &now);
    assert!(comparison.is_undecided(), "{comparison:?}");
    let output = text(&comparison);
    assert!(output.contains("not measured in both probes") && output.contains("takes 3 --repeats"), "{output}");
    assert_eq!(
        unsteady(&now, 0.05),
        ["tcp goodput up of N1: 2 of 3 repeats", "tcp goodput down of N1: 0 of 3 repeats"]
    );
}

#[test]
fn one_direction_of_one_node_is_found() {
    let before = measured(&[("N1", 10.0, 10.0), ("N2", 10.0, 10.0)], (10.0, 10.0));
    let comparison = against(&before, &measured(&[("N1", 10.0, 10.0), ("N2", 10.0, 8.0)], (10.0, 10.0)));
    assert!(!comparison.passed);
    let worse: Vec<(&str, &str)> =
        comparison.changes.iter().map(|it| (it.node.as_deref().unwrap(), it.quantity.as_str())).collect();
    assert_eq!(worse, [("N2", "goodput down"), ("N2", "goodput both ways at once (sum)")]);
    let likely = comparison.changes[0].likely.clone().unwrap();
    assert_eq!((likely.name.as_deref(), likely.direction.as_str()), (Some("N2"), "down"), "{likely:?}");
    assert_eq!(comparison.changes[0].change_percent, Some(-20.0));
}

#[test]
fn what_all_nodes_share_is_told_from_what_one_has() {
    let before = measured(&[("N1", 10.0, 10.0), ("N2", 10.0, 10.0)], (10.0, 10.0));
    let all = against(&before, &measured(&[("N1", 8.0, 10.0), ("N2", 8.0, 10.0)], (8.0, 10.0)));
    assert!(all.changes.iter().all(|it| it.likely.as_ref().unwrap().place == Place::SharedLink), "{all:?}");
    let only_together = against(&before, &measured(&[("N1", 10.0, 10.0), ("N2", 10.0, 10.0)], (8.0, 10.0)));
    assert_eq!(only_together.changes[0].node, None);
    assert_eq!(only_together.changes[0].likely.as_ref().unwrap().place, Place::SharedLink);
}

#[test]
fn what_may_be_chance_is_said_and_undecided() {
    let before = measured(&[("N1", 10.0, 10.0)], (10.0, 10.0));
    let mut now = before.clone();
    now.fabric.nodes[0].goodput_repeats_gbit_s.up = vec![10.0, 3.0, 10.1, 10.0, 9.9];
    let comparison = against(&before, &now);
    assert!(comparison.is_undecided() && comparison.changes[0].kind == ChangeKind::Undecided, "{comparison:?}");
    now.fabric.nodes[0].goodput_repeats_gbit_s.up = vec![9.0, 8.0, 9.9, 9.1, 8.4, 8.0];
    let comparison = against(&before, &now);
    assert_eq!(comparison.changes[0].kind, ChangeKind::Undecided, "its best is as it was");
    assert!(text(&comparison).contains("the best repeat is as it was"), "{}", text(&comparison));
    now.fabric.nodes[0].goodput_repeats_gbit_s.up = vec![11.0, 11.1, 11.0];
    let comparison = against(&before, &now);
    assert!(comparison.passed && comparison.changes[0].kind == ChangeKind::Better, "{comparison:?}");
}

#[test]
fn other_nodes_and_transports_cannot_be_compared() {
    let before = measured(&[("N1", 1.0, 1.0)], (1.0, 1.0));
    let error = compare(&before, &measured(&[("N2", 1.0, 1.0)], (1.0, 1.0)), 0.05, "f").unwrap_err();
    assert!(error.contains("N1") && error.contains("N2"), "{error}");
    let more = measured(&[("N1", 1.0, 1.0), ("N2", 1.0, 1.0)], (1.0, 1.0));
    assert!(compare(&before, &more, 0.05, "f").is_err());
    let mut other = before.clone();
    other.fabric.transport = "quic".to_owned();
    assert!(compare(&before, &other, 0.05, "f").unwrap_err().contains("--transport"));
    let early = ProbeDocument { ended_early: Some("lost".to_owned()), ..before.clone() };
    assert!(compare(&early, &before, 0.05, "f").unwrap_err().contains("ended early"));
}

#[test]
fn an_end_that_is_configured_in_another_way_differs() {
    let mut before = measured(&[("N1", 1.0, 1.0)], (1.0, 1.0));
    let end = |mtu_bytes| EndDocument { mtu_bytes: Some(mtu_bytes), ..end(0.1) };
    before.fabric.nodes[0].sut = Some(end(9000));
    let mut now = before.clone();
    now.fabric.nodes[0].sut = Some(end(1500));
    let comparison = against(&before, &now);
    assert!(!comparison.passed);
    assert_eq!((comparison.changes[0].before.as_str(), comparison.changes[0].now.as_str()), ("9000", "1500"));
    assert_eq!(comparison.changes[0].quantity, "MTU of the way at N1");
}

/// An end that spends so many seconds for a gigabyte.
fn end(cpu_s_per_gb: f64) -> EndDocument {
    let cost = Some(cpu_s_per_gb);
    EndDocument {
        cpu_s_per_gb: ByWay { up: cost, down: cost, both: cost },
        core_wait_s_per_s: ByWay::default(),
        cores: 4,
        retransmits: Some(0),
        mtu_bytes: None,
        segment_bytes: None,
        congestion_control: None,
        interface: Some(Interface::default()),
        counters_moved: BTreeMap::new(),
    }
}

/// Returns the likely cause at one node with these ends, whose goodput up fell from 10 to 8 Gbit/s.
fn one_node(before: [EndDocument; 2], now: [EndDocument; 2]) -> LikelyDocument {
    let with = |up, [loadgen, sut]: [EndDocument; 2]| {
        let mut probe = measured(&[("N1", up, 10.0)], (up, 10.0));
        (probe.fabric.nodes[0].loadgen, probe.fabric.nodes[0].sut) = (Some(loadgen), Some(sut));
        probe
    };
    let comparison = compare(&with(10.0, before), &with(8.0, now), 0.05, "f").unwrap();
    comparison.changes[0].likely.clone().unwrap()
}

#[test]
fn a_full_processor_speaks_for_its_host() {
    let cause = one_node([end(0.1), end(0.1)], [end(0.1), end(1.0)]);
    assert_eq!((cause.place, cause.name.as_deref(), cause.direction.as_str()), (Place::Host, Some("N1"), "up"));
    let cause = one_node([end(0.1), end(0.1)], [end(1.0), end(0.1)]);
    assert_eq!((cause.place, cause.name.as_deref()), (Place::Host, Some("the LoadGen node")));
}

#[test]
fn loss_speaks_for_the_link() {
    let lossy = EndDocument { retransmits: Some(500), ..end(0.1) };
    let cause = one_node([end(0.1), end(0.1)], [lossy, end(0.1)]);
    assert!(cause.place == Place::Link && cause.why.contains("500 segments"), "{cause:?}");
    let dropping = EndDocument { counters_moved: [("nic.rx_dropped".to_owned(), 7)].into_iter().collect(), ..end(0.1) };
    let cause = one_node([end(0.1), end(0.1)], [end(0.1), dropping]);
    assert!(cause.place == Place::Link && cause.why.contains("nic.rx_dropped 7"), "{cause:?}");
}

#[test]
fn two_ends_with_time_to_spare_speak_for_the_link_too() {
    let cause = one_node([end(0.1), end(0.1)], [end(0.1), end(0.1)]);
    assert!(cause.place == Place::Link && cause.why.contains("neither end"), "{cause:?}");
}

#[test]
fn an_end_that_waited_for_a_core_speaks_for_its_host() {
    let waiting = |up| EndDocument { core_wait_s_per_s: ByWay { up: Some(up), down: None, both: None }, ..end(0.1) };
    let cause = one_node([end(0.1), waiting(0.1)], [waiting(0.3), waiting(0.79)]);
    assert_eq!((cause.place, cause.name.as_deref()), (Place::Host, Some("N1")));
    assert_eq!(cause.why, "its threads had no core for 0.79 s of each second; it was 0.10 s");
    let cause = one_node([end(0.1), end(0.1)], [waiting(0.1), waiting(0.1)]);
    assert_eq!(cause.place, Place::Link, "cores were there");
}

#[test]
fn a_baseline_of_a_busy_host_is_a_weak_one() {
    let mut steady = measured(&[("N1", 10.0, 10.0)], (10.0, 10.0));
    assert!(starved(&steady).is_empty() && saved(&steady, 0.05, "good.json").contains("a baseline for"));
    steady.fabric.nodes[0].sut =
        Some(EndDocument { core_wait_s_per_s: ByWay { up: Some(0.79), down: None, both: Some(0.1) }, ..end(0.1) });
    let remark = "over tcp, threads of N1 had no core for 0.79 s of each second";
    assert_eq!(starved(&steady), [remark]);
    let remark = format!("a weak baseline: {remark}, and a later probe may find that core free");
    assert_eq!(saved(&steady, 0.05, "good.json"), format!("\nSaved good.json, {remark}\n"));
}

#[test]
fn nodes_of_other_names_are_refused_before_a_measurement() {
    let before = measured(&[("N1", 10.0, 10.0), ("N2", 10.0, 10.0)], (10.0, 10.0));
    assert_eq!(same_nodes(&before.fabric, &["N2", "N1"], "base.json"), Ok(()));
    let error = same_nodes(&before.fabric, &["N1", "N3"], "base.json").unwrap_err();
    assert_eq!(error, "base.json has the nodes N1, N2, this probe N1, N3: probe the same nodes");
}

#[test]
fn loopback_has_no_link_that_can_be_bad() {
    let local = || EndDocument { interface: None, ..end(0.1) };
    let cause = one_node([local(), local()], [local(), local()]);
    assert_eq!((cause.place, cause.name.as_deref()), (Place::Host, Some("the LoadGen node")));
    assert!(cause.why.contains("loopback, which has no link"), "{cause:?}");
}

#[test]
fn of_both_ways_a_direction_is_named_only_where_the_other_is_shown_to_be_well() {
    let before = measured(&[("N1", 10.0, 10.0)], (10.0, 10.0));
    let mut now = measured(&[("N1", 10.0, 8.0)], (10.0, 8.0));
    let directions = |now: &ProbeDocument| {
        let changes = against(&before, now).changes;
        changes.into_iter().filter_map(|change| Some(change.likely?.direction)).collect::<Vec<_>>()
    };
    assert_eq!(directions(&now), ["down", "down"]);
    now.fabric.nodes[0].goodput_repeats_gbit_s.up = vec![10.0, 3.0, 10.1, 10.0, 9.9];
    assert_eq!(directions(&now), ["down", "both"], "up is undecided");
}

#[test]
fn the_verdict_says_what_how_much_and_where() {
    let before = measured(&[("N1", 10.0, 10.0), ("N2", 10.0, 10.0)], (10.0, 10.0));
    let now = measured(&[("N1", 8.0, 10.0), ("N2", 10.0, 10.0)], (10.0, 10.0));
    let text = text(&compare(&before, &now, 0.05, "base.json").unwrap());
    for part in [
        "base.json",
        "worse",
        "N1: goodput up",
        "10.0 Gbit/s",
        "8.00 Gbit/s",
        "-20.0 %",
        "the link of N1",
        "direction up",
        "FAILED",
    ] {
        assert!(text.contains(part), "no '{part}' in {text}");
    }
}

#[test]
fn a_way_between_nodes_that_became_slow_is_found() {
    let mut before = measured(&[("n1", 10.0, 10.0), ("n2", 10.0, 10.0)], (10.0, 10.0));
    let mut now = before.clone();
    let rates = |back: f64| judged(&matrix(&[vec![0.0, 10.0], vec![back, 0.0]]));
    now.matrix = vec![rates(8.0)];
    let missing = compare(&before, &now, 0.05, "base.json").unwrap_err();
    assert!(missing.contains("without --matrix"), "{missing}");
    before.matrix = vec![rates(10.0)];
    let comparison = against(&before, &now);
    let [one_repeat, change] = &comparison.changes[..] else { panic!("{comparison:?}") };
    assert_eq!(one_repeat.kind, ChangeKind::Undecided, "the other way, as fast as before");
    assert_eq!((change.node.as_deref(), change.quantity.as_str()), (Some("n2"), "goodput to n1"));
    assert_eq!((change.kind, change.change_percent, comparison.passed), (ChangeKind::Worse, Some(-20.0), false));
    now.matrix.clear();
    assert!(compare(&before, &now, 0.05, "base.json").unwrap_err().contains("--matrix"));
}

/// Goodput depends on both flags, so another value would pass for a change of the fabric.
#[test]
fn flags_that_change_the_goodput_must_be_the_same() {
    let flags = |connections: &[usize], duration_s| AskedDocument { duration_s, connections: connections.to_vec() };
    let saved = flags(&[1], 2.0);
    assert_eq!(same_flags(Some(&saved), &saved, "f.json"), Ok(()));
    assert_eq!(same_flags(None, &saved, "f.json"), Ok(()), "a file of an earlier version");
    let error = same_flags(Some(&saved), &flags(&[1, 4], 0.5), "f.json").unwrap_err();
    let message =
        "f.json was saved with --connections 1 --duration 2s, this probe has --connections 1,4 --duration 0.5s";
    assert!(error.starts_with(message), "{error}");
}
