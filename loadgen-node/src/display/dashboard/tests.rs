//! The picture of made-up runs, sign by sign, as it is in `pictures`. `LON_BLESS=1` writes those anew.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::super::viewer::RunView;
use super::draw::draw;
use super::history::{Histories, History};
use super::keys::Controls;
use super::paint::Paint;
use super::picture::Scene;
use loadgen::run::LagStats;
use lon_run::examples::about;
use lon_run::live::latencies::{Percentiles, Spread};
use lon_run::live::latest_snapshot::Newest;
use lon_run::live::live_checks::{Check, Standing, State};
use lon_run::live::phase::Phase;
use lon_run::live::run_facts::About;
use lon_run::live::snapshot::{Node, Snapshot};
use lon_world::failures::Failed;

const SIZES: [(u16, u16); 2] = [(80, 24), (200, 60)];

/// Returns the text on a terminal of this size.
fn screen_text(scene: &Scene<'_>, (columns, rows): (u16, u16)) -> String {
    let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
    terminal.draw(|frame| draw(frame, scene)).unwrap();
    let buffer = terminal.backend().buffer();
    let line = |row: u16| {
        let text: String = (0..columns).map(|column| buffer[(column, row)].symbol()).collect();
        text.trim_end().to_owned() + "\n"
    };
    (0..rows).map(line).collect()
}

/// Compares the picture of one run with the one that is kept, in both sizes.
fn compare(name: &str, about: &About, snapshot: &Snapshot, history: &History, controls: &Controls, log: &[String]) {
    let histories = Histories::from([(None, history.clone())]);
    compare_all(name, &[run(None, about, snapshot)], &histories, controls, log);
}

/// A run as it is shown while it goes on.
fn run(tenant: Option<&str>, about: &About, snapshot: &Snapshot) -> RunView {
    let (about, snapshot) = (Arc::new(about.clone()), Arc::new(snapshot.clone()));
    RunView { tenant: tenant.map(str::to_owned), newest: Newest { about, snapshot, is_valid: None } }
}

/// Compares the picture of these runs with the one that is kept, in both sizes.
fn compare_all(name: &str, runs: &[RunView], histories: &Histories, controls: &Controls, log: &[String]) {
    let paint = Paint { has_colours: true };
    let scene = Scene { runs, histories, controls, log, paint };
    for size in SIZES {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("src/display/dashboard/pictures")
            .join(PathBuf::from(format!("{name}-{}x{}.txt", size.0, size.1)));
        let text = screen_text(&scene, size);
        if std::env::var_os("LON_BLESS").is_some() {
            fs::write(&path, &text).unwrap();
        }
        let picture = fs::read_to_string(&path).unwrap_or_default();
        assert!(text == picture, "{} is not what is drawn (LON_BLESS=1 writes it anew):\n{text}", path.display());
    }
}

fn percentiles(us: u64) -> Option<Percentiles> {
    let ns = us * 1_000;
    Some(Percentiles {
        count: 1_000,
        p50_ns: ns,
        p90_ns: ns * 2,
        p99_ns: ns * 4,
        p99_9_ns: ns * 9,
        judged_ns: ns * 4,
        max_ns: ns * 20,
    })
}

fn phase(ended: u64) -> Phase {
    Phase {
        number: 1,
        is_accuracy: false,
        trial: None,
        elapsed: Duration::from_secs(24),
        planned: Some(Duration::from_secs(60)),
        planned_samples: Some(60_000),
        ended,
        is_over: false,
    }
}

fn check(name: &str, value: &str, requirement: &str, state: State) -> Check {
    let text = str::to_owned;
    Check { name: text(name), value: text(value), requirement: text(requirement), state, is_timed: false }
}

fn node(name: &str, share: f64, per_s: f64) -> Node {
    let now = qdl::NodeNow { name: name.to_owned(), outstanding: (per_s / 100.0) as u64, ..qdl::NodeNow::default() };
    Node { now, share, samples_per_s: per_s, ingress_per_s: per_s * 640.0, egress_per_s: per_s * 40.0 }
}

/// A run that has gone on for a while.
fn usual() -> Snapshot {
    let checks = vec![
        check("answers", "none failed", "one for each sample", State::Holds),
        check("nodes", "2 of 2", "none may be lost", State::Holds),
        check("p99 latency", "4.8ms", "100.0ms at most", State::Holds),
        check("p99 lag", "30.0µs", "1.0ms at most", State::Holds),
        check("early stopping", "24000 queries", "459 at least", State::Holds),
        check("duration", "24.0s", "60.0s at least", State::Open),
        check("queries", "24000", "1000 at least", State::Holds),
    ];
    Snapshot {
        elapsed: Duration::from_secs(26),
        phase: Some(phase(24_000)),
        queries: 24_012,
        issued: 24_012,
        ended: 24_000,
        rate_per_s: 1_010.0,
        latency: Spread { recent: percentiles(1_100), so_far: percentiles(1_200) },
        lag: LagStats { count: 24_012, p50_ns: 10_000, p99_ns: 30_000, max_ns: 700_000 },
        recent_lag_ns: 40_000,
        nodes: vec![node("N1", 0.52, 520.0), node("N2", 0.48, 490.0)],
        standing: Standing { checks },
        ..Snapshot::default()
    }
}

/// Two minutes in which the rate rises and falls.
fn history() -> History {
    let mut history = History::default();
    for second in 0..120 {
        let rate = 1_000.0 + 400.0 * f64::sin(second as f64 / 8.0);
        let recent = percentiles(rate as u64);
        let (elapsed, latency) = (Duration::from_secs(second), Spread { recent, so_far: recent });
        let recent_lag_ns = 10_000 + second % 7 * 5_000;
        history.see(&Snapshot { elapsed, rate_per_s: rate, latency, recent_lag_ns, ..Snapshot::default() });
    }
    history
}

fn log() -> Vec<String> {
    let line = |number| format!("2026-01-01T00:00:0{number}.000000Z  INFO loadgen_node: line {number} of the log");
    (1..=9).map(line).collect()
}

#[test]
fn a_run_that_goes_on() {
    compare("usual", &about(false), &usual(), &history(), &Controls::default(), &log());
}

#[test]
fn a_run_before_its_first_answer() {
    let loading = Snapshot { loading: Some((300, 1_024)), ..Snapshot::default() };
    compare("loading", &about(false), &loading, &History::default(), &Controls::default(), &[]);
    let checks = vec![
        check("answers", "none failed", "one for each sample", State::Holds),
        check("p99 latency", "not known yet", "100.0ms at most", State::Open),
    ];
    let (standing, nodes) = (Standing { checks }, vec![node("N1", 0.0, 0.0)]);
    let none = Snapshot { phase: Some(phase(0)), issued: 3, standing, nodes, ..Snapshot::default() };
    compare("zero", &about(false), &none, &History::default(), &Controls::default(), &[]);
}

#[test]
fn a_run_of_128_nodes_some_of_them_lost() {
    let mut nodes: Vec<Node> = (0..128)
        .map(|i| node(&format!("node-{i:03}"), 0.005 + f64::from(i % 16) / 2_000.0, f64::from(100 + i % 16 * 10)))
        .collect();
    nodes[17].now.lost = Some(qdl::NodeFailure::Silent(Duration::from_secs(3)));
    nodes[40].samples_per_s = 0.0;
    let mut snapshot = Snapshot { nodes, ..usual() };
    let failed = Failed { reason: "node_lost", first: "its node was lost".to_owned(), samples: 7 };
    snapshot.failures = vec![failed];
    let (value, requirement) = ("1 lost, node-017: nothing was heard from it for 3s", "none may be lost");
    snapshot.standing.checks[1] = check("nodes", value, requirement, State::Broken);
    let mut controls = Controls::default();
    compare("many", &about(false), &snapshot, &history(), &controls, &log());
    (0..12).for_each(|_| _ = controls.press(KeyEvent::new(KeyCode::PageDown, KeyModifiers::NONE)));
    compare("many-last", &about(false), &snapshot, &history(), &controls, &log());
}

#[test]
fn a_run_of_tokens_that_asks_whether_to_stop() {
    let mut snapshot = usual();
    snapshot.first_token = Spread { recent: percentiles(900_000), so_far: percentiles(800_000) };
    snapshot.per_token = Spread { recent: percentiles(20_000), so_far: percentiles(21_000) };
    snapshot.tokens_per_s = Some(123_456.0);
    snapshot.standing.checks[2] = check("p99 TTFT", "3.2s", "2.0s at most", State::Fails);
    let mut controls = Controls::default();
    controls.press(KeyEvent::new(KeyCode::Char('q'), KeyModifiers::NONE));
    compare("tokens", &about(true), &snapshot, &history(), &controls, &log());
}

#[test]
fn long_names_are_cut_off_and_help_covers_the_middle() {
    let mut about = about(false);
    about.benchmark = "a-benchmark-with-a-name-that-is-longer-than-any-terminal-".repeat(4);
    about.sut_name = format!("Network SUT: {}", "a-node-with-a-long-name, ".repeat(20));
    let mut snapshot = usual();
    snapshot.nodes[0].now.name = "rack-17-shelf-3-host-with-a-very-long-name.example.org".to_owned();
    snapshot.nodes[1].now.name = "機械-".repeat(20);
    let value = "12 failed: refused by the node: ".to_owned() + &"the model ran out of memory ".repeat(8);
    snapshot.standing.checks[0] = check("answers", &value, "one for each sample", State::Broken);
    let long = vec!["a line of the log that goes on and on ".repeat(8)];
    let mut controls = Controls::default();
    compare("long", &about, &snapshot, &history(), &controls, &long);
    controls.press(KeyEvent::new(KeyCode::Char('h'), KeyModifiers::NONE));
    compare("help", &about, &snapshot, &history(), &controls, &long);
}

#[test]
fn charts_of_a_longer_time_show_more() {
    let (runs, log) = ([run(None, &about(false), &usual())], log());
    let histories = Histories::from([(None, history())]);
    let mut controls = Controls::default();
    let picture = |controls: &Controls| {
        let paint = Paint { has_colours: false };
        screen_text(&Scene { runs: &runs, histories: &histories, controls, log: &log, paint }, SIZES[0])
    };
    let before = picture(&controls);
    controls.press(KeyEvent::new(KeyCode::Char('-'), KeyModifiers::NONE));
    let after = picture(&controls);
    assert!(before.contains("last 60 s") && after.contains("last 5 min") && before != after, "{before}{after}");
}

#[test]
fn a_terminal_that_has_become_too_small_is_told_so() {
    let (runs, controls, paint) =
        ([run(None, &about(false), &usual())], Controls::default(), Paint { has_colours: true });
    let scene = Scene { runs: &runs, histories: &Histories::default(), controls: &controls, log: &[], paint };
    for size in [(1, 1), (20, 5), (59, 40), (100, 15)] {
        let text = screen_text(&scene, size);
        assert!(size == (1, 1) || text.contains("the terminal has"), "{size:?}: {text}");
    }
}

/// Three tenants: one as it should be, one that answers too late, one that is over.
fn tenants() -> Vec<RunView> {
    let mut chat = About { benchmark: "tokens".to_owned(), ..about(true) };
    chat.labels.clear();
    let mut late = Snapshot { rate_per_s: 4.2, phase: Some(phase(100)), issued: 130, ended: 100, ..usual() };
    late.standing.checks[2] = check("p99 TTFT", "3.2s", "2.0s at most", State::Fails);
    let over =
        Snapshot { phase: Some(Phase { is_over: true, ..phase(60_000) }), issued: 60_000, ended: 60_000, ..usual() };
    let mut backfill = run(Some("backfill"), &About { scenario: "Closed", ..about(false) }, &over);
    backfill.newest.is_valid = Some(true);
    vec![run(Some("vision"), &about(false), &usual()), run(Some("chat"), &chat, &late), backfill]
}

#[test]
fn tenants_beside_each_other_and_one_of_them() {
    let runs = tenants();
    let histories = Histories::from([(Some("vision".to_owned()), history())]);
    let mut controls = Controls::of_tenants(runs.len());
    compare_all("tenants", &runs, &histories, &controls, &log());
    controls.press(KeyEvent::new(KeyCode::Tab, KeyModifiers::NONE));
    compare_all("tenant", &runs, &histories, &controls, &log());
    controls.press(KeyEvent::new(KeyCode::Char('3'), KeyModifiers::NONE));
    compare_all("tenant-over", &runs, &histories, &controls, &log());
}

#[test]
fn tenants_that_have_not_begun_and_more_than_fit() {
    compare_all("tenants-none", &[], &Histories::default(), &Controls::default(), &log());
    let many: Vec<RunView> = (0..40).map(|i| run(Some(&format!("tenant-{i:02}")), &about(false), &usual())).collect();
    let mut controls = Controls::of_tenants(many.len());
    controls.press(KeyEvent::new(KeyCode::PageDown, KeyModifiers::NONE));
    compare_all("tenants-many", &many, &Histories::default(), &controls, &log());
}
