//! The layout of start and end logits: a reading model answers with two numbers for each place of a window.

use std::fmt;

use lon_proto::sample::{DType, TensorSpec};

use super::elements::{self, Elements};

/// The layout of start and end logits in an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    dtype: DType,
    order: Order,
    /// The number of places, when it is fixed.
    places: Option<u32>,
}

/// The order of the logits in an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    /// All start logits, then all end logits.
    StartEnd,
    /// All end logits, then all start logits.
    EndStart,
    /// Start and end logit of each place in turn, as the SUTs of MLPerf's reference implementation log them.
    Pairs,
}

/// The logit of places that an answer does not have, as in the reference implementation.
const NOTHING: f64 = -10_000.0;

/// The logits of a window by place, as many as the window has places.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Logits {
    pub(super) start: Vec<f64>,
    pub(super) end: Vec<f64>,
}

impl Layout {
    /// The layout when no node gives its outputs: two outputs of f32, one after the other. The length of an answer does
    /// not tell it from one of twice as many f16, or from one in pairs.
    pub(super) const UNTOLD: Layout = Layout { dtype: DType::F32, order: Order::StartEnd, places: None };

    /// Returns the layout of a model's outputs; none when they are not start and end logits.
    pub(super) fn of(outputs: &[TensorSpec]) -> Option<Layout> {
        match outputs {
            [both] => {
                let (order, places) = match *both.own_dims() {
                    [places, Some(2)] => (Order::Pairs, places),
                    [Some(2), places] => (Order::StartEnd, places),
                    _ => return None,
                };
                Layout { dtype: both.dtype, order, places }.checked()
            }
            [first, second] if first.dtype == second.dtype => {
                let is = |output: &TensorSpec, part: &str| output.name.to_ascii_lowercase().contains(part);
                let is_swapped = is(first, "end") && !is(first, "start") && is(second, "start");
                let order = if is_swapped { Order::EndStart } else { Order::StartEnd };
                match (first.own_dims(), second.own_dims()) {
                    ([one], [other]) if one == other => Layout { dtype: first.dtype, order, places: *one }.checked(),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// Returns the layout when its type is one that is read.
    fn checked(self) -> Option<Layout> {
        elements::kind(self.dtype).map(|_| self)
    }

    /// Reads the logits of an answer for a window of `places` places, of which `least` are not padding. None when the
    /// answer does not have this layout.
    pub(super) fn read(self, answer: &[u8], least: usize, places: usize) -> Option<Logits> {
        let values: Vec<f64> = Elements::new(self.dtype, answer)?.floats().collect();
        let count = values.len() / 2;
        let is_as_declared = self.places.is_none_or(|declared| declared as usize == count);
        if !values.len().is_multiple_of(2) || count < least.max(1) || count > places || !is_as_declared {
            return None;
        }
        let padded = |values: &mut dyn Iterator<Item = f64>| -> Vec<f64> {
            values.chain(std::iter::repeat(NOTHING)).take(places).collect()
        };
        let (first, second) = values.split_at(count);
        let (mut first, mut second) = (first.iter().copied(), second.iter().copied());
        Some(match self.order {
            Order::StartEnd => Logits { start: padded(&mut first), end: padded(&mut second) },
            Order::EndStart => Logits { start: padded(&mut second), end: padded(&mut first) },
            Order::Pairs => Logits {
                start: padded(&mut values.iter().copied().step_by(2)),
                end: padded(&mut values.iter().copied().skip(1).step_by(2)),
            },
        })
    }
}

/// Shows pairs as `f32[384,2]`, and one after the other as `f32[2,?]`.
impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let places = self.places.map_or_else(|| "?".to_owned(), |places| places.to_string());
        match self.order {
            Order::Pairs => write!(f, "{}[{places},2]", self.dtype),
            Order::StartEnd | Order::EndStart => write!(f, "{}[2,{places}]", self.dtype),
        }
    }
}

#[cfg(test)]
mod tests {
    use half::f16;

    use super::*;

    fn spec(name: &str, dtype: DType, dims: &[Option<u32>]) -> TensorSpec {
        TensorSpec::new(name, dtype, dims.to_vec())
    }

    fn bytes(values: &[f32]) -> Vec<u8> {
        values.iter().flat_map(|value| value.to_le_bytes()).collect()
    }

    #[test]
    fn outputs_say_how_logits_lie() {
        let (n, l) = (None, Some(3));
        let two = |names: [&str; 2]| Layout::of(&names.map(|name| spec(name, DType::F32, &[n, l]))).unwrap();
        let one = |dims: &[Option<u32>]| Layout::of(&[spec("logits", DType::F32, dims)]);
        let expected = Some(Logits { start: vec![1.0, 2.0, 3.0, NOTHING], end: vec![4.0, 5.0, 6.0, NOTHING] });
        let (rows, pairs) = (bytes(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), bytes(&[1.0, 4.0, 2.0, 5.0, 3.0, 6.0]));
        for layout in [
            two(["output_start_logits", "output_end_logits"]),
            two(["a", "b"]),
            one(&[n, Some(2), l]).unwrap(),
            one(&[Some(1), Some(2), None]).unwrap(),
            Layout::UNTOLD,
        ] {
            assert_eq!(layout.read(&rows, 1, 4), expected, "{layout}");
        }
        for layout in [one(&[n, l, Some(2)]).unwrap(), one(&[n, n, Some(2)]).unwrap()] {
            assert_eq!(layout.read(&pairs, 1, 4), expected, "{layout}");
        }
        let swapped = two(["End", "START"]).read(&rows, 1, 3).unwrap();
        assert_eq!((swapped.start, swapped.end), (vec![4.0, 5.0, 6.0], vec![1.0, 2.0, 3.0]));
        let halves: Vec<u8> = [1.0, -2.5].iter().flat_map(|value| f16::from_f32(*value).to_le_bytes()).collect();
        let half = Layout::of(&[spec("logits", DType::F16, &[n, n, Some(2)])]).unwrap();
        assert_eq!(half.read(&halves, 1, 1), Some(Logits { start: vec![1.0], end: vec![-2.5] }));
        let quantised = Layout::of(&[spec("logits", DType::I8, &[n, Some(1), Some(2)])]).unwrap();
        assert_eq!(quantised.read(&[3, 0xfe], 1, 1), Some(Logits { start: vec![3.0], end: vec![-2.0] }));
    }

    #[test]
    fn other_outputs_are_no_logits() {
        let (n, l) = (None, Some(3));
        let start = spec("start", DType::F32, &[n, l]);
        for outputs in [
            vec![],
            vec![start.clone()],
            vec![start.clone(), spec("end", DType::F16, &[n, l])],
            vec![start.clone(), spec("end", DType::F32, &[n, Some(4)])],
            vec![spec("ids", DType::F8E4M3, &[n, l, Some(2)])],
            vec![start.clone(), start.clone(), start],
        ] {
            assert_eq!(Layout::of(&outputs), None, "{outputs:?}");
        }
    }

    #[test]
    fn answers_of_other_lengths_are_none() {
        let declared = Layout { places: Some(2), ..Layout::UNTOLD };
        for (layout, values, is_one) in [
            (Layout::UNTOLD, 2, true),
            (Layout::UNTOLD, 4, true),
            (Layout::UNTOLD, 3, false),
            (Layout::UNTOLD, 0, false),
            (Layout::UNTOLD, 8, false),
            (declared, 4, true),
            (declared, 2, false),
        ] {
            assert_eq!(layout.read(&bytes(&vec![0.5; values]), 1, 3).is_some(), is_one, "{layout} {values}");
        }
        assert_eq!(Layout::UNTOLD.read(&[0; 9], 1, 3), None);
        // An answer may leave out padding, and nothing else.
        let places = |least| Layout::UNTOLD.read(&bytes(&[0.5; 4]), least, 3).is_some();
        assert_eq!([places(2), places(3)], [true, false]);
    }
}
