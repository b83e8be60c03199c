//! The command line that serves with a setup, for `bench --tune`.

use std::num::NonZeroUsize;
use std::time::Duration;

use lon_sut::ModelName;
use lon_sut::backend::Backends;
use lon_sut::pipeline::post::Postprocess;

use super::args::{BenchArgs, ComputeArgs};
use super::backend_args::{BackendArgs, OpenAiArgs, PipelineArgs, TokenArgs, TrustArgs};
use super::for_model::value_for;
use super::named_backend::NamedBackend;

/// One setup of workers, threads and batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Setup {
    pub(super) workers: NonZeroUsize,
    pub(super) threads: NonZeroUsize,
    pub(super) max_batch: NonZeroUsize,
    pub(super) max_delay: Duration,
}

/// The address of the line: on loopback, where plain text needs no permission.
const LISTEN: &str = "127.0.0.1:8000";

/// The words before the line: the library that the measured model ran on.
pub(super) fn library(args: &BackendArgs, backends: &Backends) -> String {
    let kind = args.backend.first().and_then(|named| backends.kind(&named.text));
    let variable = kind.and_then(|kind| kind.library_variable);
    let set = variable.and_then(|name| Some((name, std::env::var(name).ok().filter(|path| !path.is_empty())?)));
    set.map_or_else(String::new, |(name, path)| format!("{name}={} ", quoted(&path)))
}

/// The line that serves with `setup`, and with the other flags of the measurement.
pub(super) fn line(setup: &Setup, args: &BenchArgs) -> String {
    let Setup { workers, threads, max_batch, max_delay } = setup;
    let text = args.backend.backend.first().map_or("", |named| &named.text);
    let delay = if max_delay.is_zero() { String::new() } else { format!(" --max-delay {max_delay:?}") };
    format!(
        "sut-node serve --backend {}{} --workers {workers} --threads {threads} --max-batch {max_batch}{delay} --listen \
         {LISTEN}",
        quoted(text),
        other_flags(&args.backend, &args.compute)
    )
}

/// The flags that were given beside those of the setup, each with a blank before it.
fn other_flags(args: &BackendArgs, compute: &ComputeArgs) -> String {
    let BackendArgs { backend, threads: _, tokens, openai, pipeline, trust } = args;
    let name = backend.first().map_or_else(ModelName::main, NamedBackend::name);
    let values = [of_pipeline(pipeline, &name), of_tokens(tokens), of_openai(openai), of_compute(compute)];
    let PipelineArgs { allow_empty, .. } = pipeline;
    let TrustArgs { insecure, allow_open_key_files } = trust;
    let switches =
        [("--allow-empty", allow_empty), ("--insecure", insecure), ("--allow-open-key-files", allow_open_key_files)];
    let values = values.into_iter().flatten().map(|(flag, value)| format!(" {flag} {}", quoted(&value)));
    let switches = switches.into_iter().filter(|(_, is_on)| **is_on).map(|(flag, _)| format!(" {flag}"));
    values.chain(switches).collect()
}

/// Flags with their values, as far as they were given.
type FlagValues = Vec<(&'static str, String)>;

fn flag_values<const N: usize>(flags: [(&'static str, Option<String>); N]) -> FlagValues {
    flags.into_iter().filter_map(|(flag, value)| Some((flag, value?))).collect()
}

fn of_pipeline(args: &PipelineArgs, model: &ModelName) -> FlagValues {
    let PipelineArgs { ep, inputs, outputs, allow_empty: _, batch_dim, dims, preprocess: _, postprocess: _ } = args;
    let list = |names: &[String]| (!names.is_empty()).then(|| names.join(","));
    let dims: Vec<String> = dims.iter().map(ToString::to_string).collect();
    let postprocess = Some(args.postprocess(model)).filter(|postprocess| *postprocess != Postprocess::None);
    flag_values([
        ("--ep", value_for(ep, model).map(|ep| ep.to_string())),
        ("--inputs", list(inputs)),
        ("--outputs", list(outputs)),
        ("--batch-dim", batch_dim.as_ref().map(ToString::to_string)),
        ("--dims", list(&dims)),
        ("--preprocess", args.preprocess(model).map(ToString::to_string)),
        ("--postprocess", postprocess.map(|it| it.to_string())),
    ])
}

// The numbers below are the defaults of the flags (a test compares).
fn of_tokens(args: &TokenArgs) -> FlagValues {
    let TokenArgs { slots, max_tokens, min_tokens, beams, eos, max_context } = args;
    let unless = |value: usize, usual: usize| (value != usual).then(|| value.to_string());
    flag_values([
        ("--slots", unless(slots.get(), 8)),
        ("--max-tokens", unless(max_tokens.get(), 128)),
        ("--min-tokens", unless(*min_tokens, 0)),
        ("--beams", unless(beams.get(), 1)),
        ("--eos", eos.map(|id| id.to_string())),
        ("--max-context", unless(max_context.get(), 2048)),
    ])
}

fn of_openai(args: &OpenAiArgs) -> FlagValues {
    let OpenAiArgs { server_timeout, api_key_file, server_ca } = args;
    let file = |path: &Option<std::path::PathBuf>| path.as_ref().map(|path| path.display().to_string());
    flag_values([
        ("--server-timeout", (*server_timeout != Duration::from_secs(60)).then(|| format!("{server_timeout:?}"))),
        ("--api-key-file", file(api_key_file)),
        ("--server-ca", file(server_ca)),
    ])
}

fn of_compute(args: &ComputeArgs) -> FlagValues {
    let ComputeArgs { max_batch: _, max_delay: _, workers: _, memory, decode_threads } = args;
    flag_values([
        ("--memory", memory.map(|memory| memory.to_string().replace(' ', ""))),
        ("--decode-threads", decode_threads.map(|threads| threads.to_string())),
    ])
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=,".contains(c);
    if word.chars().all(is_plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::super::args::ServeArgs;
    use super::*;

    #[derive(Parser, Debug)]
    struct Bench {
        #[command(flatten)]
        args: BenchArgs,
    }

    #[derive(Parser, Debug)]
    struct Serve {
        #[command(flatten)]
        args: ServeArgs,
    }

    const SETUP: Setup = Setup {
        workers: NonZeroUsize::MIN,
        threads: NonZeroUsize::MIN,
        max_batch: NonZeroUsize::MIN,
        max_delay: Duration::from_millis(1),
    };

    fn line_of(flags: &[&str]) -> String {
        let args = ["bench", "--backend", "null"].iter().chain(flags);
        line(&SETUP, &Bench::try_parse_from(args).unwrap().args)
    }

    #[test]
    fn the_line_serves_as_it_is() {
        let line = line_of(&[]);
        assert_eq!(
            line,
            "sut-node serve --backend null --workers 1 --threads 1 --max-batch 1 --max-delay 1ms \
             --listen 127.0.0.1:8000"
        );
        let Serve { args } = Serve::try_parse_from(line.split(' ').skip(1)).unwrap();
        let address = args.listen.parse().unwrap();
        assert!(args.security.tls(address, args.backend.trust).unwrap().is_none());
    }

    #[test]
    fn the_line_has_every_flag_of_the_measurement() {
        for flags in [
            "--slots 4 --max-tokens 9 --min-tokens 2 --beams 2 --eos 7 --max-context 64",
            "--server-timeout 1.5s --api-key-file k --server-ca c",
            "--memory 8GiB --decode-threads 2",
            "--postprocess argmax --allow-empty --insecure --allow-open-key-files",
        ] {
            let flag_words: Vec<&str> = flags.split(' ').collect();
            let line = line_of(&flag_words);
            let flag_text = flags.replace("8GiB", "8192MiB");
            assert!(line.contains(&format!(" {flag_text} --workers")), "{line}");
            Serve::try_parse_from(line.split(' ').skip(1)).unwrap();
        }
    }

    #[test]
    fn words_are_quoted_for_a_shell_where_they_have_to_be() {
        assert_eq!(quoted("onnx:/m/a-b_1.onnx"), "onnx:/m/a-b_1.onnx");
        assert_eq!(quoted("onnx:my model's.onnx"), r"'onnx:my model'\''s.onnx'");
    }
    /// As a variable has several, which is given once.
    #[test]
    fn backends_are_parted_by_semicolons() {
        let Serve { args } = Serve::try_parse_from(["serve", "--backend", "a=null;b=onnx:/m/b.onnx"]).unwrap();
        let texts: Vec<&str> = args.backend.backend.iter().map(|named| named.text.as_str()).collect();
        assert_eq!(texts, ["null", "onnx:/m/b.onnx"]);
    }
}
