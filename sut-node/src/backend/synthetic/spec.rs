//! The SPEC of `synthetic:SPEC`: text in, checked values out. The grammar is in the module above.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use super::super::{DurationError, parse_duration};

/// Bytes of an answer unless told otherwise.
const OUTPUT_BYTES: usize = 8;

/// Largest answer: what the wire takes.
const MAX_OUTPUT_BYTES: usize = 1 << 30;

/// Widest log-normal: beyond it most times are nothing or for ever.
const MAX_SIGMA: f64 = 10.0;

/// What `synthetic:SPEC` may say.
const ACCEPTED: &str = "one of constant=DURATION; lognormal=MEDIAN,SIGMA; base=DURATION,per_sample=DURATION; \
     ttft=DURATION,tpot=DURATION,tokens=COUNT[,SIGMA]; and stall=DURATION,stall_share=SHARE, seed=NUMBER, output=BYTES \
     (for example constant=2ms)";

/// How long it takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ServiceTime {
    /// A batch takes always this.
    Constant(Duration),
    /// A batch takes a log-normal time.
    LogNormal {
        /// Half of the batches take less.
        median: Duration,
        /// Standard deviation of the logarithm.
        sigma: f64,
    },
    /// A batch costs something, and so does each of its samples.
    Linear {
        /// For the batch.
        base: Duration,
        /// For each sample of it.
        per_sample: Duration,
    },
    /// Samples are answered token by token, each on its own.
    Tokens {
        /// To the first token.
        ttft: Duration,
        /// From each token to the next.
        tpot: Duration,
        /// Tokens of an answer.
        tokens: Count,
    },
}

/// A number of tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Count {
    /// Always this.
    Fixed(usize),
    /// Log-normal.
    LogNormal {
        /// Half of the answers have fewer.
        median: usize,
        /// Standard deviation of the logarithm.
        sigma: f64,
    },
}

impl Count {
    /// Tokens of an answer at most.
    pub const MOST: usize = 1 << 20;
}

/// What makes some of the times much longer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stall {
    /// So much,
    pub time: Duration,
    /// for this share of them.
    pub share: f64,
}

/// The SPEC of `synthetic:SPEC`.
#[derive(Clone, Debug, PartialEq)]
pub struct Spec {
    /// How long it takes.
    pub service_time: ServiceTime,
    /// What is added to it now and then.
    pub stall: Option<Stall>,
    /// Where the draws begin; none is 0, and answers of zeros.
    pub seed: Option<u64>,
    /// Bytes of an answer, where it is not made of tokens.
    pub output_bytes: usize,
    /// As it was given.
    text: String,
}

/// Why a SPEC will not do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    /// No shape of service time is given.
    #[error("synthetic:{0}: no service time is given; give {ACCEPTED}")]
    Incomplete(String),
    /// An entry that is not KEY=VALUE.
    #[error("synthetic:{spec}: '{entry}' is not KEY=VALUE; give {ACCEPTED}")]
    NotAnEntry {
        /// The whole SPEC.
        spec: String,
        /// The entry.
        entry: String,
    },
    /// A key that means nothing, or nothing beside the others.
    #[error("synthetic:{spec}: '{key}' is not known{beside}; give {ACCEPTED}")]
    UnknownKey {
        /// The whole SPEC.
        spec: String,
        /// The key.
        key: String,
        /// Beside what it is not.
        beside: String,
    },
    /// A key without the ones that it needs.
    #[error("synthetic:{spec}: {key} is missing; give {ACCEPTED}")]
    Missing {
        /// The whole SPEC.
        spec: String,
        /// The key.
        key: &'static str,
    },
    /// A key that is there twice.
    #[error("synthetic:{spec}: {key} is given more than once")]
    Repeated {
        /// The whole SPEC.
        spec: String,
        /// Which.
        key: String,
    },
    /// A number that is none, or out of bounds.
    #[error("synthetic:{spec}: {key}: '{value}' is not {wanted}")]
    Value {
        /// The whole SPEC.
        spec: String,
        /// Its key.
        key: &'static str,
        /// What was given.
        value: String,
        /// What would do.
        wanted: String,
    },
    /// A duration that is none.
    #[error("synthetic:{spec}: {key}: {cause}")]
    Duration {
        /// The whole SPEC.
        spec: String,
        /// Its key.
        key: &'static str,
        /// Why not.
        cause: DurationError,
    },
}

/// The entries of a SPEC that nobody has asked for yet.
struct Entries<'t> {
    text: &'t str,
    left: Vec<(&'t str, &'t str)>,
}

impl<'t> Entries<'t> {
    /// Cuts at commas; a piece without `=` belongs to the value before it.
    fn new(text: &'t str) -> Result<Entries<'t>, SpecError> {
        let mut left: Vec<(&str, &str)> = Vec::new();
        let mut at = 0;
        for piece in text.split(',') {
            let end = at + piece.len();
            match piece.split_once('=') {
                Some((key, _)) if left.iter().any(|(other, _)| *other == key) => {
                    return Err(SpecError::Repeated { spec: text.to_owned(), key: key.to_owned() });
                }
                Some(entry) => left.push(entry),
                None => {
                    let last = left.last_mut().filter(|_| !piece.is_empty());
                    let odd = || SpecError::NotAnEntry { spec: text.to_owned(), entry: piece.to_owned() };
                    let (_, value) = last.ok_or_else(odd)?;
                    *value = &text[at - 1 - value.len()..end];
                }
            }
            at = end + 1;
        }
        Ok(Entries { text, left })
    }

    fn take(&mut self, key: &str) -> Option<&'t str> {
        let at = self.left.iter().position(|(other, _)| *other == key)?;
        Some(self.left.remove(at).1)
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
        wanted: &str,
    ) -> Result<T, SpecError> {
        let (spec, wanted) = (self.text.to_owned(), wanted.to_owned());
        let number = value.parse().ok().filter(fits);
        number.ok_or_else(|| SpecError::Value { spec, key, value: value.to_owned(), wanted })
    }

    fn sigma(&self, key: &'static str, value: &str) -> Result<f64, SpecError> {
        let wanted = format!("a sigma from 0 to {MAX_SIGMA}");
        self.number(key, value, |sigma| (0.0..=MAX_SIGMA).contains(sigma), &wanted)
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
        let wanted = format!("a number of tokens from 1 to {}", Count::MOST);
        let count = self.number("tokens", count, |count| (1..=Count::MOST).contains(count), &wanted)?;
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
        let known = |(key, _): &&(&str, &str)| !KEYS.contains(key);
        if let Some((key, _)) = entries.left.iter().find(known) {
            return Err(unknown(text, key, ""));
        }
        // Before what the tokens lack: it would be refused beside them all the same.
        let has = |name: &str| entries.left.iter().any(|(key, _)| *key == name);
        if has("output") && ["ttft", "tpot", "tokens"].into_iter().any(has) {
            return Err(unknown(text, "output", " beside tokens: they are the answer"));
        }
        let service_time = entries.service_time()?;
        let stall = entries.stall()?;
        let seed = entries.take("seed");
        let seed = seed.map(|seed| entries.number("seed", seed, |_| true, "a number of 64 bits")).transpose()?;
        let mut output_bytes = OUTPUT_BYTES;
        if let Some(bytes) = entries.take("output") {
            let wanted = format!("a number of bytes up to {MAX_OUTPUT_BYTES}");
            output_bytes = entries.number("output", bytes, |bytes| *bytes <= MAX_OUTPUT_BYTES, &wanted)?;
        }
        match entries.left.first() {
            None => Ok(Spec { service_time, stall, seed, output_bytes, text: text.to_owned() }),
            Some((key, _)) => Err(unknown(text, key, " beside the rest: there is one shape of service time")),
        }
    }
}

const KEYS: [&str; 11] =
    ["constant", "lognormal", "base", "per_sample", "ttft", "tpot", "tokens", "stall", "stall_share", "seed", "output"];

fn unknown(spec: &str, key: &str, beside: &str) -> SpecError {
    SpecError::UnknownKey { spec: spec.to_owned(), key: key.to_owned(), beside: beside.to_owned() }
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
