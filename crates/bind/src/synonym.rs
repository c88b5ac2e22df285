//! What a synonym stands for.

use catalog::Db;
use catalog::other::SynonymDef;
use syntax::ast;
use types::{SqlError, msg};

/// The name that a synonym of a database stands for.
pub fn base_of(db: &Db, synonym: &SynonymDef) -> ast::ObjectName {
    let mut base = synonym.base.clone();
    if base.database.is_none() {
        let span = ast::Span::default();
        base.database = Some(ast::Ident { value: db.name(), quoted: true, span });
    }
    base
}

/// 5313.
pub fn invalid_synonym(name: &ast::ObjectName) -> SqlError {
    SqlError::of(msg::SYNONYM_INVALID, [&name])
}
