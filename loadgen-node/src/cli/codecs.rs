//! The flags that choose the codecs of samples and answers.

use clap::Args;
use lon_qsl::Codec;
use lon_run::test_run::Codecs;
use lon_run::values::CodecChoice;

use super::headings::NETWORK;

/// The codecs of samples and answers.
#[derive(Args, Debug, Clone, Default)]
pub(crate) struct CodecArgs {
    /// Codec (zstd:3) or auto (advice).
    ///
    /// Applied before any clock starts: none, zstd[:LEVEL], lz4, shuffle-zstd[:LEVEL] or
    /// delta-zstd[:LEVEL]; or original: the dataset's own files (JPEGs), decoded by the SUT node. auto runs nothing: it
    /// measures them all on the dataset and prints below which bandwidth each of them wins.
    #[arg(long, value_name = "CODEC", default_value = "none", env = "LON_COMPRESSION", help_heading = NETWORK)]
    pub(crate) compression: CodecChoice,
    /// Codec of the answers, applied by the SUT node and undone here, both timed.
    #[arg(long, value_name = "CODEC", default_value = "none", env = "LON_RESPONSE_COMPRESSION",
          help_heading = NETWORK, hide_short_help = true)]
    pub(crate) response_compression: Codec,
}

impl CodecArgs {
    /// True where advice is asked for in place of a run.
    pub(crate) fn is_advice(&self) -> bool {
        self.compression == CodecChoice::Auto
    }

    /// The codecs of a run. Samples have none where advice is asked for.
    pub(crate) fn codecs(&self) -> Codecs {
        let samples = match self.compression {
            CodecChoice::Codec(codec) => codec,
            CodecChoice::Auto => Codec::None,
        };
        Codecs { samples, answers: self.response_compression }
    }
}
