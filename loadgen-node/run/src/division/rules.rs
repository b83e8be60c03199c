//! All rules, in the order of the sections of the rules. Section numbers are those of MLPerf Inference rules v5.

use lon_qsl::benchmark::ROUNDS;

use super::facts::Facts;
use super::findings::Findings;
use super::rule::{Finding, Judged, Rule, Verdict};
use super::{accuracy, bandwidth, codecs, dataset, generation, hosts, one_sut, settings, suite, transfer};
use loadgen::conf::rules::Rules;

/// The rule that a round without a Network division breaks.
const SUITE: &str = "suite";

/// Looks at every rule. A run of round v0.5, which has no such division, breaks one of them, and is held to no other.
pub fn judge(facts: &Facts<'_>) -> Findings {
    let round = facts.planned.round;
    let has_division = !Rules::find(round).is_some_and(Rules::is_v0_5);
    let verdict = |rule: &Rule| match has_division {
        true => (rule.judge)(facts),
        false if rule.id == SUITE => Verdict::broken(format!("round {round} has no Network division")),
        false => Verdict::unchecked(format!("round {round} has no Network division")),
    };
    Findings(RULES.iter().map(|rule| Finding { rule, verdict: verdict(rule) }).collect())
}

/// A row of the table. The rules are those of version 5 in every round that is known; what they are held against is the
/// round's.
const fn rule(
    id: &'static str,
    section: &'static str,
    asks: &'static str,
    judged: Judged,
    judge: fn(&Facts<'_>) -> Verdict,
) -> Rule {
    Rule { id, section, rounds: &ROUNDS, asks, judged, judge }
}

/// Returns the verdict on a rule of which only the submitter can know.
fn by_word(_: &Facts<'_>) -> Verdict {
    Verdict::unchecked("only the submitter can say so")
}

use Judged::{After, Before, Word};

/// Every rule of the division, one a row.
pub(super) static RULES: [Rule; 38] = [
    rule("run_duration", "3", "min_duration is the round's, or longer", Before, settings::duration),
    rule(
        "query_count",
        "3",
        "min_query_count and Offline's samples are the round's, or more",
        Before,
        settings::queries,
    ),
    rule("no_early_end", "3", "max_duration and max_query_count are not set", Before, settings::early_end),
    rule("percentile", "3", "latency is judged at the round's percentile", Before, settings::percentile),
    rule("samples_per_query", "3", "queries have the scenario's number of samples", Before, settings::query_size),
    rule("other_settings", "3", "every other setting has the round's value", Before, settings::others),
    rule("benchmark_unaltered", "4.1", "the benchmark is the published one", Before, suite::unaltered),
    rule("latency_limit", "4.1", "latency limits are the round's, or lower", Before, settings::latency),
    rule(
        "qsl_size",
        "4.1",
        "performance is drawn from at least the round's QSL size",
        Before,
        dataset::performance_set,
    ),
    rule(
        "accuracy_target",
        "4.1",
        "the accuracy, rounded to five digits, reaches the round's target",
        After,
        accuracy::target,
    ),
    rule("ecc", "4.1.1", "the memories of hosts and accelerators have ECC on", Before, hosts::ecc),
    rule("generation", "4.1.3", "nodes generate answers with the round's parameters", Before, generation::parameters),
    rule("mode", "5.1", "the run measures performance or accuracy", Before, suite::mode),
    rule("seeds", "5.1", "traffic is drawn with the round's seeds", Before, settings::seeds),
    rule("drawing", "5.1", "samples are drawn at random, as LoadGen does it", Before, settings::drawing),
    rule("accuracy_set", "5.1", "the accuracy run asks for every sample once", Before, settings::accuracy_set),
    rule("accuracy_run", "5.1", "a valid accuracy run of the same setup exists", After, accuracy::same_setup),
    rule("official_loadgen", "5.1", "the official LoadGen, unaltered, makes the submitted result", Word, by_word),
    rule("no_caching", "5.1", "no query, answer or intermediate result is cached", Word, by_word),
    rule("data_path", "5.1", "the data path from NIC to accelerator is described", Word, by_word),
    rule("model_equivalence", "6.1", "the model is equivalent to the reference", Word, by_word),
    rule("scenario", "6.2", "the scenario is Server or Offline", Before, suite::scenario),
    rule(SUITE, "6.2", "the round's Datacenter suite has the benchmark and scenario", Before, suite::benchmark),
    rule("qdl", "6.2.1", "the QDL neither processes nor batches", After, transfer::untouched),
    rule("sut_name", "6.2.1", "the name has 'Network SUT' in it and comes over the network", After, transfer::name),
    rule("separate_hosts", "6.2.2", "LoadGen node and SUT are separate systems", Before, hosts::separate),
    rule("fabric", "6.2.2", "the systems are connected by a permitted fabric", After, hosts::fabric),
    rule("named_nodes", "6.2.3", "every node of the SUT has a name of its own", Before, transfer::unique_names),
    rule("one_sut", "6.2.3", "all nodes have one model, engine and way to answer", Before, one_sut::one_system),
    rule("sut_nodes", "6.2.3", "nodes count what crosses the network", Before, transfer::countable),
    rule("inference", "6.2.3", "a model at the SUT answers", Before, hosts::backend),
    rule("all_crossed", "6.2.3", "every query and answer crosses the network", After, transfer::counters),
    rule("codecs", "6.2.4", "compression is one that the benchmark may have", Before, codecs::allowed),
    rule(
        "approval",
        "6.2.4",
        "the working group has approved the codec two weeks before the submission",
        Word,
        codecs::approved,
    ),
    rule("real_data", "7", "samples are real data of the benchmark's kind", Before, dataset::real),
    rule("whole_dataset", "7", "the dataset is complete", Before, dataset::complete),
    rule("unchanged_data", "7", "the files of the dataset match their checksums", Before, dataset::sums),
    rule("bandwidth", "Appendix B", "the network carries what the measured rate requires", After, bandwidth::enough),
];
