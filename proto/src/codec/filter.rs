//! Which bytes a filter works on: tensor by tensor in a sample, everything in an answer.

use std::ops::Range;

use super::kind::{Codec, Layout};
use super::{delta, shuffle};
use crate::sample::{DType, Span, Spans};

/// A tensor whose last dimension is at most this large has its channels there (NHWC). In other tensors the last
/// dimension is a row of one channel.
const MAX_CHANNELS: u32 = 4;

/// A filter regroups or subtracts bytes, so that a compressor finds more repetitions in them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Filter {
    /// First bytes of all elements, then all second bytes, and so on.
    Shuffle,
    /// Differences to the pixel before.
    Delta,
}

impl Filter {
    /// The filter of a codec; none for those without.
    pub(super) fn of(codec: Codec) -> Option<Filter> {
        match codec {
            Codec::None | Codec::Original | Codec::Zstd(_) | Codec::Lz4 => None,
            Codec::ShuffleZstd(_) => Some(Filter::Shuffle),
            Codec::DeltaZstd(_) => Some(Filter::Delta),
        }
    }

    /// `raw` filtered, in `out`, whose content is replaced.
    pub(super) fn apply(self, raw: &[u8], layout: Layout, out: &mut Vec<u8>) -> Result<(), String> {
        // Header, padding and tensors that the filter does not touch stay as they are.
        out.clear();
        out.extend_from_slice(raw);
        match self {
            Filter::Shuffle => each_shuffled(raw, layout, |range, size| {
                shuffle::shuffle(&raw[range.clone()], &mut out[range], size);
            }),
            Filter::Delta => {
                let mut parts = Parts::start(raw, layout)?;
                while let Some(part) = parts.next(raw)? {
                    if let Some(stride) = part.stride {
                        delta::delta(&raw[part.range.clone()], &mut out[part.range], stride);
                    }
                }
                Ok(())
            }
        }
    }

    /// Undoes [`Filter::Delta`] in place.
    pub(super) fn undo_delta(filtered: &mut [u8], layout: Layout) -> Result<(), String> {
        let mut parts = Parts::start(filtered, layout)?;
        while let Some(part) = parts.next(filtered)? {
            if let Some(stride) = part.stride {
                delta::undo(&mut filtered[part.range], stride);
            }
        }
        Ok(())
    }

    /// The bytes of which [`Filter::Shuffle`] made these.
    pub(super) fn undo_shuffle(filtered: &[u8], layout: Layout) -> Result<Vec<u8>, String> {
        let mut raw = Vec::new();
        let failure = |_| format!("no memory for {} bytes", filtered.len());
        raw.try_reserve_exact(filtered.len()).map_err(failure)?;
        raw.extend_from_slice(filtered);
        each_shuffled(filtered, layout, |range, size| {
            shuffle::undo(&filtered[range.clone()], &mut raw[range], size);
        })?;
        Ok(raw)
    }
}

/// Calls `work` for each range that is shuffled, with the bytes of one element.
fn each_shuffled(bytes: &[u8], layout: Layout, mut work: impl FnMut(Range<usize>, usize)) -> Result<(), String> {
    let mut parts = Parts::start(bytes, layout)?;
    while let Some(part) = parts.next(bytes)? {
        if part.element_bytes > 1 {
            work(part.range, part.element_bytes);
        }
    }
    Ok(())
}

/// A range of bytes whose elements are of one type.
struct Part {
    range: Range<usize>,
    element_bytes: usize,
    /// Bytes from one pixel to the next; none where differences are not taken.
    stride: Option<usize>,
}

impl Part {
    fn of(span: Span) -> Part {
        let stride = match (span.dtype, span.dims.last()) {
            (DType::U8, Some(&last @ 1..=MAX_CHANNELS)) => Some(last as usize),
            (DType::U8, Some(_)) => Some(1),
            _ => None,
        };
        Part { range: span.range, element_bytes: span.dtype.size(), stride }
    }
}

/// Goes through the parts of some bytes, which may be changed on the way.
enum Parts {
    Sample(Spans),
    Whole(Option<usize>),
}

impl Parts {
    fn start(bytes: &[u8], layout: Layout) -> Result<Parts, String> {
        match layout {
            Layout::Sample => Ok(Parts::Sample(Spans::start(bytes).map_err(|error| not_a_sample(&error))?)),
            Layout::Elements { element_bytes } => Ok(Parts::Whole(Some(usize::from(element_bytes)))),
        }
    }

    fn next(&mut self, bytes: &[u8]) -> Result<Option<Part>, String> {
        match self {
            Parts::Sample(spans) => Ok(spans.next(bytes).map_err(|error| not_a_sample(&error))?.map(Part::of)),
            Parts::Whole(element_bytes) => Ok(element_bytes.take().map(|element_bytes| Part {
                range: 0..bytes.len(),
                element_bytes,
                stride: (element_bytes == 1).then_some(1),
            })),
        }
    }
}

fn not_a_sample(error: &crate::sample::SampleError) -> String {
    format!("not a sample: {error}")
}
