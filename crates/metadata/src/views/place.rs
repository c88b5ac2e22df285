//! Where a session is in what it runs: the statement of its batch, or of the procedure or trigger
//! that runs inside it.

use types::{SqlError, Value};

use super::plans::{plan_of_module, text_handle};
use programs::statement_text::offsets;
use session::state::SessionCore;
use session::state::activity::{BatchView, Published, handle};
use session::state::core::SessionShared;

/// A place as sys.dm_exec_requests shows it.
pub(super) struct Place {
    /// sql_handle.
    pub handle: Value,
    /// What the statement is called.
    pub command: String,
    /// Its start and end.
    pub offsets: (i32, i32),
}

impl Place {
    /// Where a session is.
    ///
    /// # Errors
    /// Those of the cache of plans.
    pub fn of(
        session: &SessionCore,
        published: &Published,
        shared: &SessionShared,
    ) -> Result<Place, SqlError> {
        let module = published.module;
        let plan =
            module.map(|place| plan_of_module(session, (place.db, place.object_id))).transpose()?;
        if let Some((place, plan)) = module.zip(plan.flatten()) {
            let statement = plan.batch.statement(place.operation);
            return Ok(Place::at(text_handle(&plan), plan.batch.text(), statement));
        }
        Ok(match &published.batch {
            None => Place { handle: Value::Null, command: "COMPILE".into(), offsets: (0, -1) },
            Some(batch) => {
                let statement = shared.activity.statement(&**batch);
                Place::at(handle(batch.text()).to_vec(), batch.text(), statement)
            }
        })
    }

    fn at(handle: Vec<u8>, whole: &str, statement: Option<(usize, usize)>) -> Place {
        let handle = Value::bytes(handle);
        match statement.and_then(|(from, to)| Some((from, to, whole.get(from..to)?))) {
            Some((from, to, statement)) => {
                Place { handle, command: command(statement), offsets: offsets(whole, from, to) }
            }
            None => Place { handle, command: "CONDITIONAL".into(), offsets: (0, -1) },
        }
    }
}

/// What a statement is called: its first word, with the second one for DDL and backups.
pub(super) fn command(statement: &str) -> String {
    let mut words = statement.split(|c: char| !c.is_ascii_alphanumeric()).filter(|w| !w.is_empty());
    let first = words.next().unwrap_or("").to_ascii_uppercase();
    let two = matches!(
        first.as_str(),
        "CREATE" | "ALTER" | "DROP" | "BACKUP" | "RESTORE" | "TRUNCATE" | "BULK"
    );
    match words.next().filter(|_| two) {
        Some(second) => format!("{first} {}", second.to_ascii_uppercase()),
        None => first,
    }
}
