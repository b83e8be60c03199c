//! Most memory of a SUT node, whatever the client of its run sends. `hostile_clients` has the memory that other clients
//! can make it take.

use lon_tests::folder_check::FolderCheck;
use lon_tests::memory::{self, MOST_MORE_BYTES};
use lon_tests::process::SutNode;
use lon_tests::test_run::TestRun;

/// 64 MB of zeros are a few kilobytes on the way.
#[test]
fn samples_that_inflate_to_more_than_is_set_aside_are_refused_before_they_take_it() {
    for codec in ["zstd", "lz4", "shuffle-zstd", "delta-zstd"] {
        let node = SutNode::start("a", "null", &["--memory", "64MiB", "--decode-threads", "3"]);
        let quiet_bytes = memory::now_bytes(node.id());
        let test = TestRun::new("Offline").on(&node.address).dataset("synthetic:zeros-i64[8388608]x1");
        let test = test.set("min_duration=0,min_query_count=12,target_qps=1").args(&["--compression", codec]);
        let (finished, folder) = test.finish();
        let check = FolderCheck::of(&folder.path, finished.code);
        assert_eq!((finished.code, check.faults.as_slice()), (Some(3), &[][..]), "{codec}: {finished:?}");
        assert_eq!(check.count("failed"), 12, "{codec}: {finished:?}");
        assert!(
            check.verdict_text().contains("when inflated; 16777216 are allowed"),
            "{codec}: {}",
            check.verdict_text()
        );
        let more_bytes = memory::most_bytes(node.id()) - quiet_bytes;
        println!("{codec}: {more_bytes} bytes more than {quiet_bytes}");
        assert!(more_bytes < MOST_MORE_BYTES, "{codec}: {more_bytes} bytes more than {quiet_bytes}");
    }
}
