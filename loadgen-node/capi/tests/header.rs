//! The header is written by hand, for people. Here it is held against what cbindgen reads in the code.
#![allow(clippy::unwrap_used, reason = "a test that cannot set up has failed")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use cbindgen::{Builder, Config, Language, Style};

/// The C declarations of the code.
fn of_the_code() -> String {
    let renamed = [
        ("LonSample", "lon_sample"),
        ("LonResponse", "lon_response"),
        ("LonCallbacks", "lon_callbacks"),
        ("LonResponsesFn", "lon_responses_fn"),
        ("LonLostFn", "lon_lost_fn"),
    ];
    let mut config = Config { language: Language::C, style: Style::Both, ..Config::default() };
    config.documentation = false;
    config.usize_is_size_t = true;
    config.export.rename = renamed.map(|(rust, c)| (rust.to_owned(), c.to_owned())).into();
    let built = Builder::new().with_config(config).with_crate(env!("CARGO_MANIFEST_DIR")).generate();
    let mut text = Vec::new();
    built.unwrap().write(&mut text);
    String::from_utf8(text).unwrap()
}

fn header() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../qdl/capi/include/lon_qdl.h");
    std::fs::read_to_string(&path).unwrap()
}

/// The names of functions that the header gives to the compiler, with those that the library has.
fn symbols(header: &str) -> BTreeMap<&str, &str> {
    let definitions = header.lines().filter_map(|line| line.strip_prefix("#define lon_")?.split_once(" lon_"));
    definitions.collect()
}

/// The header as the compiler sees it: with the names of symbols.
fn with_symbols(header: &str) -> String {
    let renamed = |text: String, (name, symbol): (&str, &str)| {
        text.replace(&format!(" lon_{name} ("), &format!(" lon_{symbol} ("))
    };
    symbols(header).into_iter().fold(bare(header), renamed)
}

/// The text without comments, preprocessor lines, and names that mean the same.
fn bare(text: &str) -> String {
    let mut tail = text;
    let mut code = String::new();
    while let Some((before, after)) = tail.split_once("/*") {
        code.push_str(before);
        tail = after.split_once("*/").map_or("", |(_, after)| after);
    }
    code.push_str(tail);
    let lines = code.lines().filter(|line| !line.trim_start().starts_with('#'));
    let text: String =
        lines.collect::<Vec<_>>().join(" ").replace("extern \"C\" {", "").replace("lon_handle", "uint64_t");
    // Where blanks stand around a star does not matter.
    let tokens = text.replace('*', " * ").replace('(', " ( ").replace(')', " ) ").replace(',', " , ");
    let text = tokens.split_whitespace().collect::<Vec<_>>().join(" ").replace("( void )", "( )");
    // The same in C, since each structure has a type of its name.
    text.replace("const struct lon_", "const lon_")
        .replace("( struct lon_", "( lon_")
        .replace(", struct lon_", ", lon_")
}

/// Functions by their name: result, name and the types of the parameters in order, names of parameters left out.
fn functions(text: &str) -> BTreeMap<String, String> {
    let statements = text.split([';', '{', '}']).map(str::trim);
    let is_function = |text: &&str| text.contains(" lon_") && text.ends_with(')') && !text.starts_with("typedef");
    let typed = |text: &str| {
        let (head, parameters) = text.split_once('(')?;
        let name = head.split_whitespace().last()?.to_owned();
        let parameters = parameters.trim_end_matches(')').split(',').map(|parameter| {
            let tokens: Vec<&str> = parameter.split_whitespace().collect();
            match tokens.split_last() {
                // A type alone has no name behind it.
                Some((last, types)) if *last != "*" && !types.is_empty() => types.join(" "),
                _ => tokens.join(" "),
            }
        });
        Some((name, format!("{head}({})", parameters.collect::<Vec<_>>().join(","))))
    };
    statements.filter(is_function).filter_map(typed).collect()
}

/// The fields of each structure, with their types.
fn structures(text: &str) -> BTreeMap<String, Vec<String>> {
    let mut fields_by_name = BTreeMap::new();
    let mut tail = text;
    while let Some((_, after)) = tail.split_once("typedef struct ") {
        let Some((name, body)) = after.split_once('{') else { break };
        let Some((fields, after)) = body.split_once('}') else { break };
        let fields = fields.split(';').map(str::trim).filter(|field| !field.is_empty());
        fields_by_name.insert(name.trim().to_owned(), fields.map(str::to_owned).collect());
        tail = after;
    }
    fields_by_name
}

/// The types of functions.
fn callbacks(text: &str) -> BTreeSet<String> {
    let typedefs = text.split(';').filter_map(|statement| statement.split_once("typedef void (").map(|(_, tail)| tail));
    typedefs.map(|declaration| format!("typedef void ({declaration}")).collect()
}

#[test]
fn the_header_declares_what_the_code_has() {
    let (code, header) = (bare(&of_the_code()), with_symbols(&header()));
    let names = |functions: &BTreeMap<String, String>| functions.keys().cloned().collect::<Vec<_>>();
    let (in_code, in_header) = (functions(&code), functions(&header));
    assert_eq!(names(&in_code), names(&in_header));
    assert!(in_code.len() > 15, "{code}");
    for (name, declared) in &in_header {
        assert_eq!(*declared, in_code[name]);
    }
    let (in_code, in_header) = (structures(&code), structures(&header));
    assert_eq!(in_code.len(), 3, "{code}");
    assert_eq!(in_code, in_header);
    assert_eq!(callbacks(&code).len(), 2, "{code}");
    assert_eq!(callbacks(&code), callbacks(&header));
}

/// Those that every version has, so that a program can ask which one it has found.
#[test]
fn all_symbols_but_two_end_with_the_version() {
    let header = header();
    let symbols = symbols(&header);
    let version = header.lines().find_map(|line| line.strip_prefix("#define LON_ABI ")).unwrap();
    for (name, symbol) in &symbols {
        assert_eq!(*symbol, format!("{name}_v{}", version.trim_end_matches('u')));
    }
    let declared = functions(&bare(&header));
    let bare_names = |name: &&String| !symbols.contains_key(name.trim_start_matches("lon_"));
    assert_eq!(declared.keys().filter(bare_names).collect::<Vec<_>>(), ["lon_abi", "lon_version"]);
}

/// Otherwise the test above would hold whatever stands there.
#[test]
fn a_difference_is_found() {
    let header = bare(&header());
    let other = header.replace("size_t capacity , uint32_t timeout_ms", "uint32_t capacity , uint32_t timeout_ms");
    assert_ne!(functions(&other), functions(&header));
    let other = header.replace("int64_t n_tokens", "int32_t n_tokens");
    assert_ne!(structures(&other), structures(&header));
}
