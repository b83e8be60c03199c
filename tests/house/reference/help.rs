//! The pages that are made of `--help`: commands, grammars and exit codes.

use std::fmt::Write as _;
use std::process::Command;

use lon_tests::process::binary;

const PROGRAMS: [&str; 2] = ["loadgen-node", "sut-node"];

/// Flags with a grammar: of which command, and the flag.
const FLAGS: [(&str, &str, &str); 12] = [
    ("loadgen-node", "run", "--sut"),
    ("loadgen-node", "run", "--set"),
    ("loadgen-node", "run", "--arrivals"),
    ("loadgen-node", "run", "--find-peak-goal"),
    ("loadgen-node", "run", "--dataset"),
    ("loadgen-node", "run", "--preprocess"),
    ("loadgen-node", "run", "--compression"),
    ("loadgen-node", "run", "--max-lag"),
    ("loadgen-node", "run", "--within"),
    ("loadgen-node", "run", "--label"),
    ("sut-node", "serve", "--backend"),
    ("sut-node", "serve", "--preprocess"),
];

/// The texts of `--help`, of all commands and their commands.
pub(super) fn commands() -> String {
    let mut page = "The help of every command of both programs. `[env: NAME=]` is the variable that has a flag's \
                    value where the\nflag is not given. `-h` prints a short form.\n"
        .to_owned();
    for program in PROGRAMS {
        for command in all_commands(program) {
            let (name, text) = (command_line(program, &command), help(program, &command));
            let _ = write!(page, "\n## {name}\n\n```text\n{}\n```\n", text.trim());
        }
    }
    page
}

pub(super) fn grammars() -> String {
    let mut page = "Forms that values of flags and lines of files have.\n".to_owned();
    for (program, command, flag) in FLAGS {
        let text = of_flag(&help(program, &[command.to_owned()]), flag);
        let _ = write!(page, "\n## {flag} of {program} {command}\n\n```text\n{text}```\n");
    }
    let run = help("loadgen-node", &["run".to_owned()]);
    let datasets = block(&run, "Datasets (--dataset)", "Settings have");
    let _ = write!(page, "\n## Datasets\n\n```text\n{datasets}```\n");
    let serve = help("sut-node", &["serve".to_owned()]);
    let synthetic = block(&serve, "SPEC of synthetic", "\u{0}");
    let _ = write!(page, "\n## The synthetic backend\n\n```text\n{synthetic}```\n");
    let _ = write!(page, "\n## Traces of arrivals\n\n```text\n{}\n```\n", lon_qsl::arrivals::GRAMMAR);
    page
}

/// Exit codes of the programs, and the texts of commands about theirs.
pub(super) fn exit_codes() -> String {
    let programs = help("loadgen-node", &[]);
    let codes = block(&programs, "Exit codes:", "Results of");
    let node = paragraph(&help("sut-node", &[]), "Exit codes:").unwrap_or_default();
    let mut page = format!("`loadgen-node`:\n\n```text\n{codes}```\n\n`sut-node`:\n\n```text\n{node}\n```\n");
    page.push_str("\n## Commands\n\n| command | exit codes beside those above |\n|---|---|\n");
    for command in all_commands("loadgen-node") {
        let section = paragraph(&help("loadgen-node", &command), "Exit code ");
        if let Some(section) = section.filter(|_| !command.is_empty()) {
            let _ = writeln!(page, "| `{}` | {} |", command_line("loadgen-node", &command), section.replace('\n', " "));
        }
    }
    page
}

fn command_line(program: &str, command: &[String]) -> String {
    [&[program.to_owned()], command].concat().join(" ")
}

/// The program itself, its commands, and the commands of these.
fn all_commands(program: &str) -> Vec<Vec<String>> {
    let mut all = vec![Vec::new()];
    let mut next = 0;
    while let Some(command) = all.get(next).cloned() {
        let text = help(program, &command);
        let listed = text.split_once("Commands:\n").map_or("", |(_, listed)| listed);
        let lines = listed.lines().take_while(|line| !line.is_empty()).filter(|line| !line.starts_with("   "));
        let names = lines.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help");
        all.extend(names.map(|name| [&command[..], &[name.to_owned()]].concat()));
        next += 1;
    }
    all.sort_by_key(|command| command.join(" "));
    all
}

fn help(program: &str, command: &[String]) -> String {
    let mut command_line = Command::new(binary(program));
    let output = command_line.args(command).arg("--help").env_clear().env("COLUMNS", "100").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// The lines from the one that begins so to the one before that which begins with `end`.
fn block(text: &str, begin: &str, end: &str) -> String {
    let lines = text.lines().skip_while(|line| !line.starts_with(begin)).take_while(|line| !line.starts_with(end));
    let block: String = lines.map(|line| format!("{line}\n")).collect();
    assert!(!block.is_empty(), "no '{begin}' in: {text}");
    format!("{}\n", block.trim_end())
}

/// The paragraph that begins so, if there is one.
fn paragraph(text: &str, begin: &str) -> Option<String> {
    text.split("\n\n").map(str::trim).find(|paragraph| paragraph.starts_with(begin)).map(str::to_owned)
}

/// The help of a flag.
fn of_flag(text: &str, flag: &str) -> String {
    let is_head = |line: &&str| line.trim_start().split([' ', ',']).any(|word| word == flag) && line.starts_with("  ");
    let mut lines = text.lines().skip_while(|line| !is_head(line));
    let head = lines.next().unwrap_or_else(|| panic!("no {flag} in: {text}"));
    let further = lines.take_while(|line| line.is_empty() || line.starts_with("          "));
    let is_text = |line: &&str| !line.trim_start().starts_with("[env: ");
    let all: String =
        std::iter::once(head).chain(further).filter(is_text).map(|line| format!("{}\n", line.trim())).collect();
    // Two empty lines stand where a line was left out.
    format!("{}\n", all.trim_end().replace("\n\n\n", "\n\n"))
}
