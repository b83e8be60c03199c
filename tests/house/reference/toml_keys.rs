//! The keys of TOML files, by the types that read them, as their source has them.

use std::collections::BTreeMap;
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

    /// A table of the keys of a type as dotted paths: `suites[].rounds` is the key `rounds` of each table of the list
    /// `suites`.
    pub(crate) fn table(&self, root: &str) -> String {
        let mut rows = "| key | type | meaning |\n|---|---|---|\n".to_owned();
        self.rows(root, "", &mut rows);
        rows
    }

    fn item(&self, name: &str) -> Option<&Item> {
        match &self.items.get(name)?[..] {
            [one] => Some(one),
            several => panic!("{} types are called {name}", several.len()),
        }
    }

    fn rows(&self, name: &str, path: &str, rows: &mut String) {
        let Some(Item::Struct(of)) = self.item(name) else { return };
        for field in of.fields.iter().filter(|field| field.ident.is_some()) {
            let serde = serde(&field.attrs);
            if serde.contains_key("skip") {
                continue;
            }
            let key = serde.get("rename").and_then(Option::clone).unwrap_or(field.ident.as_ref().unwrap().to_string());
            let path = if path.is_empty() { key } else { format!("{path}.{key}") };
            let shape = self.shape(&field.ty);
            let may_be_absent = shape.is_optional || serde.contains_key("default");
            let needed = if may_be_absent { "" } else { ", needed" };
            let values = shape.named.as_deref().map(|named| self.values(named)).unwrap_or_default();
            let _ = writeln!(rows, "| `{path}` | {}{needed} | {}{values} |", shape.text, docs(&field.attrs));
            if let Some(named) = &shape.named {
                self.rows(named, &format!("{path}{}", if shape.is_list { "[]" } else { "" }), rows);
            }
        }
    }

    /// The values of an enumeration, each with its meaning.
    fn values(&self, name: &str) -> String {
        let Some(Item::Enum(of)) = self.item(name) else { return String::new() };
        let how = serde(&of.attrs).get("rename_all").and_then(Option::clone);
        if serde(&of.attrs).contains_key("untagged") {
            return String::new();
        }
        let value = |variant: &syn::Variant| {
            let renamed = serde(&variant.attrs).get("rename").and_then(Option::clone);
            let value = renamed.unwrap_or_else(|| cased(&variant.ident.to_string(), how.as_deref()));
            format!("`{value}`: {}", docs(&variant.attrs).trim_end_matches('.'))
        };
        format!(" Values: {}.", of.variants.iter().map(value).collect::<Vec<_>>().join("; "))
    }

    /// The type of a key.
    fn shape(&self, of: &Type) -> Shape {
        let Type::Path(path) = of else { return Shape::of("text") };
        let last = path.path.segments.last().unwrap();
        let inner = match &last.arguments {
            PathArguments::AngleBracketed(arguments) => arguments.args.iter().find_map(|argument| match argument {
                GenericArgument::Type(of) => Some(self.shape(of)),
                _ => None,
            }),
            _ => None,
        };
        let name = last.ident.to_string();
        match (name.as_str(), inner) {
            ("Option", Some(inner)) => Shape { is_optional: true, ..inner },
            ("Vec", Some(inner)) => Shape { text: format!("list of {}", inner.text), is_list: true, ..inner },
            ("bool", _) => Shape::of("true or false"),
            ("f64" | "f32", _) => Shape::of("number"),
            ("u8" | "u16" | "u32" | "u64" | "usize" | "i32" | "i64", _) => Shape::of("whole number"),
            _ => match self.item(&name) {
                Some(Item::Struct(one)) => match &one.fields {
                    Fields::Named(_) => Shape { named: Some(name), ..Shape::of("table") },
                    fields => fields.iter().next().map_or_else(|| Shape::of("text"), |field| self.shape(&field.ty)),
                },
                Some(Item::Enum(one)) if serde(&one.attrs).contains_key("untagged") => {
                    Shape::of("list of text, or the word `all`")
                }
                Some(Item::Enum(_)) => Shape { named: Some(name), ..Shape::of("text") },
                _ => Shape::of("text"),
            },
        }
    }
}

/// The type of a key, in words.
struct Shape {
    text: String,
    /// The type of its table or of its values, where it has one.
    named: Option<String>,
    is_list: bool,
    is_optional: bool,
}

impl Shape {
    fn of(text: &str) -> Shape {
        Shape { text: text.to_owned(), named: None, is_list: false, is_optional: false }
    }
}

/// True where a type derives this trait.
fn derives(attributes: &[Attribute], name: &str) -> bool {
    let mut is_derived = false;
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("derive")) {
        attribute
            .parse_nested_meta(|meta| {
                is_derived |= meta.path.segments.last().is_some_and(|last| last.ident == name);
                Ok(())
            })
            .unwrap();
    }
    is_derived
}

fn sources(place: &Path) -> Vec<PathBuf> {
    if place.is_file() {
        return vec![place.to_owned()];
    }
    let mut paths: Vec<PathBuf> = std::fs::read_dir(place).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let is_source = |path: &PathBuf| path.is_dir() || path.extension().is_some_and(|ext| ext == "rs");
    paths.into_iter().filter(is_source).flat_map(|path| sources(&path)).collect()
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
        Some((before, after)) => format!("{before}`{}", after.split_once(')').map_or("", |(_, tail)| tail)),
        None => text.trim().to_owned(),
    }
}

/// The attributes for serde of a field, a variant or a type.
fn serde(attributes: &[Attribute]) -> BTreeMap<String, Option<String>> {
    let mut entries = BTreeMap::new();
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("serde")) {
        attribute
            .parse_nested_meta(|meta| {
                let name = meta.path.get_ident().map(ToString::to_string).unwrap_or_default();
                let value = match meta.value() {
                    Ok(value) => Some(value.parse::<syn::LitStr>()?.value()),
                    Err(_) => None,
                };
                entries.insert(name, value);
                Ok(())
            })
            .unwrap();
    }
    entries
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
