//! Protocol buffers as a tree of numbered fields, without the code that wrote them. Field numbers in the tests are those
//! of the official `.proto` files.

/// A message.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tree(Vec<(u64, Field)>);

#[derive(Debug, Clone)]
enum Field {
    Varint(u64),
    Fixed64([u8; 8]),
    Bytes(Vec<u8>),
}

impl Tree {
    /// Reads all of `bytes`.
    pub(crate) fn read(bytes: &[u8]) -> Self {
        let mut fields = Vec::new();
        let mut at = 0;
        while at < bytes.len() {
            let key = varint(bytes, &mut at);
            let field = match key % 8 {
                0 => Field::Varint(varint(bytes, &mut at)),
                1 => {
                    at += 8;
                    Field::Fixed64(bytes[at - 8..at].try_into().expect("eight"))
                }
                2 => {
                    let length = usize::try_from(varint(bytes, &mut at)).expect("a length");
                    at += length;
                    Field::Bytes(bytes[at - length..at].to_vec())
                }
                kind => panic!("wire type {kind} is in neither protocol"),
            };
            fields.push((key / 8, field));
        }
        Self(fields)
    }

    fn all(&self, number: u64) -> impl Iterator<Item = &Field> {
        self.0.iter().filter(move |(known, _)| *known == number).map(|(_, field)| field)
    }

    fn one(&self, number: u64) -> &Field {
        let mut all = self.all(number);
        let one = all.next().unwrap_or_else(|| panic!("no field {number} in {self:?}"));
        assert!(all.next().is_none(), "field {number} is there twice");
        one
    }

    pub(crate) fn has(&self, number: u64) -> bool {
        self.all(number).next().is_some()
    }

    pub(crate) fn messages(&self, number: u64) -> Vec<Self> {
        self.all(number).map(|field| Self::read(bytes(field))).collect()
    }

    pub(crate) fn message(&self, number: u64) -> Self {
        Self::read(bytes(self.one(number)))
    }

    pub(crate) fn text(&self, number: u64) -> String {
        String::from_utf8(bytes(self.one(number)).to_vec()).expect("text")
    }

    pub(crate) fn uint(&self, number: u64) -> u64 {
        match self.one(number) {
            Field::Varint(value) => *value,
            other => panic!("{other:?} is no varint"),
        }
    }

    /// Of `sint32` and `sint64`.
    pub(crate) fn sint(&self, number: u64) -> i64 {
        unzigzag(self.uint(number))
    }

    pub(crate) fn fixed64(&self, number: u64) -> u64 {
        match self.one(number) {
            Field::Fixed64(bytes) => u64::from_le_bytes(*bytes),
            other => panic!("{other:?} is not fixed"),
        }
    }

    pub(crate) fn double(&self, number: u64) -> f64 {
        f64::from_bits(self.fixed64(number))
    }

    /// Packed varints.
    pub(crate) fn uints(&self, number: u64) -> Vec<u64> {
        let bytes = bytes(self.one(number));
        let mut at = 0;
        let mut values = Vec::new();
        while at < bytes.len() {
            values.push(varint(bytes, &mut at));
        }
        values
    }

    /// Packed `sint64`.
    pub(crate) fn sints(&self, number: u64) -> Vec<i64> {
        self.uints(number).into_iter().map(unzigzag).collect()
    }

    /// Packed fixed values.
    pub(crate) fn fixed64s(&self, number: u64) -> Vec<u64> {
        let (values, rest) = bytes(self.one(number)).as_chunks::<8>();
        assert!(rest.is_empty(), "whole values");
        values.iter().map(|value| u64::from_le_bytes(*value)).collect()
    }
}

fn bytes(field: &Field) -> &[u8] {
    match field {
        Field::Bytes(bytes) => bytes,
        other => panic!("{other:?} has no length"),
    }
}

fn unzigzag(value: u64) -> i64 {
    let half = i64::try_from(value / 2).expect("half of it fits");
    if value.is_multiple_of(2) { half } else { -half - 1 }
}

fn varint(bytes: &[u8], at: &mut usize) -> u64 {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let byte = bytes[*at];
        *at += 1;
        value += u64::from(byte % 128) << shift;
        if byte < 128 {
            return value;
        }
    }
    panic!("a varint of more than ten bytes")
}
