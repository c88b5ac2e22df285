//! DBCC DBREINDEX: indexes built again, as ALTER INDEX ... REBUILD builds them. Guarantee: it is
//! part of the session's transaction, so that a rollback leaves the indexes as they were.

use syntax::ast::{
    AlterIndex, AlterIndexAction, Expr, ExprKind, Ident, Literal, ObjectName, OptionItem,
    OptionValue, Span,
};
use types::{SqlError, msg};

use super::Command;
use catalog::errors;
use logical::isolation::Isolation;
use metadata::names::name_parts;

/// DBCC DBREINDEX ('table' [, 'index' [, fill factor]]): that index, and all of the table without a
/// name or for a blank one. The fill factor is kept without a number, and for 0.
pub(super) fn rebuild(command: &mut Command<'_, '_>) -> Result<(), SqlError> {
    let shown = command.text(0).unwrap_or_default().to_owned();
    let missing = || SqlError::of(msg::TABLE_OR_OBJECT_NOT_FOUND, [&shown]);
    let table = name_of(&shown).ok_or_else(missing)?;
    let index = command.text(1).map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned);
    let fill = command.number(2).filter(|percent| *percent != 0);
    let core = &command.ctx.core;
    if core.trancount() > 0 && core.options.isolation == Isolation::Snapshot {
        return Err(errors::ddl_in_snapshot());
    }
    let action = AlterIndexAction::Rebuild {
        partition: None,
        options: fill.map(fill_factor).into_iter().collect(),
    };
    let statement = AlterIndex { name: index.clone().map(ident), table, action };
    command.ctx.alter_index(&statement).map_err(|e| match (e.number, &index) {
        (1088, _) => missing(),
        (2727, Some(index)) => {
            SqlError::of(msg::DBCC_INDEX_NOT_FOUND, [index, &statement.table.name])
        }
        _ => e,
    })
}

/// The name in a text, of up to four parts.
fn name_of(text: &str) -> Option<ObjectName> {
    let mut parts = name_parts(text)?.into_iter();
    let name = ident(parts.next().filter(|name| !name.is_empty())?);
    let mut part = || parts.next().filter(|part| !part.is_empty()).map(ident);
    Some(ObjectName { schema: part(), database: part(), server: part(), name })
}

fn ident(value: String) -> Ident {
    Ident { value: value.into(), quoted: true, span: Span::default() }
}

/// FILLFACTOR = n.
fn fill_factor(percent: i64) -> OptionItem {
    let span = Span::default();
    let number = Expr { kind: ExprKind::Literal(Literal::Integer(percent)), span };
    OptionItem {
        name: "FILLFACTOR".into(),
        value: OptionValue::Expr(number),
        unit: None,
        nested: Vec::new(),
        span,
    }
}
