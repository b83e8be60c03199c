//! Gaps of gamma and Weibull distributions, uniform from the engine's random numbers.
//!
//! Gamma: Marsaglia and Tsang (2000) for shapes from 1 on, Ahrens and Dieter (1974, GS) below. Weibull: inversion.
//! Normal numbers by Marsaglia's polar method.

use std::f64::consts::E;

use statrs::function::gamma::gamma;

use crate::trace::rng::Rng;

/// Draws of a gamma distribution.
#[derive(Clone, Debug)]
pub(super) struct Gamma {
    scale: f64,
    form: Form,
    /// The second number of a pair of normal ones.
    spare: Option<f64>,
    rng: Rng,
}

/// The shape of a gamma distribution, with the constants of its method.
#[derive(Clone, Copy, Debug)]
enum Form {
    /// Below 1: `power` is one over the shape, `bound` the integral of the two pieces that enclose the density.
    Small { shape: f64, power: f64, bound: f64 },
    /// From 1 on: the factors of Marsaglia and Tsang.
    Large { d: f64, c: f64 },
}

impl Form {
    fn new(shape: f64) -> Form {
        if shape < 1.0 {
            return Form::Small { shape, power: 1.0 / shape, bound: (E + shape) / E };
        }
        let d = shape - 1.0 / 3.0;
        Form::Large { d, c: 1.0 / (9.0 * d).sqrt() }
    }
}

impl Gamma {
    /// Gaps with this mean.
    pub(super) fn new(shape: f64, mean: f64, rng: Rng) -> Gamma {
        Gamma { scale: mean / shape, form: Form::new(shape), spare: None, rng }
    }

    #[inline]
    pub(super) fn next(&mut self) -> f64 {
        self.scale
            * match self.form {
                Form::Small { shape, power, bound } => self.small(shape, power, bound),
                Form::Large { d, c } => self.large(d, c),
            }
    }

    fn small(&mut self, shape: f64, power: f64, bound: f64) -> f64 {
        loop {
            let place = bound * (1.0 - self.rng.real());
            let uniform = 1.0 - self.rng.real();
            if place <= 1.0 {
                let value = (place.ln() * power).exp();
                // The first bound is below the second, and saves most of the exponentials.
                if uniform <= 1.0 - value || uniform <= (-value).exp() {
                    return value;
                }
            } else {
                let value = -((bound - place) * power).ln();
                if uniform.ln() <= (shape - 1.0) * value.ln() {
                    return value;
                }
            }
        }
    }

    fn large(&mut self, d: f64, c: f64) -> f64 {
        loop {
            let normal = self.normal();
            let cube = (1.0 + c * normal).powi(3);
            if cube <= 0.0 {
                continue;
            }
            let uniform = 1.0 - self.rng.real();
            let square = normal * normal;
            let is_inside = uniform < 1.0 - 0.0331 * square * square;
            if is_inside || uniform.ln() < 0.5 * square + d * (1.0 - cube + cube.ln()) {
                return d * cube;
            }
        }
    }

    fn normal(&mut self) -> f64 {
        if let Some(spare) = self.spare.take() {
            return spare;
        }
        loop {
            let (x, y) = (2.0 * self.rng.real() - 1.0, 2.0 * self.rng.real() - 1.0);
            let square = x * x + y * y;
            if square < 1.0 && square > 0.0 {
                let factor = (-2.0 * square.ln() / square).sqrt();
                self.spare = Some(y * factor);
                return x * factor;
            }
        }
    }
}

/// Draws of a Weibull distribution.
#[derive(Clone, Debug)]
pub(super) struct Weibull {
    /// One over the shape.
    power: f64,
    scale: f64,
    rng: Rng,
}

impl Weibull {
    /// Gaps with this mean.
    pub(super) fn new(shape: f64, mean: f64, rng: Rng) -> Weibull {
        Weibull { power: 1.0 / shape, scale: mean / gamma(1.0 + 1.0 / shape), rng }
    }

    #[inline]
    pub(super) fn next(&mut self) -> f64 {
        // The power as an exponential, which costs a third less than `powf`.
        self.scale * (self.rng.exponential().ln() * self.power).exp()
    }
}
