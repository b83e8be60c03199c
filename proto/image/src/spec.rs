//! The SPEC: the text form of a [`Preprocess`], read and written.

use std::fmt;
use std::str::FromStr;

use lon_proto::sample::DType;

use crate::preprocess::{Filter, KEYS, Layout, PRESETS, Preprocess, Resize, SpecError, size};

/// Reads `KEY=VALUE[,KEY=VALUE...]`, in any order, each key once. The steps are done in this order:
///
/// | key | value | default |
/// |---|---|---|
/// | `resize` | `SIZE` of the shorter side; or `HEIGHTxWIDTH` without keeping the ratio | as it is |
/// | `letterbox` | `SIZE` or `HEIGHTxWIDTH`: as large as fits with the ratio kept, grey bars beside it | none |
/// | `filter` | `bilinear`, `box`, `linear` or `opencv-linear`: see [`Filter`] | `bilinear` |
/// | `crop` | `SIZE` or `HEIGHTxWIDTH`, of the middle | all of it |
/// | `scale` | a number or a fraction, `1/255`: value x scale, | 1 |
/// | `mean` | one number, or one for red, green and blue, `123.68/116.78/103.94`: minus the mean, | 0 |
/// | `std` | the same: divided by it | 1 |
/// | `dtype` | `u8`, `i8` (both rounded, and cut off at their ends), `f16`, `f32` | `f32` |
/// | `layout` | `nchw` or `nhwc` | `nchw` |
///
/// The size of the result must be known: `crop`, `letterbox`, or `resize=HEIGHTxWIDTH`. A name of [`PRESETS`] may come
/// first, and what follows it takes the place of its own: `imagenet-caffe,dtype=f16`.
impl FromStr for Preprocess {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Preprocess, SpecError> {
        let (first, tail) = text.split_once(',').map_or((text, None), |(first, tail)| (first, Some(tail)));
        let mut all = Preprocess {
            resize: None,
            filter: Filter::default(),
            crop: None,
            layout: Layout::default(),
            dtype: DType::F32,
            scale: 1.0,
            mean: [0.0; 3],
            std: [1.0; 3],
        };
        match PRESETS.iter().find(|(name, _)| *name == first) {
            Some((_, spec)) => {
                all.assign(spec)?;
                tail.map_or(Ok(()), |tail| all.assign(tail))?;
            }
            None => all.assign(text)?,
        }
        all.checked()
    }
}

impl Preprocess {
    fn assign(&mut self, text: &str) -> Result<(), SpecError> {
        let mut keys = Vec::new();
        for part in text.split(',') {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            let key = KEYS.into_iter().find(|own| *own == key && part.contains('='));
            let key = key.ok_or_else(|| SpecError::Unknown(part.to_owned()))?;
            if keys.contains(&key) {
                return Err(SpecError::Twice(key));
            }
            keys.push(key);
            if keys.contains(&"resize") && keys.contains(&"letterbox") {
                return Err(SpecError::TwoResizes);
            }
            let bad = |form| SpecError::Value { key, value: value.to_owned(), form };
            self.set(key, value).map_err(bad)?;
        }
        Ok(())
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), &'static str> {
        const SIZES: &str = "a size from 1 to 16384, or HEIGHTxWIDTH";
        match key {
            "resize" => {
                let resize = match value.contains('x') {
                    false => number(value).map(Resize::Shorter),
                    true => both(value).map(|(height, width)| Resize::Exact { height, width }),
                };
                self.resize = Some(resize.ok_or(SIZES)?);
            }
            "letterbox" => {
                let (height, width) = both(value).ok_or(SIZES)?;
                self.resize = Some(Resize::Letterbox { height, width });
            }
            "crop" => self.crop = Some(both(value).ok_or(SIZES)?),
            "filter" => self.filter = filter(value).ok_or("bilinear, box, linear or opencv-linear")?,
            "layout" => self.layout = layout(value).ok_or("nchw or nhwc")?,
            "dtype" => self.dtype = dtype(value).ok_or("u8, i8, f16 or f32")?,
            "scale" => self.scale = scale(value).ok_or("a number above 0, or a fraction such as 1/255")?,
            "mean" => self.mean = three(value).ok_or("one number, or three as in 123.68/116.78/103.94")?,
            _ => {
                let std = three(value).filter(|std| std.iter().all(|&std| std > 0.0));
                self.std = std.ok_or("one number above 0, or three as in 0.229/0.224/0.225")?;
            }
        }
        Ok(())
    }
}

/// The largest side that can be asked for, in pixels: more than any model takes.
const MAX_SIDE: u32 = 16_384;

fn number(text: &str) -> Option<u32> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|side| digits && (1..=MAX_SIDE).contains(side))
}

fn both(text: &str) -> Option<(u32, u32)> {
    match text.split_once('x') {
        None => number(text).map(|side| (side, side)),
        Some((height, width)) => number(height).zip(number(width)),
    }
}

fn filter(text: &str) -> Option<Filter> {
    [Filter::Bilinear, Filter::Box, Filter::Linear, Filter::OpenCvLinear]
        .into_iter()
        .find(|filter| filter.name() == text)
}

fn layout(text: &str) -> Option<Layout> {
    [Layout::Nchw, Layout::Nhwc].into_iter().find(|layout| layout.name() == text)
}

fn dtype(text: &str) -> Option<DType> {
    [DType::U8, DType::I8, DType::F16, DType::F32].into_iter().find(|dtype| dtype.name() == text)
}

fn finite(text: &str) -> Option<f32> {
    text.parse().ok().filter(|value: &f32| value.is_finite())
}

fn scale(text: &str) -> Option<f32> {
    let (above, below) = text.split_once('/').unwrap_or((text, "1"));
    let scale = finite(above)? / finite(below)?;
    (scale.is_finite() && scale > 0.0).then_some(scale)
}

fn three(text: &str) -> Option<[f32; 3]> {
    let values: Option<Vec<f32>> = text.split('/').map(finite).collect();
    match values?.as_slice() {
        [one] => Some([*one; 3]),
        [red, green, blue] => Some([*red, *green, *blue]),
        _ => None,
    }
}

/// Writes all steps that are not at their default; presets are written out. The text is parsed to the same steps again.
impl fmt::Display for Preprocess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(resize) = self.resize {
            let key = if matches!(resize, Resize::Letterbox { .. }) { "letterbox" } else { "resize" };
            write!(f, "{key}={resize},filter={},", self.filter.name())?;
        }
        if let Some(crop) = self.crop {
            write!(f, "crop={},", size(crop))?;
        }
        write!(f, "layout={},dtype={}", self.layout.name(), self.dtype)?;
        if self.scale != 1.0 {
            write!(f, ",scale={}", self.scale)?;
        }
        let each = |[red, green, blue]: [f32; 3]| format!("{red}/{green}/{blue}");
        if self.mean != [0.0; 3] {
            write!(f, ",mean={}", each(self.mean))?;
        }
        if self.std != [1.0; 3] {
            write!(f, ",std={}", each(self.std))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(text: &str) -> String {
        text.parse::<Preprocess>().unwrap_err().to_string()
    }

    #[test]
    fn what_is_shown_is_parsed_to_the_same_again() {
        let specs = PRESETS.map(|(name, _)| name).into_iter().chain([
            "crop=10",
            "resize=7x9,dtype=u8,layout=nhwc",
            "crop=2x3,resize=4,dtype=i8,mean=128",
            "imagenet-caffe,dtype=f16,layout=nhwc",
            "letterbox=32x64,filter=box",
            "letterbox-640,dtype=u8,std=1",
        ]);
        for text in specs {
            let spec: Preprocess = text.parse().unwrap();
            assert_eq!(spec.to_string().parse::<Preprocess>().unwrap(), spec, "{text}: {spec}");
        }
        let caffe: Preprocess = "imagenet-caffe".parse().unwrap();
        assert_eq!(caffe.output(), (DType::F32, [3, 224, 224]));
        assert_eq!(caffe.to_string(), "resize=256,filter=box,crop=224,layout=nchw,dtype=f32,mean=123.68/116.78/103.94");
        let mixed: Preprocess = "imagenet-caffe,dtype=f16,layout=nhwc,crop=200x100".parse().unwrap();
        assert_eq!(mixed.output(), (DType::F16, [200, 100, 3]));
    }

    #[test]
    fn what_makes_no_sense_is_named() {
        for (text, part) in [
            ("", "'' is not a step"),
            ("colour=1,crop=2", "'colour=1'"),
            ("crop", "'crop'"),
            ("crop=2,imagenet-caffe", "'imagenet-caffe'"),
            ("crop=2,crop=3", "crop= is given twice"),
            ("crop=0", "crop=0: a size"),
            ("crop=+5", "crop=+5"),
            ("crop=20000", "16384"),
            ("crop=2x", "crop=2x"),
            ("resize=256", "crop=SIZE"),
            ("dtype=f32", "the size of the result is open"),
            ("resize=224,crop=256", "crop=256 is larger than resize=224"),
            ("resize=10x20,crop=10x21", "crop=10x21 is larger than resize=10x20"),
            ("crop=2,dtype=f64", "u8, i8, f16 or f32"),
            ("crop=2,dtype=u8,mean=3", "values below zero"),
            ("crop=2,layout=chwn", "nchw or nhwc"),
            ("crop=2,filter=cubic", "bilinear, box, linear or opencv-linear"),
            ("letterbox=0", "letterbox=0: a size"),
            ("letterbox=4,resize=4", "cannot both be done"),
            ("letterbox=4,crop=5", "crop=5 is larger than"),
            ("crop=2,std=0", "std=0"),
            ("crop=2,mean=1/2", "mean=1/2"),
            ("crop=2,mean=nan", "mean=nan"),
            ("crop=2,scale=1/0", "scale=1/0"),
        ] {
            let fault = fault(text);
            assert!(fault.contains(part), "{text}: {fault}");
        }
        assert!(fault("what=ever").contains("imagenet-torch"));
    }
}
