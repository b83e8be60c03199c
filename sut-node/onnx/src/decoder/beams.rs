//! Beam search over the tokens of one answer, as the reference of GPT-J has it: `generate` of Hugging Face's package
//! `transformers` (4.46.3, `BeamSearchScorer`) with `early_stopping=True` and a `length_penalty` of 1, which is that of
//! the package. No model is run here.
//!
//! Each beam is followed by every token. Of all that this gives the likeliest are looked at in order, twice as many as
//! there are beams. One that is followed by the token that ends an answer is finished, if it is among the first half.
//! The others go on, until there are as many as beams. The search is over when so many are finished. It is over, too,
//! when the beams have all tokens that they may: these are finished then. The answer is the finished one with the
//! largest mean of the logarithms of its tokens' probabilities, its last token among them.

/// The beams of one answer.
#[derive(Debug)]
pub(super) struct Beams {
    width: usize,
    eos: Option<i64>,
    /// The least tokens before the one that ends an answer.
    least: usize,
    /// The most tokens of an answer.
    most: usize,
    running: Vec<Beam>,
    finished: usize,
    /// The best that is finished, with its mean.
    best: Option<(f64, Vec<i64>)>,
}

/// The beginning of an answer.
#[derive(Debug)]
struct Beam {
    tokens: Vec<i64>,
    /// The sum of the logarithms of their probabilities.
    sum: f64,
}

/// A beam and a token that may follow it.
struct Candidate {
    beam: usize,
    token: i64,
    sum: f64,
}

/// Outcome of a step.
#[derive(Debug, PartialEq)]
pub(super) enum Next {
    /// The beams go on: the place that each had before.
    GoOn(Vec<usize>),
    /// The answer is there.
    Done(Vec<i64>),
    /// There will be none; the clause says why.
    Failed(&'static str),
}

impl Beams {
    pub(super) fn new(width: usize, eos: Option<i64>, least: usize, most: usize) -> Beams {
        let running = vec![Beam { tokens: Vec::new(), sum: 0.0 }];
        Beams { width, eos, least, most, running, finished: 0, best: None }
    }

    /// Returns the number of beams that go on: one before the first token.
    pub(super) fn len(&self) -> usize {
        self.running.len()
    }

    /// The last token of each beam.
    pub(super) fn last(&self) -> impl Iterator<Item = i64> {
        self.running.iter().filter_map(|beam| beam.tokens.last().copied())
    }

    /// Lengthens the beams by a token. A row has the logits (f32, little-endian) after the beam in its place.
    pub(super) fn advance<'r>(&mut self, rows: impl Iterator<Item = &'r [u8]>) -> Next {
        let Some(candidates) = self.likeliest(rows) else { return Next::Failed("the logits give no probabilities") };
        let (mut next, mut parents) = (Vec::with_capacity(self.width), Vec::with_capacity(self.width));
        for (rank, Candidate { beam, token, sum }) in candidates.into_iter().enumerate() {
            let tokens = [&self.running[beam].tokens[..], &[token]].concat();
            if self.eos != Some(token) {
                next.push(Beam { tokens, sum });
                parents.push(beam);
            } else if rank < self.width {
                self.finish(Beam { tokens, sum });
            }
            if next.len() == self.width {
                break;
            }
        }
        if self.finished < self.width && next.first().is_some_and(|beam| beam.tokens.len() >= self.most) {
            next.drain(..).for_each(|beam| self.finish(beam));
        }
        self.running = next;
        match self.best.take_if(|_| self.finished >= self.width || self.running.is_empty()) {
            Some((_, tokens)) => Next::Done(tokens),
            None if self.running.is_empty() => Next::Failed("no token can follow, by the logits"),
            None => Next::GoOn(parents),
        }
    }

    /// The likeliest tokens behind all beams, twice as many as there are beams: the likeliest first, of equal ones that
    /// of the first beam and the lowest token. None when the logits give no probabilities.
    fn likeliest<'r>(&self, rows: impl Iterator<Item = &'r [u8]>) -> Option<Vec<Candidate>> {
        let most = 2 * self.width;
        let mut best: Vec<Candidate> = Vec::with_capacity(most + 1);
        for (beam, (row, state)) in rows.zip(&self.running).enumerate() {
            let refused = self.eos.filter(|_| state.tokens.len() < self.least);
            let all = log_sum(row)?;
            for (token, logit) in (0..).zip(logits(row)) {
                let sum = state.sum + logit - all;
                let is_beaten = best.len() == most && best.last().is_some_and(|last| last.sum >= sum);
                if is_beaten || refused == Some(token) || sum == f64::NEG_INFINITY {
                    continue;
                }
                let place = best.partition_point(|other| other.sum >= sum);
                best.insert(place, Candidate { beam, token, sum });
                best.truncate(most);
            }
        }
        Some(best)
    }

    /// Counts a whole answer. Of equal ones the last is the best.
    fn finish(&mut self, Beam { tokens, sum }: Beam) {
        self.finished += 1;
        let mean = sum / tokens.len() as f64;
        if self.best.as_ref().is_none_or(|(best, _)| mean >= *best) {
            self.best = Some((mean, tokens));
        }
    }
}

fn logits(row: &[u8]) -> impl Iterator<Item = f64> {
    row.as_chunks().0.iter().map(|&bytes| f64::from(f32::from_le_bytes(bytes)))
}

/// The logarithm of the sum of the exponentials; none when that is no number, for a NaN or an infinite largest.
fn log_sum(row: &[u8]) -> Option<f64> {
    let largest = logits(row).fold(f64::NEG_INFINITY, f64::max);
    let sum = largest + logits(row).map(|logit| (logit - largest).exp()).sum::<f64>().ln();
    Some(sum).filter(|sum| sum.is_finite())
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    fn row(logits: &[f32]) -> Vec<u8> {
        logits.iter().flat_map(|logit| logit.to_le_bytes()).collect()
    }

    /// Logits after a beginning: anything, and the same each time.
    pub(in super::super) fn logits_after(seed: u64, before: &[i64], vocabulary: i64) -> Vec<f32> {
        let mix = |hash: u64, token: i64| (hash ^ token as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
        let start = before.iter().fold(mix(seed, -1), |hash, token| mix(hash, token + 1));
        (0..vocabulary).map(|token| (mix(mix(start, token), 7) >> 40) as f32 / 4e6).collect()
    }

    /// Runs a search to its end.
    fn answer_of(mut beams: Beams, logits: impl Fn(&[i64]) -> Vec<f32>) -> Vec<i64> {
        loop {
            let rows: Vec<Vec<u8>> = beams.running.iter().map(|beam| row(&logits(&beam.tokens))).collect();
            match beams.advance(rows.iter().map(Vec::as_slice)) {
                Next::GoOn(parents) => assert_eq!((parents.len(), beams.last().count()), (beams.len(), beams.len())),
                Next::Done(tokens) => return tokens,
                Next::Failed(why) => panic!("{why}"),
            }
        }
    }

    /// The logarithms of the probabilities, by the definition.
    fn logs(logits: &[f32]) -> Vec<f64> {
        let all: f64 = logits.iter().map(|logit| f64::from(*logit).exp()).sum();
        logits.iter().map(|logit| (f64::from(*logit).exp() / all).ln()).collect()
    }

    /// Every answer that there can be, with its mean.
    fn all_answers(
        logits: &dyn Fn(&[i64]) -> Vec<f32>,
        eos: i64,
        least: usize,
        most: usize,
        (before, sum): (Vec<i64>, f64),
    ) -> Vec<(f64, Vec<i64>)> {
        if before.len() == most || before.last() == Some(&eos) {
            return vec![(sum / before.len() as f64, before)];
        }
        let follow = logs(&logits(&before)).into_iter().enumerate();
        let may = follow.filter(|(token, _)| *token as i64 != eos || before.len() >= least);
        may.flat_map(|(token, log)| {
            let next = ([&before[..], &[token as i64]].concat(), sum + log);
            all_answers(logits, eos, least, most, next)
        })
        .collect()
    }

    /// With as many beams as there are answers none is left out, so that the best of all is found.
    #[test]
    fn without_a_bound_the_best_of_all_answers_is_found() {
        for (seed, least) in (0..40).zip([0, 1, 2].into_iter().cycle()) {
            let logits = |before: &[i64]| logits_after(seed, before, 4);
            let all = all_answers(&logits, 3, least, 4, (Vec::new(), 0.0));
            let best = all.iter().max_by(|one, other| one.0.total_cmp(&other.0)).unwrap();
            let beams = Beams::new(4_usize.pow(4) + 1, Some(3), least, 4);
            assert_eq!(answer_of(beams, logits), best.1, "seed {seed} of {} answers", all.len());
        }
    }

    /// The definition step by step, with all continuations sorted. It keeps every finished answer.
    pub(in super::super) fn by_definition(
        logits: &dyn Fn(&[i64]) -> Vec<f32>,
        width: usize,
        eos: i64,
        least: usize,
        most: usize,
    ) -> Vec<i64> {
        let (mut running, mut finished) = (vec![(0.0, Vec::new())], Vec::<(f64, Vec<i64>)>::new());
        for len in 1..=most {
            let mut all: Vec<(f64, Vec<i64>)> = Vec::new();
            for (sum, before) in &running {
                let mut follow = logs(&logits(before));
                if len <= least {
                    follow[eos as usize] = f64::NEG_INFINITY;
                }
                let longer = |(token, log): (usize, f64)| (sum + log, [&before[..], &[token as i64]].concat());
                all.extend(follow.into_iter().enumerate().map(longer));
            }
            all.sort_by(|one, other| other.0.total_cmp(&one.0));
            all.truncate(2 * width);
            let ends = |(_, tokens): &(f64, Vec<i64>)| tokens.last() == Some(&eos);
            let mean = |(sum, tokens): &(f64, Vec<i64>)| (sum / len as f64, tokens.clone());
            finished.extend(all.iter().take(width).filter(|one| ends(one)).map(mean));
            running = all.iter().filter(|one| !ends(one)).take(width).cloned().collect();
            if finished.len() >= width {
                break;
            }
            if len == most {
                finished.extend(running.iter().map(mean));
            }
        }
        finished.into_iter().max_by(|one, other| one.0.total_cmp(&other.0)).unwrap().1
    }

    #[test]
    fn four_beams_find_what_the_definition_finds() {
        let mut early = 0;
        for seed in 0..200 {
            let logits = |before: &[i64]| logits_after(seed, before, 11);
            let least = seed as usize % 4;
            let tokens = answer_of(Beams::new(4, Some(10), least, 9), logits);
            assert_eq!(tokens, by_definition(&logits, 4, 10, least, 9), "seed {seed}");
            assert!(tokens.len() == 9 || tokens.last() == Some(&10), "seed {seed}: {tokens:?}");
            assert!(tokens.iter().take(least).all(|token| *token != 10), "seed {seed}: {tokens:?}");
            early += usize::from(tokens.len() < 9);
        }
        assert!((20..180).contains(&early), "{early} of 200 ended early");
    }

    /// The likeliest first token leads to worse answers: 0.5 x 0.4 = 0.2 is less than 0.4 x 0.9 = 0.36.
    #[test]
    fn beams_find_what_a_greedy_search_misses() {
        let logits = |before: &[i64]| {
            let shares: [f32; 4] = match before {
                [] => [0.5, 0.4, 0.06, 0.04],
                [0] => [0.4, 0.3, 0.2, 0.1],
                _ => [0.04, 0.9, 0.03, 0.03],
            };
            shares.map(f32::ln).to_vec()
        };
        assert_eq!(answer_of(Beams::new(1, None, 0, 2), logits), [0, 0]);
        assert_eq!(answer_of(Beams::new(2, None, 0, 2), logits), [1, 1]);
    }

    /// One long answer against a short one: the mean of 0.6 and 0.6 is more than 0.4 alone, whatever the products are.
    #[test]
    fn answers_are_compared_by_the_mean_of_their_tokens() {
        let logits = |_: &[i64]| [0.6f32, 0.4].map(f32::ln).to_vec();
        assert_eq!(answer_of(Beams::new(4, Some(1), 0, 3), logits), [0, 0, 0]);
        // As many as there are beams are finished before that.
        assert_eq!(answer_of(Beams::new(2, Some(1), 0, 3), logits), [0, 1]);
        assert_eq!(answer_of(Beams::new(3, Some(1), 0, 3), logits), [0, 0, 1]);
        let likelier = |before: &[i64]| if before.is_empty() { logits(before) } else { vec![0.1f32.ln(), 0.9f32.ln()] };
        assert_eq!(answer_of(Beams::new(2, Some(1), 0, 30), likelier), [0, 1]);
    }

    #[test]
    fn odd_logits_are_told() {
        let after = |logits: &[f32]| Beams::new(4, Some(0), 1, 9).advance(std::iter::once(&row(logits)[..]));
        for odd in [[0.0, f32::NAN], [f32::NEG_INFINITY; 2], [0.0, f32::INFINITY]] {
            assert_eq!(after(&odd), Next::Failed("the logits give no probabilities"), "{odd:?}");
        }
        // Only the token that ends an answer could follow, and it is too early for that.
        assert_eq!(after(&[1.0, f32::NEG_INFINITY]), Next::Failed("no token can follow, by the logits"));
        assert_eq!(after(&[1.0, 0.0, 0.5]), Next::GoOn(vec![0, 0]));
    }
}
