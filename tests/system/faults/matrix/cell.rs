//! A cell of the matrix: a fault, and what it happens to.

use std::fmt;
use std::time::Duration;

use lon_tests::route::Route;

use super::mix::{self, Tenant};
use super::table::{Fault, Over, Sut};

/// All scenarios.
const SCENARIOS: [&str; 4] = ["SingleStream", "MultiStream", "Server", "Offline"];

/// In the place of a scenario: a mix of two tenants.
const MIX: &str = "a mix";

/// The modes that every scenario has.
const MODES: [&str; 3] = [PERFORMANCE, "AccuracyOnly", "SubmissionRun"];

/// The mode in which nothing but latencies and rates is measured.
const PERFORMANCE: &str = "PerformanceOnly";

/// The mode that Server alone has.
const PEAK: &str = "FindPeakPerformance";

/// The transports, without certificates.
const PLAIN: [Route; 3] = [Route::Grpc, Route::Tcp, Route::Quic];

/// The same with certificates.
const ENCRYPTED: [Route; 3] = [Route::GrpcTls, Route::TcpTls, Route::QuicTls];

/// Length of a run to which nothing happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Length {
    /// A second or two.
    Short,
    /// Beyond a stall of three seconds.
    Medium,
    /// Until the fault ends it.
    Long,
}

/// One cell.
#[derive(Clone, Copy)]
pub(super) struct Cell {
    pub(super) fault: &'static Fault,
    pub(super) scenario: &'static str,
    pub(super) mode: &'static str,
    pub(super) route: Route,
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Cell { fault, scenario, mode, route } = self;
        let route = format!("{route:?}").to_lowercase();
        write!(f, "{:<40} {scenario:<12} {mode:<19} {route:<7}", fault.name)
    }
}

impl Cell {
    /// The cells of a fault, of which `number` is its place in the table: over the rows, modes and transports take
    /// turns.
    pub(super) fn of(fault: &'static Fault, number: usize) -> Vec<Cell> {
        let cell = |scenario, mode, route| Cell { fault, scenario, mode, route };
        let turn = |offset: usize| MODES[(number + offset) % MODES.len()];
        match fault.over {
            Over::Everything | Over::EveryRun => {
                let mut cells = Vec::new();
                for (row, scenario) in SCENARIOS.into_iter().enumerate() {
                    cells.extend((0..3).map(|column| cell(scenario, turn(row + column), PLAIN[column])));
                }
                if matches!(fault.over, Over::Everything) {
                    cells.push(cell("Server", PEAK, PLAIN[number % 3]));
                }
                cells.push(cell(SCENARIOS[number % 4], MODES[0], ENCRYPTED[number % 3]));
                if !fault.is_scripted() {
                    cells.extend(PLAIN.map(|route| cell(MIX, PERFORMANCE, route)));
                    cells.push(cell(MIX, PERFORMANCE, ENCRYPTED[(number + 1) % 3]));
                }
                cells
            }
            Over::EveryScenario | Over::EveryTest => {
                let route = |row: usize| PLAIN[(number + row) % 3];
                let mut cells: Vec<Cell> =
                    SCENARIOS.into_iter().enumerate().map(|(row, s)| cell(s, turn(row), route(row))).collect();
                if matches!(fault.over, Over::EveryScenario) && !fault.is_scripted() {
                    cells.push(cell(MIX, PERFORMANCE, route(0)));
                }
                cells
            }
            Over::EveryWay(scenario) => {
                Route::ALL.into_iter().enumerate().map(|(row, route)| cell(scenario, turn(row / 2), route)).collect()
            }
            Over::Routes(scenario, routes) => {
                routes.iter().enumerate().map(|(row, route)| cell(scenario, turn(row), *route)).collect()
            }
            Over::Mix(_) => PLAIN.map(|route| cell(MIX, PERFORMANCE, route)).to_vec(),
        }
    }

    /// The tenants of the mix; none where the cell is one test.
    pub(super) fn tenants(&self) -> &'static [Tenant] {
        match self.fault.over {
            Over::Mix(tenants) => tenants,
            _ if self.scenario == MIX => &mix::ALIKE,
            _ => &[],
        }
    }

    /// The settings that make the run as long as the fault needs it.
    pub(super) fn settings(&self) -> String {
        let is_peak = self.mode == PEAK;
        let lasts = match self.fault.length {
            // A fault of three seconds has to meet a trial: between two of them it does no harm.
            Length::Medium if is_peak => Duration::from_secs(3),
            _ if is_peak => Duration::from_millis(400),
            Length::Short => Duration::from_millis(1_200),
            Length::Medium => Duration::from_secs(5),
            Length::Long => Duration::from_secs(60),
        };
        // A search tries rates until one is too high.
        let latency_ms = if is_peak { 150 } else { 4_000 };
        // The nodes answer this load well within the limits: there are two, with one sample in 2 ms each.
        format!(
            "min_duration={}ms,min_query_count=64,SingleStream.target_latency=1.9,\
             Server.target_qps=300,Server.target_latency={latency_ms},Server.target_latency_percentile=90,\
             MultiStream.target_latency=7,MultiStream.target_latency_percentile=90,Offline.target_qps=1000",
            lasts.as_millis()
        )
    }

    /// Returns true when this exit code is an expected one. A search may find nothing on a machine that is busy. Where
    /// both VALID and INVALID may be right, that is for phases without latencies: a performance run is INVALID.
    pub(super) fn may_end_with(&self, code: Option<i32>) -> bool {
        let codes = self.fault.expect.codes;
        if codes == [Some(0), Some(3)] && self.mode == PERFORMANCE {
            return code == Some(3);
        }
        codes.contains(&code) || self.mode == PEAK && code == Some(3) && codes.contains(&Some(0))
    }

    /// Times the usual limit that a run may take. A search judges each of its trials, which takes its time on a busy
    /// machine.
    pub(super) fn patience(&self) -> u32 {
        if self.mode == PEAK { 4 } else { 1 }
    }

    /// Flags besides those of the fault.
    pub(super) fn flags(&self) -> &'static [&'static str] {
        match (self.mode, self.fault.length) {
            (PEAK, Length::Medium) => &["--find-peak-max-trials", "3", "--find-peak-trial", "100%"],
            (PEAK, _) => &["--find-peak-max-trials", "8"],
            _ => &[],
        }
    }

    /// Samples for an accuracy phase of about the same length.
    pub(super) fn dataset(&self) -> &'static str {
        match self.fault.length {
            Length::Short => "synthetic:u8[64]x400",
            Length::Medium => "synthetic:u8[64]x2000",
            Length::Long => "synthetic:u8[64]x30000",
        }
    }
}

impl Fault {
    /// Returns true for a peer that follows a script: it knows no tenants.
    fn is_scripted(&self) -> bool {
        matches!(self.sut, Sut::Scripted(_))
    }
}
