//! Any bytes as a file of numpy: `.npz` when they begin as a zip archive does, else `.npy`. Read or refused.
#![no_main]

use libfuzzer_sys::fuzz_target;

include!("files.rs");

fuzz_target!(|bytes: &[u8]| {
    let name = if bytes.starts_with(b"PK") { "samples.npz" } else { "samples.npy" };
    let file = folder(|_| ()).join(name);
    std::fs::write(&file, bytes).expect("a file");
    open_and_load(file.to_str().expect("a plain name"));
});
