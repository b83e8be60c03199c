//! Bugs: what is said when a thread panics or memory runs out, and how the rest of the program learns of it.

use std::any::Any;
use std::backtrace::{Backtrace, BacktraceStatus};
use std::cell::Cell;
use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, Location, PanicHookInfo, catch_unwind};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

use signal_hook::consts::SIGABRT;
use signal_hook::flag;

/// The text of the first panic.
static FIRST: OnceLock<String> = OnceLock::new();

thread_local! {
    /// True while a panic of this thread is an answer that the program expects.
    static IS_CONTAINED: Cell<bool> = const { Cell::new(false) };
}

/// The operating system's text for a lack of memory.
const NO_MEMORY: &str = "(os error 12)";

/// From here on a panic in any thread is told in one line on standard error, and [`first`] knows it. A program that
/// gives up at once, as for lack of memory, ends with the exit code `exit`; the reason has been told by then.
///
/// # Errors
/// The operating system refuses a handler.
pub fn watch(program: &'static str, exit: u8) -> io::Result<()> {
    std::panic::set_hook(Box::new(move |info| {
        if !IS_CONTAINED.get() {
            notice(&mut io::stderr(), program, info);
        }
    }));
    flag::register_conditional_shutdown(SIGABRT, i32::from(exit), Arc::new(AtomicBool::new(true)))?;
    Ok(())
}

/// From here on [`first`] knows panics. What is done about them otherwise stays as it was: for a library, whose program
/// may have a mind of its own.
pub fn watch_panics() {
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if !IS_CONTAINED.get() {
            notice(&mut io::sink(), "", info);
            before(info);
        }
    }));
}

/// Runs code of others that panics on some of what it is given. That is told to nobody else: nothing of this program is
/// broken. Nothing that `body` changes may be used after a panic.
///
/// # Errors
/// What the panic said.
pub fn contained<T>(body: impl FnOnce() -> T) -> Result<T, String> {
    let before = IS_CONTAINED.replace(true);
    let outcome = catch_unwind(AssertUnwindSafe(body));
    IS_CONTAINED.set(before);
    outcome.map_err(|payload| payload_text(payload.as_ref()).to_owned())
}

/// Returns the text of the first panic since [`watch`]; `None` as long as there was none.
pub fn first() -> Option<&'static str> {
    FIRST.get().map(String::as_str)
}

fn notice(sink: &mut impl Write, program: &str, info: &PanicHookInfo<'_>) {
    let thread = std::thread::current();
    let text = text(thread.name().unwrap_or("without a name"), info.payload(), info.location());
    let backtrace = Backtrace::capture();
    let more = match backtrace.status() {
        BacktraceStatus::Captured => format!("\n{backtrace}"),
        _ => " (RUST_BACKTRACE=1 shows the way there)".to_owned(),
    };
    // One write has the whole line, so that lines of other threads stay apart from it. An error of the write is
    // ignored: there is no other place to report it.
    let line = format!("{program}: {}: {text}{more}\n", what(&text));
    let _ = sink.write_all(line.as_bytes());
    FIRST.get_or_init(|| text);
}

/// Returns the meaning of a panic. A thread that gets no memory as it begins panics inside the standard library.
fn what(text: &str) -> &'static str {
    if text.contains(NO_MEMORY) { "no memory is left" } else { "this is a bug, please report it" }
}

/// Returns the description of a panic on one line.
fn text(thread: &str, payload: &dyn Any, location: Option<&Location<'_>>) -> String {
    let reason = payload_text(payload).replace(char::is_control, " ");
    let place = location.map_or_else(String::new, |location| format!(" at {location}"));
    format!("thread {thread} panicked{place}: {reason}")
}

fn payload_text(payload: &dyn Any) -> &str {
    let text = payload.downcast_ref::<&str>().copied().or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("it does not say why")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lack_of_memory_is_no_bug() {
        let failure = format!("failed to allocate an alternative stack: {}", io::Error::from_raw_os_error(12));
        assert_eq!(what(&text("worker-7", &failure, None)), "no memory is left");
        assert_eq!(what(&text("worker-7", &"index out of bounds", None)), "this is a bug, please report it");
    }

    #[test]
    fn a_panic_in_any_thread_is_known_unless_it_is_contained() {
        // The hook prints nothing: a log of tests with a panic in it is read as a failure.
        std::panic::set_hook(Box::new(|_| ()));
        watch_panics();
        assert_eq!(contained(|| assert_eq!([1].len(), 1)), Ok(()));
        assert_eq!(contained(|| panic!("an index of {}", 7)), Err::<(), _>("an index of 7".to_owned()));
        assert_eq!(first(), None);
        let thread = std::thread::Builder::new().name("worker-7".to_owned());
        let panics = thread.spawn(|| assert_eq!([1].len(), 2, "two\nlines")).unwrap();
        assert!(panics.join().is_err());
        let message = first().unwrap();
        assert!(message.starts_with("thread worker-7 panicked at ") && message.contains("panics.rs:"), "{message}");
        assert!(message.contains("two lines") && message.lines().count() == 1, "{message}");
    }
}
