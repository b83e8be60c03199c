//! One line of a list of sums, as the program `sha256sum` writes it. Both ends read such lists: of datasets, of models.

/// The name of the file that lists the SHA-256 sums of the files beside it.
pub const SUMS_FILE: &str = "SHA256SUMS";

/// The file's name and its sum in lower case, of a line such as `2d71...4881  images.npy`. Whether the sum is one is
/// left
/// to the caller. `None` when the line is not two words.
pub fn entry(line: &str) -> Option<(&str, String)> {
    let (sum, name) = line.trim().split_once(char::is_whitespace)?;
    // A star marks a file that was read as binary.
    let name = name.trim_start().trim_start_matches('*');
    Some((name.strip_prefix("./").unwrap_or(name), sum.to_ascii_lowercase()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_both_kinds_are_read() {
        for line in ["AB12  a b.npy", "ab12 *a b.npy", " ab12\t*./a b.npy \n"] {
            assert_eq!(entry(line), Some(("a b.npy", "ab12".to_owned())), "{line:?}");
        }
        assert_eq!((entry(""), entry("ab12"), entry(" ab12 ")), (None, None, None));
    }
}
