//! Flags of commands, from the values of a TOML file.

use anyhow::{Result, bail};
use toml::Value;

/// The flag as it is typed: `--sut=a:1`. A list is the flag several times; false is no flag.
///
/// # Errors
/// The value is a table or a date.
pub(crate) fn arguments(key: &str, value: &Value) -> Result<Vec<String>> {
    let values = match value {
        Value::Array(values) => values.as_slice(),
        one => std::slice::from_ref(one),
    };
    let mut arguments = Vec::new();
    for value in values {
        match value {
            Value::Boolean(true) => arguments.push(format!("--{key}")),
            Value::Boolean(false) => {}
            Value::String(text) => arguments.push(format!("--{key}={text}")),
            Value::Integer(number) => arguments.push(format!("--{key}={number}")),
            Value::Float(number) => arguments.push(format!("--{key}={number}")),
            other => {
                bail!("'{key}' is a text, a number, true or false, or a list of these, not a {}", other.type_str())
            }
        }
    }
    Ok(arguments)
}

/// The variable of one of these flags of `run` that is set in the environment: it would change every run.
pub(crate) fn from_environment(flags: &[&str]) -> Option<String> {
    flags.iter().map(|flag| variable(flag)).find(|name| std::env::var_os(name).is_some())
}

/// The environment variable that stands for a flag of `run`.
fn variable(flag: &str) -> String {
    format!("LON_{}", flag.to_ascii_uppercase().replace('-', "_"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_have_variables() {
        assert_eq!(variable("user-conf"), "LON_USER_CONF");
    }

    #[test]
    fn values_become_words() {
        let of =
            |text: &str| arguments("key", &text.parse::<toml::Table>().unwrap()["v"]).map_err(|why| why.to_string());
        assert_eq!(of("v = [\"a b\", 2, 0.5, true, false]").unwrap(), ["--key=a b", "--key=2", "--key=0.5", "--key"]);
        assert_eq!(of("v = false").unwrap(), Vec::<String>::new());
        assert!(of("v = { a = 1 }").unwrap_err().contains("not a table"));
    }
}
