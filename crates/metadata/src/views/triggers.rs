//! Triggers: sys.triggers, sys.trigger_events.

use std::sync::Arc;

use syntax::ast::CreateTrigger;
use types::Value;

use super::{NVARCHAR60, SYSNAME, View, ViewColumn, bit, pick, text};
use catalog::{ModuleDef, ModuleKind, TriggerOrder};
use ddl::events;

use types::DataType::{Bit, Char, DateTime, Int, TinyInt};

/// Columns of sys.triggers; sys.server_triggers has the first eleven.
pub(super) const TRIGGER_COLUMNS: &[ViewColumn] = &[
    ("name", SYSNAME, false),
    ("object_id", Int, false),
    ("parent_class", TinyInt, false),
    ("parent_class_desc", NVARCHAR60, true),
    ("parent_id", Int, false),
    ("type", Char(2), false),
    ("type_desc", NVARCHAR60, true),
    ("create_date", DateTime, false),
    ("modify_date", DateTime, false),
    ("is_ms_shipped", Bit, false),
    ("is_disabled", Bit, false),
    ("is_not_for_replication", Bit, false),
    ("is_instead_of_trigger", Bit, false),
];

/// What sys.triggers and sys.server_triggers say of a trigger: the first eleven columns.
pub(super) fn trigger_row(module: &Arc<ModuleDef>) -> Vec<Value> {
    let (class, class_name) = match (module.is_server_trigger(), module.is_ddl_trigger()) {
        (true, _) => (100, "SERVER"),
        (false, true) => (0, "DATABASE"),
        (false, false) => (1, "OBJECT_OR_COLUMN"),
    };
    vec![
        text(&module.name),
        Value::Int(module.object_id),
        Value::TinyInt(class),
        text(class_name),
        Value::Int(module.parent),
        text(module.kind.code()),
        text(module.kind.description()),
        module.create_date.clone(),
        module.modify_date.clone(),
        bit(false),
        bit(module.disabled),
    ]
}

/// sys.triggers.
pub(crate) static TRIGGERS: View =
    View::seeking("triggers", TRIGGER_COLUMNS, &[0, 1, 4], pick::per_module, |_, db, wanted| {
        let row = |module: &Arc<ModuleDef>| {
            let mut row = trigger_row(module);
            let says = |of: fn(&CreateTrigger) -> bool| bit(module.trigger().is_some_and(of));
            row.extend([says(|t| t.not_for_replication), says(|t| t.instead_of)]);
            wanted.part(row)
        };
        let mut list = pick::modules(&db.catalog(), ModuleKind::Trigger, wanted, 1, Some(0));
        list.retain(|module| !module.is_server_trigger());
        Ok(list
            .iter()
            .filter(|m| wanted.id(4).is_none_or(|parent| parent == m.parent))
            .map(row)
            .collect())
    });

pub(super) const EVENT_COLUMNS: &[ViewColumn] = &[
    ("object_id", Int, false),
    ("type", Int, false),
    ("type_desc", NVARCHAR60, true),
    ("is_first", Bit, true),
    ("is_last", Bit, true),
    ("event_group_type", Int, true),
    ("event_group_type_desc", NVARCHAR60, true),
    ("is_trigger_event", Bit, true),
];

/// sys.trigger_events.
pub(crate) static TRIGGER_EVENTS: View =
    View::seeking("trigger_events", EVENT_COLUMNS, &[0], pick::per_module, |_, db, wanted| {
        let mut rows = Vec::new();
        for module in pick::modules(&db.catalog(), ModuleKind::Trigger, wanted, 0, None) {
            if module.is_server_trigger() {
                continue;
            }
            let words = module.trigger().map_or(&[][..], |trigger| &trigger.events);
            let mut add = |number: i32, event: &str, group: Option<&str>| {
                rows.push(wanted.part(vec![
                    Value::Int(module.object_id),
                    Value::Int(number),
                    text(event),
                    bit(module.order.first & TriggerOrder::bit(event) != 0),
                    bit(module.order.last & TriggerOrder::bit(event) != 0),
                    group.and_then(events::group_number).map_or(Value::Null, Value::Int),
                    group.map_or(Value::Null, text),
                    bit(true),
                ]));
            };
            if module.is_ddl_trigger() {
                for word in words {
                    for (number, event) in events::meant(word, false) {
                        add(number, event, (word != event).then_some(word));
                    }
                }
                continue;
            }
            for (number, event) in [(1, "INSERT"), (2, "UPDATE"), (3, "DELETE")] {
                if words.iter().any(|word| word == event) {
                    add(number, event, None);
                }
            }
        }
        Ok(rows)
    });
