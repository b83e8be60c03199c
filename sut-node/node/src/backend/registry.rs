//! The list of backends: which kinds there are, and opening one from the text of `--backend`.

use std::sync::Arc;

use super::{Backend, BackendError, BackendOptions, null, openai, synthetic};

/// Opens the backend that is named by what stands behind the colon.
pub type Open = fn(&str, &BackendOptions) -> Result<Arc<dyn Backend>, BackendError>;

/// One kind of backend, as `--backend` names it.
#[derive(Clone, Copy, Debug)]
pub struct BackendKind {
    /// Text of `--backend` before the colon.
    pub scheme: &'static str,
    /// Form of `--backend`, for people: `onnx:MODEL.onnx`. Without a colon, nothing may stand behind the scheme.
    pub form: &'static str,
    /// The flags that no other kind has a use for.
    pub flags: &'static [&'static str],
    /// The variable of the environment with the library that it runs on.
    pub library_variable: Option<&'static str>,
    /// True where another server computes, and the workers of this node only wait for it.
    pub computes_elsewhere: bool,
    /// Opens one of its kind.
    pub open: Open,
}

impl BackendKind {
    const OPENAI: BackendKind = BackendKind {
        computes_elsewhere: true,
        ..BackendKind::new("openai", "openai:http://HOST:PORT/MODEL", |url, options| {
            Ok(Arc::new(openai::OpenAi::open(url, options)?))
        })
    };
    const NULL: BackendKind = BackendKind::new("null", "null", |_, _| Ok(Arc::new(null::Null::new())));
    const SYNTHETIC: BackendKind =
        BackendKind::new("synthetic", "synthetic:SPEC (for example synthetic:constant=2ms)", |spec, options| {
            Ok(Arc::new(synthetic::Synthetic::new(&spec.parse()?, &options.tokens)))
        });

    /// A kind that computes on this node, without flags and a library of its own.
    pub const fn new(scheme: &'static str, form: &'static str, open: Open) -> BackendKind {
        BackendKind { scheme, form, flags: &[], library_variable: None, computes_elsewhere: false, open }
    }

    /// Returns the part of `text` behind the colon, when `text` names this kind.
    fn spec_in<'t>(&self, text: &'t str) -> Option<&'t str> {
        let tail = text.strip_prefix(self.scheme)?;
        match tail.strip_prefix(':') {
            Some(spec) if self.form.contains(':') && !spec.is_empty() => Some(spec),
            None if self.form == self.scheme && tail.is_empty() => Some(tail),
            _ => None,
        }
    }
}

/// The kinds of backends that a program has.
#[derive(Clone, Debug)]
pub struct Backends {
    /// Those that a program added.
    added: Vec<BackendKind>,
}

impl Backends {
    /// Those of this crate: `openai:URL`, `null` and `synthetic:SPEC`.
    pub fn new() -> Backends {
        Backends { added: Vec::new() }
    }

    /// These and one more, which is a feature of the program.
    #[must_use]
    pub fn with(mut self, kind: BackendKind) -> Backends {
        self.added.push(kind);
        self
    }

    /// The kinds that were added to those of this crate, by their schemes, as a node tells them.
    pub fn features(&self) -> Vec<&'static str> {
        self.added.iter().map(|kind| kind.scheme).collect()
    }

    fn kinds(&self) -> impl Iterator<Item = &BackendKind> {
        self.added.iter().chain(&[BackendKind::OPENAI, BackendKind::NULL, BackendKind::SYNTHETIC])
    }

    /// The kind that `text` names.
    pub fn kind(&self, text: &str) -> Option<&BackendKind> {
        self.kinds().find(|kind| kind.spec_in(text).is_some())
    }

    /// Opens the backend that `text` names: `null`, or a scheme, a colon and what the backend is opened with.
    ///
    /// # Errors
    /// See [`BackendError`]; each says what to give instead.
    pub fn open(&self, text: &str, options: &BackendOptions) -> Result<Arc<dyn Backend>, BackendError> {
        let named = self.kinds().find_map(|kind| Some((kind, kind.spec_in(text)?)));
        let Some((kind, spec)) = named else {
            return Err(BackendError::Unknown { text: text.to_owned(), forms: self.forms() });
        };
        (kind.open)(spec, options)
    }

    /// Checks that a flag which was given is not for another kind than `text` names.
    ///
    /// # Errors
    /// The form of the kind that it is for.
    pub fn check_flag(&self, flag: &'static str, text: &str) -> Result<(), BackendError> {
        match self.kinds().find(|kind| kind.flags.contains(&flag)) {
            Some(kind) if kind.spec_in(text).is_none() => {
                Err(BackendError::OfOtherKind { flag, form: kind.form, text: text.to_owned() })
            }
            _ => Ok(()),
        }
    }

    /// The forms of all kinds, with commas and an "or" between them.
    fn forms(&self) -> String {
        let forms: Vec<&str> = self.kinds().map(|kind| kind.form).collect();
        match forms.split_last() {
            Some((last, others)) => format!("{}, or {last}", others.join(", ")),
            None => String::new(),
        }
    }
}

impl Default for Backends {
    fn default() -> Backends {
        Backends::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_the_flag_becomes_a_backend() {
        let engine =
            |text: &str| Backends::new().open(text, &BackendOptions::default()).map(|b| b.info().engine.clone());
        assert_eq!(engine("null").unwrap(), "null");
        assert_eq!(engine("synthetic:constant=2ms").unwrap(), "synthetic:constant=2ms");
        for bad in ["", "nul", "null:", "null:x", "nullx", "synthetic", "synthetic:", "openai", "openai:", "onnx:x"] {
            let error = engine(bad).unwrap_err().to_string();
            assert!(error.contains(&format!("'{bad}'")) && error.contains("null, or synthetic:SPEC"), "{error}");
        }
    }

    #[test]
    fn a_kind_that_is_added_is_one_line() {
        let open = |name: &str, _: &BackendOptions| match name {
            "a" => Ok(Arc::new(null::Null::new()) as Arc<dyn Backend>),
            other => Err(BackendError::NotInline(other.to_owned())),
        };
        let kind = BackendKind { flags: &["--extra"], ..BackendKind::new("extra", "extra:NAME", open) };
        let backends = Backends::new().with(kind);
        assert_eq!((backends.features(), Backends::new().features()), (vec!["extra"], vec![]));
        let opened = |text: &str| backends.open(text, &BackendOptions::default()).map(|b| b.info().engine.clone());
        assert_eq!(opened("extra:a").unwrap(), "null");
        assert!(opened("extra:b").unwrap_err().to_string().starts_with("b answers"));
        assert!(opened("extra").unwrap_err().to_string().contains("give extra:NAME, openai:"));
        backends.check_flag("--extra", "extra:a").unwrap();
        backends.check_flag("--other", "null").unwrap();
        let error = backends.check_flag("--extra", "null").unwrap_err().to_string();
        assert_eq!(error, "--extra is for extra:NAME, not for 'null'");
    }
}
