//! Orders of rows.

use expr::Expr;
use types::Collation;

/// A key of an ORDER BY.
#[derive(Clone, Debug)]
pub struct SortKey {
    pub expr: Expr,
    pub descending: bool,
    pub collation: Collation,
}
