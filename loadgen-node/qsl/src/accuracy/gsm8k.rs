//! Compares the number that a text ends with, as MLPerf's script for Mixtral does with answers to GSM8K
//! (`language/mixtral-8x7b/evaluate-accuracy.py`). Digits are ASCII digits.

/// The words before the number that counts.
const BEFORE: &str = "The answer is";

/// Tells whether a text gives the same number as one of the right texts, which are numbers.
///
/// What follows a line that starts with `Q:` does not count. The number is the first one behind the last `The answer
/// is`. Where that has none behind it, it is the last number of the text. Commas within it do not count.
pub fn is_right(text: &str, right: &[String]) -> bool {
    let text = text.split("\nQ:").next().unwrap_or(text);
    let behind = text.rsplit_once(BEFORE).and_then(|(_, behind)| numbers(behind).next());
    let Some(number) = behind.or_else(|| numbers(text).last()) else { return false };
    let Ok(number) = number.replace(',', "").parse::<f64>() else { return false };
    right.iter().any(|right| right.trim().parse() == Ok(number))
}

/// The numbers in a text: a minus sign, digits and commas, a point, digits; only the last digits must be there.
fn numbers(text: &str) -> impl Iterator<Item = &str> {
    let mut at = 0;
    std::iter::from_fn(move || {
        while at < text.len() {
            if let Some(end) = number_end(&text.as_bytes()[at..]) {
                let number = &text[at..at + end];
                at += end;
                return Some(number);
            }
            at += 1;
        }
        None
    })
}

/// Returns where the number ends with which a text starts; none when it does not start with a number.
fn number_end(text: &[u8]) -> Option<usize> {
    let run = |from: usize, is_in: fn(&u8) -> bool| from + text[from..].iter().take_while(|byte| is_in(byte)).count();
    let sign = usize::from(text.first() == Some(&b'-'));
    let whole = run(sign, |byte| byte.is_ascii_digit() || *byte == b',');
    if text.get(whole) == Some(&b'.') {
        let end = run(whole + 1, u8::is_ascii_digit);
        if end > whole + 1 {
            return Some(end);
        }
    }
    // Without a part behind a point it ends with its last digit.
    text[sign..whole].iter().rposition(u8::is_ascii_digit).map(|last| sign + last + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_as_the_pattern_finds_them() {
        let list = |text| numbers(text).collect::<Vec<_>>();
        assert_eq!(
            list("a 1,234.50, -7 and .5. 3.4.5 ,,2,, - 9,.1é6"),
            ["1,234.50", "-7", ".5", "3.4", ".5", ",,2", "9,.1", "6"]
        );
        assert!(list("no - , . one").is_empty());
    }

    #[test]
    fn the_number_that_counts() {
        let is_18 = |text| is_right(text, &["18".to_owned()]);
        assert!(is_18("16 - 3 = 13. The answer is 9. No: The answer is $18.00 of 20."));
        assert!(is_18("first 2, then 1,8\nQ: what is 7?"));
        assert!(is_18("It is 18. The answer is above"));
        assert!(!is_18("The answer is -18") && !is_18("none") && !is_18(""));
        assert!(!is_right("The answer is 18", &["eighteen".to_owned()]));
    }
}
