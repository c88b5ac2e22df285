//! nodes() and OPENXML: a row for each node that a query gives of an xml value, or of a document that the session has prepared. The
//! binder makes calls of them, no text can name them.

use std::any::Any;
use std::sync::Arc;

use catalog::Db;
use plan::bind::xml::{NODES, PREPARED};
use types::{DataType, SqlError, Value};

use super::{RowSource, Rows, SystemView, ViewColumn, ViewDef};
use exec::state::SessionCore;

/// Arguments: the document (its number, where it is prepared), the query, what it asks of the statement.
pub struct Nodes {
    prepared: bool,
}

pub static XML_NODES: Nodes = Nodes { prepared: false };
pub static OPEN_XML: Nodes = Nodes { prepared: true };

impl ViewDef for Nodes {
    fn right(&self) -> plan::rights::ViewRight {
        super::rights::needs(self.schema(), self.name())
    }

    fn name(&self) -> &'static str {
        if self.prepared { PREPARED } else { NODES }
    }

    fn columns(&self) -> &'static [ViewColumn] {
        &[("node", DataType::Xml, false)]
    }

    fn arguments(&self) -> Option<usize> {
        Some(2)
    }

    fn optional_arguments(&self) -> usize {
        252
    }

    fn start(
        &self,
        session: &mut dyn Any,
        db: &Arc<Db>,
        args: &[Value],
        keep: &[usize],
    ) -> Result<Box<dyn RowSource>, SqlError> {
        self.open(super::session_of(session)?, db, args, keep)
    }
}

impl SystemView for Nodes {
    fn rows(&self, session: &mut SessionCore, _db: &Arc<Db>, args: &[Value]) -> Rows {
        let nodes = match args {
            [handle, rest @ ..] if self.prepared => {
                let number = handle.as_i64().unwrap_or(0);
                let document =
                    i32::try_from(number).ok().and_then(|number| session.xml_documents.get(&number));
                let Some(document) = document else {
                    let text = format!("Could not find prepared statement with handle {number}.");
                    return Err(SqlError::new(8179, 16, 5, text));
                };
                let mut all = vec![Value::str(document)];
                all.extend_from_slice(rest);
                expr::functions::xml::nodes(&all)?
            }
            args => expr::functions::xml::nodes(args)?,
        };
        Ok(nodes.into_iter().map(|node| vec![node]).collect())
    }
}
