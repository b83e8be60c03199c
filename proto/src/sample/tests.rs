use super::*;
use crate::v1;

fn tensor(dtype: DType, dims: &[u32]) -> Tensor {
    let len = dtype.bytes_of(dims.iter().product::<u32>().into()).unwrap() as usize;
    let data: Vec<u8> = (0..len).map(|i| (i % 255) as u8 + 1).collect();
    Tensor::new(dtype, dims, data.into()).unwrap()
}

/// The expected bytes of a sample, written by hand from the table in the module's documentation.
const GOLDEN: [u8; 51] = [
    3, // tensors
    7, 1, 2, 0, 0, 0, // i64[2]
    4, 0, // u16 scalar
    2, 2, 1, 0, 0, 0, 3, 0, 0, 0, // u8[1,3]
    0, 0, 0, 0, 0, // 19 -> 24
    1, 0, 0, 0, 0, 0, 0, 0, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, // 1, -2
    0x34, 0x12, // 0x1234
    0, 0, 0, 0, 0, 0, // 42 -> 48
    10, 20, 30,
];

fn golden_tensors() -> Vec<Tensor> {
    let i64s: Vec<u8> = [1i64, -2].iter().flat_map(|v| v.to_le_bytes()).collect();
    vec![
        Tensor::new(DType::I64, &[2], i64s.into()).unwrap(),
        Tensor::new(DType::U16, &[], Bytes::from_static(&[0x34, 0x12])).unwrap(),
        Tensor::new(DType::U8, &[1, 3], Bytes::from_static(&[10, 20, 30])).unwrap(),
    ]
}

#[test]
fn the_layout_is_the_documented_one() {
    assert_eq!(&encode(&golden_tensors()).unwrap()[..], &GOLDEN);
    assert_eq!(decode(Bytes::from_static(&GOLDEN)).unwrap(), golden_tensors());
    let digit = encode(&[tensor(DType::U8, &[1, 8, 8])]).unwrap();
    assert_eq!(digit.len(), 80);
    assert_eq!(digit[..16], [1, 2, 3, 1, 0, 0, 0, 8, 0, 0, 0, 8, 0, 0, 0, 0]);
}

#[test]
fn every_type_and_rank_survives() {
    for &dtype in DType::ALL {
        for dims in [&[][..], &[0], &[7], &[2, 0, 3], &[1, 2, 1, 2, 1, 2, 1, 2]] {
            let tensors = vec![tensor(dtype, dims), tensor(DType::U8, &[3])];
            assert_eq!(decode(encode(&tensors).unwrap()).unwrap(), tensors, "{dtype} {dims:?}");
        }
    }
    let many = vec![tensor(DType::Bool, &[1]); MAX_TENSORS];
    assert_eq!(decode(encode(&many).unwrap()).unwrap(), many);
}

#[test]
fn nothing_is_copied_and_data_lies_aligned() {
    let sample = encode(&golden_tensors()).unwrap();
    for tensor in decode(sample.clone()).unwrap() {
        let offset = tensor.data().as_ptr() as usize - sample.as_ptr() as usize;
        assert!(offset.is_multiple_of(DATA_ALIGNMENT) && offset < sample.len());
    }
}

#[test]
fn a_sample_cut_anywhere_is_refused() {
    for len in 0..GOLDEN.len() {
        let error = decode(Bytes::from_static(&GOLDEN[..len])).unwrap_err();
        let SampleError::Truncated { needed, len: actual, .. } = error else { panic!("{len}: {error}") };
        assert!(actual == len && needed > len as u64, "{error}");
    }
    let part = |len: usize| match decode(Bytes::from_static(&GOLDEN[..len])) {
        Err(SampleError::Truncated { part, .. }) => part,
        other => panic!("{other:?}"),
    };
    assert_eq!((part(18), part(19)), (SamplePart::Header, SamplePart::Data(0)));
    assert_eq!((part(41), part(45), part(50)), (SamplePart::Data(1), SamplePart::Data(2), SamplePart::Data(2)));
}

#[test]
fn every_breach_is_named() {
    let refused = |bytes: &[u8]| decode(Bytes::copy_from_slice(bytes)).unwrap_err();
    assert_eq!(refused(&[0]), SampleError::TensorCount(0));
    assert_eq!(refused(&[65]), SampleError::TensorCount(65));
    assert_eq!(refused(&[1, 8, 0]), SampleError::DTypeCode { tensor: 0, code: 8 });
    assert_eq!(refused(&[1, 2, 9]), SampleError::Rank { tensor: 0, rank: 9 });
    let huge = [&[1, 7, 8][..], &[0xff; 32]].concat();
    assert!(matches!(refused(&huge), SampleError::Overflow { tensor: 0, .. }));
    // 2^61 - 1 elements of 8 bytes can be counted, but not held.
    let large = [&[1, 7, 2][..], &0x7fff_ffffu32.to_le_bytes(), &0x4000_0000u32.to_le_bytes(), &[0; 5]].concat();
    assert!(matches!(refused(&large), SampleError::Truncated { part: SamplePart::Data(0), .. }));
    let mut bad = GOLDEN;
    bad[43] = 1;
    assert_eq!(refused(&bad), SampleError::Padding { at: 43 });
    assert_eq!(refused(&[&GOLDEN[..], &[0, 0]].concat()), SampleError::Trailing(2));
    assert_eq!(encode(&[]), Err(SampleError::TensorCount(0)));
    assert_eq!(encode(&vec![tensor(DType::U8, &[]); 65]), Err(SampleError::TensorCount(65)));
    let short = Tensor::new(DType::F32, &[2, 3], Bytes::from_static(&[0; 23])).unwrap_err();
    assert_eq!(short.to_string(), "f32[2,3] has 24 bytes of data, not 23");
    assert!(matches!(Tensor::new(DType::U8, &[1; 9], Bytes::new()), Err(SampleError::Rank { rank: 9, .. })));
}

#[test]
fn rubbish_never_panics() {
    // A fixed generator (xorshift), so that a failure can be repeated.
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    for _ in 0..20_000 {
        let mut bytes = GOLDEN.to_vec();
        for _ in 0..=next() % 3 {
            let at = next() as usize % bytes.len();
            bytes[at] = next() as u8;
        }
        bytes.truncate(next() as usize % 60);
        let sample = Bytes::from(bytes);
        if let Ok(tensors) = decode(sample.clone()) {
            assert_eq!(encode(&tensors).unwrap(), sample);
        }
    }
}

#[test]
fn elements_of_four_bits_share_bytes() {
    let bytes = |dtype: DType| [0, 1, 2, 7].map(|elements| dtype.bytes_of(elements).unwrap());
    assert_eq!(bytes(DType::I4), [0, 1, 1, 4]);
    assert_eq!(bytes(DType::Bf16), [0, 2, 4, 14]);
    assert_eq!(bytes(DType::F8E4M3), [0, 1, 2, 7]);
    assert_eq!(DType::U4.bytes_of(u64::MAX), Some(1 << 63));
    assert_eq!(DType::F64.bytes_of(u64::MAX), None);
    assert!(Tensor::new(DType::U4, &[3], vec![0; 2].into()).is_ok());
    let error = Tensor::new(DType::U4, &[4], vec![0; 4].into()).unwrap_err().to_string();
    assert!(error.contains("u4[4]") && error.contains("2 bytes"), "{error}");
}

#[test]
fn types_have_names_and_codes() {
    for &dtype in DType::ALL {
        assert_eq!(dtype.to_string().parse(), Ok(dtype));
        assert_eq!(DType::from_code(dtype.code()), Some(dtype));
    }
    let error = "float32".parse::<DType>().unwrap_err().to_string();
    assert_eq!(
        error,
        "'float32' is not an element type (known: f32, u8, i8, u16, i16, i32, i64, bool, f16, f64, u32, u64, \
         bf16, f8e4m3, f8e5m2, u4, i4)"
    );
}

fn spec(name: &str, dtype: DType, dims: &[i64]) -> TensorSpec {
    let dims = dims.iter().map(|&dim| u32::try_from(dim).ok()).collect();
    TensorSpec::new(name, dtype, dims)
}

#[test]
fn a_sample_may_leave_the_batch_dimension_out_or_have_it_as_one() {
    let digits = Signature::new(vec![spec("image", DType::U8, &[-1, 1, 8, 8])]);
    assert_eq!(digits.to_string(), "image u8[N,1,8,8]");
    for good in [&[1, 8, 8][..], &[1, 1, 8, 8]] {
        assert_eq!(digits.accepts(&[tensor(DType::U8, good)]), Ok(()));
    }
    for bad in [&[8, 8][..], &[64], &[2, 1, 8, 8], &[1, 1, 1, 8, 8], &[1, 8, 9], &[]] {
        assert!(digits.accepts(&[tensor(DType::U8, bad)]).is_err(), "{bad:?}");
    }
    let error = digits.accepts(&[tensor(DType::F32, &[1, 8, 8]), tensor(DType::U8, &[])]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the sample is f32[1,8,8], u8[], the model takes image u8[N,1,8,8]: each sample must be u8[1,8,8]"
    );
    assert!(Signature::default().accepts(&[tensor(DType::U8, &[3])]).is_ok());
}

#[test]
fn free_and_fixed_dimensions() {
    let sequence = spec("ids", DType::I64, &[-1, -1]);
    assert_eq!(sequence.to_string(), "ids i64[N,?]");
    assert_eq!(sequence.sample_dims(&tensor(DType::I64, &[5])), Some(&[5][..]));
    assert_eq!(sequence.sample_dims(&tensor(DType::I64, &[1, 5])), Some(&[5][..]));
    // A sequence of length 1 is not a batch of 1.
    assert_eq!(sequence.sample_dims(&tensor(DType::I64, &[1])), Some(&[1][..]));
    assert_eq!(sequence.sample_dims(&tensor(DType::I64, &[2, 5])), None);
    let label = spec("label", DType::I64, &[-1]);
    assert_eq!(label.sample_dims(&tensor(DType::I64, &[])), Some(&[][..]));
    assert_eq!(label.sample_dims(&tensor(DType::I64, &[1])), Some(&[][..]));
    let single = spec("x", DType::F32, &[1, 4]);
    assert_eq!(single.sample_dims(&tensor(DType::F32, &[4])), Some(&[4][..]));
    let whole = spec("x", DType::F32, &[2, 4]);
    assert_eq!(whole.sample_dims(&tensor(DType::F32, &[2, 4])), Some(&[2, 4][..]));
    assert_eq!(whole.sample_dims(&tensor(DType::F32, &[4])), None);
    let scalar = spec("x", DType::F32, &[]);
    assert_eq!(scalar.sample_dims(&tensor(DType::F32, &[])), Some(&[][..]));
}

#[test]
fn several_types_and_what_may_be_left_out() {
    let ids = TensorSpec { other_dtypes: vec![DType::I32], ..spec("ids", DType::I64, &[-1, -1]) };
    let pixels = TensorSpec { is_optional: true, ..spec("pixels", DType::F32, &[-1, -1, 3]) };
    let limit = TensorSpec { other_dtypes: vec![DType::I64], is_optional: true, ..spec("limit", DType::I32, &[-1]) };
    let decoder = Signature::new(vec![ids, pixels, limit]);
    assert_eq!(decoder.to_string(), "ids i64|i32[N,?], pixels? f32[N,?,3], limit? i32|i64[N]");
    let (ids, pixels) = (|dtype| tensor(dtype, &[9]), || tensor(DType::F32, &[7, 3]));
    let limit = || tensor(DType::I64, &[]);
    for good in [
        vec![ids(DType::I64)],
        vec![ids(DType::I32), limit()],
        vec![ids(DType::I64), pixels()],
        vec![ids(DType::I64), pixels(), tensor(DType::I32, &[1])],
    ] {
        assert_eq!(decoder.accepts(&good), Ok(()));
    }
    for bad in [
        vec![],
        vec![ids(DType::U8)],
        vec![pixels()],
        vec![ids(DType::I64), ids(DType::I64)],
        vec![ids(DType::I64), limit(), limit()],
        vec![ids(DType::I64), limit(), pixels()],
    ] {
        assert!(decoder.accepts(&bad).is_err(), "{bad:?}");
    }
    let first = [TensorSpec { is_optional: true, ..spec("a", DType::U8, &[-1]) }, spec("b", DType::F32, &[-1])];
    assert!(fit(&first, &[tensor(DType::F32, &[])]) && !fit(&first, &[tensor(DType::U8, &[])]));
}

#[test]
fn specs_cross_the_wire() {
    let spec = spec("ids", DType::I64, &[-1, 384]);
    let both = TensorSpec { other_dtypes: vec![DType::I32, DType::U8], is_optional: true, ..spec.clone() };
    assert_eq!(TensorSpec::try_from(&v1::TensorSpec::from(&both)), Ok(both));
    let wire = v1::TensorSpec::from(&spec);
    assert_eq!((wire.dtype.as_str(), wire.dims.as_slice()), ("i64", &[-1, 384][..]));
    assert_eq!(TensorSpec::try_from(&wire), Ok(spec));
    let named = |name: &str| TensorSpec::try_from(&v1::TensorSpec { name: name.into(), ..wire.clone() }).unwrap().name;
    assert_eq!(named("a\u{1b}[31m\u{202e}\u{2028}\0"), "a\u{fffd}[31m\u{fffd}\u{fffd}\u{fffd}");
    assert_eq!(named(&"x".repeat(1 << 20)).len(), crate::text::MAX_PRINTABLE_CHARS + 3);
    let bad = v1::TensorSpec { dims: vec![-2], ..wire.clone() };
    assert!(TensorSpec::try_from(&bad).unwrap_err().to_string().contains("'ids' has a dimension of -2"));
    let bad = v1::TensorSpec { other_dtypes: vec!["tensor".into()], ..wire.clone() };
    assert!(TensorSpec::try_from(&bad).unwrap_err().to_string().contains("'tensor'"));
    let bad = v1::TensorSpec { dtype: "string".into(), ..wire };
    assert!(TensorSpec::try_from(&bad).unwrap_err().to_string().starts_with("tensor 'ids': 'string'"));
}
