//! Compares answers to questions about long contexts, as MLPerf's script for Llama 3.1 405B does
//! (`language/llama3.1-405b/evaluate-accuracy.py`). The part of a sample says by which rule:
//!
//! - `niah_em`: identifiers that are hidden in the context, such as `6b1f0c2d-...`, are to be repeated;
//! - `qa_em`: a question has one right answer, or several with `|` between.

use super::words::is_space;

/// The words before the answer that counts.
const BEFORE: &str = "Answer: ";
/// The lengths of the groups of an identifier, with dashes between.
const GROUPS: [usize; 5] = [8, 4, 4, 4, 12];

/// The rules, by the names that the official dataset has for them.
const RULES: [(&str, Rule); 2] = [("niah_em", identifiers), ("qa_em", answer)];

/// Gives points from 0 to 1 to a text, by a right text.
type Rule = fn(&str, &str) -> f64;

/// Tells whether a part of a dataset has a rule here.
pub fn has_rule(part: &str) -> bool {
    rule(part).is_some()
}

/// Returns the points for a text, from 0 to 1: the most over the right texts. None: the part has no rule.
pub fn points(part: &str, text: &str, right: &[String]) -> Option<f64> {
    let (rule, text) = (rule(part)?, text.trim_matches(is_space));
    Some(right.iter().map(|right| rule(text, right.trim_matches(is_space))).fold(0.0, f64::max))
}

fn rule(part: &str) -> Option<Rule> {
    RULES.iter().find(|(name, _)| *name == part).map(|(_, rule)| *rule)
}

/// The identifiers of a text, in pairs with the right ones in their order. Each gives the share of the right one's
/// characters that it has, wherever; those that the text has too many give nothing. The script rounds to a hundredth
/// of a percent.
fn identifiers(text: &str, right: &str) -> f64 {
    let (answer_ids, right_ids) = (identifiers_in(text), identifiers_in(right));
    if answer_ids.is_empty() {
        return 0.0;
    }
    let share = |(answer_id, right_id): (&String, &String)| {
        let has = right_id.chars().filter(|c| answer_id.contains(*c)).count();
        has as f64 / right_id.chars().count() as f64
    };
    let percent = answer_ids.iter().zip(&right_ids).map(share).sum::<f64>() / answer_ids.len() as f64 * 100.0;
    format!("{percent:.2}").parse::<f64>().unwrap_or(percent) / 100.0
}

/// The identifiers in a text in lower case, none of which overlap.
fn identifiers_in(text: &str) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    let (mut ids, mut at) = (Vec::new(), 0);
    while at < chars.len() {
        match identifier_end(&chars[at..]) {
            Some(len) => {
                ids.push(chars[at..at + len].iter().collect::<String>().to_lowercase());
                at += len;
            }
            None => at += 1,
        }
    }
    ids
}

/// The length of the identifier with which a text starts.
fn identifier_end(text: &[char]) -> Option<usize> {
    let mut end = 0;
    for (number, len) in GROUPS.into_iter().enumerate() {
        if number > 0 {
            text.get(end).filter(|c| **c == '-')?;
            end += 1;
        }
        text.get(end..end + len)?.iter().all(|c| c.is_alphanumeric() || *c == '_').then_some(())?;
        end += len;
    }
    Some(end)
}

/// 1 where what follows the last `Answer: ` is a piece of the right text, or has one of the right answers in it without
/// case and blanks.
fn answer(text: &str, right: &str) -> f64 {
    let choice = text.rsplit_once(BEFORE).map_or(text, |(_, behind)| behind);
    if right.contains(choice) {
        return 1.0;
    }
    let choice = bare(choice);
    f64::from(right.split('|').any(|right| choice.contains(&bare(right))))
}

/// A text in lower case and without blanks.
fn bare(text: &str) -> String {
    text.chars().filter(|c| !is_space(*c)).collect::<String>().to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "0a1b2c3d-0000-1111-2222-0123456789ab";
    const OTHER: &str = "ffffffff-ffff-ffff-ffff-ffffffffffff";

    fn of(part: &str, text: &str, right: &str) -> f64 {
        points(part, text, &[right.to_owned()]).unwrap()
    }

    /// Source: `niah_em` of the script: it goes over the characters of each right identifier.
    #[test]
    fn identifiers_by_hand() {
        let is = |text: &str, right: &str, expected: f64| {
            let points = of("niah_em", text, right);
            assert!((points - expected).abs() < 1e-12, "{text}: {points}");
        };
        is(&format!("The value is {}.", ONE.to_uppercase()), ONE, 1.0);
        is("none", ONE, 0.0);
        // Of 36 characters it has the 4 dashes alone.
        is(OTHER, ONE, 0.1111);
        is(&format!("{ONE}, {OTHER}"), &format!("{ONE}\n{OTHER}"), 1.0);
        // Twice as many as there are right ones: half of them give nothing.
        is(&format!("{ONE} {ONE}"), ONE, 0.5);
        // One of two is enough where the second is not given.
        is(ONE, &format!("{ONE} {OTHER}"), 1.0);
        is(&format!("x{ONE}y"), ONE, 1.0);
        is(&ONE[1..], ONE, 0.0);
    }

    /// Source: `qa_em` of the script.
    #[test]
    fn answers_by_hand() {
        let is_right = |text: &str, right: &str| of("qa_em", text, right) == 1.0;
        assert!(is_right("thinking. Answer: no. Answer: The Moon", "the moon|Luna"));
        assert!(is_right("Answer: it is LU NA, I think", "the moon|Luna"));
        assert!(!is_right("Luna. Answer: the sun", "the moon|Luna"));
        assert!(is_right("so it is the\nmoon", "The Moon"), "without the words the whole text counts");
        // A piece of the right text, as it is written there; nothing is a piece of every text.
        assert!(is_right("Answer: oo", "the moon") && !is_right("Answer: OO", "the moon"));
        assert!(is_right("", "the moon") && is_right("any", "the moon|"));
        assert!(!is_right("Answer:the sun", "the moon") && is_right("Answer: the moon \n", " the moon"));
    }

    #[test]
    fn parts_without_a_rule_have_no_points() {
        assert!(has_rule("niah_em") && has_rule("qa_em") && !has_rule("rouge"));
        assert_eq!(points("rouge", "a", &["a".to_owned()]), None);
        assert_eq!(points("qa_em", "a", &["b".to_owned(), "A".to_owned()]), Some(1.0));
    }
}
