//! The SPEC of `synthetic:SPEC`, from text to checked values. The module `synthetic` describes the grammar.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use lon_shell::duration::{DurationError, parse_duration};

/// The bytes of an answer when the SPEC does not say.
const OUTPUT_BYTES: usize = 8;

/// The most bytes of an answer: what one message of the wire contract may announce.
const MAX_OUTPUT_BYTES: usize = 1 << 30;

/// The widest log-normal. Beyond it most times are next to nothing or have no end.
const MAX_SIGMA: f64 = 10.0;

/// Forms of `synthetic:SPEC`, for error messages.
const ACCEPTED: &str = "one of constant=DURATION; lognormal=MEDIAN,SIGMA; base=DURATION,per_sample=DURATION; \
     ttft=DURATION,tpot=DURATION,tokens=COUNT[,SIGMA]; and stall=DURATION,stall_share=SHARE, seed=NUMBER, output=BYTES \
     (for example constant=2ms)";

/// Service time of the backend.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ServiceTime {
    /// Every batch takes this time.
    Constant(Duration),
    /// A batch takes a log-normal time.
    LogNormal {
        /// The time below which half of the batches are.
        median: Duration,
        /// The standard deviation of the logarithm.
        sigma: f64,
    },
    /// A batch takes a time, and each of its samples takes a time.
    Linear {
        /// The time for the batch itself.
        base: Duration,
        /// The time for each sample of the batch.
        per_sample: Duration,
    },
    /// Samples are answered token by token, each on its own.
    Tokens {
        /// The time to the first token.
        ttft: Duration,
        /// The time from each token to the next.
        tpot: Duration,
        /// Number of tokens of an answer.
        tokens: Count,
    },
}

/// Number of tokens of an answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Count {
    /// Every answer has this many.
    Fixed(usize),
    /// The numbers are log-normal.
    LogNormal {
        /// The number below which half of the answers are.
        median: usize,
        /// The standard deviation of the logarithm.
        sigma: f64,
    },
}

impl Count {
    /// The most tokens of an answer.
    pub const MOST: usize = 1 << 20;
}

/// A delay that makes some of the times longer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stall {
    /// The time that is added.
    pub time: Duration,
    /// The share of the times that it is added to, from 0 to 1.
    pub share: f64,
}

/// The SPEC of `synthetic:SPEC`.
#[derive(Clone, Debug, PartialEq)]
pub struct Spec {
    /// Service time of the backend.
    pub service_time: ServiceTime,
    /// The delay that is added now and then; `None`: never.
    pub stall: Option<Stall>,
    /// The seed of the random numbers. `None`: 0, and answers are zeros instead of noise.
    pub seed: Option<u64>,
    /// The bytes of an answer that is not made of tokens.
    pub output_bytes: usize,
    /// The SPEC as it was given.
    text: String,
}

/// The error for a SPEC that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    /// No shape of service time is given.
    #[error("synthetic:{0}: no service time is given; give {ACCEPTED}")]
    Incomplete(String),
    /// An entry that is not KEY=VALUE.
    #[error("synthetic:{spec}: '{entry}' is not KEY=VALUE; give {ACCEPTED}")]
    NotAnEntry {
        /// The SPEC as it was given.
        spec: String,
        /// The entry as it was given.
        entry: String,
    },
    /// A key that has no meaning, or none beside the others.
    #[error("synthetic:{spec}: '{key}' is not known{clause}; give {ACCEPTED}")]
    UnknownKey {
        /// The SPEC as it was given.
        spec: String,
        /// The key of the entry.
        key: String,
        /// Clause on the entries beside which the key has no meaning; may be empty.
        clause: String,
    },
    /// A key without the ones that it needs.
    #[error("synthetic:{spec}: {key} is missing; give {ACCEPTED}")]
    Missing {
        /// The SPEC as it was given.
        spec: String,
        /// The key of the entry.
        key: &'static str,
    },
    /// A key that is there twice.
    #[error("synthetic:{spec}: {key} is given more than once")]
    Repeated {
        /// The SPEC as it was given.
        spec: String,
        /// The key of the entries.
        key: String,
    },
    /// A value that is not a number, or is out of bounds.
    #[error("synthetic:{spec}: {key}: '{value}' is not {description}")]
    Value {
        /// The SPEC as it was given.
        spec: String,
        /// The key of the entry.
        key: &'static str,
        /// The value as it was given.
        value: String,
        /// Description of a valid value, in words.
        description: String,
    },
    /// A value that is not a duration.
    #[error("synthetic:{spec}: {key}: {cause}")]
    Duration {
        /// The SPEC as it was given.
        spec: String,
        /// The key of the entry.
        key: &'static str,
        /// Why it is not a duration.
        cause: DurationError,
    },
}

/// The entries of a SPEC that have not been read yet.
struct Entries<'t> {
    text: &'t str,
    pairs: Vec<(&'t str, &'t str)>,
}

impl<'t> Entries<'t> {
    /// Cuts at commas; a piece without `=` belongs to the value before it.
    fn new(text: &'t str) -> Result<Entries<'t>, SpecError> {
        let mut pairs: Vec<(&str, &str)> = Vec::new();
        let mut at = 0;
        for piece in text.split(',') {
            let end = at + piece.len();
            match piece.split_once('=') {
                Some((key, _)) if pairs.iter().any(|(other, _)| *other == key) => {
                    return Err(SpecError::Repeated { spec: text.to_owned(), key: key.to_owned() });
                }
                Some(entry) => pairs.push(entry),
                None => {
                    let last = pairs.last_mut().filter(|_| !piece.is_empty());
                    let odd = || SpecError::NotAnEntry { spec: text.to_owned(), entry: piece.to_owned() };
                    let (_, value) = last.ok_or_else(odd)?;
                    *value = &text[at - 1 - value.len()..end];
                }
            }
            at = end + 1;
        }
        Ok(Entries { text, pairs })
    }

    fn take(&mut self, key: &str) -> Option<&'t str> {
        let at = self.pairs.iter().position(|(other, _)| *other == key)?;
        Some(self.pairs.remove(at).1)
    }

    fn duration(&mut self, key: &'static str) -> Result<Option<Duration>, SpecError> {
        self.take(key).map(|value| self.to_duration(key, value)).transpose()
    }

    fn to_duration(&self, key: &'static str, value: &str) -> Result<Duration, SpecError> {
        parse_duration(value).map_err(|cause| SpecError::Duration { spec: self.text.to_owned(), key, cause })
    }

    fn number<T: FromStr>(
        &self,
        key: &'static str,
        value: &str,
        fits: impl Fn(&T) -> bool,
        description: &str,
    ) -> Result<T, SpecError> {
        let (spec, description) = (self.text.to_owned(), description.to_owned());
        let number = value.parse().ok().filter(fits);
        number.ok_or_else(|| SpecError::Value { spec, key, value: value.to_owned(), description })
    }

    fn sigma(&self, key: &'static str, value: &str) -> Result<f64, SpecError> {
        let description = format!("a sigma from 0 to {MAX_SIGMA}");
        self.number(key, value, |sigma| (0.0..=MAX_SIGMA).contains(sigma), &description)
    }

    fn missing(&self, key: &'static str) -> SpecError {
        SpecError::Missing { spec: self.text.to_owned(), key }
    }

    /// The one shape; a second one is left where it is.
    fn service_time(&mut self) -> Result<ServiceTime, SpecError> {
        if let Some(constant) = self.duration("constant")? {
            return Ok(ServiceTime::Constant(constant));
        }
        if let Some(value) = self.take("lognormal") {
            let (median, sigma) = value.split_once(',').ok_or_else(|| self.missing("the SIGMA of lognormal"))?;
            let median = self.to_duration("lognormal", median)?;
            return Ok(ServiceTime::LogNormal { median, sigma: self.sigma("lognormal", sigma)? });
        }
        let (base, per_sample) = (self.duration("base")?, self.duration("per_sample")?);
        if base.is_some() || per_sample.is_some() {
            let (base, per_sample) = (base.unwrap_or_default(), per_sample.unwrap_or_default());
            return Ok(ServiceTime::Linear { base, per_sample });
        }
        let (ttft, tpot, tokens) = (self.duration("ttft")?, self.duration("tpot")?, self.take("tokens"));
        if ttft.is_none() && tpot.is_none() && tokens.is_none() {
            return Err(SpecError::Incomplete(self.text.to_owned()));
        }
        let ttft = ttft.ok_or_else(|| self.missing("ttft"))?;
        let tpot = tpot.ok_or_else(|| self.missing("tpot"))?;
        let tokens = self.count(tokens.ok_or_else(|| self.missing("tokens"))?)?;
        Ok(ServiceTime::Tokens { ttft, tpot, tokens })
    }

    fn count(&self, value: &str) -> Result<Count, SpecError> {
        let (count, sigma) = value.split_once(',').map_or((value, None), |(count, sigma)| (count, Some(sigma)));
        let description = format!("a number of tokens from 1 to {}", Count::MOST);
        let count = self.number("tokens", count, |count| (1..=Count::MOST).contains(count), &description)?;
        let Some(sigma) = sigma else { return Ok(Count::Fixed(count)) };
        Ok(Count::LogNormal { median: count, sigma: self.sigma("tokens", sigma)? })
    }

    fn stall(&mut self) -> Result<Option<Stall>, SpecError> {
        match (self.duration("stall")?, self.take("stall_share")) {
            (None, None) => Ok(None),
            (None, Some(_)) => Err(self.missing("stall")),
            (Some(_), None) => Err(self.missing("stall_share")),
            (Some(time), Some(share)) => {
                let share =
                    self.number("stall_share", share, |share| (0.0..=1.0).contains(share), "a share from 0 to 1")?;
                Ok(Some(Stall { time, share }))
            }
        }
    }
}

impl FromStr for Spec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Spec, SpecError> {
        if text.is_empty() {
            return Err(SpecError::Incomplete(String::new()));
        }
        let mut entries = Entries::new(text)?;
        // Before anything is missed: a slip in a key should be told as such.
        let is_unknown = |(key, _): &&(&str, &str)| !KEYS.contains(key);
        if let Some((key, _)) = entries.pairs.iter().find(is_unknown) {
            return Err(unknown(text, key, ""));
        }
        // Before what the tokens lack: it would be refused beside them all the same.
        let has = |name: &str| entries.pairs.iter().any(|(key, _)| *key == name);
        if has("output") && ["ttft", "tpot", "tokens"].into_iter().any(has) {
            return Err(unknown(text, "output", " beside tokens: they are the answer"));
        }
        let service_time = entries.service_time()?;
        let stall = entries.stall()?;
        let seed = entries.take("seed");
        let seed = seed.map(|seed| entries.number("seed", seed, |_| true, "a number of 64 bits")).transpose()?;
        let mut output_bytes = OUTPUT_BYTES;
        if let Some(bytes) = entries.take("output") {
            let description = format!("a number of bytes up to {MAX_OUTPUT_BYTES}");
            output_bytes = entries.number("output", bytes, |bytes| *bytes <= MAX_OUTPUT_BYTES, &description)?;
        }
        match entries.pairs.first() {
            None => Ok(Spec { service_time, stall, seed, output_bytes, text: text.to_owned() }),
            Some((key, _)) => Err(unknown(text, key, " beside the rest: there is one shape of service time")),
        }
    }
}

const KEYS: [&str; 11] =
    ["constant", "lognormal", "base", "per_sample", "ttft", "tpot", "tokens", "stall", "stall_share", "seed", "output"];

fn unknown(spec: &str, key: &str, clause: &str) -> SpecError {
    SpecError::UnknownKey { spec: spec.to_owned(), key: key.to_owned(), clause: clause.to_owned() }
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(text: &str) -> ServiceTime {
        text.parse::<Spec>().unwrap().service_time
    }

    #[test]
    fn a_spec_is_one_shape_and_what_goes_with_it() {
        let (us, ms) = (Duration::from_micros, Duration::from_millis);
        let spec: Spec = "constant=500us".parse().unwrap();
        assert_eq!(spec.service_time, ServiceTime::Constant(us(500)));
        assert_eq!(
            (spec.to_string().as_str(), spec.output_bytes, spec.seed, spec.stall),
            ("constant=500us", 8, None, None)
        );
        let spec: Spec = "output=100,seed=7,stall=50ms,stall_share=0.01,constant=1ms".parse().unwrap();
        assert_eq!(
            (spec.output_bytes, spec.seed, spec.stall),
            (100, Some(7), Some(Stall { time: ms(50), share: 0.01 }))
        );
        assert_eq!(shape("seed=1,lognormal=2ms,0.3,output=1"), ServiceTime::LogNormal { median: ms(2), sigma: 0.3 });
        assert_eq!(shape("base=1ms,per_sample=50us"), ServiceTime::Linear { base: ms(1), per_sample: us(50) });
        assert_eq!(shape("base=1ms"), ServiceTime::Linear { base: ms(1), per_sample: ms(0) });
        let tokens = |tokens| ServiceTime::Tokens { ttft: ms(20), tpot: ms(5), tokens };
        assert_eq!(shape("ttft=20ms,tpot=5ms,tokens=64"), tokens(Count::Fixed(64)));
        assert_eq!(shape("tokens=64,0.5,ttft=20ms,tpot=5ms"), tokens(Count::LogNormal { median: 64, sigma: 0.5 }));
    }

    #[test]
    fn what_will_not_do_is_named_with_what_would() {
        let error = |text: &str| text.parse::<Spec>().unwrap_err().to_string();
        for (bad, part) in [
            ("lognormal=2ms", "the SIGMA of lognormal is missing"),
            ("lognormal=2ms,x", "lognormal: 'x' is not a sigma from 0 to 10"),
            ("lognormal=2ms,1,2", "'1,2' is not a sigma"),
            ("lognormal=2ms,NaN", "'NaN' is not a sigma"),
            ("wobbly=3", "'wobbly' is not known; give one of constant"),
            ("constant=1ms,base=1ms", "'base' is not known beside the rest: there is one shape"),
            ("ttft=1ms,tpot=1ms,tokens=2,output=1", "'output' is not known beside tokens"),
            ("tokens=5,output=9", "'output' is not known beside tokens"),
            ("constant", "'constant' is not KEY=VALUE; give one of"),
            ("2ms", "'2ms' is not KEY=VALUE; give one of"),
            ("constant=2ms,", "'' is not KEY=VALUE; give one of"),
            ("", "synthetic:: no service time is given; give one of"),
            ("stall=1ms", "no service time is given; give one of"),
            ("seed=1", "no service time is given; give one of"),
            ("constant=2", "synthetic:constant=2: constant: '2' is not a duration"),
            ("constant=2ms,3", "constant: '2ms,3' is not a duration"),
            ("constant=2ms,constant=2ms", "constant is given more than once"),
            ("constant=2ms,output=1,output=1", "output is given more than once"),
            ("constant=2ms,output=2e9", "'2e9' is not a number of bytes up to"),
            ("constant=2ms,seed=-1", "seed: '-1' is not a number of 64 bits"),
            ("constant=2ms,stall=1ms", "stall_share is missing"),
            ("constant=2ms,stall_share=0.1", "stall is missing"),
            ("constant=2ms,stall=1ms,stall_share=2", "'2' is not a share from 0 to 1"),
            ("ttft=1ms,tokens=2", "tpot is missing"),
            ("ttft=1ms,tpot=1ms", "tokens is missing"),
            ("ttft=1ms,tpot=1ms,tokens=0", "tokens: '0' is not a number of tokens from 1 to"),
        ] {
            assert!(error(bad).contains(part), "{bad}: {}", error(bad));
        }
    }
}
