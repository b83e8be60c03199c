//! Gaps of gamma and Weibull distributions, drawn from the engine's random numbers.
//!
//! Gamma: Marsaglia and Tsang (2000) for shapes from 1 on, Ahrens and Dieter (1974, GS) below. Weibull: inversion.
//! Normal numbers by Marsaglia's polar method.

use std::f64::consts::E;

use statrs::function::gamma::gamma;

use crate::trace::rng::Rng;

/// Draws of a gamma distribution.
#[derive(Clone, Debug)]
pub(super) struct Gamma {
    shape: f64,
    scale: f64,
    /// The second number of a pair of normal ones.
    spare: Option<f64>,
    rng: Rng,
}

impl Gamma {
    /// Gaps with this mean.
    pub(super) fn new(shape: f64, mean: f64, rng: Rng) -> Gamma {
        Gamma { shape, scale: mean / shape, spare: None, rng }
    }

    #[inline]
    pub(super) fn next(&mut self) -> f64 {
        self.scale * if self.shape < 1.0 { self.small() } else { self.large() }
    }

    fn small(&mut self) -> f64 {
        let bound = (E + self.shape) / E;
        loop {
            let place = bound * (1.0 - self.rng.real());
            let uniform = 1.0 - self.rng.real();
            if place <= 1.0 {
                let value = (place.ln() / self.shape).exp();
                // The first bound is below the second, and saves most of the exponentials.
                if uniform <= 1.0 - value || uniform <= (-value).exp() {
                    return value;
                }
            } else {
                let value = -((bound - place) / self.shape).ln();
                if uniform.ln() <= (self.shape - 1.0) * value.ln() {
                    return value;
                }
            }
        }
    }

    fn large(&mut self) -> f64 {
        let d = self.shape - 1.0 / 3.0;
        let c = 1.0 / (9.0 * d).sqrt();
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
        self.scale * self.rng.exponential().powf(self.power)
    }
}
