//! Samples that nobody sent, to try a model on before the first real one comes.

use half::{bf16, f16};
use rand_mt::Mt64;

use super::engine::BatchInput;
use lon_sut::tensor::{DType, Signature, TensorSpec};

/// Way to draw values. Nothing is known of the values that a model takes, so there are several ways.
#[derive(Clone, Copy, Debug)]
pub(super) struct Style {
    /// Whole numbers from the first to the second one.
    whole: (i64, i64),
    /// Factor by which fractions are multiplied.
    scale: f64,
}

/// In this order: numbers that every table has, and truth values; none that is zero; large ones, as pixels are.
pub(super) const STYLES: [Style; 3] =
    [Style { whole: (0, 1), scale: 1.0 }, Style { whole: (1, 2), scale: 1.0 }, Style { whole: (0, 9), scale: 100.0 }];

/// Whole numbers of 8 bits are pixels, as a rule.
const MOST_OF_BYTES: i64 = 127;

/// The most bytes of a sample that is made up. A model file may declare any size, but no node accepts a larger sample.
pub(super) const MAX_BYTES: usize = 1 << 30;

/// One sample, an input after the other.
pub(super) struct TrialSample {
    tensors: Vec<TrialTensor>,
}

struct TrialTensor {
    dtype: DType,
    /// Without the batch.
    dims: Vec<usize>,
    data: Vec<u8>,
}

impl TrialSample {
    /// The sample with this number for a model that takes these inputs: `size` wherever they leave a size free besides
    /// the batch. Samples of different numbers have values of different magnitudes. `None` when it were too large.
    pub(super) fn draw(inputs: &Signature, style: Style, size: usize, number: usize) -> Option<TrialSample> {
        let mut random = Mt64::new(number as u64);
        let mut left_bytes = MAX_BYTES;
        let mut tensor = |spec: &TensorSpec| {
            let dims: Vec<usize> = spec.own_dims().iter().map(|dim| dim.map_or(size, |dim| dim as usize)).collect();
            let elements = dims.iter().try_fold(1usize, |elements, &dim| elements.checked_mul(dim))?;
            left_bytes = left_bytes.checked_sub(elements.checked_mul(spec.dtype.size())?)?;
            let mut data = Vec::with_capacity(elements * spec.dtype.size());
            (0..elements).for_each(|_| style.write(spec.dtype, number, random.next_u64(), &mut data));
            Some(TrialTensor { dtype: spec.dtype, dims, data })
        };
        Some(TrialSample { tensors: inputs.iter().map(&mut tensor).collect::<Option<_>>()? })
    }

    /// The bytes of its tensors.
    pub(super) fn bytes(&self) -> usize {
        self.tensors.iter().map(|tensor| tensor.data.len()).sum()
    }

    /// The sizes of its tensors, besides the batch.
    pub(super) fn sizes(&self) -> impl Iterator<Item = usize> {
        self.tensors.iter().flat_map(|tensor| tensor.dims.iter().copied())
    }

    /// These samples, of which there is one at least, as one batch.
    pub(super) fn batch<'s>(samples: &[&'s TrialSample]) -> Vec<BatchInput<'s>> {
        let input = |(at, TrialTensor { dtype, dims, .. }): (usize, &TrialTensor)| BatchInput {
            dtype: *dtype,
            dims: [&[samples.len()], &dims[..]].concat(),
            parts: samples.iter().map(|sample| &sample.tensors[at].data[..]).collect(),
        };
        samples.first().map_or_else(Vec::new, |first| first.tensors.iter().enumerate().map(input).collect())
    }
}

/// The bytes of a zero.
pub(super) fn zero(dtype: DType) -> Vec<u8> {
    vec![0; dtype.size()]
}

/// The bytes of a one.
pub(super) fn one(dtype: DType) -> Vec<u8> {
    match dtype {
        DType::F16 => f16::ONE.to_le_bytes().to_vec(),
        DType::Bf16 => bf16::ONE.to_le_bytes().to_vec(),
        DType::F32 => 1f32.to_le_bytes().to_vec(),
        DType::F64 => 1f64.to_le_bytes().to_vec(),
        _ => 1u64.to_le_bytes()[..dtype.size()].to_vec(),
    }
}

impl Style {
    fn write(self, dtype: DType, number: usize, random: u64, data: &mut Vec<u8>) {
        let fraction = || {
            // 53 random bits are all that a fraction has.
            let share = (random >> 11) as f64 / (1u64 << 53) as f64;
            self.scale
                * match number {
                    0 => share,
                    1 => 8.0 * share - 4.0,
                    _ => share / 8.0,
                }
        };
        match dtype {
            DType::F16 => data.extend(f16::from_f64(fraction()).to_le_bytes()),
            DType::Bf16 => data.extend(bf16::from_f64(fraction()).to_le_bytes()),
            DType::F32 => data.extend((fraction() as f32).to_le_bytes()),
            DType::F64 => data.extend(fraction().to_le_bytes()),
            DType::Bool => data.push((random % 2) as u8),
            _ => {
                let (least, most) = self.whole;
                let most = if dtype.size() == 1 && least == 0 { MOST_OF_BYTES } else { most };
                let value = least + (random >> 1) as i64 % (most - least + 1);
                data.extend_from_slice(&value.to_le_bytes()[..dtype.size()]);
            }
        }
    }
}
