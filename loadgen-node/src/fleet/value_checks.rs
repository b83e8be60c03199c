//! The checks of single values of the file, each with what to write instead.

use std::time::Duration;

use anyhow::{Result, anyhow, ensure};
use lon_proto::text::is_hidden;
use lon_shell::duration::parse_duration;

/// Placeholder for the host in the command of `ssh`.
pub(super) const HOST: &str = "{host}";
/// Placeholder for the line of shell, in quotes.
pub(super) const QUOTED: &str = "{quoted}";
/// The longest name of a file that is made of a node's name, without its ending.
const MAX_STEM_BYTES: usize = 200;
/// More hosts at the same time than this are a slip.
const MAX_PARALLEL: usize = 256;

/// The words of the command that reaches a host.
pub(super) fn ssh(text: &str) -> Result<Vec<String>> {
    let command = shlex::split(text).filter(|command| !command.is_empty());
    let command = command.ok_or_else(|| anyhow!("ssh is no command: a quote is open, or it is empty"))?;
    ensure!(!command[0].contains(HOST), "ssh: the first word has to be a program, such as ssh");
    let has_password = command.iter().any(|word| word.starts_with("-p")) && command[0].ends_with("sshpass");
    ensure!(!has_password, "ssh: sshpass -p would put a password into this file: write sshpass -f FILE, or sshpass -e");
    visible("ssh", &command)?;
    Ok(command)
}

/// A host as a command line can have it: nothing in it is an option, or means something to a shell.
pub(super) fn host(text: &str) -> Result<()> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._:@%[]+~/".contains(c);
    let fits = !text.is_empty() && !text.starts_with('-') && text.chars().all(is_plain);
    ensure!(
        fits,
        "host = \"{}\": write a name or address as ssh takes it, such as user@10.0.0.2; letters, digits and \
         -._:@%[]+~/ alone, and no - in front",
        lon_proto::text::printable(text)
    );
    Ok(())
}

/// A path on a host: it is quoted there, so a shell does not put anything in place of a part of it.
pub(super) fn path(key: &str, text: &str) -> Result<()> {
    ensure!(!text.is_empty(), "{key} is empty");
    ensure!(
        !text.starts_with('~'),
        "{key} = \"{text}\": leave out ~/, relative paths begin in the home folder that ssh logs in to"
    );
    ensure!(!text.starts_with('-'), "{key} = \"{text}\" would be taken for an option: write ./{text}");
    visible(key, std::slice::from_ref(&text.to_owned()))
}

/// Words without anything that is not seen: a line break would be a second command in a log or on the screen.
pub(super) fn visible(key: &str, texts: &[String]) -> Result<()> {
    match texts.iter().find(|word| word.chars().any(is_hidden)) {
        Some(word) => Err(anyhow!("{key}: '{}' has characters that are not seen", lon_proto::text::printable(word))),
        None => Ok(()),
    }
}

/// The name of a variable.
pub(super) fn variable(name: &str) -> Result<()> {
    let mut letters = name.chars();
    let begins = letters.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
    ensure!(
        begins && letters.all(|c| c.is_ascii_alphanumeric() || c == '_'),
        "[env] '{}' is no name of a variable: letters, digits and _ alone",
        lon_proto::text::printable(name)
    );
    Ok(())
}

pub(super) fn duration(key: &str, text: &str) -> Result<Duration> {
    let length = parse_duration(text).ok().filter(|length| *length >= Duration::from_millis(100));
    length.ok_or_else(|| anyhow!("{key} = \"{text}\": write a number and a unit from 100ms on, for example 10s"))
}

pub(super) fn parallel(count: usize) -> Result<usize> {
    ensure!((1..=MAX_PARALLEL).contains(&count), "parallel = {count}: a number from 1 to {MAX_PARALLEL}");
    Ok(count)
}

/// The name of a node as the name of a file, different for different nodes: what is no letter, digit, `-`, `_` or `.`
/// stands there as `%` and the hexadecimal digits of its bytes.
pub(super) fn stem(name: &str) -> Result<String> {
    let mut stem = String::new();
    for (at, c) in name.chars().enumerate() {
        if c.is_ascii_alphanumeric() || c == '_' || (at > 0 && "-.".contains(c)) {
            stem.push(c);
        } else {
            stem.extend(c.encode_utf8(&mut [0; 4]).bytes().map(|byte| format!("%{byte:02X}")));
        }
    }
    ensure!(stem.len() <= MAX_STEM_BYTES, "name = \"{name}\" is too long for the name of a file: take a shorter one");
    Ok(stem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_no_options_and_no_shell() {
        for good in ["10.0.0.2", "me@gpu-7.lab", "ssh://me@h:22", "[fe80::1%eth0]", "lab_sut_3"] {
            host(good).unwrap();
        }
        for bad in ["", "-oProxyCommand=touch x", "a b", "a;b", "$(x)", "a\nb", "`x`", "a'b", "a|b", "a\"b"] {
            assert!(host(bad).unwrap_err().to_string().contains("as ssh takes it"), "{bad}");
        }
    }

    #[test]
    fn names_of_files_are_safe_and_differ() {
        assert_eq!(stem("N1").unwrap(), "N1");
        assert_eq!(stem("gpu host; rm -rf /").unwrap(), "gpu%20host%3B%20rm%20-rf%20%2F");
        assert_eq!(stem("../x").unwrap(), "%2E./x".replace('/', "%2F"));
        assert_ne!(stem("a%20b").unwrap(), stem("a b").unwrap());
        assert!(stem(&"\u{e9}".repeat(128)).is_err());
    }

    #[test]
    fn commands_and_values_are_checked() {
        assert_eq!(ssh("ssh -p '2 2' {host}").unwrap(), ["ssh", "-p", "2 2", "{host}"]);
        for bad in ["", "ssh 'x", "{host} x", "sshpass -pS3CRET ssh {host}"] {
            assert!(ssh(bad).is_err(), "{bad}");
        }
        assert!(path("folder", "~/x").unwrap_err().to_string().contains("leave out ~/"));
        assert!(path("folder", "-x").is_err() && path("folder", "a b;c").is_ok());
        assert!(variable("A_1").is_ok() && variable("1A").is_err() && variable("A;B").is_err());
        assert!(duration("timeout", "10").is_err() && duration("timeout", "1ms").is_err());
        assert!(parallel(0).is_err() && parallel(16).is_ok());
    }
}
