//! A Markov-modulated Poisson process: exponential gaps at a rate that jumps between states.
//!
//! The states follow a Markov chain in continuous time with generator Q: the stay in state i is exponential with mean
//! -1/Q_ii, and state j follows with probability -Q_ij/Q_ii. The first state is drawn from the chain's stationary
//! distribution, so that the mean rate holds from the start.

use serde::Deserialize;

/// Most states of a process.
const MOST_STATES: usize = 64;

/// The states of the process.
#[derive(Clone, Debug, PartialEq)]
pub struct Modulated {
    /// Rate in each state, queries per second.
    rates_per_s: Vec<f64>,
    /// Mean stay in each state, ns.
    stays_ns: Vec<f64>,
    /// For each state the probability of each state that may follow.
    follows: Vec<Vec<f64>>,
    /// Share of the time in each state.
    shares: Vec<f64>,
}

/// The JSON form of a process.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Form {
    /// Rate in each state, queries per second.
    rates: Vec<f64>,
    /// Generator of the Markov chain, per second: a row for each state, whose sum is 0.
    generator: Vec<Vec<f64>>,
}

impl Modulated {
    /// A process of two states.
    pub(super) fn on_off(rates_per_s: [f64; 2], stays_ns: [u64; 2]) -> Modulated {
        let stays_ns: Vec<f64> = stays_ns.map(|ns| ns as f64).to_vec();
        let all: f64 = stays_ns.iter().sum();
        Modulated {
            rates_per_s: rates_per_s.to_vec(),
            follows: vec![vec![0.0, 1.0], vec![1.0, 0.0]],
            shares: stays_ns.iter().map(|ns| ns / all).collect(),
            stays_ns,
        }
    }

    /// Reads the JSON form: `{"rates": [...], "generator": [[...], ...]}`.
    ///
    /// # Errors
    /// The reason against the text.
    pub(super) fn parse(json: &str) -> Result<Modulated, String> {
        let Form { rates, generator } = serde_json::from_str(json).map_err(|error| {
            format!("mmpp: {error}; it is JSON: {{\"rates\": [100, 5], \"generator\": [[-1, 1], [0.2, -0.2]]}}")
        })?;
        let states = rates.len();
        if !(2..=MOST_STATES).contains(&states) || generator.len() != states {
            return Err(format!(
                "mmpp: {states} rates and {} rows; it takes 2 to {MOST_STATES} of each",
                generator.len()
            ));
        }
        if let Some(rate) = rates.iter().find(|rate| !rate.is_finite() || **rate < 0.0) {
            return Err(format!("mmpp: rate {rate} is not 0 or above"));
        }
        let (mut stays_ns, mut follows) = (Vec::new(), Vec::new());
        for (state, row) in generator.iter().enumerate() {
            let (stay_ns, follow) = checked_row(state, row, states)?;
            stays_ns.push(stay_ns);
            follows.push(follow);
        }
        let shares = stationary(&stays_ns, &follows).ok_or("mmpp: some states are never left, or never reached")?;
        let process = Modulated { rates_per_s: rates, stays_ns, follows, shares };
        if process.mean_per_s() > 0.0 { Ok(process) } else { Err("mmpp: all rates are 0".to_owned()) }
    }

    /// Mean rate, queries per second.
    pub fn mean_per_s(&self) -> f64 {
        self.shares.iter().zip(&self.rates_per_s).map(|(share, rate)| share * rate).sum()
    }

    /// The state at the start for a draw in [0, 1).
    pub(crate) fn first(&self, draw: f64) -> usize {
        chosen(&self.shares, draw)
    }

    /// The state that follows another one, for a draw in [0, 1).
    pub(crate) fn next(&self, state: usize, draw: f64) -> usize {
        chosen(&self.follows[state], draw)
    }

    /// Rate in a state, queries per ns.
    pub(crate) fn rate_per_ns(&self, state: usize) -> f64 {
        self.rates_per_s[state] / 1e9
    }

    /// Mean stay in a state, ns.
    pub(crate) fn stay_ns(&self, state: usize) -> f64 {
        self.stays_ns[state]
    }
}

/// The position at which the sum of the shares exceeds a draw.
fn chosen(shares: &[f64], draw: f64) -> usize {
    let mut sum = 0.0;
    let within = shares.iter().position(|share| {
        sum += share;
        draw < sum
    });
    within.unwrap_or_else(|| shares.iter().rposition(|share| *share > 0.0).unwrap_or(0))
}

/// Mean stay and following states of a row of the generator.
fn checked_row(state: usize, row: &[f64], states: usize) -> Result<(f64, Vec<f64>), String> {
    let leaves = -row.get(state).copied().unwrap_or(f64::NAN);
    let others = || row.iter().enumerate().filter(|(other, _)| *other != state).map(|(_, rate)| *rate);
    let sum: f64 = others().sum();
    let is_right = row.len() == states
        && leaves.is_finite()
        && leaves > 0.0
        && others().all(|rate| rate >= 0.0)
        && (sum - leaves).abs() <= 1e-9 * leaves;
    if !is_right {
        let row = state + 1;
        return Err(format!(
            "mmpp: row {row} of the generator needs {states} numbers: one below 0 on the diagonal, the others from 0 \
             on, sum 0"
        ));
    }
    let follow = row.iter().enumerate().map(|(other, rate)| if other == state { 0.0 } else { rate / sum }).collect();
    Ok((1e9 / leaves, follow))
}

/// Share of the time in each state: of the chain of jumps, weighted with the stays.
fn stationary(stays_ns: &[f64], follows: &[Vec<f64>]) -> Option<Vec<f64>> {
    let states = stays_ns.len();
    // Balance of each state but the last, and a sum of 1.
    let mut rows: Vec<Vec<f64>> = (0..states)
        .map(|to| {
            let balance = |from: usize| follows[from][to] - f64::from(u8::from(from == to));
            let mut row: Vec<f64> = (0..states).map(balance).collect();
            if to + 1 == states {
                row.fill(1.0);
            }
            row.push(f64::from(u8::from(to + 1 == states)));
            row
        })
        .collect();
    for column in 0..states {
        let pivot = (column..states).max_by(|a, b| rows[*a][column].abs().total_cmp(&rows[*b][column].abs()))?;
        if rows[pivot][column].abs() < 1e-12 {
            return None;
        }
        rows.swap(column, pivot);
        let pivot_row = rows[column].clone();
        for (_, row) in rows.iter_mut().enumerate().filter(|(number, _)| *number != column) {
            let factor = row[column] / pivot_row[column];
            row.iter_mut().zip(&pivot_row).for_each(|(value, pivot)| *value -= factor * pivot);
        }
    }
    let weighted: Vec<f64> =
        (0..states).map(|state| rows[state][states] / rows[state][state] * stays_ns[state]).collect();
    let all: f64 = weighted.iter().sum();
    weighted.iter().all(|weight| *weight >= 0.0).then(|| weighted.iter().map(|weight| weight / all).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(json: &str) -> Result<Modulated, String> {
        Modulated::parse(json)
    }

    #[test]
    fn the_mean_rate_is_that_of_the_stationary_distribution() {
        // Two states: a fifth of the time in the first.
        let two = parsed(r#"{"rates": [100, 5], "generator": [[-0.8, 0.8], [0.2, -0.2]]}"#).unwrap();
        assert!((two.mean_per_s() - 24.0).abs() < 1e-9, "{}", two.mean_per_s());
        // A cycle of three states with stays of 1, 2 and 4 s.
        let cycle = r#"{"rates": [7, 0, 0], "generator": [[-1, 1, 0], [0, -0.5, 0.5], [0.25, 0, -0.25]]}"#;
        assert!((parsed(cycle).unwrap().mean_per_s() - 1.0).abs() < 1e-9);
        let on_off = Modulated::on_off([100.0, 20.0], [1, 3]);
        assert_eq!(on_off.mean_per_s(), 40.0);
    }

    #[test]
    fn processes_that_cannot_be_are_refused_with_the_reason() {
        for (json, named) in [
            ("{", "it is JSON"),
            (r#"{"rates": [1], "generator": [[0]]}"#, "2 to 64"),
            (r#"{"rates": [1, -2], "generator": [[-1, 1], [1, -1]]}"#, "rate -2"),
            (r#"{"rates": [1, 2], "generator": [[-1, 2], [1, -1]]}"#, "row 1"),
            (r#"{"rates": [1, 2], "generator": [[-1, 1], [1]]}"#, "row 2"),
            (r#"{"rates": [0, 0], "generator": [[-1, 1], [1, -1]]}"#, "all rates are 0"),
            (r#"{"rates": [1, 2], "generator": [[-1, 1], [1, -1]], "x": 1}"#, "unknown field"),
        ] {
            let reason = parsed(json).unwrap_err();
            assert!(reason.contains(named), "{json}: {reason}");
        }
    }
}
