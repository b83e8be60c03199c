//! Rules of the documentation: module lists that match the modules, plain words, whole sentences.

use syn::visit::{self, Visit};
use syn::{Attribute, Expr, Field, ImplItemFn, Item, Lit, Meta, TraitItemFn, Variant};

use super::modules::{ModulePath, Modules};
use super::sources::{House, attributes, is_test};

/// Words that are not plain English, each with what to write instead.
const BANNED: &[(&str, &str)] = &[
    ("hence", "so, therefore"),
    ("thereof", "of it"),
    ("therein", "in it"),
    ("thereby", "by this"),
    ("therewith", "with it"),
    ("thereupon", "then"),
    ("whereby", "by which"),
    ("wherein", "in which"),
    ("whereof", "of which"),
    ("whereupon", "then"),
    ("whilst", "while"),
    ("whosoever", "whoever"),
    ("whatsoever", "any"),
    ("forthwith", "at once"),
    ("henceforth", "from now on"),
    ("hitherto", "until now"),
    ("heretofore", "until now"),
    ("aforesaid", "name it"),
    ("likewise", "in the same way"),
    ("whither", "where to"),
    ("thither", "there"),
    ("whence", "from where"),
    ("be it", "whether"),
    ("for want of", "without"),
    ("save for", "except"),
    ("albeit", "although"),
    ("what becomes of", "what happens to"),
    ("what became of", "what happened to"),
    ("whatever becomes of", "whatever happens to"),
    ("is asked of", "name who asks"),
    ("tells of", "says, reports"),
    ("told of", "told about"),
    ("is told by", "name who says it"),
    ("none at all", "none"),
    ("reception", "name the thing"),
    ("farewell", "end of the stream"),
    ("crew", "threads, workers"),
    ("front desk", "name the thing"),
    ("doorman", "name the thing"),
];

/// Comments with a word of the list.
pub(crate) fn banned_words(house: &House) -> Vec<String> {
    let mut faults = Vec::new();
    for (path, source) in house.of_crates() {
        for (number, line) in source.text.lines().enumerate() {
            let Some((_, comment)) = line.split_once("//") else { continue };
            let comment = comment.to_lowercase();
            for (word, instead) in BANNED.iter().filter(|(word, _)| has_word(&comment, word)) {
                faults.push(format!("{path}:{}: '{word}'; write: {instead}", number + 1));
            }
        }
    }
    faults
}

fn has_word(text: &str, word: &str) -> bool {
    let is_letter = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    text.match_indices(word)
        .any(|(at, _)| !is_letter(text[..at].chars().next_back()) && !is_letter(text[at + word.len()..].chars().next()))
}

/// The text of doc comments, line by line.
fn doc(attributes: &[Attribute]) -> Vec<String> {
    let text = |attribute: &Attribute| match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("doc") => match &pair.value {
            Expr::Lit(value) => match &value.lit {
                Lit::Str(text) => Some(text.value()),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    };
    attributes
        .iter()
        .filter_map(text)
        .flat_map(|text| text.split('\n').map(str::to_owned).collect::<Vec<_>>())
        .collect()
}

/// Doc comments of one or two words; what is shown as help of a command line is left out.
pub(crate) fn short_docs(house: &House) -> Vec<String> {
    struct Reader<'a> {
        path: &'a str,
        faults: Vec<String>,
        is_shown: bool,
    }
    impl Reader<'_> {
        fn check(&mut self, attributes: &[Attribute]) {
            let is_shown = self.is_shown
                || attributes.iter().any(|a| ["arg", "command", "value"].iter().any(|name| a.path().is_ident(name)));
            let text = doc(attributes).join(" ");
            let word_count = text.split_whitespace().count();
            if (1..3).contains(&word_count) && !is_shown {
                let line = attributes.iter().find(|a| a.path().is_ident("doc")).map_or(0, line_of);
                self.faults.push(format!("{}:{line}: '{}'", self.path, text.trim()));
            }
        }
    }
    impl<'ast> Visit<'ast> for Reader<'_> {
        fn visit_item(&mut self, item: &'ast Item) {
            if is_test(attributes(item)) {
                return;
            }
            let before = self.is_shown;
            self.is_shown = is_command_line(attributes(item));
            self.check(attributes(item));
            visit::visit_item(self, item);
            self.is_shown = before;
        }
        fn visit_field(&mut self, field: &'ast Field) {
            self.check(&field.attrs);
        }
        fn visit_variant(&mut self, variant: &'ast Variant) {
            self.check(&variant.attrs);
            visit::visit_variant(self, variant);
        }
        fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
            self.check(&item.attrs);
            visit::visit_impl_item_fn(self, item);
        }
        fn visit_trait_item_fn(&mut self, item: &'ast TraitItemFn) {
            self.check(&item.attrs);
            visit::visit_trait_item_fn(self, item);
        }
    }
    let mut faults = Vec::new();
    for (path, source) in house.of_crates() {
        let mut reader = Reader { path, faults: Vec::new(), is_shown: false };
        reader.visit_file(&source.syntax);
        faults.extend(reader.faults);
    }
    faults
}

fn line_of(attribute: &Attribute) -> usize {
    use syn::spanned::Spanned as _;
    attribute.span().start().line
}

/// Returns true when an item derives one of clap's traits: its docs are texts on the screen.
fn is_command_line(attributes: &[Attribute]) -> bool {
    attributes.iter().filter(|attribute| attribute.path().is_ident("derive")).any(|attribute| match &attribute.meta {
        Meta::List(list) => {
            let derived = list.tokens.to_string();
            ["ValueEnum", "Subcommand", "Args", "Parser"].iter().any(|name| has_word(&derived, name))
        }
        _ => false,
    })
}

/// Module lists in module docs that name what is not there, or leave a module out.
///
/// A list is a module's own doc with list items or table rows that begin with names in backticks, one of which is a
/// module right below. Each such name in lower case must be a module below or an item, and each module below must be
/// named somewhere in that doc. In test targets every module with files below it has a list.
pub(crate) fn wrong_module_lists(house: &House) -> Vec<String> {
    let mut faults = Vec::new();
    let crates = house.crates().into_iter().map(|(_, root)| (root, false));
    for (root, is_due) in crates.chain(house.test_targets().into_iter().map(|root| (root, true))) {
        let modules = Modules::of(house, &root);
        for (path, module) in &modules.0 {
            if modules.0.iter().any(|(other, above)| above.file == module.file && other.len() < path.len()) {
                continue;
            }
            let doc = doc(&house.sources[&module.file].syntax.attrs);
            let list = list_faults(&modules, path, &doc, is_due);
            faults.extend(list.into_iter().map(|fault| format!("{}: {fault}", module.file)));
        }
    }
    faults
}

fn list_faults(modules: &Modules, path: &ModulePath, doc: &[String], is_due: bool) -> Vec<String> {
    let children: Vec<&str> = modules.children(path).collect();
    // Lists and tables of other things name no module.
    let lists = doc.split(|line| line.trim().is_empty());
    let lists = lists.map(|lines| lines.iter().flat_map(|line| names_at_start(line)).collect::<Vec<String>>());
    let is_child = |name: &String| children.contains(&name.as_str());
    let listed: Vec<String> = lists.filter(|names| names.iter().any(is_child)).flatten().collect();
    if listed.is_empty() {
        let file_of = |child: &str| &modules.0[&[path.as_slice(), &[child.to_owned()]].concat()].file;
        let has_files = children.iter().any(|child| *file_of(child) != modules.0[path].file);
        return if is_due && has_files { vec!["it has no list of modules".to_owned()] } else { Vec::new() };
    }
    let missing = children.iter().filter(|child| !is_named(doc, child));
    let missing = missing.map(|child| format!("module '{child}' is not in the list of modules"));
    let is_known = |name: &String| modules.resolve(path, std::slice::from_ref(name)).is_some();
    let unknown = listed.iter().filter(|name| !is_known(name));
    let unknown = unknown.map(|name| format!("the list of modules names '{name}', which is not there"));
    missing.chain(unknown).collect()
}

/// Returns true when a doc has this name in backticks, or as a word of a drawing.
fn is_named(doc: &[String], name: &str) -> bool {
    let mut is_drawing = false;
    doc.iter().any(|line| {
        is_drawing ^= line.trim_start().starts_with("```");
        is_drawing && has_word(line, name) || line.split('`').skip(1).step_by(2).any(|part| has_word(part, name))
    })
}

/// The names in backticks before the colon of a list item, or in the first cell of a table's row: `a`, [`b`], `c.rs`.
fn names_at_start(line: &str) -> Vec<String> {
    let line = line.trim_start();
    let head = if let Some(item) = line.strip_prefix("- ").or_else(|| line.strip_prefix("* ")) {
        item.split(": ").next().unwrap_or(item)
    } else if let Some(row) = line.strip_prefix("| ") {
        row.split('|').next().unwrap_or(row)
    } else {
        return Vec::new();
    };
    let mut names = Vec::new();
    // Only names that stand first, with commas or "and" between them.
    for (position, part) in head.split('`').enumerate() {
        let between = part.trim_matches(|c: char| c == '[' || c == ']' || c == ',' || c.is_whitespace());
        if position % 2 == 0 {
            if !between.is_empty() && between != "and" {
                break;
            }
        } else {
            let name = part.trim_end_matches(".rs").trim_end_matches('/');
            let is_name = name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
            if is_name && !name.is_empty() {
                names.push(name.to_owned());
            }
        }
    }
    names
}

#[test]
fn words_and_short_docs_are_found() {
    let house = House::made_up(&[(
        "a/src/lib.rs",
        "//! Hence the name.\n/// By what.\npub fn f() {}\n/// A whole sentence stands here.\npub fn hence() {}\n\
         #[derive(Args)]\nstruct A {\n    /// Print JSON.\n    b: u8,\n}\n",
    )]);
    assert_eq!(banned_words(&house), ["a/src/lib.rs:1: 'hence'; write: so, therefore"]);
    assert_eq!(short_docs(&house), ["a/src/lib.rs:2: 'By what.'"]);
}

#[test]
fn lists_that_do_not_match_are_found() {
    let house = House::made_up(&[
        (
            "a/src/lib.rs",
            "//! - `resize`: a key\n//!\n//! - [`one`]: the first;\n//! - `gone`: the last.\n\
             mod one;\nmod two;\nmod three { }",
        ),
        ("a/src/one.rs", "//! - `resize`: a key, no module\n"),
        ("a/src/two.rs", "//! | `x`, `f` | both |\nmod x;\nfn f() {}\n#[cfg(test)]\nmod tests {}"),
        ("a/src/two/x.rs", ""),
        ("a/Cargo.toml", "[[test]]\nname = \"t\"\npath = \"t/main.rs\"\n"),
        ("a/t/main.rs", "//! - `bare`: the only one\nmod bare;\nmod here { }"),
        ("a/t/bare/mod.rs", "mod below;"),
        ("a/t/bare/below.rs", "mod in_it { }"),
    ]);
    let expected = [
        "a/src/lib.rs: module 'three' is not in the list of modules",
        "a/src/lib.rs: module 'two' is not in the list of modules",
        "a/src/lib.rs: the list of modules names 'gone', which is not there",
        "a/t/main.rs: module 'here' is not in the list of modules",
        "a/t/bare/mod.rs: it has no list of modules",
    ];
    assert_eq!(wrong_module_lists(&house), expected);
}
