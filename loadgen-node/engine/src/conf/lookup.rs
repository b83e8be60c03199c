//! Which line of a file a setting takes its value from.

use super::parse::{Entry, Table};

/// Placeholder for every model or every scenario.
pub(crate) const ANY: &str = "*";

impl Table {
    /// The value of the most specific line for a key, and the number of that line.
    pub(crate) fn value(&self, model: &str, scenario: &str, key: &str) -> Option<(&str, usize)> {
        self.find(model, scenario, key).map(|entry| (entry.value.as_str(), entry.line))
    }

    /// All keys, each with the number of its line.
    pub(crate) fn keys(&self) -> impl Iterator<Item = (&str, usize)> {
        self.entries().map(|(key, entry)| (key, entry.line))
    }

    /// The most specific line for a key. A scenario counts for more than a model: `*.Server.x` beats `bert.*.x`.
    pub(super) fn find(&self, model: &str, scenario: &str, key: &str) -> Option<&Entry> {
        let order = [(model, scenario), (ANY, scenario), (model, ANY), (ANY, ANY)];
        // As whole text: names of models may contain dots.
        order.into_iter().find_map(|(model, scenario)| self.get(&format!("{model}.{scenario}.{key}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scenario_before_model_before_everything() {
        let lines = ["bert.Server.x = 1", "*.Server.x = 2", "bert.*.x = 3", "*.*.x = 4"];
        for from in 0..lines.len() {
            let table = Table::parse(&lines[from..].join("\n"));
            let value = table.find("bert", "Server", "x").unwrap().value.clone();
            assert_eq!(value, (from + 1).to_string());
        }
        let table = Table::parse(&lines.join("\n"));
        let value = |model, scenario| table.find(model, scenario, "x").unwrap().value.as_str();
        assert_eq!(value("resnet50", "Server"), "2");
        assert_eq!(value("bert", "Offline"), "3");
        assert_eq!(value("resnet50", "Offline"), "4");
    }

    #[test]
    fn models_may_have_dots() {
        let table = Table::parse("wan-2.2-t2v-a14b.*.x = 248");
        assert_eq!(table.find("wan-2.2-t2v-a14b", "Offline", "x").unwrap().value, "248");
    }
}
