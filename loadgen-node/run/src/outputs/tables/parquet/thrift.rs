//! Metadata of Parquet files: structures in Thrift's compact protocol, written field by field.

const I32: u8 = 5;
const I64: u8 = 6;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

/// A structure that is being written. Fields are written in the order of their numbers.
#[derive(Debug, Default)]
pub(super) struct Thrift {
    bytes: Vec<u8>,
    /// The last field of each structure that is open, the innermost last.
    open: Vec<u8>,
}

impl Thrift {
    /// One structure: what `fields` writes.
    pub(super) fn of(fields: impl FnOnce(&mut Thrift)) -> Vec<u8> {
        let mut thrift = Thrift::default();
        thrift.body(fields);
        thrift.bytes
    }

    pub(super) fn i32(&mut self, field: u8, value: i32) {
        self.field(field, I32);
        self.number(value.into());
    }

    pub(super) fn i64(&mut self, field: u8, value: u64) {
        self.field(field, I64);
        // Positions and counts of a file fit.
        self.number(i64::try_from(value).unwrap_or(i64::MAX));
    }

    pub(super) fn text(&mut self, field: u8, text: &str) {
        self.field(field, BINARY);
        self.bare_text(text);
    }

    pub(super) fn inner(&mut self, field: u8, fields: impl FnOnce(&mut Thrift)) {
        self.field(field, STRUCT);
        self.body(fields);
    }

    /// A list of structures; `fields` writes one.
    pub(super) fn list<T>(
        &mut self,
        field: u8,
        items: impl ExactSizeIterator<Item = T>,
        mut fields: impl FnMut(&mut Thrift, T),
    ) {
        self.head_of_list(field, items.len(), STRUCT);
        items.for_each(|item| self.body(|thrift| fields(thrift, item)));
    }

    pub(super) fn numbers(&mut self, field: u8, numbers: &[i32]) {
        self.head_of_list(field, numbers.len(), I32);
        numbers.iter().for_each(|number| self.number((*number).into()));
    }

    pub(super) fn texts(&mut self, field: u8, texts: &[&str]) {
        self.head_of_list(field, texts.len(), BINARY);
        texts.iter().for_each(|text| self.bare_text(text));
    }

    fn body(&mut self, fields: impl FnOnce(&mut Thrift)) {
        self.open.push(0);
        fields(self);
        self.open.pop();
        self.bytes.push(0);
    }

    fn field(&mut self, field: u8, kind: u8) {
        let Some(last) = self.open.last_mut() else { return };
        // Steps of more than 15 have another form, which nothing here needs.
        self.bytes.push((field - *last) << 4 | kind);
        *last = field;
    }

    fn head_of_list(&mut self, field: u8, items: usize, kind: u8) {
        self.field(field, LIST);
        match items {
            0..15 => self.bytes.push((items as u8) << 4 | kind),
            items => {
                self.bytes.push(0xf0 | kind);
                self.length(items as u64);
            }
        }
    }

    fn bare_text(&mut self, text: &str) {
        self.length(text.len() as u64);
        self.bytes.extend_from_slice(text.as_bytes());
    }

    /// A number with a sign, the sign in its lowest bit.
    fn number(&mut self, number: i64) {
        self.length((number << 1 ^ number >> 63) as u64);
    }

    fn length(&mut self, length: u64) {
        varint(length, &mut self.bytes);
    }
}

/// A number in groups of seven bits, the lowest first.
pub(super) fn varint(mut number: u64, bytes: &mut Vec<u8>) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structures_have_their_bytes() {
        let bytes = Thrift::of(|thrift| {
            thrift.i32(1, -1);
            thrift.i64(3, 300);
            thrift.texts(4, &["ab"]);
            thrift.inner(5, |inner| inner.text(2, "c"));
            thrift.list(6, [7, 8].into_iter(), |item, number| item.i32(1, number));
            thrift.numbers(7, &[0; 15]);
        });
        let expected = [
            &[0x15, 1, 0x26, 0xd8, 0x04, 0x19, 0x18, 2, b'a', b'b', 0x1c, 0x28, 1, b'c', 0][..],
            &[0x19, 0x2c, 0x15, 14, 0, 0x15, 16, 0, 0x19, 0xf5, 15],
            &[0; 16],
        ];
        assert_eq!(bytes, expected.concat());
    }
}
