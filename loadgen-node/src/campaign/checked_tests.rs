//! Whole files, and what they come to.

use super::checked::{Campaign, Cell, NodeSetup};

const HEAD: &str = "out = \"o\"\n[run]\nbenchmark = \"digits\"\nscenario = \"Offline\"\n";
const NODE: &str = "[node]\nbackend = \"null\"\n";

fn cells(tables: &str) -> Vec<Cell> {
    let text = format!("{HEAD}{NODE}{tables}");
    Campaign::of(&text, "c.toml").unwrap_or_else(|error| panic!("{error:#}: {text}")).cells
}

fn names(tables: &str) -> Vec<String> {
    cells(tables).into_iter().map(|cell| cell.name).collect()
}

/// The error of a file, in one line.
fn message_of(text: &str) -> String {
    format!("{:#}", Campaign::of(text, "c.toml").unwrap_err())
}

#[test]
fn every_combination_is_a_cell_and_the_last_axis_varies_fastest() {
    let cells = cells("[axes]\ntransport = [\"grpc\", \"tcp\"]\nsettings.target_qps = \"100..200 x2\"\n");
    let names: Vec<&str> = cells.iter().map(|cell| cell.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "transport=grpc+target_qps=100",
            "transport=grpc+target_qps=200",
            "transport=tcp+target_qps=100",
            "transport=tcp+target_qps=200"
        ]
    );
    assert_eq!(cells[3].run, ["--benchmark=digits", "--scenario=Offline", "--transport=tcp", "--set=target_qps=200"]);
    assert_eq!(cells[3].nodes, Some(NodeSetup { count: 1, flags: vec!["--backend=null".to_owned()] }));
    let value = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    assert_eq!(cells[3].values, [value("transport", "tcp"), value("settings.target_qps", "200")]);
}

#[test]
fn values_of_a_zip_move_together() {
    let cells = cells("[[zip]]\nnode.max-batch = [1, 8]\nnode.workers = [4, 2]\nnode.count = [1, 2]\n");
    let nodes: Vec<&NodeSetup> = cells.iter().filter_map(|cell| cell.nodes.as_ref()).collect();
    assert_eq!(nodes[1].flags, ["--backend=null", "--max-batch=8", "--workers=2"]);
    assert_eq!((nodes.len(), nodes[0].count, nodes[1].count), (2, 1, 2));
    assert_eq!(cells[1].name, "max-batch=8+workers=2+nodes=2");
}

#[test]
fn cases_are_laid_over_the_rest_and_multiply() {
    let cells = cells(
        "[axes]\ntransport = [\"grpc\", \"tcp\"]\n[[case]]\nname = \"one\"\n[[case]]\nname = \"two\"\nnode.count = 2\n\
         scenario = \"Server\"\n",
    );
    assert_eq!(cells.len(), 4);
    assert_eq!((cells[0].name.as_str(), cells[2].name.as_str()), ("one+transport=grpc", "two+transport=grpc"));
    assert!(cells[2].run.contains(&"--scenario=Server".to_owned()), "{:?}", cells[2]);
    assert_eq!(cells[2].nodes.as_ref().map(|nodes| nodes.count), Some(2));
    assert_eq!(cells[0].values[0], ("case".to_owned(), "one".to_owned()));
}

#[test]
fn facts_of_a_case_or_a_zip_are_laid_over_those_of_all() {
    let tables = "[dli]\ntask = \"classification\"\nframework = \"PyTorch\"\n[[zip]]\nnode.ep = [\"CPU\", \"CUDA\"]\n\
                dli.precision = [\"FP32\", \"FP16\"]\n[[case]]\nname = \"a\"\ndli.task = \"detection\"\n\
                dli.topology = \"ssd\"\n[[case]]\nname = \"b\"\n";
    let cells = cells(tables);
    let facts: Vec<_> = cells.iter().map(|cell| cell.dli.clone()).collect();
    assert_eq!(facts.iter().filter_map(|facts| facts.topology.as_deref()).collect::<Vec<_>>(), ["ssd", "ssd"]);
    assert_eq!(facts[0].task.as_deref(), Some("detection"));
    assert_eq!((facts[3].task.as_deref(), facts[3].precision.as_deref()), (Some("classification"), Some("FP16")));
    assert!(facts.iter().all(|facts| facts.framework.as_deref() == Some("PyTorch")), "{facts:?}");
    assert_eq!(cells[0].name, "a+ep=CPU+precision=FP32");
    assert!(!cells[0].run.concat().contains("detection"), "no run takes it: {:?}", cells[0]);
}

#[test]
fn combinations_that_are_excluded_are_left_out() {
    let axes = "[axes]\ntransport = [\"grpc\", \"tcp\", \"quic\"]\nnode.max-batch = [1, 8]\n";
    let of_axes = names(&format!("{axes}[[exclude]]\ntransport = [\"tcp\", \"quic\"]\nnode.max-batch = 8\n"));
    assert_eq!(
        of_axes,
        [
            "transport=grpc+max-batch=1",
            "transport=grpc+max-batch=8",
            "transport=tcp+max-batch=1",
            "transport=quic+max-batch=1"
        ]
    );
    let by_case = names("[[case]]\nname = \"a\"\n[[case]]\nname = \"b\"\n[[exclude]]\ncase = \"a\"\n");
    assert_eq!(by_case, ["b"]);
    assert_eq!(names(""), ["cell"]);
}

#[test]
fn an_error_has_the_file_and_the_line() {
    let axes = |tables: &str| format!("{HEAD}{NODE}[axes]\ntransport = [\"grpc\", \"tcp\"]\n{tables}");
    for (text, line, why) in [
        (format!("{HEAD}transprot = \"tcp\"\n{NODE}"), 5, "is it transport?"),
        (format!("{HEAD}{NODE}listen = \"h:1\"\n"), 7, "by the campaign itself"),
        (format!("{HEAD}sut = \"h:1\"\n{NODE}"), 5, "leave one out"),
        (format!("{HEAD}sut = \"h:1\"\nnode.max-batch = 8\n"), 6, "add a table [node]"),
        (axes("connections = 4\n"), 9, "write a list, or a range"),
        (axes("connections = \"4\"\n"), 9, "write a list, or a range"),
        (axes("connections = \"8..4 x2\"\n"), 9, "larger than the last"),
        (axes("connections = [1, 1]\n"), 9, "has 1 twice"),
        (axes("connections = []\n"), 9, "has no value"),
        (axes("[[zip]]\nconnections = [1]\nnode.workers = [1, 2]\n"), 11, "equally long"),
        (axes("[[zip]]\ntransport = [\"quic\"]\n"), 10, "varies in line 8 already"),
        (axes("[[case]]\nname = \"a\"\ntransport = \"quic\"\n"), 11, "is an axis already"),
        (axes("[[case]]\nconnections = 1\n"), 10, "has no name"),
        (axes("[[case]]\nname = \"a\"\n[[case]]\nname = \"a\"\n"), 12, "another case has it"),
        (axes("[[exclude]]\ntransport = \"quic\"\n"), 10, "is never quic; it is grpc, tcp"),
        (axes("[[exclude]]\nconnections = 1\n"), 10, "does not vary"),
        (
            axes("[[exclude]]\ntransport = \"tcp\"\n[[exclude]]\ntransport = \"tcp\"\n[[exclude]]\ncase = \"x\"\n"),
            14,
            "is never x",
        ),
        (format!("order = \"sorted\"\n{HEAD}{NODE}"), 1, "random:SEED"),
        (format!("\nrepeats = 0\n{HEAD}{NODE}"), 2, "from 1 to 1000"),
        (format!("accuracy = \"last\"\n{HEAD}{NODE}"), 1, "\"first\""),
        (format!("accuracy = \"first\"\n{HEAD}mode = \"AccuracyOnly\"\n{NODE}"), 6, "accuracy = \"first\""),
        (format!("{HEAD}{NODE}count = 0\n"), 7, "from 1 to 256"),
        (axes("[[case]]\nname = \"a\"\ndli.task = 1\n"), 11, "is a text"),
    ] {
        let message = message_of(&text);
        assert!(message.contains(&format!("c.toml, line {line}:")) && message.contains(why), "{message}\n{text}");
    }
    assert!(message_of(HEAD).contains("start some with [node]"));
    let all = axes("[[exclude]]\ntransport = [\"grpc\", \"tcp\"]\n");
    assert!(message_of(&all).contains("every combination is excluded"), "{}", message_of(&all));
    let many = axes("connections = \"1..1000 +1\"\nnode.workers = \"1..1000 +1\"\n");
    assert!(message_of(&many).contains("more than 10000"), "{}", message_of(&many));
}

#[test]
fn an_error_of_a_run_is_traced_to_its_line() {
    let text = format!("{HEAD}settings.target_qps = 0\nresponse-timeout = \"x\"\n{NODE}");
    let campaign = Campaign::of(&text, "c.toml").unwrap();
    assert_eq!(campaign.place_of("invalid value 'x' for '--response-timeout <TIME>'"), Some("c.toml, line 6"));
    assert_eq!(campaign.place_of("invalid value 'target_qps=0' for '--set'"), Some("c.toml, line 5"));
    assert_eq!(campaign.place_of("no such file"), None);
}
