//! Raw pointers of the caller: each is checked as far as it can be, then read or written.

#![allow(unsafe_code, reason = "raw pointers of the caller")]

use std::ffi::{CStr, c_char};
use std::{ptr, slice};

use crate::status::{Code, Error};

/// The error of a null pointer, by the name of its parameter.
pub(crate) fn null(what: &str) -> Error {
    Error::new(Code::Argument, format!("'{what}' is a null pointer"))
}

/// The text that a pointer leads to.
///
/// # Safety
/// `text` is null or leads to a text that ends with 0.
pub(crate) unsafe fn text<'a>(text: *const c_char, what: &str) -> Result<&'a str, Error> {
    if text.is_null() {
        return Err(null(what));
    }
    // SAFETY: it is not null, and the rest is promised by the caller.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str().map_err(|error| Error::new(Code::Argument, format!("'{what}' is no UTF-8: {error}")))
}

/// The items that a pointer leads to.
///
/// # Safety
/// `items` is null or leads to `count` items.
pub(crate) unsafe fn items<'a, T>(items: *const T, count: usize, what: &str) -> Result<&'a [T], Error> {
    if count == 0 {
        return Ok(&[]);
    }
    if items.is_null() {
        return Err(null(what));
    }
    if !items.is_aligned() {
        return Err(Error::new(Code::Argument, format!("'{what}' is not aligned")));
    }
    if count > isize::MAX as usize / size_of::<T>() {
        return Err(Error::new(Code::Argument, format!("'{what}' cannot have {count} items")));
    }
    // SAFETY: not null, aligned, no longer than memory; the rest is promised by the caller.
    Ok(unsafe { slice::from_raw_parts(items, count) })
}

/// Writes a value to where a pointer leads.
///
/// # Safety
/// `place` is null or can be written to.
pub(crate) unsafe fn put<T>(place: *mut T, value: T, what: &str) -> Result<(), Error> {
    if place.is_null() {
        return Err(null(what));
    }
    // SAFETY: it is not null, and the rest is promised by the caller.
    unsafe { ptr::write_unaligned(place, value) };
    Ok(())
}

/// Writes a text into a buffer as far as it fits, with a 0 at its end.
///
/// # Safety
/// `buffer` is null or has `capacity` bytes; `length` is null or can be written to.
pub(crate) unsafe fn put_text(
    text: &str,
    buffer: *mut c_char,
    capacity: usize,
    length: *mut usize,
) -> Result<(), Error> {
    // SAFETY: as the caller promises.
    unsafe { put(length, text.len(), "length") }?;
    if capacity == 0 {
        return Ok(());
    }
    if buffer.is_null() {
        return Err(null("buffer"));
    }
    let fits = text.len().min(capacity - 1);
    // SAFETY: `fits` bytes and the 0 are at most `capacity`, and the two do not overlap.
    unsafe {
        ptr::copy_nonoverlapping(text.as_ptr().cast(), buffer, fits);
        buffer.add(fits).write(0);
    }
    Ok(())
}
