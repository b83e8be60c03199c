//! Backends as `--backend` names them: `null`, or `NAME=null` where a node has several models.

use std::convert::Infallible;
use std::str::FromStr;

use anyhow::anyhow;
use lon_shell::failure::OrExit as _;
use lon_sut::ModelName;

use super::exit::{Exit, Failure};

/// One value of `--backend`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NamedBackend {
    name: Option<ModelName>,
    /// The backend without the name.
    pub(super) text: String,
}

impl NamedBackend {
    /// The name of the model; `main` where it was given none.
    pub(super) fn name(&self) -> ModelName {
        self.name.clone().unwrap_or_else(ModelName::main)
    }
}

/// Every text can be a backend's, with a name where one stands before the first `=`.
impl FromStr for NamedBackend {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<NamedBackend, Infallible> {
        let parted = text.split_once('=').and_then(|(name, spec)| Some((name.parse().ok()?, spec)));
        let (name, text) = parted.map_or((None, text), |(name, spec)| (Some(name), spec));
        Ok(NamedBackend { name, text: text.to_owned() })
    }
}

/// The names of these models. A single one needs none.
///
/// # Errors
/// One of several has no name, or two have the same.
pub(super) fn names(backends: &[NamedBackend]) -> Result<Vec<ModelName>, Failure> {
    let names: Vec<ModelName> = backends.iter().map(NamedBackend::name).collect();
    if let [_, _, ..] = backends {
        if let Some(NamedBackend { text, .. }) = backends.iter().find(|backend| backend.name.is_none()) {
            let why = anyhow!("--backend {text}: each of several models needs a name: --backend NAME={text}");
            return Err(Failure::new(Exit::Usage, why));
        }
        let twice = names.iter().enumerate().find(|(place, name)| names[..*place].contains(name));
        if let Some((_, name)) = twice {
            return Err(anyhow!("--backend {name}=: two models have this name")).or_exit(Exit::Usage);
        }
    }
    Ok(names)
}

/// The only backend, for a command that has to do with one.
///
/// # Errors
/// There are several.
pub(super) fn only(backends: &[NamedBackend]) -> Result<&NamedBackend, Failure> {
    match backends {
        [backend] => Ok(backend),
        _ => Err(anyhow!("{} --backend: this command takes one model at a time", backends.len())).or_exit(Exit::Usage),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn backend(text: &str) -> NamedBackend {
        text.parse().unwrap()
    }

    #[test]
    fn a_name_stands_before_the_first_equals_sign() {
        for text in ["null", "onnx:a=b.onnx", "synthetic:constant=2ms", "openai:http://h:1/m=n", "=null", "a b=null"] {
            assert_eq!(backend(text), NamedBackend { name: None, text: text.to_owned() });
        }
        for (text, name, spec) in [
            ("vision=onnx:a=b.onnx", "vision", "onnx:a=b.onnx"),
            ("v-1.5_x=synthetic:constant=2ms", "v-1.5_x", "synthetic:constant=2ms"),
            ("null=null", "null", "null"),
        ] {
            assert_eq!((backend(text).name().as_ref(), &*backend(text).text), (name, spec));
        }
        assert_eq!(backend("null").name().as_ref(), "main");
    }

    #[test]
    fn several_models_need_different_names() {
        let names = |texts: &[&str]| {
            let backends: Vec<_> = texts.iter().map(|text| backend(text)).collect();
            let names = names(&backends).map_err(|failure| failure.one_line())?;
            Ok(names.iter().map(ToString::to_string).collect::<Vec<_>>())
        };
        assert_eq!(names(&["null"]), Ok(vec!["main".to_owned()]));
        assert_eq!(names(&["a=null", "b=null"]), Ok(vec!["a".to_owned(), "b".to_owned()]));
        let unnamed: String = names(&["a=null", "onnx:m"]).unwrap_err();
        assert_eq!(unnamed, "--backend onnx:m: each of several models needs a name: --backend NAME=onnx:m");
        assert!(names(&["a=null", "a=onnx:m"]).unwrap_err().contains("two models"));
        assert!(only(&[backend("null"), backend("null")]).is_err() && only(&[backend("null")]).is_ok());
    }
}
