//! Campaigns: many runs from one file, broken off and continued, and their table.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use lon_tests::process::{Finished, LoadGen, SutNode, repository};
use lon_tests::schemas;
use nix::sys::signal::Signal;
use serde_json::Value;
use tempfile::TempDir;

/// Runs of a few queries, whose verdict no busy machine changes.
const SHORT: &str = "max-lag = \"3600s\"\nsettings.min_duration = \"100ms\"\nsettings.min_query_count = 1\n";

/// A campaign in a folder of its own.
struct Campaign {
    folder: TempDir,
    file: PathBuf,
}

impl Campaign {
    fn new(text: &str) -> Campaign {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("c.toml");
        fs::write(&file, format!("out = \"out\"\n{text}")).unwrap();
        Campaign { folder, file }
    }

    fn args<'a>(&'a self, subcommand: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
        [&["campaign"], subcommand, &[self.file.to_str().unwrap()], more].concat()
    }

    fn start(&self) -> LoadGen {
        LoadGen::start(&self.args(&["run"], &[]))
    }

    fn call(&self, what: &str, more: &[&str]) -> Finished {
        LoadGen::run(&self.args(&[what], more))
    }

    fn table(&self) -> Value {
        let printed = self.call("table", &["--json"]);
        assert_eq!(printed.code, Some(0), "{printed:?}");
        serde_json::from_str(&printed.stdout).unwrap()
    }

    fn out(&self) -> PathBuf {
        self.folder.path().join("out")
    }

    /// The records of runs, by their paths in the folder of the campaign.
    fn records(&self) -> Vec<(String, String)> {
        let plan = json(&self.out().join("campaign.json"));
        let folders = plan["runs"].as_array().unwrap().iter().map(|run| run["folder"].as_str().unwrap().to_owned());
        let read = |folder: String| {
            let text = fs::read_to_string(self.out().join(format!("{folder}.json"))).ok()?;
            schemas::assert_fits(&["campaign_run"], &text);
            Some((folder, text))
        };
        folders.filter_map(read).collect()
    }
}

fn json(path: &Path) -> Value {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap()
}

fn rows(table: &Value) -> &Vec<Value> {
    table["rows"].as_array().unwrap()
}

/// Two mixes over nodes that the campaign starts; their tenants are rows.
#[test]
fn tenants_of_mixes_are_rows_of_the_table() {
    let tenants = ["one", "two"].map(|name| {
        format!(
            "[[tenant]]\nname = \"{name}\"\nbenchmark = \"synthetic\"\ndataset = \"synthetic:u8[8]x8\"\n\
             scenario = \"Server\"\nsettings = {{ target_qps = 100, target_latency = \"3600s\", \
             target_latency_percentile = 50, min_query_count = 20, min_duration = 0 }}\n"
        )
    });
    let files = tempfile::tempdir().unwrap();
    let mix = files.path().join("mix.toml");
    fs::write(&mix, tenants.concat()).unwrap();
    let campaign = Campaign::new(&format!(
        "[run]\nmix = {mix:?}\nmax-lag = \"3600s\"\n[node]\nbackend = \"null\"\n[axes]\n\
         transport = [\"grpc\", \"tcp\"]\n"
    ));
    let planned = campaign.call("plan", &[]);
    assert_eq!(planned.code, Some(0), "{planned:?}");
    let finished = campaign.start().finish();
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let table = campaign.table();
    assert_eq!(table["axes"], serde_json::json!(["transport", "tenant"]));
    let of_rows: Vec<[&str; 3]> = rows(&table)
        .iter()
        .map(|row| {
            let [transport, tenant] = ["transport", "tenant"].map(|axis| row["values"][axis].as_str().unwrap());
            [transport, tenant, row["verdict"].as_str().unwrap()]
        })
        .collect();
    let valid = ["grpc", "tcp"].map(|transport| ["one", "two"].map(|tenant| [transport, tenant, "VALID"])).concat();
    assert_eq!(of_rows, valid);
    // A run that has ended is not made again, and a mix whose tenant is another one is no result.
    assert_eq!(campaign.start().finish().code, Some(0));
    let record = campaign.records()[0].clone();
    fs::write(campaign.out().join(&record.0).join("one/result_summary.json"), "{}").unwrap();
    let other = campaign.call("table", &[]);
    assert!(other.code == Some(2) && other.stderr.contains("one/result_summary.json"), "{other:?}");
    let wrong = Campaign::new(&format!("[run]\nmix = {mix:?}\nscenario = \"Server\"\nsut = \"h:1\"\n"));
    let refused = wrong.call("plan", &[]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
}

/// Two transports, two codecs and two sizes of batches, over two nodes that the campaign starts.
#[test]
fn a_campaign_that_is_killed_goes_on_and_repeats_nothing() {
    let campaign = Campaign::new(&format!(
        "[run]\nbenchmark = \"digits\"\nscenario = \"SingleStream\"\n{SHORT}[node]\nbackend = \"null\"\ncount = 2\n\
         [axes]\ntransport = [\"grpc\", \"tcp\"]\ncompression = [\"none\", \"zstd:1\"]\nnode.max-batch = [1, 8]\n"
    ));
    let mut first = campaign.start();
    first.wait_for_line(|line| line.starts_with("[3/8] "));
    first.signal(Signal::SIGKILL);
    let killed = first.finish();
    assert_eq!(killed.code, None, "{killed:?}");
    let before = campaign.records();
    assert!((3..8).contains(&before.len()), "{before:?}");
    // The folder of a run that was broken off, whether or not the kill came early enough to leave one.
    let fourth = campaign.out().join("transport=grpc+compression=zstd-1+max-batch=8/1");
    let next = campaign.out().join("transport=tcp+compression=none+max-batch=1/1");
    let broken = if before.len() == 3 { fourth } else { next };
    fs::create_dir_all(&broken).unwrap();

    let second = campaign.call("run", &[]);
    assert!(matches!(second.code, Some(0 | 3)), "{second:?}");
    assert_eq!(second.stdout.matches("\n[").count() + 1, 8 - before.len(), "{second:?}");
    let after = campaign.records();
    assert_eq!(after.len(), 8);
    assert!(before.iter().all(|record| after.contains(record)), "{before:?} {after:?}");
    let starts: BTreeSet<&String> = after.iter().map(|(folder, _)| folder).collect();
    assert_eq!(starts.len(), 8, "{starts:?}");
    if before.len() <= 4 {
        assert!(broken.with_extension("1").is_dir(), "the folder that was broken off is kept: {second:?}");
    }

    let third = campaign.call("run", &[]);
    assert_eq!(third.stdout.matches("[").count(), 0, "nothing is made again: {third:?}");
    assert_eq!(campaign.records(), after);
    tables_are_what_the_runs_say(&campaign);
}

fn tables_are_what_the_runs_say(campaign: &Campaign) {
    let table = campaign.table();
    assert_eq!(rows(&table).len(), 8);
    for row in rows(&table) {
        let folder = campaign.out().join(row["folders"][0].as_str().unwrap());
        schemas::assert_folder(&folder);
        let result = json(&folder.join("result_summary.json"));
        let quantity = |name: &str| {
            let all = row["quantities"].as_array().unwrap();
            all.iter().find(|quantity| quantity["name"] == name).map(|quantity| quantity["median"].clone())
        };
        // A run of a few queries may have no metric.
        let same = |name: &str, value: &Value| {
            assert_eq!(quantity(name).and_then(|median| median.as_f64()), value.as_f64(), "{name}: {row}");
        };
        same("metric_latency", &result["metric"]["value"]);
        same("p99", &result["latency_ns"]["p99"]);
        assert_eq!(row["verdict"], result["result"], "{row}");
        let values = &row["values"];
        assert_eq!(values["transport"], result["network"]["transport"].as_str().unwrap(), "{row}");
        assert_eq!(result["sut"].as_array().unwrap().len(), 2, "{row}");
        let setting = &result["sut"][0]["settings"]["max_batch"];
        assert_eq!(&values["node.max-batch"], setting, "{row}");
    }
    let csv = campaign.call("table", &["--format", "csv", "--columns", "p99,sent"]);
    assert_eq!(csv.stdout.lines().count(), 9, "{csv:?}");
    assert!(csv.stdout.starts_with("cell,transport,compression,node.max-batch,verdict,"), "{csv:?}");
    let dli = campaign.call("table", &["--dli"]);
    assert!(dli.stdout.lines().all(|line| line.matches(';').count() == 21), "{dli:?}");
    assert_eq!(dli.stdout.lines().filter(|line| line.starts_with("Success;")).count(), 8, "{dli:?}");
    the_page_of_dli_has_the_rates_of_its_table(campaign, &dli.stdout);

    let page = campaign.out().join("table.html");
    let finished = campaign.call("table", &["--html", page.to_str().unwrap(), "--x", "transport", "--y", "p99"]);
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let page = fs::read_to_string(page).unwrap();
    let links: Vec<&str> = page.split("href=\"./").skip(1).filter_map(|part| part.split('"').next()).collect();
    assert_eq!(links.len(), 8, "{links:?}");
    assert!(links.iter().all(|link| campaign.out().join(link).is_file()), "{links:?}");
}

/// Batches of all cells have one sample: DLI has one line for them, in which all stand below each other.
fn the_page_of_dli_has_the_rates_of_its_table(campaign: &Campaign, table: &str) {
    let path = campaign.out().join("dli.html");
    let finished = campaign.call("table", &["--dli", "--html", path.to_str().unwrap()]);
    assert_eq!((finished.code, finished.stdout.as_str()), (Some(0), table), "{finished:?}");
    let page = fs::read_to_string(path).unwrap();
    for row in table.lines().skip(1) {
        let rate = row.split(';').nth(14).unwrap();
        assert!(page.contains(&format!("<div>{rate} <small>")), "{rate}: {page}");
    }
    for head in ["Infrastructure", "Inference Framework", "Latency Mode", "Throughput Mode", "Input blob sizes"] {
        assert!(page.contains(&format!(">{head}</th>")), "{head}: {page}");
    }
    assert!(page.contains("no official MLPerf results") && !page.contains("VALID"), "{page}");
    let other = campaign.call("table", &["--dli-accuracy"]);
    assert_eq!(other.stdout.lines().count(), 1, "no accuracy run was planned: {other:?}");
}

#[test]
fn a_cell_that_fails_is_a_row_and_the_next_one_starts() {
    let campaign = Campaign::new(&format!(
        "[run]\nbenchmark = \"digits\"\nscenario = \"SingleStream\"\n{SHORT}[node]\n[axes]\n\
         node.backend = [\"null\", \"onnx:/no/such.onnx\", \"synthetic:constant=100us\"]\n"
    ));
    let finished = campaign.call("run", &["--json"]);
    assert_eq!(finished.code, Some(3), "{finished:?}");
    for line in finished.stdout.lines() {
        schemas::assert_fits(&["campaign_run"], line);
    }
    let table = campaign.table();
    let [first, second, third] = &rows(&table)[..] else { panic!("{table}") };
    assert_eq!(second["verdict"], "failed", "{second}");
    assert!(second["reasons"][0].as_str().unwrap().contains("/no/such.onnx"), "{second}");
    for row in [first, third] {
        assert_eq!(row["folders"].as_array().unwrap().len(), 1, "{row}");
    }
    let records = campaign.records();
    let again = campaign.call("run", &["--retry-failed"]);
    assert!(again.stdout.starts_with("[3/3] "), "the failed run alone: {again:?}");
    assert_eq!(campaign.records()[0], records[0]);
}

/// The answers of a synthetic backend are no classes of digits; those of the model are.
#[test]
fn performance_is_not_measured_where_the_accuracy_target_is_missed() {
    let model = repository("loadgen-node/qsl/digits/digits.onnx");
    let campaign = Campaign::new(&format!(
        "accuracy = \"first\"\nrepeats = 2\nstop = {{ failures = 1 }}\n[dli]\ntask = \"classification\"\n[run]\n\
         benchmark = \"digits\"\nscenario = \"SingleStream\"\n{SHORT}[node]\n[[case]]\nname = \"missed\"\n\
         node.backend = \"synthetic:constant=10us\"\n[[case]]\nname = \"reached\"\nnode.backend = \"onnx:{}\"\n\
         dli.precision = \"FP32\"\ndli.topology = \"digits\"\n",
        model.display()
    ));
    let finished = campaign.call("run", &[]);
    assert_eq!(finished.code, Some(3), "{finished:?}");
    let table = campaign.table();
    let row = &rows(&table)[0];
    assert_eq!((row["verdict"].as_str(), row["folders"].as_array().map(Vec::len)), (Some("skipped"), Some(0)), "{row}");
    assert!(row["reasons"].to_string().contains("does not meet its target"), "{row}");
    let reached = &rows(&table)[1]["accuracy"];
    assert_eq!(reached["passed"], true, "{table}");
    the_accuracy_table_of_dli_has_the_scores(&campaign, reached["value"].as_f64().unwrap());
}

fn the_accuracy_table_of_dli_has_the_scores(campaign: &Campaign, score: f64) {
    let accuracy = campaign.call("table", &["--dli-accuracy"]);
    assert_eq!(accuracy.code, Some(0), "{accuracy:?}");
    let rows: Vec<Vec<&str>> = accuracy.stdout.lines().map(|line| line.split(';').collect()).collect();
    let [heads, missed, reached] = &rows[..] else { panic!("{accuracy:?}") };
    assert_eq!((heads.len(), heads[0], heads[10]), (11, "Status", "Accuracy"));
    assert_eq!((missed[1], missed[9]), ("classification", "N/A"), "{accuracy:?}");
    assert_eq!(reached[..4], ["Success", "classification", "digits", "N/A"], "{accuracy:?}");
    let end = ["accuracy@top_k_1", "FP32", &format!("{score:.2}%")];
    assert_eq!((reached[5], &reached[8..]), ("CPU", &end[..]), "{accuracy:?}");
    let page = campaign.out().join("dli.html");
    let performance = campaign.call("table", &["--dli", "--html", page.to_str().unwrap()]);
    let states: Vec<&str> = performance.stdout.lines().map(|line| line.split(';').next().unwrap()).collect();
    assert_eq!(states, ["Status", "Failed", "Failed", "Success", "Success"], "{performance:?}");
    let page = fs::read_to_string(page).unwrap();
    assert!(page.contains("<span title=\"missed\">-</span>") && page.contains("<span title=\"reached\">"), "{page}");
}

/// A campaign whose time is over after its first run. It goes on when its file gives it more.
#[test]
fn no_further_run_starts_when_the_time_is_over() {
    let sut = SutNode::start("N1", "null", &[]);
    let text = |hours: &str| {
        format!(
            "stop = {{ hours = {hours} }}\n[run]\nsut = \"{}\"\nbenchmark = \"synthetic\"\n\
             dataset = \"synthetic:u8[64]x4\"\nscenario = \"SingleStream\"\n{SHORT}\
             [axes]\nconnections = [1, 2, 3]\n",
            sut.address
        )
    };
    // A hundredth of a second or so, which one run takes.
    let campaign = Campaign::new(&text("0.000004"));
    let ended = campaign.call("run", &[]);
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(campaign.records().len() < 3, "{ended:?}");
    let printed = ended.stdout.clone() + &ended.stderr;
    assert!(printed.contains("its time is over (stop.hours)"), "{ended:?}");
    fs::write(&campaign.file, format!("out = \"out\"\n{}", text("1.0"))).unwrap();
    let again = campaign.call("run", &[]);
    assert_eq!(campaign.records().len(), 3, "{again:?}");
}

/// Three tests of DLI: one that waits for answers, one with requests in flight, and one whose model is no ONNX.
#[test]
fn a_configuration_of_dli_becomes_a_campaign_that_can_be_planned() {
    let folder = tempfile::tempdir().unwrap();
    let digits = repository("loadgen-node/qsl/digits");
    let test = |model: &str, batch: u32, settings: &str| {
        format!(
            "<Test><Model><Task>classification</Task><Name>digits</Name><Precision>FP32</Precision>\
             <SourceFramework>NumPy</SourceFramework><ModelPath>{0}/{model}</ModelPath></Model>\n<Dataset>\
             <Name>Digits</Name><Path>{0}/images.npy</Path></Dataset>\n<FrameworkIndependent><InferenceFramework>ONNX \
             Runtime</InferenceFramework><BatchSize>{batch}</BatchSize><Device>CPU</Device><IterationCount>20\
             </IterationCount></FrameworkIndependent>\n<FrameworkDependent>{settings}</FrameworkDependent></Test>\n",
            digits.display()
        )
    };
    let asynchronous = "<Mode>Async</Mode><AsyncRequestCount>2</AsyncRequestCount><StreamCount>1</StreamCount>";
    let tests = [
        test("digits.onnx", 4, "<Mode>Sync</Mode><ThreadCount>1</ThreadCount><Hint>latency</Hint>"),
        test("digits.onnx", 4, asynchronous),
        test("digits.xml", 1, "<Mode>Sync</Mode>"),
    ];
    let [xml, file] = ["dli.xml", "dli.toml"].map(|name| folder.path().join(name).display().to_string());
    fs::write(&xml, format!("<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<Tests>\n{}</Tests>\n", tests.concat()))
        .unwrap();
    let printed = LoadGen::run(&["campaign", "import", &xml]);
    assert_eq!(printed.code, Some(0), "{printed:?}");
    for named in ["FrameworkDependent/Hint", "latency", "digits.xml to ONNX"] {
        assert!(printed.stderr.contains(named) && printed.stdout.contains(named), "{named}: {printed:?}");
    }
    let finished = LoadGen::run(&["campaign", "import", &xml, "--out", &file]);
    assert_eq!((finished.code, fs::read_to_string(&file).unwrap()), (Some(0), printed.stdout), "{finished:?}");
    let planned = LoadGen::run(&["campaign", "plan", &file]);
    assert_eq!(planned.code, Some(0), "{planned:?}");
    assert!(
        planned.stdout.contains("digits-FP32-batch4-sync ") && planned.stdout.contains("2 cells, 2 runs"),
        "{planned:?}"
    );
    assert_eq!(LoadGen::run(&["campaign", "import", &xml, "--out", &file]).code, Some(2), "it is never overwritten");
    fs::write(&xml, "<Tests>\n<Test/></Tests>").unwrap();
    let refused = LoadGen::run(&["campaign", "import", &xml]);
    assert!(refused.code == Some(2) && refused.stderr.contains("dli.xml: line 2: "), "{refused:?}");
}

#[test]
fn the_file_of_init_is_planned_as_it_is_and_an_error_names_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("c.toml");
    let file_arg = file.to_str().unwrap();
    assert_eq!(LoadGen::run(&["campaign", "init", file_arg]).code, Some(0));
    let planned = LoadGen::run(&["campaign", "plan", file_arg]);
    assert_eq!(planned.code, Some(0), "{planned:?}");
    assert!(planned.stdout.ends_with("without starts and ends\n") && planned.stdout.contains("4 cells"), "{planned:?}");
    assert_eq!(LoadGen::run(&["campaign", "plan", file_arg, "--json"]).code, Some(0));
    assert_eq!(LoadGen::run(&["campaign", "init", file_arg]).code, Some(2), "it is never overwritten");
    let text = fs::read_to_string(&file).unwrap();
    for (old, new, why) in [
        ("node.max-batch = [1, 8]\n", "node.max-bach = [1, 8]\n", "--max-batch"),
        ("node.max-batch = [1, 8]\n", "node.max-batch = [0, 8]\n", "--max-batch"),
        ("scenario = \"Server\"", "scenario = \"Sever\"", "Server"),
        ("benchmark = \"digits\"", "benchmark = \"digit\"", "digit"),
    ] {
        let changed = text.replacen(old, new, 1);
        let line = 1 + changed.lines().position(|line| line == new.trim_end()).unwrap();
        fs::write(&file, changed).unwrap();
        let refused = LoadGen::run(&["campaign", "plan", file_arg]);
        assert_eq!(refused.code, Some(2), "{refused:?}");
        let message = &refused.stderr;
        assert!(message.contains(&format!("c.toml, line {line}:")) && message.contains(why), "{new}: {refused:?}");
    }
}

#[test]
fn a_folder_that_was_begun_with_another_plan_is_refused() {
    let text =
        format!("[run]\nbenchmark = \"digits\"\nscenario = \"SingleStream\"\n{SHORT}[node]\nbackend = \"null\"\n");
    let campaign = Campaign::new(&text);
    assert!(matches!(campaign.call("run", &[]).code, Some(0 | 3)));
    fs::write(&campaign.file, format!("out = \"out\"\n{text}max-batch = 4\n")).unwrap();
    let refused = campaign.call("run", &[]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("was begun with another plan"), "{refused:?}");
}

/// A command in place of one that shapes links: it writes its last word down, and refuses one of them.
#[test]
fn the_rate_of_links_is_set_before_the_runs_of_a_cell() {
    let files = tempfile::tempdir().unwrap();
    let rates_file = files.path().join("rates");
    let script = format!("echo $0 >>{}; echo rate $0; test $0 != none", rates_file.display());
    let campaign = Campaign::new(&format!(
        "repeats = 2\nlink = [\"sh\", \"-c\", {script:?}]\n[run]\nbenchmark = \"digits\"\n\
         scenario = \"SingleStream\"\n{SHORT}[node]\nbackend = \"null\"\n[axes]\n\
         link.rate = [\"100mbit\", \"none\", \"1gbit\"]\n"
    ));
    let planned = campaign.call("plan", &[]);
    assert_eq!(planned.code, Some(0), "{planned:?}");
    let finished = campaign.start().finish();
    assert_eq!(finished.code, Some(3), "{finished:?}");
    // Once for both repeats; a command that fails is tried again.
    assert_eq!(fs::read_to_string(&rates_file).unwrap(), "100mbit\nnone\nnone\n1gbit\n");
    let table = campaign.table();
    let verdict = |rate: &str| {
        let row = rows(&table).iter().find(|row| row["values"]["link.rate"] == rate).unwrap();
        row["verdict"].as_str().unwrap().to_owned()
    };
    assert_eq!(verdict("none"), "failed", "{table}");
    assert!(["100mbit", "1gbit"].iter().all(|rate| verdict(rate) != "failed"), "{table}");
    let failed = campaign.records().into_iter().find(|(folder, _)| folder.contains("none")).unwrap();
    assert!(failed.1.contains("link: `sh -c") && failed.1.contains("rate none"), "{failed:?}");
    let refused = Campaign::new("[run]\nbenchmark = \"digits\"\nlink.rate = \"1gbit\"\nsut = \"h:1\"\n");
    let refused = refused.call("plan", &[]);
    assert!(refused.code == Some(2) && refused.stderr.contains("takes the command that sets it"), "{refused:?}");
}

#[test]
fn a_doctor_names_what_is_not_known_and_nodes_that_do_not_answer() {
    let node = SutNode::start("a", "null", &[]);
    let run = "benchmark = \"digits\"\nscenario = \"SingleStream\"\n";
    let campaign = Campaign::new(&format!("[run]\nsut = \"{},127.0.0.1:1\"\n{run}", node.address));
    let finished = campaign.call("doctor", &["--json"]);
    assert_eq!(finished.code, Some(4), "{finished:?}");
    let document: Value = serde_json::from_str(&finished.stdout).unwrap();
    let [here, up, gone] = &document["machines"].as_array().unwrap()[..] else { panic!("{document}") };
    let state = |machine: &Value, what: &str| {
        let all = machine["findings"].as_array().unwrap();
        all.iter().find(|finding| finding["what"] == what).map(|finding| finding["state"].clone())
    };
    assert!(here["address"].is_null() && state(here, "stolen time").is_some(), "{here}");
    assert_eq!(
        (up["name"].as_str(), state(up, "reached"), state(up, "version")),
        (Some("a"), Some("good".into()), Some("good".into()))
    );
    assert_eq!(state(up, "clock"), Some("good".into()), "it is this machine: {up}");
    assert_eq!(state(gone, "reached"), Some("bad".into()), "{gone}");
}
