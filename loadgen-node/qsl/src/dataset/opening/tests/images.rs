//! Folders of images, with labels and with the boxes of COCO.

use super::*;

#[test]
fn a_folder_of_images_becomes_tensors_and_labels() {
    let (_guard, path) = image_folder();
    let mut dataset = opened("resnet50", &path).unwrap();
    assert_eq!(dataset.total_count(), 4);
    let labels: Vec<_> = [3, 7, 0, 999].map(|label| Some(Truth::Class(label))).to_vec();
    assert_eq!(dataset.truths().unwrap().samples(), labels);
    for index in 0..4 {
        assert_eq!(shapes(&mut dataset, index), "f32[3,224,224]", "{index}");
    }
    let red = tensors(&mut dataset, 1)[0].data()[..4].try_into().unwrap();
    assert!((f32::from_le_bytes(red) - (90.0 - 123.68)).abs() < 2.0);
    let spec = "resize=32,crop=16,dtype=u8,layout=nhwc".parse().unwrap();
    let options = OpenOptions { preprocess: Some(spec), ..OpenOptions::default() };
    let mut small = Benchmark::find("synthetic").unwrap().open_with(path.to_str(), &options).unwrap();
    assert_eq!(shapes(&mut small, 3), "u8[16,16,3]");
    // White: no ink at all.
    assert!(tensors(&mut small, 2)[0].data().iter().all(|&value| value > 250));
    assert!(fault("synthetic", &path).contains("--preprocess"));
    assert!(fault("bert", &path).contains("no dataset of bert"));
}

/// COCO's folder with two images. A box fills the left half of the second.
fn coco_folder() -> (TempDir, PathBuf) {
    let (guard, path) = folder();
    fs::create_dir(path.join("val2017")).unwrap();
    fs::create_dir(path.join("annotations")).unwrap();
    jpeg(&path.join("val2017/000000000139.jpg"), 90, 40, 20, ColorType::Rgb, 3);
    jpeg(&path.join("val2017/000000000285.jpg"), 90, 20, 40, ColorType::Rgb, 3);
    let file = r#"{"info": {"year": 2017}, "licenses": [], "images": [
        {"license": 2, "file_name": "000000000285.jpg", "height": 40, "width": 20, "id": 285},
        {"license": 3, "file_name": "000000000139.jpg", "height": 20, "width": 40, "id": 139}],
        "annotations": [{"segmentation": {"counts": [1], "size": [20, 40]}, "area": 400.0, "iscrowd": 0,
            "image_id": 139, "bbox": [0.0, 0.0, 20.0, 20.0], "category_id": 90, "id": 1}],
        "categories": [{"supercategory": "person", "id": 1, "name": "person"}, {"id": 90, "name": "toothbrush"}]}"#;
    fs::write(path.join("annotations/instances_val2017.json"), file).unwrap();
    (guard, path)
}

/// The score of boxes that fill the left half of the image of one sample; the other sample has no box.
fn map_of(benchmark: &str, dataset: &Dataset, sample: usize, category: f32) -> f64 {
    let row = [sample as f32, 0.0, 0.0, 1.0, 0.5, 0.9, category].map(f32::to_le_bytes).concat();
    let answers = [(sample, row.as_slice()), (1 - sample, &[][..])];
    let benchmark = Benchmark::find(benchmark).unwrap();
    benchmark.score(answers.into_iter(), dataset.truths().unwrap(), None).unwrap().unwrap().value
}

#[test]
fn coco_s_own_folder_is_a_dataset() {
    let (_guard, path) = coco_folder();
    let mut dataset = opened("ssd-mobilenet", &path).unwrap();
    assert_eq!((dataset.total_count(), shapes(&mut dataset, 1)), (2, "u8[300,300,3]".to_owned()));
    // Samples are in the order of the file: the box is in the second.
    let scores = [(1, 90.0), (0, 90.0), (1, 2.0)].map(|(sample, name)| map_of("ssd-mobilenet", &dataset, sample, name));
    assert!((scores[0] - 100.0).abs() < 1e-9 && scores[1..] == [0.0, 0.0], "{scores:?}");
    // Another benchmark names the second category by its place.
    assert!((map_of("ssd-resnet34", &dataset, 1, 2.0) - 100.0).abs() < 1e-9);
    assert_eq!(shapes(&mut opened("ssd-resnet34", &path).unwrap(), 0), "f32[3,1200,1200]");
    fs::remove_file(path.join("val2017/000000000139.jpg")).unwrap();
    let reason = fault("ssd-mobilenet", &path);
    assert!(reason.contains("instances_val2017.json") && reason.contains("000000000139.jpg"), "{reason}");
}

#[test]
fn a_list_of_some_of_coco_s_images_has_their_boxes() {
    let (_guard, path) = coco_folder();
    let map = path.join("val_map.txt");
    fs::write(&map, "val2017/000000000139.jpg\nval2017/000000000285.jpg\n").unwrap();
    let dataset = opened("ssd-mobilenet", &path).unwrap();
    assert!((map_of("ssd-mobilenet", &dataset, 0, 90.0) - 100.0).abs() < 1e-9);
    fs::write(&map, "val2017/000000000139.jpg 0\n").unwrap();
    let dataset = opened("ssd-mobilenet", &path).unwrap();
    assert!(dataset.total_count() == 1 && matches!(dataset.truths(), Some(Truths::Boxes(boxes)) if boxes.len() == 1));
    fs::copy(path.join("val2017/000000000139.jpg"), path.join("val2017/other.jpg")).unwrap();
    fs::write(&map, "val2017/000000000139.jpg 0\nval2017/other.jpg\n").unwrap();
    assert!(fault("ssd-mobilenet", &path).contains("it has no image val2017/other.jpg"));
    // Names that the file does not have are no names of its images: their number has to be the same.
    fs::write(&map, "val2017/other.jpg\n").unwrap();
    assert!(fault("ssd-mobilenet", &path).contains("right answers to 2 samples; there are 1"));
}

#[test]
fn images_may_be_sent_as_they_are() {
    let (_guard, path) = image_folder();
    let options = OpenOptions { original: true, ..OpenOptions::default() };
    let mut dataset = Benchmark::find("synthetic").unwrap().open_with(path.to_str(), &options).unwrap();
    dataset.fits_codec(Codec::Original).unwrap();
    dataset.set_codec(Codec::Original);
    let file = fs::read(path.join("val/rgb.jpg")).unwrap();
    let original = tensors(&mut dataset, 0);
    assert_eq!((original[0].to_string(), &original[0].data()[..]), (format!("u8[{}]", file.len()), &file[..]));
    assert_eq!(dataset.tensor_bytes(0), dataset.payload(0).len() as u64);
    let plain = Dataset::open("synthetic:u8[3]x2", &OpenOptions::default()).unwrap();
    assert!(plain.fits_codec(Codec::Original).unwrap_err().to_string().contains("--compression original"));
}

#[test]
fn what_is_wrong_with_images_is_named() {
    let (_guard, path) = image_folder();
    let mut dataset = opened("resnet50", &path).unwrap();
    let ink = path.join("val/ink.jpg");
    let whole = fs::read(&ink).unwrap();
    fs::write(&ink, &whole[..whole.len() / 2]).unwrap();
    let error = dataset.load(0..4).unwrap_err().to_string();
    assert!(error.contains("sample 2") && error.contains("ink.jpg") && error.contains("truncated"), "{error}");
    fs::remove_file(&ink).unwrap();
    let error = dataset.load([2].into_iter()).unwrap_err().to_string();
    assert!(error.contains("cannot read") && error.contains("ink.jpg"), "{error}");
    let map = |text: &str| fs::write(path.join("val_map.txt"), text).unwrap();
    map("val/rgb.jpg 3\nval/dot.jpg\n");
    let error = opened("resnet50", &path).unwrap().fits_metric(Metric::Top1).unwrap_err().to_string();
    assert!(error.contains("sample 1 ") && error.contains("no label"), "{error}");
    map("val/rgb.jpg 3\nval/dot.jpg seven\n");
    assert!(fault("resnet50", &path).contains("line 2: 'val/dot.jpg seven'"));
    map("val/rgb.jpg -3\n");
    assert!(fault("resnet50", &path).contains("line 1: the label -3"));
    map("val/rgb.jpg 3\nval/gone.jpg 4\n");
    let reason = fault("resnet50", &path);
    assert!(reason.contains("line 2") && reason.contains("gone.jpg") && reason.contains("val_map.txt"), "{reason}");
    let options = OpenOptions { original: true, labels_only: true, ..OpenOptions::default() };
    let labels = Benchmark::find("resnet50").unwrap().open_with(path.to_str(), &options).unwrap();
    assert_eq!(labels.truths().unwrap().samples()[1], Some(Truth::Class(4)));
    map("\n");
    assert!(fault("resnet50", &path).contains("names no images"));
}
