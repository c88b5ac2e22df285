//! FOR JSON: objects of a row (PATH), or objects within objects by table (AUTO).

use types::look::GO_ON;
use types::{CancelCheck, SqlError, Value};

use super::{DocumentColumn, Writer};
use crate::json::{value_text, write_string};

/// The options, and what an object has. PATH has one level; AUTO one for each table, each an array
/// within the one before.
#[derive(Clone, Debug)]
pub struct JsonDocument {
    pub levels: Vec<JsonLevel>,
    /// ROOT.
    pub root: Option<String>,
    /// INCLUDE_NULL_VALUES.
    pub nulls: bool,
    /// No WITHOUT_ARRAY_WRAPPER.
    pub wrapper: bool,
}

/// The objects of one table.
#[derive(Clone, Debug)]
pub struct JsonLevel {
    /// The name of their array in the object around it; of no use in the first level.
    pub name: String,
    pub members: Vec<JsonMember>,
}

/// A member of an object.
#[derive(Clone, Debug)]
pub enum JsonMember {
    Value { name: String, column: DocumentColumn },
    Object { name: String, members: Vec<JsonMember> },
}

impl JsonMember {
    /// Its name.
    pub fn name(&self) -> &str {
        match self {
            JsonMember::Value { name, .. } | JsonMember::Object { name, .. } => name,
        }
    }

    fn columns<'m>(&'m self, out: &mut Vec<&'m DocumentColumn>) {
        match self {
            JsonMember::Value { column, .. } => out.push(column),
            JsonMember::Object { members, .. } => members.iter().for_each(|m| m.columns(out)),
        }
    }
}

impl JsonLevel {
    fn columns(&self) -> Vec<&DocumentColumn> {
        let mut out = Vec::new();
        self.members.iter().for_each(|m| m.columns(&mut out));
        out
    }
}

impl JsonDocument {
    pub(super) fn row(
        &self,
        writer: &mut Writer,
        row: &[Value],
        look: CancelCheck<'_>,
    ) -> Result<(), SqlError> {
        let last = self.levels.len() - 1;
        let changed = writer
            .changed(row, self.levels[..last].iter().map(JsonLevel::columns).chain([Vec::new()]));
        if writer.rows > 0 {
            self.close(writer, changed);
            writer.out.push(',');
        }
        for (number, level) in self.levels.iter().enumerate().skip(changed) {
            writer.out.push('{');
            let mut some = false;
            self.members(&level.members, row, &mut some, (&mut writer.out, look))?;
            if let Some(next) = self.levels.get(number + 1) {
                if some {
                    writer.out.push(',');
                }
                write_string(&next.name, &mut writer.out, look)?;
                writer.out.push_str(":[");
            }
        }
        Ok(())
    }

    /// Closes the objects of a level and what is inside of them.
    fn close(&self, writer: &mut Writer, level: usize) {
        for number in (level..self.levels.len()).rev() {
            writer.out.push('}');
            if number > level {
                writer.out.push(']');
            }
        }
    }

    fn members(
        &self,
        members: &[JsonMember],
        row: &[Value],
        some: &mut bool,
        (out, look): (&mut String, CancelCheck<'_>),
    ) -> Result<(), SqlError> {
        for member in members {
            let before = out.len();
            if *some {
                out.push(',');
            }
            write_string(member.name(), out, look)?;
            out.push(':');
            let written = match member {
                JsonMember::Value { column, .. } => {
                    let value = &row[column.at];
                    value_text(value, column.ty, column.raw, out, look)?;
                    self.nulls || !value.is_null()
                }
                JsonMember::Object { members, .. } => {
                    let mut any = false;
                    out.push('{');
                    self.members(members, row, &mut any, (out, look))?;
                    out.push('}');
                    any
                }
            };
            if written {
                *some = true;
            } else {
                out.truncate(before);
            }
        }
        Ok(())
    }

    pub(super) fn finish(&self, mut writer: Writer) -> String {
        self.close(&mut writer, 0);
        // It may be long: nothing of it is copied.
        let mut before = String::new();
        if let Some(root) = &self.root {
            before.push('{');
            // A name is short: it does not look.
            let _ = write_string(root, &mut before, GO_ON);
            before.push(':');
        }
        before.push_str(if self.wrapper { "[" } else { "" });
        let mut out = writer.out;
        out.insert_str(0, &before);
        out.push_str(if self.wrapper { "]" } else { "" });
        out.push_str(if self.root.is_some() { "}" } else { "" });
        out
    }
}
