//! SUT nodes of several hosts, by one file. The hosts are this machine: see [`lon_tests::fleet`].

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use lon_run::documents::fleet::FleetNode;
use lon_run::documents::result_summary::ResultSummary;
use lon_run::documents::sut_setup::SutSetup;
use lon_tests::fleet::{Fleet, HOSTS, node, on};
use lon_tests::metrics::free_address;
use lon_tests::process::{SutNode, repository};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

#[track_caller]
fn assert_says(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "no '{part}' in: {text}");
    }
}

fn faults(node: &FleetNode) -> String {
    node.faults.join("; ")
}

fn is_there(pid: u32) -> bool {
    let state = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    state.rsplit_once(") ").is_some_and(|(_, fields)| !fields.starts_with('Z'))
}

/// The whole way, with a name that would do harm if a shell read it.
#[test]
fn three_nodes_are_checked_started_run_watched_and_ended() {
    let digits = repository("loadgen-node/qsl/digits/digits.onnx");
    let head = format!("serve = [\"--backend\", \"onnx:{}\"]\n{HOSTS}", digits.display());
    let evil = "N 2; touch harm; $(touch harm) `touch harm` \" ' \\";
    let names = ["N1", evil, "N3"];
    let fleet = Fleet::new(&head, &names.map(|name| node(name, &free_address(), "")));

    let (checked, code) = fleet.document("check");
    assert_eq!((code, checked.ok, checked.failed), (Some(0), 3, 0), "{checked:?}");
    for node in &checked.nodes {
        let program = node.program.as_ref().unwrap();
        assert_eq!((program.version.as_str(), node.port_taken), (env!("CARGO_PKG_VERSION"), Some(false)));
        let clock = node.clock.as_ref().unwrap();
        assert!(clock.offset_ns.unsigned_abs() <= clock.uncertainty_ns, "the same clock: {clock:?}");
    }
    assert_eq!(checked.nodes.iter().map(|node| node.name.as_str()).collect::<Vec<_>>(), names, "in the file's order");

    let started = fleet.does("start", &[]);
    assert_eq!(started.code, Some(0), "{started:?}");
    assert_says(&started.stdout, &["  ok  N1 ", "  started; process ", "answers as N3", "3 of 3 nodes ok"]);
    let (again, code) = fleet.document("start");
    let (status, _) = fleet.document("status");
    assert_eq!(code, Some(0), "{again:?}");
    for (again, now) in again.nodes.iter().zip(&status.nodes) {
        assert_eq!((again.done.as_deref(), again.pid), (Some("ran already"), now.pid), "{again:?}");
        assert_eq!(now.answer.as_ref().unwrap().name, now.name);
    }
    let (checked, code) = fleet.document("check");
    assert!(code == Some(0) && checked.nodes.iter().all(|node| node.port_taken == Some(true)), "{checked:?}");

    let run = "loadgen-node run $(loadgen-node fleet nodes fleet.toml) --benchmark digits --scenario Offline \
               --mode AccuracyOnly --out run";
    let ran = fleet.paste(run);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_says(&ran.stdout, &["Result    VALID", evil, "N3"]);

    let copied = fleet.does("logs", &["--out", "here"]);
    assert_eq!(copied.code, Some(0), "{copied:?}");
    let logs: Vec<PathBuf> = fs::read_dir(fleet.path("here")).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(logs.len(), 3, "{logs:?}");
    logs.iter().for_each(|log| assert_says(&fs::read_to_string(log).unwrap(), &[" serving "]));

    let one = fleet.does("stop", &["--only", "N1"]);
    assert!(one.code == Some(0) && one.stdout.contains("1 of 1 nodes ok"), "{one:?}");
    let (status, code) = fleet.document("status");
    assert_eq!((code, status.ok, faults(&status.nodes[0])), (Some(4), 2, "does not run".to_owned()), "{status:?}");
    let pids: Vec<u32> = status.nodes.iter().filter_map(|node| node.pid).collect();
    let stopped = fleet.does("stop", &[]);
    assert_eq!(stopped.code, Some(0), "{stopped:?}");
    assert_says(&stopped.stdout, &["nothing to end", "ended (process "]);
    assert!(pids.len() == 2 && !pids.into_iter().any(is_there), "{stopped:?}");
    assert!(!fleet.path("harm").exists(), "a name was read as a command");
}

/// Nodes with two models each, and a tenant for each model.
#[test]
fn a_mix_runs_over_the_nodes_of_a_fleet() {
    let head = format!("serve = [\"--backend\", \"a=null\", \"--backend\", \"b=synthetic:constant=1ms\"]\n{HOSTS}");
    let fleet = Fleet::new(&head, &["N1", "N2"].map(|name| node(name, &free_address(), "")));
    let tenants = ["a", "b"].map(|model| {
        format!(
            "[[tenant]]\nname = \"of-{model}\"\nmodel = \"{model}\"\nbenchmark = \"synthetic\"\n\
             dataset = \"synthetic:u8[8]x8\"\nscenario = \"Closed\"\n\
             settings = {{ concurrency = 2, min_query_count = 20, min_duration = \"300ms\" }}\n"
        )
    });
    fs::write(fleet.path("mix.toml"), tenants.concat()).unwrap();
    let started = fleet.does("start", &[]);
    assert_eq!(started.code, Some(0), "{started:?}");
    let ran =
        fleet.paste("loadgen-node run $(loadgen-node fleet nodes fleet.toml) --mix mix.toml --max-lag 3600s --out run");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_says(&ran.stdout, &["Result    VALID", "of-a", "of-b"]);
}

/// Each cell has nodes with its own flags, and the model comes with them.
#[test]
fn a_campaign_starts_the_nodes_of_a_fleet_with_the_flags_and_the_model_of_its_cells() {
    let fleet = Fleet::new(HOSTS, &["N1", "N2"].map(|name| node(name, &free_address(), "")));
    fs::copy(repository("loadgen-node/qsl/digits/digits.onnx"), fleet.path("model.onnx")).unwrap();
    let campaign = "out = \"out\"\n[run]\nbenchmark = \"digits\"\nscenario = \"Offline\"\n\
                    settings = { target_qps = 100, min_duration = \"0\" }\n\
                    [node]\nbackend = \"onnx:model.onnx\"\n[axes]\nnode.max-batch = [1, 4]\n";
    fs::write(fleet.path("c.toml"), campaign).unwrap();
    let ran = fleet.paste("loadgen-node campaign run c.toml --fleet fleet.toml");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    for batch in ["1", "4"] {
        let text = fs::read_to_string(fleet.path(&format!("out/max-batch={batch}/1/result_summary.json"))).unwrap();
        let result: ResultSummary = serde_json::from_str(&text).unwrap();
        let batch_of = |setup: &SutSetup| {
            setup.settings.iter().find(|(key, _)| key == "max_batch").map(|(_, value)| value.clone())
        };
        let nodes: Vec<(&str, Option<String>)> =
            result.sut.iter().map(|node| (node.setup.name.as_str(), batch_of(&node.setup))).collect();
        let batch = Some(batch.to_owned());
        assert_eq!(nodes, [("N1", batch.clone()), ("N2", batch)]);
    }
    let copies: Vec<PathBuf> =
        fs::read_dir(fleet.path("its logs/files")).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(copies.len(), 1, "equal models are one file: {copies:?}");
    assert_eq!(fs::read(&copies[0]).unwrap(), fs::read(fleet.path("model.onnx")).unwrap());
    let (status, _) = fleet.document("status");
    assert_eq!(status.ok, 0, "nodes end with the campaign: {status:?}");
}

#[test]
fn what_is_missing_or_in_the_way_is_said_of_each_host() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let other = SutNode::start("other", "null", &[]);
    let nodes = [
        node("fine", &free_address(), ""),
        on("gone", "away", &free_address(), ""),
        node("bare", &free_address(), "program = \"/no/such/sut-node\""),
        node("busy", &taken.local_addr().unwrap().to_string(), ""),
        node("wrong", &other.address, ""),
        node("stranger", &free_address(), "program = \"/bin/echo\""),
        on("mac", "apple", &free_address(), "program = \"/no/such/sut-node\""),
    ];
    let slow = Fleet::new(&format!("timeout = \"1s\"\n{HOSTS}"), &[on("slow", "hangs", &free_address(), "")]);
    let checked = slow.does("check", &[]);
    assert_eq!(checked.code, Some(4), "{checked:?}");
    let hangs = ["FAILED", "hangs", "has not ended after 1s", "does the host answer?"];
    assert_says(checked.stdout.lines().next().unwrap(), &hangs);
    // Only the port that is taken by nobody's node takes as long.
    let fleet = Fleet::new(&format!("timeout = \"20s\"\n{HOSTS}"), &nodes);
    let checked = fleet.does("check", &[]);
    assert_eq!(checked.code, Some(4), "{checked:?}");
    let expected: [(&str, &[&str]); 7] = [
        ("fine", &["ok", "port free"]),
        ("away", &["FAILED", "exit code 255", "no route to host gone"]),
        ("bare", &["FAILED", "no program /no/such/sut-node", "copy it there"]),
        ("busy", &["FAILED", "somebody listens", "SUT node"]),
        ("wrong", &["FAILED", "is answered by node 'other'"]),
        ("stranger", &["FAILED", "/bin/echo is no sut-node", "--version"]),
        ("apple", &["FAILED", "host mac runs Darwin (uname -s): sut-node and `fleet` need Linux"]),
    ];
    for ((name, parts), line) in expected.iter().zip(checked.stdout.lines()) {
        assert_says(line, &[&[*name], *parts].concat());
    }
    assert!(!checked.stdout.lines().nth(6).unwrap().contains("no program"), "the system alone: {checked:?}");
    assert_says(&checked.stderr, &["fleet check: 6 of 7 nodes failed: away, bare, busy, wrong, stranger, apple"]);
    let started = fleet.does("start", &["--only", "busy,wrong"]);
    assert_says(&started.stdout, &["taken by node 'other', which was not started from here", "0 of 2 nodes ok"]);
}

#[test]
fn a_start_that_fails_shows_what_the_node_said() {
    let head = format!("serve = [\"--backend\", \"null\"]\n{HOSTS}");
    let bad = "serve = [\"--no-such-flag\"]";
    let fleet = Fleet::new(&head, &[node("good", &free_address(), ""), node("bad", &free_address(), bad)]);
    let started = fleet.does("start", &[]);
    assert_eq!(started.code, Some(4), "{started:?}");
    let parts = [
        "  ok      good",
        "  FAILED  bad",
        "ended soon after its start",
        "log of bad:",
        "--no-such-flag",
        "1 of 2 nodes ok",
    ];
    assert_says(&started.stdout, &parts);
    assert_says(&started.stderr, &["1 of 2 nodes failed: bad"]);
    let (status, _) = fleet.document("status");
    assert_eq!((status.ok, faults(&status.nodes[1])), (1, "does not run".to_owned()), "{status:?}");
}

#[test]
fn no_node_is_started_on_a_host_of_another_system() {
    let fleet = Fleet::new(HOSTS, &[on("mac", "apple", &free_address(), "")]);
    let (started, code) = fleet.document("start");
    assert_eq!(code, Some(4), "{started:?}");
    assert_eq!(faults(&started.nodes[0]), "host mac runs Darwin (uname -s): sut-node and `fleet` need Linux");
    assert!(!fleet.path("its logs").exists(), "nothing was left there");
}

#[test]
fn a_node_that_neither_answers_nor_ends_is_said_and_left() {
    let deaf = "command = [\"sh\", \"-c\", \"trap : TERM; echo deaf; while :; do sleep 1; done\"]";
    let head = format!("ready-timeout = \"8s\"\nstop-timeout = \"1s\"\n{HOSTS}");
    let fleet = Fleet::new(&head, &[node("deaf", &free_address(), deaf)]);
    let (started, code) = fleet.document("start");
    assert_eq!(code, Some(4), "{started:?}");
    assert_says(&faults(&started.nodes[0]), &["runs, but has not answered after 8s"]);
    assert_eq!(started.nodes[0].log, ["deaf"]);
    let (stopped, code) = fleet.document("stop");
    assert_eq!(code, Some(4), "{stopped:?}");
    let pid = started.nodes[0].pid.unwrap();
    assert_says(&faults(&stopped.nodes[0]), &[&format!("process {pid} has not ended 1s after SIGTERM"), "kill -KILL"]);
    assert!(is_there(pid));
    kill(Pid::from_raw(pid as i32), Signal::SIGKILL).unwrap();
}

#[test]
fn a_process_that_got_the_id_of_a_node_is_left_alone() {
    let fleet = Fleet::new(HOSTS, &[node("N1", &free_address(), "")]);
    let mut stranger = Command::new("sleep").arg("600").spawn().unwrap();
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    fs::create_dir(fleet.path("its logs")).unwrap();
    fs::write(fleet.path("its logs/N1.pid"), format!("{} 1 {boot}", stranger.id())).unwrap();
    let stopped = fleet.does("stop", &[]);
    assert!(stopped.code == Some(0) && stopped.stdout.contains("nothing to end"), "{stopped:?}");
    assert_eq!(stranger.try_wait().unwrap(), None);
    stranger.kill().unwrap();
    stranger.wait().unwrap();
}

#[test]
fn what_a_dry_run_prints_does_the_same_when_it_is_pasted() {
    let head = format!("serve = [\"--backend\", \"null\"]\n{HOSTS}");
    let fleet = Fleet::new(&head, &[node("N 1", &free_address(), ""), node("N2", &free_address(), "")]);
    let printed = fleet.does("start", &["--dry-run"]);
    assert_eq!(printed.code, Some(0), "{printed:?}");
    assert!(!fleet.path("its logs").exists(), "nothing was done");
    assert_says(&printed.stdout, &["# N 1 on here\nsh -c ", "# N2 on here\n"]);
    let pasted = fleet.paste(&printed.stdout);
    assert_eq!(pasted.stdout.matches("started ").count(), 2, "{pasted:?}");
    let (started, code) = fleet.document("start");
    assert!(code == Some(0) && started.nodes.iter().all(|it| it.done.as_deref() == Some("ran already")), "{started:?}");
    let pasted = fleet.paste(&fleet.does("stop", &["--dry-run"]).stdout);
    assert_eq!(pasted.stdout.matches("ended ").count(), 2, "{pasted:?}");
}

#[test]
fn an_interrupt_ends_what_was_under_way() {
    let fleet = Fleet::new(&format!("timeout = \"10m\"\n{HOSTS}"), &[on("slow", "N1", "127.0.0.1:8000", "")]);
    let checking = fleet.begin("check", &[]);
    let pid_file = fleet.path("begun");
    let read = |path: &Path| fs::read_to_string(path).ok().and_then(|text| text.trim().parse::<u32>().ok());
    let pid = loop {
        match read(&pid_file) {
            Some(pid) => break pid,
            None => std::thread::sleep(Duration::from_millis(10)),
        }
    };
    checking.signal(Signal::SIGTERM);
    let ended = checking.finish();
    assert_eq!(ended.code, Some(5), "{ended:?}");
    assert_says(&ended.stderr, &["interrupted", "N1"]);
    assert!(!is_there(pid), "the command that hung is left");
}

#[test]
fn files_that_cannot_be_used_are_refused_with_the_fix() {
    let at = node("N1", "127.0.0.1:8000", "");
    for (head, parts) in [
        ("token = \"S3CRET\"", &["token", "--token-file", "fleet.toml"][..]),
        ("serve = [\"--api-key=S3CRET\"]", &["api-key", "--api-key-file"]),
        ("colour = \"S3CRET\"", &["colour", "unknown field"]),
        ("ssh = \"ssh 'S3CRET\"", &["ssh", "quote"]),
        ("timeout = \"soon\"", &["timeout", "for example 10s"]),
        ("[reach]\ntoken-file = \"missing\"", &["[reach]", "missing"]),
    ] {
        let fleet = Fleet::new(head, std::slice::from_ref(&at));
        let refused = fleet.does("status", &[]);
        assert_eq!(refused.code, Some(2), "{refused:?}");
        assert_says(&refused.stderr, parts);
        assert!(
            head.starts_with("colour") || head.starts_with("ssh") || !refused.stderr.contains("S3CRET"),
            "{refused:?}"
        );
    }
    let fleet = Fleet::new("", &[at]);
    let unknown = fleet.does("status", &["--only", "N2"]);
    assert!(unknown.code == Some(2) && unknown.stderr.contains("there are N1"), "{unknown:?}");
    let twice = fleet.does("init", &[]);
    assert!(twice.code == Some(2) && twice.stderr.contains("never overwritten"), "{twice:?}");
    fs::remove_file(fleet.path("fleet.toml")).unwrap();
    let missing = fleet.does("status", &[]);
    assert!(missing.code == Some(2) && missing.stderr.contains("fleet init"), "{missing:?}");
    assert_eq!(fleet.does("init", &[]).code, Some(0));
    let nodes = fleet.does("nodes", &[]);
    assert_eq!((nodes.code, nodes.stdout.as_str()), (Some(0), "--sut 10.0.0.2:8000,10.0.0.3:8000 --insecure\n"));
}
