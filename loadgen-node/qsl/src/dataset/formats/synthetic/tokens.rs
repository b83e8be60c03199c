//! Synthetic texts as token ids: a few words make up most of a text, most texts are short, the rest of a row is zeros.
//!
//! Ids follow Zipf's law with exponent 1 over a vocabulary of BERT's size. There the ordinary words stand roughly in
//! the order of their frequency, after 999 marks and unused ids.

use lon_proto::sample::{DType, Dims};

use super::random::Random;

/// The number of ids, including those that are not words.
const VOCABULARY: u32 = 30_522;
/// The id of the most frequent word.
const FIRST_WORD: u32 = 999;
/// The weight of the most frequent word. Weights are integers, so that every machine draws the same words.
const FIRST_WEIGHT: u64 = 1 << 40;
/// A row is this many times longer than the shortest text.
const SHORTEST: usize = 6;

/// Draws rows of token ids.
#[derive(Debug)]
pub(super) struct Tokens {
    row_len: usize,
    id_bytes: usize,
    /// For each word, the sum of its weight and the weights of all words before it.
    weights: Vec<u64>,
}

impl Tokens {
    /// Reads the dimensions: the last one is the length of a row, and every row has a text of its own.
    ///
    /// # Errors
    /// A text that says which types and dimensions tokens can have.
    pub(super) fn new(dtype: DType, dims: &Dims) -> Result<Tokens, String> {
        if !matches!(dtype, DType::I32 | DType::I64) {
            return Err(format!("tokens are tokens-i32 or tokens-i64, not {dtype}"));
        }
        let row_len = *dims.last().ok_or("tokens have one dimension at least")? as usize;
        let weights = (1..=u64::from(VOCABULARY - FIRST_WORD)).scan(0, |sum, rank| {
            *sum += FIRST_WEIGHT / rank;
            Some(*sum)
        });
        Ok(Tokens { row_len, id_bytes: dtype.size(), weights: weights.collect() })
    }

    /// Fills a sample with texts; `data` must be all zeros.
    pub(super) fn write(&self, random: &mut Random, data: &mut [u8]) {
        for row in data.chunks_exact_mut(self.row_len * self.id_bytes) {
            let len = self.len(random);
            for id in row.chunks_exact_mut(self.id_bytes).take(len) {
                // An id has 32 bits: in both types the bytes above are zeros.
                id[..4].copy_from_slice(&self.id(random).to_le_bytes());
            }
        }
    }

    /// Draws the length of a text: from a sixth of the row to the whole row, short ones more often.
    fn len(&self, random: &mut Random) -> usize {
        let shortest = (self.row_len / SHORTEST).max(1);
        let unit = random.unit();
        shortest + ((self.row_len - shortest + 1) as f32 * unit * unit) as usize
    }

    /// Draws the id of one word.
    fn id(&self, random: &mut Random) -> u32 {
        let total = self.weights.last().copied().unwrap_or(1);
        let weight = random.below(total);
        FIRST_WORD + self.weights.partition_point(|&sum| sum <= weight) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_follow_zipf_and_texts_are_padded() {
        let dims = Dims::new(&[500, 384]).unwrap();
        let tokens = Tokens::new(DType::I64, &dims).unwrap();
        let mut data = vec![0; 500 * 384 * 8];
        tokens.write(&mut Random::new(1), &mut data);
        let ids: Vec<i64> = data.as_chunks::<8>().0.iter().map(|id| i64::from_le_bytes(*id)).collect();
        let lens: Vec<usize> = ids.chunks(384).map(|row| row.iter().take_while(|&&id| id != 0).count()).collect();
        assert!(lens.iter().all(|len| (64..=384).contains(len)));
        assert!(lens.iter().any(|&len| len > 350) && lens.iter().filter(|&&len| len < 192).count() > 250);
        for (row, &len) in ids.chunks(384).zip(&lens) {
            assert!(row[len..].iter().all(|&id| id == 0) && row[..len].iter().all(|id| (999..30_522).contains(id)));
        }
        let word_count: usize = lens.iter().sum();
        let often = |rank: i64| ids.iter().filter(|&&id| id == 998 + rank).count() as f64 / word_count as f64;
        // 1 / rank, over the sum of that for all words: 10.87.
        for rank in [1, 2, 5] {
            let expected = 1.0 / 10.87 / rank as f64;
            assert!((often(rank) / expected - 1.0).abs() < 0.1, "{rank}: {} {expected}", often(rank));
        }
    }

    #[test]
    fn a_row_of_one_is_never_empty() {
        let tokens = Tokens::new(DType::I32, &Dims::new(&[1]).unwrap()).unwrap();
        for seed in 0..100 {
            let mut data = [0; 4];
            tokens.write(&mut Random::new(seed), &mut data);
            assert_ne!(data, [0; 4]);
        }
    }
}
