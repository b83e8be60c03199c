//! Error correction (ECC) of the memories of this machine, as far as it says so: those of the host by the kernel's
//! EDAC drivers, those of NVIDIA's accelerators by the program that comes with their driver.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use lon_machine::host::Host;

use crate::node_setting::Setting;

/// Where Linux shows the memory controllers that its EDAC drivers know.
const CONTROLLERS: &str = "/sys/devices/system/edac/mc";
/// The file of a memory module with what its controller does about errors.
const MODE: &str = "dimm_edac_mode";
/// The driver whose program says what its devices do about errors.
const NVIDIA: &str = "nvidia";
/// Limit of time for that program. It starts the driver where nothing else has.
const LIMIT: Duration = Duration::from_secs(10);

/// The settings `host_ecc` and `accelerator_ecc`: `on` or `off`. What is not known is left out.
pub(crate) fn settings(host: &Host) -> Vec<Setting> {
    let states = [
        ("host_ecc", of_modes(&modes(Path::new(CONTROLLERS)))),
        ("accelerator_ecc", accelerators(host).and_then(|text| of_devices(&text))),
    ];
    let setting =
        |(name, is_on): (&str, Option<bool>)| Some(Setting::of_speed(name, if is_on? { "on" } else { "off" }));
    states.into_iter().filter_map(setting).collect()
}

/// The modes of all memory modules; empty where no driver knows them.
fn modes(controllers: &Path) -> Vec<String> {
    let inner = |path: &Path| fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path());
    let modules = inner(controllers).flat_map(|controller| inner(&controller).collect::<Vec<_>>());
    modules.filter_map(|module| fs::read_to_string(module.join(MODE)).ok()).collect()
}

/// True where all modules correct errors, by the kernel's words: `SECDED` and `S4ECD4ED` do, `None` and `PARITY` do
/// not.
fn of_modes(modes: &[String]) -> Option<bool> {
    let of_mode = |mode: &String| match mode.trim() {
        "None" | "PARITY" => Some(false),
        "EC" | "SECDED" => Some(true),
        mode if mode.starts_with('S') && mode.contains("ECD") => Some(true),
        _ => None,
    };
    together(modes.iter().map(of_mode))
}

/// Off where one is off, on where all are on; none where one is not known, or there is none.
fn together(all: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    let all: Vec<Option<bool>> = all.collect();
    match () {
        () if all.contains(&Some(false)) => Some(false),
        () if all.is_empty() || all.contains(&None) => None,
        () => Some(true),
    }
}

/// A line for each accelerator; none where the machine has other ones too, or the program does not answer.
fn accelerators(host: &Host) -> Option<String> {
    let is_nvidia = |driver: &str| driver == NVIDIA;
    let all = &host.accelerators;
    if all.is_empty() || !all.iter().all(|accelerator| is_nvidia(&accelerator.driver)) {
        return None;
    }
    let (sender, receiver) = mpsc::channel();
    let ask = move || {
        let flags = ["--query-gpu=ecc.mode.current", "--format=csv,noheader"];
        let done = Command::new("nvidia-smi").args(flags).output().ok().filter(|done| done.status.success());
        // The send fails when the answer comes too late: then no receiver waits for it.
        let _ = sender.send(done.map(|done| String::from_utf8_lossy(&done.stdout).into_owned()));
    };
    thread::Builder::new().name("ecc".to_owned()).spawn(ask).ok()?;
    receiver.recv_timeout(LIMIT).ok()?
}

/// True where all devices correct errors. Some say that they know no such mode.
fn of_devices(text: &str) -> Option<bool> {
    let of_line = |line: &str| match line.trim() {
        "Enabled" => Some(true),
        "Disabled" => Some(false),
        _ => None,
    };
    together(text.lines().map(of_line))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Source of the words: `edac_mem_types` and `edac_caps` in the documentation of the kernel's EDAC drivers.
    #[test]
    fn modules_correct_errors_where_all_of_them_say_so() {
        let folder = tempfile::tempdir().unwrap();
        let is_on = |all: &[&str]| {
            let place = folder.path().join(all.join("-"));
            for (number, mode) in all.iter().enumerate() {
                let module = place.join(format!("mc{}/dimm{number}", number % 2));
                fs::create_dir_all(&module).unwrap();
                fs::write(module.join(MODE), format!("{mode}\n")).unwrap();
            }
            of_modes(&modes(&place))
        };
        assert_eq!((is_on(&["SECDED"]), is_on(&["S4ECD4ED", "SECDED", "EC"])), (Some(true), Some(true)));
        assert_eq!((is_on(&["None"]), is_on(&["SECDED", "None", "Unknown"])), (Some(false), Some(false)));
        assert_eq!(
            (is_on(&["PARITY"]), is_on(&["Unknown"]), is_on(&["SECDED", "Reserved"])),
            (Some(false), None, None)
        );
        assert_eq!(of_modes(&modes(&folder.path().join("none"))), None);
    }

    /// Source of the words: nvidia-smi --help-query-gpu, ecc.mode.current.
    #[test]
    fn devices_correct_errors_where_all_of_them_say_so() {
        for (text, expected) in [
            ("Enabled\nEnabled\n", Some(true)),
            ("Enabled\nDisabled\n", Some(false)),
            ("[N/A]\n", None),
            ("Enabled\n[N/A]\n", None),
            ("", None),
        ] {
            assert_eq!(of_devices(text), expected, "{text}");
        }
        assert_eq!(accelerators(&Host::default()), None);
    }
}
