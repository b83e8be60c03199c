//! Models of a node: each has a name, by which tenants of a run ask for it, and a backend that answers.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use lon_proto::text::printable;

use crate::backend::Backend;
use crate::config::ModelConfig;

/// The most characters of a model's name.
const MAX_NAME_CHARS: usize = 64;

/// The name of the only model of a node, unless it has another.
const MAIN: &str = "main";

/// A model's name: 1 to 64 letters and digits of ASCII, dots, underscores and hyphens.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ModelName(String);

/// The error for a text that is not a [`ModelName`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' cannot be the name of a model: 1 to {MAX_NAME_CHARS} letters, digits, '.', '_' and '-'")]
pub struct ModelNameError(String);

/// Why models cannot be those of one node.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModelsError {
    /// There is no model at all.
    #[error("a node has one model at least")]
    Empty,
    /// Two models have one name.
    #[error("two models have the name '{0}'")]
    SameName(ModelName),
}

/// One model of a node.
#[derive(Clone)]
pub struct Model {
    /// The name by which clients ask for it.
    pub name: ModelName,
    /// The backend that answers its samples.
    pub backend: Arc<dyn Backend>,
    /// Its options. `None`: those of [`crate::ServeConfig::model`].
    pub config: Option<ModelConfig>,
}

/// The models of a node: one at least, all with different names. Clients that name none ask the first.
#[derive(Clone, Debug)]
pub struct Models {
    first: Model,
    others: Vec<Model>,
}

impl ModelName {
    /// The name of a node's only model that was given none.
    pub fn main() -> ModelName {
        ModelName(MAIN.to_owned())
    }
}

impl FromStr for ModelName {
    type Err = ModelNameError;

    fn from_str(text: &str) -> Result<ModelName, ModelNameError> {
        let is_good = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        if text.is_empty() || text.len() > MAX_NAME_CHARS || !text.bytes().all(is_good) {
            return Err(ModelNameError(printable(text)));
        }
        Ok(ModelName(text.to_owned()))
    }
}

impl fmt::Display for ModelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl AsRef<str> for ModelName {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Model").field("name", &self.name).field("config", &self.config).finish_non_exhaustive()
    }
}

impl Models {
    /// The models of one node, in this order.
    ///
    /// # Errors
    /// There are none, or two of one name.
    pub fn new(models: Vec<Model>) -> Result<Models, ModelsError> {
        let mut models = models.into_iter();
        let mut all = Models { first: models.next().ok_or(ModelsError::Empty)?, others: Vec::new() };
        for model in models {
            if all.iter().any(|other| other.name == model.name) {
                return Err(ModelsError::SameName(model.name));
            }
            all.others.push(model);
        }
        Ok(all)
    }

    /// All of them, the first one first.
    pub fn iter(&self) -> impl Iterator<Item = &Model> {
        std::iter::once(&self.first).chain(&self.others)
    }

    /// The first model, and all others.
    pub(crate) fn into_parts(self) -> (Model, Vec<Model>) {
        (self.first, self.others)
    }
}

/// The models of a node with one backend: it is called `main`.
impl From<Arc<dyn Backend>> for Models {
    fn from(backend: Arc<dyn Backend>) -> Models {
        Models { first: Model { name: ModelName::main(), backend, config: None }, others: Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::null::Null;

    fn model(name: &str) -> Model {
        Model { name: name.parse().unwrap(), backend: Arc::new(Null::new()), config: None }
    }

    #[test]
    fn a_name_is_short_and_plain() {
        for good in ["main", "resnet50-v1.5", "a_b", "7", &"x".repeat(64)] {
            assert_eq!(good.parse::<ModelName>().unwrap().to_string(), good);
        }
        for bad in ["", "a b", "a=b", "a:b", "a,b", "ä", &"x".repeat(65)] {
            assert!(bad.parse::<ModelName>().unwrap_err().to_string().contains("letters"), "{bad}");
        }
    }

    #[test]
    fn a_node_has_models_of_different_names() {
        let names = |names: &[&str]| Models::new(names.iter().map(|name| model(name)).collect());
        assert_eq!(names(&[]).unwrap_err(), ModelsError::Empty);
        assert_eq!(names(&["a", "b", "a"]).unwrap_err(), ModelsError::SameName(model("a").name));
        assert_eq!(names(&["a", "b"]).unwrap().iter().map(|it| it.name.as_ref()).collect::<Vec<_>>(), ["a", "b"]);
        let main = Models::from(model("x").backend);
        assert_eq!(main.iter().map(|it| it.name.as_ref()).collect::<Vec<_>>(), ["main"]);
    }
}
