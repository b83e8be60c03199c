//! An accuracy log as submissions have it: both ends, and the sum of the whole in `accuracy.txt`. As
//! `tools/submission/truncate_accuracy_log.py` of mlcommons/inference does it.

use lon_run::outputs::logs::accuracy_log::GAP;

/// Bytes that are kept of each end.
const END_BYTES: usize = 4_096;

/// The log with what lies between its ends cut out. One that is shorter than an end stays as it is.
pub(super) fn truncated(log: &str) -> String {
    if log.len() < END_BYTES || !log.is_char_boundary(END_BYTES) || !log.is_char_boundary(log.len() - END_BYTES) {
        return log.to_owned();
    }
    format!("{}{GAP}{}", &log[..END_BYTES], &log[log.len() - END_BYTES..])
}

/// The text of `accuracy.txt`, with the sum of the whole log behind it.
pub(super) fn with_hash(accuracy_txt: &str, sha256: &str) -> String {
    let lines: Vec<&str> = accuracy_txt.lines().filter(|line| !line.starts_with("hash=")).collect();
    format!("{}\n\nhash={sha256}\n", lines.join("\n").trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_are_kept() {
        let log: String = (0..3_000).map(|number| format!("{number:04}\n")).collect();
        let cut = truncated(&log);
        assert_eq!(cut.len(), 2 * END_BYTES + GAP.len());
        assert!(log.starts_with(&cut[..END_BYTES]) && log.ends_with(&cut[END_BYTES + GAP.len()..]));
        assert_eq!(truncated("[\n]\n"), "[\n]\n");
    }

    #[test]
    fn there_is_one_hash() {
        assert_eq!(with_hash("accuracy=76.0%\n\nhash=00\n", "ab"), "accuracy=76.0%\n\nhash=ab\n");
    }
}
