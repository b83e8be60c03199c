//! The files of variables of `deploy` have every flag of their programs once: with a value, passed on from the caller,
//! or commented out.

use std::fs;
use std::process::Command;

use lon_tests::process::{binary, repository};

/// Files below `deploy`, and the commands whose flags they set.
const FILES: [(&str, [&str; 2]); 2] = [("loadgen.env", ["loadgen-node", "run"]), ("sut.env", ["sut-node", "serve"])];

/// The names of variables in a text, in the order in which they stand there.
fn names(text: &str) -> impl Iterator<Item = &str> {
    let is_of_name = |letter: char| letter.is_ascii_uppercase() || letter == '_';
    text.split(move |letter| !is_of_name(letter)).filter(|word| word.starts_with("LON_"))
}

/// The variable that a line of a file sets, passes on, or has commented out.
fn named(line: &str) -> Option<&str> {
    let line = line.strip_prefix('#').unwrap_or(line);
    let name = line.split('=').next()?;
    (names(name).next() == Some(name)).then_some(name)
}

#[test]
fn files_of_variables_have_every_flag_once() {
    for (file, [program, command]) in FILES {
        let help = Command::new(binary(program)).args([command, "--help"]).output().unwrap().stdout;
        let help = String::from_utf8(help).unwrap();
        let mut flags: Vec<&str> = names(&help).collect();
        flags.sort_unstable();
        flags.dedup();
        let text = fs::read_to_string(repository(&format!("deploy/{file}"))).unwrap();
        let mut there: Vec<&str> = text.lines().filter_map(named).collect();
        there.sort_unstable();
        assert_eq!(there, flags, "deploy/{file} against {program} {command} --help");
    }
}

#[test]
fn lines_that_set_pass_on_or_comment_out_have_a_name() {
    assert_eq!(["LON_A=1", "LON_A", "#LON_A=", "LON_A=${LON_B}"].map(named), [Some("LON_A"); 4]);
    assert_eq!(["# LON_A in words", "#", "", "PATH=1", "LON_a=1"].map(named), [None; 5]);
}
