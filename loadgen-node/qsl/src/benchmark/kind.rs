//! The kinds of datasets that a benchmark takes.

/// Where the samples of a benchmark come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DatasetKind {
    /// The digits inside the program, or a folder of the same files.
    Digits,
    /// Any dataset at all.
    Synthetic {
        /// A description of synthetic samples, for messages.
        example: &'static str,
    },
    /// A dataset of the user's.
    Files {
        /// A description of synthetic samples with the same shapes.
        example: &'static str,
        /// The form of the data.
        form: Form,
    },
}

/// The form of a benchmark's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Images, in folders of JPEGs or as tensors.
    Images,
    /// Token ids, as JSON lines or as tensors.
    Tokens,
    /// Texts, or their token ids.
    Prompts,
    /// Tensors of any meaning.
    Tensors,
}

impl Form {
    /// Lists the accepted formats, for messages.
    pub(super) fn accepted(self) -> &'static str {
        match self {
            Form::Images => {
                "a folder of JPEGs with val_map.txt, COCO's folder, .npy, .npz, or a manifest of raw tensors (.toml)"
            }
            Form::Tokens => "JSON lines with input_ids (.jsonl), .npy, .npz, or a manifest of raw tensors (.toml)",
            Form::Prompts => {
                "JSON lines with prompts or input_ids (.jsonl), .npy, .npz, or a manifest of raw tensors (.toml)"
            }
            Form::Tensors => ".npy, .npz, or a manifest of raw tensors (.toml)",
        }
    }
}
