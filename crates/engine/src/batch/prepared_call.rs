//! Calls of procedures that a session keeps under numbers: sp_prepexecrpc, and sp_execute of what
//! it gave. Drivers send `{? = CALL p(?, ?)}` so, once it has been prepared. Guarantee: a call that
//! cannot be made is kept under no number.

use std::sync::Arc;

use compact_str::CompactString;
use types::{SqlError, msg};

use super::dynamic::{DynamicProcedure, number_of, text_of};
use super::execute::{ExecuteTarget, object_name};
use super::run::{Failure, Flow, Run};
use catalog::errors;
use programs::arguments::Arg;
use programs::cache::plan_bytes;

/// A call under a number: what is called. Its arguments come with each run.
pub(super) struct PreparedCall {
    name: CompactString,
}

impl PreparedCall {
    /// Memory that it takes while it is kept.
    pub(super) fn bytes(&self) -> usize {
        plan_bytes(self.name.len())
    }
}

impl Run<'_> {
    /// sp_prepexecrpc @handle OUTPUT, @call [, values...].
    pub(super) fn prep_exec_rpc(
        &mut self,
        mut args: std::vec::IntoIter<Arg>,
    ) -> Result<(Flow, i32), Failure> {
        let handle = args.next();
        let text = text_of("sp_prepexecrpc", args.next())?;
        let Some(name) = procedure_of(&text) else {
            self.sink.error(&errors::syntax_near(&text))?;
            return Err(SqlError::of(msg::NOT_PREPARED, []).into());
        };
        let call = Arc::new(PreparedCall { name: name.into() });
        self.find_prepared(&call)?;
        // A number that comes along is one that the client no longer uses.
        if let Some(old) = handle.as_ref().and_then(number_of) {
            self.forget(old);
        }
        let bytes = call.bytes();
        self.keep_any(handle, call.clone(), bytes)?;
        self.run_prepared_call(&call, args)
    }

    /// The call of a number, if it is one's.
    pub(super) fn prepared_call(&self, handle: Option<&Arg>) -> Option<Arc<PreparedCall>> {
        self.core.objects.handles.get(number_of(handle?)?)
    }

    /// Makes the call; the status is the procedure's.
    pub(super) fn run_prepared_call(
        &mut self,
        call: &PreparedCall,
        args: std::vec::IntoIter<Arg>,
    ) -> Result<(Flow, i32), Failure> {
        let (db, called) = self.find_prepared(call)?;
        self.run_untold(db, called, args.collect())
    }

    /// What is called, as it is now. Errors: 2812; 40510 for a call of a call, which might never
    /// end.
    fn find_prepared(
        &mut self,
        call: &PreparedCall,
    ) -> Result<(Arc<catalog::Db>, ExecuteTarget), Failure> {
        let name = object_name(&call.name).ok_or_else(|| errors::no_procedure(&call.name))?;
        match self.find_called(&name, &call.name)? {
            (
                _,
                ExecuteTarget::Dynamic(DynamicProcedure::PrepExecRpc | DynamicProcedure::Execute),
            ) => Err(errors::not_supported("sp_prepexecrpc of a prepared call").into()),
            found => Ok(found),
        }
    }
}

/// The procedure's name in a call: the name alone, or `{? = CALL name(?, ?)}`, of which only `CALL`
/// and the name must be there.
fn procedure_of(text: &str) -> Option<&str> {
    let text = text.trim();
    let Some(braced) = text.strip_prefix('{') else { return without_list(text) };
    let mut call = braced.strip_suffix('}')?.trim_start();
    if let Some(result) = call.strip_prefix('?') {
        call = result.trim_start().strip_prefix('=')?.trim_start();
    }
    let (word, name) = call.split_once(char::is_whitespace)?;
    if word.eq_ignore_ascii_case("call") { without_list(name.trim()) } else { None }
}

/// A name without the list of parameter marks behind it.
fn without_list(text: &str) -> Option<&str> {
    let Some((name, list)) = text.strip_suffix(')').and_then(|inner| inner.rsplit_once('(')) else {
        return Some(text).filter(|name| !name.is_empty());
    };
    let is_mark = |mark: &str| mark.trim() == "?";
    let marks = list.trim().is_empty() || list.split(',').all(is_mark);
    Some(name.trim_end()).filter(|name| marks && !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::procedure_of;

    #[test]
    fn names_of_calls() {
        for (text, name) in [
            ("p", "p"),
            (" dbo.p ", "dbo.p"),
            ("p(?)", "p"),
            ("{call p}", "p"),
            ("{ CALL dbo.[a (b)] (?, ?) }", "dbo.[a (b)]"),
            ("{?=call p()}", "p"),
            ("{ ? = Call p( ? )}", "p"),
            ("call", "call"),
            ("{call call}", "call"),
        ] {
            assert_eq!(procedure_of(text), Some(name), "{text}");
        }
        for text in
            ["", "{", "{}", "{call}", "{call p", "{p}", "p(1)", "{? call p}", "{call p(?,)}", "(?)"]
        {
            assert_eq!(procedure_of(text), None, "{text}");
        }
    }
}
