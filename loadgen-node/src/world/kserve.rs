//! `--transport kserve`: servers that are no SUT nodes. What has to be typed for them, what they cannot do, and how
//! samples are made to fit their model.

use anyhow::{anyhow, bail};
use lon_qsl::dataset::Dataset;
use qdl::{KserveServer, NodeDescription, Peers};

use crate::cli::{DialArgs, KserveArgs, RunArgs, Transport};
use crate::world::targets;
use loadgen::plan::Plan;

/// Whether the nodes are such servers.
pub(crate) fn is_on(args: &DialArgs) -> bool {
    args.transport == Transport::Kserve
}

/// The nodes and what is asked of them, as typed: `NAME=host:port[,...]` with --model; other transports want neither.
pub(crate) fn peers(dial: &DialArgs, kserve: &KserveArgs) -> anyhow::Result<Peers> {
    if !is_on(dial) {
        let flags = [("--model", kserve.model.is_some()), ("--kserve-inputs", !kserve.inputs.is_empty())];
        if let Some((flag, _)) = flags.iter().find(|(_, given)| *given) {
            bail!("{flag} is for --transport kserve");
        }
        return Ok(Peers::sut_nodes(targets::parse(&dial.sut)?, dial.transport.into()));
    }
    let model = kserve.model.clone().filter(|model| !model.is_empty());
    let model =
        model.ok_or_else(|| anyhow!("--transport kserve needs --model NAME: the name that the server knows it by"))?;
    let servers = targets::parse_named(&dial.sut)?.into_iter().map(|(name, address)| KserveServer { name, address });
    Ok(Peers::kserve(servers.collect(), model))
}

/// What such servers cannot do is refused before they are asked anything.
pub(crate) fn check(args: &RunArgs, plan: &Plan) -> anyhow::Result<()> {
    if !is_on(&args.dial) {
        return Ok(());
    }
    let codecs = &args.codecs;
    let has_codec = codecs.compression != crate::cli::Compression::default();
    if has_codec || !codecs.response_compression.is_none() {
        let flag = if has_codec { "--compression" } else { "--response-compression" };
        bail!("{flag}: KServe's protocol knows no codec, so that samples and answers go as they are (none)");
    }
    if args.probe {
        bail!("--probe: {}", no_probe());
    }
    if plan.effective().use_token_latencies {
        bail!(
            "use_token_latencies: a call of KServe's protocol has one answer and no first token; a SUT node in front of \
             the model (sut-node serve) can tell"
        );
    }
    Ok(())
}

/// Why the fabric to such servers is not measured.
pub(crate) fn no_probe() -> &'static str {
    "servers of KServe's protocol cannot be probed, they have no such call: put a SUT node (sut-node serve --backend null) \
     on that host and probe it"
}

/// Makes the dataset's samples into requests that all of the servers take.
pub(crate) fn fit(dataset: &mut Dataset, nodes: &[NodeDescription], inputs: &[String]) -> anyhow::Result<()> {
    let Some((first, others)) = nodes.split_first() else { return Ok(()) };
    if let Some(other) = others.iter().find(|other| other.inputs != first.inputs) {
        let shown = |node: &NodeDescription| match node.inputs.to_string() {
            nothing if nothing.is_empty() => "nothing".to_owned(),
            inputs => inputs,
        };
        bail!(
            "servers {} and {} say different things of the inputs of model '{}': {} and {}",
            first.name,
            other.name,
            first.model,
            shown(first),
            shown(other)
        );
    }
    let told =
        || format!("model '{}' of server {} ({}) does not fit the dataset", first.model, first.name, first.address);
    // Where both ends have names nobody has to give them.
    let known = if inputs.is_empty() { dataset.other_order(&first.inputs) } else { None };
    if let Some(order) = &known {
        tracing::info!("a sample's tensors are {} of model '{}', by their names", order.join(", "), first.model);
    }
    let inputs = known.as_deref().unwrap_or(inputs);
    dataset.set_kserve(&first.model, &first.inputs, inputs).map_err(|error| anyhow::Error::new(error).context(told()))
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::cli::{Cli, Command};

    fn run_args(more: &[&str]) -> RunArgs {
        let typed = ["loadgen-node", "run", "--benchmark", "digits", "--scenario", "Offline"];
        match Cli::parse_from(typed.iter().chain(more)).command {
            Command::Run(args) => *args,
            other => panic!("{other:?}"),
        }
    }

    fn parsed(more: &[&str]) -> Result<Peers, String> {
        let args = run_args(more);
        peers(&args.dial, &args.kserve).map_err(|error| format!("{error:#}"))
    }

    #[test]
    fn servers_have_names_and_a_model() {
        let typed = ["--transport", "kserve", "--model", "m", "--sut", "a=127.0.0.1:8001, b=[::1]"];
        let server = |name: &str, at: &str| KserveServer { name: name.to_owned(), address: at.parse().unwrap() };
        let servers = vec![server("a", "127.0.0.1:8001"), server("b", "[::1]:8000")];
        assert_eq!(parsed(&typed), Ok(Peers::kserve(servers, "m".to_owned())));
        assert!(parsed(&["--transport", "kserve", "--sut", "a=h:1"]).unwrap_err().contains("--model"));
        for flag in ["--model", "--kserve-inputs"] {
            assert!(parsed(&["--sut", "h:1", flag, "x"]).unwrap_err().contains(flag));
        }
        let node = vec!["h:1".parse().unwrap()];
        assert_eq!(parsed(&["--sut", "h:1"]), Ok(Peers::sut_nodes(node, qdl::Transport::GRPC)));
    }
}
