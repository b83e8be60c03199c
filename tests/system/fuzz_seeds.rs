//! The fuzz targets' seeds, on every build: what they once found stays found.

use bytes::Bytes;
use loadgen::conf::parse::Table;
use loadgen::recorder::Timeline;
use lon_image::decode_jpeg_within;
use lon_proto::codec::{Codec, Inflater};
use lon_proto::sample;
use lon_qsl::arrivals;
use lon_qsl::dataset::{Dataset, OpenOptions};
use lon_tests::process::repository;

fn seeds(target: &str) -> Vec<(String, Vec<u8>)> {
    let folder = repository("tests/fuzz/seeds").join(target);
    let seeds = std::fs::read_dir(&folder).unwrap().map(|entry| {
        let path = entry.unwrap().path();
        (path.file_name().unwrap().to_string_lossy().into_owned(), std::fs::read(&path).unwrap())
    });
    let seeds: Vec<_> = seeds.collect();
    assert!(!seeds.is_empty(), "no seeds in {}", folder.display());
    seeds
}

#[test]
fn conf_files_are_read_or_refused() {
    for (name, text) in seeds("conf") {
        let table = Table::parse(&String::from_utf8_lossy(&text));
        let lines = text.split(|&byte| byte == b'\n').count();
        assert!(table.remarks().iter().all(|remark| (1..=lines).contains(&remark.line)), "{name}");
    }
}

#[test]
fn timelines_are_read_or_refused() {
    for (name, bytes) in seeds("timeline") {
        let whole = Timeline::read_from(&mut &bytes[..]).is_ok();
        assert_eq!(whole, name == "server.bin", "{name}");
    }
}

#[test]
fn samples_are_read_or_refused() {
    for (name, bytes) in seeds("sample") {
        let bytes = Bytes::from(bytes);
        match sample::decode(bytes.clone()) {
            Ok(tensors) => assert_eq!(sample::encode(&tensors).unwrap(), bytes, "{name}"),
            Err(error) => assert!(name != "digit.bin", "{name}: {error}"),
        }
    }
}

/// Seeds of whole frames are named after their codec; the others are damaged ones.
#[test]
fn frames_are_inflated_or_refused() {
    const MAX_RAW_BYTES: u64 = 1 << 20;
    for (name, bytes) in seeds("inflate") {
        for codec in Codec::NAMES.map(|codec| codec.parse::<Codec>().unwrap()) {
            let inflated = Inflater::new(codec, MAX_RAW_BYTES).inflate(bytes.clone().into());
            let is_whole = codec.is_none() || name.split_once('.').is_some_and(|(whole, _)| whole == codec.name());
            assert_eq!(inflated.is_ok(), is_whole, "{name} as {codec}: {inflated:?}");
        }
    }
}

#[test]
fn what_comes_over_the_network_is_read_or_refused() {
    for (name, read) in [
        ("dispatch", lon_sut::fuzz::dispatch as fn(&[u8])),
        ("http", lon_sut::fuzz::http_answer),
        ("kserve", qdl::fuzz::kserve_answer),
    ] {
        seeds(name).iter().for_each(|(_, bytes)| read(bytes));
    }
}

#[test]
fn images_are_read_or_refused() {
    for (name, file) in seeds("jpeg") {
        let pixels = decode_jpeg_within(&file, 8 << 20);
        assert!(pixels.is_err() || !["huge.bin", "png.bin", "scan.bin"].contains(&name.as_str()), "{name}");
    }
}

#[test]
fn files_of_users_are_read_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    for (target, name) in [("arrays", "samples.npy"), ("manifest", "dataset.toml"), ("squad", "lines.jsonl")] {
        for (seed, bytes) in seeds(target) {
            let file = folder.path().join(if bytes.starts_with(b"PK") { "samples.npz" } else { name });
            std::fs::write(&file, &bytes).unwrap();
            let dataset = Dataset::open(file.to_str().unwrap(), &OpenOptions::default());
            let loaded = dataset.and_then(|mut dataset| dataset.load([0].into_iter()));
            assert!(loaded.is_err() || !["huge.bin", "absolute.txt", "parent.txt"].contains(&seed.as_str()), "{seed}");
        }
    }
}

/// Seeds of whole traces are named after their format; the others are damaged ones.
#[test]
fn traces_of_arrivals_are_read_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("trace");
    for (name, bytes) in seeds("arrivals") {
        std::fs::write(&file, &bytes).unwrap();
        let format = name.split(['.', '-']).next().unwrap_or_default();
        let options = match format {
            "gaps" | "jsonl" => ",unit=us,sort=yes,repeat",
            "burstgpt" => ",within-second=uniform,sort=yes,repeat",
            _ => ",sort=yes,repeat",
        };
        let spec = format!("{}{options}", file.display()).parse().unwrap();
        match arrivals::read(&spec, 1) {
            Ok(trace) => {
                assert_eq!(trace.facts.format.to_string(), format, "{name}");
                assert!(trace.due_ns.is_sorted() && trace.repeat_ns >= trace.due_ns.last().copied(), "{name}");
            }
            Err(error) => assert_eq!(format, "refused", "{name}: {error}"),
        }
    }
}
