//! Two lists of names and texts, held against each other line by line.

use std::collections::{BTreeMap, BTreeSet};

use super::quantity::{Agreement, Part, Quantity, WITHIN};

/// Names and texts, in the order of a log. No name is there twice.
pub(super) type Lines = Vec<(String, String)>;

/// Stands in a summary before each line that this program adds: marks of a run of its own.
pub const MARK: &str = "Mark: ";

/// Why a quantity that a filling decides is unchecked.
pub const UNKNOWN: &str = "the logs do not have what it follows from";
/// Why a quantity that other ones were worked out from is unchecked.
pub const TAKEN: &str = "taken as it is logged; the latencies that it follows from are not in the logs";

/// Distance from all fillings beyond which a number is without doubt another one, as a share.
const FAR: f64 = 0.01;

/// Lines of this engine, in all ways that the logs allow.
pub(super) struct Ours {
    /// For each filling of what is unknown, the lines by the earliest and by the latest start of the phase.
    pub(super) fillings: Vec<Vec<Lines>>,
    /// Names whose texts were taken from the log.
    pub(super) taken: BTreeSet<String>,
    /// Names of verdicts that are uncertain, though all fillings may come to the same one.
    pub(super) uncertain: &'static [&'static str],
}

impl Ours {
    /// Lines that follow from the settings alone; with several, those between the first and the last are right, too.
    pub(super) fn certain(ends: Vec<Lines>) -> Ours {
        Ours { fillings: vec![ends], taken: BTreeSet::new(), uncertain: &[] }
    }
}

/// Holds the official lines against ours.
pub(super) fn compare(part: Part, official: &Lines, ours: &Ours) -> Vec<Quantity> {
    let texts = |lines: &Lines| lines.iter().cloned().collect::<BTreeMap<String, String>>();
    let by_name = ours.fillings.iter().map(|filling| filling.iter().map(texts).collect()).collect();
    let table = Table { part, ours, by_name };
    let official_names: BTreeSet<&str> = official.iter().map(|(name, _)| name.as_str()).collect();
    let first = ours.fillings.first().and_then(|filling| filling.first());
    let others = first.into_iter().flatten().filter(|(name, _)| !official_names.contains(name.as_str()));
    let mut quantities: Vec<Quantity> =
        official.iter().map(|(name, text)| table.quantity(name, Some(text.as_str()))).collect();
    quantities.extend(others.map(|(name, _)| table.quantity(name, None)));
    // A line without a value says nothing where both have it.
    let says_nothing = |q: &Quantity| q.agreement != Agreement::Differs && q.official.as_deref() == Some("");
    quantities.retain(|quantity| !says_nothing(quantity));
    quantities
}

struct Table<'a> {
    part: Part,
    ours: &'a Ours,
    by_name: Vec<Vec<BTreeMap<String, String>>>,
}

impl Table<'_> {
    fn quantity(&self, name: &str, official: Option<&str>) -> Quantity {
        let text_of = |lines: &BTreeMap<String, String>| lines.get(name).cloned();
        let by_filling: Vec<Vec<Option<String>>> =
            self.by_name.iter().map(|filling| filling.iter().map(text_of).collect()).collect();
        let quantity = |ours: Option<String>, agreement, note: Option<&str>| Quantity {
            part: self.part,
            name: name.to_owned(),
            official: official.map(str::to_owned),
            ours,
            agreement,
            note: note.map(str::to_owned),
        };
        let Some((first, others)) = by_filling.split_first() else {
            return quantity(None, Agreement::Unchecked, Some(UNKNOWN));
        };
        if others.iter().any(|other| other != first) || self.ours.uncertain.contains(&name) {
            return match span(by_filling.iter().flatten()) {
                Some((least, most)) if number(official).is_some_and(|official| is_far(official, least, most)) => {
                    quantity(Some(format!("{least} to {most}")), Agreement::Differs, None)
                }
                _ => quantity(None, Agreement::Unchecked, Some(UNKNOWN)),
            };
        }
        let is_one = first.iter().all(|text| *text == first[0]);
        let same = first.iter().any(|text| text.as_deref() == official) || (!is_one && is_between(official, first));
        // Only numbers lie between two ends; of texts either end would do, and none is known.
        let are_numbers = first.iter().all(|text| number(text.as_deref()).is_some());
        if !is_one && same && !are_numbers {
            return quantity(None, Agreement::Unchecked, Some(UNKNOWN));
        }
        let note = if is_one { None } else { Some(WITHIN) };
        match (same, self.ours.taken.contains(name)) {
            (true, true) => quantity(None, Agreement::Unchecked, Some(TAKEN)),
            (true, false) => quantity(range_text(first), Agreement::Same, note),
            (false, _) => quantity(range_text(first), Agreement::Differs, None),
        }
    }
}

/// The least and the largest of these, where all are numbers.
fn span<'a>(texts: impl Iterator<Item = &'a Option<String>>) -> Option<(f64, f64)> {
    let numbers: Option<Vec<f64>> = texts.map(|text| number(text.as_deref())).collect();
    let numbers = numbers?;
    Some((numbers.iter().copied().reduce(f64::min)?, numbers.iter().copied().reduce(f64::max)?))
}

/// Returns true when a number is far from all results of the fillings. Far is more than a hundredth, since the fillings
/// are not all that is possible.
fn is_far(official: f64, least: f64, most: f64) -> bool {
    official < least - FAR * least.abs() || official > most + FAR * most.abs()
}

fn number(text: Option<&str>) -> Option<f64> {
    text?.parse().ok().filter(|number: &f64| !number.is_nan())
}

/// Returns true when a number lies between the least and the largest number of this engine.
fn is_between(official: Option<&str>, ours: &[Option<String>]) -> bool {
    let Some(official) = number(official) else { return false };
    let numbers: Option<Vec<f64>> = ours.iter().map(|text| number(text.as_deref())).collect();
    numbers.is_some_and(|all| all.iter().any(|one| *one <= official) && all.iter().any(|one| *one >= official))
}

/// Ours in one text: from the first to the last, where they are not the same.
fn range_text(ours: &[Option<String>]) -> Option<String> {
    let (first, last) = (ours.first()?.as_deref(), ours.last()?.as_deref());
    match (first, last) {
        (first, last) if first == last => first.map(str::to_owned),
        (first, last) => Some(format!("{} to {}", first.unwrap_or("nothing"), last.unwrap_or("nothing"))),
    }
}

/// The lines of a text as names and values; what stands before `: ` is the name. In a sentence the numbers are the
/// value, and stand as `#` in the name. A name that comes again has a number.
///
/// Lines that this program adds to a summary of its own runs are left out: no LoadGen has them.
pub(super) fn lines_of(text: &str) -> Lines {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    text.lines()
        .filter(|line| !line.is_empty() && !line.starts_with(MARK))
        .map(|line| {
            let (name, value) = match line.split_once(": ") {
                Some((name, value)) => (name.trim().to_owned(), value.to_owned()),
                None => counted(line).unwrap_or_else(|| sentence(line)),
            };
            let times = counts.entry(name.clone()).or_default();
            *times += 1;
            let name = if *times > 1 { format!("{name} ({times})") } else { name };
            (name, value)
        })
        .collect()
}

/// A line that counts warnings or errors, in the words for none, for one or for several.
fn counted(line: &str) -> Option<(String, String)> {
    let (count, kind) = line.trim().split_once(" encountered")?.0.split_once(' ')?;
    let kind = kind.to_lowercase();
    let kind = ["warning", "error"].into_iter().find(|name| kind.trim_end_matches('s') == *name)?;
    let count = if count == "No" { "0" } else { count };
    Some((format!("{kind}s encountered"), count.to_owned()))
}

/// A line without a label: its words, and its numbers.
fn sentence(line: &str) -> (String, String) {
    let is_number = |word: &&str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
    let words: Vec<&str> = line.trim().split(' ').collect();
    let numbers: Vec<&str> = words.iter().copied().filter(is_number).collect();
    let name: Vec<&str> = words.iter().map(|word| if is_number(word) { "#" } else { word }).collect();
    (name.join(" "), numbers.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(of: &[(&str, &str)]) -> Lines {
        of.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
    }

    fn agreements(official: &[(&str, &str)], fillings: &[&[&[(&str, &str)]]], taken: &[&str]) -> Vec<Agreement> {
        let fillings = fillings.iter().map(|filling| filling.iter().map(|of| lines(of)).collect()).collect();
        let taken = taken.iter().map(|name| (*name).to_owned()).collect();
        let ours = Ours { fillings, taken, uncertain: &["verdict"] };
        compare(Part::Results, &lines(official), &ours).into_iter().map(|quantity| quantity.agreement).collect()
    }

    #[test]
    fn texts_agree_to_the_digit_or_lie_between_two_ends() {
        use Agreement::{Differs, Same, Unchecked};
        let one: &[&[&[(&str, &str)]]] = &[&[&[("a", "1.5"), ("verdict", "x")]]];
        assert_eq!(agreements(&[("a", "1.5"), ("verdict", "x")], one, &[]), [Same, Unchecked]);
        assert_eq!(agreements(&[("a", "1.50"), ("verdict", "x")], one, &["a"]), [Differs, Unchecked]);
        let ends: &[&[&[(&str, &str)]]] = &[&[&[("a", "9")], &[("a", "11")]]];
        assert_eq!(agreements(&[("a", "10")], ends, &[]), [Same]);
        assert_eq!(agreements(&[("a", "12")], ends, &[]), [Differs]);
        assert_eq!(agreements(&[("a", "10")], ends, &["a"]), [Unchecked]);
    }

    #[test]
    fn what_fillings_decide_is_unchecked_and_what_one_side_lacks_differs() {
        use Agreement::{Differs, Same, Unchecked};
        let two: &[&[&[(&str, &str)]]] = &[&[&[("a", "1"), ("b", "2")]], &[&[("a", "3"), ("b", "2")]]];
        assert_eq!(agreements(&[("a", "1"), ("b", "2")], two, &[]), [Unchecked, Same]);
        assert_eq!(agreements(&[("c", "1"), ("b", "2")], two, &[]), [Differs, Same, Unchecked]);
    }

    #[test]
    fn lines_have_names_and_repeated_ones_numbers() {
        let entries = lines_of("A : 1\n\nTitle\nA : 2\nttft (ns): 3\n * At least 17 more queries,\n");
        let sentence = ("* At least # more queries,", "17");
        assert_eq!(entries, lines(&[("A", "1"), ("Title", ""), ("A (2)", "2"), ("ttft (ns)", "3"), sentence]));
        for (line, name, count) in [
            ("No warnings encountered during test.", "warnings", "0"),
            ("1 warning encountered. See detailed log.", "warnings", "1"),
            ("2 warnings encountered. See detailed log.", "warnings", "2"),
            ("No errors encountered during test.", "errors", "0"),
            ("12 ERRORS encountered. See detailed log.", "errors", "12"),
        ] {
            assert_eq!(lines_of(line), lines(&[(&format!("{name} encountered"), count)]));
        }
    }

    #[test]
    fn what_is_far_from_all_fillings_differs() {
        // A rate of 147.605 in the detail log is 147.60 or 147.61 in the summary.
        for (official, fillings, expected) in [
            ("147.61", ["147.60", "147.61"], Agreement::Unchecked),
            ("148", ["147.60", "147.61"], Agreement::Unchecked),
            ("947.61", ["147.60", "147.61"], Agreement::Differs),
            ("14.76", ["147.60", "147.61"], Agreement::Differs),
            ("5", ["0", "inf"], Agreement::Unchecked),
            ("VALID", ["147.60", "147.61"], Agreement::Unchecked),
            ("7", ["VALID", "INVALID"], Agreement::Unchecked),
        ] {
            let [least, most] = fillings.map(|text| [("a rate", text)]);
            assert_eq!(agreements(&[("a rate", official)], &[&[&least], &[&most]], &[]), [expected], "{official}");
        }
    }
}
