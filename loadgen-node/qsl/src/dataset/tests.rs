use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use lon_proto::codec::Inflater;
use lon_proto::sample::{DType, Tensor, TensorSpec};

use super::reader::Reader;
use super::*;

fn dataset(codec: &str) -> Dataset {
    let mut dataset = Dataset::open("synthetic:tokens-i32[200]x700", &OpenOptions::default()).unwrap();
    dataset.set_codec(codec.parse().unwrap());
    dataset
}

fn loaded(codec: &str) -> Dataset {
    let mut dataset = dataset(codec);
    dataset.load(0..700).unwrap();
    dataset
}

#[test]
fn payloads_inflate_to_the_tensors() {
    let plain = loaded("none");
    assert_eq!(plain.loaded(), Loaded { samples: 700, tensor_bytes: 700 * 808, encoded_bytes: 700 * 808 });
    for codec in ["lz4", "zstd:2", "shuffle-zstd", "delta-zstd"] {
        let encoded = loaded(codec);
        let mut inflater = Inflater::new(encoded.codec(), 1 << 20);
        for index in 0..700 {
            assert_eq!(inflater.inflate(encoded.payload(index)).unwrap(), plain.payload(index), "{codec} {index}");
            assert_eq!(encoded.tensor_bytes(index), 808);
        }
        let sum: u64 = (0..700).map(|index| encoded.payload(index).len() as u64).sum();
        let all = encoded.loaded();
        assert_eq!((all.samples, all.tensor_bytes, all.encoded_bytes), (700, 700 * 808, sum), "{codec}");
        assert!(all.ratio() > 2.0, "{codec} {}", all.ratio());
        assert_eq!(encoded.sample_bytes().unwrap(), encoded.payload(0).len() as u64);
    }
}

#[test]
fn sets_are_loaded_let_go_and_loaded_again() {
    let all = loaded("zstd");
    let mut dataset = dataset("zstd");
    let reports = RefCell::new(Vec::new());
    let progress = |done: usize, of: usize| reports.borrow_mut().push((done, of));
    dataset.load_with([7, 699, 7, 0].into_iter(), &progress).unwrap();
    assert_eq!(reports.borrow().last(), Some(&(3, 3)));
    dataset.load_with([7, 1].into_iter(), &progress).unwrap();
    assert_eq!(reports.borrow().last(), Some(&(1, 1)));
    assert_eq!(dataset.loaded().samples, 4);
    for index in [0, 1, 7, 699] {
        assert_eq!(dataset.payload(index), all.payload(index));
    }
    assert_eq!((dataset.payload(2).len(), dataset.tensor_bytes(2)), (0, 0));
    dataset.unload();
    assert_eq!((dataset.loaded(), dataset.loaded().ratio()), (Loaded::default(), 1.0));
    assert!(dataset.payload(7).is_empty());
    dataset.load([2].into_iter()).unwrap();
    assert_eq!(dataset.payload(2), all.payload(2));
    dataset.set_codec(Codec::Lz4);
    assert!(dataset.payload(2).is_empty(), "of the codec before");
}

#[test]
fn an_index_beyond_the_end_is_named() {
    let error = dataset("lz4").load([0, 700].into_iter()).unwrap_err().to_string();
    assert!(error.contains("700 samples") && error.contains("no sample 700"), "{error}");
    assert!(dataset("lz4").load(std::iter::empty()).is_ok());
}

/// Samples of `u8[64]`, and how often one was read.
#[derive(Debug, Default)]
struct Counted(Arc<AtomicUsize>);

impl Reader for Counted {
    fn count(&self) -> usize {
        3
    }

    fn tensors(&self, _index: usize) -> Result<Vec<Tensor>, ReadError> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok(vec![Tensor::new(DType::U8, &[64], vec![7; 64].into())?])
    }
}

#[test]
fn the_first_sample_is_read_once_for_all_checks() {
    let reader = Counted::default();
    let reads = Arc::clone(&reader.0);
    let mut dataset = Dataset::from(Opened::new("counted", reader, None));
    let model = Signature::new(vec![TensorSpec::new("x", DType::U8, vec![None, Some(64)])]);
    dataset.name_inputs(&["x"]).unwrap();
    for codec in ["none", "lz4", "none", "lz4"] {
        dataset.set_codec(codec.parse().unwrap());
        for _node in 0..4 {
            dataset.fits_model(&model).unwrap();
            assert!(dataset.sample_bytes().unwrap() > 0);
        }
    }
    assert_eq!(dataset.first_sample().unwrap().shapes(), "u8[64]");
    dataset.set_kserve("m", &model, &[]).unwrap();
    assert_eq!(reads.load(Ordering::Relaxed), 1);
    dataset.load(0..3).unwrap();
    assert_eq!(reads.load(Ordering::Relaxed), 4);
}
