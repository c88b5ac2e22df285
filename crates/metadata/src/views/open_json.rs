//! OPENJSON: the members of an object or the elements of an array as rows. With a schema (WITH) the
//! binder asks for the rows' texts alone and takes the columns out of them.
//! Guarantee: the text is checked once and then walked through once, however many rows it has.

use std::any::Any;
use std::sync::Arc;

use catalog::Db;
use expr::json::{self, JsonWalk, Kind, Path};
use logical::view::{Argument, PIECE, PIECE_BYTES};
use types::{CancelCheck, Collation, CompactString, DataType, Len, SqlError, Value, msg};

use super::view::all_of;
use super::{RowSource, SystemView, ViewColumn, ViewDef, ViewResult, ViewRows};
use session::state::SessionCore;

/// OPENJSON(text [, path]), and what it is below a schema.
pub struct OpenJson {
    columns: &'static [ViewColumn],
    /// A row for each element of an array, one for an object; texts as they are written.
    whole: bool,
}

const TEXT: DataType = DataType::NVarChar(Len::Max);

pub(crate) static OPEN_JSON: OpenJson = OpenJson {
    columns: &[
        ("key", DataType::NVarChar(Len::N(4000)), false),
        ("value", TEXT, true),
        ("type", DataType::TinyInt, false),
    ],
    whole: false,
};

static ROWS: OpenJson =
    OpenJson { columns: &[("key", TEXT, true), ("value", TEXT, true)], whole: true };

impl ViewDef for OpenJson {
    fn right(&self) -> logical::rights::ViewRight {
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

    fn for_arguments(
        &self,
        args: &[Argument<'_>],
    ) -> Result<Option<&'static dyn ViewDef>, SqlError> {
        for (at, arg) in args.iter().take(2).enumerate() {
            if !arg.ty.is_string() && !arg.is_null() {
                return Err(expr::functions::invalid_argument(arg.ty, at + 1, "OpenJson"));
            }
        }
        match args.get(2).map(|arg| arg.constant.and_then(Value::as_str)) {
            None => Ok(None),
            Some(Some("rows")) => Ok(Some(&ROWS)),
            Some(_) => Err(SqlError::of(msg::TOO_MANY_ARGUMENTS, [&"openjson"])),
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
    fn rows(&self, session: &mut SessionCore, db: &Arc<Db>, args: &[Value]) -> ViewResult {
        let keep: Vec<usize> = (0..self.columns.len()).collect();
        all_of(self.open(session, db, args, &keep)?)
    }

    fn open(
        &self,
        session: &mut SessionCore,
        _db: &Arc<Db>,
        args: &[Value],
        keep: &[usize],
    ) -> Result<Box<dyn RowSource>, SqlError> {
        let none = || Ok(Box::new(JsonRows::default()) as Box<dyn RowSource>);
        let Some(Value::Str(text)) = args.first() else { return none() };
        let path = match args.get(1) {
            None => "$",
            Some(Value::Str(path)) => path.as_str(),
            Some(_) => return none(),
        };
        let path = Path::parse(path, false)?;
        let look = || session.check_cancel();
        let node = match json::parse(text, &look)?.at(&path.steps, &look)? {
            None if path.strict => return Err(json::no_property()),
            None => return none(),
            Some(node) if !node.is_container() && path.strict => {
                return Err(SqlError::of(msg::JSON_NOT_OPENABLE, []));
            }
            Some(node) => node,
        };
        let rest = match node.kind {
            Kind::Object if self.whole => JsonRest::One(node.at..node.at + node.text.len()),
            Kind::Object => JsonRest::Members(node.at + 1),
            Kind::Array => JsonRest::Elements(node.at + 1),
            _ => JsonRest::None,
        };
        let keep = keep.to_vec();
        Ok(Box::new(JsonRows { text: text.clone(), rest, whole: self.whole, count: 0, keep }))
    }
}

/// Where the next row is in the text.
#[derive(Default)]
enum JsonRest {
    #[default]
    None,
    /// The whole object.
    One(std::ops::Range<usize>),
    Members(usize),
    Elements(usize),
}

/// The rest of the rows: the text is walked through as they are asked for.
#[derive(Default)]
struct JsonRows {
    text: CompactString,
    rest: JsonRest,
    /// Texts as they are written, nothing else.
    whole: bool,
    /// Rows that were given.
    count: usize,
    keep: Vec<usize>,
}

impl JsonRows {
    /// The next row: key, value, type. It leaves the place of the one after it.
    fn row(&mut self, look: CancelCheck<'_>) -> Result<Option<[Value; 3]>, SqlError> {
        let text = self.text.as_str();
        let (key, node) = match std::mem::take(&mut self.rest) {
            JsonRest::None => return Ok(None),
            JsonRest::One(place) => {
                return Ok(Some([Value::Null, Value::str(&text[place]), Value::Null]));
            }
            JsonRest::Members(at) => {
                let mut walk = JsonWalk::resume(text, at, look);
                let Some(member) = walk.member()? else { return Ok(None) };
                self.rest = JsonRest::Members(walk.at());
                (Value::str(json::unescaped(member.name, look)?), member.value)
            }
            JsonRest::Elements(at) => {
                let mut walk = JsonWalk::resume(text, at, look);
                let Some(element) = walk.element()? else { return Ok(None) };
                self.rest = JsonRest::Elements(walk.at());
                (if self.whole { Value::Null } else { Value::str(self.count.to_string()) }, element)
            }
        };
        self.count += 1;
        let value = match node.is_container() || self.whole {
            true => Value::str(node.text),
            false => node.scalar(look)?.map_or(Value::Null, Value::str),
        };
        Ok(Some([key, value, Value::TinyInt(node.kind as u8)]))
    }
}

impl RowSource for JsonRows {
    fn next(&mut self, out: &mut ViewRows, look: CancelCheck<'_>) -> Result<bool, SqlError> {
        out.clear();
        let mut bytes = 0;
        while out.len() < PIECE && bytes < PIECE_BYTES {
            let Some(row) = self.row(look)? else { break };
            bytes += row.iter().map(Value::heap_bytes).sum::<usize>();
            out.push(self.keep.iter().map(|at| row[*at].clone()));
        }
        Ok(!out.is_empty())
    }
}
