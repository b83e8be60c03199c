//! Prints the tensor of an image, for a comparison with other programs (tests/peers/images_diff.py).
//!
//! Arguments: a SPEC, the number of pixels in a row, the number of rows. Standard input has red, green and blue of each
//! pixel, standard output gets the bytes of the tensor.

use std::io::{Read as _, Write as _};

use lon_image::{Pixels, Preprocess};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [spec, width, height] = &args[..] else { return Err("arguments: SPEC WIDTH HEIGHT".into()) };
    let mut rgb = Vec::new();
    std::io::stdin().lock().read_to_end(&mut rgb)?;
    let image = Pixels::new(width.parse()?, height.parse()?, rgb)?;
    let tensor = spec.parse::<Preprocess>()?.apply(&image)?;
    std::io::stdout().write_all(tensor.data())?;
    Ok(())
}
