//! System procedures that are written in T-SQL: those that give a cursor back.

use std::sync::{Arc, OnceLock};

use catalog::module::ModuleHead;
use catalog::{ModuleDef, ModuleKind, ModuleSettings};
use types::{SqlError, Value};

/// Names and definitions.
const PROCEDURES: [(&str, &str); 2] = [
    (
        "sp_cursor_list",
        "CREATE PROCEDURE sys.sp_cursor_list @cursor_return CURSOR VARYING OUTPUT, @cursor_scope int AS
         SET @cursor_return = CURSOR LOCAL STATIC READ_ONLY SCROLL FOR
             SELECT * FROM sys.dm_ringwood_cursors (@cursor_scope, NULL, NULL)
         OPEN @cursor_return
         RETURN 0",
    ),
    (
        "sp_describe_cursor",
        "CREATE PROCEDURE sys.sp_describe_cursor @cursor_return CURSOR VARYING OUTPUT, @cursor_source nvarchar(30),
             @cursor_identity nvarchar(128) AS
         SET @cursor_return = CURSOR LOCAL STATIC READ_ONLY SCROLL FOR
             SELECT * FROM sys.dm_ringwood_cursors (NULL, @cursor_source, @cursor_identity)
         OPEN @cursor_return
         RETURN 0",
    ),
];

/// The procedure of a name.
///
/// # Errors
/// Internal: its text is no procedure.
pub fn find(name: &str) -> Result<Option<Arc<ModuleDef>>, SqlError> {
    static MADE: [OnceLock<Arc<ModuleDef>>; 2] = [OnceLock::new(), OnceLock::new()];
    let found = PROCEDURES.iter().position(|(known, _)| known.eq_ignore_ascii_case(name));
    let Some(at) = found else { return Ok(None) };
    if let Some(made) = MADE[at].get() {
        return Ok(Some(made.clone()));
    }
    let (name, text) = PROCEDURES[at];
    let head = ModuleHead {
        // Below all ids of objects.
        object_id: -1000 - at as i32,
        schema: "sys".into(),
        name: name.into(),
        kind: ModuleKind::Procedure,
        parent: 0,
        settings: ModuleSettings { quoted_identifier: true, ansi_nulls: true },
        disabled: false,
        run_as: None,
        create_date: Value::Null,
        modify_date: Value::Null,
    };
    let made = Arc::new(ModuleDef::new(head, text)?);
    Ok(Some(MADE[at].get_or_init(|| made).clone()))
}
