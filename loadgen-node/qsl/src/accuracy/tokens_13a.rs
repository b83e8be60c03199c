//! The tokens of a text as tokenizer 13a of SacreBLEU finds them, which is that of WMT's `mteval-v13a.pl`: marks stand
//! alone, except a period or comma between digits, and a hyphen that no digit stands before.

use super::squad;
use super::words::is_space;

/// Names in text that stand for a mark, and the mark. They are replaced in this order, so that `&amp;lt;` ends as `<`.
const NAMED: [(&str, &str); 4] = [("&quot;", "\""), ("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">")];

/// Returns the tokens of a text with single blanks between them.
pub(super) fn tokens(text: &str) -> String {
    let text = text.trim_end_matches(is_space).replace("<skipped>", "").replace("-\n", "").replace('\n', " ");
    let text = NAMED.iter().fold(text, |text, (name, mark)| text.replace(name, mark));
    let chars: Vec<char> = format!(" {text} ").chars().collect();
    let apart = pairs(&marks_apart(&chars), |one, other| {
        (!one.is_ascii_digit() && is_point(other)).then(|| [one, ' ', other, ' '].to_vec())
    });
    let apart =
        pairs(&apart, |one, other| (is_point(one) && !other.is_ascii_digit()).then(|| [' ', one, ' ', other].to_vec()));
    let apart =
        pairs(&apart, |one, other| (one.is_ascii_digit() && other == '-').then(|| [one, ' ', other, ' '].to_vec()));
    let apart: String = apart.into_iter().collect();
    squad::words(&apart).collect::<Vec<_>>().join(" ")
}

fn is_point(c: char) -> bool {
    matches!(c, '.' | ',')
}

/// Puts blanks around each mark of ASCII but `'`, `,`, `-` and `.`.
fn marks_apart(text: &[char]) -> Vec<char> {
    let apart = |c: &char| match c {
        ' '..='&' | '('..='+' | ':'..='@' | '/' | '['..='`' | '{'..='~' => vec![' ', *c, ' '],
        _ => vec![*c],
    };
    text.iter().flat_map(apart).collect()
}

/// Replaces pairs of characters from left to right, as a regular expression of two characters does: a character of a
/// pair that was replaced is in no other pair.
fn pairs(text: &[char], replaced: impl Fn(char, char) -> Option<Vec<char>>) -> Vec<char> {
    let (mut output, mut at) = (Vec::with_capacity(text.len() + text.len() / 4), 0);
    while let Some(&one) = text.get(at) {
        match text.get(at + 1).and_then(|other| replaced(one, *other)) {
            Some(pair) => {
                output.extend(pair);
                at += 2;
            }
            None => {
                output.push(one);
                at += 1;
            }
        }
    }
    output
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tokens of `sacrebleu` 2.6.0, `Tokenizer13a`.
    #[test]
    fn tokens_are_those_of_sacrebleu() {
        for (text, expected) in [
            ("Hello, world.", "Hello , world ."),
            ("It cost 1,000.50 on 3-4 May (2019)!", "It cost 1,000.50 on 3 - 4 May ( 2019 ) !"),
            ("well-known, 5.a and a.5; x,y", "well-known , 5 . a and a . 5 ; x , y"),
            (
                "don't \u{201e}quote\u{201c} &quot;this&quot; &amp;lt; &#39;",
                "don't \u{201e}quote\u{201c} \" this \" < & # 39 ;",
            ),
            ("a...b ,, .5. 7..8", "a . . . b , , . 5 . 7 . . 8"),
            ("hyphen-\nated\nlines <skipped>end-\n", "hyphenated lines end-"),
            ("@-@ [x]{y}~z^_`", "@ - @ [ x ] { y } ~ z ^ _ `"),
            ("a\u{a0}b\x1cc\u{200b}d", "a b c\u{200b}d"),
            (" \t\n", ""),
            ("", ""),
        ] {
            assert_eq!(tokens(text), expected, "{text:?}");
        }
    }
}
