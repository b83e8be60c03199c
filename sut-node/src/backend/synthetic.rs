//! Takes as long as it is told and answers zeros: queues, batches and schedules without a model.
//!
//! SPEC is `KEY=VALUE[,KEY=VALUE...]`. The one shape of service time so far is `constant=DURATION`, per batch whatever
//! its size; `output=BYTES` is the size of an answer (8). A worker sleeps for that long, so as many batches are under way as there are workers, and cores do not
//! matter.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use bytes::Bytes;

use super::{
    Backend, BackendError, BackendInfo, DurationError, Execution, Half, InferError, Input, Sample, Worker,
    parse_duration,
};

/// Bytes of an answer unless told otherwise.
const OUTPUT_BYTES: usize = 8;

/// Largest answer: what the wire takes.
const MAX_OUTPUT_BYTES: usize = 1 << 30;

/// What `synthetic:SPEC` may say.
const ACCEPTED: &str = "constant=DURATION[,output=BYTES] (for example constant=2ms)";

/// The service time of one batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServiceTime {
    /// Always this.
    Constant(Duration),
}

impl ServiceTime {
    fn next(self, _batch: usize) -> Duration {
        match self {
            ServiceTime::Constant(duration) => duration,
        }
    }
}

/// The SPEC of `synthetic:SPEC`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spec {
    /// How long a batch takes.
    pub service_time: ServiceTime,
    /// Bytes of an answer.
    pub output_bytes: usize,
    /// As it was given.
    text: String,
}

/// Why a SPEC will not do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    /// No shape of service time is given, or an entry is not KEY=VALUE.
    #[error("synthetic:{0}: give {ACCEPTED}")]
    Incomplete(String),
    /// A key that means nothing.
    #[error("synthetic:{spec}: '{key}' is not known; give {ACCEPTED}")]
    UnknownKey {
        /// The whole SPEC.
        spec: String,
        /// The key.
        key: String,
    },
    /// More than one shape of service time, or size of answers.
    #[error("synthetic:{spec}: {what} is given more than once")]
    Repeated {
        /// The whole SPEC.
        spec: String,
        /// Which.
        what: &'static str,
    },
    /// A size that is none, or too large.
    #[error("synthetic:{spec}: output: '{value}' is not a number of bytes up to {MAX_OUTPUT_BYTES}")]
    Output {
        /// The whole SPEC.
        spec: String,
        /// What was given.
        value: String,
    },
    /// A duration that is none.
    #[error("synthetic:{spec}: {key}: {cause}")]
    Duration {
        /// The whole SPEC.
        spec: String,
        /// Its key.
        key: String,
        /// Why not.
        cause: DurationError,
    },
}

impl FromStr for Spec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Spec, SpecError> {
        let spec = || text.to_owned();
        let (mut service_time, mut output_bytes) = (None, None);
        for entry in text.split(',') {
            let (key, value) = entry.split_once('=').ok_or_else(|| SpecError::Incomplete(spec()))?;
            let duration = || {
                let duration = parse_duration(value);
                duration.map_err(|cause| SpecError::Duration { spec: spec(), key: key.to_owned(), cause })
            };
            let (repeated, what) = match key {
                "constant" => (service_time.replace(ServiceTime::Constant(duration()?)).is_some(), "the service time"),
                "output" => {
                    let bytes = value.parse().ok().filter(|bytes| *bytes <= MAX_OUTPUT_BYTES);
                    let bad = || SpecError::Output { spec: spec(), value: value.to_owned() };
                    (output_bytes.replace(bytes.ok_or_else(bad)?).is_some(), "output")
                }
                _ => return Err(SpecError::UnknownKey { spec: spec(), key: key.to_owned() }),
            };
            if repeated {
                return Err(SpecError::Repeated { spec: spec(), what });
            }
        }
        let service_time = service_time.ok_or_else(|| SpecError::Incomplete(spec()))?;
        Ok(Spec { service_time, output_bytes: output_bytes.unwrap_or(OUTPUT_BYTES), text: spec() })
    }
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// See the module.
#[derive(Debug)]
pub struct Synthetic {
    info: BackendInfo,
    service_time: ServiceTime,
    answer: Bytes,
}

impl Synthetic {
    /// A backend that behaves like this.
    pub fn new(spec: &Spec) -> Synthetic {
        let info = BackendInfo::without_model(format!("synthetic:{}", spec.text));
        Synthetic { info, service_time: spec.service_time, answer: Bytes::from(vec![0; spec.output_bytes]) }
    }
}

impl Backend for Synthetic {
    fn info(&self) -> &BackendInfo {
        &self.info
    }

    fn execution(&self) -> Execution {
        Execution::Workers
    }

    fn input(&self) -> Input {
        Input::Opaque
    }

    fn cores_per_inference(&self) -> usize {
        0
    }

    fn worker(&self) -> Result<Half, BackendError> {
        let worker = SyntheticWorker { service_time: self.service_time, answer: self.answer.clone() };
        Ok(Half::Batch(Box::new(worker)))
    }
}

struct SyntheticWorker {
    service_time: ServiceTime,
    answer: Bytes,
}

impl Worker for SyntheticWorker {
    fn infer(&mut self, batch: &[Sample]) -> Vec<Result<Bytes, InferError>> {
        std::thread::sleep(self.service_time.next(batch.len()));
        vec![Ok(self.answer.clone()); batch.len()]
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn a_spec_is_one_shape() {
        let spec: Spec = "constant=500us".parse().unwrap();
        assert_eq!(spec.service_time, ServiceTime::Constant(Duration::from_micros(500)));
        assert_eq!((spec.to_string().as_str(), spec.output_bytes), ("constant=500us", 8));
        assert_eq!("output=100,constant=1ms".parse::<Spec>().unwrap().output_bytes, 100);
        let error = |text: &str| text.parse::<Spec>().unwrap_err().to_string();
        for bad in ["", "2ms", "constant", "constant=2ms,"] {
            assert!(error(bad).contains("give constant=DURATION"), "{}", error(bad));
        }
        assert!(error("lognormal=2ms").contains("'lognormal' is not known; give constant=DURATION"));
        assert!(error("constant=2").contains("synthetic:constant=2: constant: '2' is not a duration"));
        assert!(error("constant=2ms,constant=2ms").contains("the service time is given more than once"));
        assert!(error("constant=2ms,output=1,output=1").contains("output is given more than once"));
        assert!(error("constant=2ms,output=2e9").contains("'2e9' is not a number of bytes"));
    }

    #[test]
    fn a_batch_takes_as_long_as_told() {
        let mut worker = Synthetic::new(&"constant=20ms,output=3".parse().unwrap()).worker().unwrap().batch().unwrap();
        let start = Instant::now();
        assert_eq!(worker.infer(&vec![Sample::default(); 4]), vec![Ok(Bytes::from_static(&[0; 3])); 4]);
        // A lower bound only: a busy machine may well take longer.
        assert!(start.elapsed() >= Duration::from_millis(20));
    }
}
