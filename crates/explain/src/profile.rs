//! The rows of SET STATISTICS PROFILE: those of SHOWPLAN_ALL behind what each operator did.

use types::{DataType, SqlError, Value};

use super::{Measured, Shown};
use session::output::ColumnInfo;

/// The columns.
pub fn columns() -> Vec<ColumnInfo> {
    let count = |name: &str| ColumnInfo::new(name, DataType::BigInt, true);
    let mut columns = vec![count("Rows"), count("Executes")];
    columns.extend(super::columns(true));
    columns
}

impl Shown<'_> {
    /// The rows of [`columns`]: the statement, then its operators. NULL where nobody has counted.
    ///
    /// # Errors
    /// Those of who is asked.
    pub fn profile(&self, measured: &Measured<'_>, id: usize) -> Result<Vec<Vec<Value>>, SqlError> {
        let big = |n: u64| Value::BigInt(i64::try_from(n).unwrap_or(i64::MAX));
        let steps = self.steps.iter().map(|step| match measured.of(step) {
            Some(counters) => [big(counters.rows), big(counters.executions)],
            None => [Value::Null, Value::Null],
        });
        let counts = std::iter::once([big(measured.rows), big(1)]).chain(steps);
        let rows = counts.zip(self.rows(true, id)?);
        Ok(rows.map(|(counts, row)| counts.into_iter().chain(row).collect()).collect())
    }
}
