//! Limits and least sizes by which a phase is judged.

/// The limits and least sizes by which a performance phase is judged; a part of the effective settings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Terms {
    /// The judged percentile, as a fraction.
    pub target_percentile: f64,
    /// The latency that the judged percentile must not exceed, ns; 0 where the scenario has no limit.
    pub target_latency_ns: u64,
    /// The phase must last this long, ms.
    pub min_duration_ms: u64,
    /// The phase must have this many queries.
    pub min_query_count: u64,
    /// The phase must have this many samples.
    pub min_sample_count: u64,
    /// Limits of a token run; `None` when the whole latency is judged.
    pub tokens: Option<TokenLimits>,
    /// Users of a closed loop, with their think time.
    pub users: Option<Users>,
    /// Tokens that a sample stands for, when token rates are inferred from samples.
    pub inferred_tokens_per_sample: Option<u64>,
}

/// The limits of a run that is judged by its tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenLimits {
    /// Limit of the first token's latency (TTFT), ns.
    pub ttft_ns: u64,
    /// Limit of the time per output token after the first (TPOT), ns.
    pub tpot_ns: u64,
}

/// Users that each await an answer before the next query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Users {
    /// Number of users.
    pub count: u64,
    /// Time between an answer and the next query, ns.
    pub think_ns: u64,
}
