//! The rules of the wire contract that can be seen from outside a node. `proto/README.md` has the same list.

/// One rule of the wire contract.
#[derive(Debug, PartialEq, Eq)]
pub struct Rule {
    /// Name of the rule in documents and messages.
    pub id: &'static str,
    /// The sentence of the contract.
    pub sentence: &'static str,
}

/// All rules, in the order in which they are checked.
pub const RULES: [&Rule; 26] = [
    &NAME_NONCE,
    &NAME_FORM,
    &NAME_STABLE,
    &DESCRIBE_SAME,
    &DESCRIBE_VERSION,
    &CODEC_UNKNOWN,
    &MODEL_UNKNOWN,
    &TENANTS,
    &START_BOUNDS,
    &START_SECRET,
    &CLAIM_BUSY,
    &RUN_UNKNOWN,
    &SECRET_WRONG,
    &STREAM_AT_ONCE,
    &ANSWER_ONCE,
    &ANSWER_PARTS,
    &ANSWER_OUTPUTS,
    &SAMPLE_PARTS,
    &SAMPLE_LARGE,
    &STAGES,
    &HEARTBEATS,
    &FLUSH,
    &COUNTERS,
    &SOCKETS,
    &END_FREES,
    &CLAIM_ENDS,
];

pub(super) const NAME_NONCE: Rule =
    Rule { id: "name-nonce", sentence: "GetName returns the nonce of its request, at every call." };
pub(super) const NAME_FORM: Rule =
    Rule { id: "name-form", sentence: "A name has 1 to 128 printable characters and no comma." };
pub(super) const NAME_STABLE: Rule =
    Rule { id: "name-stable", sentence: "The name is the same at every call, and in Describe." };
pub(super) const DESCRIBE_SAME: Rule =
    Rule { id: "describe-same", sentence: "Describe answers, and says the same each time." };
pub(super) const DESCRIBE_VERSION: Rule =
    Rule { id: "describe-version", sentence: "Describe in another wire version is refused with FAILED_PRECONDITION." };
pub(super) const CODEC_UNKNOWN: Rule = Rule {
    id: "codec-unknown",
    sentence: "StartRun with a codec that the node does not know is refused, and the node stays free.",
};
pub(super) const MODEL_UNKNOWN: Rule = Rule {
    id: "model-unknown",
    sentence: "StartRun with a tenant of a model that Describe does not name is refused with INVALID_ARGUMENT.",
};
pub(super) const TENANTS: Rule = Rule {
    id: "tenants",
    sentence: "StartRun returns bounds and a secret for each tenant, and the node is free when all have ended.",
};
pub(super) const START_BOUNDS: Rule =
    Rule { id: "start-bounds", sentence: "StartRun returns bounds that are above 0." };
pub(super) const START_SECRET: Rule =
    Rule { id: "start-secret", sentence: "StartRun returns a secret of 32 bytes, another one for each run." };
pub(super) const CLAIM_BUSY: Rule = Rule {
    id: "claim-busy",
    sentence: "While a run has the node, StartRun of another is refused with RESOURCE_EXHAUSTED.",
};
pub(super) const RUN_UNKNOWN: Rule = Rule {
    id: "run-unknown",
    sentence: "Dispatch, Flush and EndRun of a run that does not exist are refused with NOT_FOUND.",
};
pub(super) const SECRET_WRONG: Rule =
    Rule { id: "secret-wrong", sentence: "A wrong secret is refused as a run that does not exist is." };
pub(super) const STREAM_AT_ONCE: Rule =
    Rule { id: "stream-at-once", sentence: "A stream is accepted at once, before a sample comes." };
pub(super) const ANSWER_ONCE: Rule =
    Rule { id: "answer-once", sentence: "Each sample is answered exactly once, with its id." };
pub(super) const ANSWER_PARTS: Rule = Rule {
    id: "answer-parts",
    sentence: "An answer comes in parts of at most 1 MiB that count from 0; the first has the length of all.",
};
pub(super) const ANSWER_OUTPUTS: Rule =
    Rule { id: "answer-outputs", sentence: "An answer has the bytes that the outputs of Describe say." };
pub(super) const SAMPLE_PARTS: Rule =
    Rule { id: "sample-parts", sentence: "A sample can come in parts, mixed with those of another." };
pub(super) const SAMPLE_LARGE: Rule =
    Rule { id: "sample-large", sentence: "A sample of more than 1 MiB is taken, in parts." };
pub(super) const STAGES: Rule = Rule {
    id: "stages",
    sentence: "The last part of an answer has stages, which add up to no more than the answer took.",
};
pub(super) const HEARTBEATS: Rule = Rule {
    id: "heartbeats",
    sentence: "A node with nothing else to say on a stream sends a heartbeat every half second.",
};
pub(super) const FLUSH: Rule =
    Rule { id: "flush", sentence: "Flush returns when as many samples as it names have been answered, and no sooner." };
pub(super) const COUNTERS: Rule = Rule {
    id: "counters",
    sentence: "EndRun returns the samples, messages, payloads and tensors that the other end has counted.",
};
pub(super) const SOCKETS: Rule =
    Rule { id: "sockets", sentence: "Bytes of sockets are left out, or are no fewer than those of the messages." };
pub(super) const END_FREES: Rule =
    Rule { id: "end-frees", sentence: "EndRun frees the node at once, and its run does not exist any more." };
pub(super) const CLAIM_ENDS: Rule = Rule {
    id: "claim-ends",
    sentence: "A claim ends when its streams have ended without EndRun, ten seconds later at the latest.",
};

#[cfg(test)]
mod tests {
    use super::*;

    /// The page of the contract has the same sentences for authors of nodes.
    #[test]
    fn the_page_of_the_contract_has_every_rule() {
        let page = include_str!("../../../proto/README.md");
        let table = page.lines().skip_while(|line| *line != "| rule | sentence |").skip(2);
        let rows: Vec<&str> = table.take_while(|line| line.starts_with('|')).collect();
        let expected: Vec<String> =
            RULES.iter().map(|Rule { id, sentence }| format!("| `{id}` | {sentence} |")).collect();
        assert_eq!(rows, expected);
    }
}
