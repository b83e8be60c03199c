//! The sources that the rules are checked on: those of the repository, or made-up ones for a rule's own test.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use lon_tests::process::repository;
use proc_macro2::{Ident, TokenStream, TokenTree};

/// Text and syntax of every Rust file, by its path from the repository's root; generated files are left out.
pub(crate) struct House {
    pub(crate) sources: BTreeMap<String, Source>,
    /// The manifests of the packages, by the folder of the package.
    pub(crate) manifests: BTreeMap<String, toml::Table>,
}

pub(crate) struct Source {
    pub(crate) text: String,
    pub(crate) syntax: syn::File,
}

impl House {
    /// The repository as it is.
    pub(crate) fn here() -> House {
        let mut house = House { sources: BTreeMap::new(), manifests: BTreeMap::new() };
        let root = repository("");
        let workspace: toml::Table = fs::read_to_string(root.join("Cargo.toml")).unwrap().parse().unwrap();
        for member in workspace["workspace"]["members"].as_array().unwrap() {
            let folder = member.as_str().unwrap();
            let manifest = fs::read_to_string(root.join(folder).join("Cargo.toml")).unwrap();
            house.manifests.insert(folder.to_owned(), manifest.parse().unwrap());
            house.collect(&root, &root.join(folder));
        }
        house
    }

    /// A house of these files; each is a path and its text.
    pub(crate) fn made_up(files: &[(&str, &str)]) -> House {
        let mut house = House { sources: BTreeMap::new(), manifests: BTreeMap::new() };
        for (path, text) in files {
            match path.strip_suffix("/Cargo.toml") {
                Some(folder) => {
                    house.manifests.insert(folder.to_owned(), text.parse().unwrap());
                }
                None => house.add((*path).to_owned(), (*text).to_owned()),
            }
        }
        house
    }

    fn add(&mut self, path: String, text: String) {
        let syntax = syn::parse_file(&text).unwrap_or_else(|error| panic!("{path}: {error}"));
        self.sources.insert(path, Source { text, syntax });
    }

    fn collect(&mut self, root: &Path, folder: &Path) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() && !["target", "gen", "fuzz"].contains(&name.as_str()) {
                self.collect(root, &path);
            } else if name.ends_with(".rs") {
                let relative = path.strip_prefix(root).unwrap().to_string_lossy().into_owned();
                self.add(relative, fs::read_to_string(&path).unwrap());
            }
        }
    }

    /// The folders of the packages whose crate has a root file, and that file.
    pub(crate) fn crates(&self) -> Vec<(String, String)> {
        let folders: std::collections::BTreeSet<&str> =
            self.sources.keys().filter_map(|path| path.split_once("/src/").map(|(folder, _)| folder)).collect();
        let root = |folder: &str| {
            let roots = ["lib.rs", "main.rs"].map(|name| format!("{folder}/src/{name}"));
            roots.into_iter().find(|root| self.sources.contains_key(root))
        };
        folders.into_iter().filter_map(|folder| Some((folder.to_owned(), root(folder)?))).collect()
    }

    /// The root files of test targets that the manifests name.
    pub(crate) fn test_targets(&self) -> Vec<String> {
        let targets = |(folder, manifest): (&String, &toml::Table)| -> Vec<String> {
            let listed = manifest.get("test").and_then(toml::Value::as_array).into_iter().flatten();
            listed.filter_map(|target| Some(format!("{folder}/{}", target.get("path")?.as_str()?))).collect()
        };
        self.manifests.iter().flat_map(targets).collect()
    }

    /// Paths and sources of the crates themselves: what lies under a `src` folder, test modules in files of their own
    /// left out.
    pub(crate) fn of_crates(&self) -> impl Iterator<Item = (&str, &Source)> {
        self.sources
            .iter()
            .filter(|(path, _)| path.contains("/src/") && !is_test_file(path))
            .map(|(path, source)| (path.as_str(), source))
    }
}

/// Returns true when a file holds nothing but tests.
pub(crate) fn is_test_file(path: &str) -> bool {
    let is_product = !path.starts_with("tests/") || path.starts_with("tests/perf/");
    !is_product || path.contains("/tests/") || path.ends_with("/tests.rs") || path.ends_with("_tests.rs")
}

/// Returns true when attributes say that an item is only there in tests.
pub(crate) fn is_test(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let is_cfg = attribute.path().is_ident("cfg");
        let tokens = match &attribute.meta {
            syn::Meta::List(list) => list.tokens.to_string(),
            _ => String::new(),
        };
        attribute.path().is_ident("test") || is_cfg && tokens == "test"
    })
}

/// The attributes of an item.
pub(crate) fn attributes(item: &syn::Item) -> &[syn::Attribute] {
    use syn::Item;
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

/// The paths in tokens that are not parsed, those in groups too: names with `::` between them.
pub(crate) fn paths(tokens: TokenStream) -> Vec<Vec<Ident>> {
    let (mut list, mut colons) = (Vec::<Vec<Ident>>::new(), 0);
    for token in tokens {
        let before = std::mem::replace(&mut colons, 0);
        match token {
            TokenTree::Ident(ident) if before == 2 && !list.is_empty() => list.last_mut().unwrap().push(ident),
            TokenTree::Ident(ident) => list.push(vec![ident]),
            TokenTree::Punct(punct) if punct.as_char() == ':' => colons = before + 1,
            TokenTree::Group(group) => list.extend(paths(group.stream()).into_iter().chain([vec![]])),
            _ => list.push(vec![]),
        }
    }
    list.retain(|path| !path.is_empty());
    list
}
