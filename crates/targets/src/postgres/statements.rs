//! Statements of any kind on the running server, for work that is not a study's.

use super::{Postgres, failed};
use crate::LabError;
use postgres::Client;
use postgres::error::SqlState;

impl Postgres {
    fn running(&mut self) -> Result<&mut Client, LabError> {
        let open = self
            .open
            .as_mut()
            .ok_or_else(|| LabError::Request("PostgreSQL is not running".into()))?;
        open.client()
    }

    /// Runs statements that return nothing.
    pub fn execute(&mut self, statements: &str) -> Result<(), LabError> {
        self.running()?.batch_execute(statements).map_err(|e| failed(&e, statements))
    }

    /// The rows of a query as text.
    pub fn query_rows(&mut self, query: &str) -> Result<Vec<Vec<String>>, LabError> {
        let messages = self.running()?.simple_query(query).map_err(|e| match e.code() {
            Some(&SqlState::QUERY_CANCELED) => LabError::TimeLimit(0),
            _ => failed(&e, query),
        })?;
        let row = |message: &postgres::SimpleQueryMessage| match message {
            postgres::SimpleQueryMessage::Row(row) => {
                Some((0..row.len()).map(|i| row.get(i).unwrap_or("NULL").to_owned()).collect())
            }
            _ => None,
        };
        Ok(messages.iter().filter_map(row).collect())
    }

    /// Loads a table with lines of fields between bars.
    pub fn copy_in(
        &mut self,
        table: &str,
        write: &mut dyn FnMut(&mut dyn std::io::Write) -> Result<(), LabError>,
    ) -> Result<(), LabError> {
        let copy = format!("copy {table} from stdin with (format text, delimiter '|')");
        let mut writer = self.running()?.copy_in(&copy).map_err(|e| failed(&e, &copy))?;
        write(&mut writer)?;
        writer.finish().map(drop).map_err(|e| failed(&e, &copy))
    }
}
