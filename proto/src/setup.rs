//! The settings of a node and the build of its program, as the node reports them in `Describe`.
//!
//! The names of settings are the node's own. What matters to others is whether a setting may change answers: the nodes
//! of one SUT have to agree on those.

use crate::text::printable;
use crate::v1;

/// One option of a node, with the value that it has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The name of the option: `max_batch`, `execution_provider`.
    pub name: String,
    /// Its value as a text, with its unit.
    pub value: String,
    /// True when another value may give other answers.
    pub shapes_answers: bool,
}

impl Setting {
    /// A setting that changes how fast answers come, and not what they are.
    #[expect(clippy::needless_pass_by_value, reason = "callers give numbers and texts as they are")]
    pub fn of_speed(name: &str, value: impl ToString) -> Setting {
        Setting { name: name.to_owned(), value: value.to_string(), shapes_answers: false }
    }

    /// A setting that may change what the answers are.
    pub fn of_answers(name: &str, value: impl ToString) -> Setting {
        Setting { shapes_answers: true, ..Setting::of_speed(name, value) }
    }
}

/// The build of a program. A field that is not known is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Build {
    /// The version of the program.
    pub version: String,
    /// The revision of its source.
    pub revision: String,
    /// The digest of the container image that it runs in.
    pub image_digest: String,
    /// The features that were built in beside the rest.
    pub features: Vec<String>,
}

impl From<Setting> for v1::Setting {
    fn from(setting: Setting) -> v1::Setting {
        let Setting { name, value, shapes_answers } = setting;
        v1::Setting { name, value, shapes_answers }
    }
}

/// The setting as the node reports it, with its texts made fit to be shown.
impl From<v1::Setting> for Setting {
    fn from(message: v1::Setting) -> Setting {
        let v1::Setting { name, value, shapes_answers } = message;
        Setting { name: printable(&name), value: printable(&value), shapes_answers }
    }
}

impl From<Build> for v1::Build {
    fn from(build: Build) -> v1::Build {
        let Build { version, revision, image_digest, features } = build;
        v1::Build { version, revision, image_digest, features }
    }
}

/// The build as the node reports it, with its texts made fit to be shown.
impl From<v1::Build> for Build {
    fn from(message: v1::Build) -> Build {
        Build {
            version: printable(&message.version),
            revision: printable(&message.revision),
            image_digest: printable(&message.image_digest),
            features: message.features.iter().map(|feature| printable(feature)).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_arrives_and_can_be_shown() {
        for setting in [Setting::of_speed("max_batch", 8), Setting::of_answers("postprocess", "argmax")] {
            assert_eq!(Setting::from(v1::Setting::from(setting.clone())), setting);
        }
        let build = Build { version: "0.1.0".to_owned(), features: vec!["onnx".to_owned()], ..Build::default() };
        assert_eq!(Build::from(v1::Build::from(build.clone())), build);
        let odd = v1::Setting { name: "a\u{1b}[2J".to_owned(), ..v1::Setting::default() };
        assert_eq!(Setting::from(odd).name, "a\u{fffd}[2J");
    }
}
