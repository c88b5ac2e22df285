//! System views and table functions as the binder sees them. The engine makes their rows.

use crate::rights::ViewRight;
use catalog::Db;
use catalog::security::Permission;
use std::any::Any;
use std::sync::Arc;
use types::{CancelCheck, Collation, DataType, SqlError, Value};

/// A column of a system view: name, type, nullable.
pub type ViewColumn = (&'static str, DataType, bool);

/// An argument of a table function as the binder knows it.
#[derive(Clone, Copy, Debug)]
pub struct Argument<'a> {
    pub ty: DataType,
    /// Its value, when it is a literal.
    pub constant: Option<&'a Value>,
}

impl Argument<'_> {
    /// The literal NULL, whose type says nothing.
    pub fn is_null(&self) -> bool {
        matches!(self.constant, Some(Value::Null))
    }
}

/// The object_id of what the system has under a name: negative, the same in every database and
/// version.
pub fn system_object_id(schema: &str, name: &str) -> i32 {
    let mut hash = 0x811c_9dc5_u32;
    for byte in schema.bytes().chain(name.bytes()) {
        hash = (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    }
    -i32::try_from(hash >> 1).unwrap_or(1).max(1)
}

/// A system view: its name and columns.
pub trait ViewDef: Sync {
    /// Schema: `sys`, `INFORMATION_SCHEMA`, or `dbo` of what master alone has.
    fn schema(&self) -> &'static str {
        "sys"
    }
    /// Name without schema.
    fn name(&self) -> &'static str;
    /// Columns in order.
    fn columns(&self) -> &'static [ViewColumn];
    /// Number of arguments for a table function, `None` for a view.
    fn arguments(&self) -> Option<usize> {
        None
    }
    /// How many arguments may follow those of [`ViewDef::arguments`].
    fn optional_arguments(&self) -> usize {
        0
    }
    /// The form of a table function whose columns follow from its arguments; `None` where there is
    /// one form.
    ///
    /// # Errors
    /// Arguments of types that the function does not take.
    fn for_arguments(
        &self,
        args: &[Argument<'_>],
    ) -> Result<Option<&'static dyn ViewDef>, SqlError> {
        let _ = args;
        Ok(None)
    }
    /// The collation of a text column, by its position.
    fn collation(&self, column: usize) -> Collation {
        let _ = column;
        Collation::DEFAULT
    }
    /// object_id as sys.all_objects shows it: negative, stable.
    fn object_id(&self) -> i32 {
        system_object_id(self.schema(), self.name())
    }

    /// The query that gives the rows of a view which is one over other system views, bound in its
    /// place.
    ///
    /// # Errors
    /// The text of the view is none.
    fn query(&self) -> Result<Option<&syntax::ast::Query>, SqlError> {
        Ok(None)
    }
    /// Positions of the columns by whose value the view finds its rows without making all of them.
    fn sought(&self) -> &'static [usize] {
        &[]
    }
    /// About how many rows it has in a database.
    fn expected_rows(&self, db: &Db) -> f64 {
        let _ = db;
        100.0
    }
    /// What it takes to see it.
    fn right(&self) -> ViewRight {
        ViewRight::Server(Permission::ControlServer)
    }

    /// The wanted columns of the rows, piece by piece. `session` is the session that asks, `args`
    /// are the function's arguments, `db` is the database the view was named in, the current one
    /// unless the name said otherwise.
    ///
    /// # Errors
    /// Those of the view.
    fn start(
        &self,
        session: &mut dyn Any,
        db: &Arc<Db>,
        args: &[Value],
        keep: &[usize],
    ) -> Result<Box<dyn RowSource>, SqlError>;

    /// The same, of the rows in which these columns (of [`ViewDef::sought`]) have these values.
    /// There may be others among them: the condition is tested again.
    ///
    /// # Errors
    /// Those of the view.
    fn seek(
        &self,
        session: &mut dyn Any,
        db: &Arc<Db>,
        args: &[Value],
        keep: &[usize],
        equal: &[(usize, Value)],
    ) -> Result<Box<dyn RowSource>, SqlError> {
        let _ = equal;
        self.start(session, db, args, keep)
    }
}

/// About so many rows are a piece.
pub const PIECE: usize = 128;

/// A piece ends when its values come to so many bytes.
pub const PIECE_BYTES: usize = 256 << 10;

/// Rows of one width, their values one after another.
#[derive(Debug, Default)]
pub struct ViewRows {
    /// Of all rows.
    pub values: Vec<Value>,
    count: usize,
}

impl ViewRows {
    /// How many rows.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Forgets the rows.
    pub fn clear(&mut self) {
        self.values.clear();
        self.count = 0;
    }

    /// Adds a row.
    pub fn push(&mut self, row: impl IntoIterator<Item = Value>) {
        self.values.extend(row);
        self.count += 1;
        debug_assert!(self.values.len().is_multiple_of(self.count), "a row of another width");
    }

    /// The rows, each on its own.
    pub fn drain(&mut self) -> impl Iterator<Item = Vec<Value>> {
        let width = self.values.len() / self.count.max(1);
        let count = std::mem::take(&mut self.count);
        let mut values = self.values.drain(..);
        (0..count).map(move |_| values.by_ref().take(width).collect())
    }
}

/// Rows of a view in pieces. It may be kept between two statements, or go to another thread.
pub trait RowSource: Send {
    /// Replaces the rows by the next ones, which have the wanted columns only; false when there are
    /// no more. A piece may be empty.
    ///
    /// # Errors
    /// Those of the view; that of `look`, which long work asks as it proceeds.
    fn next(&mut self, out: &mut ViewRows, look: CancelCheck<'_>) -> Result<bool, SqlError>;
}
