//! Arrival processes, traces, bursts, closed loops and searches, from whole systems over two nodes.

use std::fs;
use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use lon_tests::process::{LoadGen, SutNode, sut};
use lon_tests::run_folder::RunFolder;
use lon_tests::test_run::{TestRun, went_well};
use serde_json::Value;
use tempfile::TempDir;

/// Two nodes that take so long for a sample.
fn nodes(backend: &str) -> [SutNode; 2] {
    ["a", "b"].map(|name| SutNode::start(name, backend, &[]))
}

fn ran(nodes: &[SutNode; 2], scenario: &str, set: &str, args: &[&str]) -> (RunFolder, Value, String) {
    let test = TestRun::new(scenario).patient().on(&sut(nodes)).set(set).args(args);
    let (finished, folder) = went_well(test, &format!("{scenario} {args:?}"));
    assert!(!finished.stdout.is_empty(), "{finished:?}");
    let result = folder.result();
    let screen = fs::read_to_string(folder.path.join("result.txt")).unwrap();
    (folder, result, screen)
}

/// The due times of a run, as its timeline has them when it is sent again.
fn due_ns(args: &[&str]) -> Vec<u64> {
    numbers(&traced(args), "schedule_ns")
}

/// The one phase that `trace` prints of a Server run.
fn traced(args: &[&str]) -> Value {
    let dataset = ["--benchmark", "synthetic", "--dataset", "synthetic:u8[64]x16", "--scenario", "Server"];
    let finished = LoadGen::run(&[&["trace"][..], &dataset, args].concat());
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let trace: Value = serde_json::from_str(&finished.stdout).unwrap();
    trace["phases"][0].clone()
}

fn numbers(phase: &Value, key: &str) -> Vec<u64> {
    phase[key].as_array().unwrap().iter().map(|number| number.as_u64().unwrap()).collect()
}

#[test]
fn a_trace_with_samples_chooses_them() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("due.csv");
    fs::write(&path, "due_ns,sample\n0,3\n0,1\n123456789,2\n").unwrap();
    let process = format!("trace:{},repeat", path.display());
    let phase = traced(&["--arrivals", &process, "--set", "min_duration=0,min_query_count=5"]);
    assert_eq!(numbers(&phase, "sample_indices"), [3, 1, 2, 3, 1]);
    fs::write(&path, "due_ns,sample\n0,16\n").unwrap();
    let process = format!("trace:{}", path.display());
    let refused = LoadGen::run(
        &[
            &["trace", "--benchmark", "synthetic", "--dataset", "synthetic:u8[64]x16", "--scenario", "Server"][..],
            &["--arrivals", &process],
        ]
        .concat(),
    );
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("asks for sample 16, which is not among the 16 samples"), "{refused:?}");
}

#[test]
fn a_process_is_marked_and_the_result_has_what_was_asked_for_and_drawn() {
    let nodes = nodes("null");
    for process in
        ["constant", "gamma:cv=3", "weibull:cv=2", "burst:size=5,every=50ms", "sine:mean=80,amplitude=60,period=500ms"]
    {
        let set = "target_qps=100,min_duration=1500ms,min_query_count=20";
        let (folder, result, screen) = ran(&nodes, "Server", set, &["--arrivals", process]);
        let arrivals = &result["arrivals"];
        assert_eq!(
            (&arrivals["process"], &arrivals["drawn"]["queries"]),
            (&process.into(), &result["counts"]["issued"])
        );
        assert_eq!(result["settings"]["further"]["server_arrivals"], process);
        assert!(screen.contains(&format!("\nArrivals  {process}: ")), "{screen}");
        let marks = result["marks"].to_string();
        assert!(marks.contains("server_arrivals is"), "{process}: {marks}");
        // The same due times come from `trace`, and from the run's timeline.
        let due = due_ns(&["--arrivals", process, "--set", set]);
        assert_eq!(due.len() as u64, arrivals["drawn"]["queries"].as_u64().unwrap());
        let again = format!("trace:{}", folder.path.display());
        assert_eq!(due_ns(&["--arrivals", &again, "--set", "min_duration=0,min_query_count=1"]), due, "{process}");
    }
    let (_, result, screen) = ran(&nodes, "Server", "target_qps=200,min_duration=1000,min_query_count=20", &[]);
    assert_eq!(result["arrivals"]["process"], "poisson");
    assert!(screen.contains("\nArrivals  poisson: ") && !result["marks"].to_string().contains("server_arrivals"));
}

/// One trace of each format, made by hand after its published form: text, options, and due times in ns.
const TRACES: [(&str, &str, &str, &[u64]); 8] = [
    (
        "azure",
        "TIMESTAMP,ContextTokens,GeneratedTokens\r\n2023-11-16 18:15:46.6805900,374,44\r\n\
         2023-11-16 18:15:46.6805907,396,109\r\n2023-11-16 18:15:46.9805900,879,55\r\n",
        "",
        &[0, 700, 300_000_000],
    ),
    (
        "azure lmm",
        "TIMESTAMP,NumImages,ContextTokens,GeneratedTokens\n2024-10-15T00:00:00.1000000Z,1,900,10\n\
         2024-10-15T00:00:00.2500000Z,0,20,12\n",
        "",
        &[0, 150_000_000],
    ),
    (
        "burstgpt",
        "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n5,ChatGPT,472,18,490,Conversation log\n\
         5,ChatGPT,1087,0,1087,API log\n6,GPT-4,417,276,693,Conversation log\n",
        ",within-second=even,fails=drop,scale=10",
        &[0, 100_000_000],
    ),
    (
        "mooncake",
        "{\"timestamp\": 0, \"input_length\": 6755, \"output_length\": 500, \"hash_ids\": [0, 1]}\n\
         {\"timestamp\": 482, \"input_length\": 6955, \"output_length\": 52, \"hash_ids\": [46]}\n",
        "",
        &[0, 482_000_000],
    ),
    (
        "bailian",
        "{\"chat_id\": 1, \"parent_chat_id\": -1, \"timestamp\": 61.114, \"input_length\": 2, \"output_length\": 3, \
         \"type\": \"text\", \"turn\": 1, \"hash_ids\": [1]}\n\
         {\"chat_id\": 2, \"parent_chat_id\": -1, \"timestamp\": 61.5, \"input_length\": 2, \"output_length\": 3, \
         \"type\": \"text\", \"turn\": 1, \"hash_ids\": [2]}\n",
        "",
        &[0, 386_000_000],
    ),
    (
        "vegeta",
        "1700000000000000000,200,1234,0,10,,,a,0,GET,http://x,\n\
         1700000000250000000,200,1234,0,10,,,a,1,GET,http://x,\n",
        "",
        &[0, 250_000_000],
    ),
    ("gaps", "100\n200\n", ",unit=ms", &[100_000_000, 300_000_000]),
    ("due", "due_ns,sample\n0,3\n0,1\n123456789,2\n", "", &[0, 0, 123_456_789]),
];

#[test]
fn traces_of_every_format_are_sent_at_their_times() {
    let nodes = nodes("null");
    let folder = TempDir::new().unwrap();
    for (name, text, options, due_times_ns) in TRACES {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        let packed = folder.path().join(format!("{name}.gz"));
        let mut gzip = GzEncoder::new(fs::File::create(&packed).unwrap(), Compression::fast());
        gzip.write_all(text.as_bytes()).unwrap();
        gzip.finish().unwrap();
        let set = "min_duration=0,min_query_count=1";
        for path in [&path, &packed] {
            let process = format!("trace:{}{options}", path.display());
            assert_eq!(due_ns(&["--arrivals", &process, "--set", set]), due_times_ns, "{name}");
        }
        let process = format!("trace:{}{options}", path.display());
        let (run, result, _) = ran(&nodes, "Server", set, &["--arrivals", &process]);
        assert_eq!(result["counts"]["completed"].as_u64(), Some(due_times_ns.len() as u64), "{name}");
        let arrivals = fs::read_to_string(run.path.join("arrivals.csv")).unwrap();
        let due = |line: &str| line.split(',').next().unwrap().parse::<u64>().unwrap();
        assert_eq!(arrivals.lines().skip(1).map(due).collect::<Vec<_>>(), due_times_ns, "{name}");
        if name == "due" {
            assert_eq!(arrivals, text, "the trace chooses the samples");
        }
        // The page is made again without the file of the trace.
        fs::remove_file(&path).unwrap();
        let again = LoadGen::run(&["report", run.arg()]);
        assert_eq!(again.code, Some(0), "{name}: {again:?}");
    }
}

#[test]
fn bursts_are_due_at_once_and_reported_whole() {
    let nodes = nodes("synthetic:constant=2ms");
    let set = "burst_size=6,burst_interval=100ms,min_duration=1000,min_query_count=1,target_latency=3600s";
    let (_, result, screen) = ran(&nodes, "Burst", set, &[]);
    let bursts = &result["bursts"];
    assert_eq!((&bursts["size"], &bursts["bursts"], &result["counts"]["issued"]), (&6.into(), &11.into(), &66.into()));
    assert_eq!(bursts["offered_per_s"].as_f64(), Some(60.0));
    let [first, completion] = ["first_answer_ns", "completion_ns"].map(|key| bursts[key]["p50"].as_u64().unwrap());
    assert!(first >= 2_000_000 && completion >= first, "{bursts}");
    assert_eq!(result["behind_others_ns"]["max"].as_u64().map(|ns| ns > 0), Some(true), "{result}");
    assert_eq!(result["metric"]["name"], "result_burst_target_percentile_latency_ns");
    assert!(screen.contains("\nBursts    11 of 6 queries") && screen.contains("behind others due at once"), "{screen}");

    let waiting = "burst_size=6,burst_interval=0,min_duration=200ms,min_query_count=1,target_latency=3600s";
    let (_, result, _) = ran(&nodes, "Burst", waiting, &[]);
    assert_eq!(result["counts"]["issued"].as_u64().unwrap() % 6, 0);
    assert_eq!(result["bursts"]["backlog_max"], 0, "each burst waits for the one before");
}

#[test]
fn a_closed_loop_keeps_as_many_in_flight_as_it_has_users() {
    let nodes = nodes("synthetic:constant=2ms");
    let (_, result, screen) = ran(&nodes, "Closed", "concurrency=3,min_duration=500ms,min_query_count=1", &[]);
    let users = &result["users"];
    let (in_flight, expected) = (users["in_flight"].as_f64().unwrap(), users["expected_in_flight"].as_f64().unwrap());
    assert_eq!((users["users"].as_u64(), expected), (Some(3), 3.0));
    assert!(in_flight > 0.0 && in_flight <= 3.0 + 1e-9, "{users}");
    assert!(screen.contains("\nUsers     3, "), "{screen}");
    let thinking = "concurrency=3,think_time=20ms,min_duration=500ms,min_query_count=1";
    let (_, result, _) = ran(&nodes, "Closed", thinking, &[]);
    assert!(result["users"]["expected_in_flight"].as_f64().unwrap() < 3.0, "{result}");
    assert!(result["counts"]["issued"].as_u64().unwrap() <= 3 * 26, "a user asks every 20 ms at most: {result}");
}

#[test]
fn a_warm_up_is_sent_before_the_run_and_reported_apart() {
    let nodes = nodes("null");
    let set = "target_qps=200,min_duration=500ms,min_query_count=20";
    let (_, result, screen) = ran(&nodes, "Server", set, &["--warm-up", "300ms"]);
    let warm_up = &result["made"]["warm_up"];
    assert_eq!((&warm_up["wanted_ns"], &warm_up["failed"]), (&300_000_000.into(), &0.into()));
    assert!(warm_up["answered"].as_u64().unwrap() > 0 && screen.contains("\nWarm-up   "), "{warm_up} {screen}");
    let (_, without, _) = ran(&nodes, "Server", set, &[]);
    assert_eq!(result["counts"]["issued"], without["counts"]["issued"], "the run itself is the same");
    assert_eq!(without["made"]["warm_up"], Value::Null);
}

#[test]
fn a_search_is_verified_by_whole_runs_and_shows_every_trial() {
    let nodes = nodes("null");
    // Eight is the last load that a limit of trials lets it reach.
    let set = "burst_size=2,burst_interval=50ms,min_duration=500ms,min_query_count=1,target_latency=3600s";
    let args = ["--mode", "FindPeakPerformance", "--find-peak-max-trials", "3"];
    let test = TestRun::new("Burst").patient().on(&sut(&nodes)).set(set).args(&args);
    let (finished, folder) = went_well(test, "search");
    assert_eq!(finished.code, Some(3), "no end was found: {finished:?}");
    let result = folder.result();
    assert_eq!(result["find_peak"]["end"], "too_many_trials", "{result}");
    let loads = |result: &Value| -> Vec<f64> {
        let trials = result["find_peak"]["trials"].as_array().unwrap().clone();
        trials.iter().map(|trial| trial["load"].as_f64().unwrap()).collect()
    };
    assert_eq!(loads(&result), [2.0, 4.0, 8.0]);

    // A goal that no run keeps ends the search at its first load.
    let goal = ["--mode", "FindPeakPerformance", "--find-peak-goal", "p50<=1ns"];
    let test = TestRun::new("Closed").patient().on(&sut(&nodes)).set("concurrency=2,min_duration=300ms").args(&goal);
    let (finished, folder) = test.finish();
    assert_eq!(finished.code, Some(3), "{finished:?}");
    let result = folder.result();
    assert_eq!((&result["find_peak"]["end"], loads(&result)), (&"base_fails".into(), vec![2.0, 2.0]));
    let page = fs::read_to_string(folder.path.join("report.html")).unwrap();
    assert!(page.contains("Search for the peak"), "the page has the trials");
}

#[test]
fn what_cannot_be_sent_is_refused_before_the_run() {
    for (scenario, args, message) in [
        ("Server", &["--arrivals", "posson"][..], "'posson' is not an arrival process: poisson, constant"),
        ("Server", &["--arrivals", "gamma:cv=0"], "gamma with cv=... or burstiness=..., from 0.02 to 1000"),
        ("Server", &["--arrivals", "trace:no-such-file"], "no-such-file"),
        ("Server", &["--arrivals", "mmpp:no-such-file"], "--arrivals mmpp: cannot read no-such-file"),
        ("Offline", &["--arrivals", "constant"], "Offline has no arrival process: --arrivals is for Server"),
        ("Server", &["--set", "burst_size=3"], "no setting 'burst_size' in Server"),
        ("Burst", &["--set", "burst_size=0"], "burst_size: '0' is not a whole number from 1 to 16777216"),
        ("Closed", &["--mode", "FindPeakPerformance"], "--find-peak-goal p99<=10ms or --set target_latency=10ms"),
        ("Server", &["--mode", "FindPeakPerformance", "--find-peak-goal", "p98<=1ms"], "a goal has the form"),
        (
            "Server",
            &["--mode", "FindPeakPerformance", "--arrivals", "burst:size=2,every=1s"],
            "its arrivals have rates of their own",
        ),
    ] {
        let test = TestRun::new(scenario).on("127.0.0.1:1").args(args);
        let (run, _folder) = test.start();
        let finished = run.finish();
        assert_eq!(finished.code, Some(2), "{args:?}: {finished:?}");
        assert!(finished.stderr.contains(message), "{args:?}: {}", finished.stderr);
    }
}
