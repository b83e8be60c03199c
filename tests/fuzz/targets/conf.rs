//! Any text as a configuration file: read or refused, never a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use loadgen::conf::Table;

fuzz_target!(|text: &str| {
    let table = Table::parse(text);
    let _ = (table.faults().len(), table.remarks().len());
});
