//! Result sets that a statement or a system procedure makes itself and sends as a whole.

use types::{DataType, SqlError, Value};

use session::output::{ColumnInfo, Sink, StatementEnd, StatementKind, give_each};
use session::state::SessionCore;

/// Sends a whole result set; `nested`: of a statement inside a procedure.
pub fn send(
    sink: &mut dyn Sink,
    columns: &[ColumnInfo],
    rows: &[Vec<Value>],
    core: &SessionCore,
    nested: bool,
) -> Result<(), SqlError> {
    sink.columns(columns)?;
    give_each(sink, rows)?;
    sink.done(StatementEnd {
        statement: StatementKind::Select,
        rows: (!core.options.nocount).then_some(rows.len() as u64),
        error: false,
        nested: nested || core.run.nest_level > 0,
    })
}

/// A column of a result set.
pub fn column(name: &str, ty: DataType, nullable: bool) -> ColumnInfo {
    ColumnInfo::new(name, ty, nullable)
}
