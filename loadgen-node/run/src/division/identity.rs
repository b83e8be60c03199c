//! The identities of engines and models, by which nodes are compared with each other and runs with earlier ones.

/// The engine and its version, without what stands behind them in the text: the address of a server, the times of a
/// synthetic backend.
pub(crate) fn engine(text: &str) -> &str {
    let end = text.find([':', '(']).unwrap_or(text.len());
    text[..end].trim_end()
}

/// Returns the hardware with which a machine computes: the model of its processors, and its accelerators by their ids.
pub(crate) fn machine<'a>(cpu: &str, accelerators: impl Iterator<Item = &'a str>) -> String {
    let cpu = if cpu.is_empty() { "a processor that is not told" } else { cpu };
    accelerators.fold(cpu.to_owned(), |text, device| format!("{text} + {device}"))
}

/// The model's name with the sum of its file, where there is one.
pub(crate) fn model(name: &str, sha256: &str) -> String {
    match sha256 {
        "" => name.to_owned(),
        sum => format!("{name} with SHA-256 {sum}"),
    }
}
