//! Tests that `cargo test` leaves out: each says which long check runs it.

use std::collections::BTreeMap;
use std::fs;

use lon_tests::process::repository;
use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Attribute, ItemFn};

use super::sources::House;

/// Beginning of each reason.
const RUN: &str = ".ci/run ";

/// Folders of tests that need more than `cargo test` has, so that each of them is ignored.
const ALL_IGNORED: [&str; 3] = ["tests/hosts/", "tests/kernel/", "tests/others/"];

/// Folders where only tests are ignored that some checks run: those that take minutes, gigabytes or a quiet machine.
const FEW_IGNORED: [(&str, &[&str]); 2] = [("tests/system/", &["large", "matrix", "timing"]), ("tests/house/", &[])];

/// The long checks of `.ci/checks`, by name, each with its text.
pub(crate) fn checks() -> BTreeMap<String, String> {
    let files = fs::read_dir(repository(".ci/checks")).unwrap().map(|entry| entry.unwrap().path());
    let text = |path| fs::read_to_string(path).unwrap();
    files.map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), text(path))).collect()
}

/// Reasons that name no check, checks that do not run what names them, and tests that are ignored where none may be, or
/// the other way round.
pub(crate) fn faults(house: &House, checks: &BTreeMap<String, String>) -> Vec<String> {
    let mut faults = Vec::new();
    for (path, source) in &house.sources {
        // Few files have one, and it takes long to take all of them apart.
        let text = if source.text.contains("ignore") { source.text.as_str() } else { "" };
        for (line, reason) in reasons(text.parse().unwrap()) {
            let fault = fault_of(path, &reason, checks);
            faults.extend(fault.map(|fault| format!("{path}:{line}: {fault}")));
        }
        if ALL_IGNORED.iter().any(|folder| path.starts_with(folder)) {
            let mut tests = Tests(Vec::new());
            tests.visit_file(&source.syntax);
            faults.extend(tests.0.into_iter().map(|name| format!("{path}: {name} is not ignored")));
        }
    }
    faults
}

fn fault_of(path: &str, reason: &str, checks: &BTreeMap<String, String>) -> Option<String> {
    let Some(name) = reason.strip_prefix(RUN) else { return Some(format!("'{reason}' is not '{RUN}NAME'")) };
    let Some(check) = checks.get(name) else { return Some(format!("there is no .ci/checks/{name}")) };
    if !check.lines().any(|line| calls(line, name)) {
        return Some(format!(".ci/checks/{name} does not call `ignored {name}`"));
    }
    let few = FEW_IGNORED.iter().find(|(folder, _)| path.starts_with(folder));
    few.filter(|(_, allowed)| !allowed.contains(&name)).map(|_| format!("no test may be ignored here for {name}"))
}

/// Returns true when a line of a check runs all tests with its name as their reason.
fn calls(line: &str, name: &str) -> bool {
    let terms: Vec<&str> = line.split_whitespace().take_while(|word| !word.starts_with('#')).collect();
    let runs = ["ignored", "ignored_then_alone"];
    terms.windows(2).any(|pair| runs.contains(&pair[0]) && pair[1].trim_end_matches(';') == name)
}

/// The reasons of all that is ignored, those in macros too, each with its line; empty: none is given.
fn reasons(tokens: TokenStream) -> Vec<(usize, String)> {
    let mut list = Vec::new();
    let mut is_attribute = false;
    for token in tokens {
        if let TokenTree::Group(group) = &token {
            let inside: Vec<TokenTree> = group.stream().into_iter().collect();
            if is_attribute && inside.first().is_some_and(|name| name.to_string() == "ignore") {
                let reason = inside.get(2).map(|reason| reason.to_string().trim_matches('"').to_owned());
                list.push((group.span_open().start().line, reason.unwrap_or_default()));
            }
            list.extend(reasons(group.stream()));
        }
        is_attribute = matches!(&token, TokenTree::Punct(punct) if punct.as_char() == '#');
    }
    list
}

/// The names of tests that are not ignored.
struct Tests(Vec<String>);

impl<'ast> Visit<'ast> for Tests {
    fn visit_item_fn(&mut self, item: &'ast ItemFn) {
        let has = |name: &str| item.attrs.iter().any(|attribute: &Attribute| attribute.path().is_ident(name));
        if has("test") && !has("ignore") {
            self.0.push(item.sig.ident.to_string());
        }
        visit::visit_item_fn(self, item);
    }
}

#[test]
fn tests_that_are_ignored_without_a_check_are_found() {
    let house = House::made_up(&[
        (
            "a/src/lib.rs",
            "#[test]\n#[ignore]\nfn a() {}\n#[test]\n#[ignore = \"takes long\"]\nfn b() {}\n\
             macro_rules! m { () => { #[test]\n#[ignore = \".ci/run gone\"] fn c() {} } }\n\
             #[test]\n#[ignore = \".ci/run one\"]\nfn d() {}\n#[test]\n#[ignore = \".ci/run idle\"]\nfn e() {}",
        ),
        ("tests/hosts/x.rs", "#[test]\nfn f() {}\n#[test]\n#[ignore = \".ci/run one\"]\nfn g() {}\nfn h() {}"),
        ("tests/system/x.rs", "#[test]\n#[ignore = \".ci/run one\"]\nfn i() {}"),
        ("tests/system/y.rs", "#[test]\n#[ignore = \".ci/run large\"]\nfn j() {}"),
        ("tests/house/x.rs", "#[test]\n#[ignore = \".ci/run large\"]\nfn k() {}"),
    ]);
    let checks =
        [("one", "# Runs ignored one.\nignored one\n"), ("idle", "ignored one\n"), ("large", "A=b ignored large --x")]
            .map(|(name, text)| (name.to_owned(), text.to_owned()));
    let expected = [
        "a/src/lib.rs:2: '' is not '.ci/run NAME'",
        "a/src/lib.rs:5: 'takes long' is not '.ci/run NAME'",
        "a/src/lib.rs:8: there is no .ci/checks/gone",
        "a/src/lib.rs:13: .ci/checks/idle does not call `ignored idle`",
        "tests/hosts/x.rs: f is not ignored",
        "tests/house/x.rs:2: no test may be ignored here for large",
        "tests/system/x.rs:2: no test may be ignored here for one",
    ];
    assert_eq!(faults(&house, &checks.into()), expected);
}
