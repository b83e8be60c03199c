//! Prescriptions of the official rounds, as data: seeds, settings per benchmark, and how LoadGen drew.

use super::keys::{self, Applied, Owner};
use super::parse::Table;
use crate::scenarios::TestSettings;
use crate::settings::{OFFICIAL_SEEDS, Profile, Round, Seeds, UnknownName, named};

/// Prescriptions of an official round.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Name and seeds of the round.
    pub round: &'static Round,
    /// The release of LoadGen by whose rules traffic is generated.
    pub profile: Profile,
    /// The releases and logs from which this is known.
    pub source: &'static str,
    conf: &'static str,
}

/// Every round that is known, oldest first.
pub static RULES: [Rules; 4] = [
    Rules {
        round: &OFFICIAL_SEEDS[0],
        profile: Profile::BEFORE_6_0_6,
        source: "settings: mlcommons/inference at v5.0.1; rules: release 5.0.21",
        conf: V5_0,
    },
    Rules {
        round: &OFFICIAL_SEEDS[1],
        profile: Profile::BEFORE_6_0_6,
        source: "settings: mlcommons/inference at v5.1.1; rules: releases 5.0.25, 6.0.3",
        conf: V5_1,
    },
    Rules {
        round: &OFFICIAL_SEEDS[2],
        profile: Profile::NEWEST,
        source: "settings: mlcommons/inference at 5a6f0fac; rules: release 6.0.10",
        conf: V6_0,
    },
    Rules {
        round: &OFFICIAL_SEEDS[3],
        profile: Profile::NEWEST,
        source: "settings and rules: release 6.0.17",
        conf: V6_1,
    },
];

/// Round v0.5. Its LoadGen differs in all rules, and runs of the round are led by [`crate::v05`]: keys and units of
/// `conf` are for that room to read. The logs that were published are drawn by division, in part by division6.
pub static V0_5: Rules = Rules {
    round: &Round {
        name: "v0.5",
        seeds: Seeds {
            qsl: 3_133_965_575_612_453_542,
            sample_index: 665_484_352_860_916_858,
            schedule: 3_622_009_729_038_561_421,
        },
    },
    profile: Profile::GCC_10,
    source: "settings: v0.5/mlperf.conf of mlcommons/inference at 413dbabc, branch r0.5; rules: its LoadGen",
    conf: include_str!("data/v0_5.conf"),
};

/// The settings built into the LoadGen of each round.
const V5_0: &str = include_str!("data/v5_0.conf");
const V5_1: &str = include_str!("data/v5_1.conf");
const V6_0: &str = include_str!("data/v6_0.conf");
const V6_1: &str = include_str!("data/v6_1.conf");

impl Rules {
    /// The round of this name, v0.5 among them.
    pub fn find(name: &str) -> Option<&'static Rules> {
        RULES.iter().chain([&V0_5]).find(|rules| rules.round.name == name)
    }

    /// The round that a person typed, with or without its `v`. The newest is suggested for one above it.
    ///
    /// # Errors
    /// There is no such round.
    pub fn named(text: &str) -> Result<&'static Rules, UnknownName> {
        Self::among(text, &RULES.each_ref())
    }

    /// As [`Rules::named`], with round v0.5 among the rounds.
    ///
    /// # Errors
    /// There is no such round.
    pub fn named_of_all(text: &str) -> Result<&'static Rules, UnknownName> {
        let [first, second, third, fourth] = RULES.each_ref();
        Self::among(text, &[&V0_5, first, second, third, fourth])
    }

    fn among(text: &str, rounds: &[&'static Rules]) -> Result<&'static Rules, UnknownName> {
        let with_v = if text.starts_with(|c: char| c.is_ascii_digit()) { format!("v{text}") } else { text.to_owned() };
        let names: Vec<&str> = rounds.iter().map(|rules| rules.round.name).collect();
        named("round", &with_v, &names).map(|index| rounds[index]).map_err(|error| {
            let newest = Rules::newest().round.name;
            match numbers(&with_v) > numbers(newest) {
                true => UnknownName { hint: format!(" (did you mean {newest}?)"), ..error },
                false => error,
            }
        })
    }

    /// True for the round whose tests [`crate::v05`] leads.
    pub fn is_v0_5(&self) -> bool {
        self.round.name == V0_5.round.name
    }

    /// The built-in settings as the text of a config file.
    pub(crate) fn text(&self) -> &'static str {
        self.conf
    }

    /// The newest round that is known.
    pub fn newest() -> &'static Rules {
        &RULES[RULES.len() - 1]
    }

    /// Sets what this round prescribes for a model and a scenario. Its lines are not worth remarks.
    pub fn apply(&self, model: &str, scenario: &str, settings: &mut TestSettings) -> Applied {
        let applied = keys::apply(&Table::parse(self.conf), Owner::Official, model, scenario, settings);
        settings.set_seeds(self.round.seeds);
        Applied { remarks: Vec::new(), ..applied }
    }

    /// Returns true when the round has settings of its own for this model.
    pub fn knows(&self, model: &str) -> bool {
        self.models().iter().any(|name| name == model)
    }

    /// The models with settings of their own, sorted.
    pub fn models(&self) -> Vec<String> {
        let table = Table::parse(self.conf);
        let model = |key: &str| key.rsplitn(3, '.').nth(2).filter(|model| *model != "*").map(str::to_owned);
        let mut models: Vec<String> = table.entries().filter_map(|(key, _)| model(key)).collect();
        models.sort();
        models.dedup();
        models
    }
}

/// The numbers of a round's name, `v6.1`.
fn numbers(name: &str) -> Option<(u32, u32)> {
    let (major, minor) = name.strip_prefix('v')?.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::TEST05_SEEDS;

    #[test]
    fn the_built_in_files_are_read_without_faults() {
        for (rules, lines) in RULES.iter().zip([83, 119, 148, 148]) {
            let table = Table::parse(rules.conf);
            assert!(table.faults().is_empty() && table.remarks().is_empty(), "{}", rules.round.name);
            assert_eq!(table.entries().count(), lines, "{}", rules.round.name);
            let mut settings = TestSettings::default();
            let applied = keys::apply(&table, Owner::Official, "resnet50", "Server", &mut settings);
            let unread: Vec<&str> = applied.remarks.iter().map(|remark| remark.text.as_str()).collect();
            assert_eq!(unread.len(), 2, "target_duration and Offline's percentile: {unread:?}");
        }
    }

    #[test]
    fn seeds_in_the_files_are_those_of_their_rounds() {
        for rules in &RULES {
            let mut settings = TestSettings::default();
            keys::apply(&Table::parse(rules.conf), Owner::Official, "*", "Server", &mut settings);
            let seeds = rules.round.seeds;
            assert_eq!((settings.qsl_rng_seed, settings.schedule_rng_seed), (seeds.qsl, seeds.schedule));
            assert_eq!(settings.sample_index_rng_seed, seeds.sample_index);
            assert_eq!(settings.test05_qsl_rng_seed, TEST05_SEEDS.qsl);
        }
    }

    #[test]
    fn rounds_have_settings_of_their_own() {
        let [old, newest] = ["v5.0", "v6.1"].map(|name| Rules::find(name).unwrap());
        let mut settings = TestSettings::default();
        old.apply("resnet50", "Server", &mut settings);
        assert_eq!(settings.qsl_rng_seed, 6_023_615_788_873_153_749);
        assert_eq!(settings.server_target_latency_ns, 15_000_000);
        assert!(!old.knows("deepseek-r1") && newest.knows("deepseek-r1"));
        assert!(Rules::find("6.1").is_none());
    }

    #[test]
    fn the_newest_round_is_meant_by_one_above_it() {
        for typed in ["v7.0", "10.1", "6.2"] {
            let error = Rules::named(typed).unwrap_err();
            assert_eq!(error.hint, " (did you mean v6.1?)", "{typed}");
        }
        assert_eq!(Rules::named("5.1").unwrap().round.name, "v5.1");
        assert!(Rules::named("v5.2").unwrap_err().hint.contains("v5."));
    }

    #[test]
    fn v0_5_is_found_by_its_name_and_typed_where_all_rounds_may_be() {
        assert!(Rules::find("v0.5").is_some_and(Rules::is_v0_5));
        assert!(Rules::named_of_all("0.5").is_ok_and(Rules::is_v0_5));
        assert!(Rules::named_of_all("v6.1").is_ok_and(|rules| !rules.is_v0_5()));
        assert!(Rules::named("v0.5").is_err(), "it is no round of the Network division");
        assert!(V0_5.knows("gnmt") && !V0_5.knows("bert"));
    }

    #[test]
    fn models_are_found_in_the_data() {
        let rules = Rules::newest();
        assert!(["resnet50", "bert", "wan-2.2-t2v-a14b", "dlrm-v3"].iter().all(|model| rules.knows(model)));
        assert!(!rules.knows("*") && !rules.knows("digits"));
    }
}
