//! The modules of a crate, and which file a path in its code leads to.

use std::collections::{BTreeMap, BTreeSet};

use syn::{Item, UseTree, Visibility};

use super::sources::{House, attributes, is_test};

/// The names from the crate's root to a module; empty for the root.
pub(crate) type ModulePath = Vec<String>;

/// One module: where it is and what its names are.
#[derive(Default)]
pub(crate) struct Module {
    /// The file that its items stand in.
    pub(crate) file: String,
    /// Names that are defined here.
    items: BTreeSet<String>,
    /// Names that are imported here, and from where.
    imports: Vec<Import>,
}

/// A name that a `use` brings in; `*` is every name.
#[derive(Clone)]
pub(crate) struct Import {
    pub(crate) name: String,
    pub(crate) path: Vec<String>,
    pub(crate) is_public: bool,
}

/// The modules of a crate.
pub(crate) struct Modules(pub(crate) BTreeMap<ModulePath, Module>);

/// Target of a path.
#[derive(Debug, PartialEq)]
pub(crate) enum Target {
    Module(ModulePath),
    /// An item in this file.
    File(String),
    /// A name of another crate that is handed on here.
    Foreign,
}

impl Modules {
    /// Follows `mod` declarations from a crate's root file.
    pub(crate) fn of(house: &House, root: &str) -> Modules {
        let mut modules = Modules(BTreeMap::new());
        let (folder, _) = root.rsplit_once('/').unwrap();
        modules.add(house, vec![], root, folder);
        modules
    }

    fn add(&mut self, house: &House, path: ModulePath, file: &str, folder: &str) {
        self.add_items(house, path, file, folder, &house.sources[file].syntax.items);
    }

    fn add_items(&mut self, house: &House, path: ModulePath, file: &str, folder: &str, items: &[Item]) {
        let mut module = Module { file: file.to_owned(), ..Module::default() };
        for item in items.iter().filter(|item| !is_test(attributes(item))) {
            if let Item::Use(item) = item {
                let is_public = !matches!(item.vis, Visibility::Inherited);
                module.imports.extend(leaves(&item.tree, is_public));
            }
            if let Item::Mod(inner) = item {
                let name = inner.ident.to_string();
                let below = [path.as_slice(), std::slice::from_ref(&name)].concat();
                let folder = format!("{folder}/{name}");
                let candidates = [format!("{folder}.rs"), format!("{folder}/mod.rs")];
                match (&inner.content, candidates.iter().find(|file| house.sources.contains_key(*file))) {
                    (Some((_, items)), _) => self.add_items(house, below, file, &folder, items),
                    (None, Some(file)) => self.add(house, below, file, &folder),
                    // The rules do not cover generated files.
                    (None, None) => {}
                }
            }
            module.items.extend(name_of(item));
        }
        self.0.insert(path, module);
    }

    /// The modules right below one.
    pub(crate) fn children<'a>(&'a self, of: &'a ModulePath) -> impl Iterator<Item = &'a str> {
        let is_child = |path: &&ModulePath| path.len() == of.len() + 1 && path.starts_with(of);
        self.0.keys().filter(is_child).filter_map(|path| path.last().map(String::as_str))
    }

    /// Returns the target of the path `names`, written in module `from`. Returns `None` for paths of other crates and
    /// for unknown names.
    pub(crate) fn resolve(&self, from: &ModulePath, names: &[String]) -> Option<Target> {
        self.resolve_within(from, names, 8)
    }

    fn resolve_within(&self, from: &ModulePath, names: &[String], depth: usize) -> Option<Target> {
        let mut at = from.clone();
        let mut tail = names;
        let mut is_of_this_crate = false;
        while let Some((first, after)) = tail.split_first() {
            match first.as_str() {
                "crate" => at.clear(),
                "self" => {}
                "super" => {
                    at.pop()?;
                }
                _ => break,
            }
            is_of_this_crate = true;
            tail = after;
        }
        while let Some((name, after)) = tail.split_first() {
            match self.step(&at, name, depth) {
                Some(Target::Module(path)) => at = path,
                Some(target) => return Some(target),
                // A name that a macro makes stands where the module is.
                None if is_of_this_crate => return Some(Target::File(self.0.get(&at)?.file.clone())),
                None => return None,
            }
            is_of_this_crate = true;
            tail = after;
        }
        Some(Target::Module(at))
    }

    /// Returns the target of one name in a module.
    fn step(&self, at: &ModulePath, name: &str, depth: usize) -> Option<Target> {
        let below = [at.as_slice(), &[name.to_owned()]].concat();
        if self.0.contains_key(&below) {
            return Some(Target::Module(below));
        }
        let module = self.0.get(at)?;
        if module.items.contains(name) {
            return Some(Target::File(module.file.clone()));
        }
        let depth = depth.checked_sub(1)?;
        let import = module.imports.iter().find(|import| import.name == name);
        if let Some(import) = import {
            // A name from another crate, and not one of a module here that is called the same.
            let inner = import.path.first().is_some_and(|first| first != name || import.path.len() == 1);
            return self.resolve_within(at, &import.path, depth).filter(|_| inner).or(Some(Target::Foreign));
        }
        module.imports.iter().filter(|import| import.name == "*").find_map(|import| {
            match self.resolve_within(at, &import.path, depth)? {
                Target::Module(path) if path != *at => self.step(&path, name, depth),
                _ => None,
            }
        })
    }
}

/// Every name that a `use` brings in.
pub(crate) fn leaves(tree: &UseTree, is_public: bool) -> Vec<Import> {
    fn walk(tree: &UseTree, mut path: Vec<String>, is_public: bool, into: &mut Vec<Import>) {
        match tree {
            UseTree::Path(inner) => {
                path.push(inner.ident.to_string());
                walk(&inner.tree, path, is_public, into);
            }
            UseTree::Name(inner) if inner.ident == "self" => {
                into.push(Import { name: path.last().cloned().unwrap_or_default(), path, is_public });
            }
            UseTree::Name(inner) => {
                let name = inner.ident.to_string();
                path.push(name.clone());
                into.push(Import { name, path, is_public });
            }
            UseTree::Rename(inner) => {
                path.push(inner.ident.to_string());
                into.push(Import { name: inner.rename.to_string(), path, is_public });
            }
            UseTree::Glob(_) => into.push(Import { name: "*".to_owned(), path, is_public }),
            UseTree::Group(group) => {
                for inner in &group.items {
                    walk(inner, path.clone(), is_public, into);
                }
            }
        }
    }
    let mut imports = Vec::new();
    walk(tree, Vec::new(), is_public, &mut imports);
    imports
}

fn name_of(item: &Item) -> Option<String> {
    let ident = match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Macro(item) => item.ident.as_ref()?,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Union(item) => &item.ident,
        _ => return None,
    };
    Some(ident.to_string())
}
