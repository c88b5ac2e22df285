//! JSON: a line per result set with names, types and rows; or JSON lines, an object per row.

use super::ResultWriter;
use super::text::{json_value, unique_names};
use engine::{ColumnInfo, DataType, Value};
use std::io::{self, Write};

/// One line per result set: `{"columns": [{"name", "type"}], "rows": [[...]]}`. Rows go out as they
/// come.
#[derive(Default)]
pub struct JsonWriter {
    types: Vec<DataType>,
    /// A row went out.
    begun: bool,
}

impl ResultWriter for JsonWriter {
    fn begin(&mut self, columns: &[ColumnInfo], out: &mut dyn Write) -> io::Result<()> {
        self.types = columns.iter().map(|c| c.ty).collect();
        self.begun = false;
        let columns: Vec<serde_json::Value> = columns
            .iter()
            .map(|c| serde_json::json!({"name": c.name.as_str(), "type": c.ty.to_string()}))
            .collect();
        write!(out, "{{\"columns\":{},\"rows\":[", serde_json::Value::Array(columns))
    }

    fn row(&mut self, row: &[Value], out: &mut dyn Write) -> io::Result<()> {
        let values =
            row.iter().zip(&self.types).map(|(value, ty)| json_value(value, *ty)).collect();
        let comma = if std::mem::replace(&mut self.begun, true) { "," } else { "" };
        write!(out, "{comma}{}", serde_json::Value::Array(values))
    }

    fn end(&mut self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "]}}")
    }

    fn separated(&self) -> bool {
        false
    }
}

/// JSON lines: `{"name": value, ...}` for each row. Names that come twice get `_2`.
#[derive(Default)]
pub struct JsonLinesWriter {
    types: Vec<DataType>,
    /// `"name":` of each column.
    keys: Vec<String>,
}

impl ResultWriter for JsonLinesWriter {
    fn begin(&mut self, columns: &[ColumnInfo], _: &mut dyn Write) -> io::Result<()> {
        self.types = columns.iter().map(|c| c.ty).collect();
        let names = unique_names(columns).into_iter();
        self.keys = names.map(|name| format!("{}:", serde_json::Value::String(name))).collect();
        Ok(())
    }

    fn row(&mut self, row: &[Value], out: &mut dyn Write) -> io::Result<()> {
        let mut line = String::from("{");
        for (at, value) in row.iter().enumerate() {
            if at > 0 {
                line.push(',');
            }
            line.push_str(&self.keys[at]);
            line.push_str(&json_value(value, self.types[at]).to_string());
        }
        line.push_str("}\n");
        out.write_all(line.as_bytes())
    }

    fn end(&mut self, _: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }
}
