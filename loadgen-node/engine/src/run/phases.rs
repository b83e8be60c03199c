//! The phases of a test, one after the other, each with its set loaded.

use super::driver;
use super::events::EventLog;
use super::issuer::Stop;
use super::observer::Observer;
use super::options::RunOptions;
use super::outcome::{End, PhaseOutcome};
use super::phase::PhaseRun;
use crate::effective::Effective;
use crate::plan::Plan;
use crate::trace::{PhaseMode, PhasePlan, Picks};
use crate::value::Value;
use crate::world::{SampleIndex, World};

/// Everything that outlives a phase.
pub(super) struct Run<'a, W, O: ?Sized> {
    pub(super) plan: &'a Plan,
    pub(super) world: &'a mut W,
    pub(super) observer: &'a mut O,
    pub(super) options: RunOptions,
    pub(super) events: EventLog,
    pub(super) phases: Vec<PhaseOutcome>,
    pub(super) picks: Picks,
}

impl<W: World, O: Observer + ?Sized> Run<'_, W, O> {
    pub(super) fn all_phases(&mut self) -> End {
        let plan = self.plan;
        let mut announced = None;
        for phase in plan.phases() {
            if announced != Some(phase.mode) {
                announced = Some(phase.mode);
                self.announce(announcement(phase.mode));
            }
            let set = &phase.set.indices;
            if let Err(text) = self.load(set) {
                return End::LoadFailed(text);
            }
            let stop = self.phase(plan.effective(), phase);
            self.unload(set);
            match stop {
                Stop::Interrupted => return End::Interrupted,
                Stop::Broken => return End::Broken,
                _ => {}
            }
        }
        End::Completed
    }

    pub(super) fn announce(&mut self, text: &str) {
        let now = self.world.now();
        self.events.info(now, "generic_message", text);
    }

    pub(super) fn load(&mut self, set: &[SampleIndex]) -> Result<(), String> {
        self.world.load(set)?;
        let now = self.world.now();
        self.events.info(now, "loaded_qsl_set", Value::List(set.iter().map(|index| index.0).collect()));
        Ok(())
    }

    pub(super) fn unload(&mut self, set: &[SampleIndex]) {
        self.world.unload(set);
    }

    /// Runs a phase whose set is loaded; its outcome becomes the last of `phases`.
    pub(super) fn phase(&mut self, effective: &Effective, phase: &PhasePlan) -> Stop {
        self.picks.set_probability(effective.log_probability());
        let (options, picks) = (&self.options, &mut self.picks);
        // Memory for every sample that the phase may have is touched here: seconds for a hundred million.
        let state = self.world.meanwhile(|| PhaseRun::new(effective, phase, options, picks));
        let outcome = driver::run(state, self.world, self.observer, &mut self.events);
        self.observer.phase_ended(&outcome);
        let stop = outcome.stop;
        self.phases.push(outcome);
        stop
    }
}

fn announcement(mode: PhaseMode) -> &'static str {
    match mode {
        PhaseMode::AccuracyOnly => "Starting accuracy mode",
        PhaseMode::PerformanceOnly => "Starting performance mode",
    }
}
