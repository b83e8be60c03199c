//! A submission, checked: names are looked up, words are such as folders can have, and everything that a person has to
//! say is there.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use loadgen::conf::rules::Rules;
use lon_proto::files;
use lon_qsl::benchmark::Suite;
use lon_shell::duration::parse_duration;

use super::blanks::{CODE, ORGANISATION, Placeholder, SYSTEM, WEIGHTS};
use super::division::SubmissionDivision;
use super::entry::Entry;
use super::faults::Faults;
use super::file::{SubmissionFile, Texts};
use super::places::Places;
use super::suites::unlike_suites;
use super::{blanks, flags};
use lon_run::test_run::system_facts::is_official;

/// Keys that the top of the file gives, or the division.
const FROM_THE_TOP: [&str; 3] = ["division", "submitter", "is_network"];
/// The word of `system_type` for the edge suite.
const EDGE: &str = "edge";

/// The engine that leads the runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Engine {
    /// The engine of this program.
    Own,
    /// The official LoadGen over our network library, in the program that these words start.
    Official(Vec<String>),
}

/// A submission whose values are checked.
#[derive(Clone, Debug)]
pub(crate) struct Submission {
    pub(crate) submitter: String,
    pub(crate) division: SubmissionDivision,
    /// The round, with its rules.
    pub(crate) rules: &'static Rules,
    pub(crate) system: String,
    pub(crate) engine: Engine,
    /// The duration of performance runs in a rehearsal. `None` when it is no rehearsal.
    pub(crate) rehearsal: Option<Duration>,
    /// The folder with the run folders, from that of the file.
    pub(crate) runs: PathBuf,
    /// Flags of every run, each as it is typed.
    pub(crate) flags: Vec<String>,
    /// Official keys of the system description that a person has given.
    pub(crate) description: BTreeMap<String, String>,
    pub(crate) texts: Texts,
    pub(crate) entries: Vec<Entry>,
    /// Lines of the file that have still to be filled in, each with what belongs there.
    pub(crate) fill_in: Vec<String>,
    /// Values that `submission init` wrote and that can be right for nobody, each with its place and the remedy.
    placeholders: Vec<String>,
    /// The lines of the file's keys.
    pub(crate) places: Places,
}

impl Submission {
    /// Reads and checks a file.
    ///
    /// # Errors
    /// It cannot be read, is no TOML, has a key that is not known, or says something that cannot be submitted; the
    /// text names the line, the key and what to write instead.
    pub(crate) fn read(path: &Path) -> Result<Submission> {
        let text = files::user_text(path).with_context(|| {
            format!("cannot read {}: `loadgen-node submission init FILE` writes one to fill in", path.display())
        })?;
        if let Some(name) = flags::from_environment() {
            bail!("{name} is set in the environment, and would change every run: unset it");
        }
        Submission::of_text(path, &text)
    }

    fn of_text(path: &Path, text: &str) -> Result<Submission> {
        let path_text = || path.display().to_string();
        let file: SubmissionFile = toml::from_str(text).with_context(path_text)?;
        let mut faults = Faults::default();
        let submission = Submission::of(file, Places::of(path, text), &mut faults);
        let fill_in = blanks::open_lines(&path_text(), text);
        faults.end(path, &fill_in)?;
        Ok(Submission { fill_in, ..submission.with_context(path_text)? })
    }

    /// The submission; none where `faults` has one more.
    fn of(file: SubmissionFile, places: Places, faults: &mut Faults) -> Option<Submission> {
        let at = |keys: &[&str]| places.at(keys);
        let division = faults.keep(division(&file.division).with_context(|| at(&["division"])));
        let rules = faults.keep(Rules::named(&file.round).with_context(|| at(&["round"])));
        for (key, word) in [("submitter", &file.submitter), ("system", &file.system)] {
            faults.keep(folder_name(word).with_context(|| at(&[key])));
        }
        let length = |text: &str| {
            parse_duration(text)
                .ok()
                .filter(|length| !length.is_zero())
                .ok_or_else(|| anyhow!("\"{text}\": write a number and a unit, for example 10s"))
        };
        let rehearsal = file.rehearsal.as_deref().map(length).transpose().with_context(|| at(&["rehearsal"]));
        let rehearsal = faults.keep(rehearsal).flatten();
        let engine = engine(file.engine.as_deref(), file.official).with_context(|| at(&[engine_key(&places)]));
        let engine = faults.keep(engine);
        let usual = if rehearsal.is_some() { "rehearsal" } else { "runs" };
        let runs = file.runs.unwrap_or_else(|| usual.into());
        for (key, text) in [("code", &file.texts.code), ("calibration", &file.texts.calibration)] {
            faults.unless(!text.trim().is_empty(), || {
                format!("{} is empty: a submission must say it", at(&["texts", key]))
            });
        }
        for key in file.system_description.keys() {
            faults.keep(check_key(key).with_context(|| at(&["system-description", key])));
        }
        let flags = faults.keep(flags::flags(&file.run, |key| at(&["run", key])));
        faults.unless(!file.benchmark.is_empty(), || "there is no [[benchmark]]".to_owned());
        // The division and the round say what a benchmark must have.
        let (division, rules) = (division?, rules?);
        let mut entries: Vec<Entry> = Vec::new();
        for (number, table) in file.benchmark.into_iter().enumerate() {
            let Some(entry) = Entry::of(table, (number, &places), division, rules, rehearsal, faults) else { continue };
            let is_twice = entries.iter().any(|other| other.folder == entry.folder);
            faults.unless(!is_twice, || format!("{}: {} is there twice", at(&entry.keys(&["name"])), entry.folder));
            entries.push(entry);
        }
        let is_edge = file.system_description.get("system_type").is_some_and(|kind| kind.contains(EDGE));
        for entry in entries.iter().filter(|entry| !entry.inferred.is_empty()) {
            let place = at(&entry.keys(&["inferred"]));
            faults.unless(is_edge, || {
                format!("{place}: results are inferred in the edge suite alone: system_type = \"{EDGE}\"")
            });
        }
        let submission = Submission {
            submitter: file.submitter,
            division,
            rules,
            system: file.system,
            engine: engine?,
            rehearsal,
            runs,
            flags: flags?,
            description: file.system_description,
            texts: file.texts,
            entries,
            fill_in: Vec::new(),
            placeholders: Vec::new(),
            places,
        };
        Some(Submission { placeholders: submission.placeholders(), ..submission })
    }

    /// Values that `submission init` wrote and that can be right for nobody. A rehearsal needs the names alone.
    fn placeholders(&self) -> Vec<String> {
        let of_entry = |entry: &Entry| {
            let key = "starting_weights_filename";
            let keys = entry.keys(&["model", key]).into_iter().map(str::to_owned).collect();
            (keys, entry.model.starting_weights_filename.clone(), WEIGHTS)
        };
        let keys = |keys: &[&str]| keys.iter().map(|key| (*key).to_owned()).collect::<Vec<_>>();
        let mut all = vec![
            (keys(&["submitter"]), self.submitter.clone(), ORGANISATION),
            (keys(&["system"]), self.system.clone(), SYSTEM),
        ];
        if self.rehearsal.is_none() {
            all.push((keys(&["texts", "code"]), self.texts.code.clone(), CODE));
            all.extend(self.entries.iter().map(of_entry));
        }
        let is_left = |(_, value, placeholder): &(Vec<String>, String, Placeholder)| value == placeholder.value;
        let fault = |(keys, value, placeholder): (Vec<String>, String, Placeholder)| {
            let place = self.places.at(&keys.iter().map(String::as_str).collect::<Vec<_>>());
            format!("{place}: \"{value}\" is a placeholder: write {}", placeholder.remedy)
        };
        all.into_iter().filter(is_left).map(fault).collect()
    }

    /// # Errors
    /// Placeholders of `submission init` are left: all of them are named.
    pub(crate) fn refuse_placeholders(&self) -> Result<()> {
        ensure!(self.placeholders.is_empty(), "placeholders are left in the file:\n{}", self.placeholders.join("\n"));
        Ok(())
    }

    /// The scenarios that the round asks for and the file lacks, and those that the round does not have: each with its
    /// place. The open division is free to choose.
    pub(crate) fn wrong_scenarios(&self) -> Vec<String> {
        if self.division != SubmissionDivision::Network {
            return Vec::new();
        }
        let of_entry = |entry: &Entry| {
            let scenarios: Vec<&str> = entry.scenarios.iter().map(|(scenario, _)| scenario.name()).collect();
            let (place, name) = (self.places.at(&entry.keys(&["settings"])), &entry.folder);
            let wrong = unlike_suites(&[Suite::Datacenter], entry.official, self.rules.round.name, &scenarios);
            wrong.into_iter().map(|what| format!("{place}: {name} {what}")).collect::<Vec<_>>()
        };
        self.entries.iter().flat_map(of_entry).collect()
    }

    /// Why the program with the official LoadGen cannot be started, and where the file names it.
    pub(crate) fn lacks_program(&self) -> Option<String> {
        let Engine::Official(command) = &self.engine else { return None };
        let program = Path::new(command.first()?);
        let is_there = match program.components().count() {
            1 => std::env::split_paths(&std::env::var_os("PATH")?).any(|folder| folder.join(program).is_file()),
            _ => program.is_file(),
        };
        let place = self.places.at(&[engine_key(&self.places)]);
        let message = "the program with the official LoadGen is not there (docs/guide/submissions.md builds it)";
        (!is_there).then(|| format!("{place}: {}: {message}", program.display()))
    }
}

impl Engine {
    /// The engine in words.
    pub(crate) fn label(&self) -> String {
        match self {
            Engine::Own => "loadgen-node".to_owned(),
            Engine::Official(program) => format!("official ({})", program.join(" ")),
        }
    }
}

/// The key that names the program with the official LoadGen, or else the engine.
fn engine_key(places: &Places) -> &'static str {
    if places.has(&["official"]) { "official" } else { "engine" }
}

/// Reads who leads the runs.
fn engine(name: Option<&str>, official: Option<Vec<String>>) -> Result<Engine> {
    match (name.unwrap_or("loadgen-node"), official) {
        ("loadgen-node", None) => Ok(Engine::Own),
        ("loadgen-node", Some(_)) => bail!("official = ... is for engine = \"official\""),
        ("official", None) => Ok(Engine::Official(vec!["lon-official".to_owned()])),
        ("official", Some(command)) if !command.is_empty() => Ok(Engine::Official(command)),
        ("official", Some(_)) => bail!("official = []: write the program, for example [\"lon-official\"]"),
        (other, _) => bail!("engine = \"{other}\": write loadgen-node or official"),
    }
}

/// The division of a submission.
fn division(name: &str) -> Result<SubmissionDivision> {
    match name {
        "network" => Ok(SubmissionDivision::Network),
        "open" => Ok(SubmissionDivision::Open),
        other => bail!("\"{other}\": write network or open"),
    }
}

/// Refuses a key that is not official, or is not for this place.
fn check_key(key: &str) -> Result<()> {
    ensure!(!FROM_THE_TOP.contains(&key), "'{key}' comes from the top of the file: leave it out here");
    ensure!(is_official(key), "'{key}' is not a key of a system description");
    Ok(())
}

/// Refuses what cannot be the name of a folder in a submission.
fn folder_name(word: &str) -> Result<()> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '+');
    let is_name = !word.is_empty() && !word.starts_with('.') && word.chars().all(is_plain);
    ensure!(is_name, "\"{word}\": it is the name of a folder: letters, digits and -_.+, no blanks");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::template;
    use super::*;
    use lon_run::audit::AuditTest;

    /// A whole file, with one text in it replaced.
    fn with(old: &str, new: &str) -> Result<Submission, String> {
        let text = whole();
        assert!(text.contains(old), "{old}");
        checked(&text.replacen(old, new, 1))
    }

    fn checked(text: &str) -> Result<Submission, String> {
        Submission::of_text(Path::new("s.toml"), text).map_err(|error| format!("{error:#}"))
    }

    fn whole() -> &'static str {
        r#"
            submitter = "Acme"
            division = "network"
            round = "v5.0"
            system = "two"
            [run]
            sut = "10.0.0.2:8000"
            insecure = true
            connections = 2
            [texts]
            code = "there"
            calibration = "none"
            [[benchmark]]
            name = "resnet50"
            run = { dataset = "/data" }
            settings.Server = { target_qps = 800 }
            settings.Offline = { target_qps = 1000.5 }
            [benchmark.model]
            input_data_types = "fp32"
            retraining = "no"
            starting_weights_filename = "a.onnx"
            weight_data_types = "fp32"
            weight_transformations = "none"
        "#
    }

    #[test]
    fn a_file_becomes_a_submission() {
        let submission = with("Acme", "Acme").unwrap();
        assert_eq!(submission.flags, ["--connections=2", "--insecure", "--sut=10.0.0.2:8000"]);
        assert_eq!(submission.runs.as_path(), Path::new("runs"));
        let [entry] = &submission.entries[..] else { panic!() };
        assert_eq!((entry.folder.as_str(), &*entry.tests), ("resnet50", &[AuditTest::Test01, AuditTest::Test04][..]));
        let confs: Vec<&str> = entry.scenarios.iter().map(|(_, text)| text.lines().last().unwrap()).collect();
        assert_eq!(confs, ["resnet50.Offline.target_qps = 1000.5", "resnet50.Server.target_qps = 800"]);
        assert!(with("\"network\"", "\"open\"").unwrap().entries[0].tests.is_empty());
        let rehearsal = with("[run]", "rehearsal = \"10s\"\n[run]").unwrap();
        assert!(rehearsal.entries[0].scenarios[0].1.ends_with("resnet50.Offline.min_duration = 10000\n"));
        assert_eq!((rehearsal.rehearsal, rehearsal.runs), (Some(Duration::from_secs(10)), "rehearsal".into()));
    }

    #[test]
    fn results_follow_from_runs_in_the_edge_suite() {
        let edge = "[system-description]\nsystem_type = \"edge\"\n[texts]";
        let table = "settings.SingleStream = {}\ninferred.MultiStream = \"SingleStream\"\n[benchmark.model]";
        let submission_of = |round: &str, edge: &str, table: &str| {
            let text = whole().replace("\"network\"", round).replace("[texts]", edge);
            let text = text.replace("settings.Offline = { target_qps = 1000.5 }", "");
            checked(&text.replace("[benchmark.model]", table))
        };
        let submission = submission_of("\"open\"", edge, table).unwrap();
        let names = submission.entries[0].inferred.iter().map(|(to, from)| (to.name(), from.name()));
        assert_eq!(names.collect::<Vec<_>>(), [("MultiStream", "SingleStream")]);
        let other = |to: &str| table.replace("MultiStream", to);
        for (outcome, part) in [
            (submission_of("\"network\"", edge, table), "no edge suite"),
            (submission_of("\"open\"", "[texts]", table), "in the edge suite alone"),
            (submission_of("\"open\"", edge, &other("Server")), "what may follow is MultiStream from"),
            (
                submission_of("\"open\"", edge, &table.replace("settings.SingleStream = {}", "")),
                "no run of SingleStream",
            ),
            (submission_of("\"open\"", edge, &format!("settings.MultiStream = {{}}\n{table}")), "a run of its own"),
        ] {
            let error = outcome.unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn what_cannot_be_submitted_is_named() {
        for (old, new, part) in [
            ("\"network\"", "\"closed\"", "write network or open"),
            ("\"v5.0\"", "\"v4.1\"", "v4.1"),
            ("\"Acme\"", "\"Acme Inc\"", "no blanks"),
            ("\"two\"", "\".two\"", "name of a folder"),
            ("insecure", "mode", "'mode' is set by"),
            ("\"there\"", "\" \"", "s.toml:11, texts.code is empty"),
            ("resnet50", "bert", "bert-99 or bert-99.9"),
            ("resnet50", "digits", "does not have this benchmark"),
            ("resnet50", "resnet5O", "resnet5O"),
            ("settings.Server", "settings.Sever", "Sever"),
            (
                "target_qps = 800",
                "target_qps = \"800\"",
                "s.toml:16, benchmark.settings.Server.target_qps: it is a number",
            ),
            ("retraining = \"no\"", "retraining = \"\"", "s.toml:20, benchmark.model.retraining is empty"),
            ("retraining", "retrain", "retrain"),
            ("[run]", "rehearsal = \"soon\"\n[run]", "for example 10s"),
            ("[run]", "engine = \"flask\"\n[run]", "loadgen-node or official"),
            ("[run]", "official = [\"lon-official\"]\n[run]", "is for engine"),
            ("[texts]", "[system-description]\ncoolin = \"air\"\n[texts]", "coolin"),
        ] {
            let error = with(old, new).unwrap_err();
            assert!(error.contains(part), "{old} > {new}: {error}");
        }
    }

    /// A reader sees all faults at once, each with its place.
    #[test]
    fn all_faults_are_named_together() {
        let text = whole().replace("\"Acme\"", "\"Acme Inc\"").replace("insecure", "mode");
        let text = text.replace("resnet50", "digits").replace("settings.Server", "settings.Sever");
        let error = checked(&text.replace("\"no\"", "\"\"")).unwrap_err();
        let lines: Vec<&str> = error.lines().collect();
        let places = ["has 5 faults", ":2, submitter", ":8, run.mode", ":14, benchmark.name", ":16, ", ":20, "];
        assert_eq!(lines.len(), places.len(), "{error}");
        assert!(lines.iter().zip(places).all(|(line, place)| line.contains(place)), "{error}");
        let open = whole().replace("round = ", "# FILL IN: the round.\nround = \"\"\n# ").replace("\"two\"", "\"\"");
        assert!(checked(&open).unwrap_err().ends_with("FILL IN s.toml:5, round: the round."), "{open}");
        let both = whole().replace("\"network\"", "\"closed\"").replace("\"v5.0\"", "\"v4.1\"");
        assert_eq!(checked(&both).unwrap_err().lines().count(), 3);
    }

    #[test]
    fn placeholders_are_refused_with_their_lines() {
        let text = whole().replace("\"Acme\"", "\"ORGANISATION\"").replace("\"two\"", "\"SYSTEM\"");
        let text = text.replace("a.onnx", "WEIGHTS");
        let error = checked(&text).unwrap().refuse_placeholders().unwrap_err().to_string();
        let places =
            ["s.toml:2, submitter: \"ORGANISATION\"", "s.toml:5, system: \"SYSTEM\"", "s.toml:21, benchmark.model"];
        assert_eq!(error.lines().count(), 1 + places.len(), "{error}");
        assert!(places.iter().all(|place| error.contains(place)) && error.contains("write the name"), "{error}");
        // A rehearsal has no need of the facts that the judges of a round read.
        let rehearsal = checked(&text.replacen("[run]", "rehearsal = \"10s\"\n[run]", 1)).unwrap();
        assert_eq!(rehearsal.refuse_placeholders().unwrap_err().to_string().lines().count(), 3);
        assert!(checked(whole()).unwrap().refuse_placeholders().is_ok());
    }

    #[test]
    fn scenarios_of_the_round_are_asked_for() {
        let faults = with("settings.Offline = { target_qps = 1000.5 }", "").unwrap().wrong_scenarios();
        assert_eq!(
            faults,
            ["s.toml:16, benchmark.settings: resnet50 lacks scenario Offline, which a submission must have"]
        );
        assert!(checked(whole()).unwrap().wrong_scenarios().is_empty());
        let open = whole().replace("\"network\"", "\"open\"").replace("settings.Offline = { target_qps = 1000.5 }", "");
        assert!(checked(&open).unwrap().wrong_scenarios().is_empty());
    }

    #[test]
    fn kinds_of_runs_may_have_other_datasets() {
        let llm = |more: &str| {
            let text = whole().replace("v5.0", "v6.1").replace("resnet50", "gpt-oss-120b");
            checked(&text.replace("[benchmark.model]", &format!("{more}\n[benchmark.model]")))
        };
        let submission = llm("run-for.TEST07 = { dataset = \"/gpqa\" }\nscorer = \"score.sh\"").unwrap();
        let commands: Vec<String> = submission.steps().iter().map(|step| step.command(true).join(" ")).collect();
        assert_eq!(commands.iter().filter(|command| command.contains("--dataset=/data")).count(), 6, "{commands:?}");
        assert_eq!(commands.iter().filter(|command| command.contains("--dataset=/gpqa")).count(), 2, "{commands:?}");
        let judged = submission.steps().iter().find_map(|step| step.audit_command()).unwrap().join(" ");
        assert!(judged.contains("TEST07") && judged.contains("--benchmark=gpt-oss-120b --scorer=score.sh"), "{judged}");
        assert!(llm("").unwrap_err().contains("scorer = "));
        assert!(llm("run-for.TEST01 = {}\nscorer = \"a\"").unwrap_err().contains("kind of run"));
    }

    #[test]
    fn the_template_is_a_file() {
        assert!(checked(&template::text(None, None, &[])).is_ok());
    }

    #[test]
    fn the_program_of_the_official_loadgen_is_looked_for() {
        let missing = |lines: &str| with("[run]", &format!("{lines}\n[run]")).unwrap().lacks_program();
        assert_eq!(missing(""), None, "this engine needs no other program");
        assert_eq!(missing("engine = \"official\"\nofficial = [\"sh\", \"-c\"]"), None);
        for (lines, place) in [
            ("engine = \"official\"\nofficial = [\"no/lon-official\"]", "s.toml:7, official: no/lon-official: "),
            ("engine = \"official\"\nofficial = [\"lon-official-is-not-here\"]", "s.toml:7, official: "),
        ] {
            let message = missing(lines).unwrap();
            assert!(message.starts_with(place) && message.contains("is not there"), "{message}");
        }
    }
}
