//! All nodes at the same time, within a bound; what comes of them is in the order of the nodes.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// Returns the result of `each` for every item, in order. At most `parallel` calls run at the same time.
pub(super) fn in_order<T: Sync, R: Send>(items: &[T], parallel: usize, each: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::with_capacity(items.len())));
    let work = || {
        loop {
            let at = next.fetch_add(1, Relaxed);
            let Some(item) = items.get(at) else { return };
            let result = each(item);
            done.lock().unwrap_or_else(PoisonError::into_inner).push((at, result));
        }
    };
    std::thread::scope(|scope| {
        // Where the system gives no more threads, fewer do the work; this one finds none left, or does it.
        for _ in 1..parallel.min(items.len()) {
            let _ = std::thread::Builder::new().spawn_scoped(scope, work);
        }
        work();
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::{Condvar, Mutex};

    use super::*;

    /// Each waits until as many are under way as may be, and none more is.
    #[test]
    fn as_many_as_may_be_are_under_way() {
        const AT_ONCE: usize = 3;
        let (inside, changed, most) = (Mutex::new((0_usize, 0_usize)), Condvar::new(), AtomicUsize::new(0));
        let results = in_order(&[1, 2, 3, 4, 5, 6], AT_ONCE, |item| {
            let mut now = inside.lock().unwrap();
            *now = (now.0 + 1, now.1 + 1);
            most.fetch_max(now.0, Relaxed);
            changed.notify_all();
            let batch = now.1.div_ceil(AT_ONCE) * AT_ONCE;
            let mut now = changed.wait_while(now, |now| now.1 < batch).unwrap();
            now.0 -= 1;
            item * 10
        });
        assert_eq!(results, [10, 20, 30, 40, 50, 60]);
        assert_eq!(most.into_inner(), AT_ONCE);
        assert!(in_order(&[0; 0], 3, |_| ()).is_empty());
    }
}
