//! ADD and DROP SENSITIVITY CLASSIFICATION: how sensitive a column is said to be. It is kept like
//! an extended property, goes with its column, and is shown by sys.sensitivity_classifications.

use std::sync::Arc;

use catalog::properties::{Property, PropertyClass, PropertyHolder};
use catalog::{Db, errors};
use syntax::ast::{ExprKind, Literal, ObjectName, OptionItem, OptionValue, Sensitivity};
use types::{SqlError, Value};

use super::StmtCtx;
use ddl::properties::{self, RANKS};
use instance::catalog_locks::hold_object;

/// What may be said of a column; their places are the numbers that they are kept under, from 1.
const PARTS: [&str; 5] = ["LABEL", "LABEL_ID", "INFORMATION_TYPE", "INFORMATION_TYPE_ID", "RANK"];

impl StmtCtx<'_> {
    pub(super) fn sensitivity(&mut self, stmt: &Sensitivity) -> Result<(), SqlError> {
        let said = stmt.options.iter().map(said).collect::<Result<Vec<_>, _>>()?;
        if stmt.add && said.is_empty() {
            return Err(errors::syntax_near("WITH"));
        }
        let db = self.core.db().clone();
        // First the tables: whoever has locked one may want the lock below, too.
        let mut holders = Vec::with_capacity(stmt.columns.len());
        for name in &stmt.columns {
            let holder = holder_of(&db, name)?;
            hold_object(self.core, &db, holder.major)?;
            holders.push(holder);
        }
        properties::lock(self.core, &db)?;
        for (name, found) in stmt.columns.iter().zip(holders) {
            let holder = holder_of(&db, name)?;
            // Dropped meanwhile, and there is another one.
            if holder != found {
                return Err(errors::schema_changed());
            }
            let before = properties::of(&db, holder)?;
            if !stmt.add && before.is_empty() {
                return Err(missing(name));
            }
            // A new classification takes the place of all that was there before.
            for old in &before {
                properties::delete(self.core, &db, holder, old.number)?;
            }
            for (number, value) in &said {
                let name = PARTS[*number as usize - 1].into();
                let property = Property { number: *number, name, value: value.clone() };
                properties::put(self.core, &db, holder, &property)?;
            }
        }
        Ok(())
    }
}

/// An option as it is kept.
fn said(option: &OptionItem) -> Result<(i32, Value), SqlError> {
    let at = PARTS.iter().position(|part| *part == option.name);
    let at = at.ok_or_else(|| errors::syntax_near(&option.name))?;
    let value = match &option.value {
        OptionValue::Word(word) if at == 4 && RANKS.iter().any(|(rank, _)| rank == word) => {
            Value::str(word)
        }
        OptionValue::Expr(expr) => match &expr.kind {
            ExprKind::Literal(Literal::String { value, .. }) if at < 4 => Value::str(value),
            _ => return Err(errors::syntax_near(&option.name)),
        },
        _ => return Err(errors::syntax_near(&option.name)),
    };
    Ok((at as i32 + 1, value))
}

/// `[schema.]table.column`.
fn holder_of(db: &Arc<Db>, name: &ObjectName) -> Result<PropertyHolder, SqlError> {
    let Some(table) = &name.schema else { return Err(missing(name)) };
    let schema = name.database.as_ref().map_or("", |schema| schema.value.as_str());
    let catalog = db.catalog();
    let table = catalog.find(schema, &table.value).ok_or_else(|| missing(name))?;
    let at = table.column(&name.name.value).ok_or_else(|| missing(name))?;
    let minor = table.columns[at].column_id;
    Ok(PropertyHolder { class: PropertyClass::Sensitivity, major: table.object_id, minor })
}

/// 15151-like: no such column, or none that is classified.
fn missing(name: &ObjectName) -> SqlError {
    super::principal::cannot("find", "column", &name.to_string())
}
