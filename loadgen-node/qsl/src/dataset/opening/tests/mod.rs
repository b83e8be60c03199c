//! Every kind of dataset, opened by its path: the samples in it, and the fault that is named.

use std::fs;
use std::path::{Path, PathBuf};

use jpeg_encoder::{ColorType, Encoder};
use lon_proto::codec::Codec;
use lon_proto::sample::{self, DType, Signature, Tensor, TensorSpec};
use tempfile::TempDir;

use super::*;
use crate::accuracy::{Metric, Target, Truth, Truths};
use crate::benchmark::Benchmark;
use crate::dataset::Dataset;

mod images;
mod own_models;

fn folder() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_owned();
    (folder, path)
}

fn opened(benchmark: &str, path: &Path) -> Result<Dataset, DatasetError> {
    Benchmark::find(benchmark).unwrap().open(path.to_str())
}

fn fault(benchmark: &str, path: &Path) -> String {
    opened(benchmark, path).map(|_| ()).unwrap_err().to_string()
}

fn tensors(dataset: &mut Dataset, index: usize) -> Vec<Tensor> {
    dataset.load([index].into_iter()).unwrap();
    sample::decode(dataset.payload(index)).unwrap()
}

fn shapes(dataset: &mut Dataset, index: usize) -> String {
    tensors(dataset, index).iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

fn i64s(tensor: &Tensor) -> Vec<i64> {
    tensor.data().as_chunks::<8>().0.iter().map(|bytes| i64::from_le_bytes(*bytes)).collect()
}

/// A file of numpy.
fn npy(descr: &str, order: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}\n");
    [&b"\x93NUMPY\x01\x00"[..], &(header.len() as u16).to_le_bytes(), header.as_bytes(), data].concat()
}

fn npz(path: &Path, arrays: &[(&str, Vec<u8>)], method: zip::CompressionMethod) {
    use std::io::Write as _;
    let mut zip = zip::ZipWriter::new(fs::File::create(path).unwrap());
    for (name, file) in arrays {
        let options = zip::write::SimpleFileOptions::default().compression_method(method);
        zip.start_file(format!("{name}.npy"), options).unwrap();
        zip.write_all(file).unwrap();
    }
    zip.finish().unwrap();
}

fn jpeg(path: &Path, grey: u8, width: u16, height: u16, kind: ColorType, channels: usize) {
    let data = vec![grey; usize::from(width) * usize::from(height) * channels];
    let mut file = Vec::new();
    Encoder::new(&mut file, 90).encode(&data, width, height, kind).unwrap();
    fs::write(path, file).unwrap();
}

fn sums(folder: &Path, names: &[&str]) {
    let line = |name: &&str| format!("{}  ./{name}\n", crate::files::sums::sum(&folder.join(name)).unwrap().0);
    fs::write(folder.join("SHA256SUMS"), names.iter().map(line).collect::<String>()).unwrap();
}

/// Images of every kind, one of one pixel.
fn image_folder() -> (TempDir, PathBuf) {
    let (guard, path) = folder();
    fs::create_dir(path.join("val")).unwrap();
    jpeg(&path.join("val/rgb.jpg"), 90, 300, 280, ColorType::Rgb, 3);
    jpeg(&path.join("val/grey one.JPEG"), 90, 60, 40, ColorType::Luma, 1);
    jpeg(&path.join("val/ink.jpg"), 0, 50, 70, ColorType::Cmyk, 4);
    jpeg(&path.join("val/dot.jpg"), 90, 1, 1, ColorType::Rgb, 3);
    let map = "val/rgb.jpg 3\nval/grey one.JPEG\t7\n\nval/ink.jpg 0\nval/dot.jpg 999\n";
    fs::write(path.join("val_map.txt"), map).unwrap();
    (guard, path)
}

#[test]
fn files_are_compared_with_their_sums() {
    let (_guard, path) = image_folder();
    let names = ["val/rgb.jpg", "val/grey one.JPEG", "val/ink.jpg", "val/dot.jpg"];
    sums(&path, &names);
    let dataset = opened("resnet50", &path).unwrap();
    assert_eq!(dataset.verify(&|_, _| {}).unwrap(), 4);
    jpeg(&path.join("val/dot.jpg"), 91, 1, 1, ColorType::Rgb, 3);
    let error = dataset.verify(&|_, _| {}).unwrap_err().to_string();
    assert!(error.contains("dot.jpg") && error.contains("altered"), "{error}");
    sums(&path, &names[..3]);
    let error = opened("resnet50", &path).unwrap().verify(&|_, _| {}).unwrap_err().to_string();
    assert!(error.contains("no sum for val/dot.jpg"), "{error}");
}

#[test]
fn counts_beyond_what_is_there_take_no_memory() {
    let (_guard, path) = folder();
    fs::write(path.join("a.bin"), [0; 4]).unwrap();
    fs::write(path.join("labels.txt"), "1\n").unwrap();
    for (samples, part) in [("9223372036854775807", "at most"), ("100000000000", "at most"), ("4000000000", "4 bytes")]
    {
        let text = format!("schema=1\nsamples={samples}\n[[tensors]]\ndtype='u8'\ndims=[1]\nfile='a.bin'\n");
        fs::write(path.join("dataset.toml"), text).unwrap();
        let message = fault("synthetic", &path);
        assert!(message.contains(part) && message.contains(samples), "{message}");
    }
}

#[test]
fn what_is_asked_of_the_wrong_data_is_said() {
    let (_guard, path) = folder();
    let file = path.join("a.npy");
    fs::write(&file, npy("|u1", "False", "(2, 3)", &[0; 6])).unwrap();
    let options = OpenOptions { preprocess: Some("imagenet-caffe".parse().unwrap()), ..OpenOptions::default() };
    for (benchmark, dataset) in
        [("synthetic", file.to_str()), ("synthetic", Some("synthetic:u8[3]x4")), ("digits", None)]
    {
        let message = Benchmark::find(benchmark).unwrap().open_with(dataset, &options).unwrap_err().to_string();
        assert!(message.contains("--preprocess") && message.contains("val_map.txt"), "{message}");
    }
    for place in [&path, &file, &path.join("none")] {
        let message = fault("digits", place);
        assert!(message.contains("benchmark digits takes a folder with images.npy"), "{message}");
    }
}

#[test]
fn arrays_are_read_sample_by_sample() {
    let (_guard, path) = folder();
    let file = path.join("samples.npy");
    fs::write(&file, npy("<i4", "False", "(3, 2)", &(0..24).collect::<Vec<u8>>())).unwrap();
    fs::write(path.join("labels.txt"), "5\n6\n7\n").unwrap();
    let mut dataset = opened("synthetic", &file).unwrap();
    assert_eq!((dataset.total_count(), shapes(&mut dataset, 2)), (3, "i32[2]".to_owned()));
    assert_eq!(tensors(&mut dataset, 2)[0].data()[..], (16..24).collect::<Vec<u8>>());
    assert_eq!(dataset.truths().unwrap().samples()[2], Some(Truth::Class(7)));
    fs::write(path.join("labels.txt"), "5\n6\n").unwrap();
    let error = opened("synthetic", &file).unwrap().fits_metric(Metric::Top1).unwrap_err().to_string();
    assert!(error.contains("sample 2 ") && error.contains("samples.npy"), "{error}");
    assert!(error.ends_with(", and there are 2 labels for 3 samples"), "{error}");
    let message = fault("synthetic", &path);
    assert!(
        message.contains("2 labels for 1 samples") && message.ends_with("samples.npy where it is an array of samples")
    );
    for (labels, part) in [("1\nx\n", "line 2: 'x'"), ("1\n2\n3\n4\n", "4 labels for 3 samples")] {
        fs::write(path.join("labels.txt"), labels).unwrap();
        assert!(fault("synthetic", &file).contains(part), "{part}");
    }
    sums(&path, &["labels.txt", "samples.npy"]);
    fs::write(path.join("labels.txt"), "1\n").unwrap();
    assert!(fault("synthetic", &file).contains("labels.txt"));
}

#[test]
fn images_that_are_no_jpegs_are_named_with_the_remedy() {
    let (_guard, path) = folder();
    fs::write(path.join("1.png"), "").unwrap();
    for what in [path.clone(), path.join("1.png")] {
        assert!(fault("synthetic", &what).contains("PNG is not read: convert the images to JPEG"), "{what:?}");
    }
}

#[test]
fn arrays_of_other_kinds_are_refused() {
    let (_guard, path) = folder();
    let file = path.join("samples.npy");
    for (content, part) in [
        (npy("<f4", "True", "(2, 2)", &[0; 16]), "Fortran order"),
        (npy("<c8", "False", "(2, 1)", &[0; 16]), "<c8"),
        (npy(">f4", "False", "(2, 2)", &[0; 16]), ">f4"),
        (npy("<f4", "False", "(2, 2)", &[0; 15]), "does not have the 15 bytes"),
        (npy("<f4", "False", "()", &[0; 4]), "a single number"),
        (b"text".to_vec(), "not a .npy file"),
    ] {
        fs::write(&file, content).unwrap();
        let fault = fault("synthetic", &file);
        assert!(fault.contains(part) && fault.contains("samples.npy"), "{fault}");
    }
    // Of the right kind, but not this benchmark's.
    fs::write(&file, npy("<f8", "False", "(2, 3)", &[0; 48])).unwrap();
    let message = fault("resnet50", &file);
    assert!(message.contains("f64[3]") && message.contains("input_tensor:0 f32|f16|i8|u8[N,3,224,224]"), "{message}");
    fs::write(&file, npy("<i8", "False", "(1, 384)", &[0; 384 * 8])).unwrap();
    let message = fault("bert", &file);
    assert!(message.contains("input_mask") && message.contains(".npz have several inputs"), "{message}");
}

#[test]
fn a_file_for_each_sample() {
    let (_guard, path) = folder();
    fs::write(path.join("b.npy"), npy("<i4", "False", "(2,)", &[2; 8])).unwrap();
    fs::write(path.join("a.npy"), npy("<i4", "False", "(3,)", &[1; 12])).unwrap();
    fs::write(path.join("labels.npy"), npy("<i8", "False", "(2,)", &[4; 16])).unwrap();
    let mut dataset = opened("synthetic", &path).unwrap();
    assert_eq!([0, 1].map(|index| shapes(&mut dataset, index)), ["i32[3]", "i32[2]"]);
    assert!(dataset.fits_metric(Metric::Top1).is_ok() && dataset.fits_metric(Metric::F1).is_err());
    let auc = |labels: [i64; 2]| {
        fs::write(path.join("labels.npy"), npy("<i8", "False", "(2,)", &labels.map(i64::to_le_bytes).concat()))
            .unwrap();
        opened("synthetic", &path).unwrap().fits_metric(Metric::Auc).map_err(|error| error.to_string())
    };
    assert_eq!(auc([0, 1]), Ok(()));
    assert!(auc([0, 4]).unwrap_err().contains("sample 1") && auc([4, 4]).unwrap_err().contains("0 or 1 for each item"));
    assert!([[0, 0], [1, 1]].into_iter().all(|labels| auc(labels).unwrap_err().contains("both classes")));
    fs::write(path.join("b.npy"), npy("<i4", "True", "(2, 1)", &[2; 8])).unwrap();
    let error = opened("synthetic", &path).unwrap().load(0..2).unwrap_err().to_string();
    assert!(error.contains("b.npy") && error.contains("Fortran"), "{error}");
}

#[test]
fn several_inputs_in_one_file() {
    let (_guard, path) = folder();
    let file = path.join("features.npz");
    let ids = |value: u8| npy("<i8", "False", "(2, 384)", &[value; 2 * 384 * 8]);
    let labels = ("labels", npy("<i4", "False", "(2,)", &[9, 0, 0, 0, 8, 0, 0, 0]));
    let arrays = [("segment_ids", ids(3)), ("input_ids", ids(1)), ("input_mask", ids(2)), labels];
    for method in [zip::CompressionMethod::Stored, zip::CompressionMethod::Deflated] {
        npz(&file, &arrays, method);
        // In the order of the benchmark's inputs,
        let mut dataset = opened("bert", &file).unwrap();
        assert_eq!(tensors(&mut dataset, 1).iter().map(|tensor| tensor.data()[0]).collect::<Vec<_>>(), [1, 2, 3]);
        assert_eq!(dataset.truths().unwrap().samples()[1], Some(Truth::Class(8)));
        // or of the file.
        let mut dataset = opened("synthetic", &file).unwrap();
        assert_eq!(tensors(&mut dataset, 1).iter().map(|tensor| tensor.data()[0]).collect::<Vec<_>>(), [3, 1, 2]);
    }
    let inputs_of = |dataset: &mut Dataset| {
        let all = tensors(dataset, 0);
        all.iter().map(|tensor| tensor.data()[0]).collect::<Vec<_>>()
    };
    // Other names for the same, in any order; no names, in the benchmark's.
    for (names, [ids_at, mask_at, types_at]) in [
        (["input_ids", "token_type_ids", "attention_mask"], [1, 3, 2]),
        (["attention_mask", "input_ids", "segment_ids"], [2, 1, 3]),
        (["arr_0", "arr_1", "arr_2"], [1, 2, 3]),
    ] {
        let stored: Vec<_> = names.into_iter().zip((1..).map(ids)).collect();
        npz(&file, &stored, zip::CompressionMethod::Stored);
        assert_eq!(inputs_of(&mut opened("bert", &file).unwrap()), [ids_at, mask_at, types_at], "{names:?}");
    }
    for names in [["input_ids", "segment_ids", "maks"], ["ids", "mask", "other_mask"], ["a", "b", "c"]] {
        let stored: Vec<_> = names.into_iter().zip((1..).map(ids)).collect();
        npz(&file, &stored, zip::CompressionMethod::Stored);
        let message = fault("bert", &file);
        assert!(message.contains(&names.join(", ")) && message.contains("input_mask"), "{message}");
    }
    npz(&file, &[("a", ids(1)), ("b", npy("|u1", "False", "(3, 1)", &[0; 3]))], zip::CompressionMethod::Stored);
    assert!(fault("synthetic", &file).contains("a has 2 samples, b has 3"));
    for (name, truth) in [("label", Some(Truth::Class(8))), ("y", None)] {
        let labels = npy("<i4", "False", "(2,)", &[9, 0, 0, 0, 8, 0, 0, 0]);
        npz(&file, &[("ids", ids(1)), (name, labels)], zip::CompressionMethod::Deflated);
        let mut dataset = opened("synthetic", &file).unwrap();
        assert_eq!(dataset.truths().and_then(|truths| truths.samples()[1].clone()), truth);
        let (shape, inputs) = if truth.is_some() { ("i64[384]", "ids;") } else { ("i64[384] i32[]", "ids, y;") };
        assert_eq!(shapes(&mut dataset, 0), shape);
        assert!(dataset.note().unwrap().contains(inputs), "{:?}", dataset.note());
    }
    // The archive says less, or the array more, than there is.
    npz(&file, &[("a", npy("|u1", "False", "(9, 1000000)", &[0; 64]))], zip::CompressionMethod::Deflated);
    assert!(fault("synthetic", &file).contains("a: u8[9, 1000000] does not have the 64 bytes"));
    fs::write(&file, "no zip").unwrap();
    assert!(fault("synthetic", &file).contains("not a .npz file"));
}

#[test]
fn token_ids_are_padded_and_masked_as_the_benchmark_asks() {
    let (_guard, path) = folder();
    let file = path.join("features.jsonl");
    let lines = "{\"input_ids\":[101,7,102],\"token_type_ids\":[0,1,1],\"answers\":[\"Santa Clara\",\"CA\"]}\n\n\
                 {\"input_ids\":[5],\"attention_mask\":[0]}";
    fs::write(&file, lines).unwrap();
    let mut dataset = opened("bert", &file).unwrap();
    assert_eq!(shapes(&mut dataset, 0), "i64[384] i64[384] i64[384]");
    let rows: Vec<Vec<i64>> = tensors(&mut dataset, 0).iter().map(|tensor| i64s(tensor)[..5].to_vec()).collect();
    assert_eq!(rows, [[101, 7, 102, 0, 0], [1, 1, 1, 0, 0], [0, 1, 1, 0, 0]]);
    assert_eq!(i64s(&tensors(&mut dataset, 1)[1]), [0; 384]);
    let truth = Truth::Texts(vec!["Santa Clara".to_owned(), "CA".to_owned()]);
    assert_eq!(dataset.truths().unwrap().samples(), [Some(truth), None]);
    let error = dataset.fits_metric(Metric::F1).unwrap_err().to_string();
    assert!(error.contains("sample 1 ") && error.contains("f1"), "{error}");
}

#[test]
fn lines_may_name_the_part_of_the_dataset() {
    let (_guard, path) = folder();
    let file = path.join("parts.jsonl");
    let line = |fields: &str| format!("{{\"input_ids\":[1]{fields}}}\n");
    let good = line(",\"answers\":[\"7\"],\"part\":\"GSM8K\"") + &line(",\"part\":\"MBXP\"");
    fs::write(&file, &good).unwrap();
    let part = |part: &str, texts: &[&str]| {
        Some(Truth::Part { part: part.to_owned(), texts: texts.iter().map(|text| (*text).to_owned()).collect() })
    };
    let truths = [part("GSM8K", &["7"]), part("MBXP", &[])];
    let opened = |text: &str| {
        fs::write(&file, text).unwrap();
        opened("mixtral-8x7b", &file).unwrap()
    };
    assert_eq!(opened(&good).truths().unwrap().samples(), truths);
    let gsm8k = Target { parts: &["GSM8K"], ..Target::from(Metric::Gsm8k) };
    assert!(opened(&good).fits_metric(gsm8k).is_ok());
    let error = opened(&(good + &line(",\"answers\":[\"7\"]"))).fits_metric(gsm8k).unwrap_err().to_string();
    assert!(error.contains("sample 2 ") && error.contains("gsm8k, nor another part than GSM8K"), "{error}");
}

#[test]
fn what_a_generating_model_takes() {
    let (_guard, path) = folder();
    let file = path.join("ids.jsonl");
    fs::write(&file, "{\"input_ids\":[3,70000],\"max_tokens\":9}\n{\"input_ids\":[4]}\n").unwrap();
    for (benchmark, both) in [("llama2-70b", ["i32[2] i32[]", "i32[1]"]), ("synthetic", ["i64[2] i32[]", "i64[1]"])] {
        let mut dataset = opened(benchmark, &file).unwrap();
        assert_eq!([0, 1].map(|index| shapes(&mut dataset, index)), both);
        assert_eq!(tensors(&mut dataset, 0)[1].data()[..], [9, 0, 0, 0]);
        assert!(dataset.truths().is_none());
    }
    assert_eq!(i64s(&tensors(&mut opened("synthetic", &file).unwrap(), 0)[0]), [3, 70_000]);
    let file = path.join("prompts.jsonl");
    fs::write(&file, "{\"prompt\":\"h\u{fc}\\n\",\"max_tokens\":1}\r\n{\"prompt\":\"x\"}\r\n").unwrap();
    for benchmark in ["synthetic", "llama2-70b"] {
        let mut dataset = opened(benchmark, &file).unwrap();
        assert_eq!([0, 1].map(|index| shapes(&mut dataset, index)), ["u8[4] i32[]", "u8[1]"], "{benchmark}");
        assert_eq!(tensors(&mut dataset, 0)[0].data()[..], *"h\u{fc}\n".as_bytes());
    }
    let refused = fault("bert", &file);
    assert!(refused.contains("u8[4], i32[]") && refused.contains("input_mask"), "{refused}");
    fs::write(&file, "{\"prompt\":\"a sunset\"}\n").unwrap();
    assert_eq!(shapes(&mut opened("stable-diffusion-xl", &file).unwrap(), 0), "u8[8]");
    assert_eq!(shapes(&mut opened("wan-2.2-t2v-a14b", &file).unwrap(), 0), "u8[8]");
}

#[test]
fn malformed_lines_are_named_by_their_number() {
    let (_guard, path) = folder();
    let file = path.join("lines.jsonl");
    for (benchmark, second, part) in [
        ("synthetic", "{\"input_ids\":[1,]}", "line 3: trailing comma"),
        ("synthetic", "{\"input_ids\":[1.5]}", "line 3: invalid type"),
        ("synthetic", "{\"input_ids\":[1],\"colour\":1}", "line 3: unknown field `colour`"),
        ("synthetic", "{\"max_tokens\":3}", "line 3: a line has either prompt or input_ids"),
        ("synthetic", "{\"prompt\":\"x\"}", "line 3: prompts and token ids in one file"),
        ("synthetic", "{\"input_ids\":[]}", "line 3: input_ids is empty"),
        ("synthetic", "{\"input_ids\":[1],\"max_tokens\":0}", "line 3: max_tokens"),
        (
            "deepseek-r1",
            "{\"input_ids\":[1],\"attention_mask\":[1]}",
            "line 3: this benchmark takes input_ids without attention_mask",
        ),
        ("bert", "{\"input_ids\":[1],\"attention_mask\":[1,1]}", "line 3: attention_mask is not as long"),
        ("bert", "{\"input_ids\":[1],\"max_tokens\":4}", "line 3: this benchmark's model generates nothing"),
        ("bert", "{\"input_ids\":[1],\"label\":4,\"answers\":[\"x\"]}", "line 3: a line has either label or answers"),
        ("bert", "{\"input_ids\":[1],\"label\":4,\"part\":\"x\"}", "line 3: part goes with answers"),
    ] {
        fs::write(&file, format!("{{\"input_ids\":[1]}}\n\n{second}\n")).unwrap();
        let fault = fault(benchmark, &file);
        assert!(fault.contains(part) && fault.contains("lines.jsonl"), "{fault}");
    }
    fs::write(&file, [&b"{\"input_ids\":[1]}\n{\"prompt\":\""[..], &[0xff], b"\"}"].concat()).unwrap();
    assert!(fault("synthetic", &file).contains("line 2: not UTF-8"));
    fs::File::create(&file).unwrap().set_len(20 << 30).unwrap();
    assert!(fault("synthetic", &file).contains("line 1: a line has more than 67108864 bytes"));
    let long = format!("{{\"input_ids\":{:?}}}", [1; 385]);
    fs::write(&file, long).unwrap();
    assert!(fault("bert", &file).contains("line 1: 385 token ids; input_ids takes 384"));
    fs::write(&file, "").unwrap();
    assert!(fault("synthetic", &file).contains("no lines"));
    assert!(fault("resnet50", &file).contains("no dataset of resnet50"));
}

#[test]
fn raw_tensors_and_their_manifest() {
    let (_guard, path) = folder();
    fs::write(path.join("all.bin"), (0..12).collect::<Vec<u8>>()).unwrap();
    fs::write(path.join("0.bin"), [1; 4]).unwrap();
    fs::write(path.join("1.bin"), [2; 4]).unwrap();
    fs::write(path.join("classes.txt"), "3\n4\n").unwrap();
    let manifest = path.join("dataset.toml");
    let sum = crate::files::sums::sum(&path.join("all.bin")).unwrap().0;
    let text = format!(
        "schema = 1\nsamples = 2\nlabels = \"classes.txt\"\n\
         [[tensors]]\ndtype = \"i16\"\ndims = [3]\nfile = \"all.bin\"\nsha256 = \"{sum}\"\n\
         [[tensors]]\ndtype = \"f32\"\ndims = []\nfiles = [\"0.bin\", \"1.bin\"]\n"
    );
    fs::write(&manifest, &text).unwrap();
    for place in [&manifest, &path] {
        let mut dataset = opened("synthetic", place).unwrap();
        assert_eq!(shapes(&mut dataset, 1), "i16[3] f32[]");
        let both = tensors(&mut dataset, 1);
        assert_eq!((&both[0].data()[..], &both[1].data()[..]), (&[6, 7, 8, 9, 10, 11][..], &[2; 4][..]));
        assert_eq!(dataset.truths().unwrap().samples(), [Some(Truth::Class(3)), Some(Truth::Class(4))]);
        assert_eq!(dataset.verify(&|_, _| {}).unwrap(), 3);
    }
    for (from, to, part) in [
        ("schema = 1", "schema = 2", "schema 2"),
        ("samples = 2", "samples = 3", "12 bytes, 3 samples of i16[3] have 18"),
        ("samples = 2", "samples = 0", "at least one sample"),
        ("\"i16\"", "\"i17\"", "tensor 0: 'i17'"),
        ("files = [\"0.bin\", \"1.bin\"]", "files = [\"0.bin\"]", "tensor 1: 1 files for 2 samples"),
        ("files = [\"0.bin\", \"1.bin\"]", "", "tensor 1: either file or files"),
        ("dims = [3]", "dims = [3]\ncolour = 1", "colour"),
        ("\"all.bin\"", "\"none.bin\"", "none.bin"),
    ] {
        fs::write(&manifest, text.replacen(from, to, 1)).unwrap();
        let fault = fault("synthetic", &path);
        assert!(fault.contains(part), "{to}: {fault}");
    }
    fs::write(&manifest, text.replacen(&sum, &"0".repeat(64), 1)).unwrap();
    assert!(opened("synthetic", &path).unwrap().verify(&|_, _| {}).unwrap_err().to_string().contains("all.bin"));
    fs::write(&manifest, &text).unwrap();
    fs::write(path.join("1.bin"), [2; 5]).unwrap();
    let error = opened("synthetic", &path).unwrap().load(0..2).unwrap_err().to_string();
    assert!(error.contains("1.bin: 5 bytes, f32[] has 4"), "{error}");
}

/// A list could else have any file of this machine sent to a node.
#[test]
fn what_lies_outside_of_the_dataset_is_not_read() {
    let (_guard, path) = image_folder();
    let secret = path.parent().unwrap().join(format!("{}.secret", path.file_name().unwrap().display()));
    fs::write(&secret, [7; 4]).unwrap();
    std::os::unix::fs::symlink(&secret, path.join("link.jpg")).unwrap();
    let outside = format!("../{}", secret.file_name().unwrap().display());
    let names = [("link.jpg", "is a link to "), (outside.as_str(), "has a '..' in it"), ("/etc/passwd", "absolute")];
    for (name, part) in names {
        fs::write(path.join("val_map.txt"), format!("val/rgb.jpg 3\n{name} 4\n")).unwrap();
        for original in [false, true] {
            let options = OpenOptions { original, ..OpenOptions::default() };
            let message =
                Benchmark::find("resnet50").unwrap().open_with(path.to_str(), &options).unwrap_err().to_string();
            let start = format!("val_map.txt: line 2: '{name}' ");
            assert!(message.contains(&start) && message.contains(part), "{message}");
        }
    }
    let (_guard, path) = folder();
    std::os::unix::fs::symlink(&secret, path.join("link.jpg")).unwrap();
    let manifest = path.join("dataset.toml");
    let lines = |keys: &str| format!("schema = 1\nsamples = 1\n[[tensors]]\ndtype = 'u8'\ndims = [4]\n{keys}\n");
    for (name, part) in names {
        for key in [format!("file = '{name}'"), format!("files = ['{name}']")] {
            fs::write(&manifest, lines(&key)).unwrap();
            let message = fault("synthetic", &path);
            assert!(
                message.contains(&format!("dataset.toml: line 6: '{name}' ")) && message.contains(part),
                "{message}"
            );
        }
    }
    fs::write(path.join("a.bin"), [1; 4]).unwrap();
    fs::write(&manifest, format!("labels = '/etc/passwd'\n{}", lines("file = 'a.bin'"))).unwrap();
    assert!(fault("synthetic", &path).contains("dataset.toml: line 1: '/etc/passwd' is an absolute path"));
    // A folder of arrays has no list, and its files may be links all the same.
    fs::remove_file(&manifest).unwrap();
    std::os::unix::fs::symlink(&secret, path.join("a.npy")).unwrap();
    assert!(fault("synthetic", &path).contains("'a.npy' is a link to "));
    fs::remove_file(secret).unwrap();
}

/// The file behind a name may change between opening and loading.
#[test]
fn a_file_that_becomes_a_link_is_not_read() {
    let (_guard, path) = image_folder();
    let mut dataset = opened("resnet50", &path).unwrap();
    let dot = path.join("val/dot.jpg");
    fs::remove_file(&dot).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", &dot).unwrap();
    let message = dataset.load([3].into_iter()).unwrap_err().to_string();
    assert!(message.contains("dot.jpg") && message.contains("is a link to /etc/passwd"), "{message}");
}

#[test]
fn what_is_no_dataset_is_named() {
    let (_guard, path) = folder();
    assert!(fault("synthetic", &path).contains("val_map.txt"));
    let file = path.join("data.csv");
    fs::write(&file, "1,2").unwrap();
    assert!(fault("synthetic", &file).contains(".jsonl"));
    assert!(fault("synthetic", &path.join("none.npy")).contains("none.npy"));
}

#[test]
fn a_part_of_a_dataset_can_be_in_memory() {
    let (_guard, path) = folder();
    let file = path.join("samples.npy");
    fs::write(&file, npy("|u1", "False", "(9, 2)", &[1; 18])).unwrap();
    let mut dataset = opened("synthetic", &file).unwrap();
    assert!(
        dataset.is_read_when_needed()
            && !Dataset::open("synthetic:u8[3]x2", &OpenOptions::default()).unwrap().is_read_when_needed()
    );
    dataset.limit_performance_count(4);
    dataset.limit_performance_count(7);
    assert_eq!((dataset.total_count(), dataset.performance_count()), (9, 4));
    dataset.load(0..4).unwrap();
    dataset.unload();
    dataset.load(4..8).unwrap();
    assert_eq!(dataset.loaded().samples, 4);
}

/// Types and shapes are all the same, so that a model would take one for the other.
#[test]
fn a_model_of_another_order_is_refused() {
    let (_guard, path) = folder();
    let file = path.join("features.jsonl");
    fs::write(&file, "{\"input_ids\":[101,102]}").unwrap();
    let dataset = opened("bert", &file).unwrap();
    let model = |names: [&str; 3]| {
        let spec = |name: &str| TensorSpec::new(name, DType::I64, vec![None, Some(384)]);
        Signature::new(names.map(spec).to_vec())
    };
    for same in [["input_ids", "input_mask", "segment_ids"], ["input_ids", "attention_mask", "token_type_ids"]] {
        dataset.fits_model(&model(same)).unwrap();
    }
    // The names are unknown, so only the shapes count.
    dataset.fits_model(&model(["a", "b", "c"])).unwrap();
    let message =
        dataset.fits_model(&model(["input_ids", "token_type_ids", "attention_mask"])).unwrap_err().to_string();
    assert!(message.contains("--inputs input_ids,attention_mask,token_type_ids"), "{message}");
    // One known name fixes an order that the other names must not contradict.
    let message = dataset.fits_model(&model(["a", "input_ids", "b"])).unwrap_err().to_string();
    assert!(message.contains("--inputs input_ids,a,b"), "{message}");
    let made_up = "synthetic:tokens-i64[384]+ones-i64[384]+zeros-i64[384]x4";
    let bert = Benchmark::find("bert").unwrap();
    let dataset = bert.open(Some(made_up)).unwrap();
    bert.fits(&dataset).unwrap();
    assert!(dataset.fits_model(&model(["segment_ids", "input_ids", "input_mask"])).is_err());
    let other = bert.open(Some("synthetic:f32[384]x4")).unwrap();
    assert!(bert.fits(&other).unwrap_err().to_string().contains("f32[384]"));
}
