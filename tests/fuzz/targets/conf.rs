//! Any text as a configuration file: read or refused, never a panic, and what was read can be applied.
#![no_main]

use libfuzzer_sys::fuzz_target;
use loadgen::conf::keys::{Owner, apply};
use loadgen::conf::parse::Table;
use loadgen::settings::TestSettings;

fuzz_target!(|text: &str| {
    let table = Table::parse(text);
    // By the length, so that a text is always read in the same way, and each only once.
    let scenario = ["SingleStream", "MultiStream", "Server", "Offline"][text.len() % 4];
    let owner = [Owner::Official, Owner::User, Owner::Audit][text.len() / 4 % 3];
    apply(&table, owner, "bert", scenario, &mut TestSettings::default());
});
