//! SUT nodes of hosts that are network namespaces, by one file.

use std::fs;

use lon_tests::fabric::{Fabric, FabricSpec, Host};
use lon_tests::fleet::{Fleet, on};
use lon_tests::process::LoadGen;

/// Every node on the usual port, with an address and a name of a host that only `ip netns exec` knows.
#[test]
#[ignore = ".ci/run links"]
fn hosts_that_are_network_namespaces_are_reached_by_ip() {
    let fabric = Fabric::new(FabricSpec { hosts: 3, rate_mbit_s: None });
    let (near, far) = (fabric.host(0), [fabric.host(1), fabric.host(2)]);
    let head = "ssh = \"ip netns exec {host} sh -c\"\nserve = [\"--backend\", \"null\", \"--insecure\"]\n\
                reach.insecure = true\n";
    let node =
        |(at, host): (usize, &Host)| on(&host.namespace(), &format!("N{at}"), &format!("{}:8000", host.address()), "");
    let fleet = Fleet::new(head, &far.into_iter().enumerate().map(node).collect::<Vec<_>>());
    let file = fleet.path("fleet.toml");
    let folder = format!("folder = \"{}\"", fleet.path("its logs").display());
    fs::write(&file, fs::read_to_string(&file).unwrap().replace("folder = \"its logs\"", &folder)).unwrap();
    let does = |action: &str| LoadGen::start_in(near, &[], &["fleet", action, file.to_str().unwrap()]).finish();
    for (action, processes) in [("check", 0), ("start", 1), ("check", 1), ("status", 1), ("stop", 0)] {
        let done = does(action);
        assert!(done.code == Some(0) && done.stdout.contains("2 of 2 nodes ok"), "{action}: {done:?}");
        assert_eq!(far.map(|host| host.processes().len()), [processes; 2], "after {action}");
    }
}
