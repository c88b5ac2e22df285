//! nodes() and OPENXML: a row for each node that a query gives of an xml value, or of a document
//! that the session has prepared. The binder makes calls of them, no text can name them.
//! Guarantee: a node's value is made when its row is asked for.

use std::any::Any;
use std::sync::Arc;

use bind::xml::{NODES, PREPARED};
use catalog::Db;
use expr::functions::xml;
use logical::view::{PIECE, PIECE_BYTES};
use types::{CancelCheck, DataType, SqlError, Value, msg};

use super::view::all_of;
use super::{RowSource, SystemView, ViewColumn, ViewDef, ViewResult, ViewRows};
use session::state::SessionCore;

/// Arguments: the document (its number, where it is prepared), the query, what it asks of the
/// statement.
pub struct Nodes {
    prepared: bool,
}

pub(crate) static XML_NODES: Nodes = Nodes { prepared: false };
pub(crate) static OPEN_XML: Nodes = Nodes { prepared: true };

impl ViewDef for Nodes {
    fn right(&self) -> logical::rights::ViewRight {
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
    fn rows(&self, session: &mut SessionCore, db: &Arc<Db>, args: &[Value]) -> ViewResult {
        all_of(self.open(session, db, args, &[0])?)
    }

    fn open(
        &self,
        session: &mut SessionCore,
        _db: &Arc<Db>,
        args: &[Value],
        keep: &[usize],
    ) -> Result<Box<dyn RowSource>, SqlError> {
        let known = session.memory.document().cloned();
        let find = |args: &[Value], session: &SessionCore| {
            xml::Nodes::new(args, known.as_ref(), &|| session.check_cancel())
        };
        let nodes = match args {
            [handle, rest @ ..] if self.prepared => {
                let number = handle.as_i64().unwrap_or(0);
                let document = i32::try_from(number)
                    .ok()
                    .and_then(|number| session.objects.xml_documents.get(&number));
                let Some(document) = document else {
                    return Err(SqlError::of(msg::PREPARED_HANDLE_NOT_FOUND, [&number]).state(5));
                };
                let mut all = vec![Value::str(document)];
                all.extend_from_slice(rest);
                find(&all, session)?
            }
            args => find(args, session)?,
        };
        if let Some(parsed) = nodes.parsed()
            && known.is_none_or(|known| !Arc::ptr_eq(&known, parsed))
        {
            session.memory.keep_document(parsed);
        }
        Ok(Box::new(NodeRows { nodes, width: keep.len() }))
    }
}

/// The rest of the nodes.
struct NodeRows {
    nodes: xml::Nodes,
    /// 1, or 0 where nobody looks at the column.
    width: usize,
}

impl RowSource for NodeRows {
    fn next(&mut self, out: &mut ViewRows, look: CancelCheck<'_>) -> Result<bool, SqlError> {
        out.clear();
        let mut bytes = 0;
        while out.len() < PIECE && bytes < PIECE_BYTES {
            let Some(node) = self.nodes.next(look)? else { break };
            bytes += node.heap_bytes();
            out.push((0..self.width).map(|_| node.clone()));
        }
        Ok(!out.is_empty())
    }
}
