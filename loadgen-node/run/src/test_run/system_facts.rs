//! `--system-desc FILE`: what the user states of the system, because no program can know it.
//!
//! A JSON object of the official keys (those that the submission checker knows), each with a text or a number.

use std::path::{Path, PathBuf};

use lon_proto::files;
use lon_shell::documents::of_text;
use serde_json::{Map, Value};

/// The keys of the network mode.
pub const NETWORK_KEYS: [&str; 13] = [
    "is_network",
    "network_type",
    "network_media",
    "network_rate",
    "nic_loadgen",
    "number_nic_loadgen",
    "net_software_stack_loadgen",
    "network_protocol",
    "number_connections",
    "nic_sut",
    "number_nic_sut",
    "net_software_stack_sut",
    "network_topology",
];

/// The keys that the submission checker asks of every system.
pub const SYSTEM_KEYS: [&str; 35] = [
    "division",
    "submitter",
    "status",
    "system_type",
    "system_type_detail",
    "system_name",
    "number_of_nodes",
    "host_processor_model_name",
    "host_processors_per_node",
    "host_processor_core_count",
    "host_processor_frequency",
    "host_processor_caches",
    "host_processor_interconnect",
    "host_memory_capacity",
    "host_memory_configuration",
    "host_storage_capacity",
    "host_storage_type",
    "host_networking",
    "host_networking_topology",
    "host_network_card_count",
    "accelerators_per_node",
    "accelerator_model_name",
    "accelerator_memory_capacity",
    "accelerator_memory_configuration",
    "accelerator_on-chip_memories",
    "accelerator_frequency",
    "accelerator_host_interconnect",
    "accelerator_interconnect",
    "accelerator_interconnect_topology",
    "cooling",
    "framework",
    "operating_system",
    "other_software_stack",
    "hw_notes",
    "sw_notes",
];

/// Other official keys, most of them of submissions with power.
const MORE_KEYS: [&str; 15] = [
    "host_networking_card_count",
    "power_management",
    "filesystem",
    "boot_firmware_version",
    "management_firmware_version",
    "other_hardware",
    "number_of_type_nics_installed",
    "nics_enabled_firmware",
    "nics_enabled_os",
    "nics_enabled_connected",
    "network_speed_mbit",
    "power_supply_quantity_and_rating_watts",
    "power_supply_details",
    "disk_drives",
    "disk_controllers",
];

/// Returns true when the submission checker knows the key.
pub fn is_official(key: &str) -> bool {
    NETWORK_KEYS.iter().chain(&SYSTEM_KEYS).chain(&MORE_KEYS).any(|official| *official == key)
}

/// Texts by official key.
#[derive(Clone, Debug, Default)]
pub struct SystemFacts(Map<String, Value>);

/// Why a file states nothing.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SystemFactsError {
    #[error("cannot read {path}: {source}")]
    Read { path: PathBuf, source: std::io::Error },
    #[error("{path} is not a JSON object: {reason}")]
    Json { path: PathBuf, reason: String },
    #[error(
        "{path}: '{key}' is not a key of a system description (those of the network are {keys})",
        keys = NETWORK_KEYS.join(", ")
    )]
    Key { path: PathBuf, key: String },
    #[error("{path}: the value of {key} is neither a text nor a number")]
    Text { path: PathBuf, key: String },
    #[error("{path}: is_network is \"True\" for whatever crosses a network; leave it out")]
    IsNetwork { path: PathBuf },
}

impl SystemFacts {
    /// Reads the texts that the file states.
    pub(crate) fn read(path: &Path) -> Result<SystemFacts, SystemFactsError> {
        let text = files::user_text(path).map_err(|source| SystemFactsError::Read { path: path.into(), source })?;
        SystemFacts::parse(&text, path)
    }

    fn parse(text: &str, path: &Path) -> Result<SystemFacts, SystemFactsError> {
        let path = || path.to_owned();
        let mut json: Map<String, Value> =
            of_text(text).map_err(|error| SystemFactsError::Json { path: path(), reason: error.to_string() })?;
        for (key, value) in &mut json {
            let is_known = is_official(key);
            match value {
                _ if !is_known => return Err(SystemFactsError::Key { path: path(), key: key.clone() }),
                Value::String(text) if key == "is_network" && text != "True" => {
                    return Err(SystemFactsError::IsNetwork { path: path() });
                }
                Value::String(_) => {}
                Value::Number(number) if key != "is_network" => *value = Value::String(number.to_string()),
                _ => return Err(SystemFactsError::Text { path: path(), key: key.clone() }),
            }
        }
        Ok(SystemFacts(json))
    }

    /// In the order of the file.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<SystemFacts, String> {
        SystemFacts::parse(text, Path::new("sys.json")).map_err(|error| error.to_string())
    }

    #[test]
    fn official_keys_with_texts_or_numbers_are_taken() {
        let stated = parse(r#"{"network_media": "copper", "number_of_nodes": 4, "cooling": "air"}"#).unwrap();
        assert_eq!(stated.iter().nth(1), Some(("number_of_nodes", &"4".into())));
        assert_eq!(
            stated.iter().map(|(key, _)| key).collect::<Vec<_>>(),
            ["network_media", "number_of_nodes", "cooling"]
        );
    }

    #[test]
    fn everything_else_is_refused_by_name() {
        for (text, part) in [
            ("[]", "is not a JSON object"),
            ("{", "is not a JSON object"),
            (r#"{"network_topolgy": "star"}"#, "'network_topolgy' is not a key"),
            (r#"{"number_nic_sut": [2]}"#, "number_nic_sut is neither a text nor a number"),
            (r#"{"is_network": 1}"#, "is_network is neither"),
            (r#"{"is_network": "False"}"#, "is_network is \"True\""),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.starts_with("sys.json") && error.contains(part), "{error}");
        }
        let error = SystemFacts::read(Path::new("/no/such.json")).unwrap_err().to_string();
        assert!(error.contains("cannot read /no/such.json"), "{error}");
    }
}
