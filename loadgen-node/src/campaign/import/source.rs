//! DLI's configuration of a benchmark, as it is written: XML with `Tests/Test`, each with four sections.
//!
//! Elements of DLI that are empty, `-` or `none` are not given. All others stay in the list of their test until they
//! are taken, so that the rest of the list has no counterpart.

use anyhow::{Context as _, Result, bail, ensure};
use roxmltree::{Document, Node};

/// The first element of the file, and the elements in it.
const ROOT: &str = "Tests";
const TEST: &str = "Test";
/// The sections of a test.
pub(super) const MODEL: &str = "Model";
pub(super) const DATASET: &str = "Dataset";
pub(super) const INDEPENDENT: &str = "FrameworkIndependent";
pub(super) const DEPENDENT: &str = "FrameworkDependent";
/// The elements of DLI by section, of all its frameworks that its description names.
const SECTIONS: [(&str, &[&str]); 4] = [
    (MODEL, &["Task", "Name", "Precision", "SourceFramework", "ModelPath", "WeightsPath", "Module"]),
    (DATASET, &["Name", "Path"]),
    (INDEPENDENT, &["InferenceFramework", "BatchSize", "Device", "IterationCount", "TestTimeLimit", "RawOutput"]),
    (
        DEPENDENT,
        &[
            "Mode",
            "CodeSource",
            "Runtime",
            "Hint",
            "Frontend",
            "Extension",
            "AsyncRequestCount",
            "ThreadCount",
            "StreamCount",
            "InputShape",
            "Layout",
            "Mean",
            "InputScale",
            "ChangePreprocessOptions",
            "UseLatencyPerTokenLLM",
            "ChannelSwap",
            "InputName",
            "ExecutionProviders",
            "InterThreadCount",
            "ExecutionMode",
            "Provider",
            "InferenceRequestsCount",
        ],
    ),
];
/// Texts that stand where nothing is given.
const NOTHING: [&str; 3] = ["", "-", "none"];

/// The whole file.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) tests: Vec<Test>,
    /// Elements beside the tests.
    pub(super) others: Vec<Element>,
}

/// A test of the file.
#[derive(Debug)]
pub(super) struct Test {
    /// The number of its first line.
    pub(super) line: usize,
    elements: Vec<Element>,
}

/// An element with a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Element {
    /// The element that it stands in, such as `Model`.
    pub(super) section: String,
    pub(super) name: String,
    pub(super) value: String,
    pub(super) line: usize,
}

impl Source {
    /// Reads the text of a file.
    ///
    /// # Errors
    /// It is no XML, or no configuration of DLI's BenchmarkApp; the text has the line.
    pub(super) fn read(text: &str) -> Result<Source> {
        let document = Document::parse(text).context("it is no XML that can be read")?;
        let lines = Lines::of(text);
        let root = document.root_element();
        let name = root.tag_name().name();
        ensure!(
            name == ROOT,
            "line {}: the first element is '{name}' and not '{ROOT}': give the configuration of DLI's BenchmarkApp",
            lines.number(&root)
        );
        let (tests, others): (Vec<_>, Vec<_>) =
            root.children().filter(Node::is_element).partition(|node| node.tag_name().name() == TEST);
        ensure!(!tests.is_empty(), "it has no '{TEST}'");
        let mut elements: Vec<Element> = attributes(&root, "", &lines);
        elements.extend(others.iter().flat_map(|node| element(node, ROOT, &lines)));
        let tests = tests.iter().map(|node| Test::read(node, &lines)).collect::<Result<_>>()?;
        Ok(Source { tests, others: elements })
    }
}

impl Test {
    fn read(test: &Node<'_, '_>, lines: &Lines) -> Result<Test> {
        let mut elements = attributes(test, "", lines);
        for node in test.children().filter(Node::is_element) {
            let section = node.tag_name().name();
            if !SECTIONS.iter().any(|(name, _)| *name == section) {
                elements.extend(element(&node, TEST, lines));
                continue;
            }
            elements.extend(attributes(&node, TEST, lines));
            for node in node.children().filter(Node::is_element) {
                for element in element(&node, section, lines) {
                    let is_same = |other: &&Element| (&other.section, &other.name) == (&element.section, &element.name);
                    if let Some(other) = elements.iter().find(is_same) {
                        let Element { line, name, .. } = &element;
                        bail!("line {line}: '{name}' is in line {} already: leave one of them", other.line);
                    }
                    elements.push(element);
                }
            }
        }
        let is_given = |element: &Element| !NOTHING.iter().any(|none| element.value.eq_ignore_ascii_case(none));
        elements.retain(|element| is_given(element) || !element.is_known());
        Ok(Test { line: lines.number(test), elements })
    }

    /// Looks at an element without taking it.
    pub(super) fn peek(&self, section: &str, name: &str) -> Option<&Element> {
        self.elements.iter().find(|element| element.section == section && element.name == name)
    }

    /// Takes an element out. None: it is not given.
    pub(super) fn take(&mut self, section: &str, name: &str) -> Option<Element> {
        let at = self.elements.iter().position(|element| element.section == section && element.name == name)?;
        Some(self.elements.remove(at))
    }

    /// The value of an element that is taken out.
    pub(super) fn value(&mut self, section: &str, name: &str) -> Option<String> {
        self.take(section, name).map(|element| element.value)
    }

    /// The elements that nobody took, in the order of the file.
    pub(super) fn leftovers(self) -> Vec<Element> {
        self.elements
    }
}

impl Element {
    /// The element with the one that it stands in: `Model/Name`.
    pub(super) fn path(&self) -> String {
        if self.section.is_empty() { self.name.clone() } else { format!("{}/{}", self.section, self.name) }
    }

    /// Returns true for an element of DLI.
    pub(super) fn is_known(&self) -> bool {
        let section = SECTIONS.iter().find(|(section, _)| *section == self.section);
        section.is_some_and(|(_, names)| names.contains(&self.name.as_str()))
    }
}

/// An element, its attributes, and the elements in it, each by its own name.
fn element(node: &Node<'_, '_>, section: &str, lines: &Lines) -> Vec<Element> {
    let name = node.tag_name().name();
    let path = if section == ROOT || section == TEST { name.to_owned() } else { format!("{section}/{name}") };
    let mut all = attributes(node, section, lines);
    let below: Vec<Node<'_, '_>> = node.children().filter(Node::is_element).collect();
    let value: String = node.children().filter(Node::is_text).filter_map(|text| text.text()).collect();
    let value = match below.is_empty() {
        true => value.trim().to_owned(),
        false => below.iter().map(|node| node.tag_name().name()).collect::<Vec<_>>().join(" "),
    };
    all.push(Element { section: section.to_owned(), name: name.to_owned(), value, line: lines.number(node) });
    for node in below {
        let value: String = node.descendants().filter(Node::is_text).filter_map(|text| text.text()).collect();
        let (name, value) = (node.tag_name().name().to_owned(), value.trim().to_owned());
        all.push(Element { section: path.clone(), name, value, line: lines.number(&node) });
    }
    all
}

/// The attributes of an element. DLI has none.
fn attributes(node: &Node<'_, '_>, section: &str, lines: &Lines) -> Vec<Element> {
    let name = node.tag_name().name();
    let attribute = |attribute: roxmltree::Attribute<'_, '_>| Element {
        section: section.to_owned(),
        name: format!("{name}@{}", attribute.name()),
        value: attribute.value().to_owned(),
        line: lines.number(node),
    };
    node.attributes().map(attribute).collect()
}

/// The places where the lines of a text end, to find the line of an element.
struct Lines(Vec<usize>);

impl Lines {
    fn of(text: &str) -> Lines {
        Lines(text.match_indices('\n').map(|(at, _)| at).collect())
    }

    /// The number of the line in which an element begins, from 1.
    fn number(&self, node: &Node<'_, '_>) -> usize {
        let begin = node.range().start;
        1 + self.0.partition_point(|end| *end < begin)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_given_is_taken_by_its_section() {
        let text = "<Tests>\n<Test>\n<Model><Name> a &amp; b </Name><ModelPath>m.onnx</ModelPath>\n\
                    <WeightsPath>-</WeightsPath></Model>\n<Dataset><Name>d<!-- x -->e</Name></Dataset>\n\
                    <FrameworkDependent><Hint>None</Hint><ThreadCount/></FrameworkDependent>\n</Test>\n</Tests>";
        let mut tests = Source::read(text).unwrap().tests;
        let [test] = &mut tests[..] else { panic!("{tests:?}") };
        assert_eq!((test.line, test.value(MODEL, "Name").as_deref()), (2, Some("a & b")));
        assert_eq!((test.value(DATASET, "Name").as_deref(), test.value(MODEL, "Name")), (Some("de"), None));
        assert_eq!(test.peek(MODEL, "ModelPath").map(|element| element.line), Some(3));
        let leftovers = tests.remove(0).leftovers();
        assert_eq!(
            leftovers.iter().map(Element::path).collect::<Vec<_>>(),
            ["Model/ModelPath"],
            "nothing is given else"
        );
    }

    #[test]
    fn unknown_elements_and_attributes_are_in_the_list() {
        let text = "<Tests version=\"2\"><Test id=\"7\"><Model kind=\"x\"><New>5</New></Model><Extra/>\n\
                    <More><Deep>1</Deep></More></Test><Other>3</Other></Tests>";
        let source = Source::read(text).unwrap();
        let paths = |elements: &[Element]| elements.iter().map(Element::path).collect::<Vec<_>>();
        assert_eq!(paths(&source.others), ["Tests@version", "Tests/Other"]);
        let leftovers = source.tests.into_iter().next().unwrap().leftovers();
        assert_eq!(
            paths(&leftovers),
            ["Test@id", "Test/Model@kind", "Model/New", "Test/Extra", "Test/More", "More/Deep"]
        );
        assert_eq!((leftovers[4].value.as_str(), leftovers.iter().any(Element::is_known)), ("Deep", false));
    }

    #[test]
    fn a_file_that_is_none_of_dli_is_an_error_with_its_line() {
        for (text, why) in [
            ("no xml", "no XML"),
            ("<Tests>", "no XML"),
            ("<!DOCTYPE a [<!ENTITY b \"c\">]><Tests/>", "no XML"),
            ("\n<Computers/>", "line 2: the first element is 'Computers'"),
            ("<Tests/>", "it has no 'Test'"),
            (
                "<Tests><Test><Model><Name>a</Name>\n<Name>b</Name></Model></Test></Tests>",
                "line 2: 'Name' is in line 1 already",
            ),
        ] {
            let error = format!("{:#}", Source::read(text).unwrap_err());
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
