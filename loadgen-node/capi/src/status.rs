//! Return values of the functions, and the text of the last error of each thread.

use std::cell::{Cell, RefCell};
use std::ffi::{CStr, CString, c_char};

use lon_run::{Exit, Failure};

/// Why a function did not do what it was asked for: the codes of the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub(crate) enum Code {
    /// A bug, or the operating system refused something.
    Bug = 1,
    /// An option, a file, a dataset or a model is not as it should be.
    Usage = 2,
    /// The run is over and cannot be used.
    Unusable = 3,
    /// Nodes or network failed.
    Network = 4,
    /// No such handle.
    Handle = 6,
    /// A pointer, an index or a length.
    Argument = 7,
    /// Not on this thread.
    Thread = 8,
    /// It would have to wait.
    Busy = 9,
    /// Not in this process.
    Fork = 10,
}

/// An error of a function, with its code.
#[derive(Debug, thiserror::Error)]
#[error("{text}")]
pub(crate) struct Error {
    pub(crate) code: Code,
    text: String,
}

impl Error {
    /// An error with this text, which becomes one line.
    pub(crate) fn new(code: Code, text: impl Into<String>) -> Error {
        let text = text.into().replace(|c: char| c.is_control(), " ");
        Error { code, text }
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Error {
        let code = match failure.exit {
            Exit::Usage => Code::Usage,
            Exit::Network => Code::Network,
            Exit::Invalid => Code::Unusable,
            Exit::Ok | Exit::Bug | Exit::Interrupted => Code::Bug,
        };
        Error::new(code, failure.one_line())
    }
}

thread_local! {
    static LAST: RefCell<CString> = RefCell::default();
    static IN_CALLBACK: Cell<bool> = const { Cell::new(false) };
}

/// Keeps the text of this error for [`last_text`] on this thread.
pub(crate) fn keep_last(error: &Error) {
    let text = CString::new(error.text.replace('\0', " ")).unwrap_or_default();
    // A thread that is ending has no place for it any more.
    let _ = LAST.try_with(|last| last.replace(text));
}

/// The text that was kept last on this thread; valid until the next one is kept.
pub(crate) fn last_text() -> *const c_char {
    LAST.try_with(|last| CStr::as_ptr(&last.borrow())).unwrap_or(c"".as_ptr())
}

/// Calls the caller's code. What must not be called from there can ask whether it is.
pub(crate) fn in_callback(call: impl FnOnce()) {
    let before = IN_CALLBACK.replace(true);
    call();
    IN_CALLBACK.set(before);
}

/// Refuses what would wait for the thread that it is called on.
pub(crate) fn not_in_callback(what: &str) -> Result<(), Error> {
    match IN_CALLBACK.get() {
        true => Err(Error::new(Code::Thread, format!("{what} cannot be called inside a callback"))),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_thread_has_its_own_last_error() {
        let text = || {
            let text = last_text();
            // SAFETY: it is valid until the next error of this thread.
            #[allow(unsafe_code, reason = "reads what was kept above")]
            let text = unsafe { CStr::from_ptr(text) };
            text.to_str().unwrap().to_owned()
        };
        keep_last(&Error::new(Code::Usage, "two\nlines\0"));
        assert_eq!(text(), "two lines ");
        assert_eq!(std::thread::spawn(text).join().unwrap(), "");
    }

    #[test]
    fn what_waits_is_refused_inside_callbacks_alone() {
        in_callback(|| assert_eq!(not_in_callback("it").unwrap_err().code, Code::Thread));
        not_in_callback("it").unwrap();
    }
}
