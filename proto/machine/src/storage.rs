//! The disks of a machine, as Linux shows them under `/sys/block`.

use std::fs;
use std::path::Path;

use lon_proto::text::printable;
use lon_proto::v1;
use serde::{Deserialize, Serialize};

/// Where Linux shows disks.
const SYS_BLOCK: &str = "/sys/block";
/// The size of a disk is counted in these, whatever its own sectors are.
const SECTOR_BYTES: u64 = 512;

/// The disks of a machine together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Storage {
    /// Total size of the disks, bytes; 0 where the system shows none.
    pub bytes: u64,
    /// Of which kinds they are, each once: `NVMe SSD`, `SSD`, `HDD`, `virtual disk`.
    pub kinds: String,
}

/// Those of this machine.
pub fn here() -> Storage {
    under(Path::new(SYS_BLOCK))
}

fn under(sys: &Path) -> Storage {
    let mut kinds = Vec::new();
    let mut bytes = 0;
    for entry in fs::read_dir(sys).into_iter().flatten().flatten() {
        let disk = entry.path();
        let text = |name: &str| fs::read_to_string(disk.join(name)).unwrap_or_default().trim().to_owned();
        // Without a device it is made of other disks, of a file or of memory.
        if !disk.join("device").exists() || text("removable") != "0" {
            continue;
        }
        let name = entry.file_name();
        let kind = match name.to_string_lossy() {
            name if name.starts_with("nvme") => "NVMe SSD",
            name if name.starts_with("vd") || name.starts_with("xvd") => "virtual disk",
            _ if text("queue/rotational") == "1" => "HDD",
            _ => "SSD",
        };
        bytes += text("size").parse::<u64>().unwrap_or_default().saturating_mul(SECTOR_BYTES);
        kinds.push(kind);
    }
    kinds.sort_unstable();
    kinds.dedup();
    Storage { bytes, kinds: kinds.join(", ") }
}

impl From<Storage> for v1::Storage {
    fn from(Storage { bytes, kinds }: Storage) -> v1::Storage {
        v1::Storage { bytes, kinds }
    }
}

/// The disks that a node described, the text made fit to be shown.
impl From<v1::Storage> for Storage {
    fn from(message: v1::Storage) -> Storage {
        Storage { bytes: message.bytes, kinds: printable(&message.kinds) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fixed_disks_count_together() {
        let sys = tempfile::tempdir().unwrap();
        for (name, removable, rotational, sectors, has_device) in [
            ("nvme0n1", 0, 0, 1000, true),
            ("nvme1n1", 0, 0, 1000, true),
            ("sda", 0, 1, 500, true),
            ("sdb", 1, 0, 77, true),
            ("loop0", 0, 0, 88, false),
        ] {
            let disk = sys.path().join(name);
            fs::create_dir_all(disk.join("queue")).unwrap();
            fs::write(disk.join("removable"), format!("{removable}\n")).unwrap();
            fs::write(disk.join("queue/rotational"), format!("{rotational}\n")).unwrap();
            fs::write(disk.join("size"), format!("{sectors}\n")).unwrap();
            if has_device {
                fs::create_dir(disk.join("device")).unwrap();
            }
        }
        let storage = Storage { bytes: 2500 * 512, kinds: "HDD, NVMe SSD".to_owned() };
        assert_eq!(under(sys.path()), storage);
        assert_eq!(Storage::from(v1::Storage::from(storage.clone())), storage);
        assert_eq!(under(&sys.path().join("missing")), Storage::default());
    }
}
