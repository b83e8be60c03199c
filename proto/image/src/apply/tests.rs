use super::*;

fn pixels(width: u32, height: u32, rgb: impl Fn(u32, u32) -> [u8; 3]) -> Pixels {
    let all = (0..height).flat_map(|y| (0..width).map(move |x| (x, y)));
    Pixels::new(width, height, all.flat_map(|(x, y)| rgb(x, y)).collect()).unwrap()
}

fn applied(spec: &str, image: &Pixels) -> Tensor {
    spec.parse::<Preprocess>().unwrap().apply(image).unwrap()
}

fn floats(tensor: &Tensor) -> Vec<f32> {
    tensor.data().as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
}

/// Red counts columns, green rows, blue is 7.
fn grid(width: u32, height: u32) -> Pixels {
    pixels(width, height, |x, y| [x as u8, 10 * y as u8, 7])
}

#[test]
fn the_middle_is_cut_out_and_laid_out() {
    let image = grid(5, 4);
    let planes = applied("crop=2x3,dtype=u8", &image);
    assert_eq!(planes.to_string(), "u8[3,2,3]");
    assert_eq!(planes.data()[..], [1, 2, 3, 1, 2, 3, 10, 10, 10, 20, 20, 20, 7, 7, 7, 7, 7, 7]);
    let rows = applied("crop=2x3,dtype=u8,layout=nhwc", &image);
    assert_eq!(rows.to_string(), "u8[2,3,3]");
    assert_eq!(rows.data()[..], [1, 10, 7, 2, 10, 7, 3, 10, 7, 1, 20, 7, 2, 20, 7, 3, 20, 7]);
}

#[test]
fn values_are_scaled_shifted_and_divided() {
    let image = pixels(1, 1, |_, _| [255, 100, 0]);
    assert_eq!(floats(&applied("crop=1,mean=123.5/100/50,std=2/1/4", &image)), [65.75, 0.0, -12.5]);
    assert_eq!(floats(&applied("crop=1,scale=1/255", &image)), [1.0, 100.0 * (1.0 / 255.0), 0.0]);
    let halves = applied("crop=1,dtype=f16,mean=0.5", &image);
    let halves: Vec<f32> = halves.data().as_chunks::<2>().0.iter().map(|b| f16::from_le_bytes(*b).to_f32()).collect();
    assert_eq!(halves, [254.5, 99.5, -0.5]);
    let signed = applied("crop=1,dtype=i8,mean=120.4/100/150", &image);
    // The values are rounded, and cut off at -128 and 127.
    assert_eq!(signed.data()[..].iter().map(|&byte| byte as i8).collect::<Vec<_>>(), [127, 0, -128]);
}

#[test]
fn the_shorter_side_gets_the_size() {
    for (width, height, resized) in
        [(500, 375, (341, 256)), (375, 500, (256, 341)), (1, 1, (256, 256)), (256, 300, (256, 300))]
    {
        assert_eq!(Resize::Shorter(256).of(width, height), resized, "{width}x{height}");
    }
    assert_eq!(Resize::Exact { height: 3, width: 9 }.of(500, 375), (9, 3));
}

#[test]
fn a_letterbox_keeps_the_ratio_between_grey_bars() {
    for (width, height, inner) in
        [(500, 375, (640, 480)), (375, 500, (480, 640)), (640, 640, (640, 640)), (3, 1000, (2, 640))]
    {
        assert_eq!(Resize::Letterbox { height: 640, width: 640 }.of(width, height), inner, "{width}x{height}");
    }
    let white = pixels(4, 1, |_, _| [255; 3]);
    let tensor = applied("letterbox=4,dtype=u8,filter=opencv-linear", &white);
    let row = |grey: bool| [if grey { 114 } else { 255 }; 4];
    // Three rows are left for bars: one above, two below.
    assert_eq!(tensor.data()[..16], [row(true), row(false), row(true), row(true)].concat());
    let smaller = applied("letterbox=2x4,dtype=u8,filter=opencv-linear", &pixels(8, 4, |_, _| [9; 3]));
    assert_eq!(smaller.data()[..], [9; 24]);
    let unit = applied("letterbox=1,std=255", &white);
    assert_eq!(floats(&unit), [1.0; 3]);
}

#[test]
fn filters_weigh_as_they_say() {
    // One white column of four: 0, 0, 255, 0.
    let image = pixels(4, 4, |x, _| [if x == 2 { 255 } else { 0 }; 3]);
    let row = |spec: &str| applied(spec, &image).data()[..2].to_vec();
    assert_eq!(row("resize=2x2,filter=box,dtype=u8"), [0, 128]);
    // Triangles of half width 2 around 1 and 3: at the edges three columns count 0.75, 0.75 and 0.25 of 1.75.
    assert_eq!(row("resize=2x2,filter=bilinear,dtype=u8"), [36, 109]);
    assert_eq!(row("resize=2x2,filter=linear,dtype=u8"), [0, 128]);
    let larger = pixels(8, 8, |x, _| [if x == 4 { 255 } else { 0 }; 3]);
    // Of 8 columns two remain, and the white one is between neither's neighbours.
    assert_eq!(applied("resize=2x2,filter=linear,dtype=u8", &larger).data()[..2], [0, 0]);
    assert_eq!(applied("resize=2x2,filter=box,dtype=u8", &larger).data()[..2], [0, 64]);
}

#[test]
fn every_size_becomes_the_one_that_is_wanted() {
    let spec: Preprocess = "imagenet-caffe".parse().unwrap();
    for (width, height) in [(1, 1), (1, 9), (224, 224), (256, 256), (700, 256), (257, 255), (3, 1000)] {
        let image = pixels(width, height, |_, _| [200, 100, 50]);
        let tensor = spec.apply(&image).unwrap();
        assert_eq!(tensor.to_string(), "f32[3,224,224]", "{width}x{height}");
        let values = floats(&tensor);
        assert!(values[..224 * 224].iter().all(|&red| red == 200.0 - 123.68), "{width}x{height}");
    }
}

#[test]
fn what_cannot_be_done_is_said() {
    let crop: Preprocess = "crop=4".parse().unwrap();
    let error = crop.apply(&grid(5, 3)).unwrap_err().to_string();
    assert!(error.contains("5x3") && error.contains("4x4") && error.contains("resize="), "{error}");
    // A line of one pixel would become 256 wide and far too long.
    let line = pixels(1, 60_000, |_, _| [0; 3]);
    let shorter: Preprocess = "resize=2048,crop=224".parse().unwrap();
    assert_eq!(shorter.apply(&line).unwrap_err(), ImageError::Large { width: 2048, height: 2048 * 60_000 });
}
