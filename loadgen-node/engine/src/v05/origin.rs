//! Settings of the round, each with where it comes from. Later layers replace what earlier ones set, in the order of
//! later rounds: the round, the benchmark, mlperf.conf, user.conf, flags, audit.config.

use std::collections::BTreeMap;

use super::scenario::Scenario;
use super::settings::Settings;
use super::{assign, conf, later_records};
use crate::conf::ANY;
use crate::conf::keys::Owner;
use crate::conf::origin::{self, File, FileError, Origin, Strictness};
use crate::conf::rules::V0_5;
use crate::settings::{Assignment, AssignmentError, Mode};

/// Settings with their origins.
#[derive(Clone, Debug)]
pub struct Sourced {
    model: String,
    settings: Settings,
    /// The origin of each field; a field that is not here has LoadGen's default.
    origins: BTreeMap<&'static str, Origin>,
    warnings: Vec<String>,
}

impl Sourced {
    /// The defaults of the round's LoadGen. `model` is the benchmark's name in config files.
    pub fn new(model: &str, scenario: Scenario) -> Sourced {
        let settings = Settings { scenario, ..Settings::default() };
        let origins = BTreeMap::from([("scenario", Origin::Flag("--scenario".to_owned()))]);
        Sourced { model: model.to_owned(), settings, origins, warnings: Vec::new() }
    }

    /// The settings as they are now.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The settings, field by field.
    pub fn fields(&self) -> serde_json::Map<String, serde_json::Value> {
        assign::fields(&self.settings)
    }

    /// Where a field of the settings comes from.
    pub fn origin(&self, field: &str) -> &Origin {
        self.origins.get(field).unwrap_or(&Origin::Default)
    }

    /// The settings of the round's mlperf.conf.
    pub fn apply_round(&mut self) {
        // The file is part of the program, and a test reads it.
        if let Ok(applied) = conf::apply(V0_5.text(), &self.model, self.scenario(), &mut self.settings) {
            self.note(applied.fields.into_iter().map(|(field, _)| field), &Origin::Round(V0_5.round.name));
        }
    }

    /// Applies a config file. Its reader knows no owners: every file may set everything.
    ///
    /// # Errors
    /// A line makes the reader reject the file, or the file is read strictly and a line gives reason for a remark.
    pub fn apply_file(&mut self, file: File<'_>, strictness: Strictness) -> Result<(), FileError> {
        let model = if file.owner == Owner::Audit { ANY.to_owned() } else { self.model.clone() };
        let name = file.name.to_owned();
        let applied = conf::apply(file.text, &model, self.scenario(), &mut self.settings)
            .map_err(|error| FileError::Faults { file: name.clone(), faults: vec![error.fault] })?;
        if strictness == Strictness::Refuse && !applied.remarks.is_empty() {
            return Err(FileError::Refused { file: name, remarks: applied.remarks });
        }
        for (field, line) in applied.fields {
            self.note([field], &Origin::Line { file: name.clone(), line });
        }
        self.warnings.extend(applied.remarks.iter().map(|remark| format!("{name}:{}: {}", remark.line, remark.text)));
        self.warnings.extend(applied.errors.into_iter().map(|error| format!("{name}: {error}")));
        Ok(())
    }

    /// Applies one assignment.
    ///
    /// # Errors
    /// The scenario has no such key in this round, or the value does not fit it.
    pub fn assign(&mut self, assignment: &Assignment, origin: &Origin) -> Result<(), AssignmentError> {
        let field = assign::assign(&mut self.settings, assignment)?;
        self.note(field, origin);
        Ok(())
    }

    /// Sets the mode that a flag gave.
    pub fn set_mode(&mut self, mode: Mode) {
        self.settings.mode = mode;
        self.note(["mode"], &Origin::Flag("--mode".to_owned()));
    }

    /// The same by the names of later rounds, for all who show settings.
    pub fn later_record(&self) -> origin::Sourced {
        let mut origins = self.origins.clone();
        if let Some(rate) = origins.get("multi_stream_target_qps").cloned() {
            origins.insert("multi_stream_expected_latency_ns", rate);
        }
        origin::Sourced::of(&self.model, later_records::settings(&self.settings), origins, self.warnings.clone())
    }

    fn scenario(&self) -> &'static str {
        self.settings.scenario.shape().name
    }

    fn note(&mut self, fields: impl IntoIterator<Item = &'static str>, origin: &Origin) {
        self.origins.extend(fields.into_iter().map(|field| (field, origin.clone())));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(owner: Owner, text: &str) -> File<'_> {
        File { name: "some.conf", owner, text }
    }

    #[test]
    fn the_round_has_the_settings_of_its_tasks() {
        let of = |model: &str, scenario| {
            let mut sourced = Sourced::new(model, scenario);
            sourced.apply_round();
            sourced
        };
        let resnet50 = of("resnet50", Scenario::Server);
        let settings = resnet50.settings();
        assert_eq!((settings.server_target_latency_ns, settings.min_query_count), (15_000_000, 270_336));
        assert_eq!((settings.qsl_rng_seed, settings.min_duration_ms), (V0_5.round.seeds.qsl, 60_000));
        assert_eq!(settings.sample_index_rng_seed, V0_5.round.seeds.sample_index);
        assert_eq!(settings.schedule_rng_seed, V0_5.round.seeds.schedule);
        assert_eq!(settings.performance_sample_count_override, 1_024);
        assert_eq!(*resnet50.origin("min_query_count"), Origin::Round("v0.5"));
        assert_eq!(*resnet50.origin("max_query_count"), Origin::Default);
        let gnmt = of("gnmt", Scenario::MultiStream);
        assert_eq!((gnmt.settings().multi_stream_target_qps, gnmt.settings().min_query_count), (10.0, 90_112));
        let own = of("digits", Scenario::SingleStream);
        assert_eq!(
            (own.settings().single_stream_expected_latency_ns, own.settings().min_query_count),
            (10_000_000, 1_024)
        );
    }

    #[test]
    fn later_layers_win_and_every_file_may_set_seeds() {
        let mut sourced = Sourced::new("resnet50", Scenario::Server);
        sourced.apply_round();
        sourced
            .apply_file(file(Owner::User, "*.*.qsl_rng_seed = 7\n*.Server.target_qps = 5"), Strictness::Refuse)
            .unwrap();
        assert_eq!((sourced.settings().qsl_rng_seed, sourced.settings().server_target_qps), (7, 5.0));
        assert_eq!(sourced.origin("server_target_qps").to_string(), "some.conf:2");
        let flag = Origin::Flag("--set target_qps=9".to_owned());
        sourced.assign(&"target_qps=9".parse().unwrap(), &flag).unwrap();
        assert_eq!((sourced.settings().server_target_qps, sourced.origin("server_target_qps")), (9.0, &flag));
        sourced.apply_file(file(Owner::Audit, "*.*.mode = 1"), Strictness::Warn).unwrap();
        assert_eq!(sourced.settings().mode, Mode::AccuracyOnly);
    }

    #[test]
    fn a_file_with_a_fault_changes_nothing_and_a_strict_one_has_only_known_keys() {
        let mut sourced = Sourced::new("m", Scenario::Server);
        let error = sourced.apply_file(file(Owner::User, "*.*.max_duration = 1\nx y"), Strictness::Warn).unwrap_err();
        assert!(error.to_string().starts_with("some.conf:2: "), "{error}");
        let text = "*.Server.ttft_latency = 1";
        let error = sourced.apply_file(file(Owner::User, text), Strictness::Refuse).unwrap_err();
        assert!(error.to_string().contains("*.Server.ttft_latency is never read"), "{error}");
        sourced.apply_file(file(Owner::User, text), Strictness::Warn).unwrap();
        assert_eq!(sourced.later_record().warnings().len(), 1);
        assert_eq!(sourced.settings(), &Settings { scenario: Scenario::Server, ..Settings::default() });
    }
}
