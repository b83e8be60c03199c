//! Traffic of older official releases, which draw integers or cut the library by other rules.
//!
//! The digests were recorded from the official wheels named here, by running them with these settings and a SUT that
//! answers at once: what was loaded, then what was asked, phase by phase, each index as four bytes. Between the two
//! rules for integers, one draw in (2^32 / bound) or so falls differently: small libraries do not tell them apart,
//! and their digests are the same twice.
#![allow(clippy::unwrap_used, reason = "a test that cannot set up has failed")]

use std::fmt::Write as _;

use loadgen::plan::Plan;
use loadgen::settings::Profile;
use loadgen::settings::{Mode, Qsl, Scenario, TestSettings};
use loadgen::trace::Trace;
use sha2::{Digest, Sha256};

/// The release's wheel, the rules it follows, and the first half of the SHA-256 of each of [`cases`].
const RELEASES: [(&str, Profile, [&str; 7]); 2] = [
    (
        "5.0.0 (and 4.1.16)",
        Profile::GCC_10,
        [
            "783ac8634cee28317c29410731b28dc9",
            "0ff0295d44d3b9c4c68f442bb2f1cf89",
            "e80e3f40ad9af5be44c3ecd22a24a8cb",
            "bb0118824a6b98b558c5b0fcc66e3671",
            "7eb31d679592f90467492f777d457abc",
            "cbe44868ce64c95b3de5bc711ac46491",
            "f36ac30df6ee664734462608c91c6478",
        ],
    ),
    (
        "5.1.2",
        Profile::BEFORE_6_0_6,
        [
            "783ac8634cee28317c29410731b28dc9",
            "0ff0295d44d3b9c4c68f442bb2f1cf89",
            "e80e3f40ad9af5be44c3ecd22a24a8cb",
            "bb0118824a6b98b558c5b0fcc66e3671",
            "277b9a9aa55265bcb8f748ab05b9ca56",
            "623a962bea0211f866f7c34cb6e2c0e8",
            "eff5c7ad8ec2d64e03d2730961439c48",
        ],
    ),
];

fn cases() -> [(TestSettings, Qsl); 7] {
    let case = |scenario, (total, performance), min_query_count| {
        let settings = TestSettings {
            scenario,
            min_query_count,
            min_duration_ms: 0,
            server_target_qps: 1_000.0,
            multi_stream_samples_per_query: 4,
            offline_expected_qps: 1.0,
            qsl_rng_seed: 6_023_615_788_873_153_749,
            sample_index_rng_seed: 15_036_839_855_038_426_416,
            schedule_rng_seed: 9_933_818_062_894_767_841,
            ..TestSettings::default()
        };
        (settings, Qsl { total, performance })
    };
    let accuracy = |(settings, qsl)| (TestSettings { mode: Mode::AccuracyOnly, ..settings }, qsl);
    [
        case(Scenario::SERVER, (100, 30), 40),
        case(Scenario::MULTI_STREAM, (50, 20), 15),
        case(Scenario::OFFLINE, (50, 9), 30),
        accuracy(case(Scenario::SINGLE_STREAM, (25, 10), 40)),
        case(Scenario::SERVER, (70_000, 66_000), 1_000),
        case(Scenario::SERVER, (6_000, 5_000), 1_000),
        accuracy(case(Scenario::OFFLINE, (5_000, 2_000), 1)),
    ]
}

fn digest(plan: &Plan) -> String {
    let mut hash = Sha256::new();
    for phase in plan.phases() {
        let (mut trace, mut samples) = (Trace::new(phase), Vec::new());
        while let Some(query) = trace.next() {
            trace.samples(&query, 0, usize::MAX, &mut samples);
        }
        let indices = samples.iter().map(|sample| sample.index);
        for index in phase.set.indices.iter().copied().chain(indices) {
            hash.update(index.0.to_le_bytes());
        }
    }
    hash.finalize().iter().take(16).fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

#[test]
fn older_releases_asked_for_the_same() {
    for (release, profile, digests) in RELEASES {
        for (number, ((settings, qsl), expected)) in cases().into_iter().zip(digests).enumerate() {
            let plan = Plan::with_profile(settings, qsl, profile).unwrap();
            assert_eq!(digest(&plan), expected, "{release}, case {number}");
        }
    }
}

#[test]
fn the_newest_rules_ask_for_something_else() {
    for ((settings, qsl), older) in cases().into_iter().zip(RELEASES[1].2) {
        let performance = settings.mode == Mode::PerformanceOnly;
        let plan = Plan::with_profile(settings, qsl, Profile::NEWEST).unwrap();
        assert_eq!(digest(&plan) != older, performance, "the set of a performance phase is cut differently");
    }
}
