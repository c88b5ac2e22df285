//! What statements call for that is done here, above the crate that runs them: triggers and
//! functions are batches, SELECT INTO creates a table, system views, functions and procedures have
//! names, texts are described without being run.

use std::sync::Arc;

use compact_str::CompactString;
use expr::functions::Function;
use types::{SqlError, Value};

use crate::batch::{described, function, trigger};
use crate::msdb;
use bind::function::CalledFunction;
use bind::undeclared::DeducedParameter;
use catalog::{Db, NewTable, TableDef};
use ddl::{tables, temps};
use instance::OfInstance;
use logical::view::ViewDef;
use metadata::{functions, views};
use session::output::{ColumnInfo, Sink};
use session::state::SessionCore;
use session::state::changes::FiredTriggers;
use session::state::host::Upcalls;

/// The engine, as statements know it.
pub(crate) struct Engine;

impl Upcalls for Engine {
    fn view(&self, schema: &str, name: &str) -> Option<&'static dyn ViewDef> {
        views::find(schema, name).map(|view| view as &dyn ViewDef)
    }

    fn function(&self, name: &str) -> Option<&'static Function> {
        functions::find(name)
    }

    fn run_triggers(
        &self,
        core: &mut SessionCore,
        sink: &mut dyn Sink,
        fired: Vec<FiredTriggers>,
        catching: bool,
    ) -> Result<(), SqlError> {
        trigger::run(core, sink, fired, catching)
    }

    fn call_function(
        &self,
        core: &mut SessionCore,
        function: &CalledFunction,
        args: Vec<Value>,
        rows: &mut dyn Sink,
    ) -> Result<Value, SqlError> {
        function::run(core, function, args, rows)
    }

    fn create_table(
        &self,
        core: &mut SessionCore,
        db: &Arc<Db>,
        new: NewTable,
    ) -> Result<Arc<TableDef>, SqlError> {
        if new.name.starts_with('#') {
            temps::create(core, new)
        } else {
            tables::create_table(core, db, new)
        }
    }

    fn is_procedure(&self, name: &str) -> bool {
        procedures::find(name).is_some()
    }

    fn first_columns(
        &self,
        core: &mut SessionCore,
        text: &str,
        declarations: &str,
    ) -> Result<Vec<ColumnInfo>, SqlError> {
        described::first_columns(core, text, declarations)
    }

    fn undeclared_parameters(
        &self,
        core: &mut SessionCore,
        text: &str,
        declarations: &str,
    ) -> Result<Vec<(CompactString, DeducedParameter)>, SqlError> {
        described::undeclared(core, text, declarations)
    }

    fn run_apart(&self, core: &SessionCore, database: &str, text: &str) -> Result<(), SqlError> {
        msdb::run(core.instance(), database, text)
    }
}
