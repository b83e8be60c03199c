//! The command `benchmark init`: the start of a benchmark of the user's own, for the model that a node has.

use anyhow::anyhow;
use lon_qsl::benchmark::template::{SAMPLES, Template};

use super::io::{print_text, shown};
use crate::cli::{BenchmarkCommand, BenchmarkInitArgs};
use crate::exit::{Exit, OrExit as _, Outcome};

pub(crate) fn benchmark(command: &BenchmarkCommand) -> Outcome {
    let BenchmarkCommand::Init(args) = command;
    init(args)
}

/// Writes a benchmark file and a dataset for the model of the first node, and says how to go on.
fn init(args: &BenchmarkInitArgs) -> Outcome {
    if args.file.extension().is_none_or(|extension| extension != "toml") {
        return Err(anyhow!("{}: a benchmark file ends in .toml", shown(&args.file))).or_exit(Exit::Usage);
    }
    let qdl = args.dial.target(&args.kserve)?.connect()?;
    let Some(node) = qdl.nodes().first() else {
        return Err(anyhow!("no node is there")).or_exit(Exit::Usage);
    };
    let template = Template { model: &node.model, inputs: &node.inputs, outputs: &node.outputs };
    let data = template.write(&args.file).or_exit(Exit::Usage)?;
    let (file, data) = (shown(&args.file), shown(&data));
    print_text(&format!(
        "{file} is written for the model of node {}: {}\n\
         {data} is written: {SAMPLES} samples of zeros, to be replaced by your own\n\
         Run it: loadgen-node run --sut {} --benchmark {file} --dataset {data} --scenario SingleStream\n",
        node.name, node.inputs, node.address,
    ))
}
