//! The memory that a codec takes, counted at the allocator.
#![allow(clippy::unwrap_used, reason = "a test that cannot set up has failed")]

use std::alloc::{GlobalAlloc, Layout as Memory, System};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use bytes::Bytes;
use lon_proto::codec::{Codec, Encoder, Inflater, Layout};
use lon_proto::sample::{self, DType, Tensor};

/// The system's allocator, with the bytes that are taken now and the most that were.
struct Counting;

static TAKEN: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

#[allow(unsafe_code, reason = "an allocator is made of unsafe functions; these only count")]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Memory) -> *mut u8 {
        MOST.fetch_max(TAKEN.fetch_add(layout.size(), SeqCst) + layout.size(), SeqCst);
        // SAFETY: the caller keeps the contract, which is that of the system's allocator.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Memory) {
        TAKEN.fetch_sub(layout.size(), SeqCst);
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Returns the result of `work`, the most bytes that were taken during it, and the bytes that are still taken after it.
fn counted<T>(work: impl FnOnce() -> T) -> (T, usize, usize) {
    let before = TAKEN.load(SeqCst);
    MOST.store(before, SeqCst);
    let result = work();
    (result, MOST.load(SeqCst) - before, TAKEN.load(SeqCst).saturating_sub(before))
}

const RAW_BYTES: usize = 64 << 20;
/// The most bytes that headers, lists and error texts may take.
const SMALL: usize = 64 << 10;

/// One test: the counts are the process's.
#[test]
fn a_codec_takes_what_it_says_and_keeps_nothing_large() {
    let data = vec![0; RAW_BYTES];
    let raw = sample::encode(&[Tensor::new(DType::F32, &[RAW_BYTES as u32 / 4], data.into()).unwrap()]).unwrap();
    for name in ["zstd", "lz4", "shuffle-zstd", "delta-zstd"] {
        let codec: Codec = name.parse().unwrap();
        let mut encoder = Encoder::new(codec);
        let (frame, _, memory_bytes) = counted(|| encoder.encode(&raw, Layout::Sample).unwrap());
        assert!(memory_bytes < frame.len() + SMALL, "{name}: the encoder keeps {memory_bytes} bytes");

        let mut inflater = Inflater::new(codec, 1 << 30);
        let declared_bytes = codec.inflating_bytes(&frame) as usize;
        let (inflated, most, memory_bytes) = counted(|| inflater.inflate(frame.clone()).unwrap());
        assert_eq!(inflated.len(), raw.len());
        assert!(most < declared_bytes + SMALL, "{name}: {most} bytes, said were {declared_bytes}");
        assert!(memory_bytes < inflated.len() + SMALL, "{name}: the inflater keeps {memory_bytes} bytes");

        // A frame beyond the bound takes nothing, neither does one that cannot be as large as it says.
        let mut bounded = Inflater::new(codec, raw.len() as u64 - 1);
        let (refused, most, _) = counted(|| bounded.inflate(frame.clone()));
        assert!(refused.unwrap_err().to_string().contains("are allowed") && most < SMALL, "{name}: {most}");
        let (refused, most, _) = counted(|| inflater.inflate(lying(&frame)));
        assert!(refused.is_err() && most < SMALL, "{name}: {most}");
    }
}

/// A frame that is cut after its first kilobyte, and still says its size.
fn lying(frame: &Bytes) -> Bytes {
    frame.slice(..frame.len().min(1 << 10))
}
