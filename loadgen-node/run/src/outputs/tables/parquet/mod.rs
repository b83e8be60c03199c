//! Tables as Parquet: null where something is not known.
//!
//! A file has groups of rows; a group has one page for each column, which zstd compresses. The crate `parquet` would do
//! it with 13 further crates and more code than this program has; what is written here is a small part of the format,
//! and CI reads it with pyarrow.
//!
//! - `thrift`: the form in which a file describes itself; `word`: the numbers that stand for words of the format.

mod thrift;

use std::io::{self, Write};

use self::thrift::{Thrift, varint};

const MAGIC: &[u8] = b"PAR1";
/// Rows of a group: what is in memory at a time.
const GROUP: usize = 1 << 18;
/// Level of zstd: the quickest that is worth it.
const LEVEL: i32 = 1;

/// Words of the format: types, repetitions, encodings, codecs and kinds of pages are numbers there.
mod word {
    pub(super) const INT64: i32 = 2;
    pub(super) const DOUBLE: i32 = 5;
    pub(super) const BYTE_ARRAY: i32 = 6;
    pub(super) const REQUIRED: i32 = 0;
    pub(super) const OPTIONAL: i32 = 1;
    pub(super) const UTF8: i32 = 0;
    pub(super) const PLAIN: i32 = 0;
    pub(super) const RLE: i32 = 3;
    pub(super) const ZSTD: i32 = 6;
    pub(super) const DATA_PAGE: i32 = 0;
}

/// A value of a row, where there is one.
#[derive(Clone, Copy)]
pub enum Cell<'a> {
    /// A whole number of 64 bits.
    Number(Option<u64>),
    /// A number of double precision.
    Real(Option<f64>),
    /// A text in UTF-8.
    Text(Option<&'a str>),
}

/// Type of a column's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Whole numbers of 64 bits.
    Number,
    /// Numbers of double precision.
    Real,
    /// Texts in UTF-8.
    Text,
}

/// A column, with its values of the group that is being filled.
pub struct Column {
    name: String,
    kind: i32,
    is_optional: bool,
    /// The values that are there, one behind the other.
    values: Vec<u8>,
    /// A bit for each row: whether its value is there.
    is_there: Vec<u8>,
}

/// Where a column of a group is, and how long it is.
struct Chunk {
    at: u64,
    rows: usize,
    /// With its header, before zstd and after it.
    bytes: [u64; 2],
}

impl Column {
    /// A column in which values may be missing.
    pub fn new(name: &str, kind: Kind) -> Column {
        let kind = match kind {
            Kind::Number => word::INT64,
            Kind::Real => word::DOUBLE,
            Kind::Text => word::BYTE_ARRAY,
        };
        Column { name: name.to_owned(), kind, is_optional: true, values: Vec::new(), is_there: Vec::new() }
    }

    /// The same of values that are all there.
    pub fn always(name: &str, kind: Kind) -> Column {
        Column { is_optional: false, ..Column::new(name, kind) }
    }

    fn push(&mut self, row: usize, cell: Cell<'_>) {
        let is_there = match cell {
            Cell::Number(None) | Cell::Real(None) | Cell::Text(None) => false,
            Cell::Real(Some(number)) => {
                self.values.extend_from_slice(&number.to_le_bytes());
                true
            }
            Cell::Number(Some(number)) => {
                self.values.extend_from_slice(&i64::try_from(number).unwrap_or(i64::MAX).to_le_bytes());
                true
            }
            Cell::Text(Some(text)) => {
                self.values.extend_from_slice(&(text.len() as u32).to_le_bytes());
                self.values.extend_from_slice(text.as_bytes());
                true
            }
        };
        if row.is_multiple_of(8) {
            self.is_there.push(0);
        }
        if let Some(bits) = self.is_there.last_mut() {
            *bits |= u8::from(is_there) << (row % 8);
        }
    }

    /// Returns the content of the page: which values are there, as one run of bits, and the values.
    fn page(&self) -> Vec<u8> {
        let mut page = Vec::with_capacity(self.values.len() + self.is_there.len() + 16);
        if self.is_optional {
            let mut levels = Vec::with_capacity(self.is_there.len() + 8);
            varint((self.is_there.len() as u64) << 1 | 1, &mut levels);
            levels.extend_from_slice(&self.is_there);
            page.extend_from_slice(&(levels.len() as u32).to_le_bytes());
            page.extend_from_slice(&levels);
        }
        page.extend_from_slice(&self.values);
        page
    }

    fn schema(&self, element: &mut Thrift) {
        element.i32(1, self.kind);
        element.i32(3, if self.is_optional { word::OPTIONAL } else { word::REQUIRED });
        element.text(4, &self.name);
        if self.kind == word::BYTE_ARRAY {
            element.i32(6, word::UTF8);
        }
    }

    fn chunk(&self, chunk: &Chunk, element: &mut Thrift) {
        element.i64(2, chunk.at);
        element.inner(3, |meta| {
            meta.i32(1, self.kind);
            meta.numbers(2, &[word::PLAIN, word::RLE]);
            meta.texts(3, &[&self.name]);
            meta.i32(4, word::ZSTD);
            meta.i64(5, chunk.rows as u64);
            meta.i64(6, chunk.bytes[0]);
            meta.i64(7, chunk.bytes[1]);
            meta.i64(9, chunk.at);
        });
    }
}

/// A file that is being written.
pub struct Parquet<'a> {
    out: &'a mut dyn Write,
    /// The name of its root.
    name: &'static str,
    /// Bytes that were written.
    at: u64,
    columns: Vec<Column>,
    /// Rows of the group that is being filled.
    rows: usize,
    /// The groups that are written, each with its columns.
    groups: Vec<Vec<Chunk>>,
}

impl<'a> Parquet<'a> {
    /// A file with these columns; `name` says what a row is.
    ///
    /// # Errors
    /// `out` cannot be written to.
    pub fn begin(name: &'static str, columns: Vec<Column>, out: &'a mut dyn Write) -> io::Result<Parquet<'a>> {
        let mut file = Parquet { out, name, at: 0, columns, rows: 0, groups: Vec::new() };
        file.put(MAGIC)?;
        Ok(file)
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.at += bytes.len() as u64;
        self.out.write_all(bytes)
    }

    /// Adds a row, with a cell for each column.
    ///
    /// # Errors
    /// The file cannot be written to.
    pub fn push(&mut self, cells: &[Cell<'_>]) -> io::Result<()> {
        self.columns.iter_mut().zip(cells).for_each(|(column, cell)| column.push(self.rows, *cell));
        self.rows += 1;
        if self.rows == GROUP { self.end_group() } else { Ok(()) }
    }

    fn end_group(&mut self) -> io::Result<()> {
        let rows = std::mem::take(&mut self.rows);
        let mut group = Vec::with_capacity(self.columns.len());
        for number in 0..self.columns.len() {
            let page = self.columns[number].page();
            let packed = zstd::bulk::compress(&page, LEVEL)?;
            let header = header(rows, page.len(), packed.len());
            let length = |bytes: usize| (header.len() + bytes) as u64;
            group.push(Chunk { at: self.at, rows, bytes: [length(page.len()), length(packed.len())] });
            self.put(&header)?;
            self.put(&packed)?;
            self.columns[number].values.clear();
            self.columns[number].is_there.clear();
        }
        self.groups.push(group);
        Ok(())
    }

    /// Writes the rest, and the description of the file.
    ///
    /// # Errors
    /// The file cannot be written to.
    pub fn end(mut self) -> io::Result<()> {
        if self.rows > 0 {
            self.end_group()?;
        }
        let footer = self.footer();
        self.put(&footer)?;
        self.put(&(footer.len() as u32).to_le_bytes())?;
        self.put(MAGIC)?;
        self.out.flush()
    }

    fn footer(&self) -> Vec<u8> {
        let Parquet { columns, groups, .. } = self;
        let rows = |group: &[Chunk]| group.first().map_or(0, |chunk| chunk.rows as u64);
        Thrift::of(|file| {
            file.i32(1, 1);
            // The root comes first, and then what it has.
            let elements: Vec<Option<&Column>> = std::iter::once(None).chain(columns.iter().map(Some)).collect();
            file.list(2, elements.into_iter(), |element, column| match column {
                Some(column) => column.schema(element),
                None => {
                    element.text(4, self.name);
                    element.i32(5, columns.len() as i32);
                }
            });
            file.i64(3, groups.iter().map(|group| rows(group)).sum());
            file.list(4, groups.iter(), |element, group| {
                element.list(1, columns.iter().zip(group), |element, (column, chunk)| column.chunk(chunk, element));
                element.i64(2, group.iter().map(|chunk| chunk.bytes[0]).sum());
                element.i64(3, rows(group));
            });
            file.text(6, concat!("loadgen-node ", env!("CARGO_PKG_VERSION")));
        })
    }
}

/// Returns the header of a page of `bytes` bytes, which zstd has compressed to `packed` bytes.
fn header(rows: usize, bytes: usize, packed: usize) -> Vec<u8> {
    Thrift::of(|header| {
        header.i32(1, word::DATA_PAGE);
        header.i32(2, bytes as i32);
        header.i32(3, packed as i32);
        header.inner(5, |page| {
            page.i32(1, rows as i32);
            page.i32(2, word::PLAIN);
            page.i32(3, word::RLE);
            page.i32(4, word::RLE);
        });
    })
}
