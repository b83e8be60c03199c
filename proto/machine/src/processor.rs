//! The processors of a machine, as Linux shows them under `/sys/devices/system/cpu`.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use lon_proto::text::printable;
use lon_proto::v1;
use serde::{Deserialize, Serialize};

/// Where Linux shows the processors.
const SYS_CPU: &str = "/sys/devices/system/cpu";

/// The processors of a machine. What its system does not tell is an empty text or 0.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Processors {
    /// Sockets that are in use.
    pub sockets: u32,
    /// Cores of the processor in one socket.
    pub cores_each: u32,
    /// The highest clock rate, MHz.
    pub max_mhz: u32,
    /// The caches that one core reaches, for example `L1d 48 KiB, L1i 64 KiB, L2 2048 KiB`.
    pub caches: String,
}

/// Those of this machine.
pub fn here() -> Processors {
    under(Path::new(SYS_CPU))
}

fn under(sys: &Path) -> Processors {
    // The place of each logical CPU: its socket, and the core in that socket.
    let mut cores = BTreeSet::new();
    for entry in fs::read_dir(sys).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let is_cpu = name.to_str().and_then(|name| name.strip_prefix("cpu")).is_some_and(|n| n.parse::<u32>().is_ok());
        let topology = entry.path().join("topology");
        let place = || {
            let [socket, die, core] = ["physical_package_id", "die_id", "core_id"].map(|name| number(&topology, name));
            Some((socket?, die.unwrap_or_default(), core?))
        };
        cores.extend(is_cpu.then(place).flatten());
    }
    let sockets = cores.iter().map(|(socket, ..)| socket).collect::<BTreeSet<_>>().len() as u32;
    Processors {
        sockets,
        cores_each: (cores.len() as u32).checked_div(sockets).unwrap_or_default(),
        max_mhz: number(&sys.join("cpu0/cpufreq"), "cpuinfo_max_freq").map_or(0, |khz| (khz / 1000) as u32),
        caches: caches(&sys.join("cpu0/cache")),
    }
}

fn caches(folder: &Path) -> String {
    let cache = |entry: fs::DirEntry| {
        let text = |name: &str| Some(fs::read_to_string(entry.path().join(name)).ok()?.trim().to_owned());
        let kind = match text("type")?.as_str() {
            "Data" => "d",
            "Instruction" => "i",
            _ => "",
        };
        let size = text("size")?;
        Some(format!("L{}{kind} {} KiB", text("level")?, size.strip_suffix('K')?))
    };
    let mut caches: Vec<_> = fs::read_dir(folder).into_iter().flatten().flatten().filter_map(cache).collect();
    caches.sort();
    caches.join(", ")
}

fn number(folder: &Path, name: &str) -> Option<u64> {
    fs::read_to_string(folder.join(name)).ok()?.trim().parse().ok()
}

impl From<Processors> for v1::Processors {
    fn from(processors: Processors) -> v1::Processors {
        let Processors { sockets, cores_each, max_mhz, caches } = processors;
        v1::Processors { sockets, cores_each, max_mhz, caches }
    }
}

/// The processors that a node described, the text made fit to be shown.
impl From<v1::Processors> for Processors {
    fn from(message: v1::Processors) -> Processors {
        let v1::Processors { sockets, cores_each, max_mhz, caches } = message;
        Processors { sockets, cores_each, max_mhz, caches: printable(&caches) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn two_sockets_with_two_cores_of_two_threads_each() {
        let sys = tempfile::tempdir().unwrap();
        for cpu in 0..8 {
            let topology = sys.path().join(format!("cpu{cpu}/topology"));
            for (name, number) in [("physical_package_id", cpu % 2), ("die_id", 0), ("core_id", cpu / 2 % 2)] {
                write(&topology.join(name), &format!("{number}\n"));
            }
        }
        write(&sys.path().join("cpufreq/policy0/scaling_driver"), "none\n");
        write(&sys.path().join("cpu0/cpufreq/cpuinfo_max_freq"), "3500000\n");
        for (index, level, kind, size) in
            [(0, 1, "Data", "48K"), (1, 1, "Instruction", "64K"), (2, 2, "Unified", "2048K")]
        {
            let cache = sys.path().join(format!("cpu0/cache/index{index}"));
            for (name, text) in [("level", &*level.to_string()), ("type", kind), ("size", size)] {
                write(&cache.join(name), text);
            }
        }
        let caches = "L1d 48 KiB, L1i 64 KiB, L2 2048 KiB".to_owned();
        let processors = Processors { sockets: 2, cores_each: 2, max_mhz: 3500, caches };
        assert_eq!(under(sys.path()), processors);
        assert_eq!(Processors::from(v1::Processors::from(processors.clone())), processors);
        assert_eq!(under(&sys.path().join("missing")), Processors::default());
    }
}
