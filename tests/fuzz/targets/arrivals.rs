//! Any bytes as a trace of arrivals, found by its first line and in a given format: read or refused. Due times are in
//! order, columns are equally long, and a trace that repeats ends after its last row.
#![no_main]

use libfuzzer_sys::fuzz_target;
use lon_qsl::arrivals::{TraceFormat, read};

include!("files.rs");

const OPTIONS: [&str; 3] =
    [",sort=yes,repeat", ",sort=yes,fails=drop,within-second=uniform,repeat,scale=0.3", ",unit=s"];

fuzz_target!(|bytes: &[u8]| {
    let file = folder(|_| ()).join("trace");
    std::fs::write(&file, bytes).expect("a file");
    let formats =
        TraceFormat::ALL.iter().flat_map(|format| ["", ",unit=us"].map(|unit| format!(",format={format}{unit}")));
    for options in OPTIONS.into_iter().map(str::to_owned).chain(formats) {
        let Ok(spec) = format!("{}{options}", file.display()).parse() else { continue };
        let Ok(trace) = read(&spec, 1) else { continue };
        assert!(trace.due_ns.is_sorted());
        assert!(trace.repeat_ns.is_none_or(|end| end > 0 && Some(&end) >= trace.due_ns.last()));
        for column in [&trace.samples, &trace.tokens_in, &trace.tokens_out].into_iter().flatten() {
            assert_eq!(column.len(), trace.due_ns.len());
        }
    }
});
