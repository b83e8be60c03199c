//! Samples for a model of the user's own, of which no benchmark says what it takes: they go by the names of its inputs.

use super::*;

/// A model with these inputs of whole numbers, of any length.
fn model(names: &[&str]) -> Signature {
    Signature::new(names.iter().map(|name| TensorSpec::new(name, DType::I64, vec![None, None])).collect())
}

fn ids(shape: &str, values: &[i64]) -> Vec<u8> {
    let data: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    npy("<i8", "False", shape, &data)
}

#[test]
fn arrays_go_in_the_order_of_the_model() {
    let (_guard, path) = folder();
    let file = path.join("x.npz");
    let arrays = [("b", ids("(2, 1)", &[1, 2])), ("a", ids("(2, 1)", &[3, 4]))];
    npz(&file, &arrays, zip::CompressionMethod::Stored);
    let mut dataset = opened("synthetic", &file).unwrap();
    assert!(dataset.fits_model(&model(&["a", "b"])).is_err());
    assert!(dataset.fit_to(&model(&["a", "b"])).unwrap());
    dataset.fits_model(&model(&["a", "b"])).unwrap();
    let values = |dataset: &mut Dataset| tensors(dataset, 1).iter().map(i64s).collect::<Vec<_>>();
    assert_eq!(values(&mut dataset), [[4], [2]]);
    assert!(!dataset.fit_to(&model(&["a", "b"])).unwrap(), "they are in that order");
    // And back again.
    assert!(dataset.fit_to(&model(&["b", "a"])).unwrap());
    assert_eq!(values(&mut dataset), [[2], [4]]);
}

#[test]
fn a_folder_of_npz_files_has_samples_of_several_inputs_and_any_size() {
    let (_guard, path) = folder();
    let put = |name: &str, arrays: &[(&str, Vec<u8>)]| npz(&path.join(name), arrays, zip::CompressionMethod::Deflated);
    put("1.npz", &[("x", ids("(2,)", &[1, 2])), ("limit", ids("()", &[9]))]);
    put("2.npz", &[("limit", ids("()", &[8])), ("x", ids("(3,)", &[3, 4, 5]))]);
    fs::write(path.join("labels.txt"), "4\n7\n").unwrap();
    let mut dataset = opened("synthetic", &path).unwrap();
    assert_eq!(dataset.total_count(), 2);
    assert_eq!([0, 1].map(|index| shapes(&mut dataset, index)), ["i64[2] i64[]", "i64[3] i64[]"]);
    assert_eq!(tensors(&mut dataset, 1).iter().map(i64s).collect::<Vec<_>>(), [vec![3, 4, 5], vec![8]]);
    let labels = [4, 7].map(|label| Some(Truth::Class(label)));
    assert_eq!(dataset.truths().unwrap().samples(), labels);
    put("3.npz", &[("x", ids("(1,)", &[1]))]);
    fs::remove_file(path.join("labels.txt")).unwrap();
    let mut dataset = opened("synthetic", &path).unwrap();
    let message = dataset.load([2].into_iter()).unwrap_err().to_string();
    assert!(
        message.contains("3.npz") && message.contains("its arrays are x; those of other samples are x, limit"),
        "{message}"
    );
    fs::write(path.join("0.npz"), b"PK").unwrap();
    assert!(fault("synthetic", &path).contains("not a .npz file"));
}

#[test]
fn token_ids_become_the_inputs_of_the_model() {
    let (_guard, path) = folder();
    let file = path.join("texts.jsonl");
    fs::write(&file, "{\"input_ids\":[101,7,102]}\n{\"input_ids\":[5],\"attention_mask\":[0]}").unwrap();
    let mut dataset = opened("synthetic", &file).unwrap();
    assert_eq!(shapes(&mut dataset, 0), "i64[3]");
    let bert = model(&["input_ids", "token_type_ids", "attention_mask"]);
    assert!(dataset.fit_to(&bert).unwrap());
    dataset.fits_model(&bert).unwrap();
    let values = |dataset: &mut Dataset, index| tensors(dataset, index).iter().map(i64s).collect::<Vec<_>>();
    assert_eq!(values(&mut dataset, 0), [[101, 7, 102], [0, 0, 0], [1, 1, 1]]);
    assert_eq!(values(&mut dataset, 1), [[5], [0], [0]]);
    // A mask that no input takes must not get lost.
    let mut dataset = opened("synthetic", &file).unwrap();
    let message = dataset.fit_to(&model(&["input_ids"])).unwrap_err().to_string();
    assert!(message.contains("line 2") && message.contains("without attention_mask"), "{message}");
    let image = Signature::new(vec![TensorSpec::new("image", DType::F32, vec![None, Some(3)])]);
    let message = opened("synthetic", &file).unwrap().fit_to(&image).unwrap_err().to_string();
    assert!(message.contains("token ids do not make an input like image f32[N,3]"), "{message}");
}

#[test]
fn a_sample_of_another_type_or_shape_comes_with_the_remedy() {
    let (_guard, path) = folder();
    let file = path.join("x.npy");
    fs::write(&file, npy("<f8", "False", "(2, 3)", &[0; 48])).unwrap();
    let dataset = opened("synthetic", &file).unwrap();
    let remedy = |dtype, size| {
        let model = Signature::new(vec![TensorSpec::new("x", dtype, vec![None, Some(size)])]);
        dataset.fits_model(&model).unwrap_err().to_string()
    };
    let convert = "the sample is f64[3], the model takes x f32[N,3]: convert x from f64 to f32";
    assert_eq!(remedy(DType::F32, 3), convert);
    assert_eq!(remedy(DType::F64, 4), "the sample is f64[3], the model takes x f64[N,4]: each sample must be f64[4]");
}
