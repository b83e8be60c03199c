//! Any text as a manifest of raw tensors, and as a list of images, beside files of a few bytes: read or refused, and
//! nothing outside of their folder is read.
#![no_main]

use libfuzzer_sys::fuzz_target;

include!("files.rs");

fuzz_target!(|text: &[u8]| {
    let folder = folder(|folder| {
        for name in ["a.bin", "b.bin", "labels.txt"] {
            std::fs::write(folder.join(name), b"0123456789abcdef").expect("a file");
        }
        std::fs::create_dir_all(folder.join("images")).expect("a folder");
    });
    let file = folder.join("dataset.toml");
    std::fs::write(&file, text).expect("a file");
    open_and_load(file.to_str().expect("a plain name"));
    let images = folder.join("images");
    std::fs::write(images.join("val_map.txt"), text).expect("a file");
    let options = OpenOptions { original: true, ..OpenOptions::default() };
    if let Ok(mut dataset) = Dataset::open(images.to_str().expect("a plain name"), &options) {
        // The folder has no other file than the list itself.
        assert!(dataset.load([0].into_iter()).is_err() || text.windows(11).any(|name| name == b"val_map.txt"));
    }
});
