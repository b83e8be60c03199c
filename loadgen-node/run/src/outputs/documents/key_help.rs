//! Explanations of what belongs under the official keys of a system description that a run cannot fill, in words.

/// Returns the text on what belongs under `key`, and why a run may not know it.
pub fn key_help(key: &str) -> &'static str {
    let of_key = KEY_HELP.iter().find(|(name, _)| *name == key);
    of_key.map_or("this run could not tell", |(_, text)| text)
}

const KEY_HELP: [(&str, &str); 47] = [
    ("network_type", "what the links are: Ethernet, InfiniBand, ..."),
    ("network_media", "what the links are made of: copper, optical fibre, backplane, ..."),
    ("network_rate", "the rate of one link, for example 100 Gbit/s; the drivers did not say, or no link was used"),
    ("nic_loadgen", "maker and model of the interfaces; no interface was used, or none told of"),
    ("nic_sut", "maker and model of the interfaces; no interface was used, or none told of"),
    ("number_nic_loadgen", "how many interfaces; none was used, or none told of"),
    ("number_nic_sut", "how many interfaces; none was used, or none told of"),
    ("net_software_stack_loadgen", "operating system, drivers and protocol stack of the LoadGen node"),
    ("network_protocol", "protocol that carries the queries, such as gRPC over TCP"),
    ("number_connections", "number of connections to each node"),
    ("net_software_stack_sut", "operating system, drivers and protocol stack of the SUT; the nodes did not say"),
    ("network_topology", "how LoadGen node and SUT nodes are linked: switches, hops, paths"),
    ("division", "closed, open or network: the division that is submitted to"),
    ("submitter", "the organisation that submits"),
    ("status", "available, preview, or rdi (research, development or internal)"),
    ("system_type", "datacenter or edge; or both, with a comma"),
    ("system_type_detail", "what kind of system it is, in words; N/A where nothing is to be said"),
    ("system_name", "the name under which the result is to be listed"),
    ("host_processor_model_name", "maker and model of the processors; the nodes did not say"),
    ("host_processors_per_node", "sockets of a node; the nodes did not say"),
    ("host_processor_core_count", "cores of one processor; the nodes did not say"),
    ("host_processor_frequency", "the clock rate of the processors; may be empty"),
    ("host_processor_caches", "sizes of the processors' caches; may be empty"),
    ("host_processor_interconnect", "how the processors are linked; may be empty"),
    ("host_memory_capacity", "memory of a node; the nodes did not say"),
    ("host_memory_configuration", "number, size and kind of the memory modules"),
    ("host_storage_capacity", "how much a node can store; the nodes did not say"),
    ("host_storage_type", "what it is stored on: NVMe SSD, ...; the nodes did not say"),
    ("host_networking", "what the nodes are networked by; no interface was used, or none told of"),
    ("host_networking_topology", "how the nodes are linked with each other; N/A for one node"),
    ("host_network_card_count", "network cards of a node; none has a device behind it, or the nodes did not say"),
    ("accelerators_per_node", "accelerators of a node; none was seen: 0 where there are none"),
    ("accelerator_model_name", "maker and model of the accelerators; N/A where there are none"),
    ("accelerator_memory_capacity", "memory of one accelerator; N/A where there are none"),
    ("accelerator_memory_configuration", "kind of the accelerators' memory; N/A where there are none"),
    ("accelerator_on-chip_memories", "memories on the accelerators' chips; may be empty"),
    ("accelerator_frequency", "the clock rate of the accelerators; may be empty"),
    ("accelerator_host_interconnect", "how accelerators are linked to the host: PCIe 5.0 x16, ..."),
    ("accelerator_interconnect", "how accelerators are linked with each other; N/A where they are not"),
    ("accelerator_interconnect_topology", "in which form accelerators are linked; may be empty"),
    ("cooling", "air, liquid, passive, ..."),
    ("framework", "what runs the model, with its version; the nodes did not say"),
    ("operating_system", "the operating system of the nodes; they did not say"),
    ("other_software_stack", "drivers and libraries beside the framework, with their versions"),
    ("hw_notes", "what else is to be said of the hardware; may be empty"),
    ("sw_notes", "what else is to be said of the software; may be empty"),
    ("number_of_nodes", "how many nodes the system has"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_run::system_facts::{NETWORK_KEYS, SYSTEM_KEYS};

    #[test]
    fn every_key_that_can_stay_empty_says_what_belongs_there() {
        for key in NETWORK_KEYS.into_iter().chain(SYSTEM_KEYS) {
            assert_eq!(key_help(key) == "this run could not tell", key == "is_network", "{key}");
        }
        assert!(KEY_HELP.iter().all(|(key, _)| NETWORK_KEYS.contains(key) || SYSTEM_KEYS.contains(key)));
    }
}
