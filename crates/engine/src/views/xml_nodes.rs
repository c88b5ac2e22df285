//! nodes(): a row for each node that a query gives of an xml value. The binder makes calls of it, no text can name it.

use std::any::Any;
use std::sync::Arc;

use catalog::Db;
use plan::bind::xml::NODES;
use types::{DataType, SqlError, Value};

use super::{RowSource, Rows, SystemView, ViewColumn, ViewDef};
use crate::state::SessionCore;

/// Arguments: the document, the query, what it asks of the statement.
pub struct Nodes;

pub static XML_NODES: Nodes = Nodes;

impl ViewDef for Nodes {
    fn right(&self) -> plan::rights::ViewRight {
        plan::rights::ViewRight::Public
    }

    fn name(&self) -> &'static str {
        NODES
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
    fn rows(&self, _session: &mut SessionCore, _db: &Arc<Db>, args: &[Value]) -> Rows {
        Ok(expr::functions::xml::nodes(args)?.into_iter().map(|node| vec![node]).collect())
    }
}
