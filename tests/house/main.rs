//! The rules of the house, checked on the sources and documents of the repository themselves.
//!
//! - `pages`: links, lengths and language of the pages in Markdown
//! - `pictures`: the pictures of arrivals in the guide
//! - `reference`: the page of files and grammars against the code
//! - `rules`: what the sources must keep: modules, rooms, lengths, docs, what is ignored
//! - `variables`: the files of variables of `deploy` against the flags of the programs
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

mod pages;
mod pictures;
mod reference;
mod rules;
mod variables;
