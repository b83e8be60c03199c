//! Pre-processing: token ids become all inputs of a model that reads two texts. Runs on decode threads.
//!
//! A node with `--preprocess token-ids=SEPARATOR` is sent the ids alone, padded with zeros. It makes the rest of them:
//! a mask, 1 for each id that is not 0; types, which say how many separators came before; positions. The compression
//! table of MLPerf's Network division allows this for BERT.

use bytes::{BufMut as _, Bytes, BytesMut};
use lon_proto::sample::Role;

use crate::tensor::{DType, Signature, Tensor, TensorSpec};

/// Pre-processing that makes a model's inputs from token ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenIds {
    /// The id that ends a text; 102 in the vocabularies of BERT.
    pub separator: i64,
}

impl TokenIds {
    /// The input that is sent: the one for ids; none when this model's inputs cannot be made of ids.
    pub(super) fn ids_input(inputs: &Signature) -> Option<&TensorSpec> {
        let mut ids = inputs.iter().filter(|input| Role::of(&input.name) == Role::Ids);
        let ids_spec = ids.next().filter(|_| ids.next().is_none())?;
        let is_made = |input: &TensorSpec| {
            let is_whole = matches!(input.dtype, DType::I32 | DType::I64);
            is_whole && input.own_dims() == ids_spec.own_dims() && Role::of(&input.name) != Role::Limit
        };
        (inputs.len() > 1 && inputs.iter().all(is_made)).then_some(ids_spec)
    }

    /// All inputs of the model, made of the one that was sent.
    ///
    /// # Errors
    /// The sample is not ids of that type and shape.
    pub(crate) fn tensors(self, inputs: &Signature, sample: &[Tensor]) -> Result<Vec<Tensor>, String> {
        let expected = || TokenIds::ids_input(inputs).map_or_else(String::new, ToString::to_string);
        let shapes = || sample.iter().map(Tensor::to_string).collect::<Vec<_>>().join(", ");
        let message = || format!("the sample is {}, the node makes its model's inputs of {}", shapes(), expected());
        let (Some(ids_spec), [ids]) = (TokenIds::ids_input(inputs), sample) else { return Err(message()) };
        let dims = ids_spec.sample_dims(ids).ok_or_else(message)?;
        let numbers = numbers(ids);
        let tensor = |input: &TensorSpec| match Role::of(&input.name) {
            Role::Ids => Ok(ids.clone()),
            role => {
                let data = encoded(input.dtype, self.values(role, &numbers));
                Tensor::new(input.dtype, dims, data).map_err(|error| error.to_string())
            }
        };
        inputs.iter().map(tensor).collect()
    }

    /// One number for each id.
    fn values(self, role: Role, ids: &[i64]) -> Vec<i64> {
        let mut texts = 0;
        let number = |(place, &id): (usize, &i64)| match role {
            Role::Mask => i64::from(id != 0),
            Role::Types => {
                let of = if id == 0 { 0 } else { texts };
                texts += i64::from(id == self.separator);
                of
            }
            _ => place as i64,
        };
        ids.iter().enumerate().map(number).collect()
    }
}

fn numbers(ids: &Tensor) -> Vec<i64> {
    match ids.dtype() {
        DType::I32 => ids.data().as_chunks().0.iter().map(|four| i32::from_le_bytes(*four).into()).collect(),
        _ => ids.data().as_chunks().0.iter().map(|eight| i64::from_le_bytes(*eight)).collect(),
    }
}

fn encoded(dtype: DType, numbers: Vec<i64>) -> Bytes {
    let mut data = BytesMut::with_capacity(numbers.len() * dtype.size());
    for number in numbers {
        match dtype {
            // Places and numbers of texts, which are small.
            DType::I32 => data.put_i32_le(number as i32),
            _ => data.put_i64_le(number),
        }
    }
    data.freeze()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inputs(names: &[&str], dtype: DType) -> Signature {
        let spec = |name: &&str| TensorSpec::new(*name, dtype, vec![None, Some(6)]);
        Signature::new(names.iter().map(spec).collect())
    }

    #[test]
    fn the_other_inputs_are_made_of_the_ids() {
        // [CLS] 7 [SEP] 8 [SEP] and padding.
        let ids: [i64; 6] = [101, 7, 102, 8, 102, 0];
        for dtype in [DType::I32, DType::I64] {
            let inputs = inputs(&["input_ids", "input_mask", "segment_ids", "position_ids"], dtype);
            let sample = Tensor::new(dtype, &[6], encoded(dtype, ids.to_vec())).unwrap();
            let tensors = TokenIds { separator: 102 }.tensors(&inputs, &[sample]).unwrap();
            let rows: Vec<Vec<i64>> = tensors.iter().map(numbers).collect();
            assert_eq!(rows, [ids.to_vec(), vec![1, 1, 1, 1, 1, 0], vec![0, 0, 0, 1, 1, 0], vec![0, 1, 2, 3, 4, 5]]);
            assert_eq!(inputs.accepts(&tensors), Ok(()));
        }
    }

    #[test]
    fn what_is_no_ids_is_shown_with_what_is_wanted() {
        let inputs = inputs(&["input_ids", "input_mask"], DType::I64);
        let short = Tensor::new(DType::I64, &[5], encoded(DType::I64, vec![1; 5])).unwrap();
        let message = TokenIds { separator: 102 }.tensors(&inputs, &[short]).unwrap_err();
        assert!(message.contains("i64[5]") && message.contains("input_ids i64[N,6]"), "{message}");
    }

    #[test]
    fn only_models_of_texts_can_have_theirs_made() {
        let name_of = |names: &[&str], dtype| TokenIds::ids_input(&inputs(names, dtype)).map(|spec| spec.name.clone());
        assert_eq!(name_of(&["attention_mask", "input_ids"], DType::I32).as_deref(), Some("input_ids"));
        assert_eq!(name_of(&["input_ids"], DType::I64), None, "nothing is left to make");
        assert_eq!(name_of(&["a", "b"], DType::I64), None);
        assert_eq!(name_of(&["input_ids", "input_mask"], DType::F32), None);
    }
}
