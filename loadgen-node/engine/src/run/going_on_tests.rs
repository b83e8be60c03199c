//! Phases that go on until the world lets them end.

use super::tests::{settings, sut};
use super::*;
use crate::settings::{Qsl, Scenario};
use crate::sim::SimWorld;
use crate::world::{Arrival, Issued, QuerySeq, SampleIndex, TimeNs, Wake};
use std::num::NonZeroU64;

/// A world in which others measure until `end`.
struct Shared {
    world: SimWorld,
    end: TimeNs,
}

impl World for Shared {
    type Data = Vec<u8>;

    fn now(&mut self) -> TimeNs {
        self.world.now()
    }

    fn load(&mut self, set: &[SampleIndex]) -> Result<(), String> {
        self.world.load(set)
    }

    fn unload(&mut self, set: &[SampleIndex]) {
        self.world.unload(set);
    }

    fn issue(&mut self, query: QuerySeq, samples: &[Issued]) {
        self.world.issue(query, samples);
    }

    fn flush(&mut self) {
        self.world.flush();
    }

    fn may_end(&mut self) -> bool {
        self.world.now() >= self.end
    }

    fn wait(&mut self, until: Option<TimeNs>, wake_on_arrival: bool, arrivals: &mut Vec<Arrival<Vec<u8>>>) -> Wake {
        self.world.wait(until, wake_on_arrival, arrivals)
    }
}

const SCENARIOS: [Scenario; 5] =
    [Scenario::SINGLE_STREAM, Scenario::MULTI_STREAM, Scenario::SERVER, Scenario::BURST, Scenario::CLOSED];

fn ran(scenario: Scenario, end_ms: u64, times: Option<u64>) -> RunOutcome {
    let mut settings = settings(scenario, 5);
    (settings.min_query_count, settings.min_duration_ms) = (70, 50);
    if scenario == Scenario::BURST {
        for setting in ["burst_size=4", "burst_interval=10ms"] {
            settings.set(setting).unwrap();
        }
    }
    let plan = Plan::new(settings, Qsl { total: 64, performance: 24 }).unwrap();
    let goes_on = times.and_then(NonZeroU64::new);
    let mut world = Shared { world: SimWorld::new(sut(5)), end: TimeNs(end_ms * 1_000_000) };
    run(&plan, &mut world, &mut (), RunOptions { goes_on, ..RunOptions::default() })
}

#[test]
fn a_phase_goes_on_until_the_others_have_what_they_need() {
    for scenario in SCENARIOS {
        let alone = ran(scenario, 0, None);
        let companion = ran(scenario, 3_000, Some(1_000));
        let [one, other] = [&alone.phases[0], &companion.phases[0]];
        assert!(one.ended < TimeNs(3_000_000_000), "{scenario:?}: {:?}", one.ended);
        assert!(other.ended >= TimeNs(3_000_000_000), "{scenario:?}: {:?}", other.ended);
        assert_eq!(other.queries_issued, one.queries_issued + other.extended_by, "{scenario:?}");
        assert_eq!(other.counts.issued, other.counts.completed, "{scenario:?}");
        assert!(other.extended_by > 0 && companion.verdict.is_valid(), "{scenario:?}: {:?}", companion.verdict);
    }
}

#[test]
fn the_first_queries_are_those_of_a_run_alone() {
    for scenario in SCENARIOS {
        let [alone, companion] = [ran(scenario, 0, None), ran(scenario, 0, Some(4))];
        let cells = |outcome: &RunOutcome| outcome.phases[0].timeline.as_ref().unwrap().cells.clone();
        assert_eq!(cells(&alone), cells(&companion), "{scenario:?}: nobody else needs more time");
        assert_eq!(companion.phases[0].extended_by, 0);
    }
}

#[test]
fn where_the_room_is_used_up_the_phase_ends() {
    let outcome = ran(Scenario::SERVER, 1_000_000, Some(2));
    let planned = ran(Scenario::SERVER, 0, None).phases[0].queries_issued;
    assert_eq!(outcome.phases[0].queries_issued, 2 * planned);
}
