//! The rooms of each crate: what may use what.
//!
//! A room is a folder or a file right below a crate's `src`, its tests left out. A room may use rooms on lower floors
//! only.

use super::arrows;
use super::sources::House;
use super::table::Row;

/// Arrows between rooms of a crate that do not lead down, and rooms that stand on no floor.
pub(crate) fn upward(house: &House, rows: &[Row]) -> Vec<String> {
    let mut faults = Vec::new();
    for (folder, root) in house.crates() {
        // Fixtures of the whole-system tests.
        if folder == "tests" {
            continue;
        }
        let Some(Row { floors, .. }) = rows.iter().find(|row| row.folders.contains(&folder)) else {
            faults.push(format!("{folder} is not in the table"));
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
            _ => floors.iter().position(|floor| floor.iter().any(|name| name == room)).map(|at| at + 1),
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
        for room in floors.iter().flatten() {
            if !house.sources.keys().any(|path| own(path) && room_of(path) == *room) {
                faults.push(format!("{folder}: the table names '{room}', which is not there"));
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

#[test]
fn an_arrow_that_leads_up_is_found() {
    use super::table::rows;
    let house = House::made_up(&[
        ("a/src/lib.rs", "mod high; mod low; mod odd; pub use low::Low;"),
        ("a/src/high/mod.rs", "mod part; pub struct High; fn f() { crate::low::g(); part::h(); }"),
        ("a/src/high/part.rs", "pub fn h() {}"),
        ("a/src/low.rs", "pub struct Low(crate::high::High); pub fn g() {}"),
        ("a/src/odd.rs", ""),
    ]);
    let faults = upward(&house, &rows("| `a` | x | high > low, gone | |"));
    let expected = [
        "a: room 'odd' stands on no floor",
        "a: the table names 'gone', which is not there",
        "a: a/src/low.rs -> a/src/high/mod.rs (crate::high::High) leads from floor 2 to floor 1",
    ];
    assert_eq!(faults, expected);
    assert_eq!(upward(&house, &[]), ["a is not in the table"]);
}
