//! Greedy answers against a decoder without a cache, on the model that `tests/models/make.py` writes; and what
//! samples may be.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use crate::Onnx;
use crate::engine::{BatchOutput, Sizes};
use lon_sut::backend::{Backend as _, BackendOptions, OnnxEngine};

use super::super::beams::tests::{by_definition, logits_after};
use super::*;

/// A model whose cache has what each token was. Its logits are what a function says of all tokens so far.
struct Knowing {
    runs: Runs,
    says: Says,
}

/// The logits after these tokens.
type Says = fn(&[i64]) -> Vec<f32>;

/// The next token is the sum of all before, modulo 10.
fn adds(all: &[i64]) -> Vec<f32> {
    let (next, other) = (all.iter().sum::<i64>() % 10, if all.last() == Some(&7) { f32::NAN } else { 0.0 });
    (0..10).map(|token| if token == next { 1.0 } else { other }).collect()
}

/// Any of them may be likely.
fn wavers(all: &[i64]) -> Vec<f32> {
    logits_after(4, all, 10)
}

/// Samples and tokens of each run.
type Runs = Arc<std::sync::Mutex<Vec<(usize, usize)>>>;

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks().0.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect()
}

fn numbers(bytes: &[u8]) -> Vec<i64> {
    bytes.as_chunks().0.iter().map(|&bytes| i64::from_le_bytes(bytes)).collect()
}

impl Session for Knowing {
    fn sizes(&self) -> Sizes {
        unreachable!("a decoder has slots")
    }

    fn run(&mut self, inputs: &[BatchInput<'_>]) -> Result<Vec<BatchOutput>, String> {
        let [ids, mask, positions, past] = inputs else { panic!() };
        let [n, new] = ids.dims[..] else { panic!() };
        self.runs.lock().unwrap().push((n, new));
        let [_, 2, before, 1] = past.dims[..] else { panic!("{:?}", past.dims) };
        let (ids, mask, positions) = (numbers(ids.parts[0]), numbers(mask.parts[0]), numbers(positions.parts[0]));
        let past = floats(&past.parts.concat());
        assert_eq!((past.len(), mask.len()), (n * 2 * before, n * (before + new)));
        let (mut logits, mut present) = (Vec::new(), Vec::new());
        for row in 0..n {
            let mask = &mask[row * (before + new)..][..before + new];
            let (ids, positions) = (&ids[row * new..][..new], &positions[row * new..][..new]);
            let context = mask[..before].iter().sum::<i64>();
            assert_eq!(positions, (context..context + new as i64).collect::<Vec<_>>());
            let heads: Vec<&[f32]> = (0..2).map(|head| &past[(row * 2 + head) * before..][..before]).collect();
            for (at, &mask) in mask[..before].iter().enumerate() {
                let padded = before as i64 - context > at as i64;
                assert!(mask == i64::from(!padded) && (!padded || heads[0][at] == 0.0), "padding is in front");
                assert_eq!(heads[0][at], -heads[1][at], "heads are not mixed up");
            }
            let mut all: Vec<i64> = heads[0][before - context as usize..].iter().map(|&id| id as i64).collect();
            for &id in ids {
                all.push(id);
                logits.extend((self.says)(&all));
            }
            for (head, sign) in [(0, 1.0), (1, -1.0)] {
                present.extend(heads[head].iter().copied().chain(ids.iter().map(|&id| sign * id as f32)));
            }
        }
        let bytes = |values: Vec<f32>| values.into_iter().flat_map(f32::to_le_bytes).collect::<Vec<u8>>();
        let outputs = [(vec![n, new, 10], logits), (vec![n, 2, before + new, 1], present)];
        Ok(outputs.into_iter().map(|(dims, data)| BatchOutput { dtype: DType::F32, dims, data: bytes(data) }).collect())
    }
}

/// The same, whose samples get the logits of others when they go on together.
struct Mixing(Knowing);

impl Session for Mixing {
    fn sizes(&self) -> Sizes {
        self.0.sizes()
    }

    fn run(&mut self, inputs: &[BatchInput<'_>]) -> Result<Vec<BatchOutput>, String> {
        let mut outputs = self.0.run(inputs)?;
        let logits = &mut outputs[0];
        let len = logits.data.len();
        logits.data.rotate_left(len / logits.dims[0] % len);
        Ok(outputs)
    }
}

fn options(slots: usize, max_tokens: usize, eos: Option<i64>) -> TokenOptions {
    let number = |n| NonZeroUsize::new(n).unwrap();
    let (slots, max_tokens, max_context) = (number(slots), number(max_tokens), number(40));
    TokenOptions { slots, max_tokens, eos, max_context, ..TokenOptions::default() }
}

fn layout(can_pad: bool) -> Arc<Layout> {
    let inputs = vec![Role::Ids, Role::Mask, Role::Positions, Role::Past(0)];
    let caches = vec![super::super::layout::Cache { heads: 2, width: 1, dtype: DType::F32, output: 1 }];
    Arc::new(Layout { inputs, caches, logits: 0, outputs: 2, vocabulary: Some(10), can_pad })
}

fn adding(can_pad: bool, options: TokenOptions) -> (Decoder, Runs) {
    knowing(adds, can_pad, options)
}

fn knowing(says: Says, can_pad: bool, options: TokenOptions) -> (Decoder, Runs) {
    let runs = Runs::default();
    let session = Box::new(Knowing { runs: Arc::clone(&runs), says });
    (Decoder::new(layout(can_pad), session, "adding", options), runs)
}

#[test]
fn that_slots_go_on_together_is_proved() {
    let (mut decoder, runs) = adding(true, options(2, 3, None));
    assert_eq!(decoder.prove(), Ok(()));
    assert!(runs.lock().unwrap().contains(&(2, 1)), "two of them went on together");
    assert!((0..2).all(|slot| decoder.caches.len(slot) == 0), "nothing is left of it");
    let session = Box::new(Mixing(Knowing { runs, says: adds }));
    let mut mixing = Decoder::new(layout(true), session, "mixing", options(2, 3, None));
    let reason = mixing.prove().unwrap_err();
    assert!(reason.contains("the logits of a sample depend on the samples beside it"), "{reason}");
}

fn sample(ids: &[i64]) -> BackendSample {
    let tensor = Tensor::new(DType::I64, &[ids.len() as u32], little_endian(ids.iter().copied()).into()).unwrap();
    BackendSample { bytes: Bytes::new(), tensors: vec![tensor] }
}

fn with_limit(ids: &[i64], limit: i32) -> BackendSample {
    let mut sample = sample(ids);
    sample.tensors.push(Tensor::new(DType::I32, &[], Bytes::copy_from_slice(&limit.to_le_bytes())).unwrap());
    sample
}

/// Returns the correct answer of the decoder, with all of it computed anew for each token.
fn sums(prompt: &[i64], count: usize) -> Vec<i64> {
    let mut all = prompt.to_vec();
    for _ in 0..count {
        all.push(all.iter().sum::<i64>() % 10);
    }
    all.split_off(prompt.len())
}

/// Events of the samples in the slots.
struct Heard {
    firsts: Vec<Option<i64>>,
    answers: Vec<Result<Vec<i64>, String>>,
}

impl Heard {
    fn nothing(slots: usize) -> Heard {
        Heard { firsts: vec![None; slots], answers: vec![Err("nothing happened".to_owned()); slots] }
    }

    /// First tokens are checked against their answers.
    fn step(&mut self, decoder: &mut Decoder) {
        let mut events = Vec::new();
        decoder.step(&mut events);
        for Event { slot, what } in events {
            match what {
                What::First(token) => assert_eq!(self.firsts[slot].replace(numbers(&token)[0]), None),
                What::Done(Output { bytes, n_tokens }) => {
                    let tokens = numbers(&bytes);
                    assert_eq!((tokens.len() as u64, Some(tokens[0])), (n_tokens, self.firsts[slot]));
                    self.answers[slot] = Ok(tokens);
                }
                What::Failed(error) => self.answers[slot] = Err(error.to_string()),
            }
        }
    }
}

/// Steps until all slots are free.
fn answers(decoder: &mut Decoder) -> Vec<Result<Vec<i64>, String>> {
    let mut heard = Heard::nothing(decoder.slots());
    while decoder.sequences.iter().any(Option::is_some) {
        heard.step(decoder);
    }
    heard.answers
}

/// Source: `min_new_tokens` of the reference of GPT-J, with which the token that ends an answer has no chance before.
#[test]
fn answers_do_not_end_before_they_have_the_least_tokens() {
    for (min_tokens, expected) in [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (9, 6)] {
        let (mut decoder, _) = adding(true, TokenOptions { min_tokens, ..options(2, 6, Some(6)) });
        // Its sum is 6, which is refused, and then the first of the others.
        decoder.begin(0, &sample(&[1, 2, 3])).unwrap();
        let answer = answers(&mut decoder)[0].clone().unwrap();
        assert_eq!(answer.len(), expected, "{min_tokens}: {answer:?}");
        let early = answer.iter().take(min_tokens).any(|token| *token == 6);
        assert!(!early, "{min_tokens}: {answer:?}");
    }
}

/// Source: `num_beams=4` of the reference of GPT-J.
#[test]
fn beams_of_several_samples_go_on_together() {
    let prompts: [&[i64]; 3] = [&[1, 2, 3], &[5], &[1, 1, 1, 1, 1, 3]];
    let expected: Vec<_> = prompts
        .iter()
        .map(|prompt| Ok(by_definition(&|before: &[i64]| wavers(&[*prompt, before].concat()), 4, 9, 2, 7)))
        .collect();
    let four = NonZeroUsize::new(4).unwrap();
    for can_pad in [true, false] {
        let tokens = TokenOptions { beams: four, min_tokens: 2, ..options(3, 7, Some(9)) };
        let (mut decoder, runs) = knowing(wavers, can_pad, tokens);
        decoder.warm_up().unwrap();
        // The second time in memory that was used before.
        for _ in 0..2 {
            runs.lock().unwrap().clear();
            for (slot, prompt) in prompts.iter().enumerate() {
                decoder.begin(slot, &sample(prompt)).unwrap();
            }
            assert_eq!(answers(&mut decoder), expected, "padded: {can_pad}");
            assert_eq!((0..12).map(|lane| decoder.caches.len(lane)).sum::<usize>(), 0);
            let most = runs.lock().unwrap().iter().map(|(lanes, _)| *lanes).max();
            assert_eq!(most, Some(if can_pad { 12 } else { 1 }));
        }
    }
    let greedy = Ok(greedily(prompts[0], 7));
    assert_ne!(expected[0], greedy, "a likelier answer than the greedy one");
}

/// Returns the answer of a greedy search.
fn greedily(prompt: &[i64], count: usize) -> Vec<i64> {
    let mut all = prompt.to_vec();
    for _ in 0..count {
        let logits = wavers(&all);
        all.push((0..10).max_by(|&a, &b| logits[a as usize].total_cmp(&logits[b as usize])).unwrap());
    }
    all.split_off(prompt.len())
}

/// A sample whose logits give no probabilities fails, and the one beside it goes on.
#[test]
fn a_beam_that_cannot_go_on_fails_its_sample_alone() {
    let says: Says = |all| if all[0] == 7 && all.len() > 2 { vec![f32::NAN; 10] } else { wavers(all) };
    let (mut decoder, _) =
        knowing(says, true, TokenOptions { beams: NonZeroUsize::new(2).unwrap(), ..options(2, 5, None) });
    decoder.begin(0, &sample(&[7])).unwrap();
    decoder.begin(1, &sample(&[1])).unwrap();
    let right = by_definition(&|before: &[i64]| wavers(&[&[1][..], before].concat()), 2, -1, 0, 5);
    assert_eq!(answers(&mut decoder), [Err("adding: the logits give no probabilities".to_owned()), Ok(right)]);
}

#[test]
fn slots_of_several_lengths_go_on_together() {
    let prompts: [&[i64]; 3] = [&[1, 2, 3], &[5], &[1, 1, 1, 1, 1, 3]];
    let expected: Vec<_> = prompts.iter().map(|prompt| Ok(sums(prompt, 6))).collect();
    for can_pad in [true, false] {
        let (mut decoder, runs) = adding(can_pad, options(3, 6, None));
        decoder.warm_up().unwrap();
        // The second time in memory that was used before.
        for _ in 0..2 {
            runs.lock().unwrap().clear();
            let mut heard = Heard::nothing(3);
            for (slot, prompt) in prompts.iter().enumerate() {
                decoder.begin(slot, &sample(prompt)).unwrap();
                heard.step(&mut decoder);
                assert!(heard.firsts[slot].is_some(), "who comes new goes first");
                // The others get ahead.
                heard.step(&mut decoder);
            }
            while decoder.sequences.iter().any(Option::is_some) {
                heard.step(&mut decoder);
            }
            assert_eq!(heard.answers, expected, "padded: {can_pad}");
            assert_eq!((0..3).map(|slot| decoder.caches.len(slot)).sum::<usize>(), 0);
            let most = runs.lock().unwrap().iter().map(|(samples, _)| *samples).max();
            assert_eq!(most, Some(if can_pad { 3 } else { 1 }));
        }
        for (slot, prompt) in prompts.iter().enumerate() {
            decoder.begin(slot, &sample(prompt)).unwrap();
        }
        assert_eq!(answers(&mut decoder), expected);
    }
}

#[test]
fn an_answer_ends_with_its_last_token_or_when_it_is_long_enough() {
    let (mut decoder, _) = adding(true, options(3, 6, Some(8)));
    // 1+3 = 4, 8: the end.
    decoder.begin(0, &sample(&[1, 3])).unwrap();
    decoder.begin(1, &with_limit(&[1, 1], 2)).unwrap();
    decoder.begin(2, &with_limit(&[1, 1], 200)).unwrap();
    let long: Vec<i64> = sums(&[1, 1], 6);
    let end = long.iter().position(|&token| token == 8).map_or(6, |at| at + 1);
    assert_eq!(answers(&mut decoder), [Ok(vec![4, 8]), Ok(vec![2, 4]), Ok(long[..end].to_vec())]);
    decoder.begin(0, &with_limit(&[1, 1], 1)).unwrap();
    decoder.begin(1, &sample(&[2])).unwrap();
    decoder.cancel(1);
    assert_eq!(answers(&mut decoder)[0], Ok(vec![2]), "one token is first and last");
}

#[test]
fn a_sample_that_cannot_be_decoded_fails_alone_with_the_reason() {
    let (mut decoder, _) = adding(true, options(2, 6, None));
    let floats =
        BackendSample { bytes: Bytes::new(), tensors: vec![Tensor::new(DType::F32, &[1], vec![0; 4].into()).unwrap()] };
    let mut odd_limit = sample(&[1]);
    odd_limit.tensors.push(Tensor::new(DType::F32, &[], vec![0; 4].into()).unwrap());
    for (bad, part) in [
        (BackendSample::default(), "the sample has 0 tensors; decoding takes i64[LENGTH]"),
        (floats, "the sample is f32[1]; decoding takes"),
        (odd_limit, "second tensor is f32[]"),
        (sample(&[]), "has no tokens"),
        (sample(&[1, 10]), "has token 10, the model's tokens are 0 to 9"),
        (sample(&[-1]), "has token -1"),
        (with_limit(&[1], 0), "less than one token"),
        (sample(&[1; 35]), "has 35 tokens and its answer up to 6: more than 40 (--max-context)"),
    ] {
        let error = decoder.begin(0, &bad).unwrap_err().to_string();
        assert!(error.starts_with("adding: ") && error.contains(part), "{error}");
    }
    decoder.begin(0, &sample(&[7])).unwrap();
    decoder.begin(1, &sample(&[1])).unwrap();
    assert_eq!(answers(&mut decoder), [Err("adding: the logits hold a NaN".to_owned()), Ok(sums(&[1], 6))]);
}

#[test]
fn the_largest_logit_wins_and_the_first_of_equals() {
    let row = |values: &[f32]| largest(&values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<_>>(), None);
    assert_eq!(row(&[-3.0, -1.0, -1.0]), Some(1));
    assert_eq!(row(&[0.0, f32::NAN]), None);
}

/// The decoder among the generated models.
fn model() -> PathBuf {
    let folder = std::env::var_os("LON_TEST_MODELS").expect("LON_TEST_MODELS names what tests/models/make.py wrote");
    PathBuf::from(folder).join("decoder.onnx")
}

/// Greedy tokens without any cache: the whole text through the model for each of them.
fn without_cache(session: &mut dyn Session, layout: &Layout, prompt: &[i64], count: usize) -> Vec<i64> {
    let mut all = prompt.to_vec();
    for _ in 0..count {
        let len = all.len();
        let ids = little_endian(all.iter().copied());
        let mask = little_endian((0..len).map(|_| 1));
        let positions = little_endian((0..len).map(|at| at as i64));
        let whole = |data| BatchInput { dtype: DType::I64, dims: vec![1, len], parts: vec![data] };
        let inputs: Vec<_> = layout
            .inputs
            .iter()
            .map(|role| match role {
                Role::Ids => whole(&ids),
                Role::Mask => whole(&mask),
                Role::Positions => whole(&positions),
                Role::Past(number) => {
                    let cache = layout.caches[*number];
                    BatchInput { dtype: cache.dtype, dims: vec![1, cache.heads, 0, cache.width], parts: Vec::new() }
                }
            })
            .collect();
        let outputs = session.run(&inputs).unwrap();
        let logits = floats(&outputs[layout.logits].data);
        let vocabulary = layout.vocabulary.unwrap() as usize;
        let last = &logits[logits.len() - vocabulary..];
        all.push((0..vocabulary).max_by(|&a, &b| last[a].total_cmp(&last[b])).unwrap() as i64);
    }
    all.split_off(prompt.len())
}

fn greedy_is_as_without_cache(engine: OnnxEngine) {
    let tokens = TokenOptions { max_context: NonZeroUsize::new(200).unwrap(), ..options(4, 24, None) };
    let backend = Onnx::open(&model(), &BackendOptions { engine, tokens, ..BackendOptions::default() }).unwrap();
    let (layout, _) = backend.decoder.clone().unwrap();
    assert!(layout.can_pad && layout.bytes_per_token() == 3 * 2 * 4 * 16 * 4);
    let mut reference = backend.engine.session().unwrap();
    let mut streamer = backend.worker().unwrap().stream().unwrap();
    let prompts: Vec<Vec<i64>> = (0..4_usize)
        .map(|n| (0..(3 + 9 * n) as i64).map(|at| (at * 1237 + n as i64 * 71 + 5) % 4000).collect())
        .collect();
    let expected: Vec<Vec<i64>> =
        prompts.iter().map(|prompt| without_cache(reference.as_mut(), &layout, prompt, 24)).collect();
    assert!(expected.iter().all(|tokens| tokens.iter().collect::<std::collections::HashSet<_>>().len() > 10));
    for (slot, prompt) in prompts.iter().enumerate() {
        streamer.begin(slot, &sample(prompt)).unwrap();
    }
    let mut answers = vec![Vec::new(); 4];
    while answers.iter().any(Vec::is_empty) {
        let mut events = Vec::new();
        streamer.step(&mut events);
        for Event { slot, what } in events {
            match what {
                What::First(token) => assert_eq!(numbers(&token), expected[slot][..1]),
                What::Done(output) => answers[slot] = numbers(&output.bytes),
                What::Failed(error) => panic!("{error}"),
            }
        }
    }
    assert_eq!(answers, expected);
}

#[test]
#[ignore = ".ci/run models"]
fn onnx_runtime_decodes_as_without_a_cache() {
    greedy_is_as_without_cache(OnnxEngine::OnnxRuntime);
}

#[test]
#[ignore = ".ci/run models"]
fn tract_decodes_as_without_a_cache() {
    greedy_is_as_without_cache(OnnxEngine::Tract);
}
