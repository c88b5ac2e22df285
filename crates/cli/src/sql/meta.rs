//! Questions in the words of other shells: psql's `\d`, SQLite's `.tables`, MySQL's `show
//! databases`. They are answered from the catalog, in this process without running T-SQL, so they
//! neither disturb a transaction nor wait for one.

use super::script::OutputTarget;
use clap::ValueEnum;
use engine::catalog::defs::{Catalog, IndexDef, TableDef};
use engine::{ColumnInfo, DataType, Instance, Value};
use std::sync::Arc;
use types::Len;

/// Names after a dot, of SQLite's shell, that are understood within a batch too when somebody
/// types.
pub const DOTS: [&str; 14] = [
    "databases",
    "exit",
    "help",
    "indexes",
    "indices",
    "mode",
    "output",
    "quit",
    "read",
    "schema",
    "shell",
    "system",
    "tables",
    "timer",
];

/// Rows to show.
pub struct MetaAnswer {
    pub columns: Vec<ColumnInfo>,
    pub rows: Vec<Vec<Value>>,
}

/// What a question asks for.
pub enum MetaReply {
    Answers(Vec<MetaAnswer>),
    Text(String),
    /// T-SQL to run.
    Run(String),
    /// Run the batch that is being gathered.
    Go,
    /// Draw the plan of a text, or of the batch that is being gathered.
    Plan {
        text: Option<String>,
        /// Run it and show what each operator did.
        measured: bool,
    },
    Reset,
    Quit,
    Include(String),
    Out(OutputTarget),
    Shell(String),
    Timing(Option<bool>),
    Pager(Option<bool>),
    Format(crate::output::Format),
}

/// What there is in a database, as the questions ask for it. Errors: a complaint.
pub trait Catalogue {
    fn databases(&self) -> Result<MetaAnswer, String>;
    fn schemas(&self) -> Result<MetaAnswer, String>;
    /// Tables whose name or schema-qualified name is `like`, with `*` and `%` for anything; all
    /// when it is empty.
    fn tables(&self, like: &str) -> Result<MetaAnswer, String>;
    /// Columns and indexes of a table; of all tables without a name the columns.
    fn describe(&self, name: &str) -> Result<Vec<MetaAnswer>, String>;
    /// Indexes of a table, or of all.
    fn indexes(&self, name: &str) -> Result<MetaAnswer, String>;
}

/// The catalog of an instance in this process.
pub struct Embedded {
    pub instance: Arc<Instance>,
    pub database: String,
}

impl Embedded {
    fn catalog(&self) -> Arc<Catalog> {
        self.instance.find_db(&self.database).map(|db| db.catalog()).unwrap_or_default()
    }
}

impl Catalogue for Embedded {
    fn databases(&self) -> Result<MetaAnswer, String> {
        Ok(databases(&self.instance))
    }

    fn schemas(&self) -> Result<MetaAnswer, String> {
        Ok(schemas(&self.catalog()))
    }

    fn tables(&self, like: &str) -> Result<MetaAnswer, String> {
        Ok(tables(&self.catalog(), like))
    }

    fn describe(&self, name: &str) -> Result<Vec<MetaAnswer>, String> {
        describe(&self.catalog(), name)
    }

    fn indexes(&self, name: &str) -> Result<MetaAnswer, String> {
        indexes(&self.catalog(), name)
    }
}

/// Answers a question. `gathered` is the batch as it stands. Errors: a complaint.
pub fn ask(question: &str, catalogue: &dyn Catalogue, gathered: &str) -> Result<MetaReply, String> {
    let (word, rest) = question.split_once(char::is_whitespace).unwrap_or((question, ""));
    let rest = rest.trim();
    // `\!ls` needs no blank.
    let (word, rest) = match question.strip_prefix("\\!") {
        Some(command) => ("\\!", command.trim()),
        None => (word, rest),
    };
    let wanted = |what: &str| {
        if rest.is_empty() { Err(format!("{word} wants {what}.")) } else { Ok(rest.to_owned()) }
    };
    let lower = question.to_ascii_lowercase();
    Ok(match word.to_ascii_lowercase().as_str() {
        "\\l" | ".databases" => MetaReply::Answers(vec![catalogue.databases()?]),
        "\\dt" | ".tables" => MetaReply::Answers(vec![catalogue.tables(rest)?]),
        "\\dn" => MetaReply::Answers(vec![catalogue.schemas()?]),
        "\\d" if rest.is_empty() => MetaReply::Answers(vec![catalogue.tables("")?]),
        "\\d" | "\\d+" | ".schema" | "desc" | "describe" => {
            MetaReply::Answers(catalogue.describe(rest)?)
        }
        "\\di" | ".indexes" | ".indices" => MetaReply::Answers(vec![catalogue.indexes(rest)?]),
        "\\c" | "\\connect" => {
            MetaReply::Run(format!("use [{}]", wanted("a database")?.replace(']', "]]")))
        }
        "\\g" => MetaReply::Go,
        "\\plan" | "\\profile" => MetaReply::Plan {
            text: Some(rest.to_owned()).filter(|text| !text.is_empty()),
            measured: word.eq_ignore_ascii_case("\\profile"),
        },
        "\\p" => MetaReply::Text(gathered.to_owned()),
        "\\r" => MetaReply::Reset,
        "\\q" | ".quit" | ".exit" => MetaReply::Quit,
        "\\i" | ".read" => MetaReply::Include(wanted("a file")?),
        "\\o" | ".output" if rest.is_empty() => MetaReply::Out(OutputTarget::Stdout),
        "\\o" | ".output" => MetaReply::Out(OutputTarget::File(rest.to_owned())),
        "\\!" | ".shell" | ".system" => MetaReply::Shell(wanted("a command")?),
        "\\timing" | ".timer" => MetaReply::Timing(switch(rest)?),
        "\\pager" => MetaReply::Pager(switch(rest)?),
        "\\format" | ".mode" => MetaReply::Format(format(rest)?),
        "\\?" | "\\h" | ".help" | "help" | "?" => MetaReply::Text(super::script::HELP.into()),
        "show" if lower.ends_with("databases") => MetaReply::Answers(vec![catalogue.databases()?]),
        "show" if lower.ends_with("tables") => MetaReply::Answers(vec![catalogue.tables("")?]),
        "show" => MetaReply::Answers(vec![catalogue.schemas()?]),
        _ => return Err(format!("{word} is not a command; :help names them.")),
    })
}

fn switch(text: &str) -> Result<Option<bool>, String> {
    match text.to_ascii_lowercase().as_str() {
        "" => Ok(None),
        "on" => Ok(Some(true)),
        "off" => Ok(Some(false)),
        _ => Err(format!("expected on or off, not '{text}'.")),
    }
}

fn format(text: &str) -> Result<crate::output::Format, String> {
    use crate::output::Format;
    Format::from_str(text, true).map_err(|_| {
        let known = Format::value_variants().iter().filter_map(ValueEnum::to_possible_value);
        let names: Vec<String> = known.map(|value| value.get_name().to_owned()).collect();
        format!("the formats are {}.", names.join(", "))
    })
}

pub fn text_column(name: &str) -> ColumnInfo {
    ColumnInfo::new(name, DataType::NVarChar(Len::N(128)), true)
}

fn databases(instance: &Instance) -> MetaAnswer {
    let columns = ["name", "state", "recovery"].map(text_column).to_vec();
    let rows = instance.databases().into_iter().map(|db| {
        vec![
            Value::str(db.name()),
            Value::str(db.status().name()),
            Value::str(db.recovery_model().name()),
        ]
    });
    MetaAnswer { columns, rows: rows.collect() }
}

fn schemas(catalog: &Catalog) -> MetaAnswer {
    // Those of the fixed roles have nothing in them.
    let shown =
        catalog.schema_names.iter().filter(|(id, _)| **id < engine::catalog::security::DB_OWNER);
    let mut names: Vec<_> = shown.map(|(_, name)| name).collect();
    names.sort();
    MetaAnswer {
        columns: vec![text_column("schema")],
        rows: names.iter().map(|name| vec![Value::str(name)]).collect(),
    }
}

/// Tables whose name or schema-qualified name is `like`, with `*` and `%` for anything.
fn tables(catalog: &Catalog, like: &str) -> MetaAnswer {
    let columns = vec![
        text_column("schema"),
        text_column("table"),
        ColumnInfo::new("rows", DataType::BigInt, true),
    ];
    let rows = catalog.sorted().into_iter().filter(|table| {
        like.is_empty()
            || matches(like, &table.name)
            || matches(like, &format!("{}.{}", table.schema, table.name))
    });
    let row = |table: &std::sync::Arc<TableDef>| {
        let count = table.state.rows();
        let count = if count < 0 { Value::Null } else { Value::BigInt(count) };
        vec![Value::str(&table.schema), Value::str(&table.name), count]
    };
    MetaAnswer { columns, rows: rows.map(row).collect() }
}

/// Whether `name` is like `pattern`, without regard to case.
pub fn matches(pattern: &str, name: &str) -> bool {
    fn like(pattern: &[char], name: &[char]) -> bool {
        match pattern.split_first() {
            None => name.is_empty(),
            Some(('*' | '%', rest)) => (0..=name.len()).any(|at| like(rest, &name[at..])),
            Some((first, rest)) => name.first() == Some(first) && like(rest, &name[1..]),
        }
    }
    let folded = |text: &str| text.to_lowercase().chars().collect::<Vec<_>>();
    like(&folded(pattern), &folded(name))
}

/// A table by its name as it is written in T-SQL, with or without schema and brackets.
fn find<'c>(catalog: &'c Catalog, name: &str) -> Result<&'c TableDef, String> {
    let plain = name.replace(['[', ']', '"'], "");
    let (schema, table) = plain.rsplit_once('.').unwrap_or(("dbo", &plain));
    let found = catalog.find(schema, table).map(AsRef::as_ref);
    found.ok_or_else(|| format!("there is no table '{name}' in this database."))
}

/// Columns and indexes of a table; of all tables without a name the columns.
fn describe(catalog: &Catalog, name: &str) -> Result<Vec<MetaAnswer>, String> {
    let columns: Vec<ColumnInfo> = ["column", "type", "null", "default"].map(text_column).to_vec();
    let of = |table: &TableDef| -> Vec<Vec<Value>> {
        let row = |column: &engine::catalog::defs::ColumnDef| {
            let identity = column.identity.map(|(seed, step)| format!(" identity({seed}, {step})"));
            vec![
                Value::str(&column.name),
                Value::str(format!("{}{}", column.ty, identity.unwrap_or_default())),
                Value::str(if column.nullable { "yes" } else { "no" }),
                column.default.as_ref().map_or(Value::Null, |default| Value::str(&default.text)),
            ]
        };
        table.columns.iter().map(row).collect()
    };
    if !name.is_empty() {
        let table = find(catalog, name)?;
        let mut answers = vec![MetaAnswer { columns, rows: of(table) }];
        let keys = indexes(catalog, name)?;
        if !keys.rows.is_empty() {
            answers.push(keys);
        }
        return Ok(answers);
    }
    let mut rows = Vec::new();
    for table in catalog.sorted() {
        let full = format!("{}.{}", table.schema, table.name);
        rows.extend(of(table).into_iter().map(|row| [vec![Value::str(&full)], row].concat()));
    }
    Ok(vec![MetaAnswer { columns: [vec![text_column("table")], columns].concat(), rows }])
}

fn indexes(catalog: &Catalog, name: &str) -> Result<MetaAnswer, String> {
    let tables: Vec<&TableDef> = if name.is_empty() {
        catalog.sorted().into_iter().map(AsRef::as_ref).collect()
    } else {
        vec![find(catalog, name)?]
    };
    let columns = ["table", "index", "kind", "key", "included"].map(text_column).to_vec();
    let row = |table: &TableDef, index: &IndexDef| {
        let name = |at: &usize| table.columns.get(*at).map_or("?", |column| column.name.as_str());
        let key: Vec<String> = index
            .key
            .iter()
            .map(|(at, descending)| {
                format!("{}{}", name(at), if *descending { " desc" } else { "" })
            })
            .collect();
        let included: Vec<&str> = index.included.iter().map(name).collect();
        let mut kind = vec![if index.index_id == 1 { "clustered" } else { "nonclustered" }];
        if index.primary_key.is_some() {
            kind.insert(0, "primary key");
        } else if index.unique {
            kind.insert(0, "unique");
        }
        vec![
            Value::str(format!("{}.{}", table.schema, table.name)),
            Value::str(&index.name),
            Value::str(kind.join(", ")),
            Value::str(key.join(", ")),
            if included.is_empty() { Value::Null } else { Value::str(included.join(", ")) },
        ]
    };
    let mut rows = Vec::new();
    for table in tables {
        let all = std::iter::once(&table.storage)
            .chain(&table.indexes)
            .filter(|index| index.index_id > 0);
        rows.extend(all.map(|index| row(table, index)));
    }
    Ok(MetaAnswer { columns, rows })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        assert!(matches("cust*", "Customer") && matches("%ER", "customer") && matches("*", ""));
        assert!(!matches("cust", "customer") && !matches("c*x", "customer"));
    }
}
