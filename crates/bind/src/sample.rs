//! TABLESAMPLE: a table of which only some pages are read.
//! Guarantees: what policies let through of the rows stays so; whatever is no table is 494.

use super::{literal, unsupported};
use logical::access_hints::{Sample, SampleAmount};
use logical::tree::Logical;
use std::sync::Arc;
use syntax::ast;
use types::convert::{Mode, convert};
use types::{DataType, SqlError, Value, msg};

/// A table of which only some pages are read; `of`: the object that is named.
///
/// Errors: 494 it is none, 476 and 477 the amount, 497 a variable; 40517 with locks on rows.
pub(super) fn sampled(
    logical: Logical,
    of: i32,
    name: &ast::ObjectName,
    sample: &ast::TableSample,
) -> Result<Logical, SqlError> {
    // A view may be no more than its table.
    let (mut get, conditions) = match logical {
        Logical::Get(get) if get.table.object_id == of => (get, Vec::new()),
        Logical::Filter { input, preds } => match input.into_inner() {
            // What a policy lets through of the pages that are read.
            Logical::Get(get) if get.table.object_id == of => (get, preds),
            _ => return Err(not_sampled()),
        },
        _ => return Err(not_sampled()),
    };
    if get.locks.is_some() {
        return Err(unsupported("TABLESAMPLE with locks on rows"));
    }
    let number = |e: &ast::Expr| match e.kind {
        ast::ExprKind::Variable(_) => Err(SqlError::of(msg::TABLESAMPLE_VARIABLES, [])),
        _ => literal::literal(e),
    };
    let whole = |e: &ast::Expr| {
        number(e)?.as_i64().ok_or_else(|| SqlError::of(msg::TABLESAMPLE_ROWS, [&name.name]))
    };
    let amount = if sample.rows {
        SampleAmount::Rows(u64::try_from(whole(&sample.amount)?).unwrap_or(0))
    } else {
        let value = number(&sample.amount)?;
        let ty = value.natural_type();
        let percent = convert(&value, ty, DataType::Float, 0, Mode::Implicit);
        let percent = match percent {
            Ok(Value::Float(percent)) if (0.0..=100.0).contains(&percent) => percent,
            _ => {
                return Err(SqlError::of(
                    msg::TABLESAMPLE_PERCENT,
                    [&types::display::format_value(&value, ty), &name.name],
                ));
            }
        };
        SampleAmount::Share((percent / 100.0 * Sample::ALL as f64) as u64)
    };
    let seed = sample.repeatable.as_ref().map(whole).transpose()?;
    let base = get.table.storage.index_id;
    let access = &mut Arc::make_mut(&mut get).hints.access;
    access.sample = Some(Sample { amount, seed });
    // Pages of the base: rows of an index lie on others.
    (access.index, access.scan) = (Some(base), true);
    Ok(Logical::Get(get).filtered(conditions))
}

/// 494.
fn not_sampled() -> SqlError {
    SqlError::of(msg::TABLESAMPLE_NOT_LOCAL, [])
}
