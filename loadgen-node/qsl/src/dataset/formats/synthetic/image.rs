//! Synthetic images with the statistics that codecs and filters gain from: smooth areas, edges, and a sensor's noise.
//!
//! A few rectangles and discs, each of one colour, lie on a background. The light changes slowly over the image. Each
//! channel of each pixel has noise of its own. The light is drawn from a coarse random grid and filled in smoothly.
//! Only sums and products of f32 are used, so that every machine draws the same image.

use lon_proto::sample::{DType, Dims};

use super::random::Random;

/// The largest number of channels.
const MAX_CHANNELS: u32 = 4;
/// The number of cells of the grid of light along each side.
const CELLS: usize = 6;
/// The light differs from its mean by at most this many grey levels.
const LIGHT: f32 = 45.0;
/// A colour channel follows the light by at least this part of it.
const MIN_GAIN: f32 = 0.7;
/// The standard deviation of the noise in grey levels: from a good sensor in daylight to a fair one indoors.
const NOISE: (f32, f32) = (1.5, 2.8);
/// The smallest and the largest number of rectangles and discs.
const SHAPES: (u64, u64) = (5, 12);

/// The size of an image, and where the channels of a pixel lie.
#[derive(Debug)]
pub(super) struct Image {
    height: usize,
    width: usize,
    channels: usize,
    /// The number of elements from one pixel to the next.
    pixel_stride: usize,
    /// The number of elements from one channel of a pixel to the next.
    channel_stride: usize,
}

/// The colour of one thing in the image: the grey level of each channel.
type Colour = [f32; MAX_CHANNELS as usize];

impl Image {
    /// Reads the dimensions: channels last, or first when the first dimension can be channels and the last cannot.
    ///
    /// # Errors
    /// A text that says which types and dimensions an image can have.
    pub(super) fn new(dtype: DType, dims: &Dims) -> Result<Image, String> {
        if dtype != DType::U8 {
            return Err(format!("images are image-u8, not {dtype}"));
        }
        let size = |dim: u32| dim as usize;
        match dims[..] {
            [height, width, channels @ 1..=MAX_CHANNELS] => Ok(Image {
                height: size(height),
                width: size(width),
                channels: size(channels),
                pixel_stride: size(channels),
                channel_stride: 1,
            }),
            [channels @ 1..=MAX_CHANNELS, height, width] => Ok(Image {
                height: size(height),
                width: size(width),
                channels: size(channels),
                pixel_stride: 1,
                channel_stride: size(height) * size(width),
            }),
            _ => Err(format!(
                "an image is [height,width,channels] or [channels,height,width] with 1 to {MAX_CHANNELS} channels, \
                 not {dims}"
            )),
        }
    }

    /// Draws one image into `data`.
    pub(super) fn draw(&self, random: &mut Random, data: &mut [u8]) {
        let (things, colours) = self.things(random);
        let light = Light::new(random);
        let gains: Colour = std::array::from_fn(|_| random.between(MIN_GAIN, 1.0));
        let sigma = random.between(NOISE.0, NOISE.1);
        let mut noise = Noise::default();
        let across: Vec<(usize, f32)> = (0..self.width).map(|x| Light::place(x, self.width)).collect();
        for y in 0..self.height {
            let row = light.row(Light::place(y, self.height));
            for (x, &(cell, part)) in across.iter().enumerate() {
                let at = y * self.width + x;
                let lit = row[cell] + (row[cell + 1] - row[cell]) * part;
                let colour = &colours[usize::from(things[at])];
                for channel in 0..self.channels {
                    let level = colour[channel] + lit * gains[channel] + sigma * noise.next(random);
                    // The conversion saturates, as a sensor does.
                    data[at * self.pixel_stride + channel * self.channel_stride] = (level + 0.5) as u8;
                }
            }
        }
    }

    /// Returns the number of the thing at each pixel, and the colour of each thing. The background is thing 0.
    fn things(&self, random: &mut Random) -> (Vec<u8>, Vec<Colour>) {
        let mut things = vec![0; self.height * self.width];
        let mut colours = vec![colour(random)];
        for thing in 1..=(SHAPES.0 + random.below(SHAPES.1 - SHAPES.0 + 1)) as u8 {
            let is_disc = random.next().is_multiple_of(2);
            let half = |side: usize, unit: f32| (side as f32 * (0.03 + 0.22 * unit)) as i64 + 1;
            let middle = (random.below(self.height as u64) as i64, random.below(self.width as u64) as i64);
            let mut halves = (half(self.height, random.unit()), half(self.width, random.unit()));
            if is_disc {
                halves.0 = halves.0.min(halves.1);
                halves.1 = halves.0;
            }
            let rows = range(middle.0, halves.0, self.height);
            for y in rows {
                for x in range(middle.1, halves.1, self.width) {
                    let (down, right) = (y as i64 - middle.0, x as i64 - middle.1);
                    if !is_disc || down * down + right * right <= halves.0 * halves.0 {
                        things[y * self.width + x] = thing;
                    }
                }
            }
            colours.push(colour(random));
        }
        (things, colours)
    }
}

/// Returns a colour that light and noise rarely take out of range.
fn colour(random: &mut Random) -> Colour {
    let grey = random.between(60.0, 195.0);
    std::array::from_fn(|_| grey + random.between(-35.0, 35.0))
}

/// Returns the places within `half` of `middle` on a side of length `side`.
fn range(middle: i64, half: i64, side: usize) -> std::ops::Range<usize> {
    (middle - half).max(0) as usize..((middle + half + 1).min(side as i64)) as usize
}

/// The light at the corners of the grid's cells, in grey levels.
struct Light([[f32; CELLS + 1]; CELLS + 1]);

impl Light {
    fn new(random: &mut Random) -> Light {
        Light(std::array::from_fn(|_| std::array::from_fn(|_| random.between(-LIGHT, LIGHT))))
    }

    /// Returns the cell in which a place on a side lies, and how far the place is on its way to the next cell, from 0
    /// to 1. The way is a smooth step, so that the light has no visible edges.
    fn place(at: usize, side: usize) -> (usize, f32) {
        let place = at as f32 * CELLS as f32 / side as f32;
        let cell = (place as usize).min(CELLS - 1);
        let part = place - cell as f32;
        (cell, part * part * (3.0 - 2.0 * part))
    }

    /// Returns the light at the borders of the cells along one row of pixels.
    fn row(&self, (cell, part): (usize, f32)) -> [f32; CELLS + 1] {
        let (above, below) = (&self.0[cell], &self.0[cell + 1]);
        std::array::from_fn(|x| above[x] + (below[x] - above[x]) * part)
    }
}

/// Noise that is about normal with a standard deviation of 1: the sum of four random bytes. One random number of 64
/// bits is enough for two values.
#[derive(Default)]
struct Noise(Option<u32>);

impl Noise {
    /// The mean of the sum of four random bytes.
    const MEAN: f32 = 510.0;
    /// The standard deviation of that sum: the root of 4 (256^2 - 1) / 12.
    const DEVIATION: f32 = 147.8;

    fn next(&mut self, random: &mut Random) -> f32 {
        let bits = self.0.take().unwrap_or_else(|| {
            let both = random.next();
            self.0 = Some((both >> 32) as u32);
            both as u32
        });
        let pairs = (bits & 0x00ff_00ff) + ((bits >> 8) & 0x00ff_00ff);
        let sum = (pairs & 0xffff) + (pairs >> 16);
        (sum as f32 - Self::MEAN) / Self::DEVIATION
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_is_about_normal() {
        let (mut random, mut noise) = (Random::new(1), Noise::default());
        let values: Vec<f32> = (0..100_000).map(|_| noise.next(&mut random)).collect();
        let mean = values.iter().sum::<f32>() / values.len() as f32;
        let variance = values.iter().map(|value| value * value).sum::<f32>() / values.len() as f32;
        assert!(mean.abs() < 0.02 && (variance - 1.0).abs() < 0.03, "{mean} {variance}");
    }

    #[test]
    fn any_size_can_be_drawn() {
        for dims in [[1, 1, 1], [1, 300, 4], [300, 1, 2], [3, 1, 700], [4, 4, 4]] {
            let dims = Dims::new(&dims).unwrap();
            let mut data = vec![0; dims.elements().unwrap() as usize];
            Image::new(DType::U8, &dims).unwrap().draw(&mut Random::new(9), &mut data);
            assert!(data.iter().any(|&level| level > 0), "{dims}");
        }
    }

    #[test]
    fn images_are_mostly_smooth_and_have_edges() {
        let dims = Dims::new(&[224, 224, 1]).unwrap();
        let mut data = vec![0; 224 * 224];
        Image::new(DType::U8, &dims).unwrap().draw(&mut Random::new(3), &mut data);
        let steps: Vec<u8> = data.windows(2).map(|pair| pair[0].abs_diff(pair[1])).collect();
        let smooth = steps.iter().filter(|&&step| step <= 12).count() as f64 / steps.len() as f64;
        assert!(smooth > 0.95 && steps.iter().any(|&step| step > 20), "{smooth}");
    }
}
