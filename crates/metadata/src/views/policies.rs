//! sys.security_policies and sys.security_predicates.

use types::{DataType, Len, Value};

use super::{NVARCHAR60, SYSNAME, View, bit, text};
use catalog::fold_name;
use catalog::other::{OtherObject, POLICY};
use catalog::policy::{PolicyDef, PredicateDef, PredicateKind};
use std::sync::Arc;

use DataType::{Bit, Char, DateTime, Int, NVarChar};

fn policies(db: &catalog::Db) -> Vec<Arc<PolicyDef>> {
    let catalog = db.catalog();
    let mut list: Vec<_> = catalog
        .others
        .values()
        .filter_map(|other| match other {
            OtherObject::Policy(policy) => Some(policy.clone()),
            _ => None,
        })
        .collect();
    list.sort_by_key(|policy| policy.object_id);
    list
}

/// sys.security_policies.
pub(crate) static SECURITY_POLICIES: View = View::sys(
    "security_policies",
    &[
        ("name", SYSNAME, false),
        ("object_id", Int, false),
        ("principal_id", Int, true),
        ("schema_id", Int, false),
        ("parent_object_id", Int, false),
        ("type", Char(2), true),
        ("type_desc", NVARCHAR60, true),
        ("create_date", DateTime, false),
        ("modify_date", DateTime, false),
        ("is_ms_shipped", Bit, false),
        ("is_enabled", Bit, false),
        ("is_not_for_replication", Bit, false),
        ("uses_database_collation", Bit, true),
        ("is_schema_bound", Bit, false),
    ],
    |_, db, _| {
        let catalog = db.catalog();
        let row = |policy: &Arc<PolicyDef>| {
            vec![
                text(&policy.name),
                Value::Int(policy.object_id),
                Value::Null,
                Value::Int(catalog.schemas.get(&fold_name(&policy.schema)).copied().unwrap_or(1)),
                Value::Int(0),
                text(POLICY),
                text("SECURITY_POLICY"),
                policy.create_date.clone(),
                policy.modify_date.clone(),
                bit(false),
                bit(policy.enabled),
                bit(policy.not_for_replication),
                bit(false),
                bit(policy.bound),
            ]
        };
        Ok(policies(db).iter().map(row).collect())
    },
);

/// sys.security_predicates.
pub(crate) static SECURITY_PREDICATES: View = View::sys(
    "security_predicates",
    &[
        ("object_id", Int, false),
        ("security_predicate_id", Int, false),
        ("target_object_id", Int, false),
        ("predicate_definition", NVarChar(Len::Max), true),
        ("predicate_type", Int, true),
        ("predicate_type_desc", NVARCHAR60, true),
        ("operation", Int, true),
        ("operation_desc", NVARCHAR60, true),
    ],
    |_, db, _| {
        let row = |(policy, predicate): (i32, &PredicateDef)| {
            let operation = predicate.kind.operation();
            let word =
                ["", "AFTER INSERT", "AFTER UPDATE", "BEFORE UPDATE", "BEFORE DELETE"][operation];
            vec![
                Value::Int(policy),
                Value::Int(predicate.id),
                Value::Int(predicate.target),
                text(format!("({})", predicate.call)),
                Value::Int(i32::from(predicate.kind != PredicateKind::Filter)),
                text(predicate.kind.word()),
                if operation == 0 { Value::Null } else { Value::Int(operation as i32) },
                if operation == 0 { Value::Null } else { text(word) },
            ]
        };
        let all = policies(db);
        let predicates =
            all.iter().flat_map(|of| of.predicates.iter().map(move |p| (of.object_id, p)));
        Ok(predicates.map(row).collect())
    },
);
