//! Any bytes as SQuAD's questions beside a small vocabulary, and as JSON lines: read or refused.
#![no_main]

use libfuzzer_sys::fuzz_target;

include!("files.rs");

const VOCABULARY: &str = "[PAD]\n[UNK]\n[CLS]\n[SEP]\nthe\n##s\na\nb\nc\nwho\n?\n.\n";

fuzz_target!(|bytes: &[u8]| {
    let folder = folder(|folder| std::fs::write(folder.join("vocab.txt"), VOCABULARY).expect("a file"));
    std::fs::write(folder.join("dev-v1.1.json"), bytes).expect("a file");
    open_and_load(folder.to_str().expect("a plain name"));
    let lines = folder.join("lines.jsonl");
    std::fs::write(&lines, bytes).expect("a file");
    open_and_load(lines.to_str().expect("a plain name"));
});
