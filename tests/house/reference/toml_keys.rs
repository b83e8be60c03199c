//! The types of documents, as their source has them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use lon_tests::process::repository;
use syn::{Attribute, Expr, ExprLit, Fields, GenericArgument, Item, Lit, Meta, PathArguments, Type};

/// Every structure and enumeration of some files, by name.
pub(crate) struct Types {
    items: BTreeMap<String, Vec<Item>>,
}

impl Types {
    /// Reads all source files in these folders of the repository; a file may be named, too.
    pub(crate) fn read(places: &[&str]) -> Types {
        let mut items = BTreeMap::new();
        for file in places.iter().flat_map(|place| sources(&repository(place))) {
            let syntax = syn::parse_file(&std::fs::read_to_string(&file).unwrap()).unwrap();
            for item in syntax.items {
                let (name, attributes) = match &item {
                    Item::Struct(one) => (one.ident.to_string(), &one.attrs),
                    Item::Enum(one) => (one.ident.to_string(), &one.attrs),
                    _ => continue,
                };
                if !derives(attributes, "Serialize") && !derives(attributes, "Deserialize") {
                    continue;
                }
                items.entry(name).or_insert_with(Vec::new).push(item);
            }
        }
        Types { items }
    }

    /// Writes a section for this type and, after it, for those that it has and that were not told yet.
    pub(crate) fn tell(&self, root: &str, told: &mut BTreeSet<String>, page: &mut String) {
        let mut next = VecDeque::from([root.to_owned()]);
        assert!(self.items.contains_key(root), "no type {root}");
        while let Some(name) = next.pop_front() {
            if !told.insert(name.clone()) {
                continue;
            }
            let names = match &self.items[&name][..] {
                [Item::Struct(one)] => self.structure(one, page),
                [Item::Enum(one)] => self.enumeration(one, page),
                several => panic!("{} types are called {name}", several.len()),
            };
            next.extend(names.into_iter().filter(|name| self.items.contains_key(name)));
        }
    }

    /// A table of the keys; the names of the types that they have.
    fn structure(&self, of: &syn::ItemStruct, page: &mut String) -> Vec<String> {
        let Fields::Named(fields) = &of.fields else { return Vec::new() };
        let _ =
            write!(page, "\n### {}\n\n{}\n\n| key | type | what it is |\n|---|---|---|\n", of.ident, docs(&of.attrs));
        let mut names = Vec::new();
        let is_only_read = !derives(&of.attrs, "Serialize");
        for field in &fields.named {
            let serde = serde(&field.attrs);
            let mut words = self.words(&field.ty, &mut names);
            if is_only_read {
                let optional = words.strip_suffix(" or null").map(str::to_owned);
                let may_be_absent = optional.is_some() || serde.contains_key("default");
                words = optional.unwrap_or(words) + if may_be_absent { "" } else { ", needed" };
            }
            let key = match serde.get("rename").and_then(Option::clone) {
                Some(renamed) => renamed,
                None => field.ident.as_ref().unwrap().to_string(),
            };
            let (key, words) = match serde.contains_key("flatten") {
                true => ("*the keys of*".to_owned(), words),
                false => (format!("`{key}`"), words),
            };
            let _ = writeln!(page, "| {key} | {words} | {} |", docs(&field.attrs));
        }
        names
    }

    /// A table of the values; the names of the types that they have.
    fn enumeration(&self, of: &syn::ItemEnum, page: &mut String) -> Vec<String> {
        let how = serde(&of.attrs).get("rename_all").and_then(Option::clone);
        let _ = write!(page, "\n### {}\n\n{}\n\n| value | what it is |\n|---|---|\n", of.ident, docs(&of.attrs));
        let is_untagged = serde(&of.attrs).contains_key("untagged");
        let mut names = Vec::new();
        for variant in &of.variants {
            let inner: Vec<String> = variant.fields.iter().map(|field| self.words(&field.ty, &mut names)).collect();
            let renamed = serde(&variant.attrs).get("rename").and_then(Option::clone);
            let value = renamed.unwrap_or_else(|| cased(&variant.ident.to_string(), how.as_deref()));
            let value = match (is_untagged, &inner[..]) {
                (true, [inner]) => inner.clone(),
                (_, []) => format!("`{value}`"),
                (_, inner) => format!("`{value}` with {}", inner.join(", ")),
            };
            let _ = writeln!(page, "| {value} | {} |", docs(&variant.attrs));
        }
        names
    }

    /// Whether the type has a section: others are written as what they hold.
    fn is_named(&self, name: &str) -> bool {
        let of = self.items.get(name).and_then(|items| items.first());
        of.is_some_and(|of| !matches!(of, Item::Struct(one) if !matches!(one.fields, Fields::Named(_))))
    }

    /// A type in words; notes the names of those that have a section.
    fn words(&self, of: &Type, names: &mut Vec<String>) -> String {
        let Type::Path(path) = of else {
            return match of {
                Type::Array(array) => format!("list of {}", self.words(&array.elem, names)),
                Type::Tuple(tuple) => {
                    let each: Vec<String> = tuple.elems.iter().map(|of| self.words(of, names)).collect();
                    each.join(" and ")
                }
                Type::Reference(reference) => self.words(&reference.elem, names),
                _ => "text".to_owned(),
            };
        };
        let last = path.path.segments.last().unwrap();
        let inner: Vec<String> = match &last.arguments {
            PathArguments::AngleBracketed(given) => given
                .args
                .iter()
                .filter_map(|argument| match argument {
                    GenericArgument::Type(of) => Some(self.words(of, names)),
                    _ => None,
                })
                .collect(),
            _ => Vec::new(),
        };
        let name = last.ident.to_string();
        match (name.as_str(), &inner[..]) {
            ("Option", [inner]) => format!("{inner} or null"),
            ("Vec", [inner]) if inner.starts_with("text and ") => {
                format!("object: {} by name", inner.trim_start_matches("text and "))
            }
            ("Vec", [inner]) => format!("list of {inner}"),
            ("BTreeMap" | "Map", [_, inner]) => format!("object: {inner} by name"),
            ("String" | "Text", _) => "text".to_owned(),
            ("bool", _) => "true or false".to_owned(),
            ("f64" | "f32", _) => "number".to_owned(),
            ("u8" | "u16" | "u32" | "u64" | "usize" | "i32" | "i64", _) => "whole number".to_owned(),
            ("TestSettings", _) => "object with the names of LoadGen's TestSettings".to_owned(),
            ("Value", _) => "any".to_owned(),
            _ if self.is_named(&name) => {
                names.push(name.clone());
                let link = format!("[{name}](#{})", name.to_lowercase());
                if inner.is_empty() { link } else { format!("{link} of {}", inner.join(", ")) }
            }
            _ if self.items.contains_key(&name) => match &self.items[&name][0] {
                Item::Struct(one) => one.fields.iter().map(|field| self.words(&field.ty, names)).collect(),
                _ => unreachable!("enumerations have sections"),
            },
            // The parameter of a type that stands for several.
            ("T", _) => "the type that it is of".to_owned(),
            _ => format!("{name}, a text"),
        }
    }
}

/// Whether a type derives this trait.
fn derives(attributes: &[Attribute], name: &str) -> bool {
    let mut found = false;
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("derive")) {
        attribute
            .parse_nested_meta(|meta| {
                found |= meta.path.segments.last().is_some_and(|last| last.ident == name);
                Ok(())
            })
            .unwrap();
    }
    found
}

fn sources(place: &Path) -> Vec<PathBuf> {
    if place.is_file() {
        return vec![place.to_owned()];
    }
    let mut paths: Vec<PathBuf> = std::fs::read_dir(place).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let wanted = |path: &PathBuf| path.is_dir() || path.extension().is_some_and(|ext| ext == "rs");
    paths.into_iter().filter(wanted).flat_map(|path| sources(&path)).collect()
}

/// The doc comment as one line of a table.
fn docs(attributes: &[Attribute]) -> String {
    let lines = attributes.iter().filter_map(|attribute| match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("doc") => match &pair.value {
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.value().trim().to_owned()),
            _ => None,
        },
        _ => None,
    });
    let text = lines.collect::<Vec<_>>().join(" ");
    // Links to items of the code lead nowhere from a page.
    let text = text.replace("[`", "`").replace("`]", "`").replace('|', "\\|");
    match text.split_once("`(") {
        Some((before, after)) => format!("{before}`{}", after.split_once(')').map_or("", |(_, rest)| rest)),
        None => text.trim().to_owned(),
    }
}

/// What serde is told of a field, a variant or a type.
fn serde(attributes: &[Attribute]) -> BTreeMap<String, Option<String>> {
    let mut told = BTreeMap::new();
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("serde")) {
        attribute
            .parse_nested_meta(|meta| {
                let name = meta.path.get_ident().map(ToString::to_string).unwrap_or_default();
                let value = match meta.value() {
                    Ok(value) => Some(value.parse::<syn::LitStr>()?.value()),
                    Err(_) => None,
                };
                told.insert(name, value);
                Ok(())
            })
            .unwrap();
    }
    told
}

/// A variant's name as serde writes it.
fn cased(name: &str, how: Option<&str>) -> String {
    let parted = |by: char| {
        let mut text = String::new();
        for (index, letter) in name.chars().enumerate() {
            if letter.is_uppercase() && index > 0 {
                text.push(by);
            }
            text.extend(letter.to_lowercase());
        }
        text
    };
    match how {
        Some("lowercase") => name.to_lowercase(),
        Some("UPPERCASE") => name.to_uppercase(),
        Some("snake_case") => parted('_'),
        Some("kebab-case") => parted('-'),
        _ => name.to_owned(),
    }
}
