//! Checks that the nodes of a run are one SUT: the same model, run by the same engine, with the same options that may
//! change answers. Pure.
//!
//! How fast a node is may differ: machines, batches and threads are no part of it. Of an engine its name and version
//! count. What stands behind them in the text (the address of a server, the times of a synthetic backend) does not.

use qdl::NodeDescription;

use super::facts::Facts;
use super::identity;
use super::rule::Verdict;

/// Names of nodes that are shown beside a value; the others are counted.
const NAMES: usize = 3;

/// The differences between the nodes of a run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the nodes are not one SUT: {}. Give all of them the same model, engine and options, or run them as they are with \
     --mixed-nodes", .0.join("; ")
)]
pub(crate) struct Mixed(Vec<String>);

impl Mixed {
    /// The mark that every output of a run with such nodes carries.
    pub(crate) fn mark(&self) -> String {
        format!("mixed nodes: not a Network result (the nodes are not one SUT: {})", self.0.join("; "))
    }

    /// Returns the differences, in words.
    fn differences(&self) -> String {
        self.0.join("; ")
    }
}

/// Section 6.2.3: the nodes together are the system under test.
pub(super) fn one_system(facts: &Facts<'_>) -> Verdict {
    let Some(node_facts) = facts.nodes else { return Verdict::unchecked("known when the nodes have been asked") };
    match check(node_facts.nodes) {
        Ok(()) => Verdict::Kept,
        Err(mixed) => Verdict::broken(format!("the nodes are not one SUT: {}", mixed.differences())),
    }
}

/// A fact of a node; `None` when the node does not report it.
type Fact = fn(&NodeDescription) -> Option<String>;

/// Compares the nodes with each other.
///
/// # Errors
/// They differ in something that they have to share; the error names all of it, and which nodes have which value.
pub(crate) fn check(nodes: &[NodeDescription]) -> Result<(), Mixed> {
    let mut differences: Vec<String> = Vec::new();
    let facts: [(&str, Fact); 4] = [
        ("engine", |node| Some(identity::engine(&node.engine).to_owned())),
        ("model", |node| Some(identity::model(&node.model, &node.model_sha256))),
        ("inputs", |node| Some(node.inputs.to_string())),
        ("outputs", |node| Some(node.outputs.to_string())),
    ];
    for (what, of) in facts {
        differences.extend(difference(what, nodes, of));
    }
    for name in names(nodes) {
        differences.extend(difference(name, nodes, |node| setting(node, name)));
    }
    if differences.is_empty() { Ok(()) } else { Err(Mixed(differences)) }
}

/// Names of the settings that may change answers, each once.
fn names(nodes: &[NodeDescription]) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for setting in nodes.iter().flat_map(|node| &node.settings).filter(|setting| setting.shapes_answers) {
        if !names.contains(&setting.name.as_str()) {
            names.push(&setting.name);
        }
    }
    names
}

/// The node's value of a setting; none where it tells no settings at all, so that it cannot be compared.
fn setting(node: &NodeDescription, name: &str) -> Option<String> {
    let value = node.settings.iter().find(|setting| setting.name == name).map(|setting| setting.value.clone());
    (!node.settings.is_empty()).then(|| value.unwrap_or_default())
}

/// A text with every value and the nodes that have it; none when all nodes that tell it have the same.
fn difference(
    what: &str,
    nodes: &[NodeDescription],
    of: impl Fn(&NodeDescription) -> Option<String>,
) -> Option<String> {
    let mut groups: Vec<(String, Vec<&str>)> = Vec::new();
    for (node, value) in nodes.iter().filter_map(|node| Some((node, of(node)?))) {
        match groups.iter_mut().find(|(own, _)| *own == value) {
            Some((_, names)) => names.push(&node.name),
            None => groups.push((value, vec![&node.name])),
        }
    }
    let text = |(value, names): &(String, Vec<&str>)| {
        let value = if value.is_empty() { "nothing" } else { value };
        format!("{value} at {}", some_names(names))
    };
    (groups.len() > 1).then(|| format!("{what}: {}", groups.iter().map(text).collect::<Vec<_>>().join(", ")))
}

fn some_names(names: &[&str]) -> String {
    match names.len().checked_sub(NAMES).filter(|more| *more > 1) {
        Some(more) => format!("{} and {more} more", names[..NAMES].join(", ")),
        None => names.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use qdl::{Host, Setting};

    use super::*;

    fn node(name: &str) -> NodeDescription {
        NodeDescription {
            address: "10.0.0.1:8000".parse().unwrap(),
            name: name.to_owned(),
            software: "sut-node 0.1.0".to_owned(),
            host: Host::default(),
            engine: "tract 0.23.9".to_owned(),
            model: "digits.onnx".to_owned(),
            model_sha256: "aa".to_owned(),
            model_bytes: Some(7),
            inputs: Default::default(),
            outputs: Default::default(),
            ends: None,
            answers_checked: qdl::AnswersChecked::Wholly,
            codecs: Vec::new(),
            settings: vec![Setting::of_speed("workers", 1), Setting::of_answers("postprocess", "argmax")],
            build: None,
            models: Vec::new(),
        }
    }

    fn error_text(nodes: &[NodeDescription]) -> String {
        check(nodes).unwrap_err().to_string()
    }

    #[test]
    fn equal_nodes_are_one_sut_however_fast_each_is() {
        let mut faster = node("b");
        faster.settings[0].value = "64".to_owned();
        faster.host.cpu = "another".to_owned();
        assert_eq!(check(&[node("a"), faster]), Ok(()));
        assert_eq!(check(&[]), Ok(()));
        let synthetic = |name: &str, engine: &str| NodeDescription { engine: engine.to_owned(), ..node(name) };
        assert_eq!(
            check(&[synthetic("a", "synthetic:constant=2ms"), synthetic("b", "synthetic:constant=9ms")]),
            Ok(())
        );
        assert_eq!(check(&[synthetic("a", "openai (http://a:1)"), synthetic("b", "openai (http://b:1)")]), Ok(()));
    }

    #[test]
    fn what_differs_is_named_with_its_nodes() {
        let other_model = NodeDescription { model_sha256: "bb".to_owned(), ..node("b") };
        let text = error_text(&[node("a"), other_model, node("c")]);
        assert!(
            text.contains("model: digits.onnx with SHA-256 aa at a, c, digits.onnx with SHA-256 bb at b"),
            "{text}"
        );
        assert!(text.contains("--mixed-nodes"), "{text}");
        let other_engine = NodeDescription { engine: "onnxruntime 1.31.1".to_owned(), ..node("b") };
        assert!(error_text(&[node("a"), other_engine]).contains("engine: tract 0.23.9 at a, onnxruntime 1.31.1 at b"));
        let mut other_option = node("b");
        other_option.settings[1].value = "none".to_owned();
        let text = error_text(&[node("a"), other_option]);
        assert!(text.contains("postprocess: argmax at a, none at b") && !text.contains("workers"), "{text}");
    }

    #[test]
    fn all_differences_are_told_at_once_and_names_are_few() {
        let mut nodes: Vec<NodeDescription> = (0..128).map(|number| node(&format!("n{number}"))).collect();
        nodes[1].model_sha256 = "bb".to_owned();
        nodes[1].engine = "onnxruntime 1.31.1".to_owned();
        let text = error_text(&nodes);
        assert!(text.contains("engine:") && text.contains("model:"), "{text}");
        assert!(text.contains("at n0, n2, n3 and 124 more") && text.len() < 600, "{text}");
        assert!(check(&nodes).unwrap_err().mark().starts_with("mixed nodes: not a Network result"));
    }

    #[test]
    fn a_node_that_tells_no_settings_is_not_compared_by_them() {
        let silent = NodeDescription { settings: Vec::new(), ..node("b") };
        assert_eq!(check(&[node("a"), silent]), Ok(()));
    }
}
