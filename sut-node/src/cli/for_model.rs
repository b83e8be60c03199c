//! Values of flags that hold for every model, or for one model that they name: `8`, `chat=8`.

use lon_sut::ModelName;

use super::exit::{Exit, Failure};

/// A value for the model of this name; none: for every model that is given no other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ForModel<T> {
    model: Option<ModelName>,
    value: T,
}

impl<T> ForModel<T> {
    /// The value of every model.
    pub(super) fn every(value: T) -> ForModel<T> {
        ForModel { model: None, value }
    }

    /// Reads VALUE or NAME=VALUE. A text that is a value as a whole names no model.
    ///
    /// # Errors
    /// The error of `parse` for the whole text.
    pub(super) fn read<E>(text: &str, parse: impl Fn(&str) -> Result<T, E>) -> Result<ForModel<T>, E> {
        let named = |error| {
            let parted = text.split_once('=').and_then(|(name, value)| Some((name.parse().ok()?, parse(value).ok()?)));
            parted.map(|(name, value)| ForModel { model: Some(name), value }).ok_or(error)
        };
        parse(text).map_or_else(named, |value| Ok(ForModel::every(value)))
    }
}

/// The value for this model, if one was given.
pub(super) fn value_for<'a, T>(values: &'a [ForModel<T>], model: &ModelName) -> Option<&'a T> {
    let own = values.iter().find(|it| it.model.as_ref() == Some(model));
    own.or_else(|| values.iter().find(|it| it.model.is_none())).map(|it| &it.value)
}

/// Checks that the values of `flag` are for models that there are, and each for another.
///
/// # Errors
/// A model is not known, or has two values.
pub(super) fn check<T>(flag: &str, values: &[ForModel<T>], models: &[ModelName]) -> Result<(), Failure> {
    for (place, ForModel { model, .. }) in values.iter().enumerate() {
        if let Some(name) = model.as_ref().filter(|name| !models.contains(name)) {
            let names: Vec<&str> = models.iter().map(ModelName::as_ref).collect();
            let why = anyhow::anyhow!("{flag} {name}=: no such model (--backend has: {})", names.join(", "));
            return Err(Failure::new(Exit::Usage, why));
        }
        if values[..place].iter().any(|before| before.model == *model) {
            let whose = model.as_ref().map_or_else(String::new, |name| format!(" {name}="));
            return Err(Failure::new(Exit::Usage, anyhow::anyhow!("{flag}{whose} is given twice")));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::values::up_to;
    use super::*;

    fn read(text: &str) -> Result<ForModel<std::num::NonZeroUsize>, String> {
        ForModel::read(text, up_to::<9>)
    }

    fn name(text: &str) -> ModelName {
        text.parse().unwrap()
    }

    #[test]
    fn a_model_has_its_own_value_or_that_of_all() {
        let values = [read("2").unwrap(), read("chat=8").unwrap()];
        let of = |model| value_for(&values, &name(model)).unwrap().get();
        assert_eq!((of("vision"), of("chat")), (2, 8));
        assert_eq!(value_for(&values[1..], &name("vision")), None);
        for bad in ["", "x", "10", "chat=10", "a b=2", "=2", "chat="] {
            assert_eq!(read(bad).unwrap_err(), "a number from 1 to 9", "{bad}");
        }
        let whole = |text: &str| ForModel::read(text, str::parse::<lon_sut::pipeline::post::Postprocess>).unwrap();
        assert_eq!((whole("top-k=5").model, whole("vision=top-k=5").model), (None, Some(name("vision"))));
    }

    #[test]
    fn models_that_are_not_there_and_second_values_are_errors() {
        let models = [name("vision"), name("chat")];
        let checked = |texts: &[&str]| {
            let values: Vec<_> = texts.iter().map(|text| read(text).unwrap()).collect();
            check("--workers", &values, &models).map_err(|failure| failure.one_line())
        };
        assert_eq!(checked(&["1", "vision=2", "chat=3"]), Ok(()));
        assert_eq!(checked(&["voice=2"]).unwrap_err(), "--workers voice=: no such model (--backend has: vision, chat)");
        assert_eq!(checked(&["chat=2", "chat=3"]).unwrap_err(), "--workers chat= is given twice");
        assert_eq!(checked(&["2", "3"]).unwrap_err(), "--workers is given twice");
    }
}
