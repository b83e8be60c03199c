//! Document that `run --compression auto` prints with `--json`: the gain of each codec on a dataset.

use serde::{Deserialize, Serialize};

use crate::outputs::tables::table::Table;

/// The version of [`CodecAdvice`].
const SCHEMA: u32 = 1;

/// The whole document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CodecAdvice {
    /// Version of this form: 1.
    #[cfg_attr(test, schemars(extend("const" = SCHEMA)))]
    pub schema: u32,
    /// The dataset whose samples were encoded.
    pub dataset: String,
    /// Number of the dataset's samples that were encoded, spread evenly over the dataset.
    pub samples: usize,
    /// The round whose rules say which codecs are allowed.
    pub round: String,
    /// The codecs that were tried.
    pub codecs: Vec<AdvisedCodec>,
}

/// The figures of one codec, on one thread.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct AdvisedCodec {
    /// The codec, as `--compression` takes it.
    pub codec: String,
    /// Bytes of the samples divided by their encoded bytes.
    pub ratio: f64,
    /// Bytes of samples that are encoded in a second, before any clock starts.
    pub encode_bytes_per_s: f64,
    /// Bytes of samples that a SUT node inflates in a second.
    pub inflate_bytes_per_s: f64,
    /// With less bandwidth than this between the hosts, Gbit/s, an encoded sample arrives and is inflated sooner than
    /// it would arrive as it is. Null: it never does.
    pub wins_below_gbit_s: Option<f64>,
    /// Status of the codec under the rules of the Network division: allowed, refused, or that the benchmark is not in
    /// the division.
    pub network_division: String,
}

impl CodecAdvice {
    /// Makes the document of the figures of these codecs.
    pub fn new(dataset: &str, samples: usize, round: &str, codecs: Vec<AdvisedCodec>) -> CodecAdvice {
        CodecAdvice { schema: SCHEMA, dataset: dataset.to_owned(), samples, round: round.to_owned(), codecs }
    }

    /// A row for each codec, with the keys of the document as heads.
    pub fn table(&self) -> Table {
        let mut table = Table::new([
            "codec",
            "ratio",
            "encode_bytes_per_s",
            "inflate_bytes_per_s",
            "wins_below_gbit_s",
            "network_division",
        ]);
        for codec in &self.codecs {
            table.row([
                &codec.codec,
                &format!("{:.4}", codec.ratio),
                &format!("{:.0}", codec.encode_bytes_per_s),
                &format!("{:.0}", codec.inflate_bytes_per_s),
                &codec.wins_below_gbit_s.map_or_else(String::new, |gbit_s| gbit_s.to_string()),
                &codec.network_division,
            ]);
        }
        table
    }
}
