//! The command `benchmark init`: the start of a benchmark of the user's own, for the model that a node has.

use std::path::PathBuf;

use anyhow::anyhow;
use lon_qsl::benchmark::template::{FREE_SIZE, SAMPLES, Template};

use super::io::{path_text, print_text};
use crate::cli::{BenchmarkCommand, BenchmarkInitArgs, USUAL_TRANSPORT};
use lon_run::exit::{Exit, OrExit as _, Outcome};

pub(crate) fn benchmark(command: &BenchmarkCommand) -> Outcome {
    let BenchmarkCommand::Init(args) = command;
    init(args)
}

/// Writes a benchmark file and a dataset for the model of the first node, and says how to go on.
fn init(args: &BenchmarkInitArgs) -> Outcome {
    if args.file.extension().is_none_or(|extension| extension != "toml") {
        return Err(anyhow!("{}: a benchmark file ends in .toml", path_text(&args.file))).or_exit(Exit::Usage);
    }
    let qdl = args.dial.target(&args.kserve)?.connect()?;
    let Some(node) = qdl.nodes().first() else {
        return Err(anyhow!("no node is there")).or_exit(Exit::Usage);
    };
    let template = Template { model: &node.model, inputs: &node.inputs, outputs: &node.outputs };
    let data = template.write(&args.file).or_exit(Exit::Usage)?;
    let (file, data, flags) = (path_text(&args.file), path_text(&data), dial_flags(args));
    let is_free = node.inputs.iter().any(|input| !input.is_optional && input.own_dims().contains(&None));
    let sizes = if is_free {
        format!("; free sizes are {FREE_SIZE} in them, and the model may need others")
    } else {
        String::new()
    };
    print_text(&format!(
        "{file} is written for the model of node {}: {}\n\
         {data} is written: {SAMPLES} samples of zeros, to be replaced by your own{sizes}\n\
         Speed: loadgen-node run {flags} --benchmark {file} --dataset {data} --scenario Server \
         --set target_qps=auto\n\
         Accuracy: put labels.txt or labels.npy beside the samples, and remove the # from the last three lines of \
         {file}; --mode SubmissionRun scores the answers, then measures the speed\n",
        node.name, node.inputs,
    ))
}

/// The flags by which the nodes are reached, as they were given.
fn dial_flags(args: &BenchmarkInitArgs) -> String {
    let (dial, kserve) = (&args.dial, &args.kserve);
    let security = &dial.connection.security;
    let file = |path: &Option<PathBuf>| path.as_ref().map(|path| path_text(path));
    let transport = dial.connection.transport.name();
    let values = [
        ("--sut", Some(dial.sut.clone())),
        ("--transport", (transport != USUAL_TRANSPORT.name()).then(|| transport.to_owned())),
        ("--model", kserve.model.clone()),
        ("--kserve-inputs", (!kserve.inputs.is_empty()).then(|| kserve.inputs.join(","))),
        ("--tls-ca", file(&security.tls_ca)),
        ("--tls-cert", file(&security.tls_cert)),
        ("--tls-key", file(&security.tls_key)),
        ("--token-file", file(&security.token_file)),
    ];
    let switches = [("--insecure", security.insecure), ("--allow-open-key-files", security.allow_open_key_files)];
    let values = values.into_iter().filter_map(|(flag, value)| Some(format!("{flag} {}", value?)));
    let switches = switches.into_iter().filter(|(_, is_given)| *is_given).map(|(flag, _)| flag.to_owned());
    values.chain(switches).collect::<Vec<_>>().join(" ")
}
