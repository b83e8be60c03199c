//! Gain from slots that run together: tokens per second of a decoder with 1, 2, 4 and 8 of them, one thread.
//!
//! `ORT_DYLIB_PATH=... cargo run --release -p lon-onnx --example decoder_slots -- target/models/decoder.onnx`
#![allow(clippy::print_stdout, reason = "a measurement prints its result")]

use std::error::Error;
use std::num::NonZeroUsize;
use std::path::Path;
use std::time::Instant;

use bytes::Bytes;
use lon_onnx::Onnx;
use lon_sut::backend::stream::What;
use lon_sut::backend::{Backend as _, BackendOptions, BackendSample, Streamer, TokenOptions};
use lon_sut::tensor::{DType, Tensor};

const TOKENS: usize = 64;
const ROUNDS: usize = 5;

fn main() -> Result<(), Box<dyn Error>> {
    let model = std::env::args().nth(1).ok_or("give the path of a decoder (tests/models/make.py writes one)")?;
    for slots in [1, 2, 4, 8] {
        let tokens = TokenOptions {
            slots: NonZeroUsize::new(slots).ok_or("no slots")?,
            max_tokens: NonZeroUsize::new(TOKENS).ok_or("no tokens")?,
            ..TokenOptions::default()
        };
        let options = BackendOptions { tokens, ..BackendOptions::default() };
        let backend = Onnx::open(Path::new(&model), &options)?;
        let mut streamer = backend.worker()?.stream().ok_or("this model answers batches, not tokens")?;
        println!("{}: {slots} slots, {:.0} tokens/s", backend.info().engine, rate(streamer.as_mut())?);
    }
    Ok(())
}

/// Tokens per second with all slots taken, in samples of 16 tokens.
fn rate(streamer: &mut dyn Streamer) -> Result<f64, Box<dyn Error>> {
    let ids: Bytes = (0..16_i64).flat_map(i64::to_le_bytes).collect::<Vec<u8>>().into();
    let sample = BackendSample { bytes: Bytes::new(), tensors: vec![Tensor::new(DType::I64, &[16], ids)?] };
    let (mut done, mut events) = (0, Vec::new());
    let start = Instant::now();
    for round in 1..=ROUNDS {
        for slot in 0..streamer.slots() {
            streamer.begin(slot, &sample)?;
        }
        while done < round * streamer.slots() {
            streamer.step(&mut events);
            done += events.drain(..).filter(|event| matches!(event.what, What::Done(_))).count();
        }
    }
    Ok((done * TOKENS) as f64 / start.elapsed().as_secs_f64())
}
