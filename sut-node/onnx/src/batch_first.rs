//! Outputs whose batch dimension stands behind others, as recurrent models have them: `[time, batch, classes]` becomes
//! `[batch, time, classes]`, so that an output has one row for each sample. The names of dimensions in the model file
//! say which one is the batch; [`proof`](super::proof) finds out that it is.

use std::sync::Arc;

use super::engine::{BatchInput, BatchOutput, Engine, Session, Sizes};
use super::footprint::Footprint;
use super::model::BatchAxes;

/// The engine whose outputs have the batch first.
pub(super) fn batch_first(axes: &BatchAxes, engine: Box<dyn Engine>) -> Box<dyn Engine> {
    match axes.0.iter().all(|&axis| axis == 0) {
        true => engine,
        false => Box::new(BatchFirst { engine, axes: axes.0.clone().into() }),
    }
}

struct BatchFirst {
    engine: Box<dyn Engine>,
    axes: Arc<[usize]>,
}

impl Engine for BatchFirst {
    fn name(&self) -> &str {
        self.engine.name()
    }

    fn hint(&self) -> &'static str {
        self.engine.hint()
    }

    fn threads(&self) -> usize {
        self.engine.threads()
    }

    fn footprint(&self) -> Arc<Footprint> {
        self.engine.footprint()
    }

    fn session(&self) -> Result<Box<dyn Session>, String> {
        Ok(Box::new(BatchFirstSession { session: self.engine.session()?, axes: Arc::clone(&self.axes) }))
    }
}

struct BatchFirstSession {
    session: Box<dyn Session>,
    axes: Arc<[usize]>,
}

impl Session for BatchFirstSession {
    fn sizes(&self) -> Sizes {
        self.session.sizes()
    }

    fn run(&mut self, inputs: &[BatchInput<'_>]) -> Result<Vec<BatchOutput>, String> {
        let mut outputs = self.session.run(inputs)?;
        outputs.iter_mut().zip(&*self.axes).for_each(|(output, &axis)| put_first(output, axis));
        Ok(outputs)
    }
}

/// Moves a dimension of a tensor before all others. A tensor with too few dimensions stays as it is: it is found where
/// outputs are held against the file.
fn put_first(output: &mut BatchOutput, axis: usize) {
    let Some(&count) = output.dims.get(axis) else { return };
    let before: usize = output.dims[..axis].iter().product();
    output.dims[..=axis].rotate_right(1);
    if before <= 1 || count <= 1 || output.data.is_empty() {
        return;
    }
    let part = output.data.len() / (before * count);
    let mut data = Vec::with_capacity(output.data.len());
    for number in 0..count {
        (0..before).for_each(|row| data.extend_from_slice(&output.data[(row * count + number) * part..][..part]));
    }
    output.data = data;
}

#[cfg(test)]
mod tests {
    use lon_sut::tensor::DType;

    use super::*;

    #[test]
    fn a_sample_has_its_values_in_one_piece() {
        let output =
            |dims: &[usize], data: &[u8]| BatchOutput { dtype: DType::U8, dims: dims.to_vec(), data: data.to_vec() };
        let moved = |dims: &[usize], axis: usize| {
            let mut output = output(dims, &(0..dims.iter().product::<usize>() as u8).collect::<Vec<_>>());
            put_first(&mut output, axis);
            (output.dims, output.data)
        };
        assert_eq!(moved(&[2, 3, 2], 1), (vec![3, 2, 2], vec![0, 1, 6, 7, 2, 3, 8, 9, 4, 5, 10, 11]));
        assert_eq!(moved(&[2, 3], 1), (vec![3, 2], vec![0, 3, 1, 4, 2, 5]));
        assert_eq!(moved(&[2, 1, 2], 2), (vec![2, 2, 1], vec![0, 2, 1, 3]));
        assert_eq!(moved(&[2, 1, 2], 1), (vec![1, 2, 2], vec![0, 1, 2, 3]));
        assert_eq!(moved(&[2, 0], 1), (vec![0, 2], vec![]));
        assert_eq!(moved(&[2], 1), (vec![2], vec![0, 1]));
    }
}
