//! JSON Schemas of the documents that the two programs write.
//!
//! They are files of this repository, and parts of the program. Tests make them of the types that write the documents
//! (`of_types`), and hold the files against that. Only tests need the code that makes them, a tenth of this crate's.

#[cfg(test)]
mod of_types;

/// A kind of document.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// Its name. Its schema is `loadgen-node/schemas/NAME.json`.
    pub name: &'static str,
    /// Which file it is, or which command prints it.
    pub about: &'static str,
    /// The schema, draft 2020-12 of JSON Schema. It is about what this version writes: later ones may add keys.
    pub schema: &'static str,
}

macro_rules! kind {
    ($name:literal, $about:literal) => {
        Kind {
            name: $name,
            about: $about,
            schema: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../schemas/", $name, ".json")),
        }
    };
}

/// Every kind of document: files of the run folder first, then what commands print.
pub const KINDS: [Kind; 36] = [
    kind!("result_summary", "result_summary.json; run, show and recover with --json print the same"),
    kind!("network_report", "network_report.json"),
    kind!("system_desc", "system_desc.json"),
    kind!("find_peak", "find_peak.json of a search for the peak"),
    kind!("qdl_result", "qdl_result.json beside the logs of another engine"),
    kind!("submission_step", "submission_step.json of a run of a submission"),
    kind!("audit_result", "audit_result.json; audit --json prints the same"),
    kind!("repeats", "NAME-repeats.json beside the folders of run --repeat; with --json it prints the same"),
    kind!("mix_result", "mix_result.json in the folder of run --mix; with --json it prints the same"),
    kind!("campaign", "campaign.json in the folder of a campaign; campaign plan --json prints the same"),
    kind!("campaign_run", "NUMBER.json beside a run folder of a campaign; campaign run --json prints each on a line"),
    kind!("campaign_table", "campaign table --json"),
    kind!("campaign_doctor", "campaign doctor --json"),
    kind!("codec_advice", "run --compression auto with --json"),
    kind!("conf", "conf --json"),
    kind!("config_cases", "conf --config-vector FILE.json"),
    kind!("probe", "probe --json"),
    kind!("probe_watch", "probe --watch with --json, a line for each interval"),
    kind!("probe_watch_sum", "probe --watch with --json, the last line"),
    kind!("conformance", "conformance --json"),
    kind!("fleet", "fleet check, start, stop, status, logs and nodes with --json"),
    kind!("accuracy", "accuracy --json of an accuracy run"),
    kind!("accuracy_subset", "accuracy --json of a performance run"),
    kind!("scores", "accuracy --json with --scorer"),
    kind!("dataset_verified", "dataset verify --json"),
    kind!("trace", "trace"),
    kind!("replay", "replay --report-vector, and replay --timeline with --json"),
    kind!("official_replay", "replay --official with --json"),
    kind!("comparison", "compare --json"),
    kind!("run_list", "list --json"),
    kind!("inferred", "infer --json"),
    kind!("schema_list", "schema --json"),
    kind!("submission_plan", "submission plan --json"),
    kind!("submission_check", "submission check --json"),
    kind!("describe", "sut-node describe"),
    kind!("bench", "sut-node bench --json; run --baseline reads it"),
];

impl Kind {
    /// The kind with this name.
    pub fn find(name: &str) -> Option<Kind> {
        KINDS.into_iter().find(|kind| kind.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_apart_and_found() {
        let mut names = KINDS.map(|kind| kind.name);
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
        assert_eq!(Kind::find("probe").map(|kind| kind.about), Some("probe --json"));
        assert!(Kind::find("nothing").is_none());
    }
}
