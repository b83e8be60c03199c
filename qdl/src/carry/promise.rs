//! What a server of KServe's protocol has said of its model's outputs, and whether an answer keeps to it. Pure.
//!
//! A server that answers one number where its model has a thousand would be the fastest of all, and its answer would
//! agree with itself. So every answer is held against the metadata that the server gave before the run. What the
//! answers of SUT nodes are held against is in `dispatch/rule.rs`.

use lon_proto::kserve::v2::model_infer_response::InferOutputTensor;
use lon_proto::kserve::v2::model_metadata_response::TensorMetadata;

/// The outputs that answers must have. Empty: the server does not say.
#[derive(Clone, Debug, Default)]
pub(crate) struct Promise {
    outputs: Vec<TensorMetadata>,
}

impl Promise {
    /// The outputs as the model's metadata has them; nothing when they have no names.
    pub(crate) fn new(outputs: &[TensorMetadata]) -> Promise {
        let is_named = outputs.iter().all(|output| !output.name.is_empty());
        Promise { outputs: if is_named { outputs.to_vec() } else { Vec::new() } }
    }

    /// Whether the server has said what its outputs are, so that answers are held against that.
    pub(crate) fn is_made(&self) -> bool {
        !self.outputs.is_empty()
    }

    /// All outputs are there, by name and in any order, each of the type and shape that was said, and no others.
    ///
    /// # Errors
    /// What is wrong with the answer, in words.
    pub(crate) fn check(&self, outputs: &[InferOutputTensor]) -> Result<(), String> {
        if self.outputs.is_empty() {
            return Ok(());
        }
        for said in &self.outputs {
            let Some(output) = outputs.iter().find(|output| output.name == said.name) else {
                return Err(format!("its answer lacks output '{}', which its metadata names", said.name));
            };
            let is_type = said.datatype.is_empty() || said.datatype == output.datatype;
            if !is_type || !fits(&said.shape, &output.shape) {
                let (got, said) = (shown(output), shape_of(said));
                return Err(format!("its output {got} is not {said}, as its metadata has it"));
            }
        }
        match outputs.iter().find(|output| self.outputs.iter().all(|said| said.name != output.name)) {
            Some(other) => Err(format!("its answer has an output {}, which its metadata does not name", shown(other))),
            None if outputs.len() > self.outputs.len() => {
                let (got, said) = (outputs.len(), self.outputs.len());
                Err(format!("its answer has {got} outputs, {said} by its metadata"))
            }
            None => Ok(()),
        }
    }
}

/// A dimension that was not fixed is free, and so is a shape that was not given. Metadata may leave the batch dimension
/// out, which is 1 for every sample.
fn fits(said: &[i64], got: &[i64]) -> bool {
    let same =
        |got: &[i64]| said.len() == got.len() && said.iter().zip(got).all(|(said, got)| *said < 0 || said == got);
    said.is_empty() || same(got) || got.split_first().is_some_and(|(&batch, rest)| batch == 1 && same(rest))
}

/// An output as messages name it: `name FP32[1,10]`.
pub(super) fn shown(output: &InferOutputTensor) -> String {
    let dims: Vec<String> = output.shape.iter().map(i64::to_string).collect();
    format!("{} {}[{}]", output.name, output.datatype, dims.join(","))
}

/// Type and shape as messages name them: `FP32[-1,10]`.
fn shape_of(said: &TensorMetadata) -> String {
    let dims: Vec<String> = said.shape.iter().map(i64::to_string).collect();
    format!("{}[{}]", said.datatype, dims.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(name: &str, datatype: &str, shape: &[i64]) -> TensorMetadata {
        TensorMetadata { name: name.into(), datatype: datatype.into(), shape: shape.into() }
    }

    fn got(name: &str, datatype: &str, shape: &[i64]) -> InferOutputTensor {
        InferOutputTensor { name: name.into(), datatype: datatype.into(), shape: shape.into(), contents: None }
    }

    #[test]
    fn an_answer_has_what_the_metadata_says_and_nothing_else() {
        let promise = Promise::new(&[said("y", "FP32", &[-1, 10])]);
        promise.check(&[got("y", "FP32", &[1, 10])]).unwrap();
        for (outputs, part) in [
            (vec![got("y", "FP32", &[1, 1])], "y FP32[1,1] is not FP32[-1,10]"),
            (vec![got("y", "FP32", &[10])], "y FP32[10] is not"),
            (vec![got("y", "INT8", &[1, 10])], "y INT8[1,10] is not"),
            (vec![got("y", "FOO", &[1, 10])], "y FOO[1,10] is not"),
            (vec![got("y", "BYTES", &[1])], "y BYTES[1] is not"),
            (vec![got("nope", "FP32", &[1, 10])], "lacks output 'y'"),
            (vec![got("y", "FP32", &[1, 10]), got("z", "INT8", &[1])], "an output z INT8[1]"),
            (vec![got("y", "FP32", &[1, 10]), got("y", "FP32", &[1, 10])], "2 outputs, 1 by"),
        ] {
            let error = promise.check(&outputs).unwrap_err();
            assert!(error.contains(part), "no '{part}' in: {error}");
        }
    }

    #[test]
    fn two_outputs_come_in_any_order() {
        let promise = Promise::new(&[said("boxes", "FP32", &[-1, 4]), said("count", "INT32", &[1])]);
        let (boxes, count) = (got("boxes", "FP32", &[0, 4]), got("count", "INT32", &[1]));
        promise.check(&[boxes.clone(), count.clone()]).unwrap();
        promise.check(&[count, boxes.clone()]).unwrap();
        assert!(promise.check(&[boxes]).unwrap_err().contains("lacks output 'count'"));
    }

    #[test]
    fn a_batch_of_one_may_stand_in_front() {
        let promise = Promise::new(&[said("y", "FP32", &[10])]);
        promise.check(&[got("y", "FP32", &[10])]).unwrap();
        promise.check(&[got("y", "FP32", &[1, 10])]).unwrap();
        assert!(promise.check(&[got("y", "FP32", &[2, 10])]).is_err());
        assert!(promise.check(&[got("y", "FP32", &[1, 1, 10])]).is_err());
    }

    #[test]
    fn what_was_not_said_is_free() {
        let anything = [got("x", "FOO", &[3]), got("y", "FP32", &[])];
        Promise::default().check(&anything).unwrap();
        Promise::new(&[said("", "FP32", &[1])]).check(&anything).unwrap();
        Promise::new(&[said("x", "", &[]), said("y", "FP32", &[])]).check(&anything).unwrap();
    }
}
