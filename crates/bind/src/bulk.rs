//! OPENROWSET(BULK ...): a file as a source of one row and one column.

use super::{Binder, unsupported};
use catalog::errors;
use expr::Expr;
use logical::tree::Logical;
use syntax::ast::{self, OptionItem};
use types::{SqlError, Value, msg};

/// What the file is read as, and the view that reads it.
const SINGLE: [(&str, &str); 3] = [
    ("SINGLE_CLOB", "openrowset clob()"),
    ("SINGLE_NCLOB", "openrowset nclob()"),
    ("SINGLE_BLOB", "openrowset blob()"),
];

impl Binder<'_> {
    /// The file as a source.
    ///
    /// # Errors
    /// 491 without a name; 40517 rows of a file.
    pub(super) fn bulk_rowset(
        &mut self,
        file: &str,
        options: &[OptionItem],
        alias: Option<&ast::Ident>,
        columns: &[ast::Ident],
    ) -> Result<Logical, SqlError> {
        let Some(alias) = alias else {
            return Err(SqlError::of(msg::BULK_WITHOUT_CORRELATION_NAME, []));
        };
        let single = |option: &&OptionItem| SINGLE.iter().any(|(word, _)| option.name == *word);
        let mut singles = options.iter().filter(single);
        let Some(kind) = singles.next() else {
            return Err(unsupported(
                "OPENROWSET (BULK) without SINGLE_BLOB, SINGLE_CLOB or SINGLE_NCLOB",
            ));
        };
        if let Some(other) = options.iter().find(|option| !std::ptr::eq(*option, kind)) {
            return Err(errors::syntax_near(&other.name));
        }
        let view = SINGLE.iter().find(|(word, _)| kind.name == *word);
        let view = view.and_then(|(_, view)| self.env.names.view("sys", view));
        let view = view.ok_or_else(|| SqlError::internal("files are read by no view"))?;
        let name = ast::ObjectName::bare(alias.clone());
        let db = self.db.clone();
        let rows =
            self.system_view(db, view, vec![Expr::Const(Value::str(file))], &name, Some(alias))?;
        self.rename_columns(columns)?;
        Ok(rows)
    }
}
