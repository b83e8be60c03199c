//! The rooms of each crate: what may use what.
//!
//! A room is a folder or a file right below a crate's `src`, its tests left out. The floors of a crate stand in a list
//! from top to bottom; a room may use rooms on lower floors only.

use std::collections::BTreeSet;

use super::arrows;
use super::sources::House;

/// The floors of a crate, from top to bottom; each is the names of its rooms with blanks between them.
pub(crate) struct Floors {
    /// The package's folder.
    pub(crate) folder: &'static str,
    pub(crate) floors: &'static [&'static str],
}

/// Arrows between rooms of a crate that do not lead down, and rooms that stand on no floor.
pub(crate) fn upward(house: &House, crates: &[Floors]) -> Vec<String> {
    let mut faults = Vec::new();
    for (folder, root) in house.crates() {
        // Fixtures of the whole-system tests.
        if folder == "tests" {
            continue;
        }
        let Some(Floors { floors, .. }) = crates.iter().find(|floors| floors.folder == folder) else {
            faults.push(format!("{folder} has no list of rooms"));
            continue;
        };
        let prefix = format!("{folder}/src/");
        let room_of = |path: &str| -> String {
            let inner = path.strip_prefix(&prefix).unwrap_or(path);
            inner.split('/').next().unwrap_or(inner).trim_end_matches(".rs").to_owned()
        };
        // The root hands names on and may use everything.
        let floor_of = |room: &str| match room {
            "lib" | "main" => Some(0),
            _ => floors.iter().position(|floor| floor.split(' ').any(|name| name == room)).map(|at| at + 1),
        };
        let own =
            |path: &str| path.starts_with(&prefix) && !super::sources::is_test_file(path) && !path.contains("/bin/");
        for path in house.sources.keys().filter(|path| own(path)) {
            let room = room_of(path);
            let fault = format!("{folder}: room '{room}' stands on no floor");
            if floor_of(&room).is_none() && !faults.contains(&fault) {
                faults.push(fault);
            }
        }
        for floor in floors.iter().flat_map(|floor| floor.split(' ')) {
            if !house.sources.keys().any(|path| own(path) && room_of(path) == floor) {
                faults.push(format!("{folder}: the list of rooms names '{floor}', which is not there"));
            }
        }
        for ((from, to), name) in arrows::of_crate(house, &root) {
            let rooms = [room_of(&from), room_of(&to)];
            let [Some(above), Some(below)] = [floor_of(&rooms[0]), floor_of(&rooms[1])] else { continue };
            if rooms[0] != rooms[1] && above >= below {
                faults.push(format!("{folder}: {from} -> {to} ({name}) leads from floor {above} to floor {below}"));
            }
        }
    }
    faults
}

/// The rooms of each crate as they are: those of a line use only rooms on lines below, or each other in a circle.
pub(crate) fn as_they_are(house: &House) -> String {
    let mut lines = Vec::new();
    for (folder, root) in house.crates() {
        let prefix = format!("{folder}/src/");
        let room_of = |path: &str| {
            let inner = path.strip_prefix(&prefix).unwrap_or(path);
            inner.split('/').next().unwrap_or(inner).trim_end_matches(".rs").to_owned()
        };
        let arrows: BTreeSet<(String, String)> = arrows::of_crate(house, &root)
            .into_keys()
            .map(|(from, to)| (room_of(&from), room_of(&to)))
            .filter(|(from, to)| from != to && from != "lib" && from != "main")
            .collect();
        let mut rooms: BTreeSet<String> =
            house.of_crates().filter(|(path, _)| path.starts_with(&prefix)).map(|(path, _)| room_of(path)).collect();
        lines.push(format!("{folder}:"));
        while !rooms.is_empty() {
            let is_used = |room: &String| arrows.iter().any(|(from, to)| to == room && rooms.contains(from));
            let mut floor: Vec<String> = rooms.iter().filter(|room| !is_used(room)).cloned().collect();
            let is_circle = floor.is_empty();
            if is_circle {
                floor = rooms.iter().cloned().collect();
            }
            lines.push(format!("    {}{:?}", if is_circle { "CIRCLE AND BELOW " } else { "" }, floor.join(" ")));
            if is_circle {
                for (from, to) in arrows.iter().filter(|(from, to)| rooms.contains(from) && rooms.contains(to)) {
                    lines.push(format!("        {from} -> {to}"));
                }
            }
            rooms.retain(|room| !floor.contains(room));
        }
    }
    lines.join("\n")
}

#[test]
fn an_arrow_that_leads_up_is_found() {
    let house = House::made_up(&[
        ("a/src/lib.rs", "mod high; mod low; mod odd; pub use low::Low;"),
        ("a/src/high/mod.rs", "mod part; pub struct High; fn f() { crate::low::g(); part::h(); }"),
        ("a/src/high/part.rs", "pub fn h() {}"),
        ("a/src/low.rs", "pub struct Low(crate::high::High); pub fn g() {}"),
        ("a/src/odd.rs", ""),
    ]);
    let faults = upward(&house, &[Floors { folder: "a", floors: &["high", "low gone"] }]);
    let expected = [
        "a: room 'odd' stands on no floor",
        "a: the list of rooms names 'gone', which is not there",
        "a: a/src/low.rs -> a/src/high/mod.rs (crate::high::High) leads from floor 2 to floor 1",
    ];
    assert_eq!(faults, expected);
    assert_eq!(upward(&house, &[]), ["a has no list of rooms"]);
    assert_eq!(
        as_they_are(&house),
        "a:\n    \"lib odd\"\n    CIRCLE AND BELOW \"high low\"\n        high -> low\n        low -> high"
    );
}
