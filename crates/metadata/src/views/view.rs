//! What a system view is: its columns, and the function or query that makes its rows. Guarantees: a
//! view that seeks makes only rows that may be wanted; the binder asks of each for the right that
//! it needs.

use std::any::Any;
use std::sync::{Arc, OnceLock};

use ::types::look::GO_ON;
use ::types::{CancelCheck, SqlError, Value};

use session::state::SessionCore;
use syntax::ast;

use super::rights;
use catalog::Db;
use logical::view::{PIECE, RowSource, ViewColumn, ViewDef, ViewRows};

/// Rows of a view.
pub type ViewResult = Result<Vec<Vec<Value>>, SqlError>;

/// A view whose rows the engine makes.
pub trait SystemView: ViewDef {
    /// The rows, each with a value for every column; `args` are the function's arguments, already
    /// evaluated. `db` is the database the view was named in, the current one unless the name said
    /// otherwise.
    fn rows(&self, session: &mut SessionCore, db: &Arc<Db>, args: &[Value]) -> ViewResult;
    /// The wanted columns of the rows, piece by piece: for views that may be longer than memory.
    fn open(
        &self,
        session: &mut SessionCore,
        db: &Arc<Db>,
        args: &[Value],
        keep: &[usize],
    ) -> Result<Box<dyn RowSource>, SqlError> {
        let mut rows = self.rows(session, db, args)?;
        for row in &mut rows {
            *row = keep
                .iter()
                .map(|at| row.get_mut(*at).map_or(Value::Null, std::mem::take))
                .collect();
        }
        Ok(Box::new(RowsAtOnce(rows.into_iter())))
    }
}

/// All rows of a source, for views that are asked for them at once.
pub(super) fn all_of(mut source: Box<dyn RowSource>) -> ViewResult {
    let (mut rows, mut piece) = (Vec::new(), ViewRows::default());
    while source.next(&mut piece, GO_ON)? {
        rows.extend(piece.drain());
    }
    Ok(rows)
}

/// The session that asks for rows.
pub(super) fn session_of(session: &mut dyn Any) -> Result<&mut SessionCore, SqlError> {
    session
        .downcast_mut()
        .ok_or_else(|| SqlError::internal("a system view was asked by no session"))
}

/// Rows that were made at once.
struct RowsAtOnce(std::vec::IntoIter<Vec<Value>>);

impl RowSource for RowsAtOnce {
    fn next(&mut self, out: &mut ViewRows, _: CancelCheck<'_>) -> Result<bool, SqlError> {
        out.clear();
        self.0.by_ref().take(PIECE).for_each(|row| out.push(row));
        Ok(!out.is_empty())
    }
}

/// What a query wants of a view that seeks.
pub struct WantedRows<'a> {
    /// Positions of the columns that a row has, in this order.
    keep: &'a [usize],
    equal: &'a [(usize, Value)],
}

impl<'a> WantedRows<'a> {
    /// These columns, of the rows in which others have values.
    pub fn new(keep: &'a [usize], equal: &'a [(usize, Value)]) -> WantedRows<'a> {
        WantedRows { keep, equal }
    }

    /// The parts, to be kept.
    pub fn owned(&self) -> (Vec<usize>, Vec<(usize, Value)>) {
        (self.keep.to_vec(), self.equal.to_vec())
    }

    /// The number that a column must have; 0 for a value that no id has.
    pub fn id(&self, column: usize) -> Option<i32> {
        let (_, value) = self.equal.iter().find(|(at, _)| *at == column)?;
        Some(value.as_i64().and_then(|id| i32::try_from(id).ok()).unwrap_or(0))
    }

    /// Whether a column is wanted.
    pub fn has(&self, column: usize) -> bool {
        self.keep.contains(&column)
    }

    /// Whether a text column may have this value. A name is compared as the catalog compares it, or
    /// not at all.
    pub fn may_be(&self, column: usize, name: &str) -> bool {
        let Some((_, value)) = self.equal.iter().find(|(at, _)| *at == column) else { return true };
        match value.as_str() {
            Some(wanted) if wanted.is_ascii() && name.is_ascii() => {
                wanted.trim_end().eq_ignore_ascii_case(name.trim_end())
            }
            Some(_) => true,
            None => !value.is_null(),
        }
    }

    /// A row of the wanted columns.
    pub fn row(&self, value: impl FnMut(usize) -> Value) -> Vec<Value> {
        self.values(value).collect()
    }

    /// The values of such a row.
    pub fn values(&self, value: impl FnMut(usize) -> Value) -> impl Iterator<Item = Value> {
        self.keep.iter().copied().map(value)
    }

    /// The wanted columns of a row that has all.
    pub fn part(&self, mut row: Vec<Value>) -> Vec<Value> {
        self.row(|at| row.get_mut(at).map_or(Value::Null, std::mem::take))
    }
}

/// Makes all rows.
type MakeAll = fn(&mut SessionCore, &Arc<Db>, &[Value]) -> ViewResult;

/// Makes the wanted columns of the wanted rows, of others too if it likes.
type MakeWanted = fn(&mut SessionCore, &Arc<Db>, &WantedRows<'_>) -> ViewResult;

/// Begins to make the wanted columns of the wanted rows piece by piece.
type MakePieces =
    fn(&SessionCore, &Arc<Db>, &WantedRows<'_>) -> Result<Box<dyn RowSource>, SqlError>;

pub(super) enum MakeRows {
    All(MakeAll),
    Wanted {
        sought: &'static [usize],
        expected: fn(&Db) -> f64,
        make: MakeWanted,
        /// The same rows in pieces, of views that may have very many.
        pieces: Option<MakePieces>,
    },
    /// A query over other system views; parsed when it is first asked.
    Query {
        text: &'static str,
        parsed: OnceLock<Result<Box<ast::Query>, Box<SqlError>>>,
    },
}

/// The query of a text.
pub(super) fn parsed(text: &str) -> Result<Box<ast::Query>, SqlError> {
    let stmts = syntax::parse(text).map_err(catalog::errors::syntax_error)?;
    match stmts.into_iter().next().map(|stmt| stmt.kind) {
        Some(ast::StmtKind::Select(query)) => Ok(query),
        _ => Err(SqlError::internal("the text of a system view is no query")),
    }
}

/// A view made of its columns and a function.
pub struct View {
    schema: &'static str,
    name: &'static str,
    columns: &'static [ViewColumn],
    arguments: Option<usize>,
    make: MakeRows,
}

impl ViewDef for View {
    fn schema(&self) -> &'static str {
        self.schema
    }

    fn name(&self) -> &'static str {
        self.name
    }

    fn columns(&self) -> &'static [ViewColumn] {
        self.columns
    }

    fn arguments(&self) -> Option<usize> {
        self.arguments
    }

    fn right(&self) -> logical::rights::ViewRight {
        rights::needs(self.schema, self.name)
    }

    fn start(
        &self,
        session: &mut dyn Any,
        db: &Arc<Db>,
        args: &[Value],
        keep: &[usize],
    ) -> Result<Box<dyn RowSource>, SqlError> {
        self.seek(session, db, args, keep, &[])
    }

    fn query(&self) -> Result<Option<&ast::Query>, SqlError> {
        let MakeRows::Query { text, parsed: known } = &self.make else { return Ok(None) };
        match known.get_or_init(|| parsed(text).map_err(Box::new)) {
            Ok(query) => Ok(Some(query)),
            Err(error) => Err((**error).clone()),
        }
    }

    fn sought(&self) -> &'static [usize] {
        match self.make {
            MakeRows::All(_) | MakeRows::Query { .. } => &[],
            MakeRows::Wanted { sought, .. } => sought,
        }
    }

    fn expected_rows(&self, db: &Db) -> f64 {
        match self.make {
            MakeRows::All(_) | MakeRows::Query { .. } => 100.0,
            MakeRows::Wanted { expected, .. } => expected(db),
        }
    }

    fn seek(
        &self,
        session: &mut dyn Any,
        db: &Arc<Db>,
        args: &[Value],
        keep: &[usize],
        equal: &[(usize, Value)],
    ) -> Result<Box<dyn RowSource>, SqlError> {
        let session = session_of(session)?;
        let MakeRows::Wanted { make, pieces, .. } = self.make else {
            return self.open(session, db, args, keep);
        };
        if !session.may_all() {
            // What a caller may see is told from columns that it need not have asked for.
            let all: Vec<usize> = (0..self.columns.len()).collect();
            let mut rows = make(session, db, &WantedRows { keep: &all, equal })?;
            rights::keep_visible(session, db, (self.schema, self.name), self.columns, &mut rows);
            let wanted = WantedRows { keep, equal };
            let rows: Vec<_> = rows.into_iter().map(|row| wanted.part(row)).collect();
            return Ok(Box::new(RowsAtOnce(rows.into_iter())));
        }
        if let Some(start) = pieces {
            return start(session, db, &WantedRows { keep, equal });
        }
        let rows = make(session, db, &WantedRows { keep, equal })?;
        debug_assert!(rows.iter().all(|row| row.len() == keep.len()), "rows of {}", self.name);
        Ok(Box::new(RowsAtOnce(rows.into_iter())))
    }
}

impl SystemView for View {
    fn rows(&self, session: &mut SessionCore, db: &Arc<Db>, args: &[Value]) -> ViewResult {
        let mut rows = match self.make {
            MakeRows::All(make) => make(session, db, args)?,
            MakeRows::Query { .. } => {
                return Err(SqlError::internal("the rows of a query are asked of its view"));
            }
            MakeRows::Wanted { make, .. } => {
                let keep: Vec<usize> = (0..self.columns.len()).collect();
                make(session, db, &WantedRows { keep: &keep, equal: &[] })?
            }
        };
        rights::keep_visible(session, db, (self.schema, self.name), self.columns, &mut rows);
        debug_assert!(
            rows.iter().all(|row| row.len() == self.columns.len()),
            "rows of {} have a wrong width",
            self.name
        );
        Ok(rows)
    }
}

impl View {
    /// `sys.name`.
    pub const fn sys(name: &'static str, columns: &'static [ViewColumn], make: MakeAll) -> View {
        View { schema: "sys", name, columns, arguments: None, make: MakeRows::All(make) }
    }

    /// `dbo.name` of master.
    pub(crate) const fn of_master(
        name: &'static str,
        columns: &'static [ViewColumn],
        make: MakeAll,
    ) -> View {
        View { schema: "dbo", name, columns, arguments: None, make: MakeRows::All(make) }
    }

    /// `sys.name`, which finds rows by the values of columns. `expected`: about how many rows there
    /// are.
    pub const fn seeking(
        name: &'static str,
        columns: &'static [ViewColumn],
        sought: &'static [usize],
        expected: fn(&Db) -> f64,
        make: MakeWanted,
    ) -> View {
        let make = MakeRows::Wanted { sought, expected, make, pieces: None };
        View { schema: "sys", name, columns, arguments: None, make }
    }

    /// The view, whose rows are also made piece by piece.
    pub(crate) const fn in_pieces(mut self, start: MakePieces) -> View {
        if let MakeRows::Wanted { pieces, .. } = &mut self.make {
            *pieces = Some(start);
        }
        self
    }

    /// `INFORMATION_SCHEMA.name`, as [`View::seeking`].
    pub(crate) const fn information_seeking(
        name: &'static str,
        columns: &'static [ViewColumn],
        sought: &'static [usize],
        expected: fn(&Db) -> f64,
        make: MakeWanted,
    ) -> View {
        let make = MakeRows::Wanted { sought, expected, make, pieces: None };
        View { schema: "INFORMATION_SCHEMA", name, columns, arguments: None, make }
    }

    /// `sys.name`, a query over other system views whose columns stand in the order of `columns`.
    pub const fn defined(
        name: &'static str,
        columns: &'static [ViewColumn],
        text: &'static str,
    ) -> View {
        let make = MakeRows::Query { text, parsed: OnceLock::new() };
        View { schema: "sys", name, columns, arguments: None, make }
    }

    /// `INFORMATION_SCHEMA.name`, as [`View::defined`].
    pub(crate) const fn information_defined(
        name: &'static str,
        columns: &'static [ViewColumn],
        text: &'static str,
    ) -> View {
        let make = MakeRows::Query { text, parsed: OnceLock::new() };
        View { schema: "INFORMATION_SCHEMA", name, columns, arguments: None, make }
    }

    /// `sys.name` of what this server does not have: no rows.
    pub const fn empty(name: &'static str, columns: &'static [ViewColumn]) -> View {
        View::sys(name, columns, |_, _, _| Ok(Vec::new()))
    }

    /// `INFORMATION_SCHEMA.name` of what this server does not have.
    pub(crate) const fn information_empty(
        name: &'static str,
        columns: &'static [ViewColumn],
    ) -> View {
        View::information(name, columns, |_, _, _| Ok(Vec::new()))
    }

    /// `sys.name(arguments)`.
    pub const fn function(
        name: &'static str,
        arguments: usize,
        columns: &'static [ViewColumn],
        make: MakeAll,
    ) -> View {
        View { schema: "sys", name, columns, arguments: Some(arguments), make: MakeRows::All(make) }
    }

    /// `INFORMATION_SCHEMA.name`.
    pub const fn information(
        name: &'static str,
        columns: &'static [ViewColumn],
        make: MakeAll,
    ) -> View {
        View {
            schema: "INFORMATION_SCHEMA",
            name,
            columns,
            arguments: None,
            make: MakeRows::All(make),
        }
    }
}
