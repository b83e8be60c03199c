//! The accuracy log: which samples of a test have their answers logged.

use std::rc::Rc;

use super::facts::Fact;
use super::lists::List;
use super::scripted_run::ScriptedRun;
use crate::trace::Rng;
use crate::world::Issued;

pub(super) fn facts(run: &ScriptedRun) -> Fact {
    let logged: Vec<Issued> = run.outcome.series.iter().flat_map(|series| &series.run.logged).copied().collect();
    let data = |sample: &Issued| hex::encode_upper(sample.index.0.to_le_bytes());
    let offset = Rng::new(run.input.settings.accuracy_log_rng_seed).real();
    let list = Rc::new(log(&logged));
    Fact::Some(vec![
        ("entries", Fact::is(list.len())),
        ("pairs_sha256", Fact::is(list.sha256())),
        ("pairs_first", Fact::Begins(list)),
        ("data_example", Fact::is(logged.first().map(data))),
        ("draw_of_offset", Fact::is(offset)),
    ])
}

/// The log as a list.
pub(super) fn log(logged: &[Issued]) -> List {
    List::Log(logged.iter().map(|sample| (sample.seq.0, sample.index.0)).collect())
}
