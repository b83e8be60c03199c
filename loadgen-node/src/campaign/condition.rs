//! The condition of this machine, which may change from minute to minute: free memory, clock rates, and the time that
//! other machines on the same processors took.
//!
//! A value is none where the system does not say it.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use lon_machine::memory;

/// The condition of a machine.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Condition {
    /// Memory that programs can get without swapping, in bytes.
    pub(super) free_memory_bytes: Option<u64>,
    /// The policies by which processors choose their clock rates, each once: `performance`, `powersave`.
    pub(super) governors: Vec<String>,
    /// True when processors may go beyond their usual clock rate for a while.
    pub(super) turbo: Option<bool>,
    /// The share of the time since the boot in which the processors of a virtual machine had to wait for others.
    pub(super) stolen: Option<f64>,
}

/// Reads the condition of this machine.
pub(super) fn here() -> Condition {
    Condition::under(Path::new("/proc"), Path::new("/sys/devices/system/cpu"))
}

impl Condition {
    fn under(proc: &Path, cpu: &Path) -> Condition {
        Condition {
            free_memory_bytes: memory::available_under(proc),
            governors: governors(cpu),
            turbo: turbo(cpu),
            stolen: stolen(&proc.join("stat")),
        }
    }
}

fn governors(cpu: &Path) -> Vec<String> {
    let entries = fs::read_dir(cpu).into_iter().flatten().flatten();
    let all = entries.filter_map(|entry| text(&entry.path().join("cpufreq/scaling_governor")));
    all.collect::<BTreeSet<String>>().into_iter().collect()
}

/// Drivers of Intel say that turbo is off, all others that it is on.
fn turbo(cpu: &Path) -> Option<bool> {
    let off = text(&cpu.join("intel_pstate/no_turbo")).map(|text| text == "0");
    off.or_else(|| text(&cpu.join("cpufreq/boost")).map(|text| text == "1"))
}

/// Of the line of all processors: user, nice, system, idle, iowait, irq, softirq, steal, in ticks.
fn stolen(stat: &Path) -> Option<f64> {
    let text = fs::read_to_string(stat).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let ticks: Vec<f64> = line.split_whitespace().take(8).map_while(|tick| tick.parse().ok()).collect();
    let all: f64 = ticks.iter().sum();
    let steal = ticks.get(7)?;
    (all > 0.0).then(|| steal / all)
}

fn text(path: &Path) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.trim().to_owned()).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn the_condition_is_read_as_linux_writes_it() {
        let folder = tempfile::tempdir().unwrap();
        let [proc, cpu] = ["proc", "cpu"].map(|name| folder.path().join(name));
        write(&proc.join("meminfo"), "MemTotal:  100 kB\nMemAvailable:     40 kB\n");
        write(&proc.join("stat"), "cpu  50 0 20 20 0 0 0 10 5 0\ncpu0 1 1\n");
        for (number, governor) in ["performance\n", "powersave\n", "performance\n"].iter().enumerate() {
            write(&cpu.join(format!("cpu{number}/cpufreq/scaling_governor")), governor);
        }
        write(&cpu.join("intel_pstate/no_turbo"), "1\n");
        let condition = Condition::under(&proc, &cpu);
        assert_eq!(
            (condition.free_memory_bytes, condition.turbo, condition.stolen),
            (Some(40 * 1024), Some(false), Some(0.1))
        );
        assert_eq!(condition.governors, ["performance", "powersave"]);
        write(&cpu.join("cpufreq/boost"), "1\n");
        fs::remove_dir_all(cpu.join("intel_pstate")).unwrap();
        assert_eq!(turbo(&cpu), Some(true));
    }

    #[test]
    fn what_the_system_does_not_say_is_none() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(Condition::under(folder.path(), folder.path()), Condition::default());
    }
}
