//! Triggers of the server, which master keeps: sys.server_triggers, server_trigger_events,
//! server_sql_modules.

use std::sync::Arc;

use types::{DataType, Len, SqlError, Value};

use super::triggers::{EVENT_COLUMNS, TRIGGER_COLUMNS, trigger_row};
use super::{Rows, SystemView, View, bit, text};
use catalog::ModuleDef;
use ddl::events;
use session::state::SessionCore;
use syntax::ast::ExecuteAs;

use DataType::{Bit, Int, NVarChar};

/// The views of this file.
pub(super) static ALL: &[&dyn SystemView] = &[&TRIGGERS, &EVENTS, &MODULES];

fn triggers(session: &SessionCore) -> Result<Vec<Arc<ModuleDef>>, SqlError> {
    let catalog = session.host().database("master")?.catalog();
    let mut triggers: Vec<_> = catalog.event_triggers(true).cloned().collect();
    triggers.sort_by_key(|trigger| trigger.object_id);
    Ok(triggers)
}

/// sys.server_triggers.
static TRIGGERS: View =
    View::sys("server_triggers", TRIGGER_COLUMNS.split_at(11).0, |session, _, _| {
        Ok(triggers(session)?.iter().map(trigger_row).collect())
    });

/// sys.server_trigger_events.
static EVENTS: View = View::sys("server_trigger_events", EVENT_COLUMNS, |session, _, _| -> Rows {
    let mut rows = Vec::new();
    for trigger in triggers(session)? {
        let words = trigger.trigger().map_or(&[][..], |trigger| &trigger.events);
        for word in words {
            for (number, event) in events::meant(word, true) {
                let group = (word != event).then_some(word.as_str());
                rows.push(vec![
                    Value::Int(trigger.object_id),
                    Value::Int(number),
                    text(event),
                    bit(false),
                    bit(false),
                    group.and_then(events::group_number).map_or(Value::Null, Value::Int),
                    group.map_or(Value::Null, text),
                    bit(true),
                ]);
            }
        }
    }
    Ok(rows)
});

/// sys.server_sql_modules.
static MODULES: View = View::sys(
    "server_sql_modules",
    &[
        ("object_id", Int, false),
        ("definition", NVarChar(Len::Max), true),
        ("uses_ansi_nulls", Bit, true),
        ("uses_quoted_identifier", Bit, true),
        ("execute_as_principal_id", Int, true),
    ],
    |session, _, _| {
        let security = session.host().database("master")?.security();
        let row = |trigger: &Arc<ModuleDef>| {
            let login = match trigger.execute_as() {
                Some(ExecuteAs::User(name)) => security.server.find(name).map(|login| login.id),
                _ => None,
            };
            vec![
                Value::Int(trigger.object_id),
                text(&trigger.text),
                bit(trigger.settings.ansi_nulls),
                bit(trigger.settings.quoted_identifier),
                login.map_or(Value::Null, Value::Int),
            ]
        };
        Ok(triggers(session)?.iter().map(row).collect())
    },
);
