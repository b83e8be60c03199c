//! A campaign over several hosts: it starts the nodes there, is killed in the middle, and goes on.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use lon_tests::fabric::{Fabric, FabricSpec};
use lon_tests::process::LoadGen;
use nix::sys::signal::Signal;
use serde_json::Value;

/// Longest time for runs of a few seconds on a busy machine.
const PATIENCE: Duration = Duration::from_secs(300);

fn json(path: &Path) -> Option<Value> {
    serde_json::from_str(&fs::read_to_string(path).ok()?).ok()
}

/// Records of the runs that have ended, by the folders of their runs.
fn records(out: &Path) -> Vec<(String, String)> {
    let Some(plan) = json(&out.join("campaign.json")) else { return Vec::new() };
    let folders = plan["runs"].as_array().unwrap().iter().map(|run| run["folder"].as_str().unwrap().to_owned());
    folders.filter_map(|folder| Some((folder.clone(), fs::read_to_string(out.join(folder + ".json")).ok()?))).collect()
}

#[test]
#[ignore = ".ci/run links"]
fn twelve_cells_over_a_shaped_link_are_made_once_each_though_the_campaign_is_killed() {
    let fabric = Fabric::new(FabricSpec { hosts: 3, rate_mbit_s: Some(100) });
    let above = tempfile::tempdir().unwrap();
    let launcher = above.path().join("launch");
    let cases = [1, 2].map(|number| {
        let host = fabric.host(number);
        format!("{}) name={};; ", host.address(), host.namespace())
    });
    let script = format!("#!/bin/sh\ncase $1 in {} esac\nshift\nexec ip netns exec $name \"$@\"\n", cases.concat());
    fs::write(&launcher, script).unwrap();
    fs::set_permissions(&launcher, fs::Permissions::from_mode(0o755)).unwrap();
    let file = above.path().join("c.toml");
    let text = "out = \"out\"\n[run]\nbenchmark = \"digits\"\nscenario = \"Server\"\nmax-lag = \"3600s\"\n\
                insecure = true\n\
                settings = { target_qps = 100, min_duration = \"300ms\", min_query_count = 30 }\n[node]\n\
                backend = \"synthetic:constant=1ms\"\ninsecure = true\ncount = 2\n[axes]\n\
                transport = [\"grpc\", \"tcp\"]\ncompression = [\"none\", \"lz4\", \"zstd:1\"]\n\
                node.max-batch = [1, 8]\n";
    fs::write(&file, text).unwrap();
    let hosts = [1, 2].map(|number| fabric.host(number).address().to_string()).join(",");
    let launch = format!("{} {{host}}", launcher.display());
    let (file, out) = (file.to_str().unwrap(), above.path().join("out"));
    let args = ["campaign", "run", file, "--hosts", &hosts, "--launch", &launch];
    let first = LoadGen::start_in(fabric.host(0), &[], &args);
    let start = Instant::now();
    while records(&out).len() < 5 {
        assert!(start.elapsed() < PATIENCE, "{:?}", records(&out));
        std::thread::sleep(Duration::from_millis(50));
    }
    first.signal(Signal::SIGKILL);
    assert_eq!(first.finish().code, None);
    let before = records(&out);
    assert!((5..12).contains(&before.len()), "{}", before.len());
    let second = LoadGen::start_in(fabric.host(0), &[], &args).finish();
    assert!(matches!(second.code, Some(0 | 3)), "{second:?}");
    let after = records(&out);
    assert_eq!(after.iter().map(|(folder, _)| folder).collect::<BTreeSet<_>>().len(), 12);
    assert!(before.iter().all(|record| after.contains(record)), "a run that had ended was made again");
    // The table has what the runs' own files have, from both hosts.
    let table = LoadGen::run(&["campaign", "table", file, "--json", "--columns", "p99,rate"]);
    let table: Value = serde_json::from_str(&table.stdout).unwrap();
    let rows = table["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 12);
    for row in rows {
        let folder = out.join(row["folders"][0].as_str().unwrap());
        let result = json(&folder.join("result_summary.json")).unwrap();
        assert_eq!(row["verdict"], result["result"], "{row}");
        assert_eq!(result["sut"].as_array().unwrap().len(), 2, "{row}");
        let quantities = row["quantities"].as_array().unwrap();
        let p99 = quantities.iter().find(|quantity| quantity["name"] == "p99").unwrap();
        assert_eq!(p99["median"].as_f64(), result["latency_ns"]["p99"].as_f64(), "{row}");
    }
}
