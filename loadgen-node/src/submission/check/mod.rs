//! A tree of submissions, looked at more strictly than the official checker does: logs are judged again, runs are held
//! against each other, and every file must be one that belongs there.
//!
//! | file | what it has |
//! |---|---|
//! | `tree` | the files, what is wrong with them, and which of them nothing asks for |
//! | `tree_division` | the divisions, and in what they differ |
//! | `place` | one benchmark and scenario of a system, with the rules for it |
//! | `submitters` | finds the places, and which are missing |
//! | `logs` | the logs of one run |
//! | `loadgen_files` | whether the LoadGen that led a run is the official one |
//! | `settings` | what a run asked for, against what the round prescribes |
//! | `result` | performance run, accuracy run and compliance tests of a place |
//! | `compliance` | the compliance tests: what their scripts have written follows from the logs |
//! | `answers` | accuracy logs without their middle |
//! | `texts` | `accuracy.txt`, measurements, `user.conf` |
//! | `system` | the description of a system |
//! | `rebuild` | the tree against what `submission build` makes of the same runs |

mod answers;
mod compliance;
mod loadgen_files;
mod logs;
mod place;
mod rebuild;
mod result;
mod settings;
mod submitters;
mod system;
mod texts;
mod tree;
mod tree_division;

use std::path::Path;

use anyhow::{Result, ensure};
use loadgen::conf::rules::Rules;
use lon_proto::text::on_one_line;
use tree_division::TreeDivision;

use crate::submission::checked::Submission;
use lon_run::outputs::documents::submission_check::{NO_FILES, SCHEMA, SubmissionCheck, UNOFFICIAL};

/// The command that makes a tree.
const MADE_BY: &str = "Give the folder that `loadgen-node submission build FILE --out TREE` made";

/// Looks at a tree by the rules of a round. With the file of the submission, its runs are held against the tree, too.
///
/// # Errors
/// The tree, or what the file names, cannot be read, or it is no tree of submissions.
pub(crate) fn check(root: &Path, rules: &'static Rules, submission: Option<&Submission>) -> Result<SubmissionCheck> {
    let has_division = TreeDivision::ALL.iter().any(|division| root.join(division.name()).is_dir());
    let folder = on_one_line(&root.display().to_string());
    ensure!(has_division, "{folder} is no submission tree: it has no closed, network or open folder. {MADE_BY}");
    let mut tree = tree::Tree::open(root)?;
    let results = submitters::check(&mut tree, rules);
    match submission {
        Some(submission) => rebuild::check(&mut tree, submission)?,
        None => tree.unchecked("sums of whole accuracy logs, and their middles: give --file to hold them to the runs"),
    }
    let rehearsal = tree.is_rehearsal();
    let tree::TreeNotes { findings, advice, unchecked, has_endless } = tree.end(rules.round.name);
    Ok(SubmissionCheck {
        schema: SCHEMA,
        unofficial: UNOFFICIAL.to_owned(),
        tree: root.display().to_string(),
        round: rules.round.name.to_owned(),
        rehearsal,
        results,
        findings,
        advice,
        unchecked,
        official: None,
        official_not_asked: has_endless.then(|| NO_FILES.to_owned()),
    })
}
