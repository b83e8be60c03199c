//! The functions of `qdl/capi/include/lon_qdl.h`, in its order. Each checks its pointers, lets no panic out, and keeps
//! the text of its error for the thread that called it. The header says what the functions do, and when they fail.
//! Symbols end with the version of the interface, except those of functions that every version has.

#![allow(unsafe_code, reason = "raw pointers of the caller")]

use std::ffi::{CStr, OsStr, c_char, c_void};
use std::os::unix::ffi::OsStrExt as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Once;
use std::time::Duration;
use std::{ptr, slice};

use bytes::Bytes;
use lon_qsl::PART_BYTES;
use lon_run::{json_options, open_samples};
use lon_shell::{log, panics};
use nix::sys::signal::{SigSet, SigmaskHow, Signal, pthread_sigmask};

use crate::callbacks::{Caller, response};
pub use crate::callbacks::{LonCallbacks, LonLostFn, LonResponse, LonResponsesFn};
use crate::handles::{self, Open};
use crate::pointers::{items, null, put, put_text, text};
use crate::queue::Kind;
use crate::run::Run;
use crate::samples::Samples;
use crate::status::{Code, Error, keep_last, last_text, not_in_callback};

/// The version of the interface: `LON_ABI` of the header.
const ABI: u32 = 1;

/// Filter of the log on standard error, unless `RUST_LOG` has another. It leaves out warnings about the result that a
/// test of our own could not reach: another engine judges.
const USUAL_LOG: &str = "warn,lon_run::test_run::test=error";

/// A sample of the dataset to send: `lon_sample` of the header.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct LonSample {
    /// The caller's name for the sample.
    pub id: u64,
    /// Its place in the dataset.
    pub index: usize,
}

/// Does it, and turns how it ended into a code.
fn guarded(work: impl FnOnce() -> Result<(), Error>) -> i32 {
    let outcome = handles::not_forked().map(|()| catch_unwind(AssertUnwindSafe(work)));
    let bug = || Error::new(Code::Bug, panics::first().unwrap_or("a panic"));
    match outcome.and_then(|outcome| outcome.unwrap_or_else(|_| Err(bug()))) {
        Ok(()) => 0,
        Err(error) => {
            keep_last(&error);
            error.code as i32
        }
    }
}

/// Prepares the library, once, before it opens something.
fn prepare() -> Result<(), Error> {
    static ONCE: Once = Once::new();
    ONCE.call_once(panics::watch_panics);
    log::start_if_none(USUAL_LOG).map_err(|error| Error::new(Code::Usage, error.to_string()))?;
    lon_net::descriptors::raise_limit().map_err(|error| Error::new(Code::Usage, error.to_string()))?;
    Ok(())
}

/// While this lives, threads that begin never get SIGPIPE: what is written to a node that is gone is an error there, as
/// in programs in Rust, and must not end the caller's program.
struct NoPipeSignal(Option<SigSet>);

impl NoPipeSignal {
    fn begin() -> NoPipeSignal {
        let (mut pipe, mut before) = (SigSet::empty(), SigSet::empty());
        pipe.add(Signal::SIGPIPE);
        let set = pthread_sigmask(SigmaskHow::SIG_BLOCK, Some(&pipe), Some(&mut before));
        NoPipeSignal(set.is_ok().then_some(before))
    }
}

impl Drop for NoPipeSignal {
    fn drop(&mut self) {
        if let Some(before) = &self.0 {
            let _ = pthread_sigmask(SigmaskHow::SIG_SETMASK, Some(before), None);
        }
    }
}

/// See the header.
#[unsafe(no_mangle)]
pub extern "C" fn lon_version() -> *const c_char {
    const VERSION: &CStr = match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
        Ok(version) => version,
        Err(_) => c"",
    };
    VERSION.as_ptr()
}

/// See the header.
#[unsafe(no_mangle)]
pub extern "C" fn lon_abi() -> u32 {
    ABI
}

/// See the header.
#[unsafe(export_name = "lon_last_error_v1")]
pub extern "C" fn lon_last_error() -> *const c_char {
    last_text()
}

/// See the header.
///
/// # Safety
/// Pointers are null or lead to what the header says.
#[unsafe(export_name = "lon_open_v1")]
pub unsafe extern "C" fn lon_open(options: *const c_char, callbacks: *const LonCallbacks, run: *mut u64) -> i32 {
    guarded(|| {
        not_in_callback("lon_open")?;
        // SAFETY: as the caller promises.
        unsafe { put(run, 0, "run") }?;
        // SAFETY: as the caller promises.
        let options = unsafe { text(options, "options") }?;
        // SAFETY: as the caller promises; it is only read where it is as long as the header says.
        let callbacks = unsafe { read_callbacks(callbacks) }?;
        let _quiet = NoPipeSignal::begin();
        prepare()?;
        let handle = handles::keep(Open::Run(Run::open(options, Caller::new(callbacks))?));
        // SAFETY: as the caller promises.
        unsafe { put(run, handle, "run") }
    })
}

/// # Safety
/// `callbacks` is null or leads to a structure that begins with its size.
unsafe fn read_callbacks(callbacks: *const LonCallbacks) -> Result<Option<LonCallbacks>, Error> {
    if callbacks.is_null() {
        return Ok(None);
    }
    // SAFETY: the first field is there, as the caller promises.
    let size = unsafe { ptr::read_unaligned(callbacks.cast::<usize>()) };
    if size != size_of::<LonCallbacks>() {
        let right_size = size_of::<LonCallbacks>();
        let text =
            format!("struct_size of the callbacks is {size}, not {right_size}: is it set to sizeof(lon_callbacks)?");
        return Err(Error::new(Code::Argument, text));
    }
    // SAFETY: it is as long as it says.
    Ok(Some(unsafe { ptr::read_unaligned(callbacks) }))
}

/// See the header.
///
/// # Safety
/// Pointers are null or lead to what the header says.
#[unsafe(export_name = "lon_qsl_open_v1")]
pub unsafe extern "C" fn lon_qsl_open(options: *const c_char, qsl: *mut u64) -> i32 {
    guarded(|| {
        not_in_callback("lon_qsl_open")?;
        // SAFETY: as the caller promises.
        unsafe { put(qsl, 0, "qsl") }?;
        // SAFETY: as the caller promises.
        let options = unsafe { text(options, "options") }?;
        prepare()?;
        let request = json_options::data_of(options)?;
        let dataset = open_samples(request.benchmark, &request.data, request.codecs)?;
        let handle = handles::keep(Open::Samples(Samples::new(dataset, request.benchmark.name).into()));
        // SAFETY: as the caller promises.
        unsafe { put(qsl, handle, "qsl") }
    })
}

/// See the header.
///
/// # Safety
/// Pointers are null or lead to what the header says.
#[unsafe(export_name = "lon_name_v1")]
pub unsafe extern "C" fn lon_name(run: u64, buffer: *mut c_char, capacity: usize, length: *mut usize) -> i32 {
    guarded(|| {
        not_in_callback("lon_name")?;
        let name = handles::run(run)?.name()?;
        // SAFETY: as the caller promises.
        unsafe { put_text(&name, buffer, capacity, length) }
    })
}

/// See the header.
///
/// # Safety
/// Pointers are null or lead to what the header says.
#[unsafe(export_name = "lon_describe_v1")]
pub unsafe extern "C" fn lon_describe(handle: u64, buffer: *mut c_char, capacity: usize, length: *mut usize) -> i32 {
    guarded(|| {
        let description = match handles::get(handle)? {
            Open::Run(run) => run.description(),
            Open::Samples(samples) => samples.description(),
        };
        let text = serde_json::to_string(&description).map_err(|error| Error::new(Code::Bug, error.to_string()))?;
        // SAFETY: as the caller promises.
        unsafe { put_text(&text, buffer, capacity, length) }
    })
}

/// See the header.
///
/// # Safety
/// `count` is null or can be written to.
#[unsafe(export_name = "lon_total_count_v1")]
pub unsafe extern "C" fn lon_total_count(handle: u64, count: *mut usize) -> i32 {
    // SAFETY: as the caller promises.
    guarded(|| unsafe { put(count, handles::samples(handle)?.total_count(), "count") })
}

/// See the header.
///
/// # Safety
/// `count` is null or can be written to.
#[unsafe(export_name = "lon_performance_count_v1")]
pub unsafe extern "C" fn lon_performance_count(handle: u64, count: *mut usize) -> i32 {
    // SAFETY: as the caller promises.
    guarded(|| unsafe { put(count, handles::samples(handle)?.performance_count(), "count") })
}

/// See the header.
///
/// # Safety
/// `indices` is null or has `count` items.
#[unsafe(export_name = "lon_load_v1")]
pub unsafe extern "C" fn lon_load(handle: u64, indices: *const usize, count: usize) -> i32 {
    guarded(|| {
        not_in_callback("lon_load")?;
        // SAFETY: as the caller promises.
        handles::samples(handle)?.load(unsafe { items(indices, count, "indices") }?)
    })
}

/// See the header.
///
/// # Safety
/// `indices` is null or has `count` items.
#[unsafe(export_name = "lon_unload_v1")]
pub unsafe extern "C" fn lon_unload(handle: u64, indices: *const usize, count: usize) -> i32 {
    guarded(|| {
        not_in_callback("lon_unload")?;
        // SAFETY: as the caller promises.
        handles::samples(handle)?.unload(unsafe { items(indices, count, "indices") }?);
        Ok(())
    })
}

/// See the header.
///
/// # Safety
/// `data` and `size` are null or can be written to.
#[unsafe(export_name = "lon_encoded_v1")]
pub unsafe extern "C" fn lon_encoded(handle: u64, index: usize, data: *mut *const c_void, size: *mut usize) -> i32 {
    guarded(|| {
        // The dataset goes on owning the bytes until the sample is unloaded.
        let payload = handles::samples(handle)?.payload(index)?;
        // SAFETY: as the caller promises.
        unsafe {
            put(data, payload.as_ptr().cast(), "data")?;
            put(size, payload.len(), "size")
        }
    })
}

/// See the header.
///
/// # Safety
/// `samples` is null or has `count` items.
#[unsafe(export_name = "lon_issue_loaded_v1")]
pub unsafe extern "C" fn lon_issue_loaded(run: u64, samples: *const LonSample, count: usize) -> i32 {
    guarded(|| {
        not_in_callback("lon_issue_loaded")?;
        let run = handles::run(run)?;
        // SAFETY: as the caller promises.
        let samples = unsafe { items(samples, count, "samples") }?;
        run.issue_loaded(samples.iter().map(|sample| (sample.id, sample.index)))
    })
}

/// See the header.
///
/// # Safety
/// `sample` is null or leads to one.
#[unsafe(export_name = "lon_try_issue_loaded_v1")]
pub unsafe extern "C" fn lon_try_issue_loaded(run: u64, sample: *const LonSample) -> i32 {
    guarded(|| {
        not_in_callback("lon_try_issue_loaded")?;
        let run = handles::run(run)?;
        // SAFETY: as the caller promises.
        let [sample] = unsafe { items(sample, 1, "sample") }? else { return Err(null("sample")) };
        run.try_issue_loaded(sample.id, sample.index)
    })
}

/// See the header.
///
/// # Safety
/// The three arrays are null or have `count` items, and each of `data` leads to as many bytes as its size says.
#[unsafe(export_name = "lon_issue_v1")]
pub unsafe extern "C" fn lon_issue(
    run: u64,
    ids: *const u64,
    data: *const *const c_void,
    sizes: *const usize,
    count: usize,
) -> i32 {
    guarded(|| {
        not_in_callback("lon_issue")?;
        let run = handles::run(run)?;
        // SAFETY: as the caller promises.
        let (ids, data, sizes) =
            unsafe { (items(ids, count, "ids")?, items(data, count, "data")?, items(sizes, count, "sizes")?) };
        for (id, (data, size)) in ids.iter().zip(data.iter().zip(sizes)) {
            if data.is_null() || *size == 0 || *size > MOST_BYTES {
                let text = format!("sample {id} has {size} bytes at {data:?}: 1 to {MOST_BYTES} bytes are sent");
                return Err(Error::new(Code::Argument, text));
            }
        }
        let samples = ids.iter().zip(data.iter().zip(sizes)).map(|(id, (data, size))| {
            // SAFETY: not null and no longer than memory, checked above; the rest is promised by the caller.
            let bytes = unsafe { slice::from_raw_parts(data.cast::<u8>(), *size) };
            (*id, Bytes::copy_from_slice(bytes))
        });
        run.issue(samples)
    })
}

/// Bytes of one sample at most: more than that is a slip, not a sample.
const MOST_BYTES: usize = PART_BYTES << 11;

/// See the header.
#[unsafe(export_name = "lon_flush_v1")]
pub extern "C" fn lon_flush(run: u64) -> i32 {
    guarded(|| {
        handles::run(run)?.flush();
        Ok(())
    })
}

/// See the header.
///
/// # Safety
/// `responses` is null or has room for `capacity`; `count` and `kind` are null or can be written to.
#[unsafe(export_name = "lon_take_v1")]
pub unsafe extern "C" fn lon_take(
    run: u64,
    responses: *mut LonResponse,
    capacity: usize,
    timeout_ms: u32,
    count: *mut usize,
    kind: *mut i32,
) -> i32 {
    guarded(|| {
        not_in_callback("lon_take")?;
        // SAFETY: as the caller promises.
        unsafe {
            put(count, 0, "count")?;
            put(kind, Kind::Completed as i32, "kind")?;
        }
        if responses.is_null() || capacity == 0 || !responses.is_aligned() {
            return Err(Error::new(Code::Argument, "'responses' has no room"));
        }
        let run = handles::run(run)?;
        if !run.caller().is_fetched() {
            return Err(Error::new(Code::Argument, "this run was opened with callbacks, which get everything"));
        }
        let timeout = Duration::from_millis(timeout_ms.into());
        let go_on = run.caller().queue.take(capacity, timeout, |fetched| {
            for (place, one) in fetched.iter().enumerate() {
                // SAFETY: there are `capacity` at most, for which there is room.
                unsafe { responses.add(place).write(response(one.id, &one.data, one.n_tokens)) };
            }
            // SAFETY: as the caller promises, and checked for null above.
            unsafe {
                count.write_unaligned(fetched.len());
                kind.write_unaligned(fetched.first().map_or(Kind::Completed, |first| first.kind) as i32);
            }
        });
        if go_on { Ok(()) } else { Err(run.is_over()) }
    })
}

/// See the header.
///
/// # Safety
/// `folder` is null or leads to a text that ends with 0.
#[unsafe(export_name = "lon_close_v1")]
pub unsafe extern "C" fn lon_close(handle: u64, folder: *const c_char) -> i32 {
    guarded(|| {
        not_in_callback("lon_close")?;
        // SAFETY: not null, and the rest is promised by the caller.
        let folder = (!folder.is_null()).then(|| unsafe { CStr::from_ptr(folder) });
        let folder = folder.map(|folder| Path::new(OsStr::from_bytes(folder.to_bytes())));
        match handles::forget(handle)? {
            Open::Run(run) => run.close(folder),
            Open::Samples(_) => Ok(()),
        }
    })
}
