use super::*;

fn output(dtype: DType, dims: &[usize], data: impl Into<Vec<u8>>) -> Output {
    Output { dtype, dims: dims.to_vec(), data: data.into() }
}

fn f32s(dims: &[usize], values: &[f32]) -> Output {
    output(DType::F32, dims, values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<_>>())
}

fn spec(name: &str, dtype: DType, dims: &[i64]) -> TensorSpec {
    TensorSpec::new(name, dtype, dims.iter().map(|&dim| u32::try_from(dim).ok()).collect())
}

fn signature(specs: &[TensorSpec]) -> Signature {
    Signature::new(specs.to_vec())
}

fn i64s(bytes: &[u8]) -> Vec<i64> {
    bytes.as_chunks().0.iter().map(|&bytes| i64::from_le_bytes(bytes)).collect()
}

fn answers(text: &str, outputs: Vec<Output>, batch: usize) -> Vec<Bytes> {
    text.parse::<Postprocess>().unwrap().answers(outputs, &Signature::default(), batch).unwrap()
}

#[test]
fn the_text_is_read_and_written_back_and_nothing_else_is_understood() {
    for text in
        ["none", "argmax", "top-k=5", "softmax", "threshold=0.5", "threshold=-3", "retinanet=800", "retinanet=64x128"]
    {
        assert_eq!(text.parse::<Postprocess>().unwrap().to_string(), text);
    }
    for text in [
        "",
        "top-k",
        "top-k=0",
        "top-k=x",
        "argmax=1",
        "threshold",
        "threshold=NaN",
        "threshold=inf",
        "nms",
        "retinanet=0",
    ] {
        let error = text.parse::<Postprocess>().unwrap_err().to_string();
        assert!(error.contains(&format!("'{text}'")) && error.contains("top-k=NUMBER"), "{error}");
    }
}

#[test]
fn heads_become_boxes_of_each_sample() {
    let size = ImageSize { height: 32, width: 64 };
    let anchors = size.anchors();
    let names = [("reg", 4), ("cls", 2)].map(|(name, last)| spec(name, DType::F32, &[-1, anchors as i64, last]));
    let what: Postprocess = "retinanet=32x64".parse().unwrap();
    assert_eq!(what.outputs(&signature(&names)).unwrap().to_string(), "detections f32[N,?,7]");
    let mut logits = vec![-20.0; 2 * 2 * anchors];
    // Of the second sample alone: the second place of the first row, of two pixels more than 8.
    logits[2 * anchors + 2 * (9 + 3) + 1] = 0.0;
    let outputs = vec![f32s(&[2, anchors, 4], &vec![0.0; 2 * 4 * anchors]), f32s(&[2, anchors, 2], &logits)];
    let answers = what.answers(outputs, &signature(&names), 2).unwrap();
    let seven: Vec<u8> = [0.0, 0.0, 0.0, 0.5, 24.0 / 64.0, 0.5, 1.0f32].iter().flat_map(|v| v.to_le_bytes()).collect();
    assert_eq!((answers[0].len(), &answers[1][..]), (0, &seven[..]));
    let odd = "retinanet=800".parse::<Postprocess>().unwrap().outputs(&signature(&names)).unwrap_err().to_string();
    assert!(odd.contains("120087 anchors of 800x800"), "{odd}");
    let none = what.outputs(&signature(&names[..1])).unwrap_err().to_string();
    assert!(none.contains("[N,A,4] of the heads are needed"), "{none}");
}

#[test]
fn boxes_that_the_model_has_found_get_the_form() {
    let names =
        [spec("boxes", DType::F32, &[-1, 4]), spec("labels", DType::I64, &[-1]), spec("scores", DType::F32, &[-1])];
    let what: Postprocess = "retinanet=10".parse().unwrap();
    let labels = output(DType::I64, &[2], [5i64, 6].iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<_>>());
    let outputs = vec![f32s(&[2, 4], &[1.0, 2.0, 3.0, 4.0, 0.0, 0.0, 1.0, 1.0]), labels, f32s(&[2], &[0.5, 0.01])];
    let answers = what.answers(outputs.clone(), &signature(&names), 1).unwrap();
    let seven: Vec<u8> = [0.0, 0.2, 0.1, 0.4, 0.3, 0.5, 5.0f32].iter().flat_map(|v| v.to_le_bytes()).collect();
    assert_eq!(answers, [Bytes::from(seven)]);
    assert!(what.answers(outputs, &signature(&names), 2).unwrap_err().contains("--max-batch 1"));
}

#[test]
fn the_signature_says_what_comes_out() {
    let logits = signature(&[spec("logits", DType::F32, &[-1, 1000])]);
    let out = |text: &str, model: &Signature| {
        text.parse::<Postprocess>()
            .unwrap()
            .outputs(model)
            .map(|out| out.to_string())
            .map_err(|error| error.to_string())
    };
    assert_eq!(out("none", &logits).unwrap(), "logits f32[N,1000]");
    assert_eq!(out("argmax", &logits).unwrap(), "logits i64[N]");
    assert_eq!(out("top-k=5", &logits).unwrap(), "logits i64[N,5]");
    assert_eq!(out("softmax", &logits).unwrap(), "logits f32[N,1000]");
    assert_eq!(out("threshold=1", &logits).unwrap(), "logits u8[N,1000]");
    let outputs = signature(&[
        spec("boxes", DType::F32, &[-1, 9, 4]),
        spec("scores", DType::F32, &[-1, 9]),
        spec("labels", DType::I64, &[-1, 9]),
    ]);
    assert_eq!(out("threshold=0.5", &outputs).unwrap(), "boxes f32[N,?,4], scores f32[N,?], labels i64[N,?]");
    let error = out("argmax", &outputs).unwrap_err();
    assert!(error.contains("--postprocess argmax") && error.contains("'labels i64[N,9]' does not hold"), "{error}");
    assert!(out("top-k=1001", &logits).unwrap_err().contains("fewer than 1001"));
    assert!(out("argmax", &signature(&[spec("y", DType::F32, &[-1])])).unwrap_err().contains("besides the batch"));
    let two = signature(&[spec("a", DType::F32, &[-1, 2]), spec("b", DType::F32, &[-1, 2])]);
    assert!(out("threshold=1", &two).unwrap_err().contains("'scores'"));
    let odd = signature(&[spec("scores", DType::F32, &[-1, 2]), spec("b", DType::F32, &[-1, 3])]);
    assert!(out("threshold=1", &odd).unwrap_err().contains("'b f32[N,3]' has not the rows"));
}

#[test]
fn the_largest_values_are_found_by_place() {
    let nan = f32::NAN;
    let rows = || vec![f32s(&[3, 4], &[0., 3., 1., 3., nan, -1., -2., nan, nan, nan, nan, nan])];
    assert_eq!(answers("argmax", rows(), 3).iter().map(|answer| i64s(answer)).collect::<Vec<_>>(), [[1], [1], [0]]);
    let two: Vec<_> = answers("top-k=3", rows(), 3).iter().map(|answer| i64s(answer)).collect();
    assert_eq!(two, [[1, 3, 2], [1, 2, 0], [0, 1, 2]]);
    // Two outputs: one answer holds both; a further dimension stays.
    let both = answers("argmax", vec![f32s(&[1, 2, 2], &[0., 1., 1., 0.]), f32s(&[1, 3], &[0., 0., 9.])], 1);
    assert_eq!(i64s(&both[0]), [1, 0, 2]);
    let error = "top-k=5".parse::<Postprocess>().unwrap().answers(rows(), &Signature::default(), 3).unwrap_err();
    assert!(error.contains("4 values"), "{error}");
}

#[test]
fn shares_add_up_in_every_float_type() {
    let answer = answers("softmax", vec![f32s(&[1, 3], &[1000., 1000., -1000.])], 1);
    assert_eq!(answer[0], [0.5f32, 0.5, 0.].iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<_>>());
    let halves: Vec<u8> = [f16::from_f32(2.0); 4].iter().flat_map(|value| value.to_le_bytes()).collect();
    let answer = answers("softmax", vec![output(DType::F16, &[2, 2], halves)], 2);
    assert_eq!(answer[1], [f16::from_f32(0.5); 2].iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<_>>());
    let doubles: Vec<u8> = [0f64, 3f64.ln()].iter().flat_map(|value| value.to_le_bytes()).collect();
    let answer = answers("softmax", vec![output(DType::F64, &[1, 2], doubles)], 1);
    let share = f64::from_le_bytes(*answer[0].last_chunk().unwrap());
    assert!((share - 0.75).abs() < 1e-12, "{share}");
}

#[test]
fn a_threshold_marks_values_or_keeps_rows() {
    let marked = answers("threshold=0.5", vec![f32s(&[2, 2], &[0.5, 0.4, f32::NAN, 7.])], 2);
    assert_eq!(marked, [&[1, 0][..], &[0, 1]]);
    let outputs = || {
        vec![
            output(DType::U8, &[2, 3, 2], *b"aAbBcCdDeEfF"),
            f32s(&[2, 3], &[0.9, 0.1, 0.5, 0.2, f32::NAN, 0.3]),
            output(DType::U8, &[2, 3], *b"123456"),
        ]
    };
    let names = signature(&[
        spec("boxes", DType::U8, &[-1, 3, 2]),
        spec("scores", DType::F32, &[-1, 3]),
        spec("labels", DType::U8, &[-1, 3]),
    ]);
    let answers = Postprocess::Threshold(0.5).answers(outputs(), &names, 2).unwrap();
    assert_eq!(answers[0], [&b"aAcC"[..], &0.9f32.to_le_bytes(), &0.5f32.to_le_bytes(), b"13"].concat());
    assert!(answers[1].is_empty());
    let mut odd = outputs();
    odd[2].dims = vec![3, 2];
    assert!(Postprocess::Threshold(0.5).answers(odd, &names, 2).unwrap_err().contains("[3, 2] has not 3 rows"));
}

#[test]
fn outputs_are_cut_and_joined_per_sample() {
    let u8s = |dims: &[usize], data: &[u8]| output(DType::U8, dims, data);
    assert_eq!(answers("none", vec![u8s(&[3, 2], b"aabbcc")], 3), [&b"aa"[..], b"bb", b"cc"]);
    let two = answers("none", vec![u8s(&[2], b"xy"), u8s(&[2, 2], b"1122")], 2);
    assert_eq!(two, [&b"x11"[..], b"y22"]);
    // Alone, a sample owns everything, whatever its shape.
    assert_eq!(answers("none", vec![u8s(&[5], b"abcde"), u8s(&[], b"f")], 1), [&b"abcdef"[..]]);
    let error = split(vec![u8s(&[4, 2], b"aabbccdd")], 2).unwrap_err();
    assert!(error.contains("[4, 2]") && error.contains("--max-batch 1"), "{error}");
}

#[test]
fn a_nan_is_found_in_the_sample_that_has_it() {
    let flags_of = |output: Output| {
        let mut nan = [false; 2];
        mark_nan(&output, &mut nan);
        nan
    };
    let nan = f32::NAN;
    assert_eq!(flags_of(f32s(&[2, 2], &[1., 2., 3., nan])), [false, true]);
    assert_eq!(flags_of(f32s(&[2, 2], &[-nan, f32::INFINITY, 0., 1.])), [true, false]);
    let halves: Vec<u8> = [f16::NAN, f16::INFINITY].iter().flat_map(|value| value.to_le_bytes()).collect();
    assert_eq!(flags_of(output(DType::F16, &[2], halves)), [true, false]);
    assert_eq!(
        flags_of(output(DType::F64, &[2], [0u64, f64::NAN.to_bits()].map(u64::to_le_bytes).concat())),
        [false, true]
    );
    assert_eq!(flags_of(output(DType::I32, &[2], [255; 8])), [false, false]);
    assert_eq!(flags_of(f32s(&[2, 0], &[])), [false, false]);
}
