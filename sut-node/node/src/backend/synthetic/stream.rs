//! Token streams without a model. The moments of a sample's first token and of its end are known when it begins.

use std::time::{Duration, Instant};

use bytes::Bytes;
use rand_mt::Mt64;

use super::super::stream::{Event, Output, Streamer, What};
use super::super::{BackendSample, InferError};
use super::draw::{hash, unit};
use super::spec::{Count, Stall};

/// Tokens are numbers below this one.
const VOCABULARY: u64 = 32_000;

/// The longest sleep in one step, so that other samples are begun and cancelled in time.
const LONGEST_STEP: Duration = Duration::from_millis(10);

pub(super) struct SyntheticStreamer {
    ttft: Duration,
    tpot: Duration,
    tokens: Count,
    stall: Option<Stall>,
    seed: u64,
    slots: Vec<Option<SlotSample>>,
}

struct SlotSample {
    /// When its first token is due; `None` once it was told.
    first_at: Option<Instant>,
    done_at: Instant,
    answer: Bytes,
}

impl SlotSample {
    fn due(&self) -> Instant {
        self.first_at.unwrap_or(self.done_at)
    }
}

impl SyntheticStreamer {
    pub(super) fn new(
        slots: usize,
        ttft: Duration,
        tpot: Duration,
        tokens: Count,
        stall: Option<Stall>,
        seed: u64,
    ) -> SyntheticStreamer {
        let slots = std::iter::repeat_with(|| None).take(slots).collect();
        SyntheticStreamer { ttft, tpot, tokens, stall, seed, slots }
    }

    /// The answer to a sample of these bytes, and how long its first token takes.
    fn answer(&self, sample: &[u8]) -> (Bytes, Duration) {
        let mut mt = Mt64::new(self.seed ^ hash(sample));
        let count = self.tokens.at(unit(&mut mt));
        let stalled = self.stall.map_or(Duration::ZERO, |stall| stall.next(&mut mt));
        let tokens = std::iter::repeat_with(|| (mt.next_u64() % VOCABULARY).to_le_bytes());
        (tokens.take(count).flatten().collect::<Vec<u8>>().into(), self.ttft.saturating_add(stalled))
    }
}

const TOKEN_BYTES: usize = 8;

impl Streamer for SyntheticStreamer {
    fn slots(&self) -> usize {
        self.slots.len()
    }

    fn begin(&mut self, slot: usize, sample: &BackendSample) -> Result<(), InferError> {
        let (answer, ttft) = self.answer(&sample.bytes);
        let further = u32::try_from(answer.len() / TOKEN_BYTES - 1).unwrap_or(u32::MAX);
        let first_at = Instant::now() + ttft;
        let done_at = first_at + self.tpot.saturating_mul(further);
        self.slots[slot] = Some(SlotSample { first_at: Some(first_at), done_at, answer });
        Ok(())
    }

    fn idle_until(&self) -> Option<Instant> {
        self.slots.iter().flatten().map(SlotSample::due).min()
    }

    fn step(&mut self, events: &mut Vec<Event>) {
        if let Some(due) = self.idle_until() {
            std::thread::sleep(due.saturating_duration_since(Instant::now()).min(LONGEST_STEP));
        }
        let now = Instant::now();
        for (slot, sample) in self.slots.iter_mut().enumerate() {
            if let Some(SlotSample { first_at, answer, .. }) = sample
                && first_at.take_if(|at| *at <= now).is_some()
            {
                events.push(Event { slot, what: What::First(answer.slice(..TOKEN_BYTES)) });
            }
            if let Some(SlotSample { answer, .. }) =
                sample.take_if(|sample| sample.first_at.is_none() && sample.done_at <= now)
            {
                let n_tokens = (answer.len() / TOKEN_BYTES) as u64;
                events.push(Event { slot, what: What::Done(Output { bytes: answer, n_tokens }) });
            }
        }
    }

    fn cancel(&mut self, slot: usize) {
        self.slots[slot] = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn streamer(slots: usize, tokens: Count, seed: u64) -> SyntheticStreamer {
        SyntheticStreamer::new(slots, 4 * MS, 2 * MS, tokens, None, seed)
    }

    fn sample(text: &'static str) -> BackendSample {
        BackendSample { bytes: Bytes::from_static(text.as_bytes()), tensors: Vec::new() }
    }

    /// Runs the streamer until it holds no sample. Returns the events.
    fn run(streamer: &mut SyntheticStreamer) -> Vec<Event> {
        let mut events = Vec::new();
        while streamer.idle_until().is_some() {
            streamer.step(&mut events);
        }
        events
    }

    #[test]
    fn each_sample_goes_its_own_way_and_takes_its_time() {
        let mut streamer = streamer(2, Count::Fixed(3), 0);
        let start = Instant::now();
        streamer.begin(1, &sample("one")).unwrap();
        streamer.begin(0, &sample("other")).unwrap();
        let events = run(&mut streamer);
        assert!(start.elapsed() >= 8 * MS);
        for slot in [0, 1] {
            let of_slot: Vec<&What> =
                events.iter().filter(|event| event.slot == slot).map(|event| &event.what).collect();
            let [What::First(token), What::Done(Output { bytes, n_tokens: 3 })] = of_slot[..] else {
                panic!("{events:?}")
            };
            assert_eq!((&bytes[..8], bytes.len()), (&token[..], 24));
        }
        streamer.begin(0, &sample("one")).unwrap();
        streamer.cancel(0);
        assert_eq!(run(&mut streamer), []);
    }

    #[test]
    fn an_answer_depends_on_the_seed_and_the_sample_alone() {
        let count = Count::LogNormal { median: 100, sigma: 0.5 };
        let answer = |seed, text: &'static str| streamer(1, count, seed).answer(text.as_bytes()).0;
        assert_eq!(answer(1, "a"), answer(1, "a"));
        assert_ne!(answer(1, "a"), answer(1, "b"));
        assert_ne!(answer(1, "a"), answer(2, "a"));
        let tokens =
            |bytes: Bytes| bytes.as_chunks().0.iter().map(|&token| u64::from_le_bytes(token)).collect::<Vec<_>>();
        assert!(tokens(answer(1, "a")).iter().all(|token| *token < VOCABULARY));
        let mut counts: Vec<usize> =
            (0..1000_u32).map(|n| streamer(1, count, 0).answer(&n.to_le_bytes()).0.len() / TOKEN_BYTES).collect();
        counts.sort_unstable();
        assert!((90..110).contains(&counts[500]) && (170..210).contains(&counts[900]), "{counts:?}");
    }

    #[test]
    fn some_samples_stall_before_their_first_token() {
        let stall = Some(Stall { time: 50 * MS, share: 0.5 });
        let streamer = SyntheticStreamer::new(1, MS, MS, Count::Fixed(2), stall, 0);
        let stalled = (0..1000_u32).filter(|n| streamer.answer(&n.to_le_bytes()).1 == 51 * MS).count();
        assert!((430..570).contains(&stalled), "{stalled}");
    }
}
