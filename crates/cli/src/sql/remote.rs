//! A server's catalog over a connection of its own: what completion offers, and the answers to `\d`
//! and its kin. In T-SQL that SQL Server 2012 understands too. Nothing here disturbs the session of
//! the prompt, and no look waits longer than a second for a lock.

use super::complete::{NameSource, Table};
use super::meta::{Catalogue, MetaAnswer, matches, text_column};
use super::target::show;
use client::{Connection, Options};
use engine::{ColumnInfo, DataType, FirstError, ResultRows, Sink, SqlError, Value};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

/// The connection for questions, and what it was told since the last batch ran.
pub struct Lookup {
    options: Options,
    /// The prompt has the only connection for administrators: there cannot be another one.
    alone: bool,
    connection: Option<Connection>,
    /// Tables by database.
    tables: HashMap<String, Vec<Table>>,
}

/// Keeps the rows of a batch and its first error.
#[derive(Default)]
struct BatchRows {
    rows: Vec<Vec<Value>>,
    error: FirstError,
}

impl Sink for BatchRows {
    fn rows(&mut self, rows: &ResultRows<'_>) -> Result<(), SqlError> {
        rows.each(|row| {
            self.rows.push(row.to_vec());
            Ok(())
        })
    }

    fn error(&mut self, error: &SqlError) -> Result<(), SqlError> {
        self.error.error(error)
    }
}

impl Lookup {
    /// For servers that these options reach.
    pub fn new(options: Options, alone: bool) -> Lookup {
        Lookup { options, alone, connection: None, tables: HashMap::new() }
    }

    /// A batch runs: what was known of tables may be wrong afterwards.
    pub fn forget(&mut self) {
        self.tables.clear();
    }

    fn rows(&mut self, database: &str, query: &str) -> Result<Vec<Vec<Value>>, String> {
        if self.alone {
            return Err(
                "a dedicated administrator connection is the only one: ask by T-SQL.".into()
            );
        }
        let connection = match &mut self.connection {
            Some(connection) => connection,
            none => none.insert(Connection::connect(&self.options).map_err(|e| e.to_string())?),
        };
        let text = format!("set lock_timeout 1000 set nocount on use {} {query}", quoted(database));
        let mut rows = BatchRows::default();
        let result = connection.batch(&text, &mut |token| show(&token, &mut rows).is_ok());
        if let Err(error) = result {
            self.connection = None;
            return Err(error.to_string());
        }
        rows.error.or(rows.rows).map_err(|error| error.into_message())
    }

    fn tables(&mut self, database: &str) -> &[Table] {
        if !self.tables.contains_key(database) {
            let rows = self.rows(database, COLUMNS).unwrap_or_default();
            let mut tables: Vec<Table> = Vec::new();
            for row in &rows {
                let (schema, name, column) = (text(row, 0), text(row, 1), text(row, 2));
                match tables.last_mut().filter(|last| last.schema == schema && last.name == name) {
                    Some(table) => table.columns.push(column),
                    None => tables.push(Table { schema, name, columns: vec![column] }),
                }
            }
            self.tables.insert(database.to_owned(), tables);
        }
        self.tables.get(database).map_or(&[], Vec::as_slice)
    }
}

const DATABASES: &str =
    "select name, state_desc, recovery_model_desc from sys.databases order by database_id";
const SCHEMAS: &str = "select name from sys.schemas where schema_id < 16384 and name not in ('guest', 'sys', 'INFORMATION_SCHEMA') order by name";
const COLUMNS: &str = "select s.name, o.name, c.name from sys.all_objects o join sys.schemas s on s.schema_id = o.schema_id \
join sys.all_columns c on c.object_id = o.object_id where o.type in ('U', 'V', 'S') order by s.name, o.name, c.column_id";
const TABLES: &str = "select s.name, t.name, sum(p.rows) from sys.tables t join sys.schemas s on s.schema_id = t.schema_id \
left join sys.partitions p on p.object_id = t.object_id and p.index_id in (0, 1) group by s.name, t.name order by s.name, t.name";
const DESCRIBE: &str = "select s.name, t.name, c.name, \
case when y.name in ('nvarchar', 'nchar') then y.name + '(' + case c.max_length when -1 then 'max' else cast(c.max_length / 2 as varchar(10)) end + ')' \
when y.name in ('varchar', 'char', 'varbinary', 'binary') then y.name + '(' + case c.max_length when -1 then 'max' else cast(c.max_length as varchar(10)) end + ')' \
when y.name in ('decimal', 'numeric') then y.name + '(' + cast(c.precision as varchar(10)) + ',' + cast(c.scale as varchar(10)) + ')' \
when y.name in ('datetime2', 'datetimeoffset', 'time') then y.name + '(' + cast(c.scale as varchar(10)) + ')' \
else y.name end, i.seed_value, i.increment_value, c.is_nullable, d.definition \
from sys.tables t join sys.schemas s on s.schema_id = t.schema_id join sys.columns c on c.object_id = t.object_id \
join sys.types y on y.user_type_id = c.user_type_id \
left join sys.identity_columns i on i.object_id = c.object_id and i.column_id = c.column_id \
left join sys.default_constraints d on d.parent_object_id = c.object_id and d.parent_column_id = c.column_id";
const INDEXES: &str = "select s.name, t.name, x.name, x.index_id, x.is_primary_key, x.is_unique, c.name, k.is_descending_key, k.is_included_column \
from sys.tables t join sys.schemas s on s.schema_id = t.schema_id join sys.indexes x on x.object_id = t.object_id and x.index_id > 0 \
join sys.index_columns k on k.object_id = x.object_id and k.index_id = x.index_id \
join sys.columns c on c.object_id = k.object_id and c.column_id = k.column_id";

fn quoted(name: &str) -> String {
    format!("[{}]", name.replace(']', "]]"))
}

fn text(row: &[Value], at: usize) -> String {
    row.get(at).filter(|value| !value.is_null()).map_or_else(String::new, Value::to_string)
}

fn is_set(row: &[Value], at: usize) -> bool {
    matches!(row.get(at), Some(Value::Bit(true)))
}

/// Completion's view of a server.
pub struct RemoteNames {
    lookup: Rc<RefCell<Lookup>>,
    database: String,
}

impl RemoteNames {
    pub fn new(lookup: Rc<RefCell<Lookup>>, database: String) -> RemoteNames {
        RemoteNames { lookup, database }
    }
}

impl NameSource for RemoteNames {
    fn databases(&self) -> Vec<String> {
        // Completion without names is better than none at all.
        let rows = self.lookup.borrow_mut().rows(&self.database, DATABASES).unwrap_or_default();
        rows.iter().map(|row| text(row, 0)).collect()
    }

    fn tables(&self, database: Option<&str>) -> Vec<Table> {
        self.lookup.borrow_mut().tables(database.unwrap_or(&self.database)).to_vec()
    }

    fn schemas(&self, database: Option<&str>) -> Vec<String> {
        let rows = self
            .lookup
            .borrow_mut()
            .rows(database.unwrap_or(&self.database), SCHEMAS)
            .unwrap_or_default();
        let own = rows.iter().map(|row| text(row, 0));
        own.chain(["sys".to_owned(), "INFORMATION_SCHEMA".to_owned()]).collect()
    }
}

/// Answers to questions from a server's catalog.
pub struct RemoteCatalogue {
    pub lookup: Rc<RefCell<Lookup>>,
    pub database: String,
}

impl RemoteCatalogue {
    fn rows(&self, query: &str) -> Result<Vec<Vec<Value>>, String> {
        self.lookup.borrow_mut().rows(&self.database, query)
    }

    /// The condition that selects a table; an error when there is none of this name.
    fn only(&self, name: &str) -> Result<String, String> {
        let literal = name.replace('\'', "''");
        let id = self.rows(&format!("select object_id(N'{literal}', 'U')"))?;
        match id.first().and_then(|row| row.first()).and_then(Value::as_i64) {
            Some(id) => Ok(format!(" where t.object_id = {id}")),
            None => Err(format!("there is no table '{name}' in this database.")),
        }
    }
}

impl Catalogue for RemoteCatalogue {
    fn databases(&self) -> Result<MetaAnswer, String> {
        let columns = ["name", "state", "recovery"].map(text_column).to_vec();
        Ok(MetaAnswer { columns, rows: self.rows(DATABASES)? })
    }

    fn schemas(&self) -> Result<MetaAnswer, String> {
        Ok(MetaAnswer { columns: vec![text_column("schema")], rows: self.rows(SCHEMAS)? })
    }

    fn tables(&self, like: &str) -> Result<MetaAnswer, String> {
        let columns = vec![
            text_column("schema"),
            text_column("table"),
            ColumnInfo::new("rows", DataType::BigInt, true),
        ];
        let mut rows = self.rows(TABLES)?;
        rows.retain(|row| {
            let (schema, name) = (text(row, 0), text(row, 1));
            like.is_empty() || matches(like, &name) || matches(like, &format!("{schema}.{name}"))
        });
        Ok(MetaAnswer { columns, rows })
    }

    fn describe(&self, name: &str) -> Result<Vec<MetaAnswer>, String> {
        let only = if name.is_empty() { String::new() } else { self.only(name)? };
        let found = self.rows(&format!("{DESCRIBE}{only} order by s.name, t.name, c.column_id"))?;
        let mut columns = ["column", "type", "null", "default"].map(text_column).to_vec();
        let mut rows = Vec::new();
        for row in &found {
            let identity = match row.get(4) {
                Some(seed) if !seed.is_null() => {
                    format!(" identity({}, {})", text(row, 4), text(row, 5))
                }
                _ => String::new(),
            };
            let mut shown = vec![
                Value::str(text(row, 2)),
                Value::str(format!("{}{identity}", text(row, 3))),
                Value::str(if is_set(row, 6) { "yes" } else { "no" }),
                row.get(7).cloned().unwrap_or(Value::Null),
            ];
            if name.is_empty() {
                shown.insert(0, Value::str(format!("{}.{}", text(row, 0), text(row, 1))));
            }
            rows.push(shown);
        }
        if name.is_empty() {
            columns.insert(0, text_column("table"));
            return Ok(vec![MetaAnswer { columns, rows }]);
        }
        let mut answers = vec![MetaAnswer { columns, rows }];
        answers.extend(Some(self.indexes(name)?).filter(|keys| !keys.rows.is_empty()));
        Ok(answers)
    }

    fn indexes(&self, name: &str) -> Result<MetaAnswer, String> {
        let only = if name.is_empty() { String::new() } else { self.only(name)? };
        let order = "order by s.name, t.name, x.index_id, k.is_included_column, k.key_ordinal, k.index_column_id";
        let mut rows: Vec<Vec<Value>> = Vec::new();
        let (mut last, mut key, mut included) = (String::new(), Vec::new(), Vec::new());
        let close =
            |rows: &mut Vec<Vec<Value>>, key: &mut Vec<String>, included: &mut Vec<String>| {
                if let Some(row) = rows.last_mut() {
                    row.push(Value::str(key.join(", ")));
                    row.push(if included.is_empty() {
                        Value::Null
                    } else {
                        Value::str(included.join(", "))
                    });
                }
                key.clear();
                included.clear();
            };
        for row in &self.rows(&format!("{INDEXES}{only} {order}"))? {
            let table = format!("{}.{}", text(row, 0), text(row, 1));
            let this = format!("{table}.{}", text(row, 3));
            if this != last {
                close(&mut rows, &mut key, &mut included);
                last = this;
                let mut kind = vec![if text(row, 3) == "1" { "clustered" } else { "nonclustered" }];
                if is_set(row, 4) {
                    kind.insert(0, "primary key");
                } else if is_set(row, 5) {
                    kind.insert(0, "unique");
                }
                rows.push(vec![
                    Value::str(table),
                    Value::str(text(row, 2)),
                    Value::str(kind.join(", ")),
                ]);
            }
            if is_set(row, 8) {
                included.push(text(row, 6));
            } else {
                key.push(format!("{}{}", text(row, 6), if is_set(row, 7) { " desc" } else { "" }));
            }
        }
        close(&mut rows, &mut key, &mut included);
        Ok(MetaAnswer {
            columns: ["table", "index", "kind", "key", "included"].map(text_column).to_vec(),
            rows,
        })
    }
}
