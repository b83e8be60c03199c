//! From a server's answer to the bytes that scripts read: outputs one after the other, in the order of the model's
//! metadata, row-major, little-endian. Pure.
//!
//! A status of OK says little: there are servers that answer OK, with the right names and shapes, and without data. So
//! every output is held against what the server said of its model before the run, and its data against the type and
//! shape that the answer itself states. An answer that does not agree is a failure.

use bytes::{BufMut as _, Bytes, BytesMut};
use lon_proto::kserve::v2::model_infer_response::InferOutputTensor;
use lon_proto::kserve::v2::{InferTensorContents, ModelInferResponse};
use lon_proto::kserve::{self, BYTES};
use lon_proto::sample::DType;

use super::super::declared_outputs::{Promise, output_text};

/// The bytes of an answer's outputs. A single raw output is not copied.
///
/// # Errors
/// What is wrong with the answer, in words.
pub(crate) fn outputs(response: ModelInferResponse, promise: &Promise) -> Result<Bytes, String> {
    let ModelInferResponse { outputs, raw_output_contents: mut raw, .. } = response;
    if outputs.is_empty() {
        return Err("its answer has no outputs".to_owned());
    }
    let places = promise.places(&outputs)?;
    if !raw.is_empty() && raw.len() != outputs.len() {
        return Err(format!("its answer has {} outputs and data for {}", outputs.len(), raw.len()));
    }
    let is_raw = !raw.is_empty();
    let data = places.into_iter().map(|at| match (&outputs[at].contents, is_raw) {
        (_, true) => raw_data(&outputs[at], std::mem::take(&mut raw[at])),
        (Some(contents), false) => typed_data(&outputs[at], contents),
        (None, false) => raw_data(&outputs[at], Bytes::new()),
    });
    let mut data = data.collect::<Result<Vec<Bytes>, String>>()?;
    let whole = if data.len() == 1 { data.remove(0) } else { data.concat().into() };
    if whole.is_empty() && !promise.may_be_empty() {
        return Err(format!("its answer is empty: {}", list(&outputs)));
    }
    Ok(whole)
}

fn list(outputs: &[InferOutputTensor]) -> String {
    outputs.iter().map(output_text).collect::<Vec<_>>().join(", ")
}

fn elements(output: &InferOutputTensor) -> Result<u64, String> {
    let product = |product: u64, dim: &i64| u64::try_from(*dim).ok().and_then(|dim| product.checked_mul(dim));
    let elements = output.shape.iter().try_fold(1, product);
    elements.ok_or_else(|| format!("its output {} has no size", output_text(output)))
}

fn raw_data(output: &InferOutputTensor, data: Bytes) -> Result<Bytes, String> {
    let elements = elements(output)?;
    if output.datatype == BYTES {
        return match texts(&data) {
            Some(count) if count == elements => Ok(data),
            _ => Err(format!("its output {} is not that in {} bytes", output_text(output), data.len())),
        };
    }
    match kserve::element_bytes(&output.datatype) {
        Some(size) if elements.checked_mul(size as u64) != Some(data.len() as u64) => {
            let expected_bytes = elements.saturating_mul(size as u64);
            Err(format!("its output {} has {} bytes of data, not {expected_bytes}", output_text(output), data.len()))
        }
        // A type that the server made up: nothing is known of its size.
        Some(_) | None => Ok(data),
    }
}

/// The number of texts in `data`; `None` when the last one does not end where `data` does.
fn texts(mut data: &[u8]) -> Option<u64> {
    let mut count = 0;
    while !data.is_empty() {
        let len = u32::from_le_bytes(*data.first_chunk()?) as usize;
        data = data.get(4..)?.get(len..)?;
        count += 1;
    }
    Some(count)
}

/// The bytes of an output whose elements are in the list of their type.
fn typed_data(output: &InferOutputTensor, contents: &InferTensorContents) -> Result<Bytes, String> {
    let mut data = BytesMut::new();
    let count = put(&mut data, &output.datatype, contents)
        .ok_or_else(|| format!("its output {} is of a type that has no list of elements", output_text(output)))?;
    match elements(output)? {
        expected_count if expected_count == count as u64 => Ok(data.freeze()),
        expected_count => Err(format!("its output {} has {count} elements, not {expected_count}", output_text(output))),
    }
}

/// Adds the elements of this type and returns how many there were; `None` when the type has no list.
fn put(data: &mut BytesMut, datatype: &str, contents: &InferTensorContents) -> Option<usize> {
    if datatype == BYTES {
        for text in &contents.bytes_contents {
            data.put_u32_le(u32::try_from(text.len()).ok()?);
            data.put_slice(text);
        }
        return Some(contents.bytes_contents.len());
    }
    // Narrow types travel in wide lists; what does not fit into them is cut off, as a cast in C would.
    match kserve::dtype(datatype)? {
        DType::Bool => each(&contents.bool_contents, |v| data.put_u8(u8::from(v))),
        DType::I8 => each(&contents.int_contents, |v| data.put_i8(v as i8)),
        DType::I16 => each(&contents.int_contents, |v| data.put_i16_le(v as i16)),
        DType::I32 => each(&contents.int_contents, |v| data.put_i32_le(v)),
        DType::I64 => each(&contents.int64_contents, |v| data.put_i64_le(v)),
        DType::U8 => each(&contents.uint_contents, |v| data.put_u8(v as u8)),
        DType::U16 => each(&contents.uint_contents, |v| data.put_u16_le(v as u16)),
        DType::U32 => each(&contents.uint_contents, |v| data.put_u32_le(v)),
        DType::U64 => each(&contents.uint64_contents, |v| data.put_u64_le(v)),
        DType::F32 => each(&contents.fp32_contents, |v| data.put_f32_le(v)),
        DType::F64 => each(&contents.fp64_contents, |v| data.put_f64_le(v)),
        // The protocol has no list for them.
        DType::F16 | DType::Bf16 | DType::F8E4M3 | DType::F8E5M2 | DType::U4 | DType::I4 => None,
    }
}

fn each<T: Copy>(elements: &[T], put: impl FnMut(T)) -> Option<usize> {
    elements.iter().copied().for_each(put);
    Some(elements.len())
}

#[cfg(test)]
mod tests {
    use lon_proto::kserve::v2::model_metadata_response::TensorMetadata;

    use super::*;

    fn output(datatype: &str, shape: &[i64]) -> InferOutputTensor {
        InferOutputTensor { name: "y".into(), datatype: datatype.into(), shape: shape.into(), contents: None }
    }

    /// Of a server that says nothing of its model.
    fn answer_of(response: ModelInferResponse) -> Result<Bytes, String> {
        outputs(response, &Promise::default())
    }

    fn raw(outputs: Vec<InferOutputTensor>, data: &[&'static [u8]]) -> Result<Bytes, String> {
        let raw_output_contents = data.iter().copied().map(Bytes::from_static).collect();
        answer_of(ModelInferResponse { outputs, raw_output_contents, ..ModelInferResponse::default() })
    }

    fn typed(datatype: &str, shape: &[i64], contents: InferTensorContents) -> Result<Bytes, String> {
        let outputs = vec![InferOutputTensor { contents: Some(contents), ..output(datatype, shape) }];
        answer_of(ModelInferResponse { outputs, ..ModelInferResponse::default() })
    }

    #[test]
    fn raw_outputs_follow_each_other() {
        assert_eq!(raw(vec![output("FP32", &[1, 2])], &[b"abcdefgh"]).unwrap(), "abcdefgh");
        let two = vec![output("UINT8", &[3]), output("INT16", &[])];
        assert_eq!(raw(two, &[b"abc", b"de"]).unwrap(), "abcde");
        assert_eq!(raw(vec![output("X_VENDOR", &[9])], &[b"abc"]).unwrap(), "abc", "nothing is known of it");
    }

    #[test]
    fn a_single_raw_output_is_not_copied() {
        let data = Bytes::from_static(b"abcdefgh");
        let (outputs, raw_output_contents) = (vec![output("FP64", &[1])], vec![data.clone()]);
        let response = ModelInferResponse { outputs, raw_output_contents, ..ModelInferResponse::default() };
        assert_eq!(answer_of(response).unwrap().as_ptr(), data.as_ptr());
    }

    #[test]
    fn answers_that_hold_less_than_they_say_are_none() {
        let wrong = |outputs, data: &[&'static [u8]], part: &str| {
            let error = raw(outputs, data).unwrap_err();
            assert!(error.contains(part), "no '{part}' in: {error}");
        };
        wrong(vec![], &[], "no outputs");
        wrong(vec![], &[b"abcd"], "no outputs");
        wrong(vec![output("FP32", &[1, 10])], &[b""], "y FP32[1,10] has 0 bytes of data, not 40");
        wrong(vec![output("FP32", &[1, 10])], &[], "has 0 bytes of data, not 40");
        wrong(vec![output("BF16", &[2])], &[b"abc"], "has 3 bytes of data, not 4");
        wrong(vec![output("FP32", &[1]), output("FP32", &[1])], &[b"abcd"], "2 outputs and data for 1");
        wrong(vec![output("FP32", &[0, 4])], &[b""], "is empty");
        wrong(vec![output("X_VENDOR", &[4])], &[b""], "is empty");
        wrong(vec![output("FP32", &[-1, 4])], &[b"abcd"], "has no size");
        wrong(vec![output("FP32", &[i64::MAX, i64::MAX])], &[b"abcd"], "has no size");
        wrong(vec![output("FP32", &[i64::MAX])], &[b"abcd"], "not 18446744073709551615");
    }

    /// A detector that found nothing says so by another output.
    #[test]
    fn an_output_may_be_empty_beside_others() {
        assert_eq!(raw(vec![output("FP32", &[0, 4]), output("INT32", &[1])], &[b"", b"abcd"]).unwrap(), "abcd");
    }

    #[test]
    fn an_answer_is_held_against_what_was_said_before() {
        let metadata = TensorMetadata { name: "y".into(), datatype: "FP32".into(), shape: vec![-1, 10] };
        let promise = Promise::new(&[], &[metadata]).unwrap();
        let raw_output_contents = vec![Bytes::from_static(b"abcd")];
        let response = ModelInferResponse { raw_output_contents, ..ModelInferResponse::default() };
        let response = ModelInferResponse { outputs: vec![output("FP32", &[1, 1])], ..response };
        let error = outputs(response, &promise).unwrap_err();
        assert!(error.contains("y FP32[1,1] is not FP32[-1,10]"), "{error}");
    }

    /// An answer names its outputs, and what reads its bytes knows the order of the metadata.
    #[test]
    fn outputs_are_in_the_order_of_the_metadata_raw_and_typed() {
        let metadata = |name: &str, datatype: &str, shape: &[i64]| TensorMetadata {
            name: name.into(),
            datatype: datatype.into(),
            shape: shape.into(),
        };
        let promised = [metadata("logits", "FP32", &[-1, 2]), metadata("extra", "INT32", &[-1, 1])];
        let promise = Promise::new(&[], &promised).unwrap();
        let named = |name: &str, output| InferOutputTensor { name: name.into(), ..output };
        let tensors = || vec![named("extra", output("INT32", &[1, 1])), named("logits", output("FP32", &[1, 2]))];
        let raw_output_contents = vec![Bytes::from_static(b"xxxx"), Bytes::from_static(b"abcdefgh")];
        let raw = ModelInferResponse { outputs: tensors(), raw_output_contents, ..ModelInferResponse::default() };
        assert_eq!(outputs(raw, &promise).unwrap(), "abcdefghxxxx");
        let mut typed = tensors();
        typed[0].contents = Some(InferTensorContents { int_contents: vec![7], ..Default::default() });
        typed[1].contents = Some(InferTensorContents { fp32_contents: vec![1.0, -2.0], ..Default::default() });
        let typed = ModelInferResponse { outputs: typed, ..ModelInferResponse::default() };
        let right = [&1.0f32.to_le_bytes()[..], &(-2.0f32).to_le_bytes(), &7i32.to_le_bytes()].concat();
        assert_eq!(outputs(typed, &promise).unwrap(), right);
    }

    #[test]
    fn texts_are_counted() {
        assert_eq!(raw(vec![output(BYTES, &[2])], &[b"\x01\0\0\0a\0\0\0\0"]).unwrap().len(), 9);
        for bad in [&b"\x01\0\0\0a"[..], b"\x02\0\0\0a\0\0\0\0", b"\xff\xff\xff\xff", b"\x01\0", b""] {
            assert!(raw(vec![output(BYTES, &[2])], &[bad]).is_err(), "{bad:?}");
        }
        let contents = InferTensorContents { bytes_contents: vec![Bytes::from_static(b"a")], ..Default::default() };
        assert_eq!(typed(BYTES, &[1], contents).unwrap(), &b"\x01\0\0\0a"[..]);
    }

    #[test]
    fn typed_contents_become_little_endian_bytes() {
        let floats = InferTensorContents { fp32_contents: vec![1.0, -2.0], ..Default::default() };
        assert_eq!(typed("FP32", &[1, 2], floats.clone()).unwrap(), [1f32, -2.0].map(f32::to_le_bytes).concat());
        assert!(typed("FP32", &[3], floats.clone()).unwrap_err().contains("has 2 elements, not 3"));
        assert!(typed("FP64", &[2], floats.clone()).unwrap_err().contains("has 0 elements, not 2"));
        assert!(typed("FP16", &[2], floats).unwrap_err().contains("no list"));
        let ints = InferTensorContents { int_contents: vec![-1, 258], ..Default::default() };
        assert_eq!(typed("INT8", &[2], ints.clone()).unwrap(), &[255, 2][..]);
        assert_eq!(typed("INT16", &[2], ints.clone()).unwrap(), &[255, 255, 2, 1][..]);
        assert_eq!(typed("INT32", &[2], ints).unwrap().len(), 8);
        let uints = InferTensorContents { uint_contents: vec![7], ..Default::default() };
        for (datatype, len) in [("UINT8", 1), ("UINT16", 2), ("UINT32", 4)] {
            assert_eq!(typed(datatype, &[1], uints.clone()).unwrap().len(), len);
        }
        let wide = InferTensorContents {
            int64_contents: vec![-1],
            uint64_contents: vec![1],
            fp64_contents: vec![0.5],
            bool_contents: vec![true],
            ..Default::default()
        };
        for (datatype, bytes) in [
            ("INT64", &(-1i64).to_le_bytes()[..]),
            ("UINT64", &1u64.to_le_bytes()),
            ("FP64", &0.5f64.to_le_bytes()),
            ("BOOL", &[1]),
        ] {
            assert_eq!(typed(datatype, &[1], wide.clone()).unwrap(), bytes, "{datatype}");
        }
    }
}
