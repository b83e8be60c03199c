//! The facts that a program knows of its own build.

/// The git revision that the program was built from. `LON_REVISION` in the environment of the
/// build says it, as in `deploy/image.sh`; a release build in a clone of the repository finds it by itself.
pub const REVISION: Option<&str> = option_env!("LON_REVISION");

/// The version with what the build had, for `--version`: `0.1.0 (revision abc, features onnx)`. `features` are those
/// that this build has.
pub fn described(version: &str, features: &[&str]) -> String {
    let features = if features.is_empty() { "none".to_owned() } else { features.join(" ") };
    format!("{version} (revision {}, features: {features})", REVISION.unwrap_or("not known"))
}
