//! Which file of a crate uses which: by `use`, by paths in the code, and by paths inside macros and attributes.
//!
//! A `mod` declaration is no arrow, and neither is a `pub use` of a module's own children: a name is looked for where
//! it is defined. Code that is only there in tests is left out.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Ident, TokenStream};
use syn::visit::{self, Visit};
use syn::{Attribute, Item, ItemMod, ItemUse, Macro, Path, Visibility};

use super::modules::{ModulePath, Modules, Target, leaves};
use super::sources::{House, attributes, is_test, paths};

/// The arrows of a crate: from file to file, each with one of the names that it is there for.
pub(crate) type Arrows = BTreeMap<(String, String), String>;

/// The arrows of the crate that begins at `root`.
pub(crate) fn of_crate(house: &House, root: &str) -> Arrows {
    let modules = Modules::of(house, root);
    let mut arrows = Arrows::new();
    let files: BTreeMap<&str, &ModulePath> = modules
        .0
        .iter()
        .rev()
        .map(|(path, module)| (module.file.as_str(), path))
        // The module that a file begins with is the shortest of those in it, which comes last.
        .collect();
    for (file, path) in files {
        let mut reader = Reader { modules: &modules, at: path.clone(), file, arrows: &mut arrows };
        reader.visit_file(&house.sources[file].syntax);
    }
    arrows
}

struct Reader<'a> {
    modules: &'a Modules,
    at: ModulePath,
    file: &'a str,
    arrows: &'a mut Arrows,
}

impl Reader<'_> {
    fn uses(&mut self, names: &[String]) {
        if let Some(Target::File(file)) = self.modules.resolve(&self.at, names) {
            self.add(file, names);
        }
    }

    fn add(&mut self, file: String, names: &[String]) {
        if file != self.file {
            self.arrows.entry((self.file.to_owned(), file)).or_insert_with(|| names.join("::"));
        }
    }

    /// Paths in tokens that are not parsed.
    fn tokens(&mut self, tokens: TokenStream) {
        for path in paths(tokens) {
            self.uses(&path.iter().map(Ident::to_string).collect::<Vec<_>>());
        }
    }
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        if !is_test(attributes(item)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        self.at.push(item.ident.to_string());
        if item.content.is_some() {
            visit::visit_item_mod(self, item);
        }
        self.at.pop();
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        let is_public = !matches!(item.vis, Visibility::Inherited);
        for import in leaves(&item.tree, is_public) {
            let target = self.modules.resolve(&self.at, &import.path);
            match target {
                Some(Target::Module(path)) if import.name == "*" => {
                    if let Some(module) = self.modules.0.get(&path).filter(|_| !import.is_public) {
                        self.add(module.file.clone(), &import.path);
                    }
                }
                Some(Target::File(file)) => {
                    let is_own = import.is_public && is_below(self.modules, &self.at, &file);
                    if !is_own {
                        self.add(file, &import.path);
                    }
                }
                _ => {}
            }
        }
    }

    fn visit_path(&mut self, path: &'ast Path) {
        let names: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        self.uses(&names);
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, invocation: &'ast Macro) {
        self.tokens(invocation.tokens.clone());
        visit::visit_macro(self, invocation);
    }

    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        match &attribute.meta {
            syn::Meta::List(list) => self.tokens(list.tokens.clone()),
            _ => visit::visit_attribute(self, attribute),
        }
    }

    fn visit_visibility(&mut self, _: &'ast Visibility) {}
}

/// Returns true when a file belongs to a module below this one.
fn is_below(modules: &Modules, at: &ModulePath, file: &str) -> bool {
    modules.0.iter().any(|(path, module)| module.file == file && path.len() > at.len() && path.starts_with(at))
}

/// The circles among arrows: sets of files of which each leads to each.
pub(crate) fn circles(arrows: &Arrows) -> Vec<BTreeSet<String>> {
    let mut below: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (from, to) in arrows.keys() {
        below.entry(from).or_default().push(to);
        below.entry(to).or_default();
    }
    let reached = |file| {
        let mut reachable = BTreeSet::new();
        let mut open = vec![file];
        while let Some(at) = open.pop() {
            open.extend(below[at].iter().copied().filter(|to| reachable.insert(*to)));
        }
        reachable
    };
    let files: Vec<&str> = below.keys().copied().collect();
    let reach: BTreeMap<&str, BTreeSet<&str>> = files.iter().map(|file| (*file, reached(*file))).collect();
    let circle = |file: &&str| -> BTreeSet<String> {
        let back = |other: &&&str| reach[**other].contains(file);
        reach[file].iter().filter(back).map(|other| (*other).to_owned()).collect()
    };
    let mut groups: Vec<BTreeSet<String>> = files.iter().map(circle).filter(|circle| circle.len() > 1).collect();
    groups.sort();
    groups.dedup();
    groups
}

/// A fault for each circle of files, with the arrows that make it.
///
/// Unless `strict`, a file may use what the head of its own folder defines (`x.rs` or `x/mod.rs` for all that lies
/// below `x`), and the head may use its files: a trait in the head, its kinds below, and the choice among them in the
/// head. The root of a crate is no such head.
pub(crate) fn circle_faults(house: &House, strict: bool) -> Vec<String> {
    let mut faults = Vec::new();
    for (folder, root) in house.crates() {
        let mut arrows = of_crate(house, &root);
        arrows.retain(|(from, to), _| strict || !is_own_head(from, to));
        for circle in circles(&arrows) {
            let inside = arrows.iter().filter(|((from, to), _)| circle.contains(from) && circle.contains(to));
            let lines: Vec<String> =
                inside.map(|((from, to), name)| format!("\n    {from} -> {to} ({name})")).collect();
            faults.push(format!("{folder}: a circle of {} files:{}", circle.len(), lines.concat()));
        }
    }
    faults
}

fn is_own_head(file: &str, head: &str) -> bool {
    let folder = head.strip_suffix("/mod.rs").or(head.strip_suffix(".rs"));
    folder.and_then(|folder| file.strip_prefix(folder)).is_some_and(|tail| tail.starts_with('/'))
}

#[test]
fn a_circle_of_files_is_found() {
    let circle = House::made_up(&[
        ("a/src/lib.rs", "mod one; mod two; pub use one::One;"),
        ("a/src/one.rs", "use crate::two::Two; pub struct One(Two);"),
        ("a/src/two.rs", "pub struct Two; fn f() { let _ = vec![crate::One::new()]; }"),
    ]);
    let faults = circle_faults(&circle, false);
    assert!(faults.len() == 1 && faults[0].contains("a circle of 2 files"), "{faults:?}");
    let straight = House::made_up(&[
        ("a/src/lib.rs", "mod one; mod two; pub use one::One;"),
        ("a/src/one.rs", "use crate::two::{self, Two}; pub struct One(Two); fn f() { two::f(); }"),
        ("a/src/two.rs", "pub struct Two; pub fn f() {} #[cfg(test)] mod tests { use crate::One; }"),
    ]);
    assert_eq!(circle_faults(&straight, true), Vec::<String>::new());
    let head = House::made_up(&[
        ("a/src/lib.rs", "mod kinds;"),
        ("a/src/kinds/mod.rs", "mod one; pub trait Kind {} pub fn make() -> impl Kind { one::One }"),
        ("a/src/kinds/one.rs", "pub struct One; impl super::Kind for One {}"),
    ]);
    assert_eq!((circle_faults(&head, false).len(), circle_faults(&head, true).len()), (0, 1));
}

#[test]
fn arrows_lead_to_where_a_name_is_defined() {
    let house = House::made_up(&[
        ("a/src/lib.rs", "mod inner; mod user; mod attr; pub use inner::Deep;"),
        ("a/src/inner/mod.rs", "mod deep; pub use deep::Deep; pub(crate) use deep::helper; pub const N: u8 = 1;"),
        ("a/src/inner/deep.rs", "use super::N; pub struct Deep([u8; N as usize]); pub fn helper() {}"),
        ("a/src/user.rs", "use crate::inner; use serde::Serialize; fn f() { inner::helper(); std::fs::read(); }"),
        ("a/src/attr.rs", "#[error(\"{}\", crate::user::f())] struct E; fn g() { println!(\"{}\", crate::Deep); }"),
    ]);
    let arrows = of_crate(&house, "a/src/lib.rs");
    let short = |path: &str| path.trim_start_matches("a/src/").to_owned();
    let pairs: Vec<(String, String)> = arrows.keys().map(|(from, to)| (short(from), short(to))).collect();
    let expected = [
        ("attr.rs", "inner/deep.rs"),
        ("attr.rs", "user.rs"),
        ("inner/deep.rs", "inner/mod.rs"),
        ("user.rs", "inner/deep.rs"),
    ];
    assert_eq!(pairs, expected.map(|(from, to)| (from.to_owned(), to.to_owned())));
}
