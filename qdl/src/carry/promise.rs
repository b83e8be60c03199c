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
    outputs: Vec<Said>,
    /// Accepts answers without a byte when true. The rule for SUT nodes' answers decides it.
    may_be_empty: bool,
}

/// Declaration of one output.
#[derive(Clone, Debug)]
struct Said {
    told: TensorMetadata,
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
        let said: Vec<Said> = outputs.iter().map(|told| Said::new(told, has_batch)).collect::<Result<_, _>>()?;
        if said.iter().any(|said| said.told.name.is_empty()) {
            return Ok(Promise::default());
        }
        let specs: Option<Vec<TensorSpec>> = said.iter().map(Said::spec).collect();
        let may_be_empty = specs
            .filter(|specs| !specs.is_empty())
            .is_some_and(|specs| AnswerRule::new("", &Signature::new(specs), u64::MAX).check(0, 0).is_ok());
        Ok(Promise { outputs: said, may_be_empty })
    }

    /// Each output by its name, and whether any number of its elements is taken.
    pub(crate) fn outputs(&self) -> impl Iterator<Item = (String, bool)> {
        self.outputs.iter().map(|said| {
            let is_free = said.spec().is_none_or(|spec| spec.own_dims().contains(&None));
            (said.told.name.clone(), is_free)
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
        let places: Vec<usize> = self.outputs.iter().map(|said| said.place(outputs)).collect::<Result<_, _>>()?;
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

impl Said {
    fn new(told: &TensorMetadata, has_batch: bool) -> Result<Said, SpecError> {
        let size = |&dim: &i64| match dim {
            -1 => Ok(None),
            dim => u32::try_from(dim).map(Some).map_err(|_| SpecError::Dim { name: told.name.clone(), dim }),
        };
        let mut dims: Vec<Option<u32>> = told.shape.iter().map(size).collect::<Result<_, _>>()?;
        if let Some(lead @ None) = dims.first_mut()
            && has_batch
        {
            *lead = Some(1);
        }
        Ok(Said { told: told.clone(), dims: (!dims.is_empty()).then_some(dims) })
    }

    /// The place of the one output that has the name, type and shape that were said.
    fn place(&self, outputs: &[InferOutputTensor]) -> Result<usize, String> {
        let Said { told, dims } = self;
        let mut named = outputs.iter().enumerate().filter(|(_, output)| output.name == told.name);
        let (place, output) = match (named.next(), named.next()) {
            (Some(one), None) => one,
            (None, _) => return Err(format!("its answer lacks output '{}', which its metadata names", told.name)),
            (Some(_), Some(_)) => return Err(format!("its answer has output '{}' twice", told.name)),
        };
        let is_type = told.datatype.is_empty() || told.datatype == output.datatype;
        if is_type && dims.as_ref().is_none_or(|dims| fits(dims, &output.shape)) {
            return Ok(place);
        }
        let (got, told) = (shown(output), shape_of(told));
        Err(format!("its output {got} is not {told}, as its metadata has it for one sample"))
    }

    /// The same as SUT nodes say it; `None` where that says nothing of the bytes: of texts, or without dimensions.
    fn spec(&self) -> Option<TensorSpec> {
        let dtype = kserve::dtype(&self.told.datatype)?;
        let dims = self.dims.as_ref()?;
        // There, a leading dimension that is free would be the batch.
        let batch = dims.first().is_some_and(Option::is_none).then_some(Some(1));
        Some(TensorSpec::new(&*self.told.name, dtype, batch.into_iter().chain(dims.iter().copied()).collect()))
    }
}

/// Returns true when `got` matches `dims`. Metadata may leave the batch dimension out, which is 1 for every sample.
fn fits(dims: &[Option<u32>], got: &[i64]) -> bool {
    let is_size = |(dim, got): (&Option<u32>, &i64)| dim.is_none_or(|dim| i64::from(dim) == *got);
    let same = |got: &[i64]| dims.len() == got.len() && dims.iter().zip(got).all(is_size);
    same(got) || got.split_first().is_some_and(|(&batch, rest)| batch == 1 && same(rest))
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

    /// Of a model whose inputs have a batch.
    fn promise(outputs: &[TensorMetadata]) -> Promise {
        Promise::new(&[said("x", "UINT8", &[-1, 64])], outputs).unwrap()
    }

    fn got(name: &str, datatype: &str, shape: &[i64]) -> InferOutputTensor {
        InferOutputTensor { name: name.into(), datatype: datatype.into(), shape: shape.into(), contents: None }
    }

    #[test]
    fn an_answer_has_what_the_metadata_says_and_nothing_else() {
        let promise = promise(&[said("y", "FP32", &[-1, 10])]);
        assert_eq!(promise.places(&[got("y", "FP32", &[1, 10])]), Ok(vec![0]));
        for (outputs, part) in [
            (vec![got("y", "FP32", &[1, 1])], "y FP32[1,1] is not FP32[-1,10]"),
            (vec![got("y", "FP32", &[10])], "y FP32[10] is not"),
            (
                vec![got("y", "FP32", &[2, 10])],
                "y FP32[2,10] is not FP32[-1,10], as its metadata has it for one sample",
            ),
            (
                vec![got("y", "FP32", &[0, 10])],
                "y FP32[0,10] is not FP32[-1,10], as its metadata has it for one sample",
            ),
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
        let two = promise(&[said("boxes", "FP32", &[-1, -1, 4]), said("count", "INT32", &[1])]);
        let (boxes, count) = (got("boxes", "FP32", &[1, 0, 4]), got("count", "INT32", &[1]));
        assert_eq!(two.places(&[boxes.clone(), count.clone()]), Ok(vec![0, 1]));
        assert_eq!(two.places(&[count, boxes.clone()]), Ok(vec![1, 0]));
        assert!(two.places(&[boxes]).unwrap_err().contains("lacks output 'count'"));
        let twice = promise(&[said("y", "FP32", &[1]), said("y", "FP32", &[1])]);
        assert!(twice.places(&[got("y", "FP32", &[1])]).unwrap_err().contains("has a name twice"));
    }

    #[test]
    fn a_batch_of_one_may_stand_in_front() {
        let promise = promise(&[said("y", "FP32", &[10])]);
        promise.places(&[got("y", "FP32", &[10])]).unwrap();
        promise.places(&[got("y", "FP32", &[1, 10])]).unwrap();
        assert!(promise.places(&[got("y", "FP32", &[2, 10])]).is_err());
        assert!(promise.places(&[got("y", "FP32", &[1, 1, 10])]).is_err());
    }

    #[test]
    fn what_was_not_said_is_free() {
        let anything = [got("x", "FOO", &[3]), got("y", "FP32", &[])];
        Promise::default().places(&anything).unwrap();
        promise(&[said("", "FP32", &[1])]).places(&anything).unwrap();
        promise(&[said("x", "", &[]), said("y", "FP32", &[])]).places(&anything).unwrap();
    }

    #[test]
    fn a_leading_dimension_is_free_where_no_input_has_a_batch() {
        let rows = [said("boxes", "FP32", &[-1, 4])];
        for inputs in [&[][..], &[said("x", "FP32", &[3, 8]), said("n", "INT32", &[-1])]] {
            let promise = Promise::new(inputs, &rows).unwrap();
            assert!(promise.places(&[got("boxes", "FP32", &[3, 4])]).is_err());
            assert_eq!(promise.outputs().collect::<Vec<_>>(), [("boxes".to_owned(), false)]);
        }
        let promise = Promise::new(&[said("x", "FP32", &[3, 8]), said("n", "INT32", &[1])], &rows).unwrap();
        for count in [0, 1, 3] {
            promise.places(&[got("boxes", "FP32", &[count, 4])]).unwrap();
        }
        assert_eq!(promise.outputs().collect::<Vec<_>>(), [("boxes".to_owned(), true)]);
        assert!(promise.may_be_empty());
    }

    #[test]
    fn answers_without_a_byte_are_rows_that_were_not_found() {
        for (outputs, may_be_empty) in [
            (&[][..], false),
            (&[said("boxes", "FP32", &[-1, -1, 4]), said("labels", "INT64", &[-1, -1])], true),
            (&[said("boxes", "FP32", &[-1, -1, 4]), said("count", "INT64", &[-1, 1])], false),
            (&[said("mask", "FP32", &[-1, 3, -1])], false),
            (&[said("tokens", "INT64", &[-1, -1])], false),
            (&[said("text", "BYTES", &[-1, -1])], false),
            (&[said("y", "FP32", &[])], false),
        ] {
            assert_eq!(promise(outputs).may_be_empty(), may_be_empty, "{outputs:?}");
        }
    }

    #[test]
    fn a_dimension_that_is_no_size_is_an_error() {
        let told = Promise::new(&[], &[said("y", "FP32", &[-1, -2])]).unwrap_err().to_string();
        assert_eq!(told, "tensor 'y' has a dimension of -2; it is -1 (free) or a 32-bit size");
    }
}
