//! Rows of the system tables: the values in them, the rows of objects, and texts that are kept in
//! pieces. What the files that load and write definitions have in common; it knows none of them.
//! Guarantee: `texts` of what `text_rows` wrote gives the same texts.

use std::collections::HashMap;

use compact_str::CompactString;
use pages::PageId;
use types::{SqlError, Value, msg};

use crate::store::StoreError;
use crate::systables::SysTable;

/// UTF-16 units of a text that one row holds.
const PART: usize = 3000;

/// A row of the objects' table.
#[derive(Clone, Debug)]
pub(crate) struct ObjectRow {
    pub name: CompactString,
    pub schema_id: i32,
    pub kind: CompactString,
    pub parent: i32,
    pub create_date: Value,
    pub modify_date: Value,
    pub text: Option<CompactString>,
}

/// An object's row.
pub(crate) fn object_row(row: &[Value]) -> Result<ObjectRow, StoreError> {
    Ok(ObjectRow {
        name: text(row, 1)?,
        schema_id: int(row, 2)?,
        kind: text(row, 3)?,
        parent: int(row, 4)?,
        create_date: row[5].clone(),
        modify_date: row[6].clone(),
        text: row[7].as_str().map(CompactString::from),
    })
}

/// Rows by their first column.
pub(crate) fn group(rows: Vec<Vec<Value>>) -> Result<HashMap<i32, Vec<Vec<Value>>>, StoreError> {
    let mut out: HashMap<i32, Vec<Vec<Value>>> = HashMap::new();
    for row in rows {
        out.entry(int(&row, 0)?).or_default().push(row);
    }
    Ok(out)
}

/// The number in a column.
pub(crate) fn int(row: &[Value], at: usize) -> Result<i32, StoreError> {
    bigint(row, at).and_then(|n| i32::try_from(n).map_err(|_| damaged("number", 0)))
}

/// The number in a column.
pub(crate) fn bigint(row: &[Value], at: usize) -> Result<i64, StoreError> {
    row.get(at).and_then(Value::as_i64).ok_or_else(|| damaged("number", 0))
}

/// The name in a column.
pub(crate) fn text(row: &[Value], at: usize) -> Result<CompactString, StoreError> {
    row.get(at).and_then(Value::as_str).map(CompactString::from).ok_or_else(|| damaged("name", 0))
}

/// The page in two columns from this one on: file and page.
pub(crate) fn page_id(row: &[Value], at: usize) -> Result<PageId, StoreError> {
    let file = u16::try_from(bigint(row, at)?).map_err(|_| damaged("page", 0))?;
    let page = u32::try_from(bigint(row, at + 1)?).map_err(|_| damaged("page", 0))?;
    Ok(PageId { file, page })
}

/// 8966: a row that makes no sense.
pub(crate) fn damaged(what: &str, object_id: i32) -> StoreError {
    StoreError::Sql(SqlError::of(msg::CATALOG_DAMAGED, [&what, &object_id]))
}

/// The rows that hold an object's text.
pub fn text_rows(object_id: i32, text: &str) -> impl Iterator<Item = (SysTable, Vec<Value>)> {
    parts(text).into_iter().enumerate().map(move |(part, text)| {
        let row = vec![Value::Int(object_id), Value::Int(part as i32), Value::str(text)];
        (SysTable::Texts, row)
    })
}

/// A text in pieces of at most [`PART`] UTF-16 units.
fn parts(text: &str) -> Vec<&str> {
    let (mut out, mut start, mut units) = (Vec::new(), 0, 0);
    for (at, c) in text.char_indices() {
        let length = types::units::unit_len(c);
        if units + length > PART {
            out.push(&text[start..at]);
            (start, units) = (at, 0);
        }
        units += length;
    }
    out.push(&text[start..]);
    out
}

/// The texts of objects from the rows that hold them, which come in the order of their keys.
pub fn texts(rows: Vec<Vec<Value>>) -> HashMap<i32, String> {
    let mut texts: HashMap<i32, String> = HashMap::new();
    for row in rows {
        let id = row[0].as_i64().and_then(|id| i32::try_from(id).ok()).unwrap_or_default();
        types::units::push_text(texts.entry(id).or_default(), row[2].as_str().unwrap_or_default());
    }
    texts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_come_back() {
        let text =
            "CREATE VIEW v AS SELECT 'ü𝄞' AS a /* ".to_string() + &"é𝄞x".repeat(5000) + " */";
        let rows: Vec<Vec<Value>> = text_rows(7, &text).map(|(_, row)| row).collect();
        assert!(rows.len() > 5);
        assert_eq!(texts(rows).remove(&7).as_deref(), Some(text.as_str()));
    }
}
