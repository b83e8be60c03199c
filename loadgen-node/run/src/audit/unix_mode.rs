//! TEST01's comparison of whole lines (`compliance/TEST01/verify_accuracy.py --unixmode`).
//!
//! A line of the test is compared with all lines of the accuracy run that have its index, without the sequence number
//! and without commas. The script divides by a hundredth of the number of lines, so it ends with an error below 100.

use std::collections::HashMap;

use super::answers::AnswerLog;
use super::script::Script;

/// The text before an index, in the form of the official log.
const INDEX: &str = "\"qsl_idx\" : ";
/// The text before a sequence number.
const SEQUENCE: &str = "\"seq_id\"";
/// Fewer lines than this end the script with an error.
const LEAST_LINES: usize = 100;

/// Compares as the script does.
pub(super) fn compare(reference: &AnswerLog, test: &AnswerLog) -> Script {
    let mut script = Script::begin("Verifying accuracy. This might take a while...");
    script.line("Each dot represents 1% completion:");
    let lines: Vec<&str> = test.text.lines().collect();
    if lines.len() < LEAST_LINES {
        let why = format!("the script needs {LEAST_LINES} lines in the log of the test, which has {}", lines.len());
        return script.fail(&why, why.clone());
    }
    let mut reference_lines: HashMap<&str, Vec<&str>> = HashMap::new();
    for line in reference.text.lines() {
        if let Some(index) = index_of(line) {
            reference_lines.entry(index).or_default().push(line.trim());
        }
    }
    // Once for each index: a log with one index throughout would take its square otherwise.
    let reference_lines: HashMap<&str, String> =
        reference_lines.into_iter().map(|(index, lines)| (index, cleaned(&lines.join("\n")))).collect();
    let (mut same, mut other) = (0, 0);
    for line in &lines[1..lines.len() - 1] {
        let reference_text =
            index_of(line).and_then(|index| reference_lines.get(index)).map(String::as_str).unwrap_or_default();
        *(if cleaned(line.trim()) == reference_text { &mut same } else { &mut other }) += 1;
    }
    let step = lines.len() / 100;
    script.line(".".repeat(lines.len().div_ceil(step)));
    script.line(format!("num_acc_log_entries = {}", reference.text.lines().count() as i64 - 2));
    script.line(format!("num_perf_log_data_mismatch = {other}"));
    script.line(format!("num_perf_log_entries = {}", lines.len() - 2));
    let finding = format!("{} compared, {other} differ", same + other);
    let mut script = if other == 0 && same > 0 { script.pass(finding) } else { script.fail("", finding) };
    script.line("");
    script
}

/// The index of a line, as it is written there.
fn index_of(line: &str) -> Option<&str> {
    let (_, behind) = line.split_once(INDEX)?;
    behind.split_once(',').map(|(index, _)| index)
}

/// A text without its commas and sequence numbers.
fn cleaned(text: &str) -> String {
    let text = text.replace(',', "");
    let mut cleaned = String::with_capacity(text.len());
    let mut tail = text.as_str();
    while let Some((before, behind)) = tail.split_once(SEQUENCE) {
        cleaned.push_str(before);
        let Some(number) = behind.trim_start().strip_prefix(':').map(str::trim_start) else {
            cleaned.push_str(SEQUENCE);
            tail = behind;
            continue;
        };
        tail = number.find(char::is_whitespace).map_or("", |end| &number[end..]);
    }
    cleaned + tail
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(count: u64, first_seq: u64, data: impl Fn(u64) -> String) -> AnswerLog {
        let line = |index| {
            format!("{{ \"seq_id\" : {}, \"qsl_idx\" : {index}, \"data\" : \"{}\" }}", first_seq + index, data(index))
        };
        let lines: Vec<String> = (0..count).map(line).collect();
        AnswerLog::read(format!("[\n{}\n]\n", lines.join(",\n"))).unwrap()
    }

    #[test]
    fn whole_answers_are_compared_without_their_numbers() {
        let data = |index: u64| format!("{index:016X}");
        let reference = log(200, 0, data);
        let same = compare(&reference, &log(150, 9_000, data));
        assert!(same.passed && same.finding == "150 compared, 0 differ", "{same:?}");
        let last = |index: u64| if index == 149 { format!("{:016X}", index + (1 << 40)) } else { data(index) };
        let other = compare(&reference, &log(150, 0, last));
        assert!(!other.passed && other.finding == "150 compared, 1 differ", "{other:?}");
    }

    #[test]
    fn short_logs_end_the_script() {
        let data = |index: u64| format!("{index:02X}");
        let script = compare(&log(200, 0, data), &log(97, 0, data));
        assert!(!script.passed && script.finding.contains("100 lines"), "{script:?}");
        assert!(compare(&log(200, 0, data), &log(98, 0, data)).passed);
    }

    #[test]
    fn a_sample_that_was_answered_twice_in_the_accuracy_run_differs() {
        let line = "{ \"seq_id\" : 0, \"qsl_idx\" : 1, \"data\" : \"AA\" }";
        let twice = AnswerLog::read(format!("[\n{line},\n{line}\n]\n")).unwrap();
        let lines = vec![line; 120].join(",\n");
        let test = AnswerLog::read(format!("[\n{lines}\n]\n")).unwrap();
        assert!(!compare(&twice, &test).passed, "the script joins both lines");
    }

    #[test]
    fn a_log_of_one_index_is_compared_in_a_time_that_grows_with_its_lines() {
        let line = "{ \"seq_id\" : 0, \"qsl_idx\" : 1, \"data\" : \"AA\" }";
        let log = AnswerLog::read(format!("[\n{}\n]\n", vec![line; 20_000].join(",\n"))).unwrap();
        // The processor time of this thread does not grow when others have the cores.
        let spent = || std::time::Duration::from(nix::time::ClockId::CLOCK_THREAD_CPUTIME_ID.now().unwrap());
        let before = spent();
        assert_eq!(compare(&log, &log).finding, "20000 compared, 20000 differ");
        // A minute and more when all lines are joined for each of them.
        let took = spent() - before;
        assert!(took.as_secs() < 20, "{took:?}");
    }
}
