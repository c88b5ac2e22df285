//! XML documents that were read, with their texts: the rows of a statement ask the same one again,
//! and so do statements of a loop.
//! Guarantee: a text that was read last is not read again.

use std::sync::Arc;

use compact_str::CompactString;
use types::{CancelCheck, SqlError};
use xml::{Document, NodeRef, TextSource, Whitespace};

/// A value of type xml, or a row of nodes(), as a tree.
#[derive(Debug)]
pub struct Parsed {
    text: CompactString,
    pub(crate) document: Document,
    /// What queries start from.
    pub(crate) from: NodeRef,
}

impl Parsed {
    /// Bytes of memory that it takes.
    pub fn heap_bytes(&self) -> usize {
        size_of::<Parsed>() + self.text.len() + self.document.heap_bytes()
    }

    /// Reads a text, unless it is the one that is known.
    ///
    /// # Errors
    /// The text is no XML; that of `look`.
    pub(crate) fn of(
        text: &CompactString,
        known: Option<&Arc<Parsed>>,
        look: CancelCheck<'_>,
    ) -> Result<Arc<Parsed>, SqlError> {
        if let Some(known) = known.filter(|known| known.text == *text) {
            return Ok(known.clone());
        }
        let read = xml::watched(look, |pace| match Document::of_row(text, pace) {
            Some(row) => Ok(row),
            None => {
                let document = xml::read(text, TextSource::Bytes, Whitespace::Kept, pace);
                document.map(|document| (document, NodeRef::ROOT))
            }
        })?;
        let (document, from) = read.map_err(|e| SqlError::new(e.number, 16, 1, e.text))?;
        Ok(Arc::new(Parsed { text: text.clone(), document, from }))
    }
}
