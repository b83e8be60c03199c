//! The file that `submission init` writes: what has to be filled in, each line with what belongs there. What a run has
//! found of the system, and its round, benchmark, dataset and rate, are filled in already.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::Path;

use loadgen::traffic::Expected;
use lon_qsl::benchmark::{Benchmark, Membership, Suite};
use serde_json::Value;

use super::blanks::{HEAD, OF_THE_RUN, Prefilled};
use super::system::must_have_a_text;
use crate::cli::USUAL_TRANSPORT;
use lon_run::outputs::documents::result_summary::ResultSummary;
use lon_run::outputs::documents::system_desc::{SystemDesc, key_help};
use lon_run::test_run::system_facts::{NETWORK_KEYS, SYSTEM_KEYS};

/// The mark above the line of the SUT nodes in it.
const NODES_MARK: &str = "# FILL IN: the SUT nodes.";
/// The line of the SUT nodes in it.
const NODES: &str = "sut = \"10.0.0.2:8000,10.0.0.3:8000\"";
/// The lines of the round in it.
const ROUND: &str = "# FILL IN: the round: v5.0, v5.1, v6.0 or v6.1.\nround = \"v6.1\"\n";
/// The first lines of a benchmark in it.
const BENCHMARK: &str = "# FILL IN: the benchmark, by its name here or in the official checker, such as bert-99.9.\n\
     name = \"llama3_1-8b\"\n\
     # FILL IN: flags of `loadgen-node run` for this benchmark alone.\n\
     run = { dataset = \"/data/dataset\" }\n\
     # FILL IN: lines of user.conf for each scenario: target_qps in queries/s, latencies and durations in ms.\n\
     settings.Server = { target_qps = 100 }\n\
     settings.Offline = { target_qps = 100 }\n";
/// Keys that other parts of the file give.
const ELSEWHERE: [&str; 3] = ["division", "submitter", "is_network"];
/// Keys that no run finds. Most runs find all others, or these may stay empty.
const TO_STATE: [&str; 4] = ["system_name", "host_memory_configuration", "host_network_card_count", "network_topology"];
/// Ends of explanations that are about one run.
const OF_A_RUN: [&str; 4] = ["did not say", "told of", "was used", "was seen"];

/// The text of the file; with a run, what was found of the nodes, and the flags with which they were reached, each with
/// its value as TOML.
pub(crate) fn text(run: Option<&ResultSummary>, desc: Option<&SystemDesc>, flags: &[(&str, Value)]) -> String {
    let nodes = desc.map(|desc| desc.sut.iter().map(|node| node.address.as_str()).collect::<Vec<_>>().join(","));
    let (mark, nodes) = match nodes.as_deref().map(quoted) {
        Some(own) if desc.is_some_and(is_this_machine) => {
            let open =
                "# FILL IN: the SUT nodes, and the way to them: a result needs other hosts than the LoadGen node";
            (format!("{open}{OF_THE_RUN}{own})"), format!("sut = {own}"))
        }
        Some(nodes) => ("# The SUT nodes, and the way to them.".to_owned(), format!("sut = {nodes}")),
        None => (NODES_MARK.to_owned(), NODES.to_owned()),
    };
    let flags: String = flags.iter().map(|(flag, value)| line(flag, value)).collect();
    let mut text = HEAD.replace(NODES_MARK, &mark).replace(NODES, &(nodes + &flags));
    if let Some(run) = run {
        text = text.replace(ROUND, &format!("round = {}\n", quoted(&run.rules)));
        text = text.replace(BENCHMARK, &benchmark(run));
    }
    for key in SYSTEM_KEYS.into_iter().chain(NETWORK_KEYS).filter(|key| !ELSEWHERE.contains(key)) {
        let answer = desc.and_then(|desc| desc.official.get(key)?.as_str()).filter(|answer| !answer.is_empty());
        let is_open = TO_STATE.contains(&key) || desc.is_some_and(|desc| is_missing(desc, key));
        // Writing to a String cannot fail.
        let _ = match (answer, Prefilled::of(key)) {
            (Some(answer), _) => writeln!(text, "# {}\n# {key} = {}", explanation(key, "Found:"), quoted(answer)),
            (None, Some(Prefilled::Guess(guess))) => {
                writeln!(text, "# FILL IN: {}\n{key} = {}", explanation(key, ""), quoted(guess))
            }
            (None, Some(Prefilled::Usual(usual))) => {
                writeln!(text, "# {}\n{key} = {}", explanation(key, ""), quoted(usual))
            }
            (None, None) if is_open => writeln!(text, "# FILL IN: {}\n{key} = \"\"", explanation(key, "")),
            (None, None) if !must_have_a_text(key) => writeln!(text, "# {}\n# {key} = \"\"", explanation(key, "")),
            (None, None) => writeln!(text, "# {}\n# {key} = \"\"", explanation(key, "Runs find it.")),
        };
    }
    text
}

/// Returns true when all nodes are on the machine of the LoadGen node.
fn is_this_machine(desc: &SystemDesc) -> bool {
    !desc.sut.is_empty() && desc.sut.iter().all(|node| is_local(&node.address))
}

/// Returns true when an address, `host:port`, stays on this machine.
fn is_local(address: &str) -> bool {
    address.starts_with("localhost:")
        || address.parse::<SocketAddr>().is_ok_and(|address| address.ip().to_canonical().is_loopback())
}

/// A flag as a line of its own. An empty text is one that a person has to write.
fn line(flag: &str, value: &Value) -> String {
    let mark = match flag {
        _ if value == "" => format!("\n# FILL IN: --{flag} of the run."),
        "insecure" => "\n# Plain text to the nodes. For TLS write tls-ca = \"ca.pem\" in its place.".to_owned(),
        _ => String::new(),
    };
    format!("{mark}\n{flag} = {value}")
}

/// The first lines of the benchmark of a run. Its dataset may be one that a person has to give.
fn benchmark(run: &ResultSummary) -> String {
    let place = Path::new(&run.dataset);
    let dataset = match (place.exists(), std::path::absolute(place)) {
        (true, Ok(path)) => path.display().to_string(),
        _ => run.dataset.clone(),
    };
    let settings = &run.settings;
    let of_run = match settings.scenario.traffic().expected() {
        Expected::QueryRate => format!("target_qps = {}", settings.server_target_qps),
        Expected::SampleRate => format!("target_qps = {}", settings.offline_expected_qps),
        _ => String::new(),
    };
    let (name, dataset) = (quoted(&run.benchmark), format!("{{ dataset = {} }}", quoted(&dataset)));
    let benchmark = Benchmark::find(&run.benchmark).ok();
    let is_known = benchmark.is_some_and(|benchmark| !benchmark.official(&run.rules).is_empty());
    let marks = match is_known {
        true => ["# The benchmark of the run.".to_owned(), "# The dataset of the run.".to_owned()],
        false => [
            format!("# FILL IN: a benchmark of round {}{OF_THE_RUN}{name})", run.rules),
            format!("# FILL IN: the dataset of that benchmark{OF_THE_RUN}{dataset})"),
        ],
    };
    let [of_name, of_dataset] = marks;
    let mut text = format!(
        "{of_name}\nname = {name}\n{of_dataset}\nrun = {dataset}\n# Lines of user.conf for each scenario: target_qps \
         in queries/s, times in ms.\nsettings.{} = {{ {of_run} }}\n",
        run.scenario
    );
    let scenarios = benchmark.map(|benchmark| benchmark.membership(Suite::Datacenter, &run.rules));
    if let Some(Membership::Scenarios(scenarios)) = scenarios {
        let others = scenarios.required.iter().map(|scenario| scenario.name());
        for other in others.filter(|other| *other != run.scenario) {
            let mark = "# FILL IN: a scenario that the round asks for, too: write its rate";
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{mark}.\nsettings.{other} = {{ target_qps = 100 }}");
        }
    }
    text
}

/// The flags with which a run reached its nodes, each with its value as TOML.
pub(crate) fn node_flags(run: &ResultSummary) -> Vec<(&'static str, Value)> {
    let network = &run.network;
    let texts = [
        ("transport", network.transport.as_str(), USUAL_TRANSPORT.name()),
        ("compression", &network.codec, "none"),
        ("response-compression", &network.response_codec, "none"),
    ];
    let others = texts.into_iter().filter(|(_, used, usual)| !used.is_empty() && used != usual);
    let mut flags: Vec<(&str, Value)> = others.map(|(flag, used, _)| (flag, used.into())).collect();
    if network.connections > 1 {
        flags.push(("connections", network.connections.into()));
    }
    flags.push(if network.tls { ("tls-ca", "".into()) } else { ("insecure", true.into()) });
    flags
}

/// Returns true when a run has not found the text that belongs under the key, and a person has to write it.
fn is_missing(desc: &SystemDesc, key: &str) -> bool {
    must_have_a_text(key) && desc.to_be_stated.iter().any(|(missing, _)| missing == key)
}

/// Returns the explanation of a key as a sentence, and a word behind it.
fn explanation(key: &str, word: &str) -> String {
    let of_run = |part: &&str| !OF_A_RUN.iter().any(|end| part.contains(end));
    let parts: Vec<&str> = key_help(key).split("; ").filter(of_run).collect();
    let text = parts.join("; ");
    let mut letters = text.chars();
    match letters.next() {
        Some(first) if !text.contains("this run") => {
            let stop = if text.ends_with('.') { "" } else { "." };
            format!("{}{}{stop} {word}", first.to_uppercase(), letters.as_str()).trim_end().to_owned()
        }
        _ => word.to_owned(),
    }
}

/// A text of TOML: those of JSON are, too.
fn quoted(text: &str) -> String {
    Value::String(text.to_owned()).to_string()
}

#[cfg(test)]
mod tests {
    use loadgen::conf::rules::Rules;

    use super::*;

    #[test]
    fn every_key_is_there_once_with_what_belongs_there() {
        let text = text(None, None, &[]);
        for key in SYSTEM_KEYS.into_iter().chain(NETWORK_KEYS).filter(|key| !ELSEWHERE.contains(key)) {
            let lines = text.lines().filter(|line| line.trim_start_matches("# ").starts_with(&format!("{key} = ")));
            assert_eq!(lines.count(), 1, "{key}");
        }
        assert!(
            text.contains("# FILL IN: The name under which the result is to be listed.\nsystem_name = \"\"\n"),
            "{text}"
        );
        assert!(
            text.contains("# Maker and model of the processors. Runs find it.\n# host_processor_model_name = \"\"\n")
        );
        assert_eq!(quoted("a \"b\""), "\"a \\\"b\\\"\"");
        assert!(!text.contains("did not say") && text.contains(&format!("{NODES_MARK}\n{NODES}\n")), "{text}");
        for part in [ROUND, BENCHMARK, "network_media = \"copper\"\n", "cooling = \"air\"\n"] {
            assert!(text.contains(part), "no {part} in {text}");
        }
        assert!(ROUND.contains(Rules::newest().round.name));
    }

    #[test]
    fn values_of_a_run_that_cannot_be_submitted_are_marked() {
        let digits = ResultSummary {
            rules: "v6.1".to_owned(),
            benchmark: "digits".to_owned(),
            scenario: "Server".to_owned(),
            dataset: "digits".to_owned(),
            ..ResultSummary::default()
        };
        let text = text(Some(&digits), None, &node_flags(&digits));
        let open = super::super::blanks::open_lines("s.toml", &text).join("\n");
        for key in ["benchmark.name: a benchmark of round v6.1", "benchmark.run: the dataset"] {
            assert!(open.contains(key), "no {key} in {open}");
        }
        assert!(text.contains("\n# Plain text to the nodes. For TLS write tls-ca = \"ca.pem\" in its place"), "{text}");
        let run = ResultSummary { benchmark: "retinanet".to_owned(), rules: "v5.1".to_owned(), ..digits };
        let text = super::text(Some(&run), None, &[]);
        let open = super::super::blanks::open_lines("s.toml", &text).join("\n");
        assert!(!open.contains("benchmark.name") && !open.contains("benchmark.run"), "{open}");
        assert!(open.contains("benchmark.settings.Offline: a scenario that the round asks for, too"), "{open}");
    }

    #[test]
    fn nodes_of_this_machine_are_known_by_their_addresses() {
        assert!(["127.0.0.2:8000", "[::1]:8000", "localhost:8000"].into_iter().all(is_local));
        assert!(!["10.0.0.2:8000", "sut:8000", "[::ffff:10.0.0.2]:8000"].into_iter().any(is_local));
    }

    #[test]
    fn a_run_gives_its_round_benchmark_dataset_rate_and_way() {
        let mut run = ResultSummary {
            rules: "v6.0".to_owned(),
            benchmark: "retinanet".to_owned(),
            scenario: "Server".to_owned(),
            dataset: "/nowhere/openimages".to_owned(),
            ..ResultSummary::default()
        };
        run.settings.scenario = loadgen::settings::Scenario::SERVER;
        run.settings.server_target_qps = 312.5;
        run.network.transport = "quic".to_owned();
        let text = text(Some(&run), Some(&SystemDesc::of_nodes(&qdl::Host::default(), &[])), &node_flags(&run));
        assert!(!text.contains(NODES_MARK), "{text}");
        for line in [
            "round = \"v6.0\"",
            "name = \"retinanet\"",
            "run = { dataset = \"/nowhere/openimages\" }",
            "settings.Server = { target_qps = 312.5 }",
            "transport = \"quic\"",
            "insecure = true",
        ] {
            assert!(text.lines().any(|own| own == line), "no {line} in {text}");
        }
        run.network.tls = true;
        let text = super::text(Some(&run), None, &node_flags(&run));
        assert!(text.contains("\n# FILL IN: --tls-ca of the run.\ntls-ca = \"\"\n"), "{text}");
        assert!(!text.contains("settings.Offline") && !text.contains("imagenet"), "{text}");
        let file: Result<super::super::file::SubmissionFile, _> = toml::from_str(&text);
        assert!(file.is_ok(), "{file:?}");
    }
}
