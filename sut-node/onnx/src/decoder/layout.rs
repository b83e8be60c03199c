//! Meaning of a model's inputs and outputs for decoding.

use lon_sut::tensor::{DType, TensorSpec};

use super::super::model::Model;

const PAST: &str = "past_key_values.";

/// Roles of a decoder's inputs and outputs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    /// The meaning of each input, in the model's order.
    pub(super) inputs: Vec<Role>,
    pub(super) caches: Vec<Cache>,
    /// The number of the output that has the logits.
    pub(super) logits: usize,
    pub(super) outputs: usize,
    /// Number of different tokens, if the model gives it.
    pub(super) vocabulary: Option<i64>,
    /// Allows pasts of several lengths in one run when true.
    pub(super) can_pad: bool,
}

/// Role of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Ids,
    Mask,
    Positions,
    /// The cache with this number.
    Past(usize),
}

/// The keys or the values of one layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cache {
    pub(super) heads: usize,
    pub(super) width: usize,
    pub(super) dtype: DType,
    /// The number of the output that has the cache with the new tokens.
    pub(super) output: usize,
}

impl Cache {
    /// Returns the number of bytes of one token in one head.
    pub(super) fn row_bytes(&self) -> usize {
        self.width * self.dtype.size()
    }
}

impl Layout {
    /// The layout of a decoder with a cache; `None` for any other model.
    ///
    /// # Errors
    /// A clause that says why the decoder cannot be used.
    pub(crate) fn of(model: &Model) -> Option<Result<Layout, String>> {
        let is_decoder = model.inputs.iter().any(|input| input.name.starts_with(PAST));
        is_decoder.then(|| read(model))
    }

    /// Returns the number of bytes that a slot needs for each token.
    pub(crate) fn bytes_per_token(&self) -> usize {
        self.caches.iter().map(|cache| cache.heads * cache.row_bytes()).sum()
    }

    /// The same, with one slot in each run.
    pub(in super::super) fn one_by_one(self) -> Layout {
        Layout { can_pad: false, ..self }
    }

    /// Returns true when several slots go through one run.
    pub(crate) fn is_batched(&self) -> bool {
        self.can_pad
    }
}

fn read(model: &Model) -> Result<Layout, String> {
    let mut caches = Vec::new();
    let mut inputs = Vec::new();
    for input in model.inputs.iter() {
        inputs.push(match input.name.as_str() {
            "input_ids" => whole_numbers(input, Role::Ids)?,
            "attention_mask" => whole_numbers(input, Role::Mask)?,
            "position_ids" => whole_numbers(input, Role::Positions)?,
            name if name.starts_with(PAST) => {
                caches.push(cache(model, input)?);
                Role::Past(caches.len() - 1)
            }
            name => {
                return Err(format!(
                    "it has a cache ({PAST}*), and decoding knows no input '{name}' beside input_ids, attention_mask \
                     and position_ids; export it as one decoder with past (Optimum: text-generation-with-past)"
                ));
            }
        });
    }
    if !inputs.contains(&Role::Ids) {
        return Err(format!("it has a cache ({PAST}*) but no input 'input_ids'"));
    }
    let logits = output(model, "logits")?;
    let spec = &model.outputs[logits];
    if spec.dtype != DType::F32 || spec.dims.len() != 3 {
        return Err(format!("decoding takes logits f32[N,S,V], its output is '{spec}'"));
    }
    let vocabulary = spec.dims[2].map(i64::from);
    let can_pad = model.batching.is_ok() && inputs.contains(&Role::Mask) && inputs.contains(&Role::Positions);
    Ok(Layout { inputs, caches, logits, outputs: model.outputs.len(), vocabulary, can_pad })
}

fn whole_numbers(input: &TensorSpec, role: Role) -> Result<Role, String> {
    if input.dtype == DType::I64 && input.dims.len() == 2 {
        return Ok(role);
    }
    Err(format!("decoding gives '{}' as i64[N,S], its input is '{input}'", input.name))
}

fn cache(model: &Model, input: &TensorSpec) -> Result<Cache, String> {
    let suffix = input.name.strip_prefix(PAST).unwrap_or_default();
    let output = output(model, &format!("present.{suffix}"))
        .or_else(|error| output(model, &format!("present_key_values.{suffix}")).map_err(|_| error))?;
    match input.dims[..] {
        [_, Some(heads), None, Some(width)] if matches!(input.dtype, DType::F32 | DType::F16) => {
            Ok(Cache { heads: heads as usize, width: width as usize, dtype: input.dtype, output })
        }
        _ => Err(format!("decoding takes caches f32 or f16 [N,H,P,D] with fixed H and D, its input is '{input}'")),
    }
}

fn output(model: &Model, name: &str) -> Result<usize, String> {
    let place = model.outputs.iter().position(|output| output.name == name);
    place.ok_or_else(|| format!("it has a cache ({PAST}*) but no output '{name}'"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use lon_sut::tensor::Signature;

    fn spec(text: (&str, DType, &[i64])) -> TensorSpec {
        let (name, dtype, dims) = text;
        TensorSpec::new(name, dtype, dims.iter().map(|&dim| u32::try_from(dim).ok()).collect())
    }

    fn model(inputs: &[(&str, DType, &[i64])], outputs: &[(&str, DType, &[i64])]) -> Model {
        let specs = |list: &[(&str, DType, &[i64])]| Signature::new(list.iter().copied().map(spec).collect());
        Model::of(specs(inputs), specs(outputs))
    }

    const IDS: (&str, DType, &[i64]) = ("input_ids", DType::I64, &[-1, -1]);
    const MASK: (&str, DType, &[i64]) = ("attention_mask", DType::I64, &[-1, -1]);
    const POSITIONS: (&str, DType, &[i64]) = ("position_ids", DType::I64, &[-1, -1]);
    const PAST: (&str, DType, &[i64]) = ("past_key_values.0.key", DType::F32, &[-1, 4, -1, 16]);
    const PRESENT: (&str, DType, &[i64]) = ("present.0.key", DType::F32, &[-1, 4, -1, 16]);
    const LOGITS: (&str, DType, &[i64]) = ("logits", DType::F32, &[-1, -1, 100]);

    #[test]
    fn a_decoder_is_known_by_its_inputs() {
        assert_eq!(Layout::of(&model(&[("image", DType::F32, &[-1, 3])], &[LOGITS])), None);
        assert_eq!(Layout::of(&model(&[IDS, MASK], &[LOGITS])), None, "without a cache it is a model like any other");
        let layout = Layout::of(&model(&[PAST, IDS, MASK, POSITIONS], &[PRESENT, LOGITS])).unwrap().unwrap();
        assert_eq!(layout.inputs, [Role::Past(0), Role::Ids, Role::Mask, Role::Positions]);
        assert_eq!((layout.logits, layout.vocabulary, layout.can_pad), (1, Some(100), true));
        assert_eq!((layout.bytes_per_token(), layout.caches[0].output), (4 * 16 * 4, 0));
        let layout = Layout::of(&model(&[IDS, MASK, PAST], &[LOGITS, PRESENT])).unwrap().unwrap();
        assert!(!layout.can_pad, "nothing tells it which positions the tokens have");
    }

    #[test]
    fn what_decoding_cannot_do_is_said() {
        let error = |inputs: &[_], outputs: &[_]| Layout::of(&model(inputs, outputs)).unwrap().unwrap_err();
        for (text, part) in [
            (error(&[IDS, PAST, ("use_cache_branch", DType::Bool, &[1])], &[LOGITS, PRESENT]), "'use_cache_branch'"),
            (error(&[PAST], &[LOGITS, PRESENT]), "no input 'input_ids'"),
            (error(&[IDS, PAST], &[PRESENT]), "no output 'logits'"),
            (error(&[IDS, PAST], &[LOGITS]), "no output 'present.0.key'"),
            (error(&[IDS, PAST], &[("logits", DType::F16, &[-1, -1, 9]), PRESENT]), "takes logits f32[N,S,V]"),
            (error(&[("input_ids", DType::I32, &[-1, -1]), PAST], &[LOGITS, PRESENT]), "'input_ids' as i64[N,S]"),
            (
                error(&[IDS, ("past_key_values.0.key", DType::F32, &[-1, -1, -1, 16])], &[LOGITS, PRESENT]),
                "fixed H and D",
            ),
        ] {
            assert!(text.contains(part), "{text}");
        }
    }
}
