//! Entries of nonclustered indexes as bytes: what of a row an entry's key holds, what its value
//! holds, and the way back.
//!
//! Nothing stands in an entry twice. The key is there for the search; what it gives back is taken
//! from it, and the value has the rest:
//!
//! ```text
//! key    normalised key columns | locator, unless the index is unique
//! value  bare row of the columns that cannot be read from the key or the locator
//!        | locator, if the index is unique | length of the locator: u16, where nothing else tells it
//! ```
//! A column is read from the key if a key keeps the values of its type and the columns before it
//! have a width that their types tell; from a locator that is a clustered key by the same rule;
//! else from the row. A RID always has 8 bytes. A clustered key is what is left behind the key's
//! columns if all of them have a width, or all of the value if there is no row in it; else two
//! bytes at the end of the value say how long it is.
//!
//! Guarantees: what was written comes back; no bytes whatever make a read panic.

use access::IndexEntry;
use types::{
    ColumnType, Corrupt, KeyPart, RowLayout, Value, keeps_values, key_width, read_key_part,
    skip_key_part,
};

/// Bytes of a RID.
const RID: usize = 8;
/// Bytes that say how long a locator is.
const LENGTH: usize = 2;

/// The columns of an index, as its entries are made of them.
#[derive(Clone, Copy, Debug)]
pub struct EntryColumns<'c> {
    /// Positions in the table, and types: the columns of the key, then the included ones.
    pub columns: &'c [(usize, ColumnType)],
    /// Of the columns of the key.
    pub key: &'c [KeyPart],
    /// The columns of the clustered key; `None` for a heap.
    pub clustered: Option<&'c [(usize, KeyPart)]>,
    pub unique: bool,
}

/// Where the value of a column is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ValueOrigin {
    /// In a part of the key.
    Key(u16),
    /// In a part of the locator.
    Locator(u16),
    /// A column of the row.
    Row(u16),
}

/// How the length of a locator is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Length {
    /// It is a RID.
    Rid,
    /// It is what is left: behind the columns of the key, or of a value with nothing else in it.
    Rest,
    /// The value ends with it.
    Told,
}

/// How entries of an index are made and read.
#[derive(Debug)]
pub struct EntryFormat {
    /// By the columns' numbers in the entry.
    sources: Vec<ValueOrigin>,
    key: Vec<KeyPart>,
    /// Parts of a locator that is a clustered key, from the first one to the last that can be read.
    located: Vec<KeyPart>,
    /// Their positions in the table.
    located_columns: Vec<usize>,
    row: RowLayout,
    /// Positions in the table of the row's columns.
    row_columns: Vec<usize>,
    /// So many of them are of the key.
    row_keys: usize,
    /// The locator ends the key, else the value.
    in_key: bool,
    length: Length,
}

/// How many parts from the beginning of a key can be passed by without a look at their values.
fn with_width<'p>(parts: impl Iterator<Item = &'p KeyPart>) -> usize {
    parts.take_while(|part| key_width(part.ty).is_some()).count()
}

impl EntryFormat {
    /// Of an index over these columns.
    pub fn new(shape: EntryColumns<'_>) -> EntryFormat {
        let EntryColumns { columns, key, clustered, unique } = shape;
        let clustered_key = clustered.unwrap_or_default();
        let reached = with_width(clustered_key.iter().map(|(_, part)| part));
        let readable = |(_, part): &(usize, KeyPart)| keeps_values(part.ty);
        let located =
            clustered_key[..reached].iter().rposition(readable).map_or(0, |last| last + 1);
        let located = &clustered_key[..located];
        let reached = with_width(key.iter());
        let (mut sources, mut row_columns, mut row_types) = (Vec::new(), Vec::new(), Vec::new());
        let mut row_keys = 0;
        for (at, (column, ty)) in columns.iter().enumerate() {
            let in_key = at < reached && keeps_values(key[at].ty);
            let in_locator = || located.iter().position(|part| part.0 == *column && readable(part));
            sources.push(if in_key {
                ValueOrigin::Key(at as u16)
            } else if let Some(part) = in_locator() {
                ValueOrigin::Locator(part as u16)
            } else {
                row_columns.push(*column);
                row_types.push(*ty);
                row_keys += usize::from(at < key.len());
                ValueOrigin::Row((row_columns.len() - 1) as u16)
            });
        }
        let rest = if unique { row_columns.is_empty() } else { reached == key.len() };
        EntryFormat {
            sources,
            key: key.to_vec(),
            located: located.iter().map(|(_, part)| *part).collect(),
            located_columns: located.iter().map(|(column, _)| *column).collect(),
            row: RowLayout::bare(&row_types),
            row_columns,
            row_keys,
            in_key: !unique,
            length: match clustered {
                None => Length::Rid,
                Some(_) if rest => Length::Rest,
                Some(_) => Length::Told,
            },
        }
    }

    /// Where a column is read that is no column of the index, as a number like those of its
    /// columns: in the locator.
    pub fn located(&self, column: usize) -> Option<usize> {
        let at = self.located_columns.iter().position(|located| *located == column)?;
        let read = self.located.get(at).is_some_and(|part| keeps_values(part.ty));
        read.then_some(self.sources.len() + at)
    }

    /// Whether a column of the index is a variable one of the row.
    pub fn is_variable(&self, at: usize) -> bool {
        match self.sources.get(at) {
            Some(ValueOrigin::Row(column)) => self.row.is_variable(usize::from(*column)),
            _ => false,
        }
    }

    /// The layout of the row in the value.
    pub fn row(&self) -> &RowLayout {
        &self.row
    }

    /// Positions in the table of the row's columns: those of the key, and the included ones.
    pub(crate) fn row_columns(&self) -> (&[usize], &[usize]) {
        self.row_columns.split_at(self.row_keys)
    }

    /// Bytes of a value behind its row.
    pub(crate) fn behind_row(&self, locator: &[u8]) -> usize {
        let own = if self.in_key { 0 } else { locator.len() };
        own + if self.length == Length::Told { LENGTH } else { 0 }
    }

    /// Puts what follows the row into a value.
    pub(crate) fn end_value(&self, locator: &[u8], out: &mut Vec<u8>) {
        if !self.in_key {
            out.extend_from_slice(locator);
        }
        if self.length == Length::Told {
            // A key is shorter than a page.
            out.extend_from_slice(&(locator.len() as u16).to_le_bytes());
        }
    }

    /// The locator of an entry; `None`: the entry is damaged.
    pub fn locator<'e>(&self, entry: IndexEntry<'e>) -> Option<&'e [u8]> {
        let (value, len) = match self.length {
            Length::Rid => (entry.value, RID),
            Length::Told => told(entry.value)?,
            Length::Rest if self.in_key => {
                let mut rest = entry.key;
                for part in &self.key {
                    skip_key_part(part, &mut rest)?;
                }
                return Some(rest);
            }
            Length::Rest => return Some(entry.value),
        };
        let whole = if self.in_key { entry.key } else { value };
        whole.get(whole.len().checked_sub(len)?..)
    }

    /// The numbers that columns of the index have in the row, which is none of a column that is
    /// not in it.
    pub fn row_numbers<'n>(&'n self, numbers: &'n [u16]) -> impl Iterator<Item = Option<u16>> + 'n {
        numbers.iter().map(move |at| match self.source(usize::from(*at)) {
            Some(ValueOrigin::Row(number)) => Some(number),
            _ => None,
        })
    }

    /// The row in a value; `None`: the entry is damaged.
    #[inline]
    pub fn row_of<'e>(&self, value: &'e [u8]) -> Option<&'e [u8]> {
        let (value, len) = match self.length {
            Length::Rid => (value, RID),
            Length::Told => told(value)?,
            Length::Rest => (value, value.len()),
        };
        let len = if self.in_key { 0 } else { len };
        value.get(..value.len().checked_sub(len)?)
    }

    fn source(&self, at: usize) -> Option<ValueOrigin> {
        let located =
            || at.checked_sub(self.sources.len()).filter(|part| *part < self.located.len());
        let own = self.sources.get(at).copied();
        own.or_else(|| located().map(|part| ValueOrigin::Locator(part as u16)))
    }

    /// Columns of an entry into the first places of `out`, by their numbers among the columns of
    /// the index, or those of [`EntryFormat::located`].
    ///
    /// Errors: `OffRow` where the value is only in the base row; the entry is damaged.
    pub fn decode(
        &self,
        entry: IndexEntry<'_>,
        wanted: &[u16],
        out: &mut [Value],
    ) -> Result<(), Corrupt> {
        let (mut key, mut locator, mut row) = (KeyWalk::new(&self.key, entry.key), None, None);
        let mut at = 0;
        while let (Some(&column), Some(place)) = (wanted.get(at), out.get_mut(at)) {
            let column = usize::from(column);
            let damaged = || Corrupt::Value { column };
            match self.source(column).ok_or(Corrupt::NoColumn { column })? {
                ValueOrigin::Key(part) => key.read(part, place).ok_or_else(damaged)?,
                ValueOrigin::Locator(part) => {
                    let walk = match &mut locator {
                        Some(walk) => walk,
                        none => {
                            let bytes = self.locator(entry).ok_or_else(damaged)?;
                            none.insert(KeyWalk::new(&self.located, bytes))
                        }
                    };
                    walk.read(part, place).ok_or_else(damaged)?;
                }
                ValueOrigin::Row(number) => {
                    let parts = match row {
                        Some(parts) => parts,
                        None => {
                            let bytes = self.row_of(entry.value).ok_or_else(damaged)?;
                            *row.insert(self.row.parts(bytes)?)
                        }
                    };
                    self.row.decode_parts(&parts, &[number], std::slice::from_mut(place))?;
                }
            }
            at += 1;
        }
        Ok(())
    }
}

/// A value that ends with the length of a locator: what is before it, and the length.
fn told(value: &[u8]) -> Option<(&[u8], usize)> {
    let (value, len) = value.split_last_chunk::<LENGTH>()?;
    Some((value, usize::from(u16::from_le_bytes(*len))))
}

/// The parts of a key from its beginning: columns that are asked for in their order are found
/// without going back.
struct KeyWalk<'w> {
    parts: &'w [KeyPart],
    whole: &'w [u8],
    rest: &'w [u8],
    at: usize,
}

impl<'w> KeyWalk<'w> {
    fn new(parts: &'w [KeyPart], key: &'w [u8]) -> KeyWalk<'w> {
        KeyWalk { parts, whole: key, rest: key, at: 0 }
    }

    #[inline]
    fn read(&mut self, part: u16, place: &mut Value) -> Option<()> {
        let part = usize::from(part);
        if part < self.at {
            (self.rest, self.at) = (self.whole, 0);
        }
        while self.at < part {
            skip_key_part(self.parts.get(self.at)?, &mut self.rest)?;
            self.at += 1;
        }
        self.at += 1;
        read_key_part(self.parts.get(part)?, &mut self.rest, place)
    }
}

#[cfg(test)]
mod tests;
