//! The text of an arrival process: `gamma:cv=3`, `burst:size=16,every=500ms`, `stages:100x60s,400x30s`.

use std::sync::Arc;

use super::modulated::Modulated;
use super::process::{Arrivals, Listed};
use super::profile::{Profile, Stage};
use super::weibull::weibull_shape;
use crate::time_units;

/// The forms, for messages.
const FORMS: &str = "poisson, constant, gamma:cv=3 (or burstiness=0.25), weibull:cv=2 (or shape=0.5), \
                     onoff:high=500,low=10,mean-high=1s,mean-low=4s, mmpp:FILE, burst:size=16,every=500ms, \
                     stages:100x60s,400x30s, ramp:from=10,to=500,over=60s, \
                     sine:mean=100,amplitude=80,period=60s, trace:FILE";

/// Longest time in a process: ten years.
const LONGEST_NS: f64 = 3.2e17;
/// Most queries in a burst.
const LARGEST_BURST: u64 = 1 << 24;
/// Least and largest variation and shape of a distribution.
const SHAPES: std::ops::RangeInclusive<f64> = 0.02..=1_000.0;
/// Largest rate, per second.
const LARGEST_RATE: f64 = 1e9;

/// Checks the text of a process.
///
/// # Errors
/// The reason against the text, with the forms that are accepted.
pub fn check(text: &str) -> Result<(), String> {
    parse(text).map(|_| ())
}

/// Reads the text of a process.
///
/// # Errors
/// The reason against the text, with the forms that are accepted.
pub fn parse(text: &str) -> Result<Arrivals, String> {
    let (name, options) = text.split_once(':').unwrap_or((text, ""));
    match name {
        "poisson" => alone(name, options, Arrivals::Poisson),
        "constant" => alone(name, options, Arrivals::Constant),
        "gamma" => Ok(Arrivals::Gamma {
            shape: Options::of(name, options)?.shape(&["burstiness", "shape"], |cv| cv.powi(-2))?,
        }),
        "weibull" => Ok(Arrivals::Weibull { shape: Options::of(name, options)?.shape(&["shape"], weibull_shape)? }),
        "onoff" => on_off(Options::of(name, options)?),
        "mmpp" => Ok(Arrivals::Modulated(Arc::new(Modulated::parse(options)?))),
        "burst" => bursts(Options::of(name, options)?),
        "stages" => stages(name, options),
        "ramp" => ramp(Options::of(name, options)?),
        "sine" => sine(Options::of(name, options)?),
        "trace" if !options.is_empty() => {
            Ok(Arrivals::Listed(Listed { source: options.to_owned(), due_ns: None, samples: None, repeat_ns: None }))
        }
        "trace" => Err("trace: the name of a file is missing: trace:FILE".to_owned()),
        _ => Err(format!("an arrival process: {FORMS}")),
    }
}

fn alone(name: &str, options: &str, process: Arrivals) -> Result<Arrivals, String> {
    if options.is_empty() { Ok(process) } else { Err(format!("{name} without options ('{options}' follows it)")) }
}

fn on_off(mut options: Options<'_>) -> Result<Arrivals, String> {
    let rates = [options.rate_or_0("high")?, options.rate_or_0("low")?];
    let stays_ns = [options.time("mean-high")?, options.time("mean-low")?];
    options.end()?;
    if rates[0].max(rates[1]) <= 0.0 {
        return Err("onoff: high and low are both 0; one of them has to be a rate".to_owned());
    }
    Ok(Arrivals::Modulated(Arc::new(Modulated::on_off(rates, stays_ns))))
}

fn bursts(mut options: Options<'_>) -> Result<Arrivals, String> {
    let size = options.needed("size")?;
    let size = size.parse().ok().filter(|size| (1..=LARGEST_BURST).contains(size));
    let size = size.ok_or_else(|| format!("burst: size is a whole number from 1 to {LARGEST_BURST}"))?;
    let every_ns = options.time("every")?;
    let is_exponential = options.either("gaps", ["fixed", "exponential"])?;
    options.end()?;
    Ok(Arrivals::Bursts { size, every_ns, is_exponential })
}

fn stages(name: &str, text: &str) -> Result<Arrivals, String> {
    let (listed, named): (Vec<&str>, Vec<&str>) = text.split(',').partition(|part| !part.contains('='));
    let mut options = Options::of(name, &named.join(","))?;
    let is_even = options.either("gaps", ["poisson", "even"])?;
    options.end()?;
    let stages: Vec<Stage> = listed.into_iter().map(stage).collect::<Result<_, _>>()?;
    match stages.last() {
        Some(last) if last.rate_per_s > 0.0 => {}
        _ => return Err("stages whose last rate is above 0, since it goes on".to_owned()),
    }
    Ok(Arrivals::Rated { profile: Profile::Stages(stages.into()), is_even })
}

fn stage(text: &str) -> Result<Stage, String> {
    let parts = text.trim().split_once('x');
    let stage = parts.and_then(|(rate, time)| Some(Stage { rate_per_s: rate_or_0(rate)?, for_ns: time_ns(time)? }));
    stage.ok_or_else(|| format!("stages as RATExTIME, for example 100x60s ('{text}' is none)"))
}

fn ramp(mut options: Options<'_>) -> Result<Arrivals, String> {
    let (from_per_s, to_per_s) = (options.rate_or_0("from")?, options.rate("to")?);
    let over_ns = options.time("over")?;
    let is_exponential = options.either("growth", ["linear", "exponential"])?;
    let is_even = options.either("gaps", ["poisson", "even"])?;
    options.end()?;
    if is_exponential && from_per_s <= 0.0 {
        return Err("ramp: exponential growth begins at a rate above 0".to_owned());
    }
    Ok(Arrivals::Rated { profile: Profile::Ramp { from_per_s, to_per_s, over_ns, is_exponential }, is_even })
}

fn sine(mut options: Options<'_>) -> Result<Arrivals, String> {
    let (mean_per_s, amplitude_per_s) = (options.rate("mean")?, options.rate_or_0("amplitude")?);
    let period_ns = options.time("period")?;
    let is_even = options.either("gaps", ["poisson", "even"])?;
    options.end()?;
    if amplitude_per_s > mean_per_s {
        return Err("sine: the amplitude is at most the mean, since a rate is at least 0".to_owned());
    }
    Ok(Arrivals::Rated { profile: Profile::Sine { mean_per_s, amplitude_per_s, period_ns }, is_even })
}

/// `NAME=VALUE` pairs of a process that were not read yet.
struct Options<'a> {
    process: &'a str,
    pairs: Vec<(String, String)>,
}

impl<'a> Options<'a> {
    fn of(process: &'a str, text: &str) -> Result<Options<'a>, String> {
        let mut pairs: Vec<(String, String)> = Vec::new();
        for part in text.split(',').filter(|part| !part.trim().is_empty()) {
            let pair = part.split_once('=').map(|(name, value)| (name.trim(), value.trim()));
            let (name, value) = pair.ok_or_else(|| format!("{process}: options as NAME=VALUE ('{part}' is none)"))?;
            if pairs.iter().any(|(other, _)| other == name) {
                return Err(format!("{process}: {name} once, and not twice"));
            }
            pairs.push((name.to_owned(), value.to_owned()));
        }
        Ok(Options { process, pairs })
    }

    fn take(&mut self, name: &str) -> Option<String> {
        let position = self.pairs.iter().position(|(other, _)| other == name)?;
        Some(self.pairs.remove(position).1)
    }

    fn needed(&mut self, name: &str) -> Result<String, String> {
        let process = self.process;
        self.take(name).ok_or_else(|| format!("{process} with {name}=...; forms: {FORMS}"))
    }

    fn rate(&mut self, name: &str) -> Result<f64, String> {
        let rate = self.rate_or_0(name)?;
        let process = self.process;
        if rate > 0.0 { Ok(rate) } else { Err(format!("{process}: {name} is a rate above 0")) }
    }

    fn rate_or_0(&mut self, name: &str) -> Result<f64, String> {
        let value = self.needed(name)?;
        let process = self.process;
        rate_or_0(&value)
            .ok_or_else(|| format!("{process}: {name} is a rate per second, at most {LARGEST_RATE}, not '{value}'"))
    }

    fn time(&mut self, name: &str) -> Result<u64, String> {
        let value = self.needed(name)?;
        let process = self.process;
        time_ns(&value).ok_or_else(|| {
            format!("{process}: {name} is a time above 0 with its unit, for example 500ms or 2s, not '{value}'")
        })
    }

    /// True for the second of two words; the first one is the default.
    fn either(&mut self, name: &str, choices: [&str; 2]) -> Result<bool, String> {
        let process = self.process;
        match self.take(name) {
            None => Ok(false),
            Some(value) if value == choices[0] => Ok(false),
            Some(value) if value == choices[1] => Ok(true),
            Some(value) => Err(format!("{process}: {name} is {} or {}, not '{value}'", choices[0], choices[1])),
        }
    }

    /// The shape of a distribution, given itself or by the coefficient of variation.
    fn shape(mut self, names: &[&str], of_cv: impl Fn(f64) -> f64) -> Result<f64, String> {
        let process = self.process;
        let values: Vec<(String, bool)> = std::iter::once(("cv", true))
            .chain(names.iter().map(|name| (*name, false)))
            .filter_map(|(name, is_cv)| Some((self.take(name)?, is_cv)))
            .collect();
        let refusal = || format!("{process} with cv=... or {}=..., from 0.02 to 1000", names[0]);
        let [(value, is_cv)] = values.as_slice() else { return Err(refusal()) };
        let number = value.parse().ok().filter(|number| SHAPES.contains(number)).ok_or_else(refusal)?;
        self.end()?;
        let shape = if *is_cv { of_cv(number) } else { number };
        Ok(shape)
    }

    fn end(&self) -> Result<(), String> {
        let process = self.process;
        match self.pairs.first() {
            Some((name, _)) => Err(format!("{process} without an option {name}; forms: {FORMS}")),
            None => Ok(()),
        }
    }
}

fn rate_or_0(text: &str) -> Option<f64> {
    let text = text.trim();
    let number: f64 = text.strip_suffix("/s").unwrap_or(text).parse().ok()?;
    (0.0..=LARGEST_RATE).contains(&number).then_some(number)
}

/// Whole nanoseconds of a time with its unit.
fn time_ns(text: &str) -> Option<u64> {
    let (digits, ns) = time_units::split(text.trim())?;
    let time_ns = digits.parse::<f64>().ok()? * ns;
    (1.0..=LONGEST_NS).contains(&time_ns).then_some(time_ns.round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_become_processes() {
        let second = 1_000_000_000;
        let rated = |profile, is_even| Arrivals::Rated { profile, is_even };
        let stages = |list: &[(f64, u64)]| {
            Profile::Stages(
                list.iter().map(|(rate_per_s, for_ns)| Stage { rate_per_s: *rate_per_s, for_ns: *for_ns }).collect(),
            )
        };
        for (text, process) in [
            ("poisson", Arrivals::Poisson),
            ("constant", Arrivals::Constant),
            ("gamma:cv=2", Arrivals::Gamma { shape: 0.25 }),
            ("weibull:shape=0.5", Arrivals::Weibull { shape: 0.5 }),
            ("burst:size=16,every=500ms", Arrivals::Bursts { size: 16, every_ns: second / 2, is_exponential: false }),
            (
                "burst: size=1, every=2m, gaps=exponential",
                Arrivals::Bursts { size: 1, every_ns: 120 * second, is_exponential: true },
            ),
            (
                "stages:100x60s,0x1s,40/sx30s",
                rated(stages(&[(100.0, 60 * second), (0.0, second), (40.0, 30 * second)]), false),
            ),
            ("stages:100x60s,gaps=even", rated(stages(&[(100.0, 60 * second)]), true)),
            (
                "ramp:from=1,to=500,over=60s,growth=exponential,gaps=even",
                rated(
                    Profile::Ramp { from_per_s: 1.0, to_per_s: 500.0, over_ns: 60 * second, is_exponential: true },
                    true,
                ),
            ),
            (
                "sine:mean=100,amplitude=80,period=1m",
                rated(Profile::Sine { mean_per_s: 100.0, amplitude_per_s: 80.0, period_ns: 60 * second }, false),
            ),
            (
                "trace:a,b.csv,unit=s",
                Arrivals::Listed(Listed {
                    source: "a,b.csv,unit=s".to_owned(),
                    due_ns: None,
                    samples: None,
                    repeat_ns: None,
                }),
            ),
        ] {
            assert_eq!(parse(text), Ok(process), "{text}");
        }
    }

    #[test]
    fn variations_and_shapes_say_the_same() {
        assert_eq!(parse("gamma:cv=2"), parse("gamma:burstiness=0.25"));
        assert_eq!(parse("gamma:shape=0.25"), parse("gamma:burstiness=0.25"));
    }

    #[test]
    fn texts_that_are_no_process_are_refused_with_the_reason() {
        for (text, named) in [
            ("", "an arrival process: poisson"),
            ("posson", "an arrival process: poisson"),
            ("poisson:3", "poisson without options"),
            ("gamma", "gamma with cv=... or burstiness=..."),
            ("gamma:cv=0", "from 0.02 to 1000"),
            ("gamma:cv=1,shape=2", "gamma with cv=... or burstiness=..."),
            ("gamma:cv=1,cv=2", "cv once"),
            ("weibull:cv=1,x=2", "weibull without an option x"),
            ("onoff:high=1", "onoff with low=..."),
            ("onoff:high=0,low=0,mean-high=1s,mean-low=1s", "both 0"),
            ("onoff:high=1,low=0,mean-high=1,mean-low=1s", "mean-high is a time above 0 with its unit"),
            ("burst:size=0,every=1s", "size is a whole number from 1"),
            ("burst:size=4,every=1s,gaps=some", "gaps is fixed or exponential, not 'some'"),
            ("burst:4", "options as NAME=VALUE ('4' is none)"),
            ("stages:", "stages as RATExTIME"),
            ("stages:10x1s,0x1s", "last rate is above 0"),
            ("stages:10x1", "stages as RATExTIME"),
            ("ramp:from=0,to=1,over=1s,growth=exponential", "begins at a rate above 0"),
            ("ramp:from=1,to=0,over=1s", "to is a rate above 0"),
            ("sine:mean=1,amplitude=2,period=1s", "at most the mean"),
            ("sine:mean=1e12,amplitude=2,period=1s", "mean is a rate per second"),
            ("mmpp:{}", "missing field"),
            ("trace:", "the name of a file is missing"),
        ] {
            let reason = parse(text).unwrap_err();
            assert!(reason.contains(named), "{text}: {reason}");
        }
    }
}
