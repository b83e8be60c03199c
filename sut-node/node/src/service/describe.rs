//! Description of a node: for its clients (`Describe`), and for people and scripts (`sut-node describe`).

use lon_machine::host::{Host, Machine};
use lon_net::slice::Priority;
use lon_proto::WIRE_VERSION;
use lon_proto::figures::bytes;
use lon_proto::node_name::NodeName;
use lon_proto::setup::{Build, Setting};
use lon_proto::v1::{self, DescribeResponse};
use lon_shell::documents::{BackendDocument, DESCRIBE_SCHEMA, DescribeDocument, TriedEngine};
use lon_shell::version::REVISION;

use super::models::{ServedModel, ServedModels};
use crate::backend::{Backend, BackendInfo};
use crate::config::{ModelConfig, ServeConfig};
use crate::pipeline::Preprocessing;
use crate::run::codecs;
use crate::tensor::{Signature, TensorSpec};

/// The program and its version.
pub(crate) const SOFTWARE: &str = concat!("sut-node ", env!("CARGO_PKG_VERSION"));

/// Returns the inputs to send to a node of this backend. A node that pre-processes does not take what the model takes.
pub fn inputs(info: &BackendInfo, preprocess: Option<&Preprocessing>) -> Signature {
    preprocess.map_or_else(|| info.inputs.clone(), |preprocess| preprocess.client_inputs(&info.inputs))
}

/// One text for each tensor of a signature: `name dtype[dims]`.
pub(crate) fn texts(specs: &[TensorSpec]) -> Vec<String> {
    specs.iter().map(ToString::to_string).collect()
}

fn known_codecs(preprocess: Option<&Preprocessing>) -> impl Iterator<Item = &'static str> {
    codecs::codec_names(preprocess.is_some_and(Preprocessing::takes_files))
}

/// Returns the build of this program, with these features. The digest of the image is known where `LON_IMAGE_DIGEST` is
/// set for the container.
pub(crate) fn build(features: &[&str]) -> Build {
    Build {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        revision: REVISION.unwrap_or_default().to_owned(),
        image_digest: std::env::var("LON_IMAGE_DIGEST").unwrap_or_default(),
        features: features.iter().copied().map(str::to_owned).collect(),
    }
}

/// Returns the settings of a model: its own options, those of the node, then those of its backend.
fn settings(config: &ModelConfig, of_node: &[Setting], info: &BackendInfo) -> Vec<Setting> {
    let preprocess = config.preprocess.as_ref().map_or_else(|| "none".to_owned(), ToString::to_string);
    let speed = [
        Setting::of_speed("max_batch", config.max_batch),
        Setting::of_speed("max_delay", format!("{:?}", config.max_delay)),
        Setting::of_speed("workers", config.workers),
        Setting::of_speed("decode_threads", config.decode_threads),
    ];
    let answers = [Setting::of_answers("preprocess", preprocess)];
    [&speed, of_node, &answers, &info.settings].concat()
}

/// Returns the settings that all models of a node share.
fn node_settings(config: &ServeConfig) -> [Setting; 3] {
    [
        Setting::of_speed("io_threads", config.io_threads),
        Setting::of_speed("busy_poll", config.busy_poll),
        Setting::of_speed("priority", Priority::name(config.realtime)),
    ]
}

fn backend(info: &BackendInfo, preprocess: Option<&Preprocessing>) -> v1::Backend {
    v1::Backend {
        engine: info.engine.clone(),
        model: info.model.clone(),
        model_sha256: info.model_sha256.clone().unwrap_or_default(),
        inputs: inputs(info, preprocess).iter().map(Into::into).collect(),
        outputs: info.outputs.iter().map(Into::into).collect(),
        model_bytes: info.model_bytes.unwrap_or(0),
    }
}

/// Returns the description of one model. Its settings are those that are its own.
fn model(ServedModel { name, backend: answers, config, .. }: &ServedModel) -> v1::Model {
    let (info, preprocess) = (answers.info(), config.preprocess.as_ref());
    v1::Model {
        name: name.to_string(),
        backend: Some(backend(info, preprocess)),
        codecs: known_codecs(preprocess).map(str::to_owned).collect(),
        settings: settings(config, &[], info).into_iter().map(Into::into).collect(),
    }
}

/// The answer to `Describe` of a node of this configuration and these models on the machine `host`, which has these
/// settings of its own.
pub(crate) fn describe(
    config: &ServeConfig,
    host: Host,
    of_host: &[Setting],
    models: &ServedModels,
) -> DescribeResponse {
    let first = models.first();
    let (info, preprocess) = (first.backend.info(), first.config.preprocess.as_ref());
    let settings = settings(&first.config, &node_settings(config), info);
    DescribeResponse {
        wire_version: WIRE_VERSION,
        name: config.node.to_string(),
        software: SOFTWARE.to_owned(),
        host: Some(host.into()),
        backend: Some(backend(info, preprocess)),
        codecs: known_codecs(preprocess).map(str::to_owned).collect(),
        settings: settings.into_iter().chain(of_host.iter().cloned()).map(Into::into).collect(),
        build: Some(build(&config.features).into()),
        models: models.iter().map(model).collect(),
    }
}

/// Returns the description of a node that does not serve.
pub fn document(node: &NodeName, backend: &dyn Backend, preprocess: Option<&Preprocessing>) -> DescribeDocument {
    let info = backend.info();
    let mut host = Machine::here().without_ids();
    // A speed that the driver does not claim is 0 here, as it is in `Describe`.
    host.nics.iter_mut().for_each(|nic| nic.speed_mbit_s = nic.speed_mbit_s.or(Some(0)));
    DescribeDocument {
        schema: DESCRIBE_SCHEMA,
        name: node.to_string(),
        software: SOFTWARE.to_owned(),
        wire_version: WIRE_VERSION,
        backend: BackendDocument {
            engine: info.engine.clone(),
            model: info.model.clone(),
            model_sha256: info.model_sha256.clone(),
            model_bytes: info.model_bytes,
            settings: info.settings.iter().map(|it| (it.name.clone(), it.value.clone())).collect(),
            inputs: texts(&inputs(info, preprocess)),
            outputs: texts(&info.outputs),
        },
        codecs: known_codecs(preprocess).map(str::to_owned).collect(),
        host,
        tried: Vec::new(),
    }
}

/// The same for people: what answers, and the tensors of a sample and of its answer. `N` is the batch.
pub fn text(document: &DescribeDocument) -> String {
    let BackendDocument { engine, model, model_bytes, inputs, outputs, .. } = &document.backend;
    let model = if model.is_empty() { "none" } else { model };
    let size = model_bytes.map_or_else(String::new, |count| format!(", {}", bytes(count)));
    let tensors = [("Sample", inputs), ("Answer", outputs)];
    let tensors = tensors.into_iter().flat_map(|(title, all)| all.iter().map(move |tensor| (title, tensor.clone())));
    let lines = [("Model", format!("{model}{size}")), ("Engine", engine.clone())].into_iter().chain(tensors);
    let whole = inputs.iter().filter_map(|input| without_batch(input)).map(|line| ("", line));
    let tried = document.tried.iter().map(|TriedEngine { engine, reason, .. }| match reason {
        None => ("Try", format!("{engine}: runs")),
        Some(reason) => ("Try", format!("{engine}: {reason}")),
    });
    lines.chain(whole).chain(tried).map(|(title, line)| format!("{title:<10}{line}\n")).collect()
}

/// Explains the samples of an input without batch dimension, which is shown as `name dtype[dims]`.
fn without_batch(input: &str) -> Option<String> {
    let (named, dims) = input.strip_suffix(']')?.rsplit_once('[')?;
    if matches!(dims.split(',').next(), Some("N" | "1")) {
        return None;
    }
    let (one, all) = match dims {
        "" => ("one number".to_owned(), "[100]".to_owned()),
        dims => (format!("[{dims}] as it stands"), format!("[100,{dims}]")),
    };
    Some(format!("{named} has no batch dimension: a sample is {one}, 100 samples in a file of numpy are {all}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_of_inputs_without_a_batch_dimension_are_explained() {
        assert_eq!(without_batch("x f32[N,3]"), None);
        assert_eq!(without_batch("x f32[1,3]"), None);
        let message = without_batch("limit i64[]").unwrap();
        assert!(
            message.starts_with("limit i64 has no batch")
                && message.ends_with("a sample is one number, 100 samples in a file of numpy are [100]"),
            "{message}"
        );
        let message = without_batch("x f32[2,3]").unwrap();
        assert!(message.contains("a sample is [2,3] as it stands") && message.ends_with("are [100,2,3]"), "{message}");
    }
}
