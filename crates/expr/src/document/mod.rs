//! FOR JSON and FOR XML: rows become one text. The binder says what the text looks like
//! ([`Document`]); a [`Writer`] takes the rows in their order and gives the text at the end.
//! Guarantees: no row, no text (NULL); values are written as SQL Server writes them in either
//! language, strings with what the language needs escaped; the text, its last brackets and its root
//! included, is no longer than a value may be.

mod explicit;
mod json;
mod xml;
mod xml_path;

pub use explicit::{ExplicitColumn, ExplicitKind, ExplicitTag, XmlExplicit};
pub use json::{JsonDocument, JsonLevel, JsonMember};
pub use xml::{XmlDocument, XmlLevel, declarations, escaped, xml_name};
pub use xml_path::{Leaf, PathColumn, XmlPath};

use types::{CancelCheck, Collation, DataType, SqlError, Value};

use crate::large::{GrowingText, too_long, xml_too_long};
use crate::order::order_of;

/// A column of the rows.
#[derive(Clone, Copy, Debug)]
pub struct DocumentColumn {
    /// Its place in a row.
    pub at: usize,
    pub ty: DataType,
    /// Its strings are text of the document's language already.
    pub raw: bool,
}

/// What the text looks like.
#[derive(Clone, Debug)]
pub enum Document {
    Json(JsonDocument),
    Xml(XmlDocument),
    Path(XmlPath),
    Explicit(XmlExplicit),
}

impl Document {
    /// A writer for a new text.
    pub fn start(&self) -> Writer {
        self.start_within(GrowingText::default())
    }

    /// A writer for a new text that is not longer than that.
    fn start_within(&self, length: GrowingText) -> Writer {
        Writer {
            out: String::new(),
            length,
            rows: 0,
            before: Vec::new(),
            after_data: false,
            open: Vec::new(),
        }
    }

    /// Takes a row.
    ///
    /// # Errors
    /// Those of conversions; 7119 (JSON), 6365 (XML) when the text becomes longer than a value may
    /// be.
    pub fn row(
        &self,
        writer: &mut Writer,
        row: &[Value],
        look: CancelCheck<'_>,
    ) -> Result<(), SqlError> {
        match self {
            Document::Json(json) => json.row(writer, row, look)?,
            Document::Xml(xml) => xml.row(writer, row, look)?,
            Document::Path(path) => path.row(writer, row, look)?,
            Document::Explicit(explicit) => explicit.row(writer, row, look)?,
        }
        writer.rows += 1;
        if writer.length.fits(&writer.out) { Ok(()) } else { Err(self.too_long()) }
    }

    #[cold]
    fn too_long(&self) -> SqlError {
        match self {
            Document::Json(_) => too_long(),
            _ => xml_too_long(),
        }
    }

    /// Bytes that a value of a row takes at most in the text.
    pub fn most_bytes(&self, value: &Value) -> usize {
        match (self, value) {
            (Document::Json(_), value) => crate::json::most_bytes(value),
            (_, Value::Str(text)) => {
                let escaped = |b: u8| match b {
                    b'&' | b'<' | b'>' | b'"' => 6,
                    0..b' ' => 6,
                    _ => 1,
                };
                text.bytes().map(escaped).sum()
            }
            (_, value) => value.heap_bytes().saturating_mul(2).saturating_add(100),
        }
    }

    /// The text; `None` when there was no row.
    ///
    /// # Errors
    /// 7119, 6365 as for a row: what is open is closed, and may get a root around it.
    pub fn finish(&self, writer: Writer) -> Result<Option<String>, SqlError> {
        if writer.rows == 0 {
            return Ok(None);
        }
        // It grows at both ends.
        let mut length = writer.length.recount();
        let text = match self {
            Document::Json(json) => json.finish(writer),
            Document::Xml(xml) => xml.finish(writer),
            Document::Path(path) => path.finish(writer),
            Document::Explicit(explicit) => explicit.finish(writer),
        };
        if length.fits(&text) { Ok(Some(text)) } else { Err(self.too_long()) }
    }
}

/// A text that is being written.
#[derive(Debug)]
pub struct Writer {
    out: String,
    length: GrowingText,
    rows: u64,
    /// Values of the levels above the last one in the row before.
    before: Vec<Value>,
    /// What was written last is a part of a list of atomic values (`data()`).
    after_data: bool,
    /// EXPLICIT: the elements that are open, by their place among the tags, and whether their start
    /// tags still are.
    open: Vec<(usize, bool)>,
}

impl Writer {
    /// Bytes so far.
    pub fn len(&self) -> usize {
        self.out.len()
    }

    /// Whether nothing has been written.
    pub fn is_empty(&self) -> bool {
        self.out.is_empty()
    }

    /// The first of the levels whose columns have other values than in the row before, the last
    /// level where none has; notes the row. Each level is given by its columns.
    fn changed<'c>(
        &mut self,
        row: &[Value],
        levels: impl Iterator<Item = Vec<&'c DocumentColumn>>,
    ) -> usize {
        let first = self.rows == 0;
        let mut changed = None;
        let mut seen = 0;
        let mut last = 0;
        for (number, columns) in levels.enumerate() {
            last = number;
            for column in columns {
                let same = self.before.get(seen).is_some_and(|before| {
                    order_of(before, &row[column.at], Collation::BIN2).is_eq()
                });
                if !same {
                    changed = changed.or(Some(number));
                    self.before.resize(self.before.len().max(seen + 1), Value::Null);
                    self.before[seen] = row[column.at].clone();
                }
                seen += 1;
            }
        }
        if first { 0 } else { changed.unwrap_or(last).min(last) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::Len;
    use types::look::GO_ON;
    use types::units::utf16_len;

    fn column(at: usize) -> DocumentColumn {
        DocumentColumn { at, ty: DataType::NVarChar(Len::Max), raw: false }
    }

    fn json(root: Option<&str>) -> Document {
        let member = JsonMember::Value { name: "a".into(), column: column(2) };
        let levels = vec![JsonLevel { name: String::new(), members: vec![member] }];
        Document::Json(JsonDocument {
            levels,
            root: root.map(str::to_owned),
            nulls: false,
            wrapper: true,
        })
    }

    fn xml(root: Option<&str>) -> [Document; 3] {
        let (root, declared) = (root.map(str::to_owned), String::new());
        let levels = vec![XmlLevel { name: "row".into(), columns: vec![("a".into(), column(2))] }];
        let path = PathColumn { column: column(2), steps: vec!["a".into()], leaf: Leaf::Text };
        let of_tag =
            ExplicitColumn { column: column(2), name: "a".into(), kind: ExplicitKind::Element };
        let tag = ExplicitTag { id: 1, name: "row".into(), columns: vec![of_tag] };
        [
            Document::Xml(XmlDocument {
                levels,
                root: root.clone(),
                elements: true,
                nil: false,
                declared: declared.clone(),
            }),
            Document::Path(XmlPath {
                columns: vec![path],
                row: "row".into(),
                root: root.clone(),
                nil: false,
                declared: declared.clone(),
            }),
            Document::Explicit(XmlExplicit { tags: vec![tag], root, declared }),
        ]
    }

    /// Two rows as a text of at most so many UTF-16 units.
    fn written(document: &Document, most: usize) -> Result<Option<String>, SqlError> {
        let mut writer = document.start_within(GrowingText::up_to(most));
        for value in ["\u{20AC} 1", "x"] {
            let row = [Value::Int(1), Value::Null, Value::str(value)];
            document.row(&mut writer, &row, GO_ON)?;
        }
        document.finish(writer)
    }

    /// The bound is that of the whole text: at each length that is too short something else of it
    /// has no room, at last what closes it.
    #[test]
    fn a_text_is_as_long_as_a_value_may_be_and_no_longer() {
        for root in [None, Some("r")] {
            let documents = xml(root).into_iter().map(|document| (document, 6365));
            for (document, number) in documents.chain([(json(root), 7119)]) {
                let whole = written(&document, 1_000).unwrap().unwrap();
                let units = utf16_len(&whole);
                assert!(whole.len() > units, "bytes are not what counts: {whole}");
                assert_eq!(written(&document, units).unwrap().as_ref(), Some(&whole));
                for most in 0..units {
                    let refused = written(&document, most).map_err(|e| e.number);
                    assert_eq!(refused, Err(number), "{most} of {units}: {whole}");
                }
            }
        }
        let none = json(None);
        assert_eq!(none.finish(none.start_within(GrowingText::up_to(0))).unwrap(), None, "no row");
    }
}
