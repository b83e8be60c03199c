//! The inverse of the integral of a rate: the time at which the integral has grown by a number.

use std::f64::consts::TAU;
use std::sync::Arc;

use super::profile::{Profile, Stage};

/// Distance between two estimates of a time at which the search for it ends, ns.
const NEAR_NS: f64 = 0.25;
/// Error of a time that is as good as none, ns.
const EXACT_NS: f64 = 1e-4;
/// Most estimates of a time.
const MOST_STEPS: usize = 64;

/// A profile of the rate, with what every draw needs worked out.
#[derive(Clone, Debug)]
pub(crate) enum Inverse {
    /// One rate after the other.
    Stages(Arc<[Stage]>),
    /// From one rate to another.
    Ramp(Ramp),
    /// A sine around a mean.
    Sine(Sine),
}

impl Inverse {
    /// The inverse of the integral of this rate.
    pub(crate) fn of(profile: &Profile) -> Self {
        match profile {
            Profile::Stages(stages) => Self::Stages(Arc::clone(stages)),
            Profile::Ramp { from_per_s, to_per_s, over_ns, is_exponential } => Self::Ramp(Ramp {
                from: from_per_s / 1e9,
                to: to_per_s / 1e9,
                over_ns: *over_ns as f64,
                is_exponential: *is_exponential,
            }),
            Profile::Sine { mean_per_s, amplitude_per_s, period_ns } => {
                Self::Sine(Sine::new(mean_per_s / 1e9, amplitude_per_s / 1e9, TAU / *period_ns as f64))
            }
        }
    }

    /// The time, ns, at which the integral of the rate has grown by `grown` since `from_ns`.
    pub(crate) fn after(&mut self, from_ns: f64, grown: f64) -> f64 {
        match self {
            Self::Stages(stages) => after_stages(stages, from_ns, grown),
            Self::Ramp(ramp) => ramp.after(from_ns, grown),
            Self::Sine(sine) => sine.after(from_ns, grown),
        }
    }
}

fn after_stages(stages: &[Stage], from_ns: f64, mut grown: f64) -> f64 {
    let (mut now_ns, mut end_ns) = (from_ns, 0.0);
    for (number, Stage { rate_per_s, for_ns }) in stages.iter().enumerate() {
        end_ns += *for_ns as f64;
        let rate = rate_per_s / 1e9;
        let is_last = number + 1 == stages.len();
        if now_ns >= end_ns && !is_last {
            continue;
        }
        let room = rate * (end_ns - now_ns);
        if grown <= room || is_last {
            return now_ns + grown / rate;
        }
        grown -= room;
        now_ns = end_ns;
    }
    now_ns
}

/// A ramp of the rate, with rates per ns.
#[derive(Clone, Debug)]
pub(crate) struct Ramp {
    pub(super) from: f64,
    pub(super) to: f64,
    pub(super) over_ns: f64,
    pub(super) is_exponential: bool,
}

impl Ramp {
    fn after(&self, from_ns: f64, grown: f64) -> f64 {
        let left_ns = self.over_ns - from_ns;
        if left_ns <= 0.0 {
            return from_ns + grown / self.to;
        }
        let (rate, room, step_ns) = if self.is_exponential {
            let growth = (self.to / self.from).ln() / self.over_ns;
            let rate = self.from * (growth * from_ns).exp();
            let room = if growth == 0.0 { rate * left_ns } else { (self.to - rate) / growth };
            let step_ns = if growth == 0.0 { grown / rate } else { (growth * grown / rate).ln_1p() / growth };
            (rate, room, step_ns)
        } else {
            let slope = (self.to - self.from) / self.over_ns;
            let rate = self.from + slope * from_ns;
            let root = (rate * rate + 2.0 * slope * grown).max(0.0).sqrt();
            (rate, f64::midpoint(rate, self.to) * left_ns, 2.0 * grown / (rate + root))
        };
        if grown <= room && rate >= 0.0 {
            return from_ns + step_ns;
        }
        self.over_ns + (grown - room) / self.to
    }
}

/// A sine of the rate.
#[derive(Clone, Debug)]
pub(crate) struct Sine {
    /// The mean rate, per ns.
    mean: f64,
    /// The largest distance from the mean, per ns.
    amplitude: f64,
    /// Radians per ns.
    turn: f64,
    /// The mean rate, per radian.
    turn_mean: f64,
    /// The amplitude, per radian.
    turn_amplitude: f64,
    /// Length of a radian, ns.
    radian_ns: f64,
    /// The place that the last step led to.
    reached: Place,
}

/// A point of the sine.
#[derive(Clone, Copy, Debug)]
struct Place {
    at_ns: f64,
    sin: f64,
    cos: f64,
    /// Steps by the series since the sine was computed.
    steps: u32,
}

/// A step along the sine.
#[derive(Clone, Copy, Debug)]
struct Step {
    radians: f64,
    sin: f64,
    /// One less the cosine.
    versine: f64,
}

/// Longest step of a sine that its series takes, radians; the terms left out are then below the precision of a float.
const SHORT_STEP: f64 = 1.0 / 16.0;
/// Most estimates by the series; a second one usually suffices.
const SHORT_STEPS: usize = 4;
/// Most steps by the series before the sine is computed anew, so that their rounding stays small.
const STEPS_OF_A_PLACE: u32 = 64;

impl Step {
    fn new(radians: f64) -> Self {
        // The factors of the series are constants, since a division costs as much as all the rest.
        let square = radians * radians;
        let sin = 1.0 - square * (1.0 / 6.0) * (1.0 - square * (1.0 / 20.0) * (1.0 - square * (1.0 / 42.0)));
        let versine = 1.0 - square * (1.0 / 12.0) * (1.0 - square * (1.0 / 30.0) * (1.0 - square * (1.0 / 56.0)));
        Self { radians, sin: radians * sin, versine: square * 0.5 * versine }
    }

    /// The step that is longer by so little that its square is nothing.
    fn longer(self, by: f64) -> Self {
        Self {
            radians: self.radians + by,
            sin: self.sin + by * (1.0 - self.versine),
            versine: self.versine + by * self.sin,
        }
    }
}

impl Place {
    fn at(at_ns: f64, turn: f64) -> Self {
        let (sin, cos) = (turn * at_ns).sin_cos();
        Self { at_ns, sin, cos, steps: 0 }
    }

    fn after(self, step: Step, radian_ns: f64) -> Self {
        Self {
            at_ns: self.at_ns + step.radians * radian_ns,
            sin: self.sin - self.sin * step.versine + self.cos * step.sin,
            cos: self.cos - self.cos * step.versine - self.sin * step.sin,
            steps: self.steps + 1,
        }
    }
}

impl Sine {
    pub(super) fn new(mean: f64, amplitude: f64, turn: f64) -> Self {
        let reached = Place::at(0.0, turn);
        let (turn_mean, turn_amplitude) = (mean / turn, amplitude / turn);
        Self { mean, amplitude, turn, turn_mean, turn_amplitude, radian_ns: turn.recip(), reached }
    }

    fn after(&mut self, from_ns: f64, grown: f64) -> f64 {
        if self.reached.at_ns != from_ns || self.reached.steps == STEPS_OF_A_PLACE {
            self.reached = Place::at(from_ns, self.turn);
        }
        match self.short_step(grown) {
            Some(step) => {
                self.reached = self.reached.after(step, self.radian_ns);
                self.reached.at_ns
            }
            None => self.long_after(grown),
        }
    }

    /// The step until the integral has grown, by the series of the sine around its start.
    ///
    /// Nearly every gap is short beside the period, and a sine costs more than all else of a draw. The first guess has
    /// the slope of the rate in it, and is near enough for most gaps. Newton's method follows for the others.
    fn short_step(&self, grown: f64) -> Option<Step> {
        let Place { sin, cos, .. } = self.reached;
        let inverse_rate = (self.turn_mean + self.turn_amplitude * sin).recip();
        let even = grown * inverse_rate;
        let bend = 0.5 * even * self.turn_amplitude * cos * inverse_rate;
        let mut radians = even - even * bend;
        // The cubic term, which the guess leaves out, is below twice this.
        let cubic = even * (bend * bend + even * even * self.turn_amplitude * inverse_rate);
        if cubic * self.radian_ns < EXACT_NS && (0.0..SHORT_STEP).contains(&radians) {
            return Some(Step::new(radians));
        }
        for _ in 0..SHORT_STEPS {
            // Also false for what is no number.
            if !(0.0..SHORT_STEP).contains(&radians) {
                return None;
            }
            let step = Step::new(radians);
            let excess = self.turn_mean * radians + self.turn_amplitude * (sin * step.sin + cos * step.versine) - grown;
            let rate = self.turn_mean + self.turn_amplitude * (sin - sin * step.versine + cos * step.sin);
            let longer = -excess / rate;
            if longer.abs() * self.radian_ns < NEAR_NS {
                return (radians + longer >= 0.0).then(|| step.longer(longer));
            }
            radians += longer;
        }
        None
    }

    /// Newton's method from a first guess at the present rate, kept between the bounds that the largest rate gives.
    fn long_after(&self, grown: f64) -> f64 {
        let Place { at_ns: from_ns, sin: sin_from, cos: cos_from, .. } = self.reached;
        let lowest_ns = from_ns + grown / (self.mean + self.amplitude);
        let mut now_ns = (from_ns + grown / (self.mean + self.amplitude * sin_from)).max(lowest_ns);
        if !now_ns.is_finite() {
            now_ns = lowest_ns;
        }
        let (mut low_ns, mut high_ns) = (lowest_ns, f64::INFINITY);
        for _ in 0..MOST_STEPS {
            let (sin, cos) = (self.turn * now_ns).sin_cos();
            let integral = self.mean * (now_ns - from_ns) + self.amplitude * (cos_from - cos) / self.turn;
            let excess = integral - grown;
            if excess > 0.0 {
                high_ns = now_ns;
            } else {
                low_ns = now_ns;
            }
            let newton_ns = now_ns - excess / (self.mean + self.amplitude * sin);
            let next_ns = if newton_ns > low_ns && newton_ns < high_ns {
                newton_ns
            } else if high_ns.is_finite() {
                f64::midpoint(low_ns, high_ns)
            } else {
                low_ns + grown / self.mean
            };
            if (next_ns - now_ns).abs() < NEAR_NS {
                return next_ns;
            }
            now_ns = next_ns;
        }
        now_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The integral of the rate, by the midpoint rule.
    fn integral(rate_per_s: impl Fn(f64) -> f64, from_ns: f64, to_ns: f64) -> f64 {
        let steps = 20_000;
        let step_ns = (to_ns - from_ns) / f64::from(steps);
        (0..steps).map(|step| rate_per_s(from_ns + (f64::from(step) + 0.5) * step_ns) / 1e9 * step_ns).sum()
    }

    fn assert_inverts(profile: &Profile, rate_per_s: impl Fn(f64) -> f64) {
        let mut now_ns = 0.0;
        for draw in [0.001, 0.5, 1.0, 3.0, 0.2, 12.0, 40.0, 0.0001, 250.0, 1.0] {
            let next_ns = Inverse::of(profile).after(now_ns, draw);
            let grown = integral(&rate_per_s, now_ns, next_ns);
            assert!((grown - draw).abs() < draw * 1e-3 + 1e-6, "{profile:?} at {now_ns}: {grown} for {draw}");
            now_ns = next_ns;
        }
    }

    const S: f64 = 1e9;

    #[test]
    fn times_invert_the_integral_of_the_rate() {
        let stages = Profile::Stages(
            [(20.0, 1), (0.0, 2), (5.0, 1)]
                .map(|(rate_per_s, s)| Stage { rate_per_s, for_ns: s * 1_000_000_000 })
                .into(),
        );
        let rates = |ns: f64| {
            if ns < S {
                20.0
            } else if ns < 3.0 * S {
                0.0
            } else {
                5.0
            }
        };
        assert_inverts(&stages, rates);
        for is_exponential in [false, true] {
            for (from, to) in [(10.0, 40.0), (40.0, 10.0), (7.0, 7.0)] {
                let ramp = Profile::Ramp { from_per_s: from, to_per_s: to, over_ns: 2_000_000_000, is_exponential };
                let rate = |ns: f64| {
                    let part = (ns / (2.0 * S)).min(1.0);
                    if is_exponential { from * (to / from).powf(part) } else { from + (to - from) * part }
                };
                assert_inverts(&ramp, rate);
            }
        }
        for amplitude_per_s in [0.0, 10.0, 20.0] {
            let sine = Profile::Sine { mean_per_s: 20.0, amplitude_per_s, period_ns: 1_500_000_000 };
            assert_inverts(&sine, |ns| 20.0 + amplitude_per_s * (TAU * ns / (1.5 * S)).sin());
        }
    }

    #[test]
    fn short_and_long_steps_of_a_sine_agree() {
        let mut sine = Sine::new(1e-3, 0.8e-3, TAU / S);
        for part in 0..1_000 {
            let from_ns = f64::from(part) * S / 1_000.0;
            sine.reached = Place::at(from_ns, sine.turn);
            for grown in [0.0001, 0.3, 1.0, 10.0] {
                let step_ns = sine.short_step(grown).unwrap().radians * sine.radian_ns;
                let after_ns = sine.long_after(grown);
                assert!((from_ns + step_ns - after_ns).abs() < NEAR_NS, "{from_ns} and {grown}: {step_ns}, {after_ns}");
            }
        }
        // A long step, and one from a rate of zero, are none of the series.
        assert!(sine.short_step(1e6).is_none());
        let mut touching = Sine::new(1e-3, 1e-3, TAU / S);
        touching.reached = Place { sin: -1.0, cos: 0.0, ..touching.reached };
        assert!(touching.short_step(1.0).is_none());
    }

    #[test]
    fn steps_that_follow_one_another_are_those_from_their_starts() {
        let mut walked = Sine::new(1e-3, 0.9e-3, TAU / S);
        let mut now_ns = 0.0;
        for draw in 0..10_000 {
            let grown = 0.1 + f64::from(draw % 13);
            let next_ns = walked.after(now_ns, grown);
            let alone_ns = Sine::new(1e-3, 0.9e-3, TAU / S).after(now_ns, grown);
            assert!((next_ns - alone_ns).abs() < 1e-3, "{draw}: {next_ns}, {alone_ns}");
            now_ns = next_ns;
        }
        assert!(now_ns > S / 100.0, "{now_ns}");
    }

    #[test]
    fn a_ramp_from_nothing_begins() {
        let ramp = Profile::Ramp { from_per_s: 0.0, to_per_s: 10.0, over_ns: 1_000_000_000, is_exponential: false };
        let first_ns = Inverse::of(&ramp).after(0.0, 1.0);
        assert!((first_ns - (0.2_f64).sqrt() * S).abs() < 1.0, "{first_ns}");
    }
}
