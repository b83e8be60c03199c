//! Description that a node gives of itself, in types that do not depend on the protocol.

use lon_machine::host::Host;
use lon_net::address::NodeAddress;
use lon_proto::sample::{Signature, TensorSpec};
use lon_proto::setup::{Build, Setting};
use lon_proto::text::printable;
use lon_proto::v1;

use crate::account::traffic::Ends;
use crate::error::ConnectError;

/// One node's description of itself.
#[derive(Clone, Debug)]
pub struct NodeDescription {
    /// The node's address, as the caller gave it.
    pub address: NodeAddress,
    /// The two ends of the connection on which it was asked; `None` where that has no addresses.
    pub ends: Option<Ends>,
    /// The node's name, which no other node of the SUT has.
    pub name: String,
    /// The node's software and version.
    pub software: String,
    /// The machine it runs on.
    pub host: Host,
    /// Engine that runs the model: "onnxruntime 1.31.1", "tract 0.23.9", "null".
    pub engine: String,
    /// The name of the model.
    pub model: String,
    /// SHA-256 of the model file, in hexadecimal; empty when there is no file.
    pub model_sha256: String,
    /// Bytes of the model file; none when there is no file, or the node does not tell.
    pub model_bytes: Option<u64>,
    /// Tensors that a sample must consist of; empty when anything is accepted.
    pub inputs: Signature,
    /// Tensors that an answer consists of.
    pub outputs: Signature,
    /// Extent to which the lengths of its answers are checked against its description of its outputs.
    pub answers_checked: AnswersChecked,
    /// Names of the codecs that the node knows, for samples and for answers, without levels.
    pub codecs: Vec<String>,
    /// Settings by which the node answers samples; empty when it does not report them.
    pub settings: Vec<Setting>,
    /// Build of its program; `None` when the node does not report it.
    pub build: Option<Build>,
    /// Every model of the node; empty where the node knows no tenants. The fields above are those of the first.
    pub models: Vec<ModelDescription>,
}

/// One of a node's models.
#[derive(Clone, Debug)]
pub struct ModelDescription {
    /// Name of the model at its node, which tenants give.
    pub name: String,
    engine: String,
    model: String,
    model_sha256: String,
    model_bytes: Option<u64>,
    inputs: Signature,
    outputs: Signature,
    codecs: Vec<String>,
    settings: Vec<Setting>,
}

/// Extent to which the lengths of a node's answers are checked against the description of its outputs that it gave
/// before the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AnswersChecked {
    /// Not at all: it has said nothing.
    No,
    /// Of these outputs any number of elements is taken: a size is free, or their elements have none.
    InPart(Vec<String>),
    /// An answer has exactly the bytes that were said.
    Wholly,
}

impl AnswersChecked {
    /// With outputs of these names, each with whether any number of its elements is taken.
    pub(crate) fn with(outputs: impl Iterator<Item = (String, bool)>) -> AnswersChecked {
        let outputs: Vec<(String, bool)> = outputs.collect();
        let free: Vec<String> =
            outputs.iter().filter(|(_, is_free)| *is_free).map(|(name, _)| printable(name)).collect();
        match free.len() {
            _ if outputs.is_empty() => AnswersChecked::No,
            0 => AnswersChecked::Wholly,
            _ => AnswersChecked::InPart(free),
        }
    }

    fn by(outputs: &Signature) -> AnswersChecked {
        AnswersChecked::with(outputs.iter().map(|output| (output.name.clone(), output.own_dims().contains(&None))))
    }
}

impl NodeDescription {
    pub(crate) fn read(
        address: NodeAddress,
        ends: Option<Ends>,
        description: v1::DescribeResponse,
    ) -> Result<Self, ConnectError> {
        let v1::DescribeResponse { name, software, host, backend, codecs, settings, build, models, .. } = description;
        let first = v1::Model { name: String::new(), backend, codecs, settings };
        let first = ModelDescription::read(&address, first)?;
        let models: Result<Vec<_>, _> =
            models.into_iter().map(|model| ModelDescription::read(&address, model)).collect();
        let node = NodeDescription {
            name: printable(&name),
            software: printable(&software),
            engine: String::new(),
            model: String::new(),
            model_sha256: String::new(),
            model_bytes: None,
            inputs: Signature::default(),
            answers_checked: AnswersChecked::No,
            outputs: Signature::default(),
            codecs: Vec::new(),
            settings: Vec::new(),
            build: build.map(Build::from),
            models: models?,
            host: host.unwrap_or_default().into(),
            ends,
            address,
        };
        Ok(node.with(first))
    }

    /// The node as a tenant of this model sees it.
    ///
    /// # Errors
    /// The node has no such model, or knows no tenants.
    pub(crate) fn of_model(&self, model: &str) -> Result<NodeDescription, ConnectError> {
        match self.models.iter().find(|own| own.name == model) {
            Some(description) => Ok(self.clone().with(description.clone())),
            None => Err(ConnectError::NoTenantModel {
                name: self.name.clone(),
                address: self.address.clone(),
                model: model.to_owned(),
                models: self.models.iter().map(|own| own.name.clone()).collect(),
            }),
        }
    }

    fn with(self, model: ModelDescription) -> NodeDescription {
        let ModelDescription { engine, model, model_sha256, model_bytes, inputs, outputs, codecs, settings, .. } =
            model;
        let answers_checked = AnswersChecked::by(&outputs);
        NodeDescription {
            engine,
            model,
            model_sha256,
            model_bytes,
            inputs,
            answers_checked,
            outputs,
            codecs,
            settings,
            ..self
        }
    }
}

impl ModelDescription {
    fn read(address: &NodeAddress, message: v1::Model) -> Result<ModelDescription, ConnectError> {
        let v1::Model { name, backend, codecs, settings } = message;
        let backend = backend.unwrap_or_default();
        let specs = |specs: &[v1::TensorSpec]| {
            let specs: Result<Vec<TensorSpec>, _> = specs.iter().map(TensorSpec::try_from).collect();
            specs.map(Signature::new).map_err(|error| ConnectError::Refused {
                address: address.clone(),
                call: "Describe",
                reason: format!("its model's signature cannot be read: {error}"),
            })
        };
        Ok(ModelDescription {
            name: printable(&name),
            engine: printable(&backend.engine),
            model: printable(&backend.model),
            model_sha256: printable(&backend.model_sha256),
            model_bytes: Some(backend.model_bytes).filter(|bytes| *bytes > 0),
            inputs: specs(&backend.inputs)?,
            outputs: specs(&backend.outputs)?,
            codecs: codecs.iter().map(|codec| printable(codec)).collect(),
            settings: settings.into_iter().map(Setting::from).collect(),
        })
    }
}
