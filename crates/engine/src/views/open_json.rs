//! OPENJSON: the members of an object or the elements of an array as rows. With a schema (WITH) the binder asks for the rows'
//! texts alone and takes the columns out of them.

use std::any::Any;
use std::sync::Arc;

use catalog::Db;
use expr::json::{self, Kind, Node, Path};
use plan::view::Argument;
use types::{Collation, DataType, Len, SqlError, Value};

use super::{RowSource, Rows, SystemView, ViewColumn, ViewDef};
use exec::state::SessionCore;

/// OPENJSON(text [, path]), and what it is below a schema.
pub struct OpenJson {
    columns: &'static [ViewColumn],
    /// A row for each element of an array, one for an object; texts as they are written.
    whole: bool,
}

const TEXT: DataType = DataType::NVarChar(Len::Max);

pub static OPEN_JSON: OpenJson = OpenJson {
    columns: &[
        ("key", DataType::NVarChar(Len::N(4000)), false),
        ("value", TEXT, true),
        ("type", DataType::TinyInt, false),
    ],
    whole: false,
};

static ROWS: OpenJson = OpenJson { columns: &[("key", TEXT, true), ("value", TEXT, true)], whole: true };

impl ViewDef for OpenJson {
    fn right(&self) -> plan::rights::ViewRight {
        super::rights::needs(self.schema(), self.name())
    }

    fn name(&self) -> &'static str {
        "openjson"
    }

    fn columns(&self) -> &'static [ViewColumn] {
        self.columns
    }

    fn arguments(&self) -> Option<usize> {
        Some(1)
    }

    fn optional_arguments(&self) -> usize {
        2
    }

    fn collation(&self, column: usize) -> Collation {
        // Names in a document are told apart by their case.
        if column == 0 && !self.whole { Collation::BIN2 } else { Collation::DEFAULT }
    }

    fn for_arguments(&self, args: &[Argument<'_>]) -> Result<Option<&'static dyn ViewDef>, SqlError> {
        for (at, arg) in args.iter().take(2).enumerate() {
            if !arg.ty.is_string() && !arg.is_null() {
                return Err(expr::functions::invalid_argument(arg.ty, at + 1, "OpenJson"));
            }
        }
        match args.get(2).map(|arg| arg.constant.and_then(Value::as_str)) {
            None => Ok(None),
            Some(Some("rows")) => Ok(Some(&ROWS)),
            Some(_) => {
                let text = "Procedure or function openjson has too many arguments specified.";
                Err(SqlError::new(8144, 16, 2, text))
            }
        }
    }

    fn start(
        &self,
        session: &mut dyn Any,
        db: &Arc<Db>,
        args: &[Value],
        keep: &[usize],
    ) -> Result<Box<dyn RowSource>, SqlError> {
        self.open(super::session_of(session)?, db, args, keep)
    }
}

impl SystemView for OpenJson {
    fn rows(&self, _session: &mut SessionCore, _db: &Arc<Db>, args: &[Value]) -> Rows {
        let Some(text) = args.first().and_then(Value::as_str) else { return Ok(Vec::new()) };
        let path = match args.get(1) {
            None => "$",
            Some(Value::Str(path)) => path.as_str(),
            Some(_) => return Ok(Vec::new()),
        };
        let path = Path::parse(path, false)?;
        match json::parse(text)?.at(&path.steps) {
            None if path.strict => Err(json::no_property()),
            None => Ok(Vec::new()),
            Some(node) if !node.is_container() && path.strict => {
                let text = "Value referenced by JSON path is not an array or object and cannot be opened with OPENJSON.";
                Err(SqlError::new(13611, 16, 1, text))
            }
            Some(node) if self.whole => Ok(whole(node)),
            Some(node) => Ok(listed(node)),
        }
    }
}

fn whole(node: Node<'_>) -> Vec<Vec<Value>> {
    let row = |node: Node<'_>| vec![Value::Null, Value::str(node.text)];
    match node.kind {
        Kind::Object => vec![row(node)],
        _ => node.elements().map(row).collect(),
    }
}

fn listed(node: Node<'_>) -> Vec<Vec<Value>> {
    let row = |key: &str, value: Node<'_>| {
        let text = if value.is_container() { Some(value.text.into()) } else { value.scalar() };
        vec![Value::str(key), text.map_or(Value::Null, Value::str), Value::TinyInt(value.kind as u8)]
    };
    match node.kind {
        Kind::Object => node.members().map(|m| row(&json::unescaped(m.name), m.value)).collect(),
        _ => node.elements().enumerate().map(|(at, value)| row(&at.to_string(), value)).collect(),
    }
}
