//! The rules of the pages: links and anchors lead somewhere, README is short, sentences are short and plain.
//!
//! - `markdown`: the parts of a page: headings, links, sentences.

mod markdown;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use lon_tests::process::repository;

use markdown::Page;

/// Lines of README at most.
const README_LINES: usize = 200;
/// The last line on which the first command of a page of the guide may begin.
const FIRST_COMMAND: usize = 10;
/// Words of a sentence at most.
pub(crate) const MOST_WORDS: usize = 30;
/// First words that leave the thing unnamed.
pub(crate) const OPENERS: [&str; 9] =
    ["What", "Whoever", "Who", "Whether", "How", "That", "None", "Nobody", "Whatever"];
/// Pages whose sentences are held to the rules: those that newcomers read. A folder stands for all pages in it.
const PLAIN: [&str; 4] = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/guide/"];
/// Files that name pages in their texts.
const NAMING: [&str; 8] = ["rs", "py", "sh", "toml", "yaml", "env", "proto", "hpp"];

/// Files of the repository by path, where `is_wanted` holds for the name.
fn files(is_wanted: &dyn Fn(&str) -> bool) -> BTreeMap<String, String> {
    let (root, mut files) = (repository(""), BTreeMap::new());
    collect(&root, &root, is_wanted, &mut files);
    files
}

fn collect(root: &Path, folder: &Path, is_wanted: &dyn Fn(&str) -> bool, files: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && !name.starts_with('.') && !["target", "results", "node_modules"].contains(&name.as_str()) {
            collect(root, &path, is_wanted, files);
        } else if path.is_file() && is_wanted(&name) {
            let relative = path.strip_prefix(root).unwrap().to_string_lossy().into_owned();
            files.insert(relative, fs::read_to_string(&path).unwrap());
        }
    }
}

fn pages() -> BTreeMap<String, Page> {
    files(&|name| name.ends_with(".md")).into_iter().map(|(path, text)| (path, Page::read(&text))).collect()
}

/// The path of a link's file from the root of the repository; `..` goes up.
fn resolved(page: &str, link: &str) -> String {
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in link.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// The fault of a link of a page, if it has one.
fn fault(page: &str, link: &str, pages: &BTreeMap<String, Page>) -> Option<String> {
    if link.contains("://") || link.starts_with("mailto:") {
        return None;
    }
    let (file, anchor) = link.split_once('#').map_or((link, None), |(file, anchor)| (file, Some(anchor)));
    let path = if file.is_empty() { page.to_owned() } else { resolved(page, file) };
    if !repository(&path).exists() {
        return Some(format!("{page}: {link}: there is no {path}"));
    }
    let anchor = anchor?;
    let has = pages.get(&path).is_some_and(|page| page.anchors.iter().any(|candidate| candidate == anchor));
    (!has).then(|| format!("{page}: {link}: no heading of {path} has this anchor"))
}

#[test]
fn every_link_leads_somewhere() {
    let pages = pages();
    let links = pages.iter().flat_map(|(path, page)| page.links.iter().map(move |link| (path, link)));
    let faults: Vec<String> = links.filter_map(|(path, link)| fault(path, link, &pages)).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Texts of programs and comments name pages from the root of the repository.
#[test]
fn pages_that_other_files_name_are_there() {
    let pages = pages();
    let is_naming = |name: &str| NAMING.iter().any(|ending| name.ends_with(&format!(".{ending}")));
    let others = files(&is_naming).into_iter().filter(|(path, _)| !path.starts_with("tests/house/pages"));
    let named = others.flat_map(|(path, text)| {
        let links = markdown::names_of_pages(&text);
        links.into_iter().map(move |link| (path.clone(), link))
    });
    let faults: Vec<String> =
        named.filter_map(|(path, link)| Some(format!("{path}: {}", fault("", &link, &pages)?))).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn readme_is_read_in_one_go() {
    let lines = fs::read_to_string(repository("README.md")).unwrap().lines().count();
    assert!(lines <= README_LINES, "README.md has {lines} lines");
}

#[test]
fn every_page_of_the_guide_begins_with_a_command() {
    let guide = files(&|name| name.ends_with(".md")).into_iter().filter(|(path, _)| path.starts_with("docs/guide/"));
    let late: Vec<String> = guide
        .filter(|(_, text)| text.lines().position(|line| line == "```sh").is_none_or(|at| at > FIRST_COMMAND))
        .map(|(path, _)| path)
        .collect();
    assert!(late.is_empty(), "no command in the first {FIRST_COMMAND} lines: {late:?}");
}

#[test]
fn every_page_of_docs_is_in_the_contents() {
    let pages = pages();
    let contents: Vec<String> =
        pages["docs/SUMMARY.md"].links.iter().map(|link| resolved("docs/SUMMARY.md", link)).collect();
    let missing: Vec<&String> = pages
        .keys()
        .filter(|path| path.starts_with("docs/") && *path != "docs/SUMMARY.md" && !contents.contains(path))
        .collect();
    assert!(missing.is_empty(), "docs/SUMMARY.md lacks {missing:?}");
}

#[test]
fn lines_and_sentences_are_short_and_begin_with_the_thing() {
    let mut faults = Vec::new();
    for (path, page) in pages().iter().filter(|(path, _)| PLAIN.iter().any(|plain| path.starts_with(plain))) {
        for sentence in &page.sentences {
            let word_count = sentence.split_whitespace().filter(|word| word.contains(char::is_alphanumeric)).count();
            if word_count > MOST_WORDS {
                faults.push(format!("{path}: {word_count} words: {sentence}"));
            }
            if sentence.split_whitespace().next().is_some_and(|first| OPENERS.contains(&first)) {
                faults.push(format!("{path}: opener: {sentence}"));
            }
        }
        faults.extend(page.wide.iter().map(|line| format!("{path}: more than 120 columns: {line}")));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
