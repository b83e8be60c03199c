//! Outputs of a run, held against the sizes that the model file says. Exporters write sizes that are not so, and every
//! answer would then be another one than the node has said.

use lon_sut::pipeline::post::Output;
use lon_sut::tensor::TensorSpec;

/// Holds the outputs of a run of `batch` samples against what the file says of them. Where samples do not share runs,
/// a free leading dimension may count rows of one sample.
///
/// # Errors
/// A sentence that names the first output that has another size.
pub(super) fn check(specs: &[TensorSpec], outputs: &[Output], batch: usize, shares_runs: bool) -> Result<(), String> {
    if outputs.len() != specs.len() {
        return Err(format!("{} outputs came, {} were due", outputs.len(), specs.len()));
    }
    let odd = specs.iter().zip(outputs).find(|(spec, output)| !fits(spec, &output.dims, batch, shares_runs));
    let Some((spec, output)) = odd else { return Ok(()) };
    let remedy = match spec.dims.first() {
        Some(None) if batch == 1 => ", or say with --batch-dim none that its leading dimension counts no samples",
        _ => "",
    };
    Err(format!(
        "its output is '{spec}' by the file, and came with shape {:?} for a batch of {batch}: correct the file (export \
         it again, or let onnx.shape_inference write its shapes){remedy}",
        output.dims
    ))
}

fn fits(spec: &TensorSpec, dims: &[usize], batch: usize, shares_runs: bool) -> bool {
    let own = spec.own_dims();
    let elements_each = own.iter().flatten().fold(1usize, |product, &dim| product.saturating_mul(dim as usize));
    let counts_rows = !shares_runs && spec.dims.first() == Some(&None);
    let elements = dims.iter().fold(1usize, |product, &dim| product.saturating_mul(dim));
    match own.contains(&None) || counts_rows {
        true => elements == 0 || elements_each > 0 && elements.is_multiple_of(elements_each),
        false => elements == elements_each.saturating_mul(batch),
    }
}

#[cfg(test)]
mod tests {
    use lon_sut::tensor::DType;

    use super::*;

    fn came(file: &[i64], dims: &[usize], batch: usize, shares_runs: bool) -> Result<(), String> {
        let spec = TensorSpec::new("y", DType::U8, file.iter().map(|&dim| u32::try_from(dim).ok()).collect());
        let data = vec![0; dims.iter().product()];
        check(&[spec], &[Output { dtype: DType::U8, dims: dims.to_vec(), data }], batch, shares_runs)
    }

    #[test]
    fn sizes_are_those_of_the_file() {
        for (file, dims, batch, shares_runs) in [
            (&[-1, 5][..], &[3, 5][..], 3, true),
            (&[-1, 5], &[7, 5], 1, false),
            (&[-1, 5], &[0, 5], 1, false),
            (&[1, 5], &[5], 1, false),
            (&[], &[], 1, false),
            (&[-1, -1, 4], &[2, 9, 4], 2, true),
        ] {
            assert_eq!(came(file, dims, batch, shares_runs), Ok(()), "{file:?} {dims:?}");
        }
        for (file, dims, batch, shares_runs) in [
            (&[-1, 5][..], &[3, 4][..], 3, true),
            (&[-1, 5], &[3, 4], 1, false),
            (&[1, 5], &[4], 1, false),
            (&[-1, -1, 4], &[2, 9, 3], 2, true),
        ] {
            let message = came(file, dims, batch, shares_runs).unwrap_err();
            assert!(message.contains("'y u8[") && message.contains(&format!("{dims:?}")), "{message}");
        }
        assert!(came(&[-1, 5], &[7, 5], 1, true).unwrap_err().contains("--batch-dim none"));
        assert_eq!(
            check(&[], &[Output { dtype: DType::U8, dims: vec![], data: vec![0] }], 1, true).unwrap_err(),
            "1 outputs came, 0 were due"
        );
    }
}
