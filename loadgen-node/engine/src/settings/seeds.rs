//! The seeds that each official round prescribes, as data.

use crate::mode::Seeds;

/// An official round and its seeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Round {
    /// Name of the round, for example `v6.1`. A LoadGen release number is not a round.
    pub name: &'static str,
    /// The seeds that every test of the round uses.
    pub seeds: Seeds,
}

/// The rounds whose seeds are known, oldest first.
pub const OFFICIAL_SEEDS: [Round; 4] = [
    Round {
        name: "v5.0",
        seeds: Seeds {
            qsl: 6_023_615_788_873_153_749,
            sample_index: 15_036_839_855_038_426_416,
            schedule: 9_933_818_062_894_767_841,
        },
    },
    Round {
        name: "v5.1",
        seeds: Seeds {
            qsl: 1_780_908_523_862_526_354,
            sample_index: 14_771_362_308_971_278_857,
            schedule: 18_209_322_760_996_052_031,
        },
    },
    Round {
        name: "v6.0",
        seeds: Seeds {
            qsl: 2_465_351_861_681_999_779,
            sample_index: 14_276_810_075_590_677_512,
            schedule: 3_936_089_224_930_324_775,
        },
    },
    Round {
        name: "v6.1",
        seeds: Seeds {
            qsl: 2_085_463_073_848_966_840,
            sample_index: 2_747_215_439_041_700_203,
            schedule: 16_159_082_839_903_944_936,
        },
    },
];

/// Seeds of compliance test 05 (the `test05_*` settings).
pub const TEST05_SEEDS: Seeds = Seeds {
    qsl: 7_975_553_102_935_885_558,
    sample_index: 11_403_566_307_062_068_064,
    schedule: 15_816_800_565_822_761_601,
};

/// `accuracy_log_rng_seed` of compliance test 01.
pub const TEST01_ACCURACY_LOG_SEED: u64 = 720_381_539_243_781_796;
