//! OPTION (TABLE HINT (t, ...)): the hints of a source of the query, in the place of those that
//! stand beside it. Guarantee: what a hint means for the rows is said beside the table too (8722);
//! a table that the query has not is an error (8723).

use crate::Binder;
use catalog::{TableDef, fold_name};
use syntax::ast::{self, ExprKind, OptionItem, OptionValue};
use types::{SqlError, msg};

/// Hints that say how rows are found, and nothing of which rows there are.
const ACCESS: [&str; 3] = ["INDEX", "FORCESEEK", "FORCESCAN"];
/// Hints that change neither.
const IDLE: [&str; 5] = ["ROWLOCK", "PAGLOCK", "TABLOCK", "NOEXPAND", "FASTFIRSTROW"];

/// The hints of one source.
pub struct TableHint {
    name: ast::ColumnRef,
    hints: Vec<OptionItem>,
    used: bool,
}

/// The TABLE HINT options of a statement.
pub fn of(options: &[OptionItem]) -> Vec<TableHint> {
    let hints = options.iter().filter(|option| option.name == "TABLE HINT");
    let hint = |option: &OptionItem| {
        let (first, hints) = option.nested.split_first()?;
        let OptionValue::Expr(ast::Expr { kind: ExprKind::Column(name), .. }) = &first.value else {
            return None;
        };
        Some(TableHint { name: name.clone(), hints: hints.to_vec(), used: false })
    };
    hints.filter_map(hint).collect()
}

/// 8723: a table that the query has not.
///
/// # Errors
/// 8723.
pub fn check_used(binder: &Binder<'_>) -> Result<(), SqlError> {
    match binder.table_hints.iter().find(|hint| !hint.used) {
        None => Ok(()),
        Some(hint) => Err(SqlError::of(msg::TABLE_HINT_OBJECT, [&shown(&hint.name)])),
    }
}

fn shown(name: &ast::ColumnRef) -> String {
    match &name.qualifier {
        Some(qualifier) => format!("{qualifier}.{}", name.name),
        None => name.name.to_string(),
    }
}

impl Binder<'_> {
    /// The hints that OPTION gives a source; none when it says nothing of it.
    ///
    /// # Errors
    /// 8722.
    pub fn table_hint(
        &mut self,
        table: &TableDef,
        name: &ast::ObjectName,
        alias: Option<&ast::Ident>,
        beside: &[OptionItem],
    ) -> Result<Option<Vec<OptionItem>>, SqlError> {
        if self.table_hints.is_empty() {
            return Ok(None);
        }
        let exposed = fold_name(alias.map_or(&name.name.value, |alias| &alias.value));
        let means = |hint: &&mut TableHint| {
            fold_name(&hint.name.name.value) == exposed
                && hint.name.qualifier.as_ref().is_none_or(|schema| {
                    alias.is_none() && fold_name(&schema.name.value) == fold_name(&table.schema)
                })
        };
        let Some(hint) = self.table_hints.iter_mut().find(means) else { return Ok(None) };
        hint.used = true;
        let plain = |item: &&OptionItem| {
            !ACCESS.contains(&item.name.as_str()) && !IDLE.contains(&item.name.as_str())
        };
        let other = |from: &[OptionItem], in_other: &[OptionItem]| {
            let missing =
                from.iter().filter(plain).find(|item| in_other.iter().all(|o| o.name != item.name));
            missing.map(|item| item.name.clone())
        };
        let differs = match other(beside, &hint.hints) {
            Some(item) => Some((item, "WITH", "TABLE HINT")),
            None => other(&hint.hints, beside).map(|item| (item, "TABLE HINT", "WITH")),
        };
        if let Some((item, there, missing)) = differs {
            return Err(SqlError::of(
                msg::SEMANTIC_HINT_MISSING,
                [&item.to_ascii_lowercase(), &there, &exposed, &missing],
            ));
        }
        Ok(Some(hint.hints.clone()))
    }
}
