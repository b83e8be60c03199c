//! The crates: what each may use of ours, as the table of ARCHITECTURE.md has it.

use std::collections::BTreeSet;

use super::sources::House;
use super::table::Row;

/// Dependencies between our packages that the table does not have, and those that it has and are not there.
/// Dependencies of tests alone do not count.
pub(crate) fn wrong_dependencies(house: &House, rows: &[Row]) -> Vec<String> {
    let name_of = |folder: &str| house.manifests.get(folder).and_then(|manifest| manifest["package"]["name"].as_str());
    let row_of = |folder: &str| rows.iter().find(|row| row.folders.iter().any(|name| name == folder));
    let folder_of = |name: &str| house.manifests.keys().find(|folder| name_of(folder) == Some(name));
    let mut faults = Vec::new();
    for (folder, manifest) in &house.manifests {
        let Some(row) = row_of(folder) else {
            faults.push(format!("{folder} is not in the table"));
            continue;
        };
        let dependencies = manifest.get("dependencies").and_then(|table| table.as_table());
        let direct: Vec<&str> = dependencies.into_iter().flat_map(|table| table.keys()).map(String::as_str).collect();
        let (mut allowed, mut waiting) = (BTreeSet::new(), row.uses.clone());
        while let Some(name) = waiting.pop() {
            let Some(used) = folder_of(&name) else { continue };
            if allowed.insert(name) {
                waiting.extend(row_of(used).into_iter().flat_map(|row| row.uses.clone()));
            }
        }
        let is_ours = |name: &&&str| folder_of(name).is_some();
        let is_all = row.uses.iter().any(|word| word == "all");
        let unlisted = direct.iter().filter(is_ours).filter(|name| !is_all && !allowed.contains(**name));
        faults.extend(unlisted.map(|name| format!("{folder}/Cargo.toml must not depend on {name}")));
        let named = row.uses.iter().filter(|name| folder_of(name).is_some() && !is_all);
        let gone = named.filter(|name| !direct.contains(&name.as_str()));
        faults.extend(gone.map(|name| format!("{folder}: the table names {name}, which it does not use")));
    }
    faults
}

#[test]
fn a_dependency_that_is_not_in_the_table_is_found() {
    use super::table::rows;
    let house = House::made_up(&[
        ("a/Cargo.toml", "[package]\nname = \"aa\"\n[dependencies]\nbb.workspace = true\nserde = \"1\"\n"),
        ("b/Cargo.toml", "[package]\nname = \"bb\"\n[dev-dependencies]\naa = { path = \"../a\" }\n"),
    ]);
    assert_eq!(wrong_dependencies(&house, &rows("| `a` (aa) | x | y | bb |\n| `b` (bb) | x | | |")), [""; 0]);
    assert_eq!(
        wrong_dependencies(&house, &rows("| `a` (aa) | x | y | |")),
        ["a/Cargo.toml must not depend on bb", "b is not in the table"]
    );
    let faults = wrong_dependencies(&house, &rows("| `a`, `c` | x | y | all |\n| `b` | x | | aa |"));
    assert_eq!(faults, ["b: the table names aa, which it does not use"]);
}
