//! The objects that every database of SQL Server has of itself, as scripts and clients know them:
//! base tables and the queues of Service Broker. Scripts take them, and their columns, for a source
//! of rows.
//! Guarantees: they are names alone, nothing reads them (208, as in SQL Server for all but the
//! dedicated connection); lists of users' tables (sys.tables, INFORMATION_SCHEMA) do not have them.

use std::sync::OnceLock;

use catalog::type_text::type_of_text;
use types::DataType;

/// A line each: `object_id|type|name|columns`, a column as `name type`, with `?` where it takes
/// NULL.
const LIST: &str = include_str!("system_tables.txt");

/// How many objects and columns there are, about: what queries over them are planned for.
pub(super) const OBJECTS: f64 = 53.0;
pub(super) const COLUMNS: f64 = 482.0;

/// (type, type_desc).
type Kind = (&'static str, &'static str);
const TABLE: Kind = ("S ", "SYSTEM_TABLE");
const QUEUE: Kind = ("SQ", "SERVICE_QUEUE");

/// One of them.
pub(crate) struct SystemTable {
    pub id: i32,
    pub name: &'static str,
    pub kind: Kind,
    /// Names, types, and whether they take NULL.
    pub columns: Vec<(&'static str, DataType, bool)>,
}

impl SystemTable {
    /// sys.objects.type.
    pub fn code(&self) -> &'static str {
        self.kind.0
    }

    /// Queues are dbo's.
    pub fn schema(&self) -> &'static str {
        if self.kind == QUEUE { "dbo" } else { "sys" }
    }

    /// schema_id.
    pub fn schema_id(&self) -> i32 {
        if self.kind == QUEUE { 1 } else { 4 }
    }
}

/// All of them, in the order of their ids within each type.
pub fn all() -> &'static [SystemTable] {
    static ALL: OnceLock<Vec<SystemTable>> = OnceLock::new();
    ALL.get_or_init(|| LIST.lines().filter_map(line).collect())
}

fn line(line: &'static str) -> Option<SystemTable> {
    let mut parts = line.splitn(4, '|');
    let id = parts.next()?.parse().ok()?;
    let kind = match parts.next()? {
        "S" => TABLE,
        "SQ" => QUEUE,
        _ => return None,
    };
    let name = parts.next()?;
    let columns = parts.next()?.split(',').map(column).collect::<Option<_>>()?;
    Some(SystemTable { id, name, kind, columns })
}

fn column(text: &'static str) -> Option<(&'static str, DataType, bool)> {
    let (name, ty) = text.split_once(' ')?;
    let nullable = ty.ends_with('?');
    Some((name, type_of_text(ty.trim_end_matches('?')).ok()?, nullable))
}

/// The one with this object_id.
pub fn by_id(id: i32) -> Option<&'static SystemTable> {
    all().iter().find(|table| table.id == id)
}

/// The one with this name; an empty schema is `dbo`.
pub fn find(schema: &str, name: &str) -> Option<&'static SystemTable> {
    let schema = if schema.is_empty() { "dbo" } else { schema };
    all()
        .iter()
        .find(|t| t.schema().eq_ignore_ascii_case(schema) && t.name.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_one_of_them() {
        assert_eq!(all().len(), LIST.lines().count());
        assert_eq!(all().len(), OBJECTS as usize);
        assert_eq!(all().iter().map(|table| table.columns.len()).sum::<usize>(), COLUMNS as usize);
        let mut ids: Vec<i32> = all().iter().map(|table| table.id).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), all().len());
    }
}
