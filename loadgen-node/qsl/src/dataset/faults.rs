//! Every fault of a dataset's files and samples, where the first is not enough.

use std::convert::Infallible;

use lon_proto::sample::Tensor;

use super::Dataset;
use crate::parallel;

/// The faults of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Faults {
    /// The first of them, [`MOST`] at most: a clause each.
    pub(crate) first: Vec<String>,
    /// The number of all.
    pub(crate) count: usize,
}

/// The most faults of one kind that are kept.
pub(crate) const MOST: usize = 100;

impl Dataset {
    /// Compares every file that can be compared with its sum.
    pub(crate) fn faults_of_files(&self, progress: &dyn Fn(usize, usize)) -> Faults {
        let reader = self.opened.reader.as_ref();
        let look = |file: usize| reader.verify(file).err().map(|error| error.to_string());
        faults(reader.listed_files(), &look, progress)
    }

    /// Reads every sample. `odd` says what is odd about its tensors.
    pub(crate) fn faults_of_samples(
        &self,
        odd: &(dyn Fn(&[Tensor]) -> Option<String> + Sync),
        progress: &dyn Fn(usize, usize),
    ) -> Faults {
        let reader = self.opened.reader.as_ref();
        let look = |index: usize| {
            // An error of a file names it already.
            let file = || reader.file_name(index).map(|file| format!(" ({file})")).unwrap_or_default();
            match reader.tensors(index) {
                Ok(tensors) => odd(&tensors).map(|what| format!("sample {index}{}: {what}", file())),
                Err(error) => Some(format!("sample {index}: {error}")),
            }
        };
        faults(reader.count(), &look, progress)
    }
}

fn faults(count: usize, look: &(dyn Fn(usize) -> Option<String> + Sync), progress: &dyn Fn(usize, usize)) -> Faults {
    let all: Vec<usize> = (0..count).collect();
    let (mut first, mut total, mut done) = (Vec::<(usize, String)>::new(), 0, 0);
    let collect = |some: Vec<(usize, Option<String>)>| {
        done += some.len();
        let before = first.len();
        first.extend(some.into_iter().filter_map(|(number, what)| Some((number, what?))));
        total += first.len() - before;
        first.sort_unstable();
        first.truncate(MOST);
        progress(done, count);
    };
    let Ok(()) = parallel::each(&all, || (), |(), number| Ok::<_, Infallible>(look(number)), collect);
    Faults { first: first.into_iter().map(|(_, what)| what).collect(), count: total }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn the_first_faults_are_kept_and_all_are_counted() {
        let last_progress = Cell::new((0, 0));
        let look = |number: usize| number.is_multiple_of(2).then(|| number.to_string());
        let outcome = faults(1000, &look, &|done, of| last_progress.set((done, of)));
        assert_eq!((outcome.count, outcome.first.len(), last_progress.get()), (500, MOST, (1000, 1000)));
        assert_eq!(outcome.first[..3], ["0", "2", "4"]);
        assert_eq!(outcome.first[99], "198");
        assert_eq!(faults(0, &look, &|_, _| {}), Faults::default());
    }
}
