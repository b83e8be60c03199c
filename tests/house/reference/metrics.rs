//! The page of metrics, asked for from the programs.

use std::fmt::Write as _;

use lon_tests::metrics::{Page, free_address};
use lon_tests::process::SutNode;
use lon_tests::test_run::TestRun;

const METRICS: &str = "`--metrics-listen HOST:PORT` serves metrics at `/metrics`: OpenMetrics 1.0, or the older text \
format of Prometheus for\nclients that name `text/plain` alone. Counters begin with the program, and all series exist \
from its start.\n\nHistograms have classic buckets, those of seconds from 1 us to 100 s in steps of 1, 2 and 5, with \
`_sum` and `_count`\nbeside `_bucket`. Clients that name Prometheus's protobuf format first get it, with native \
buckets for durations: eight\nfor each doubling (schema 3).
";

const OF_SUT_NODE: &str = "
## SUT node

`sut-node serve`; every metric has the label `node`, the node's name.

| label | values |
|---|---|
| `purpose` | `run`, or `probe` (`--probe`) |
| `layer`, `direction` | those of `network_report.json` |
| `end` | `client`, or `lapsed` where the client went without the end of its run |
| `queue` | `decode` or `worker` |
| `model` of everything but probes, streams and samples in flight; `name` of `lon_sut_model_info` | the name of one of \
several models; a node with one has no such label |
| `reason` of failed samples | `unreadable` (no tensors), `decode` (not inflated or not pre-processed), `backend` \
(refused by it), `panic`, `encode` (the answer could not be encoded), `run_over` (no client waited for the answer) |

";

const OF_RUN: &str = "
## Run

`loadgen-node run`, with `--metrics-listen`, and in the file of `--metrics-file`. Metrics of tokens exist in token runs
alone, and `lon_loadgen_valid` when the run is judged. `lon_loadgen_retransmits` has the nodes that know the number.
Ends of the buckets of latencies hold to within 0.8 %.

| label | values |
|---|---|
| `reason` of failed samples | `refused`, `unusable`, `timed_out`, `node_lost`, `overload`, `no_node`, `not_inflated`, \
`run_ended` |
| `kind` of bad answers | `duplicate`, `late`, `foreign` |
| `statistic` | `p50`, `p99`, `max` |

";

pub(super) fn page() -> String {
    [METRICS.to_owned(), of_sut_node(), of_loadgen_node()].concat()
}

/// The metrics of a SUT node.
fn of_sut_node() -> String {
    let address = free_address();
    let _node = SutNode::start("n", "null", &["--metrics-listen", &address]);
    let table = table(&Page::at(&address), &["node"]);
    format!("{OF_SUT_NODE}{table}")
}

/// The metrics of a run with tokens, which has all of them.
fn of_loadgen_node() -> String {
    let node = SutNode::start("n", "synthetic:ttft=1ms,tpot=0ms,tokens=4", &[]);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.prom");
    let settings = "use_token_latencies=1,ttft_latency=60000,tpot_latency=60000,min_duration=0,min_query_count=10";
    let run = TestRun::new("Server").on(&node.address).dataset("synthetic:tokens-i64[16]x8").set(settings);
    let (finished, _) = run.args(&["--max-lag", "60s", "--metrics-file", file.to_str().unwrap()]).finish();
    assert!(matches!(finished.code, Some(0 | 3)), "{finished:?}");
    let page = Page::read(&std::fs::read_to_string(file).unwrap());
    format!("{OF_RUN}{}", table(&page, &[]))
}

/// A line for each metric of a program. Labels that all of them have are left out.
fn table(page: &Page, left_out: &[&str]) -> String {
    let mut text = String::from("| metric | type | unit | labels | meaning |\n|---|---|---|---|---|\n");
    for family in &page.families {
        let end = match family.kind.as_str() {
            "counter" => "_total",
            "info" => "_info",
            _ => "",
        };
        let labels: Vec<String> = family
            .labels
            .iter()
            .filter(|label| !left_out.contains(&label.as_str()))
            .map(|it| format!("`{it}`"))
            .collect();
        let (name, kind, unit, help) = (&family.name, &family.kind, &family.unit, &family.help);
        let _ = writeln!(text, "| `{name}{end}` | {kind} | {unit} | {} | {help} |", labels.join(", "));
    }
    text
}
