//! A rule of the division, and the finding on it.

use lon_proto::text::few;

use super::facts::Facts;

/// One rule of the Network division.
#[derive(Debug)]
pub struct Rule {
    /// A stable word for programs.
    pub id: &'static str,
    /// The section of the rules, version 5: `3`, `6.2.1`, `Appendix B`.
    pub section: &'static str,
    /// The rounds whose settings and tables it is held against.
    pub rounds: &'static [&'static str],
    /// The demand of the rule, in words.
    pub asks: &'static str,
    pub judged: Judged,
    /// Looks at the facts.
    pub judge: fn(&Facts<'_>) -> Verdict,
}

/// When a rule can be judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judged {
    /// Before the run.
    Before,
    /// After the run.
    After,
    /// By the submitter's word only.
    Word,
}

/// The verdict on a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Kept,
    /// It is kept, since it asks for nothing here.
    KeptBecause(&'static str),
    /// It is broken, and by what.
    Broken(String),
    /// It cannot be judged from here, or not yet, and why.
    Unchecked(String),
}

/// A rule, and what is found of it.
#[derive(Clone, Debug)]
pub struct Finding {
    pub rule: &'static Rule,
    pub verdict: Verdict,
}

impl Judged {
    /// As results have it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Judged::Before => "before",
            Judged::After => "after",
            Judged::Word => "word",
        }
    }
}

impl Verdict {
    /// As results have it.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Verdict::Kept | Verdict::KeptBecause(_) => "kept",
            Verdict::Broken(_) => "broken",
            Verdict::Unchecked(_) => "not checked",
        }
    }

    /// Why the rule is broken, not checked, or kept without a look.
    pub(crate) fn why(&self) -> Option<&str> {
        match self {
            Verdict::Kept => None,
            Verdict::KeptBecause(why) => Some(why),
            Verdict::Broken(why) | Verdict::Unchecked(why) => Some(why),
        }
    }

    /// Broken by all of these together; kept when there are none.
    pub(super) fn of(faults: impl IntoIterator<Item = String>) -> Verdict {
        let faults: Vec<String> = faults.into_iter().collect();
        if faults.is_empty() { Verdict::Kept } else { Verdict::Broken(few(&faults, "; ")) }
    }

    pub(super) fn broken(why: impl Into<String>) -> Verdict {
        Verdict::Broken(why.into())
    }

    pub(super) fn unchecked(why: impl Into<String>) -> Verdict {
        Verdict::Unchecked(why.into())
    }
}
