//! Devices that may compute beside the CPU, as Linux shows them under `/sys/bus/pci`.
//!
//! The ids say which device it is; its model has to be looked up by whoever wants to know it. What only draws a screen
//! (the display of a server's controller, or of a virtual machine) is left out.

use std::fs;
use std::path::Path;

use lon_proto::text::printable;
use lon_proto::v1;
use serde::{Deserialize, Serialize};

/// Where Linux shows the devices.
const SYS_BUS_PCI: &str = "/sys/bus/pci/devices";
/// Where Linux shows the versions of drivers.
const SYS_MODULE: &str = "/sys/module";
/// The first digits of the PCI classes of displays and of accelerators.
const CLASSES: [&str; 2] = ["0x03", "0x12"];
/// Drivers of displays that compute nothing.
const DISPLAYS: [&str; 8] =
    ["ast", "mgag200", "bochs-drm", "cirrus", "virtio-pci", "vmwgfx", "hyperv_drm", "simple-framebuffer"];

/// A device that may compute beside the CPU.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Accelerator {
    /// Bus and ids (vendor, device), for example `pci 10de:2330`.
    pub device: String,
    /// The driver that has it; empty: none.
    pub driver: String,
    /// The version of the driver; empty where it does not say.
    pub driver_version: String,
}

/// All devices, sorted by their places on the bus.
pub fn all() -> Vec<Accelerator> {
    all_under(Path::new(SYS_BUS_PCI), Path::new(SYS_MODULE))
}

fn all_under(devices: &Path, modules: &Path) -> Vec<Accelerator> {
    let Ok(entries) = fs::read_dir(devices) else { return Vec::new() };
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths.iter().filter_map(|path| accelerator(path, modules)).collect()
}

fn accelerator(path: &Path, modules: &Path) -> Option<Accelerator> {
    let text = |name: &str| fs::read_to_string(path.join(name)).ok().map(|text| text.trim().to_owned());
    let class = text("class")?;
    let driver = fs::read_link(path.join("driver")).ok();
    let driver = driver.and_then(|link| Some(link.file_name()?.to_string_lossy().into_owned())).unwrap_or_default();
    if !CLASSES.iter().any(|prefix| class.starts_with(prefix)) || DISPLAYS.contains(&driver.as_str()) {
        return None;
    }
    // A display without a driver shows the console and nothing else.
    if driver.is_empty() && class.starts_with("0x0300") {
        return None;
    }
    let id = |name| Some(text(name)?.strip_prefix("0x")?.to_owned());
    let version = fs::read_to_string(modules.join(&driver).join("version")).unwrap_or_default();
    let device = format!("pci {}:{}", id("vendor")?, id("device")?);
    Some(Accelerator { device, driver, driver_version: version.trim().to_owned() })
}

impl From<Accelerator> for v1::Accelerator {
    fn from(accelerator: Accelerator) -> v1::Accelerator {
        let Accelerator { device, driver, driver_version } = accelerator;
        v1::Accelerator { device, driver, driver_version }
    }
}

/// The device that a node described, its texts made fit to be shown.
impl From<v1::Accelerator> for Accelerator {
    fn from(message: v1::Accelerator) -> Accelerator {
        Accelerator {
            device: printable(&message.device),
            driver: printable(&message.driver),
            driver_version: printable(&message.driver_version),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_computes_is_listed_and_what_only_draws_is_not() {
        let sys = tempfile::tempdir().unwrap();
        let devices = sys.path().join("devices");
        for (place, class, driver) in [
            ("0000:17:00.0", "0x030200", "nvidia"),
            ("0000:03:00.0", "0x030000", "ast"),
            ("0000:02:00.0", "0x030000", ""),
            ("0000:65:00.0", "0x120000", ""),
            ("0000:01:00.0", "0x020000", "mlx5_core"),
        ] {
            let path = devices.join(place);
            fs::create_dir_all(&path).unwrap();
            for (name, text) in [("class", class), ("vendor", "0x10de\n"), ("device", "0x2330\n")] {
                fs::write(path.join(name), text).unwrap();
            }
            if !driver.is_empty() {
                std::os::unix::fs::symlink(format!("../../drivers/{driver}"), path.join("driver")).unwrap();
            }
        }
        let modules = sys.path().join("module");
        fs::create_dir_all(modules.join("nvidia")).unwrap();
        fs::write(modules.join("nvidia/version"), "550.54\n").unwrap();
        let device = || "pci 10de:2330".to_owned();
        let gpu = Accelerator { device: device(), driver: "nvidia".to_owned(), driver_version: "550.54".to_owned() };
        let other = Accelerator { device: device(), ..Accelerator::default() };
        assert_eq!(all_under(&devices, &modules), [gpu.clone(), other]);
        assert_eq!(Accelerator::from(v1::Accelerator::from(gpu.clone())), gpu);
        assert_eq!(all_under(&devices.join("missing"), &modules), []);
    }
}
