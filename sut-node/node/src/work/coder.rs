//! One thread's inflater and encoder: what undoes the codec of samples and applies that of answers.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

use bytes::Bytes;
use lon_net::clock;
use lon_proto::codec::{Codec, Encoder, Inflater};
use lon_proto::stages::{Stages, duration_ns};

use crate::run::codecs::Codecs;
use crate::run::failure::{FailureKind, SampleFailure};
use crate::run::state::ClaimedRun;

/// The inflater and the encoder of one thread. They are kept from sample to sample for as long as the codecs stay the
/// same.
#[derive(Default)]
pub(crate) struct Coder {
    inflater: Option<((Codec, u64), Inflater)>,
    encoder: Option<(Codec, Encoder)>,
}

impl Coder {
    /// Inflates a sample: its bytes as they were before the codec, `max_raw_bytes` at most.
    ///
    /// # Errors
    /// What came is not a frame of the codec, or too large inside; for the client to read.
    pub(crate) fn inflate(&mut self, codec: Codec, max_raw_bytes: u64, wrapped: Bytes) -> Result<Bytes, SampleFailure> {
        if codec.is_none() {
            return Ok(wrapped);
        }
        let key = (codec, max_raw_bytes);
        if self.inflater.as_ref().is_none_or(|(have, _)| *have != key) {
            self.inflater = None;
        }
        let (_, inflater) = self.inflater.get_or_insert_with(|| (key, Inflater::new(codec, max_raw_bytes)));
        let inflated = inflater.inflate(wrapped);
        // The codec's name without its level, which only the sender knows.
        inflated.map_err(|error| {
            let reason = format!("the sample cannot be inflated: {}: {}", codec.name(), error.reason);
            SampleFailure::new(FailureKind::Decode, reason)
        })
    }

    /// Encodes an answer in the codec of the run's answers, if they have one. The stage `encode` begins at `since`, the
    /// end of the inference, so it holds the time in which other answers of the batch were encoded.
    ///
    /// # Errors
    /// Those of `result`; or the answer cannot be encoded.
    pub(crate) fn encode(
        &mut self,
        run: &ClaimedRun,
        result: Result<Bytes, SampleFailure>,
        since: Instant,
        stages: &mut Stages,
    ) -> Result<Bytes, SampleFailure> {
        if run.codecs.answers.is_none() {
            return result;
        }
        let raw = result?;
        let wrapped = self.wrap(&run.codecs, &raw)?;
        run.counters.raw_bytes_out.fetch_add(raw.len() as u64, Relaxed);
        stages.encode_ns = duration_ns(clock::since(since));
        Ok(wrapped)
    }

    fn wrap(&mut self, codecs: &Codecs, answer: &Bytes) -> Result<Bytes, SampleFailure> {
        let codec = codecs.answers;
        if self.encoder.as_ref().is_none_or(|(have, _)| *have != codec) {
            self.encoder = None;
        }
        let (_, encoder) = self.encoder.get_or_insert_with(|| (codec, Encoder::new(codec)));
        let wrapped = encoder.encode(answer, codecs.answer_layout);
        wrapped
            .map_err(|error| SampleFailure::new(FailureKind::Encode, format!("the answer cannot be encoded: {error}")))
    }
}
