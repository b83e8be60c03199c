//! Random bytes: names of runs, secrets, nonces. They come from the operating system.

use std::cell::Cell;

pub use getrandom::Error;

thread_local! {
    /// The state of this thread's own generator, in a simulation.
    static SEEDED: Cell<Option<u64>> = const { Cell::new(None) };
}

/// Fills `bytes` with what nobody can guess.
///
/// # Errors
/// The operating system has no random bytes.
pub fn fill(bytes: &mut [u8]) -> Result<(), Error> {
    match SEEDED.get() {
        None => getrandom::fill(bytes),
        Some(state) => {
            SEEDED.set(Some(generate(state, bytes)));
            Ok(())
        }
    }
}

/// A number that nobody can guess.
///
/// # Errors
/// The operating system has no random bytes.
pub fn u64() -> Result<u64, Error> {
    let mut bytes = [0; 8];
    fill(&mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
}

/// For simulations, which have to go the same way again: from here on this thread's random bytes follow from `seed`.
/// Anybody can guess them.
#[doc(hidden)]
pub fn seed_this_thread(seed: u64) {
    SEEDED.set(Some(seed));
}

/// SplitMix64. Returns its next state.
fn generate(mut state: u64, bytes: &mut [u8]) -> u64 {
    for chunk in bytes.chunks_mut(8) {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        chunk.copy_from_slice(&(mixed ^ (mixed >> 31)).to_le_bytes()[..chunk.len()]);
    }
    state
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two() -> [u64; 2] {
        [(); 2].map(|()| u64().unwrap())
    }

    fn of_seed(seed: u64) -> [u64; 2] {
        let seeded = move || {
            seed_this_thread(seed);
            two()
        };
        std::thread::spawn(seeded).join().unwrap()
    }

    #[test]
    fn only_a_thread_with_a_seed_repeats_itself() {
        let [first, second] = two();
        assert_ne!(first, second);
        assert_eq!(of_seed(7), of_seed(7));
        assert_ne!(of_seed(7), of_seed(8));
        assert_ne!(two(), two());
    }
}
