//! A run that a submission needs: what it is, where its folder is, and the command that makes it.

use std::fmt;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result};

use super::checked::{Engine, Submission};
use super::entry::{DURATION, Entry};
use super::kind::Kind;
use loadgen::settings::Scenario;
use lon_run::audit::{AuditTest, config};
use lon_run::division::Division;

/// The submitter's settings, beside the run folders of a scenario.
const USER_CONF: &str = "user.conf";

/// Flags that the programs with the official LoadGen have themselves; others are options of the network library.
const OFFICIAL_FLAGS: [&str; 7] = ["sut", "benchmark", "scenario", "mode", "out", "user-conf", "audit-conf"];

/// A value of a flag is found in an error by so many letters; shorter ones are everywhere.
const NAMED: usize = 4;

/// One run of a submission.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step<'a> {
    pub(crate) submission: &'a Submission,
    pub(crate) entry: &'a Entry,
    pub(crate) scenario: Scenario,
    pub(crate) kind: Kind,
}

/// A file that a run reads, and that is made of the submission's file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Input {
    /// Where it is read.
    pub(crate) path: PathBuf,
    /// Its name in the run folder.
    pub(crate) name: &'static str,
    pub(crate) text: String,
}

impl Submission {
    /// All runs, in the order in which they are made: what a run needs comes before it.
    pub(crate) fn steps(&self) -> Vec<Step<'_>> {
        let mut steps = Vec::new();
        for entry in &self.entries {
            for (scenario, _) in &entry.scenarios {
                let kinds = Kind::of_result().into_iter();
                let kinds = kinds.chain(entry.tests.iter().copied().map(Kind::Compliance));
                steps.extend(kinds.map(|kind| Step { submission: self, entry, scenario: *scenario, kind }));
            }
        }
        steps
    }
}

impl fmt::Display for Step<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.entry.folder, self.scenario.name(), self.kind.name())
    }
}

impl<'a> Step<'a> {
    /// The folder with all runs of this benchmark and scenario.
    fn above(&self) -> PathBuf {
        self.submission.runs.join(&self.entry.folder).join(self.scenario.name())
    }

    /// The run folder.
    pub(crate) fn folder(&self) -> PathBuf {
        self.above().join(self.kind.name())
    }

    /// The folder in which the command `audit` leaves a folder for each test.
    pub(crate) fn audits(&self) -> PathBuf {
        self.above().join("audits")
    }

    /// Another run of the same benchmark and scenario.
    pub(crate) fn sibling(&self, kind: Kind) -> Step<'a> {
        Step { kind, ..*self }
    }

    /// The runs of which this one needs the results.
    pub(crate) fn parents(&self) -> Vec<Step<'a>> {
        match self.kind {
            Kind::Accuracy => Vec::new(),
            Kind::Performance => vec![self.sibling(Kind::Accuracy)],
            Kind::Compliance(_) => vec![self.sibling(Kind::Accuracy), self.sibling(Kind::Performance)],
        }
    }

    /// The files that the run reads, as they have to be.
    pub(crate) fn inputs(&self) -> Vec<Input> {
        let text = self.entry.scenarios.iter().find(|(scenario, _)| *scenario == self.scenario);
        let text = text.map(|(_, text)| text.clone()).unwrap_or_default();
        let mut inputs = vec![Input { path: self.above().join(USER_CONF), name: USER_CONF, text }];
        if let Kind::Compliance(test) = self.kind {
            let path = self.above().join(format!("{}.config", test.name()));
            inputs.push(Input { path, name: "audit.config", text: config(test, Some(self.entry.benchmark.name)) });
        }
        inputs
    }

    /// Writes the files that the run reads.
    ///
    /// # Errors
    /// One cannot be written.
    pub(crate) fn write_inputs(&self) -> Result<()> {
        for Input { path, text, .. } in self.inputs() {
            fs::create_dir_all(self.above())
                .and_then(|()| fs::write(&path, text))
                .with_context(|| format!("cannot write {}", path.display()))?;
        }
        Ok(())
    }

    /// The words that make the run, that of the program left out where it is this one.
    pub(crate) fn command_line(&self) -> Vec<String> {
        match &self.submission.engine {
            Engine::Own => self.command(true),
            Engine::Official(program) => {
                let flags = self.command(false).into_iter().skip(1).flat_map(|flag| official(&flag));
                program.iter().cloned().chain(flags).collect()
            }
        }
    }

    /// The words behind this program's name that make the run. `with_parents` leaves out what other runs have to make
    /// first, for a look beforehand.
    pub(crate) fn command(&self, with_parents: bool) -> Vec<String> {
        let Submission { rules, division, rehearsal, .. } = self.submission;
        let mut arguments: Vec<String> = vec!["run".to_owned()];
        let mut flag = |name: &str, value: String| arguments.push(format!("--{name}={value}"));
        flag("benchmark", self.entry.benchmark.name.to_owned());
        flag("scenario", self.scenario.name().to_owned());
        flag("mode", if self.kind == Kind::Accuracy { "AccuracyOnly" } else { "PerformanceOnly" }.to_owned());
        flag("rules", rules.round.name.to_owned());
        // Runs of compliance tests have settings that no result may have, and are none.
        let is_result = !matches!(self.kind, Kind::Compliance(_)) && rehearsal.is_none();
        flag("division", if is_result { division.of_runs() } else { Division::None }.name().to_owned());
        for input in self.inputs() {
            let name = if input.name == USER_CONF { "user-conf" } else { "audit-conf" };
            flag(name, input.path.display().to_string());
        }
        if with_parents && self.kind == Kind::Performance {
            flag("accuracy-run", self.sibling(Kind::Accuracy).folder().display().to_string());
        }
        flag("out", self.folder().display().to_string());
        arguments.extend(self.submission.flags.iter().chain(self.entry.flags(self.kind)).cloned());
        arguments
    }

    /// A message of this run with places of the submission's file: lines of the `user.conf` that is made of it become
    /// lines of the file, and a message that names none begins with the key whose flag or value it names.
    pub(crate) fn placed(&self, message: &str) -> String {
        let message = message.strip_prefix(&format!("{self}: ")).unwrap_or(message);
        match self.with_lines(message) {
            text if text == message => format!("{}: {text}", self.place_of(message)),
            text => text,
        }
    }

    /// A message in which lines of `user.conf` are those of the submission's file.
    pub(crate) fn with_lines(&self, message: &str) -> String {
        let Step { submission, entry, scenario, .. } = self;
        let of_user_conf = |input: &Input| input.name == USER_CONF;
        let Some(Input { path, text, .. }) = self.inputs().into_iter().find(of_user_conf) else {
            return message.to_owned();
        };
        let prefix = format!("{}.{}.", entry.benchmark.name, scenario.name());
        let mut replacement = message.to_owned();
        // From the end, since line 1 is the beginning of line 10.
        for (number, line) in (1..).zip(text.lines()).collect::<Vec<_>>().into_iter().rev() {
            let Some((key, _)) = line.strip_prefix(&prefix).and_then(|line| line.split_once(" = ")) else { continue };
            let keys = match submission.rehearsal {
                Some(_) if key == DURATION => vec!["rehearsal"],
                _ => entry.keys(&["settings", scenario.name(), key]),
            };
            replacement = replacement.replace(&format!("{}:{number}", path.display()), &submission.places.at(&keys));
        }
        replacement
    }

    /// Where the submission's file has what an error of this run is about: the key whose flag or value the error names,
    /// or else the settings of the scenario.
    fn place_of(&self, error: &str) -> String {
        let Step { submission, entry, .. } = self;
        let is_named = |flag: &&String| {
            let (key, value) = flag.split_once('=').unwrap_or((flag, ""));
            error.contains(key) || (value.len() >= NAMED && error.contains(value))
        };
        fn key(flag: &str) -> &str {
            flag.trim_start_matches("--").split('=').next().unwrap_or_default()
        }
        let places = &submission.places;
        match (entry.flags(self.kind).iter().find(is_named), submission.flags.iter().find(is_named)) {
            (Some(flag), _) => {
                let of_kind = entry.keys(&["run-for", self.kind.name(), key(flag)]);
                places.at(&if places.has(&of_kind) { of_kind } else { entry.keys(&["run", key(flag)]) })
            }
            (None, Some(flag)) => places.at(&["run", key(flag)]),
            (None, None) => places.at(&entry.keys(&["settings", self.scenario.name()])),
        }
    }

    /// The words that judge a compliance test; none for other runs.
    pub(crate) fn audit_command(&self) -> Option<Vec<String>> {
        let Kind::Compliance(test) = self.kind else { return None };
        let mut arguments = vec!["audit".to_owned(), test.name().to_owned()];
        let folder = |kind: Kind| self.sibling(kind).folder().display().to_string();
        arguments.push(format!("--test={}", self.folder().display()));
        if test.has_reference() {
            arguments.push(format!("--reference={}", folder(Kind::Performance)));
        }
        if matches!(test, AuditTest::Test01 | AuditTest::Test08) {
            arguments.push(format!("--accuracy-run={}", folder(Kind::Accuracy)));
        }
        if let (AuditTest::Test01 | AuditTest::Test06 | AuditTest::Test09, Some(label)) = (test, self.answers()) {
            arguments.push(format!("--dtype={}", label.name()));
        }
        match test {
            AuditTest::Test07 | AuditTest::Test09 => {
                arguments.push(format!("--benchmark={}", self.entry.benchmark.name));
            }
            // A high target asks for closer scores, and is in this name alone.
            AuditTest::Test01 => {
                arguments.push(format!("--benchmark={}", self.entry.official.checker));
                arguments.extend(self.entry.nondeterministic.then(|| "--nondeterministic".to_owned()));
            }
            _ => {}
        }
        if let (AuditTest::Test01 | AuditTest::Test07, Some(command)) = (test, &self.entry.scorer) {
            arguments.push(format!("--scorer={command}"));
        }
        arguments.push(format!("--out={}", self.audits().display()));
        Some(arguments)
    }
}

/// A flag of `run`, as the programs with the official LoadGen take it.
fn official(flag: &str) -> [String; 2] {
    let bare = flag.trim_start_matches("--");
    match bare.split_once('=') {
        Some((key, value)) if OFFICIAL_FLAGS.contains(&key) => [format!("--{key}"), value.to_owned()],
        _ => ["--option".to_owned(), bare.to_owned()],
    }
}

#[cfg(test)]
mod tests {
    use super::official;

    #[test]
    fn flags_of_the_network_library_are_options() {
        assert_eq!(official("--sut=a:1,b:2"), ["--sut", "a:1,b:2"]);
        assert_eq!(official("--rules=v6.1"), ["--option", "rules=v6.1"]);
        assert_eq!(official("--insecure"), ["--option", "insecure"]);
    }
}
