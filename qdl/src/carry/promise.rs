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

    /// The places of an answer's outputs, in the order in which the metadata names them: an answer has them in any
    /// order, and what reads it knows that of the metadata. All are there once, by name, each of the type and shape
    /// that was said, and no others. Where nothing was said they stay as they are.
    ///
    /// # Errors
    /// What is wrong with the answer, in words.
    pub(crate) fn places(&self, outputs: &[InferOutputTensor]) -> Result<Vec<usize>, String> {
        if self.outputs.is_empty() {
            return Ok((0..outputs.len()).collect());
        }
        let places: Vec<usize> = self.outputs.iter().map(|said| place(said, outputs)).collect::<Result<_, _>>()?;
        match outputs.iter().enumerate().find(|(place, _)| !places.contains(place)) {
            Some((_, other)) => {
                Err(format!("its answer has an output {}, which its metadata does not name", shown(other)))
            }
            None if outputs.len() < places.len() => {
                let (got, said) = (outputs.len(), places.len());
                Err(format!("its answer has {got} outputs, {said} by its metadata, which has a name twice"))
            }
            None => Ok(places),
        }
    }
}

/// The place of the one output that has the name, type and shape that were said.
fn place(said: &TensorMetadata, outputs: &[InferOutputTensor]) -> Result<usize, String> {
    let mut named = outputs.iter().enumerate().filter(|(_, output)| output.name == said.name);
    let (place, output) = match (named.next(), named.next()) {
        (Some(one), None) => one,
        (None, _) => return Err(format!("its answer lacks output '{}', which its metadata names", said.name)),
        (Some(_), Some(_)) => return Err(format!("its answer has output '{}' twice", said.name)),
    };
    let is_type = said.datatype.is_empty() || said.datatype == output.datatype;
    if is_type && fits(&said.shape, &output.shape) {
        return Ok(place);
    }
    let (got, said) = (shown(output), shape_of(said));
    Err(format!("its output {got} is not {said}, as its metadata has it"))
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
        assert_eq!(promise.places(&[got("y", "FP32", &[1, 10])]), Ok(vec![0]));
        for (outputs, part) in [
            (vec![got("y", "FP32", &[1, 1])], "y FP32[1,1] is not FP32[-1,10]"),
            (vec![got("y", "FP32", &[10])], "y FP32[10] is not"),
            (vec![got("y", "INT8", &[1, 10])], "y INT8[1,10] is not"),
            (vec![got("y", "FOO", &[1, 10])], "y FOO[1,10] is not"),
            (vec![got("y", "BYTES", &[1])], "y BYTES[1] is not"),
            (vec![got("nope", "FP32", &[1, 10])], "lacks output 'y'"),
            (vec![got("y", "FP32", &[1, 10]), got("z", "INT8", &[1])], "an output z INT8[1]"),
            (vec![got("y", "FP32", &[1, 10]), got("y", "FP32", &[1, 10])], "has output 'y' twice"),
        ] {
            let error = promise.places(&outputs).unwrap_err();
            assert!(error.contains(part), "no '{part}' in: {error}");
        }
    }

    #[test]
    fn outputs_come_in_any_order_and_are_used_in_that_of_the_metadata() {
        let promise = Promise::new(&[said("boxes", "FP32", &[-1, 4]), said("count", "INT32", &[1])]);
        let (boxes, count) = (got("boxes", "FP32", &[0, 4]), got("count", "INT32", &[1]));
        assert_eq!(promise.places(&[boxes.clone(), count.clone()]), Ok(vec![0, 1]));
        assert_eq!(promise.places(&[count, boxes.clone()]), Ok(vec![1, 0]));
        assert!(promise.places(&[boxes]).unwrap_err().contains("lacks output 'count'"));
        let twice = Promise::new(&[said("y", "FP32", &[1]), said("y", "FP32", &[1])]);
        assert!(twice.places(&[got("y", "FP32", &[1])]).unwrap_err().contains("has a name twice"));
    }

    #[test]
    fn a_batch_of_one_may_stand_in_front() {
        let promise = Promise::new(&[said("y", "FP32", &[10])]);
        promise.places(&[got("y", "FP32", &[10])]).unwrap();
        promise.places(&[got("y", "FP32", &[1, 10])]).unwrap();
        assert!(promise.places(&[got("y", "FP32", &[2, 10])]).is_err());
        assert!(promise.places(&[got("y", "FP32", &[1, 1, 10])]).is_err());
    }

    #[test]
    fn what_was_not_said_is_free() {
        let anything = [got("x", "FOO", &[3]), got("y", "FP32", &[])];
        Promise::default().places(&anything).unwrap();
        Promise::new(&[said("", "FP32", &[1])]).places(&anything).unwrap();
        Promise::new(&[said("x", "", &[]), said("y", "FP32", &[])]).places(&anything).unwrap();
    }
}
