//! TEST05: a run with other seeds is not slower (`compliance/nvidia/TEST05` of mlcommons/inference, up to v5.0; the
//! script is not in later releases).

use super::check::AuditCheck;
use super::findings::{Findings, TestFile};
use super::rates::{self, Against};
use super::run::AuditedRun;
use super::settings::in_force;
use super::{AuditTest, pair};
use loadgen::settings::TEST05_SEEDS;

/// The keys of the seeds.
const SEEDS: [&str; 3] = ["qsl_rng_seed", "sample_index_rng_seed", "schedule_rng_seed"];
/// Keys that the audit changes.
const CHANGED: [&str; 4] = ["test_mode", SEEDS[0], SEEDS[1], SEEDS[2]];

/// Judges two runs by TEST05.
pub fn judge(reference: &AuditedRun, test: &AuditedRun) -> Findings {
    let rates = rates::by_summary(&reference.summary, &test.summary, Against::OtherSeeds);
    let allowed = rates::allowed_by_summary(&reference.summary, Against::OtherSeeds);
    let requirement = format!("not INVALID, the test not slower than the reference by {allowed} or more");
    let mut checks = vec![
        AuditCheck::official("rates", rates.passed, requirement, &*rates.finding),
        in_force(
            &test.detail,
            &[
                ("test_mode", "PerformanceOnly".into()),
                (SEEDS[0], TEST05_SEEDS.qsl.into()),
                (SEEDS[1], TEST05_SEEDS.sample_index.into()),
                (SEEDS[2], TEST05_SEEDS.schedule.into()),
            ],
        ),
        seeds_row(reference, test),
    ];
    checks.extend(pair::by_summary(reference, test, &CHANGED));
    let files = vec![TestFile::new("verify_performance.txt", &rates.text)];
    Findings::new(AuditTest::Test05, test.scenario(), checks, files)
}

/// The script does not look at the seeds: a second run with the same ones passes it.
fn seeds_row(reference: &AuditedRun, test: &AuditedRun) -> AuditCheck {
    let seed = |run: &AuditedRun, key: &str| run.detail.whole(&format!("effective_{key}"));
    let same: Vec<&str> = SEEDS.into_iter().filter(|key| seed(reference, key) == seed(test, key)).collect();
    let finding =
        if same.is_empty() { "all three are others".to_owned() } else { format!("the same: {}", same.join(", ")) };
    AuditCheck::ours("seeds of both runs", same.is_empty(), "others in the test", finding)
}
