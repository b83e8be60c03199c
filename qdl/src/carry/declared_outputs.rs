//! Declaration that a server of KServe's protocol gives of its model's outputs, and the check that an answer keeps to
//! it. Pure.
//!
//! A server that answers one number where its model has a thousand would be the fastest of all, and its answer would
//! agree with itself. So every answer is held against the metadata that the server gave before the run. What the
//! answers of SUT nodes are held against is in `dispatch/rule.rs`.

use lon_proto::kserve;
use lon_proto::kserve::v2::model_infer_response::InferOutputTensor;
use lon_proto::kserve::v2::model_metadata_response::TensorMetadata;
use lon_proto::sample::{Signature, SpecError, TensorSpec};

use crate::dispatch::AnswerRule;

/// The outputs that answers must have. Empty: the server does not say.
#[derive(Clone, Debug, Default)]
pub(crate) struct Promise {
    outputs: Vec<Declaration>,
    /// Accepts answers without a byte when true. The rule for SUT nodes' answers decides it.
    may_be_empty: bool,
}

/// Declaration of one output.
#[derive(Clone, Debug)]
struct Declaration {
    metadata: TensorMetadata,
    /// Its dimensions in an answer, which is for one sample; `None` where none were told.
    dims: Option<Vec<Option<u32>>>,
}

impl Promise {
    /// The outputs as the model's metadata has them; nothing when they have no names. A leading -1 is the batch, unless
    /// every input leads with a size: then there is no batch, and it is free.
    ///
    /// # Errors
    /// A dimension is no size.
    pub(crate) fn new(inputs: &[TensorMetadata], outputs: &[TensorMetadata]) -> Result<Promise, SpecError> {
        let is_free = |lead: Option<&i64>| lead.is_none_or(|lead| *lead == -1);
        let has_batch = inputs.is_empty() || inputs.iter().any(|input| is_free(input.shape.first()));
        let declarations: Vec<Declaration> =
            outputs.iter().map(|metadata| Declaration::new(metadata, has_batch)).collect::<Result<_, _>>()?;
        if declarations.iter().any(|declaration| declaration.metadata.name.is_empty()) {
            return Ok(Promise::default());
        }
        let specs: Option<Vec<TensorSpec>> = declarations.iter().map(Declaration::spec).collect();
        let may_be_empty = specs
            .filter(|specs| !specs.is_empty())
            .is_some_and(|specs| AnswerRule::new("", &Signature::new(specs), u64::MAX).check(0, 0).is_ok());
        Ok(Promise { outputs: declarations, may_be_empty })
    }

    /// Each output by its name, and whether any number of its elements is taken.
    pub(crate) fn outputs(&self) -> impl Iterator<Item = (String, bool)> {
        self.outputs.iter().map(|declaration| {
            let is_free = declaration.spec().is_none_or(|spec| spec.own_dims().contains(&None));
            (declaration.metadata.name.clone(), is_free)
        })
    }

    /// Returns true when an answer without a byte is acceptable.
    pub(crate) fn may_be_empty(&self) -> bool {
        self.may_be_empty
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
        let places: Vec<usize> =
            self.outputs.iter().map(|declaration| declaration.place(outputs)).collect::<Result<_, _>>()?;
        match outputs.iter().enumerate().find(|(place, _)| !places.contains(place)) {
            Some((_, other)) => {
                Err(format!("its answer has an output {}, which its metadata does not name", output_text(other)))
            }
            None if outputs.len() < places.len() => {
                let (count, expected) = (outputs.len(), places.len());
                Err(format!("its answer has {count} outputs, {expected} by its metadata, which has a name twice"))
            }
            None => Ok(places),
        }
    }
}

impl Declaration {
    fn new(metadata: &TensorMetadata, has_batch: bool) -> Result<Declaration, SpecError> {
        let size = |&dim: &i64| match dim {
            -1 => Ok(None),
            dim => u32::try_from(dim).map(Some).map_err(|_| SpecError::Dim { name: metadata.name.clone(), dim }),
        };
        let mut dims: Vec<Option<u32>> = metadata.shape.iter().map(size).collect::<Result<_, _>>()?;
        if let Some(lead @ None) = dims.first_mut()
            && has_batch
        {
            *lead = Some(1);
        }
        Ok(Declaration { metadata: metadata.clone(), dims: (!dims.is_empty()).then_some(dims) })
    }

    /// The place of the one output that has the name, type and shape that were said.
    fn place(&self, outputs: &[InferOutputTensor]) -> Result<usize, String> {
        let Declaration { metadata, dims } = self;
        let mut named = outputs.iter().enumerate().filter(|(_, output)| output.name == metadata.name);
        let (place, output) = match (named.next(), named.next()) {
            (Some(one), None) => one,
            (None, _) => return Err(format!("its answer lacks output '{}', which its metadata names", metadata.name)),
            (Some(_), Some(_)) => return Err(format!("its answer has output '{}' twice", metadata.name)),
        };
        let is_type = metadata.datatype.is_empty() || metadata.datatype == output.datatype;
        if is_type && dims.as_ref().is_none_or(|dims| fits(dims, &output.shape)) {
            return Ok(place);
        }
        let (actual, expected) = (output_text(output), shape_of(metadata));
        Err(format!("its output {actual} is not {expected}, as its metadata has it for one sample"))
    }

    /// The same as SUT nodes say it; `None` where that says nothing of the bytes: of texts, or without dimensions.
    fn spec(&self) -> Option<TensorSpec> {
        let dtype = kserve::dtype(&self.metadata.datatype)?;
        let dims = self.dims.as_ref()?;
        // There, a leading dimension that is free would be the batch.
        let batch = dims.first().is_some_and(Option::is_none).then_some(Some(1));
        Some(TensorSpec::new(&*self.metadata.name, dtype, batch.into_iter().chain(dims.iter().copied()).collect()))
    }
}

/// Returns true when `shape` matches `dims`. Metadata may leave the batch dimension out, which is 1 for every sample.
fn fits(dims: &[Option<u32>], shape: &[i64]) -> bool {
    let is_size = |(dim, size): (&Option<u32>, &i64)| dim.is_none_or(|dim| i64::from(dim) == *size);
    let same = |shape: &[i64]| dims.len() == shape.len() && dims.iter().zip(shape).all(is_size);
    same(shape) || shape.split_first().is_some_and(|(&batch, own_shape)| batch == 1 && same(own_shape))
}

/// An output as messages name it: `name FP32[1,10]`.
pub(super) fn output_text(output: &InferOutputTensor) -> String {
    let dims: Vec<String> = output.shape.iter().map(i64::to_string).collect();
    format!("{} {}[{}]", output.name, output.datatype, dims.join(","))
}

/// Type and shape as messages name them: `FP32[-1,10]`.
fn shape_of(metadata: &TensorMetadata) -> String {
    let dims: Vec<String> = metadata.shape.iter().map(i64::to_string).collect();
    format!("{}[{}]", metadata.datatype, dims.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metadata(name: &str, datatype: &str, shape: &[i64]) -> TensorMetadata {
        TensorMetadata { name: name.into(), datatype: datatype.into(), shape: shape.into() }
    }

    /// Of a model whose inputs have a batch.
    fn promise(outputs: &[TensorMetadata]) -> Promise {
        Promise::new(&[metadata("x", "UINT8", &[-1, 64])], outputs).unwrap()
    }

    fn output(name: &str, datatype: &str, shape: &[i64]) -> InferOutputTensor {
        InferOutputTensor { name: name.into(), datatype: datatype.into(), shape: shape.into(), contents: None }
    }

    #[test]
    fn an_answer_has_what_the_metadata_says_and_nothing_else() {
        let promise = promise(&[metadata("y", "FP32", &[-1, 10])]);
        assert_eq!(promise.places(&[output("y", "FP32", &[1, 10])]), Ok(vec![0]));
        for (outputs, part) in [
            (vec![output("y", "FP32", &[1, 1])], "y FP32[1,1] is not FP32[-1,10]"),
            (vec![output("y", "FP32", &[10])], "y FP32[10] is not"),
            (
                vec![output("y", "FP32", &[2, 10])],
                "y FP32[2,10] is not FP32[-1,10], as its metadata has it for one sample",
            ),
            (
                vec![output("y", "FP32", &[0, 10])],
                "y FP32[0,10] is not FP32[-1,10], as its metadata has it for one sample",
            ),
            (vec![output("y", "INT8", &[1, 10])], "y INT8[1,10] is not"),
            (vec![output("y", "FOO", &[1, 10])], "y FOO[1,10] is not"),
            (vec![output("y", "BYTES", &[1])], "y BYTES[1] is not"),
            (vec![output("nope", "FP32", &[1, 10])], "lacks output 'y'"),
            (vec![output("y", "FP32", &[1, 10]), output("z", "INT8", &[1])], "an output z INT8[1]"),
            (vec![output("y", "FP32", &[1, 10]), output("y", "FP32", &[1, 10])], "has output 'y' twice"),
        ] {
            let error = promise.places(&outputs).unwrap_err();
            assert!(error.contains(part), "no '{part}' in: {error}");
        }
    }

    #[test]
    fn outputs_come_in_any_order_and_are_used_in_that_of_the_metadata() {
        let two = promise(&[metadata("boxes", "FP32", &[-1, -1, 4]), metadata("count", "INT32", &[1])]);
        let (boxes, count) = (output("boxes", "FP32", &[1, 0, 4]), output("count", "INT32", &[1]));
        assert_eq!(two.places(&[boxes.clone(), count.clone()]), Ok(vec![0, 1]));
        assert_eq!(two.places(&[count, boxes.clone()]), Ok(vec![1, 0]));
        assert!(two.places(&[boxes]).unwrap_err().contains("lacks output 'count'"));
        let twice = promise(&[metadata("y", "FP32", &[1]), metadata("y", "FP32", &[1])]);
        assert!(twice.places(&[output("y", "FP32", &[1])]).unwrap_err().contains("has a name twice"));
    }

    #[test]
    fn a_batch_of_one_may_stand_in_front() {
        let promise = promise(&[metadata("y", "FP32", &[10])]);
        promise.places(&[output("y", "FP32", &[10])]).unwrap();
        promise.places(&[output("y", "FP32", &[1, 10])]).unwrap();
        assert!(promise.places(&[output("y", "FP32", &[2, 10])]).is_err());
        assert!(promise.places(&[output("y", "FP32", &[1, 1, 10])]).is_err());
    }

    #[test]
    fn what_was_not_said_is_free() {
        let anything = [output("x", "FOO", &[3]), output("y", "FP32", &[])];
        Promise::default().places(&anything).unwrap();
        promise(&[metadata("", "FP32", &[1])]).places(&anything).unwrap();
        promise(&[metadata("x", "", &[]), metadata("y", "FP32", &[])]).places(&anything).unwrap();
    }

    #[test]
    fn a_leading_dimension_is_free_where_no_input_has_a_batch() {
        let rows = [metadata("boxes", "FP32", &[-1, 4])];
        for inputs in [&[][..], &[metadata("x", "FP32", &[3, 8]), metadata("n", "INT32", &[-1])]] {
            let promise = Promise::new(inputs, &rows).unwrap();
            assert!(promise.places(&[output("boxes", "FP32", &[3, 4])]).is_err());
            assert_eq!(promise.outputs().collect::<Vec<_>>(), [("boxes".to_owned(), false)]);
        }
        let promise = Promise::new(&[metadata("x", "FP32", &[3, 8]), metadata("n", "INT32", &[1])], &rows).unwrap();
        for count in [0, 1, 3] {
            promise.places(&[output("boxes", "FP32", &[count, 4])]).unwrap();
        }
        assert_eq!(promise.outputs().collect::<Vec<_>>(), [("boxes".to_owned(), true)]);
        assert!(promise.may_be_empty());
    }

    #[test]
    fn answers_without_a_byte_are_rows_that_were_not_found() {
        for (outputs, may_be_empty) in [
            (&[][..], false),
            (&[metadata("boxes", "FP32", &[-1, -1, 4]), metadata("labels", "INT64", &[-1, -1])], true),
            (&[metadata("boxes", "FP32", &[-1, -1, 4]), metadata("count", "INT64", &[-1, 1])], false),
            (&[metadata("mask", "FP32", &[-1, 3, -1])], false),
            (&[metadata("tokens", "INT64", &[-1, -1])], false),
            (&[metadata("text", "BYTES", &[-1, -1])], false),
            (&[metadata("y", "FP32", &[])], false),
        ] {
            assert_eq!(promise(outputs).may_be_empty(), may_be_empty, "{outputs:?}");
        }
    }

    #[test]
    fn a_dimension_that_is_no_size_is_an_error() {
        let message = Promise::new(&[], &[metadata("y", "FP32", &[-1, -2])]).unwrap_err().to_string();
        assert_eq!(message, "tensor 'y' has a dimension of -2; it is -1 (free) or a 32-bit size");
    }
}
