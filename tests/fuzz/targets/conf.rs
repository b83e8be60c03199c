//! Any text as a configuration file: read or refused, never a panic, and what was read can be applied.
#![no_main]

use libfuzzer_sys::fuzz_target;
use loadgen::conf::keys::{Owner, apply};
use loadgen::conf::parse::Table;
use loadgen::settings::TestSettings;

fuzz_target!(|text: &str| {
    let table = Table::parse(text);
    for scenario in ["SingleStream", "MultiStream", "Server", "Offline"] {
        for owner in [Owner::Official, Owner::User, Owner::Audit] {
            apply(&table, owner, "bert", scenario, &mut TestSettings::default());
        }
    }
});
