//! From DLI's configuration of a benchmark to the file of a campaign: a case for each of its tests.
//!
//! Elements without a counterpart are listed in the file and by the command, none is dropped in silence.
//!
//! - `source`: the configuration, as it is written; `case`: a test as a case; `text`: the file.
//!
//! Source of the elements: itlab-vision/dl-benchmark, revision ec4106e, read as fact.

mod case;
mod source;
mod text;

use anyhow::{Context as _, Result};

use self::case::Case;
pub(crate) use self::case::LeftOut;
use self::source::Source;

/// A campaign that is made of DLI's configuration.
pub(crate) struct Imported {
    /// The file of the campaign, as TOML.
    pub(crate) text: String,
    /// The number of tests.
    pub(crate) tests: usize,
    /// Everything that a person has to know, in the order of DLI's file.
    pub(crate) notes: Vec<Note>,
}

/// An element without a counterpart, or work that is left.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Note {
    /// The case. None: the element is of no test.
    pub(crate) case: Option<String>,
    pub(crate) about: About,
}

/// Content of a note.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum About {
    /// An element has no counterpart.
    LeftOut(LeftOut),
    /// Work is left before the case can be planned. Until then it is a comment.
    ToDo(String),
}

/// Makes the file of a campaign; `file_path` is the path of DLI's file in errors, and `stem` its name without the
/// ending.
///
/// # Errors
/// The text is no configuration of DLI's BenchmarkApp, or a test of it cannot be meant; the error has file and line.
pub(crate) fn import(text: &str, file_path: &str, stem: &str) -> Result<Imported> {
    let source = Source::read(text).with_context(|| file_path.to_owned())?;
    let cases = source.tests.into_iter().map(Case::of).collect::<Result<Vec<_>>>();
    let cases = with_own_names(cases.with_context(|| file_path.to_owned())?);
    let others: Vec<LeftOut> = source.others.iter().map(LeftOut::of).collect();
    let notes_of = |case: &Case| {
        let to_do = case.to_do.iter().cloned().map(About::ToDo);
        let left_out = case.left_out.iter().cloned().map(About::LeftOut);
        to_do.chain(left_out).map(|about| Note { case: Some(case.name.clone()), about }).collect::<Vec<_>>()
    };
    let other_notes = others.iter().cloned().map(|left_out| Note { case: None, about: About::LeftOut(left_out) });
    Ok(Imported {
        text: text::file(file_path, stem, &cases, &others),
        tests: cases.len(),
        notes: other_notes.chain(cases.iter().flat_map(notes_of)).collect(),
    })
}

/// Gives cases of the same name numbers.
fn with_own_names(mut cases: Vec<Case>) -> Vec<Case> {
    let mut names: Vec<String> = Vec::new();
    for case in &mut cases {
        let own = (2..).map(|number| format!("{}-{number}", case.name));
        let own = std::iter::once(case.name.clone()).chain(own).find(|name| !names.contains(name));
        case.name = own.unwrap_or_default();
        names.push(case.name.clone());
    }
    cases
}

#[cfg(test)]
mod tests {
    use super::super::checked::Campaign;
    use super::*;

    fn test(model: &str, elements: &str) -> String {
        format!(
            "<Test>\n<Model><Name>a</Name><ModelPath>{model}</ModelPath></Model>\n\
             <Dataset><Name>D</Name><Path>/d/x.npy</Path></Dataset>\n<FrameworkIndependent><BatchSize>2</BatchSize>\
             <IterationCount>5</IterationCount></FrameworkIndependent>\n{elements}</Test>\n"
        )
    }

    fn imported(tests: &[String]) -> Imported {
        import(&format!("<Tests>\n{}</Tests>\n", tests.concat()), "dli.xml", "dli").unwrap()
    }

    #[test]
    fn the_file_is_a_campaign_with_a_case_for_each_test() {
        let campaign_file = imported(&[
            test("/m/a.onnx", ""),
            test("/m/\"a\".onnx", "<FrameworkDependent><Mode>Async</Mode></FrameworkDependent>\n"),
            test("/m/a.onnx", ""),
        ]);
        assert_eq!((campaign_file.tests, campaign_file.notes.len()), (3, 0));
        let campaign = Campaign::of(&campaign_file.text, "c.toml")
            .unwrap_or_else(|error| panic!("{error:#}\n{}", campaign_file.text));
        let names: Vec<&str> = campaign.cells.iter().map(|cell| cell.name.as_str()).collect();
        assert_eq!(names, ["a-batch2-sync", "a-batch2-async", "a-batch2-sync-2"]);
        let cell = &campaign.cells[1];
        let run = ["--benchmark=synthetic", "--dataset=/d/x.npy", "--scenario=Offline"];
        assert!(run.iter().all(|flag| cell.run.iter().any(|word| word == flag)), "{cell:?}");
        let flags = &cell.nodes.as_ref().unwrap().flags;
        assert!(flags.contains(&"--backend=onnx:/m/\"a\".onnx".to_owned()), "{flags:?}");
        assert_eq!((cell.dli.topology.as_deref(), cell.dli.dataset.as_deref()), (Some("a"), Some("D")));
        assert_eq!(campaign.out.to_str(), Some("results/dli"));
    }

    #[test]
    fn a_case_with_work_to_do_is_a_comment_and_is_right_without_its_marks() {
        let campaign_file = imported(&[test("/m/a.pb", ""), test("/m/a.onnx", "<New>x\ny</New>\n")]);
        let campaign = Campaign::of(&campaign_file.text, "c.toml").unwrap();
        assert_eq!(campaign.cells.len(), 1, "{}", campaign_file.text);
        let [to_do, left_out] = &campaign_file.notes[..] else { panic!("{:?}", campaign_file.notes) };
        assert!(matches!(&to_do.about, About::ToDo(what) if what.contains("convert /m/a.pb")), "{to_do:?}");
        assert!(matches!(&left_out.about, About::LeftOut(it) if it.element == "Test/New"), "{left_out:?}");
        assert_eq!(left_out.case.as_deref(), Some("a-batch2-sync-2"));
        assert!(campaign_file.text.contains("# To do: convert /m/a.pb to ONNX"), "{}", campaign_file.text);
        assert!(campaign_file.text.contains("# Left out: Test/New (line "), "{}", campaign_file.text);
        let is_case = |line: &str| line.starts_with("# ") && (line.contains(" = ") || line.starts_with("# [["));
        let text: Vec<&str> =
            campaign_file.text.lines().map(|line| if is_case(line) { &line[2..] } else { line }).collect();
        let all = Campaign::of(&text.join("\n"), "c.toml")
            .unwrap_or_else(|error| panic!("{error:#}\n{}", campaign_file.text));
        assert_eq!(all.cells.len(), 2);
    }

    #[test]
    fn an_error_has_the_file_and_the_line() {
        let error = |text: &str| format!("{:#}", import(text, "dli.xml", "dli").err().unwrap());
        assert!(error("<Computers/>").starts_with("dli.xml: line 1: "), "{}", error("<Computers/>"));
        assert!(error("<Tests>\n<Test/></Tests>").starts_with("dli.xml: line 2: the test has no BatchSize"));
    }
}
