//! Accuracy logs as submissions have them: both ends, with the middle cut out.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use loadgen::official::ACCURACY_FILE;
use loadgen::settings::{Scenario, TestSettings};
use lon_proto::files;

use super::tree::{LARGEST, Tree};
use lon_run::audit::{self, AnswerLog, AuditedRun, Detail};
use lon_run::outputs::logs::accuracy_log::GAP;

/// The largest log of an accuracy run that the official checker takes.
const LARGEST_BYTES: usize = 10_240;

/// The most answers that findings name, of those that the seeds do not pick.
const SHOWN: usize = 3;
/// Stands before the digits of an answer.
const DATA: &str = ", \"data\" : \"";

/// Differences that the script of TEST01 counts. Each count has to be zero.
const DIFFERENCES: [&str; 2] = [DIFFERENT, "num_missing_qsl_idxs"];
/// Answers that are others than those of the accuracy run.
const DIFFERENT: &str = "num_perf_log_data_mismatch";

/// An answer, of which the log may have the beginning alone.
#[derive(Clone, Debug, PartialEq, Eq)]
struct LoggedAnswer {
    seq_id: u64,
    qsl_idx: u64,
    /// Hexadecimal digits, or the first of them.
    data: String,
}

/// Looks at the log of an accuracy run.
pub(super) fn check_all(tree: &mut Tree, folder: &Path, detail: &Detail) {
    let path = folder.join(ACCURACY_FILE);
    let Some(answers) = read(tree, &path, Tree::add_fault) else { return };
    let Some(total) = detail.whole("qsl_reported_total_count") else { return };
    let count = sample_count(total, detail);
    for LoggedAnswer { seq_id, qsl_idx, .. } in &answers {
        if *qsl_idx >= total {
            tree.add_fault(&path, format!("has an answer of sample {qsl_idx}, and the dataset has {total}"));
        }
        if *seq_id >= count {
            tree.add_fault(&path, format!("has an answer with seq_id {seq_id}, and {count} were asked for"));
        }
    }
    let samples: BTreeSet<u64> = answers.iter().map(|answer| answer.qsl_idx).collect();
    if ((samples.len() as u64) + (count - total)) < answers.len() as u64 {
        tree.add_fault(&path, "has several answers of one sample");
    }
}

/// Returns the number of samples that an accuracy run asks for: all samples, and where the load is the samples of a
/// query, so many more that the last query is full.
fn sample_count(total: u64, detail: &Detail) -> u64 {
    let scenario = detail.text("effective_scenario").and_then(Scenario::from_name);
    let load = scenario.and_then(|scenario| scenario.traffic().load(&TestSettings { scenario, ..Default::default() }));
    let has_several = load.is_some_and(|load| load.setting == "samples_per_query");
    let per_query = detail.whole("effective_samples_per_query").filter(|count| has_several && *count > 0);
    per_query.and_then(|count| total.checked_next_multiple_of(count)).unwrap_or(total)
}

/// A run of TEST01.
pub(super) struct Test<'a> {
    pub(super) run: &'a AuditedRun,
    /// The text that the script wrote.
    pub(super) verified: Option<&'a str>,
    /// True when answers may differ from those of the accuracy run, since the scores have decided.
    pub(super) may_differ: bool,
}

/// Looks at the log of TEST01: its answers are of samples that the seeds pick, and those of the accuracy run.
pub(super) fn check_picks(tree: &mut Tree, folder: &Path, accuracy: &Path, test: &Test<'_>) {
    let path = folder.join(ACCURACY_FILE);
    // Of tests the official checker does not ask for the size.
    let Some(answers) = read(tree, &path, Tree::advise) else { return };
    let reference = files::text(&accuracy.join(ACCURACY_FILE), LARGEST).ok().and_then(|text| parsed(&text).ok());
    let reference_data: BTreeMap<u64, String> =
        reference.into_iter().flatten().map(|answer| (answer.qsl_idx, answer.data)).collect();
    for LoggedAnswer { qsl_idx, data, .. } in &answers {
        let other = reference_data.get(qsl_idx).filter(|hex| {
            let common = hex.len().min(data.len());
            !hex[..common].eq_ignore_ascii_case(&data[..common])
        });
        if other.is_some() && !test.may_differ {
            tree.add_fault(&path, format!("has another answer of sample {qsl_idx} than the accuracy run"));
        }
    }
    let picks = match audit::picks(test.run) {
        Ok(picks) => picks,
        Err(why) => return tree.unchecked(format!("which answers TEST01 had to log: {why}")),
    };
    let others: Vec<&LoggedAnswer> =
        answers.iter().filter(|answer| !picks.contains(&(answer.seq_id, answer.qsl_idx))).collect();
    for LoggedAnswer { seq_id, qsl_idx, .. } in others.iter().take(SHOWN) {
        let what = format!("has an answer with seq_id {seq_id} of sample {qsl_idx}, which the seeds do not pick");
        tree.add_fault(&path, what);
    }
    if let Some(more) = others.len().checked_sub(SHOWN + 1) {
        tree.add_fault(&path, format!("has {} more answers that the seeds do not pick", more + 1));
    }
    let counts = [("num_perf_log_entries", picks.len()), ("num_perf_log_qsl_idx_match", picks.len())];
    let differences = DIFFERENCES.into_iter().filter(|name| !(test.may_differ && *name == DIFFERENT));
    for (name, count) in counts.into_iter().chain(differences.map(|name| (name, 0))) {
        let number =
            test.verified.and_then(|text| text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(" = ")));
        if let Some(number) = number
            && number.trim() != count.to_string()
        {
            let path = folder.with_file_name("verify_accuracy.txt");
            tree.add_fault(&path, format!("says {name} = {number}, and {count} is what there has to be"));
        }
    }
}

/// The answers that are there as a whole. None: there is none.
pub(super) fn whole_of(text: &str) -> Option<AnswerLog> {
    let line = |line: &str| line.trim_end_matches(',').to_owned();
    let is_whole = |line: &String| line.starts_with('{') && serde_json::from_str::<serde_json::Value>(line).is_ok();
    let lines: Vec<String> = text.lines().map(line).filter(is_whole).collect();
    AnswerLog::read(format!("[\n{}\n]\n", lines.join(",\n"))).ok().filter(|log| !log.is_empty())
}

/// The answers of a log. `say`: says of the tree that the log is too large.
fn read(tree: &mut Tree, path: &Path, say: fn(&mut Tree, &Path, String)) -> Option<Vec<LoggedAnswer>> {
    let text = tree.text(path)?;
    if text.len() > LARGEST_BYTES {
        say(tree, path, format!("has {} bytes: cut out its middle, {LARGEST_BYTES} are the most", text.len()));
    }
    parsed(&text.replace("\r\n", "\n")).map_err(|why| tree.add_fault(path, why)).ok()
}

/// The answers whose beginnings are in the text. The official tool cuts anywhere: of the two lines beside the cut, what
/// is no answer is not looked at.
fn parsed(text: &str) -> Result<Vec<LoggedAnswer>, String> {
    let not = |what: &str| Err(format!("is no accuracy log of LoadGen: {what}"));
    if !text.starts_with("[\n") || !text.ends_with("]\n") {
        return not("it does not begin with [ and end with ], in lines of their own");
    }
    let cut = text.split_once(GAP);
    let (head, tail) = cut.unwrap_or((text, ""));
    let behind = head.lines().count();
    let mut answers = Vec::new();
    for (number, line) in head.lines().chain(tail.lines()).enumerate() {
        let is_beside = cut.is_some() && (number + 1 == behind || number == behind);
        match answer(line) {
            Some(answer) => answers.push(answer),
            None if is_beside || !line.starts_with('{') => {}
            None => return not("a line is no answer"),
        }
    }
    if answers.is_empty() { not("it has no answer") } else { Ok(answers) }
}

fn is_hex(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// `{ "seq_id" : 0, "qsl_idx" : 778, "data" : "409B...` with or without an end.
fn answer(line: &str) -> Option<LoggedAnswer> {
    let tail = line.strip_prefix("{ \"seq_id\" : ")?;
    let (seq_id, tail) = tail.split_once(", \"qsl_idx\" : ")?;
    let (qsl_idx, tail) = tail.split_once(DATA)?;
    let data = tail.split_once('"').map_or(tail, |(data, _)| data);
    is_hex(data).then_some(LoggedAnswer {
        seq_id: seq_id.parse().ok()?,
        qsl_idx: qsl_idx.parse().ok()?,
        data: data.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::super::super::truncated_log::truncated;
    use super::*;

    #[test]
    fn answers_are_seen_at_both_ends_of_a_cut() {
        let line = |number: usize| {
            format!("{{ \"seq_id\" : {number}, \"qsl_idx\" : {number}, \"data\" : \"0{number:05}\" }},\n")
        };
        let whole: String = (0..1_000).map(line).collect();
        let log = format!("[\n{}\n]\n", whole.trim_end_matches(",\n"));
        let answers = parsed(&truncated(&log)).unwrap();
        assert!(answers.len() > 100 && answers[0].seq_id == 0 && answers.last().unwrap().qsl_idx == 999, "{answers:?}");
        assert_eq!(parsed(&log).unwrap().len(), 1_000);
    }

    /// Source: a log of v5.1, of 24,781 samples in queries of 8.
    #[test]
    fn the_last_query_of_multi_stream_is_full() {
        for (scenario, count) in [("MultiStream", 24_784), ("Offline", 24_781), ("SingleStream", 24_781)] {
            let line = |key: &str, value: &str| format!(":::MLLOG {{\"key\": \"{key}\", \"value\": {value}}}\n");
            let scenario_line = line("effective_scenario", &format!("\"{scenario}\""));
            let text = scenario_line + &line("effective_samples_per_query", "8");
            assert_eq!(sample_count(24_781, &Detail::read(&text).unwrap()), count, "{scenario}");
        }
    }

    /// Source: logs of v5.1 that a LoadGen on Windows wrote, of which the official script cut out the middle.
    #[test]
    fn lines_may_end_as_those_of_windows() {
        let line = |number: usize| format!("{{ \"seq_id\" : {number}, \"qsl_idx\" : 7, \"data\" : \"00\" }},\r\n");
        let lines: String = (0..1_000).map(line).collect();
        let log = truncated(&format!("[\r\n{}\r\n]\r\n", lines.trim_end_matches(",\r\n")));
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join(ACCURACY_FILE);
        std::fs::write(&path, log).unwrap();
        let mut tree = Tree::open(root.path()).unwrap();
        let answers = read(&mut tree, &path, Tree::add_fault).unwrap();
        assert!(answers.len() > 100 && answers.last().unwrap().seq_id == 999, "{answers:?}");
    }

    #[test]
    fn a_cut_anywhere_in_an_answer_leaves_the_others() {
        let line = |number: usize| {
            format!("{{ \"seq_id\" : {number}, \"qsl_idx\" : {}, \"data\" : \"0{number:05}\" }},\n", number + 7)
        };
        let lines: String = (1..1_000).map(line).collect();
        for more in 0..line(500).len() {
            let first = line(0).replace("\"data\" : \"", &format!("\"data\" : \"{}", "A".repeat(more)));
            let log = format!("[\n{first}{}\n]\n", lines.trim_end_matches(",\n"));
            let answers = parsed(&truncated(&log)).unwrap();
            assert!(
                answers.len() > 140 && answers.iter().all(|own| own.qsl_idx == own.seq_id + 7),
                "{more}: {answers:?}"
            );
        }
    }

    #[test]
    fn a_long_answer_shows_its_beginning_and_other_texts_are_named() {
        let log = format!("[\n{{ \"seq_id\" : 0, \"qsl_idx\" : 7, \"data\" : \"{}\" }}\n]\n", "AB".repeat(9_000));
        let answers = parsed(&truncated(&log)).unwrap();
        assert_eq!((answers.len(), answers[0].qsl_idx), (1, 7));
        for (text, part) in [("x", "begin"), ("[\n]\n", "no answer"), ("[\n{ \"seq_id\" : x }\n]\n", "a line")] {
            assert!(parsed(text).unwrap_err().contains(part), "{text}");
        }
    }
}
