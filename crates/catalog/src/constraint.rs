//! CHECK and FOREIGN KEY constraints of a table, and the rows that keep them. Columns are named by
//! their column_id, which outlives other columns' removal. Guarantee: `load` of what `rows_of`
//! wrote gives the same definition.

use std::collections::HashMap;
use std::sync::Arc;

use compact_str::CompactString;
use syntax::ast::ReferentialAction;
use types::{SqlError, Value};

use crate::rows::{ObjectRow, damaged, text_rows};
use crate::store::StoreError;
use crate::systables::SysTable;
use crate::{TableDef, errors};

/// sys.objects.type.
pub const CHECK: &str = "C ";
pub const FOREIGN_KEY: &str = "F ";

const DISABLED: &str = "disabled";
const UNTRUSTED: &str = "untrusted";
const NOT_FOR_REPLICATION: &str = "not_for_replication";

/// A CHECK constraint.
#[derive(Clone, Debug)]
pub struct CheckDef {
    pub object_id: i32,
    pub name: CompactString,
    /// As sys.check_constraints.definition shows it: in parentheses.
    pub text: Arc<str>,
    /// The parsed condition.
    pub condition: Arc<syntax::ast::Expr>,
    /// The column after which it was written.
    pub column: Option<i32>,
    /// ALTER TABLE ... NOCHECK CONSTRAINT.
    pub disabled: bool,
    /// Some rows may not have been tested.
    pub untrusted: bool,
    /// NOT FOR REPLICATION: as in SQL Server it is never trusted.
    pub not_for_replication: bool,
}

/// A FOREIGN KEY constraint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignKeyDef {
    pub object_id: i32,
    pub name: CompactString,
    /// column_id in this table and in the other, pair by pair.
    pub columns: Vec<(i32, i32)>,
    /// object_id of the table that it refers to.
    pub parent: i32,
    /// index_id of the key there.
    pub key: i32,
    pub on_delete: ReferentialAction,
    pub on_update: ReferentialAction,
    pub disabled: bool,
    pub untrusted: bool,
    /// As of CHECK.
    pub not_for_replication: bool,
}

/// The condition of a CHECK constraint from its text.
///
/// # Errors
/// 102 and its kin.
pub fn parse_condition(text: &str) -> Result<syntax::ast::Expr, SqlError> {
    let stmts = syntax::parse(&format!("IF {text} PRINT ''")).map_err(errors::syntax_error)?;
    match stmts.into_iter().next().map(|s| s.kind) {
        Some(syntax::ast::StmtKind::If { condition, .. }) => Ok(condition),
        _ => Err(SqlError::internal(format!("the definition {text} is no condition"))),
    }
}

fn flags(disabled: bool, untrusted: bool, not_for_replication: bool) -> String {
    let words =
        [(disabled, DISABLED), (untrusted, UNTRUSTED), (not_for_replication, NOT_FOR_REPLICATION)];
    words.iter().filter(|(set, _)| *set).map(|(_, word)| format!(" {word}")).collect()
}

fn number_of(action: ReferentialAction) -> i32 {
    action as i32
}

fn action_of(number: i32) -> ReferentialAction {
    match number {
        1 => ReferentialAction::Cascade,
        2 => ReferentialAction::SetNull,
        3 => ReferentialAction::SetDefault,
        _ => ReferentialAction::NoAction,
    }
}

/// Rows of a table's CHECK and FOREIGN KEY constraints.
pub fn rows_of(table: &TableDef, schema_id: i32, rows: &mut Vec<(SysTable, Vec<Value>)>) {
    let object = |id: i32, name: &str, kind: &str, properties: String| {
        let row = vec![
            Value::Int(id),
            Value::str(name),
            Value::Int(schema_id),
            Value::str(kind),
            Value::Int(table.object_id),
            table.create_date.clone(),
            // Nobody asks when it was changed: its row stays the same.
            table.create_date.clone(),
            Value::str(properties),
        ];
        (SysTable::Objects, row)
    };
    for check in &table.checks {
        let flags = flags(check.disabled, check.untrusted, check.not_for_replication);
        let properties = format!("column={}{flags}", check.column.unwrap_or(0));
        rows.push(object(check.object_id, &check.name, CHECK, properties));
        rows.extend(text_rows(check.object_id, &check.text));
    }
    for key in &table.foreign_keys {
        let pairs: Vec<String> =
            key.columns.iter().map(|(own, other)| format!("{own}:{other}")).collect();
        let properties = format!(
            "parent={} key={} columns={} delete={} update={}{}",
            key.parent,
            key.key,
            pairs.join(","),
            number_of(key.on_delete),
            number_of(key.on_update),
            flags(key.disabled, key.untrusted, key.not_for_replication)
        );
        rows.push(object(key.object_id, &key.name, FOREIGN_KEY, properties));
    }
}

/// `word=value` properties of an object.
struct Properties<'a>(&'a str);

impl<'a> Properties<'a> {
    fn get(&self, name: &str) -> Option<&'a str> {
        self.0.split(' ').find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
    }

    fn number(&self, name: &str, object_id: i32) -> Result<i32, StoreError> {
        self.get(name).and_then(|n| n.parse().ok()).ok_or_else(|| damaged("constraint", object_id))
    }

    fn has(&self, name: &str) -> bool {
        self.0.split(' ').any(|word| word == name)
    }
}

/// The constraints of all tables, by the tables' ids.
#[derive(Default)]
pub(crate) struct Constraints {
    pub checks: HashMap<i32, Vec<CheckDef>>,
    pub foreign_keys: HashMap<i32, Vec<ForeignKeyDef>>,
}

/// From the rows of the objects' table.
pub(crate) fn load(
    objects: &HashMap<i32, ObjectRow>,
    texts: &HashMap<i32, String>,
) -> Result<Constraints, StoreError> {
    let mut all = Constraints::default();
    for (&id, object) in objects {
        let properties = Properties(object.text.as_deref().unwrap_or_default());
        if object.kind == CHECK {
            all.checks.entry(object.parent).or_default().push(check(
                id,
                object,
                &properties,
                texts,
            )?);
        } else if object.kind == FOREIGN_KEY {
            let key = foreign_key(id, object, &properties)?;
            all.foreign_keys.entry(object.parent).or_default().push(key);
        }
    }
    // In the order of their making.
    all.checks.values_mut().for_each(|list| list.sort_by_key(|c| c.object_id));
    all.foreign_keys.values_mut().for_each(|list| list.sort_by_key(|k| k.object_id));
    Ok(all)
}

fn check(
    id: i32,
    object: &ObjectRow,
    properties: &Properties<'_>,
    texts: &HashMap<i32, String>,
) -> Result<CheckDef, StoreError> {
    let text = texts.get(&id).ok_or_else(|| damaged("text", id))?;
    Ok(CheckDef {
        object_id: id,
        name: object.name.clone(),
        condition: Arc::new(parse_condition(text)?),
        text: text.as_str().into(),
        column: Some(properties.number("column", id)?).filter(|column| *column != 0),
        disabled: properties.has(DISABLED),
        untrusted: properties.has(UNTRUSTED),
        not_for_replication: properties.has(NOT_FOR_REPLICATION),
    })
}

fn foreign_key(
    id: i32,
    object: &ObjectRow,
    properties: &Properties<'_>,
) -> Result<ForeignKeyDef, StoreError> {
    let pair = |text: &str| {
        let (own, other) = text.split_once(':')?;
        Some((own.parse().ok()?, other.parse().ok()?))
    };
    let columns: Option<Vec<(i32, i32)>> =
        properties.get("columns").and_then(|list| list.split(',').map(pair).collect());
    Ok(ForeignKeyDef {
        object_id: id,
        name: object.name.clone(),
        columns: columns.ok_or_else(|| damaged("foreign key", id))?,
        parent: properties.number("parent", id)?,
        key: properties.number("key", id)?,
        on_delete: action_of(properties.number("delete", id)?),
        on_update: action_of(properties.number("update", id)?),
        disabled: properties.has(DISABLED),
        untrusted: properties.has(UNTRUSTED),
        not_for_replication: properties.has(NOT_FOR_REPLICATION),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_keys_survive_their_properties() {
        let text = "parent=9 key=1 columns=1:3,2:4 delete=1 update=2 disabled";
        let object = ObjectRow {
            name: "fk".into(),
            schema_id: 1,
            kind: FOREIGN_KEY.into(),
            parent: 5,
            create_date: Value::Null,
            modify_date: Value::Null,
            text: Some(text.into()),
        };
        let key = foreign_key(6, &object, &Properties(text)).unwrap();
        assert_eq!(key.columns, [(1, 3), (2, 4)]);
        assert_eq!(
            (key.on_delete, key.on_update),
            (ReferentialAction::Cascade, ReferentialAction::SetNull)
        );
        assert!(key.disabled && !key.untrusted && key.parent == 9);
        assert!(foreign_key(6, &object, &Properties("parent=9 columns=1")).is_err());
    }

    #[test]
    fn conditions_parse() {
        assert!(parse_condition("([a]>(0) AND b LIKE 'x%')").is_ok());
        assert!(parse_condition("([a]>)").is_err());
    }
}
