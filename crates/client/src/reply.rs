//! Answers that are kept whole: of batches and calls whose rows fit into memory.

use tds::Column;
use tds::client::{ServerMessage, Token};
use types::Value;

use crate::options::ClientError;

/// The rows of one result.
#[derive(Clone, Debug)]
pub struct ReplyRows {
    pub columns: Vec<Column>,
    pub rows: Vec<Vec<Value>>,
}

/// What a batch or a call has answered.
#[derive(Clone, Debug, Default)]
pub struct Reply {
    /// One for each statement that returns rows, also without any.
    pub results: Vec<ReplyRows>,
    /// PRINT and messages of severity 0 to 10.
    pub messages: Vec<ServerMessage>,
    pub errors: Vec<ServerMessage>,
    /// What a procedure returned.
    pub status: Option<i32>,
    /// Output parameters, and the result of a function, in the order of the call.
    pub outputs: Vec<Value>,
    /// Rows that the last statement that counts has returned or changed.
    pub count: Option<u64>,
    /// A result has begun and its statement has not ended.
    in_result: bool,
}

impl Reply {
    /// Adds a token.
    pub(crate) fn take(&mut self, token: Token) {
        match token {
            Token::Columns(columns) if !columns.is_empty() => {
                self.in_result = true;
                self.results.push(ReplyRows { columns, rows: Vec::new() });
            }
            Token::Row(row) => {
                if let Some(result) = self.results.last_mut() {
                    result.rows.push(row);
                }
            }
            Token::Info(message) => self.messages.push(message),
            Token::Error(error) => self.errors.push(error),
            Token::ReturnStatus(status) => self.status = Some(status),
            Token::ReturnValue { value, .. } => self.outputs.push(value),
            // Without the flag the reader has 0 here and nothing was counted. What counts as a
            // query and has no result is an assignment to variables.
            Token::Done { status, rows, command, .. } => {
                let in_result = std::mem::take(&mut self.in_result);
                let assigns = command == tds::tokens::command::SELECT && !in_result;
                if status.contains(tds::tokens::DoneStatus::COUNT) && !assigns {
                    self.count = Some(rows);
                }
            }
            _ => {}
        }
    }

    /// The reply, or its first error.
    ///
    /// # Errors
    /// [`ClientError::Server`].
    pub fn checked(mut self) -> Result<Reply, ClientError> {
        if self.errors.is_empty() {
            Ok(self)
        } else {
            Err(ClientError::Server(self.errors.swap_remove(0)))
        }
    }

    /// All rows of all results.
    pub fn into_rows(self) -> impl Iterator<Item = Vec<Value>> {
        self.results.into_iter().flat_map(|result| result.rows)
    }
}
