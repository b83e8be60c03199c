//! Code that may stand only in some places: choices of scenario and transport, JSON by hand.

use proc_macro2::{Literal, TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Arm, BinOp, ExprBinary, ExprIf, ExprMatch, Ident, Item, LitStr, Macro, Path};

use super::sources::{House, attributes, is_test, paths};

/// Target of a search.
pub(crate) enum Pattern {
    /// A path that has a name after this one, for example `Scenario::Server`; functions and `ALL` are left out.
    ChoiceOf(&'static str),
    /// An identifier with these letters in it that decides something: in the condition of an `if`, in what a `match`
    /// looks at, in a pattern, beside `==` or `!=`.
    BranchOn(&'static str),
    /// A path with one of these pairs of names in it.
    PathOf(&'static [(&'static str, &'static str)]),
    /// A call of this macro.
    Macro(&'static str),
    /// A text that is one of these names, or that such a name begins: `grpc:`, `--backend=onnx:`.
    TextOf(&'static [&'static str]),
    /// An event of the log whose message has values in it: those belong into fields.
    LogText,
}

/// Returns true when a text stands for this name.
fn is_named(text: &str, name: &str) -> bool {
    text.trim_end_matches(':').rsplit('=').next() == Some(name)
}

/// Where it is found outside the `allowed` files and folders, test code left out.
pub(crate) fn outside(house: &House, pattern: &Pattern, allowed: &[&str]) -> Vec<String> {
    let mut faults = Vec::new();
    for (path, source) in house.of_crates() {
        if allowed.iter().any(|place| path.starts_with(place)) {
            continue;
        }
        let mut reader = Reader { pattern, findings: Vec::new(), is_deciding: false };
        reader.visit_file(&source.syntax);
        reader.findings.sort();
        reader.findings.dedup();
        faults.extend(reader.findings.into_iter().map(|(line, what)| format!("{path}:{line}: {what}")));
    }
    faults
}

struct Reader<'a> {
    pattern: &'a Pattern,
    findings: Vec<(usize, String)>,
    /// Inside something that decides.
    is_deciding: bool,
}

impl Reader<'_> {
    /// Names with `::` between them.
    fn path(&mut self, names: &[&Ident]) {
        for pair in names.windows(2) {
            let (first, choice) = (pair[0].to_string(), pair[1].to_string());
            let is_choice =
                choice.starts_with(|c: char| c.is_ascii_uppercase()) && !["ALL", "OFFICIAL"].contains(&choice.as_str());
            let is_wanted = match self.pattern {
                Pattern::ChoiceOf(of) => first == *of && is_choice,
                Pattern::PathOf(pairs) => pairs.contains(&(first.as_str(), choice.as_str())),
                _ => false,
            };
            if is_wanted {
                self.findings.push((pair[0].span().start().line, format!("{first}::{choice}")));
            }
        }
    }

    fn text(&mut self, text: &str, line: usize) {
        if matches!(self.pattern, Pattern::TextOf(names) if names.iter().any(|name| is_named(text, name))) {
            self.findings.push((line, format!("\"{text}\"")));
        }
    }

    fn ident(&mut self, ident: &Ident) {
        if let Pattern::BranchOn(letters) = self.pattern {
            let name = ident.to_string();
            if self.is_deciding && name.to_lowercase().contains(letters) {
                self.findings.push((ident.span().start().line, name));
            }
        }
    }

    fn deciding(&mut self, read: impl FnOnce(&mut Self)) {
        let before = std::mem::replace(&mut self.is_deciding, true);
        read(self);
        self.is_deciding = before;
    }

    fn tokens(&mut self, tokens: TokenStream) {
        for literal in literals(tokens.clone()) {
            self.text(literal.to_string().trim_matches('"'), literal.span().start().line);
        }
        for path in paths(tokens) {
            path.iter().for_each(|ident| self.ident(ident));
            self.path(&path.iter().collect::<Vec<_>>());
        }
    }
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        if !is_test(attributes(item)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_path(&mut self, path: &'ast Path) {
        let names: Vec<&Ident> = path.segments.iter().map(|segment| &segment.ident).collect();
        self.path(&names);
        visit::visit_path(self, path);
    }

    fn visit_lit_str(&mut self, text: &'ast LitStr) {
        self.text(&text.value(), text.span().start().line);
    }

    fn visit_ident(&mut self, ident: &'ast Ident) {
        self.ident(ident);
    }

    fn visit_macro(&mut self, invocation: &'ast Macro) {
        if let Pattern::Macro(name) = self.pattern {
            let last = invocation.path.segments.last();
            if let Some(segment) = last.filter(|segment| segment.ident == name) {
                self.findings.push((segment.ident.span().start().line, format!("{name}!")));
            }
        }
        if let Pattern::LogText = self.pattern
            && invocation.path.segments.first().is_some_and(|first| first.ident == "tracing")
        {
            let faults = log_faults(invocation.tokens.clone());
            self.findings.extend(faults);
        }
        match invocation.path.is_ident("matches") {
            true => self.deciding(|reader| reader.tokens(invocation.tokens.clone())),
            false => self.tokens(invocation.tokens.clone()),
        }
        visit::visit_macro(self, invocation);
    }

    fn visit_expr_if(&mut self, branch: &'ast ExprIf) {
        self.deciding(|reader| reader.visit_expr(&branch.cond));
        self.visit_block(&branch.then_branch);
        if let Some((_, other)) = &branch.else_branch {
            self.visit_expr(other);
        }
    }

    fn visit_expr_match(&mut self, branch: &'ast ExprMatch) {
        self.deciding(|reader| reader.visit_expr(&branch.expr));
        branch.arms.iter().for_each(|arm| self.visit_arm(arm));
    }

    fn visit_arm(&mut self, arm: &'ast Arm) {
        self.deciding(|reader| {
            reader.visit_pat(&arm.pat);
            if let Some((_, guard)) = &arm.guard {
                reader.visit_expr(guard);
            }
        });
        self.visit_expr(&arm.body);
    }

    fn visit_expr_binary(&mut self, binary: &'ast ExprBinary) {
        match binary.op {
            BinOp::Eq(_) | BinOp::Ne(_) => self.deciding(|reader| visit::visit_expr_binary(reader, binary)),
            _ => visit::visit_expr_binary(self, binary),
        }
    }
}

/// The literals in tokens that are not parsed, those in groups too.
fn literals(tokens: TokenStream) -> Vec<Literal> {
    let inside = |token| match token {
        TokenTree::Literal(literal) => vec![literal],
        TokenTree::Group(group) => literals(group.stream()),
        _ => vec![],
    };
    tokens.into_iter().flat_map(inside).collect()
}

/// Values in the message of an event, and fields as Rust prints them for programmers: a duration is a number then, or
/// no program can read it. Each with its line.
fn log_faults(event: TokenStream) -> Vec<(usize, String)> {
    let mut faults = Vec::new();
    let mut before = ",".to_owned();
    for token in event {
        let (text, line) = (token.to_string(), token.span().start().line);
        match token {
            TokenTree::Literal(_) if text.contains('{') => faults.push((line, text.clone())),
            TokenTree::Punct(_) if text == "?" && [",", "="].contains(&before.as_str()) => {
                faults.push((line, "a field with ?".to_owned()));
            }
            _ => {}
        }
        before = text;
    }
    faults
}

#[test]
fn what_stands_in_the_wrong_place_is_found() {
    let house = House::made_up(&[
        (
            "a/src/lib.rs",
            "use kserve::Call;\nfn f(s: Scenario) -> bool {\n\
             matches!(s, Scenario::Server) || s == Scenario::from_name(\"x\")\n}\n\
             fn g(kserve_on: bool) {\n    if kserve_on { kserve() }\n\
             match s { engine::Scenario::Offline => json!({}), _ => Scenario::ALL }\n}\n\
             #[cfg(test)]\nmod tests { fn t() { Scenario::Server; json!({}) } }",
        ),
        (
            "a/src/files.rs",
            "fn f() { std::fs::read(x).map(fs::write) }\n#[cfg(test)]\nmod tests { fn t() { fs::read(x) } }",
        ),
        ("a/src/cli/mod.rs", "fn f() { Scenario::Server; json!({}); kserve() }"),
        (
            "a/src/names.rs",
            "const NAME: &str = \"--a=Server:\";\nfn f(s: &str) -> bool {\n matches!(s, \"Server\" | \"A Server\")\n}\n\
             #[cfg(test)]\nmod tests { fn t() { f(\"Server\") } }",
        ),
    ]);
    let places_of = |pattern| outside(&house, &pattern, &["a/src/cli/"]);
    assert_eq!(
        places_of(Pattern::ChoiceOf("Scenario")),
        ["a/src/lib.rs:3: Scenario::Server", "a/src/lib.rs:7: Scenario::Offline"]
    );
    let names = ["a/src/names.rs:1: \"--a=Server:\"", "a/src/names.rs:3: \"Server\""];
    assert_eq!(places_of(Pattern::TextOf(&["Server"])), names);
    assert_eq!(places_of(Pattern::BranchOn("kserve")), ["a/src/lib.rs:6: kserve_on"]);
    assert_eq!(places_of(Pattern::PathOf(&[("fs", "read")])), ["a/src/files.rs:1: fs::read"]);
    assert_eq!(places_of(Pattern::Macro("json")), ["a/src/lib.rs:7: json!"]);
    let log = "fn f(n: u8) { tracing::info!(n, \"so many\"); tracing::warn!(\"{n} are many\");\n\
               tracing::info!(?n,\n took = ?n, of = g()?, %n, \"so many\") }";
    let faults = outside(&House::made_up(&[("a/src/lib.rs", log)]), &Pattern::LogText, &[]);
    let fields = ["a/src/lib.rs:2: a field with ?", "a/src/lib.rs:3: a field with ?"];
    assert_eq!(faults, ["a/src/lib.rs:1: \"{n} are many\"", fields[0], fields[1]]);
}
