//! The sets that were loaded, against those that this engine draws for the settings by the rules of some release.

use super::detail_log::DetailLog;
use super::quantity::{Agreement, Part, Quantity};
use crate::mode::Mode;
use crate::plan::Plan;
use crate::settings::{IntegerRule, Profile, SetRule};

/// The key of a loaded set in the detail log.
const KEY: &str = "loaded_qsl_set";
/// Samples of a set that are shown.
const SHOWN: usize = 4;

/// Each logged set beside the set of the same phase. `integers` is the rule that draws have to follow; none: any that a
/// LoadGen can have. The first rules that explain all sets count, else those of the newest release.
pub(super) fn quantities(log: &DetailLog, plan: &Plan, integers: Option<IntegerRule>) -> Vec<Quantity> {
    // Of a search the first trial alone is known before.
    let most = if plan.effective().mode == Mode::FindPeakPerformance { 1 } else { usize::MAX };
    let logged: Vec<Vec<u64>> =
        log.all(KEY).take(most).map(|entry| serde_json::from_str(&entry.value).unwrap_or_default()).collect();
    let candidates = Profile::POSSIBLE
        .into_iter()
        .filter(|profile| integers.is_none_or(|rule| profile.integers == rule))
        .filter_map(|profile| {
            let plan = Plan::with_profile(plan.requested().clone(), plan.qsl(), profile).ok()?;
            Some((profile, sets(&plan)))
        });
    let mut first = None;
    for (profile, sets) in candidates {
        let sets = sets.into_iter().take(most).collect::<Vec<_>>();
        if sets == logged {
            return listed(&logged, &sets, profile);
        }
        first.get_or_insert((profile, sets));
    }
    first.map_or_else(Vec::new, |(profile, sets)| listed(&logged, &sets, profile))
}

fn sets(plan: &Plan) -> Vec<Vec<u64>> {
    plan.phases().iter().map(|phase| phase.set.indices.iter().map(|index| u64::from(index.0)).collect()).collect()
}

fn listed(logged: &[Vec<u64>], sets: &[Vec<u64>], profile: Profile) -> Vec<Quantity> {
    let of = |number: usize| {
        let (official, ours) = (logged.get(number), sets.get(number));
        let differs = official.zip(ours).and_then(|(one, other)| one.iter().zip(other).position(|(a, b)| a != b));
        let from = differs.unwrap_or_default();
        Quantity {
            part: Part::Traffic,
            name: name(number),
            official: official.map(|set| excerpt(set, from)),
            ours: ours.map(|set| excerpt(set, from)),
            agreement: if official == ours { Agreement::Same } else { Agreement::Differs },
            note: Some(format!("{}: {}", if official == ours { "drawn" } else { "compared with" }, rules(profile))),
        }
    };
    (0..logged.len().max(sets.len())).map(of).collect()
}

fn rules(profile: Profile) -> String {
    let from = match profile.set {
        SetRule::BelowPerformanceCount => "from the samples below the performance count",
        SetRule::WholeLibrary => "from the whole library",
    };
    format!("integers by {}, {from}", profile.integers.name())
}

/// The logged sets, where none can be drawn here.
pub(super) fn unchecked(log: &DetailLog, why: &str) -> Vec<Quantity> {
    let of = |(number, value): (usize, &str)| {
        let set: Vec<u64> = serde_json::from_str(value).unwrap_or_default();
        Quantity {
            part: Part::Traffic,
            name: name(number),
            official: Some(excerpt(&set, 0)),
            ours: None,
            agreement: Agreement::Unchecked,
            note: Some(why.to_owned()),
        }
    };
    log.all(KEY).map(|entry| entry.value.as_str()).enumerate().map(of).collect()
}

fn name(number: usize) -> String {
    if number == 0 { KEY.to_owned() } else { format!("{KEY} ({})", number + 1) }
}

/// A few samples of a set from a position on, and how many it has.
fn excerpt(set: &[u64], from: usize) -> String {
    let some: Vec<String> = set.iter().skip(from).take(SHOWN).map(ToString::to_string).collect();
    let place = if from == 0 { String::new() } else { format!("from {from} on ") };
    format!("{place}{}, ... ({} samples)", some.join(", "), set.len())
}
