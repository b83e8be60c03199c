//! Lines of a submission's file: messages name the line and the key that a person can change.

use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The file's name, and the line of each key in it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Places {
    file: String,
    /// Keys from the top down, each with its line. Tables of a list have their number among the keys.
    lines: Vec<(Vec<String>, usize)>,
}

impl Places {
    /// The places of all keys in `text`; none where it is no TOML.
    pub(super) fn of(file: &Path, text: &str) -> Places {
        let mut places = Places { file: file.display().to_string(), lines: Vec::new() };
        if let Ok(table) = DeTable::parse(text) {
            places.add_table(text, &[], table.get_ref());
        }
        places
    }

    /// A key by its file, line and name: `submission.toml:41, benchmark.run.dataset`. A key that the file does not have
    /// is at the table that would have it.
    pub(crate) fn at(&self, keys: &[&str]) -> String {
        let is_start = |own_keys: &[String]| {
            own_keys.len() <= keys.len() && own_keys.iter().zip(keys).all(|(own, key)| own == key)
        };
        let nearest =
            self.lines.iter().filter(|(own_keys, _)| is_start(own_keys)).max_by_key(|(own_keys, _)| own_keys.len());
        let line = nearest.map(|(_, line)| format!(":{line}")).unwrap_or_default();
        let is_number = |key: &&str| key.bytes().all(|byte| byte.is_ascii_digit());
        let names: Vec<&str> = keys.iter().copied().filter(|key| !is_number(key)).collect();
        format!("{}{line}, {}", self.file, names.join("."))
    }

    /// Returns true when the file has the key.
    pub(super) fn has(&self, keys: &[&str]) -> bool {
        self.lines.iter().any(|(own_keys, _)| own_keys == keys)
    }

    fn add_table(&mut self, text: &str, above: &[String], table: &DeTable<'_>) {
        for (key, value) in table {
            let keys = [above, &[key.get_ref().to_string()]].concat();
            self.lines.push((keys.clone(), line_of(text, key.span().start)));
            self.add_value(text, &keys, value);
        }
    }

    fn add_value(&mut self, text: &str, keys: &[String], value: &Spanned<DeValue<'_>>) {
        match value.get_ref() {
            DeValue::Table(table) => self.add_table(text, keys, table),
            DeValue::Array(values) => {
                for (number, value) in values.iter().enumerate() {
                    let keys = [keys, &[number.to_string()]].concat();
                    self.lines.push((keys.clone(), line_of(text, value.span().start)));
                    self.add_value(text, &keys, value);
                }
            }
            _ => {}
        }
    }
}

/// The number of the line with a byte of the text.
fn line_of(text: &str, byte: usize) -> usize {
    text.bytes().take(byte).filter(|byte| *byte == b'\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_lines() {
        let text = "system = \"two\"\n[run]\nsut = \"a\"\n[[benchmark]]\nname = \"a\"\n[[benchmark]]\nname = \"b\"\n\
                    run = { dataset = \"d\" }\nsettings.Server = { target_qps = 1 }\n[benchmark.model]\n\
                    retraining = \"no\"\n";
        let places = Places::of(Path::new("s.toml"), text);
        for (keys, place) in [
            (&["system"][..], "s.toml:1, system"),
            (&["run", "sut"], "s.toml:3, run.sut"),
            (&["run", "transport"], "s.toml:2, run.transport"),
            (&["benchmark", "0", "name"], "s.toml:5, benchmark.name"),
            (&["benchmark", "1", "run", "dataset"], "s.toml:8, benchmark.run.dataset"),
            (&["benchmark", "1", "settings", "Server", "target_qps"], "s.toml:9, benchmark.settings.Server.target_qps"),
            (&["benchmark", "1", "model", "retraining"], "s.toml:11, benchmark.model.retraining"),
            (&["rehearsal"], "s.toml, rehearsal"),
        ] {
            assert_eq!(places.at(keys), place);
        }
        assert!(places.has(&["run", "sut"]) && !places.has(&["run", "transport"]));
        assert_eq!(Places::of(Path::new("s.toml"), "no toml").at(&["run"]), "s.toml, run");
    }
}
