//! Lengths of functions, files and lines.

use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};
use syn::{ImplItemFn, Item, ItemFn, TraitItemFn};

use super::sources::{House, attributes, is_test};

/// Lines of every function, from its signature to its closing brace, with the place where it begins.
pub(crate) fn functions(house: &House) -> Vec<(usize, String)> {
    struct Counter<'a> {
        path: &'a str,
        lengths: Vec<(usize, String)>,
    }
    impl Counter<'_> {
        fn add(&mut self, signature: &syn::Signature, block: &syn::Block) {
            let (first, last) = (signature.span().start().line, block.span().end().line);
            self.lengths.push((last - first + 1, format!("{}:{first} {}", self.path, signature.ident)));
        }
    }
    impl<'ast> Visit<'ast> for Counter<'_> {
        fn visit_item(&mut self, item: &'ast Item) {
            if !is_test(attributes(item)) {
                visit::visit_item(self, item);
            }
        }
        fn visit_item_fn(&mut self, item: &'ast ItemFn) {
            self.add(&item.sig, &item.block);
            visit::visit_item_fn(self, item);
        }
        fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
            self.add(&item.sig, &item.block);
            visit::visit_impl_item_fn(self, item);
        }
        fn visit_trait_item_fn(&mut self, item: &'ast TraitItemFn) {
            if let Some(block) = &item.default {
                self.add(&item.sig, block);
            }
            visit::visit_trait_item_fn(self, item);
        }
    }
    let mut all = Vec::new();
    for (path, source) in house.of_crates() {
        let mut counter = Counter { path, lengths: Vec::new() };
        counter.visit_file(&source.syntax);
        all.extend(counter.lengths);
    }
    all.sort();
    all
}

/// Lines of every file up to its tests, with its path.
pub(crate) fn files(house: &House) -> Vec<(usize, String)> {
    let lines =
        |text: &str| text.lines().position(|line| line.starts_with("#[cfg(test)]")).unwrap_or(text.lines().count());
    let mut all: Vec<_> = house.of_crates().map(|(path, source)| (lines(&source.text), path.to_owned())).collect();
    all.sort();
    all
}

/// The value below or at which 95 of 100 are; `sorted` is in ascending order.
pub(crate) fn p95(sorted: &[(usize, String)]) -> usize {
    sorted.get((sorted.len() * 95).div_ceil(100).saturating_sub(1)).map_or(0, |(lines, _)| *lines)
}

/// Lines with more than 120 characters.
pub(crate) fn wide_lines(house: &House) -> Vec<String> {
    let mut faults = Vec::new();
    for (path, source) in &house.sources {
        for (number, line) in source.text.lines().enumerate() {
            let columns = line.chars().count();
            if columns > 120 {
                faults.push(format!("{path}:{}: {columns} columns", number + 1));
            }
        }
    }
    faults
}

#[test]
fn lengths_are_counted_without_tests() {
    let long = "x".repeat(121);
    let house = House::made_up(&[(
        "a/src/lib.rs",
        &format!(
            "fn one() {{}}\n\nimpl X {{\n    fn four(\n    ) {{\n        1;\n    }}\n}}\n// {long}\n\
             #[cfg(test)]\nmod tests {{\n    fn t() {{}}\n}}\n"
        ),
    )]);
    let lengths = functions(&house);
    assert_eq!(lengths, [(1, "a/src/lib.rs:1 one".to_owned()), (4, "a/src/lib.rs:4 four".to_owned())]);
    assert_eq!(files(&house), [(9, "a/src/lib.rs".to_owned())]);
    assert_eq!(wide_lines(&house), ["a/src/lib.rs:9: 124 columns"]);
    let ranks: Vec<(usize, String)> = (1..=100).map(|n| (n, String::new())).collect();
    assert_eq!(p95(&ranks), 95);
}
