//! DBCC USEROPTIONS: the SET options of the session. Guarantee: what is OFF is not listed, as in
//! SQL Server.

use types::{DataType, Len, SqlError, Value};

use super::Command;
use logical::isolation::Isolation;
use metadata::results::column;

/// DBCC USEROPTIONS.
pub(super) fn show(command: &mut Command<'_, '_>) -> Result<(), SqlError> {
    let core = &*command.ctx.core;
    let options = &core.options;
    let isolation = match options.isolation {
        Isolation::ReadUncommitted => "read uncommitted",
        Isolation::ReadCommitted if core.db().settings().read_committed_snapshot => {
            "read committed snapshot"
        }
        Isolation::ReadCommitted => "read committed",
        Isolation::RepeatableRead => "repeatable read",
        Isolation::Snapshot => "snapshot",
        Isolation::Serializable => "serializable",
    };
    let textsize = if options.textsize < 0 { i32::MAX } else { options.textsize };
    let mut rows = vec![
        ("textsize", textsize.to_string()),
        ("language", options.dialect.language().name.to_owned()),
        ("dateformat", options.dialect.order.name().to_owned()),
        ("datefirst", options.datefirst.to_string()),
        ("lock_timeout", options.lock_timeout.to_string()),
    ];
    let switches = [
        ("quoted_identifier", options.quoted_identifier),
        ("arithabort", options.arithabort),
        ("arithignore", options.arithignore),
        ("numeric_roundabort", options.numeric_roundabort),
        ("nocount", options.nocount),
        ("xact_abort", options.xact_abort),
        ("implicit_transactions", options.implicit_transactions),
        ("cursor_close_on_commit", options.cursor_close_on_commit),
        ("ansi_null_dflt_on", options.ansi_null_dflt_on),
        ("ansi_null_dflt_off", options.ansi_null_dflt_off),
        ("ansi_warnings", options.ansi_warnings),
        ("ansi_padding", options.ansi_padding),
        ("ansi_nulls", options.ansi_nulls),
        ("concat_null_yields_null", options.concat_null_yields_null),
    ];
    let on = switches.iter().filter(|(_, on)| *on);
    rows.extend(on.map(|(name, _)| (*name, String::from("SET"))));
    if options.rowcount > 0 {
        rows.push(("rowcount", options.rowcount.to_string()));
    }
    rows.push(("isolation level", isolation.to_owned()));
    let rows: Vec<Vec<Value>> =
        rows.into_iter().map(|(name, value)| vec![Value::str(name), Value::str(value)]).collect();
    let columns = [
        column("Set Option", DataType::NVarChar(Len::N(128)), true),
        column("Value", DataType::NVarChar(Len::N(46)), true),
    ];
    command.result(&columns, &rows)
}
