//! How much memory a SUT node takes at most, whatever a client sends that has it. What strangers can make it take is
//! tested where they are.

use lon_tests::folder_check::FolderCheck;
use lon_tests::memory;
use lon_tests::process::SutNode;
use lon_tests::test_run::TestRun;

/// What a node may take more than when nobody asked it anything.
const MOST_MORE_BYTES: u64 = 64 << 20;

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
        assert!(check.words().contains("when inflated; 16777216 are allowed"), "{codec}: {}", check.words());
        let more_bytes = memory::most_bytes(node.id()) - quiet_bytes;
        println!("{codec}: {more_bytes} bytes more than {quiet_bytes}");
        assert!(more_bytes < MOST_MORE_BYTES, "{codec}: {more_bytes} bytes more than {quiet_bytes}");
    }
}

/// A model whose answer is as large as the square of its sample: 17 terabytes for 16 MiB.
#[test]
#[ignore = "needs generated models: set LON_TEST_MODELS"]
fn samples_that_a_model_of_free_sizes_has_no_memory_for_are_refused_before_they_take_it() {
    let models = std::env::var("LON_TEST_MODELS").expect("LON_TEST_MODELS names what tests/models/make.py wrote");
    let node = SutNode::start("a", &format!("onnx:{models}/pairs.onnx"), &["--memory", "256MiB"]);
    let run = |shape: &str| {
        let test = TestRun::new("Offline").on(&node.address).dataset(&format!("synthetic:f32[{shape},2]x2"));
        let (finished, folder) = test.set("min_duration=0,min_query_count=12,target_qps=1").finish();
        (FolderCheck::of(&folder.path, finished.code), finished)
    };
    let (small, finished) = run("100");
    assert_eq!((small.count("failed"), small.count("completed")), (0, 12), "{finished:?}");
    let quiet_bytes = memory::most_bytes(node.id());
    let (large, finished) = run("2097152");
    assert_eq!((finished.code, large.faults.as_slice()), (Some(3), &[][..]), "{finished:?}");
    assert_eq!(large.count("failed"), 12, "{finished:?}");
    assert!(large.words().contains("are set aside for one inference (sut-node --memory)"), "{}", large.words());
    // Samples on their way have a quarter of the memory to themselves.
    let more_bytes = memory::most_bytes(node.id()) - quiet_bytes;
    println!("{more_bytes} bytes more than {quiet_bytes}");
    assert!(more_bytes < MOST_MORE_BYTES + (64 << 20), "{more_bytes} bytes more than {quiet_bytes}");
}
