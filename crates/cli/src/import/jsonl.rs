//! JSON lines: an object per line; its keys are column names. The first object names the columns; a
//! key that a later one lacks is NULL, one that it has besides is an error. Objects and arrays
//! within become their JSON text.

use crate::file_rows::{Cell, ImportFailure, ImportRows};
use engine::Value;
use std::io::{BufRead, BufReader, Read};

/// The objects of a file.
pub struct JsonLines<R: Read> {
    input: BufReader<R>,
    names: Vec<String>,
    /// The first object, read for its names.
    first: Option<serde_json::Map<String, serde_json::Value>>,
    /// What was wrong with it.
    failed: Option<ImportFailure>,
    line: u64,
    row: u64,
    text: Vec<u8>,
}

impl<R: Read> JsonLines<R> {
    /// Reads as far as the first object.
    pub fn new(input: R) -> JsonLines<R> {
        let input = BufReader::with_capacity(1 << 18, input);
        let (names, text) = (Vec::new(), Vec::new());
        let mut rows = JsonLines { input, names, first: None, failed: None, line: 0, row: 0, text };
        match rows.object() {
            Ok(first) => {
                rows.names = first.iter().flat_map(|object| object.keys().cloned()).collect();
                rows.first = first;
            }
            Err(failed) => rows.failed = Some(failed),
        }
        rows
    }

    /// The next object; lines of nothing but blanks are passed over.
    fn object(
        &mut self,
    ) -> Result<Option<serde_json::Map<String, serde_json::Value>>, ImportFailure> {
        loop {
            self.text.clear();
            let read = self.input.read_until(b'\n', &mut self.text);
            if read.map_err(|e| ImportFailure::File(e.to_string()))? == 0 {
                return Ok(None);
            }
            self.line += 1;
            if self.text.trim_ascii().is_empty() {
                continue;
            }
            return match serde_json::from_slice(&self.text) {
                Ok(serde_json::Value::Object(object)) => Ok(Some(object)),
                Ok(_) => Err(ImportFailure::File(format!("line {}: not a JSON object", self.line))),
                Err(e) => Err(ImportFailure::File(format!(
                    "line {}, column {}: {e}",
                    self.line,
                    e.column()
                ))),
            };
        }
    }
}

impl<R: Read> ImportRows for JsonLines<R> {
    fn names(&self) -> Option<&[String]> {
        Some(&self.names)
    }

    fn next(&mut self, row: &mut Vec<Cell>) -> Result<bool, ImportFailure> {
        if let Some(failed) = self.failed.take() {
            return Err(failed);
        }
        let next = match self.first.take() {
            Some(first) => Some(first),
            None => self.object()?,
        };
        let Some(mut object) = next else { return Ok(false) };
        self.row += 1;
        row.clear();
        row.extend(self.names.iter().map(|name| object.remove(name).map_or(Cell::Null, cell)));
        match object.keys().next() {
            None => Ok(true),
            Some(other) => {
                let text = format!("{}: the first object has no key '{other}'", self.place());
                Err(ImportFailure::File(text))
            }
        }
    }

    fn place(&self) -> String {
        format!("row {} (line {})", self.row, self.line)
    }
}

fn cell(value: serde_json::Value) -> Cell {
    use serde_json::Value as J;
    match value {
        J::Null => Cell::Null,
        J::Bool(b) => Cell::Value(Value::Bit(b)),
        J::String(text) => Cell::Text(text),
        J::Number(n) => match (n.as_i64(), n.as_f64()) {
            (Some(n), _) => Cell::Value(i32::try_from(n).map_or(Value::BigInt(n), Value::Int)),
            (None, Some(f)) if n.is_f64() => Cell::Value(Value::Float(f)),
            // Beyond bigint: as digits.
            _ => Cell::Text(n.to_string()),
        },
        nested => Cell::Text(nested.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_become_rows() {
        let text = "{\"b\":1,\"a\":\"x\"}\n\n{\"a\":null,\"b\":1.5}\r\n{\"b\":[1,{\"c\":2}]}\n{\"b\":18446744073709551615,\"a\":true}";
        let mut rows = JsonLines::new(text.as_bytes());
        assert_eq!(rows.names().unwrap(), ["a", "b"]);
        let (mut all, mut row) = (Vec::new(), Vec::new());
        while rows.next(&mut row).unwrap() {
            all.push(row.clone());
        }
        assert_eq!(all[0], [Cell::Text("x".into()), Cell::Value(Value::Int(1))]);
        assert_eq!(all[1], [Cell::Null, Cell::Value(Value::Float(1.5))]);
        assert_eq!(all[2], [Cell::Null, Cell::Text("[1,{\"c\":2}]".into())]);
        assert_eq!(
            all[3],
            [Cell::Value(Value::Bit(true)), Cell::Text("18446744073709551615".into())]
        );
    }

    #[test]
    fn mistakes_name_their_line() {
        let fails = |text: &str| {
            let mut rows = JsonLines::new(text.as_bytes());
            let mut row = Vec::new();
            loop {
                match rows.next(&mut row) {
                    Ok(true) => {}
                    Ok(false) => panic!("no error"),
                    Err(ImportFailure::File(text)) => return text,
                    Err(other) => panic!("{other:?}"),
                }
            }
        };
        assert_eq!(fails("[1]"), "line 1: not a JSON object");
        assert!(fails("{\"a\":1}\n{\"a\":}").starts_with("line 2, column "));
        assert_eq!(
            fails("{\"a\":1}\n{\"a\":1,\"b\":2}"),
            "row 2 (line 2): the first object has no key 'b'"
        );
    }
}
