//! Samples as requests of the Open Inference Protocol (KServe V2): the body of a call, made before any clock starts.
//! The sender adds the id of the call and nothing else.
//!
//! A body has the name of the model, the name, datatype and shape of each input, and the bytes of the tensors in
//! `raw_input_contents`. A sample is one element of a batch: inputs with a batch dimension have 1 there.

use bytes::Bytes;
use lon_proto::kserve::datatype;
use lon_proto::kserve::v2::ModelInferRequest;
use lon_proto::kserve::v2::model_infer_request::InferInputTensor;
use lon_proto::sample::{DType, Signature, Tensor, TensorSpec};
use prost::Message as _;

/// The parts of a request that are the same for all samples of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    model: String,
    /// The inputs in the order of a sample's tensors.
    inputs: Vec<Input>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Input {
    name: String,
    /// The model's signature of this input; none when the server does not tell it.
    spec: Option<TensorSpec>,
}

/// The reasons why samples cannot be made into requests for a model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// Neither the server nor the user gives the names of the inputs.
    #[error(
        "the server does not say what inputs model '{model}' has, and the dataset's tensors have no names: give \
         them in the order of the sample's tensors ({tensors}) with --kserve-inputs NAME[,NAME...]"
    )]
    NoNames {
        /// The name of the model.
        model: String,
        /// The types and shapes of a sample's tensors.
        tensors: String,
    },
    /// A sample does not have one tensor for each name, or for each of the model's inputs.
    #[error("a sample has {tensors}, which is not one tensor for each of the inputs {inputs}{hint}")]
    Count {
        /// The types and shapes of a sample's tensors.
        tensors: String,
        /// The inputs that there should be.
        inputs: String,
        /// A clause that says what to do; empty when that is not known.
        hint: &'static str,
    },
    /// The model has no input of this name.
    #[error("--kserve-inputs: model '{model}' has no input '{name}'; it has {inputs}")]
    UnknownName {
        /// The name of the model.
        model: String,
        /// The name of the input.
        name: String,
        /// The inputs of the model.
        inputs: String,
    },
    /// The user gave this name more than once.
    #[error("--kserve-inputs: '{0}' is given twice")]
    Twice(String),
    /// The protocol has no name for the type of a tensor's elements.
    #[error("KServe's protocol has no elements of type {0}: SUT nodes take them (--transport grpc)")]
    NoType(DType),
    /// A tensor does not have the type or shape of its input.
    #[error(
        "the sample's tensor {tensor} does not fit input {input}{hint} (a sample leaves N, the batch dimension, \
         out or has it as 1)"
    )]
    Mismatch {
        /// The type and shape of the tensor.
        tensor: String,
        /// The signature of the input.
        input: String,
        /// A clause that says what to do; empty when that is not known.
        hint: &'static str,
    },
}

/// The hint for a sample of several tensors, which may have another order than the model's inputs.
const ORDER: &str = "; if it is the order that is wrong, --kserve-inputs NAME[,NAME...] gives it";

impl Request {
    /// Prepares requests for a model, to which samples like `first` are sent. `signature` is the model's, empty when
    /// its server does not tell it. `names` are the names of the inputs in the order of a sample's tensors; empty means
    /// the order of the model.
    ///
    /// # Errors
    /// Names are missing, or the names, the model and `first` do not fit together.
    pub fn new(
        model: &str,
        signature: &Signature,
        names: &[String],
        first: &[Tensor],
    ) -> Result<Request, RequestError> {
        if let Some(name) = names.iter().enumerate().find_map(|(at, name)| names[..at].contains(name).then_some(name)) {
            return Err(RequestError::Twice(name.clone()));
        }
        let with_spec = |spec: &TensorSpec| Input { name: spec.name.clone(), spec: Some(spec.clone()) };
        let inputs: Vec<Input> = if signature.is_empty() {
            names.iter().map(|name| Input { name: name.clone(), spec: None }).collect()
        } else if names.is_empty() {
            signature.iter().map(with_spec).collect()
        } else {
            let find = |name: &String| {
                let spec = signature.iter().find(|spec| spec.name == *name).map(with_spec);
                spec.ok_or_else(|| {
                    let (model, name, inputs) = (model.to_owned(), name.clone(), signature.to_string());
                    RequestError::UnknownName { model, name, inputs }
                })
            };
            let inputs = names.iter().map(find).collect::<Result<Vec<_>, _>>()?;
            // The server would refuse every sample without one of its inputs.
            if inputs.len() < signature.len() {
                return Err(count(first, signature.to_string(), "; --kserve-inputs has to name all of them"));
            }
            inputs
        };
        if inputs.is_empty() {
            return Err(RequestError::NoNames { model: model.to_owned(), tensors: shapes_of(first) });
        }
        let request = Request { model: model.to_owned(), inputs };
        request.shapes(first)?;
        Ok(request)
    }

    /// Returns the body for one sample.
    ///
    /// # Errors
    /// The sample does not fit the model as the first one did.
    pub fn body(&self, tensors: Vec<Tensor>) -> Result<Bytes, RequestError> {
        let shapes = self.shapes(&tensors)?;
        let input = |((input, tensor), shape): ((&Input, &Tensor), Vec<i64>)| {
            let (name, dtype) = (input.name.clone(), tensor.dtype());
            let datatype = datatype(dtype).ok_or(RequestError::NoType(dtype))?.to_owned();
            Ok(InferInputTensor { name, datatype, shape, contents: None })
        };
        let request = ModelInferRequest {
            model_name: self.model.clone(),
            inputs: self.inputs.iter().zip(&tensors).zip(shapes).map(input).collect::<Result<_, RequestError>>()?,
            raw_input_contents: tensors.into_iter().map(|tensor| tensor.data().clone()).collect(),
            ..ModelInferRequest::default()
        };
        Ok(request.encode_to_vec().into())
    }

    /// Returns the shapes of the tensors as they are sent. They fit the inputs when there is no error.
    fn shapes(&self, tensors: &[Tensor]) -> Result<Vec<Vec<i64>>, RequestError> {
        if tensors.len() != self.inputs.len() {
            let names: Vec<&str> = self.inputs.iter().map(|input| input.name.as_str()).collect();
            return Err(count(tensors, names.join(", "), ""));
        }
        self.inputs.iter().zip(tensors).map(|(input, tensor)| input.shape(tensor, self.inputs.len())).collect()
    }
}

impl Input {
    /// Returns the shape of one tensor as it is sent. `inputs` is the number of the model's inputs.
    fn shape(&self, tensor: &Tensor, inputs: usize) -> Result<Vec<i64>, RequestError> {
        let (has_batch_dim, dims) = match &self.spec {
            // Nearly every model has a batch dimension.
            None => (true, &**tensor.dims()),
            Some(spec) => {
                let dims = spec.sample_dims(tensor).ok_or_else(|| RequestError::Mismatch {
                    tensor: tensor.to_string(),
                    input: spec.to_string(),
                    hint: if inputs > 1 { ORDER } else { "" },
                })?;
                (spec.has_batch_dim(), dims)
            }
        };
        let batch = has_batch_dim.then_some(1);
        Ok(batch.into_iter().chain(dims.iter().map(|&dim| i64::from(dim))).collect())
    }
}

/// Shows the types and shapes of tensors.
fn shapes_of(tensors: &[Tensor]) -> String {
    tensors.iter().map(Tensor::to_string).collect::<Vec<_>>().join(", ")
}

fn count(tensors: &[Tensor], inputs: String, hint: &'static str) -> RequestError {
    RequestError::Count { tensors: shapes_of(tensors), inputs, hint }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tensor(dtype: DType, dims: &[u32]) -> Tensor {
        let bytes = dtype.bytes_of(dims.iter().product::<u32>().into()).unwrap() as usize;
        Tensor::new(dtype, dims, Bytes::from(vec![7; bytes])).unwrap()
    }

    fn spec(name: &str, dtype: DType, dims: &[i64]) -> TensorSpec {
        let dims = dims.iter().map(|&dim| u32::try_from(dim).ok()).collect();
        TensorSpec::new(name, dtype, dims)
    }

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(ToString::to_string).collect()
    }

    fn body_of(request: &Request, tensors: Vec<Tensor>) -> ModelInferRequest {
        ModelInferRequest::decode(request.body(tensors).unwrap()).unwrap()
    }

    fn refused(signature: Vec<TensorSpec>, input_names: &[&str], tensors: &[Tensor]) -> String {
        Request::new("m", &Signature::new(signature), &names(input_names), tensors).unwrap_err().to_string()
    }

    #[test]
    fn a_body_has_names_types_shapes_and_raw_data() {
        let sample = || vec![tensor(DType::U8, &[1, 8, 8])];
        for (dims, shape) in [
            (&[-1, 1, 8, 8][..], &[1, 1, 8, 8][..]),
            (&[1, 1, 8, 8], &[1, 1, 8, 8]),
            (&[-1, -1, -1, -1], &[1, 1, 8, 8]),
        ] {
            let signature = Signature::new(vec![spec("image", DType::U8, dims)]);
            let body = body_of(&Request::new("digits", &signature, &[], &sample()).unwrap(), sample());
            assert_eq!((body.model_name.as_str(), body.id.as_str()), ("digits", ""));
            let [input] = &body.inputs[..] else { panic!("{body:?}") };
            assert_eq!((input.name.as_str(), input.datatype.as_str(), &input.shape[..]), ("image", "UINT8", shape));
            assert_eq!((&input.contents, &body.raw_input_contents[..]), (&None, &[Bytes::from(vec![7; 64])][..]));
        }
        let fixed = Signature::new(vec![spec("x", DType::F32, &[4])]);
        let sample = || vec![tensor(DType::F32, &[4])];
        assert_eq!(
            body_of(&Request::new("m", &fixed, &[], &sample()).unwrap(), sample()).inputs[0].shape,
            [4],
            "no batch"
        );
    }

    #[test]
    fn names_say_which_tensor_is_which() {
        let signature = Signature::new(vec![spec("ids", DType::I64, &[-1, -1]), spec("mask", DType::I8, &[-1, -1])]);
        let sample = || vec![tensor(DType::I8, &[3]), tensor(DType::I64, &[3])];
        let request = Request::new("m", &signature, &names(&["mask", "ids"]), &sample()).unwrap();
        let body = body_of(&request, sample());
        assert_eq!(body.inputs.iter().map(|input| input.name.as_str()).collect::<Vec<_>>(), ["mask", "ids"]);
        assert_eq!(body.raw_input_contents[1].len(), 24);
        // Another length is another shape.
        assert_eq!(body_of(&request, vec![tensor(DType::I8, &[9]), tensor(DType::I64, &[9])]).inputs[1].shape, [1, 9]);
        assert!(request.body(vec![tensor(DType::I8, &[9])]).is_err());
        let other = Request::new("m", &signature, &[], &sample()).unwrap_err().to_string();
        assert!(other.contains("--kserve-inputs") && other.contains("ids i64[N,?]"), "{other}");
    }

    #[test]
    fn a_server_that_says_nothing_needs_names() {
        let sample = || vec![tensor(DType::F32, &[2, 2])];
        let error = refused(vec![], &[], &sample());
        assert!(error.contains("--kserve-inputs") && error.contains("f32[2,2]"), "{error}");
        let request = Request::new("m", &Signature::default(), &names(&["x"]), &sample()).unwrap();
        assert_eq!(body_of(&request, sample()).inputs[0].shape, [1, 2, 2]);
        assert!(refused(vec![], &["x", "y"], &sample()).contains("x, y"));
        assert!(refused(vec![], &["x", "x"], &sample()).contains("'x' is given twice"));
    }

    #[test]
    fn what_does_not_fit_is_named() {
        let x = || spec("x", DType::F32, &[-1, 3]);
        for (input_names, sample, parts) in [
            (&[][..], vec![tensor(DType::F32, &[4])], &["f32[4]", "x f32[N,3]"][..]),
            (&[], vec![tensor(DType::U8, &[3])], &["u8[3]", "x f32[N,3]"]),
            (&[], vec![tensor(DType::F32, &[1, 1, 3])], &["f32[1,1,3]"]),
            (&[], vec![tensor(DType::F32, &[3]), tensor(DType::F32, &[3])], &["f32[3], f32[3]", "inputs x"]),
            (&["z"], vec![tensor(DType::F32, &[3])], &["no input 'z'", "x f32[N,3]"]),
        ] {
            let error = refused(vec![x()], input_names, &sample);
            for part in parts {
                assert!(error.contains(part), "no '{part}' in: {error}");
            }
        }
        let two = vec![x(), spec("y", DType::F32, &[-1, 3])];
        assert!(refused(two, &["x"], &[tensor(DType::F32, &[3])]).contains("all of them"));
    }
}
