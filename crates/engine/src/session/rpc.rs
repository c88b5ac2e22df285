//! Calls of procedures by name, with values as clients give them, not as T-SQL.

use compact_str::CompactString;
use types::{DataType, Len, SqlError, Value};

use super::{BatchOutcome, Session, round};
use std::sync::Arc;

use crate::batch::rpc::call;
use programs::arguments::{Arg, RpcTable, TableArg};
use session::output::{OutputParameter, Sink};

/// A parameter of a call.
#[derive(Clone, Debug)]
pub struct RpcParam {
    /// With its `@`, or empty: then it is the procedure's parameter of the same position.
    pub name: CompactString,
    /// As the client declares it; `None` for a NULL without a type.
    pub ty: Option<DataType>,
    pub value: Value,
    /// The client wants its value back.
    pub output: bool,
    /// The procedure's default is to be used, not the value.
    pub is_default: bool,
    /// A table-valued parameter: its rows; the value is NULL then.
    pub table: Option<Arc<RpcTable>>,
}

impl Session {
    /// Calls a procedure: the user's or the system's, `name`, `schema.name` or
    /// `database.schema.name`, in brackets where T-SQL wants them. sp_executesql, sp_prepare and
    /// similar procedures take statement and parameter list by position, whatever their names.
    /// Numbers that sp_prepare gives are the session's own, until [`Session::reset`].
    ///
    /// The sink gets what the statements of the procedure produce, then [`Sink::procedure_done`]
    /// unless the call was ended by an error, then the OUTPUT parameters that the client wants, in
    /// the types that the client declares. Errors go to the sink.
    pub fn rpc(&mut self, name: &str, params: Vec<RpcParam>, sink: &mut dyn Sink) -> BatchOutcome {
        // Names and types are wanted of calls that give something back, which most do not.
        let described: Vec<_> = match params.iter().any(|param| param.output) {
            true => params.iter().map(|param| (param.name.clone(), param.ty)).collect(),
            false => Vec::new(),
        };
        let args = params.into_iter().enumerate().map(|(at, param)| Arg {
            name: Some(param.name).filter(|name| !name.is_empty()),
            ty: match param.ty {
                // Text as the client has written it: a document only when it is read.
                Some(DataType::Xml) => DataType::NVarChar(Len::Max),
                Some(ty) => ty,
                None => param.value.natural_type(),
            },
            value: param.value,
            output: param.output.then_some(at),
            is_default: param.is_default,
            cursor: None,
            table: param.table.map(TableArg::Rows),
        });
        let args = args.collect();
        let types = described.iter().map(|(_, ty)| *ty).collect();
        let Session { core, shared, told, .. } = self;
        round::request(core, shared, told, sink, |core, sink, _| {
            let (end, outputs) = call(core, sink, name, args, types)?;
            for (ordinal, ty, value) in &outputs.values {
                let name = described.get(*ordinal).map_or("", |(name, _)| name.as_str());
                sink.output_parameter(&OutputParameter {
                    ordinal: *ordinal,
                    name,
                    ty: *ty,
                    value,
                })?;
            }
            Ok::<_, SqlError>(end)
        })
    }

    /// Statements that the session has prepared and not given back.
    pub fn prepared_statements(&self) -> usize {
        self.core.objects.handles.count()
    }
}
