//! A setup in the words of DLI: mode, device, infrastructure, sizes of the inputs.

use lon_machine::host::Host;

/// Stands where there is no value.
pub const NONE: &str = "N/A";
/// The device of nodes that name no execution provider.
pub const CPU: &str = "CPU";

/// The two modes of DLI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    /// Requests one after the other.
    Latency,
    /// Requests in flight at the same time.
    Throughput,
}

impl Mode {
    /// The mode of a test that waits for each answer, or keeps requests in flight.
    pub fn of(waits_for_answers: bool) -> Mode {
        if waits_for_answers { Mode::Latency } else { Mode::Throughput }
    }

    /// The word of the column Mode.
    pub fn word(self) -> &'static str {
        match self {
            Mode::Latency => "Sync",
            Mode::Throughput => "Async",
        }
    }

    /// The head of the column of the page.
    pub fn head(self) -> &'static str {
        match self {
            Mode::Latency => "Latency Mode",
            Mode::Throughput => "Throughput Mode",
        }
    }
}

/// A text, or the word for none.
pub fn stated(text: Option<&str>) -> String {
    text.filter(|text| !text.is_empty()).unwrap_or(NONE).to_owned()
}

/// The value of the setting of a node with this name.
pub fn setting<'a>(settings: &'a [(String, String)], name: &str) -> Option<&'a str> {
    settings.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
}

/// The execution provider among the settings of a node, else the processor.
pub fn device(settings: &[(String, String)]) -> String {
    setting(settings, "execution_provider").unwrap_or(CPU).to_owned()
}

/// The dimensions of each input with the batch in front: `8x3x224x224`, from `image f32[N,3,224,224]`.
pub fn blobs(inputs: &[String], batch: u64) -> String {
    let blob = |input: &String| {
        let (_, dims) = input.split_once('[')?;
        let dims = dims.trim_end_matches(']').split(',');
        let dims = dims.map(|dim| if dim == "N" { batch.to_string() } else { dim.to_owned() });
        Some(dims.collect::<Vec<_>>().join("x"))
    };
    let blobs: Vec<String> = inputs.iter().filter_map(blob).collect();
    stated(Some(&blobs.join(", ")))
}

/// The processor, the accelerators, the memory and the operating system of a host.
pub fn infrastructure(host: &Host) -> String {
    let gpus: Vec<&str> = host.accelerators.iter().map(|gpu| gpu.device.as_str()).collect();
    let ram = if host.memory_bytes == 0 { NONE.to_owned() } else { format!("{} kB", host.memory_bytes / 1024) };
    format!(
        "CPU: {}, CPU family: {NONE}, GPU: {}, RAM size: {ram}, OS family: Linux, OS version: {}, \
         Python version: {NONE}",
        stated(Some(&host.cpu)),
        stated(Some(&gpus.join(" "))),
        stated(Some(&host.os))
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_setup_is_in_the_words_of_dli() {
        let inputs = ["image u8[N,1,8,8]".to_owned(), "mask i64[4]".to_owned()];
        assert_eq!([blobs(&inputs, 8), blobs(&inputs, 1)], ["8x1x8x8, 4", "1x1x8x8, 4"]);
        assert_eq!((blobs(&[], 1).as_str(), device(&[]).as_str()), (NONE, CPU));
        let settings = [("execution_provider".to_owned(), "CUDA".to_owned())];
        assert_eq!((device(&settings).as_str(), setting(&settings, "threads")), ("CUDA", None));
        let host = Host { memory_bytes: 2048, cpu: "Intel, fast".to_owned(), ..Host::default() };
        let right = "CPU: Intel, fast, CPU family: N/A, GPU: N/A, RAM size: 2 kB, OS family: Linux, OS version: N/A, \
                     Python version: N/A";
        assert_eq!(infrastructure(&host), right);
    }
}
