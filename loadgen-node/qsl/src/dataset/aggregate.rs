//! Aggregation: items of a dataset that lie side by side become one sample (section 9.3 of the rules, for DLRM: the
//! pairs of a user and an item that are ranked together).
//!
//! How many items each sample has is drawn before anything is loaded, and written down as a trace: a line
//! `FIRST, END, COUNT` for each sample, END being the first item of the next one.

use std::fmt::{self, Write as _};
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use bytes::BytesMut;
use lon_proto::files::{self, Limit};
use lon_proto::sample::{DType, Dims, Tensor};
use rand_mt::Mt;

use super::error::{DatasetError, content, unreadable};
use super::opened::Opened;
use super::reader::{ReadError, Reader};
use crate::accuracy::{Truth, Truths};
use crate::files::sums::SumError;

/// The seed of the draws: the one that the reference implementation gives NumPy unless told otherwise.
const SEED: u32 = 123;

/// The number of items of a dataset in each sample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Aggregate {
    /// So many; the last sample has what is left.
    Fixed(NonZeroU32),
    /// From the first number to the second, each as likely as the others.
    Uniform(NonZeroU32, NonZeroU32),
    /// Drawn from the quantiles in a file by the inverse transform: one line of whole numbers with commas between them,
    /// each as likely as the others.
    Quantiles(PathBuf),
    /// As a trace says.
    Trace(PathBuf),
}

/// The error for a text that says no [`Aggregate`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is none of fixed=COUNT, uniform=LEAST..MOST, quantile=FILE and trace=FILE (counts from 1)")]
pub struct UnknownAggregate(String);

impl FromStr for Aggregate {
    type Err = UnknownAggregate;

    fn from_str(text: &str) -> Result<Aggregate, UnknownAggregate> {
        let unknown = || UnknownAggregate(text.to_owned());
        let (kind, value) = text.split_once('=').ok_or_else(unknown)?;
        let count = |text: &str| text.trim().parse().map_err(|_| unknown());
        match kind {
            "fixed" => Ok(Aggregate::Fixed(count(value)?)),
            "uniform" => {
                let (least, most) = value.split_once("..").ok_or_else(unknown)?;
                let (least, most) = (count(least)?, count(most)?);
                if least <= most { Ok(Aggregate::Uniform(least, most)) } else { Err(unknown()) }
            }
            "quantile" if !value.is_empty() => Ok(Aggregate::Quantiles(value.into())),
            "trace" if !value.is_empty() => Ok(Aggregate::Trace(value.into())),
            _ => Err(unknown()),
        }
    }
}

impl fmt::Display for Aggregate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Aggregate::Fixed(count) => write!(f, "fixed={count}"),
            Aggregate::Uniform(least, most) => write!(f, "uniform={least}..{most}"),
            Aggregate::Quantiles(file) => write!(f, "quantile={}", file.display()),
            Aggregate::Trace(file) => write!(f, "trace={}", file.display()),
        }
    }
}

impl Aggregate {
    /// Makes samples of the items of a dataset.
    ///
    /// # Errors
    /// The file of quantiles or the trace cannot be read, or does not fit the dataset.
    pub(crate) fn apply(&self, items: Opened) -> Result<Opened, DatasetError> {
        let ends = self.ends(items.reader.count())?;
        let note = format!("{} items became {} samples ({self})", items.reader.count(), ends.len());
        let name = format!("{} ({self})", items.name);
        let truths = items.truths.as_ref().and_then(|truths| gathered(truths, &ends));
        let reader = Box::new(Aggregated { items: items.reader, ends });
        Ok(Opened { name, reader, truths, note: Some(note), ..items })
    }

    /// The first item after each sample.
    fn ends(&self, items: usize) -> Result<Vec<u32>, DatasetError> {
        // A dataset has at most as many items as 32 bits count.
        let items = u32::try_from(items).unwrap_or(u32::MAX);
        let mut random = Mt::new(SEED);
        match self {
            Aggregate::Fixed(count) => Ok(until(items, || count.get())),
            Aggregate::Uniform(least, most) => {
                Ok(until(items, || least.get() + below(&mut random, most.get() - least.get())))
            }
            Aggregate::Quantiles(path) => {
                let quantiles = quantiles(path)?;
                let last = quantiles.len() as u32 - 1;
                Ok(until(items, || quantiles[below(&mut random, last) as usize]))
            }
            Aggregate::Trace(path) => {
                let text = files::text(path, Limit::LOG).map_err(unreadable(path))?;
                read_trace(&text, items).map_err(|reason| content(path, reason))
            }
        }
    }
}

/// Gathers the labels of the items of each sample; none when an item has no label.
fn gathered(truths: &Truths, ends: &[u32]) -> Option<Truths> {
    let Truths::Samples(truths) = truths else { return None };
    let label = |truth: &Option<Truth>| match truth {
        Some(Truth::Class(label)) => Some(*label),
        _ => None,
    };
    let labels: Vec<i64> = truths.iter().map(label).collect::<Option<_>>()?;
    let starts = std::iter::once(&0).chain(ends);
    let of_sample = |(start, end): (&u32, &u32)| Some(labels.get(*start as usize..*end as usize)?.to_vec());
    let samples = starts.zip(ends).map(|pair| of_sample(pair).map(|labels| Some(Truth::Classes(labels))));
    samples.collect::<Option<_>>().map(Truths::Samples)
}

/// Draws counts until all items have a sample. The last sample has what is left.
fn until(items: u32, mut draw: impl FnMut() -> u32) -> Vec<u32> {
    let next = |end: &u32| (*end < items).then(|| end.saturating_add(draw()).min(items));
    std::iter::successors(Some(0), next).skip(1).collect()
}

/// Draws a number from 0 to `most`, each as likely as the others, in the way of NumPy's `RandomState.randint`: bits
/// are masked, and what is too large is drawn again.
fn below(random: &mut Mt, most: u32) -> u32 {
    if most == 0 {
        return 0;
    }
    let mask = u32::MAX >> most.leading_zeros();
    loop {
        let number = random.next_u32() & mask;
        if number <= most {
            return number;
        }
    }
}

/// Reads the first line of a file of quantiles: never empty, and no number is 0.
fn quantiles(path: &Path) -> Result<Vec<u32>, DatasetError> {
    let text = files::text(path, Limit::LOG).map_err(unreadable(path))?;
    let line = text.lines().next().unwrap_or_default();
    let number = |number: &str| {
        let parsed = number.trim().parse::<NonZeroU32>().map(NonZeroU32::get);
        parsed
            .map_err(|_| content(path, format!("'{number}' is no quantile: whole numbers from 1, with commas between")))
    };
    line.trim().trim_end_matches(',').split(',').map(number).collect()
}

/// Reads a trace, which must have every item once and in order. The error is a clause that names the line.
fn read_trace(text: &str, items: u32) -> Result<Vec<u32>, String> {
    let mut ends: Vec<u32> = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let numbers: Option<Vec<u32>> = line.split(',').map(|number| number.trim().parse().ok()).collect();
        let Some([first, end, count]) = numbers.as_deref() else {
            return Err(format!("line {number}: '{line}' is not FIRST, END, COUNT"));
        };
        let due = ends.last().copied().unwrap_or(0);
        if *first != due || end.checked_sub(*first) != Some(*count) || *count == 0 {
            return Err(format!(
                "line {number}: '{line}' does not go on at item {due}, or its count is not END - FIRST"
            ));
        }
        ends.push(*end);
    }
    match ends.last() {
        Some(last) if *last == items => Ok(ends),
        last => Err(format!("it ends at item {}, the dataset has {items}", last.copied().unwrap_or(0))),
    }
}

/// Samples of several items each.
#[derive(Debug)]
struct Aggregated {
    items: Box<dyn Reader>,
    /// The first item after each sample; rising.
    ends: Vec<u32>,
}

impl Aggregated {
    fn range(&self, index: usize) -> std::ops::Range<usize> {
        let first = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        first as usize..self.ends[index] as usize
    }
}

impl Reader for Aggregated {
    fn count(&self) -> usize {
        self.ends.len()
    }

    fn tensors(&self, index: usize) -> Result<Vec<Tensor>, ReadError> {
        let range = self.range(index);
        let mut joined: Vec<Joined> = Vec::new();
        for item in range.clone() {
            let tensors = self.items.tensors(item)?;
            if item == range.start {
                joined = tensors.iter().map(|tensor| Joined::new(tensor, range.len())).collect();
            }
            let is_same = tensors.len() == joined.len() && tensors.iter().zip(&joined).all(|(one, all)| all.takes(one));
            if !is_same {
                return Err(ReadError::Uneven { item, first: range.start });
            }
            tensors.iter().zip(&mut joined).for_each(|(one, all)| all.data.extend_from_slice(one.data()));
        }
        joined.into_iter().map(|all| all.tensor(range.len())).collect()
    }

    fn is_read_when_needed(&self) -> bool {
        self.items.is_read_when_needed()
    }

    fn listed_files(&self) -> usize {
        self.items.listed_files()
    }

    fn sums_sha256(&self) -> Option<&str> {
        self.items.sums_sha256()
    }

    fn verify(&self, file: usize) -> Result<(), SumError> {
        self.items.verify(file)
    }

    fn aggregation(&self) -> Option<String> {
        let mut trace = String::new();
        for index in 0..self.ends.len() {
            let range = self.range(index);
            // Writing to a String cannot fail.
            let _ = writeln!(trace, "{}, {}, {}", range.start, range.end, range.len());
        }
        Some(trace)
    }
}

/// One tensor of a sample, item after item.
struct Joined {
    dtype: DType,
    dims: Dims,
    data: BytesMut,
}

impl Joined {
    fn new(first: &Tensor, items: usize) -> Joined {
        let data = BytesMut::with_capacity(first.data().len() * items);
        Joined { dtype: first.dtype(), dims: *first.dims(), data }
    }

    fn takes(&self, one: &Tensor) -> bool {
        (self.dtype, self.dims) == (one.dtype(), *one.dims())
    }

    fn tensor(self, items: usize) -> Result<Tensor, ReadError> {
        // As many as a trace counts in 32 bits.
        let dims: Vec<u32> = std::iter::once(items as u32).chain(self.dims.iter().copied()).collect();
        Ok(Tensor::new(self.dtype, &dims, self.data.freeze())?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::{Dataset, OpenOptions};

    fn aggregate(text: &str) -> Aggregate {
        text.parse().unwrap()
    }

    fn file(text: &str) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        file
    }

    #[test]
    fn labels_of_items_are_gathered() {
        let truths = Truths::Samples([3, 4, 5].map(|label| Some(Truth::Class(label))).to_vec());
        let gathered_until = |ends: &[u32]| gathered(&truths, ends).map(|truths| truths.samples().to_vec());
        let classes = |labels: &[i64]| Some(Truth::Classes(labels.to_vec()));
        assert_eq!(gathered_until(&[2, 3]), Some(vec![classes(&[3, 4]), classes(&[5])]));
        assert_eq!(gathered_until(&[2, 4]), None);
        assert!(gathered(&Truths::Samples(vec![None]), &[1]).is_none());
    }

    #[test]
    fn texts_are_read_and_written() {
        for text in ["fixed=270", "uniform=100..700", "quantile=dist_quantile.txt", "trace=t.txt"] {
            assert_eq!(aggregate(text).to_string(), text);
        }
        for text in ["", "fixed", "fixed=0", "uniform=5..4", "uniform=5", "quantile=", "every=3"] {
            let error = text.parse::<Aggregate>().unwrap_err().to_string();
            assert!(error.contains("uniform=LEAST..MOST"), "{error}");
        }
    }

    #[test]
    fn every_item_has_one_sample() {
        assert_eq!(aggregate("fixed=4").ends(10).unwrap(), [4, 8, 10]);
        let uniform = aggregate("uniform=2..5").ends(1000).unwrap();
        let counts: Vec<u32> = uniform.windows(2).map(|ends| ends[1] - ends[0]).collect();
        assert_eq!(uniform.last(), Some(&1000));
        let (last, others) = counts.split_last().unwrap();
        assert!((1..=5).contains(last) && others.iter().all(|count| (2..=5).contains(count)), "{counts:?}");
        assert!((2..=5).all(|count| counts.contains(&count)), "{counts:?}");
    }

    /// The numbers are those of `numpy.random.seed(123); numpy.random.randint(0, 20, 12)`.
    #[test]
    fn quantiles_are_drawn_as_the_reference_draws_them() {
        let mut random = Mt::new(SEED);
        let numbers: Vec<u32> = (0..12).map(|_| below(&mut random, 19)).collect();
        assert_eq!(numbers, [13, 2, 2, 6, 17, 19, 10, 1, 0, 17, 15, 9]);
        let quantiles = file("100, 100, 200, 700\n");
        let ends = aggregate(&format!("quantile={}", quantiles.path().display())).ends(100_000).unwrap();
        let counts: Vec<u32> = ends.windows(2).map(|ends| ends[1] - ends[0]).collect();
        let share = counts.iter().filter(|count| **count == 100).count() as f64 / counts.len() as f64;
        assert!((0.42..0.58).contains(&share), "{share}");
        for text in ["", "1, 0", "a"] {
            let path = file(text);
            let wrong = aggregate(&format!("quantile={}", path.path().display())).ends(10);
            assert!(wrong.unwrap_err().to_string().contains("no quantile"), "{text}");
        }
    }

    #[test]
    fn a_trace_gives_the_same_samples_and_is_checked() {
        let options = OpenOptions { aggregate: Some(aggregate("uniform=1..4")), ..OpenOptions::default() };
        let dataset = Dataset::open("synthetic:f32[3]+i64[]x50", &options).unwrap();
        let trace = dataset.aggregation().unwrap();
        let path = file(&trace);
        let from = format!("trace={}", path.path().display());
        let options = OpenOptions { aggregate: Some(aggregate(&from)), ..OpenOptions::default() };
        let again = Dataset::open("synthetic:f32[3]+i64[]x50", &options).unwrap();
        assert_eq!(again.aggregation(), Some(trace));
        assert_eq!(again.raw(1).unwrap(), dataset.raw(1).unwrap());
        for (text, part) in [
            ("0, 2, 2\n3, 5, 2\n", "line 2: '3, 5, 2' does not go on at item 2"),
            ("0, 2, 3\n", "line 1"),
            ("0, 2\n", "line 1: '0, 2' is not FIRST, END, COUNT"),
            ("0, 3, 3\n", "it ends at item 3, the dataset has 5"),
            ("", "it ends at item 0"),
        ] {
            let wrong = read_trace(text, 5).unwrap_err();
            assert!(wrong.contains(part), "{wrong}");
        }
    }

    #[test]
    fn a_sample_has_its_items_one_after_the_other() {
        let items = Dataset::open("synthetic:f32[3]+i64[]x5", &OpenOptions::default()).unwrap();
        let options = OpenOptions { aggregate: Some(aggregate("fixed=2")), ..OpenOptions::default() };
        let samples = Dataset::open("synthetic:f32[3]+i64[]x5", &options).unwrap();
        assert_eq!(
            (samples.total_count(), samples.aggregation().unwrap().as_str()),
            (3, "0, 2, 2\n2, 4, 2\n4, 5, 1\n")
        );
        let tensors = |dataset: &Dataset, index| lon_proto::sample::decode(dataset.raw(index).unwrap()).unwrap();
        let shapes: Vec<String> = tensors(&samples, 1).iter().map(Tensor::to_string).collect();
        assert_eq!(shapes, ["f32[2,3]", "i64[2]"]);
        let parts = [2, 3].map(|index| tensors(&items, index)[0].data().clone());
        assert_eq!(tensors(&samples, 1)[0].data()[..], parts.concat());
        assert_eq!(samples.name(), "synthetic:f32[3]+i64[]x5 (fixed=2)");
    }
}
