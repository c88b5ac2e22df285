//! BULK INSERT: rows of a delimited file through the table's ordinary INSERT, compiled once.

use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use syntax::ast::{BulkInsert, OptionItem, OptionValue, StmtKind};
use types::convert::{Mode, convert};
use types::{DataType, Len, SqlError, Value, codepage};

use super::bulk_file::{End, Fields, Terminators, Utf16, terminator};
use super::{StmtCtx, resolve_table};
use crate::catalog::TableDef;
use crate::catalog::rebuild::quote;
use crate::context::{CompileEnv, DmlPlan, ExecCtx, VarScope, compile_dml};
use crate::errors;
use crate::instance::Db;

/// Rows between two looks at the cancel flag.
const POLL_ROWS: u64 = 256;

/// Options of the statement.
struct Options {
    terminators: Terminators,
    first_row: u64,
    last_row: u64,
    batch: u64,
    max_errors: u64,
    keep_identity: bool,
    keep_nulls: bool,
    wide: bool,
    utf8: bool,
}

/// A row in the making.
struct Loader {
    plan: Arc<DmlPlan>,
    /// Table column, or none for a field that is skipped, per field of the file.
    targets: Vec<Option<usize>>,
    vars: Vec<Value>,
}

impl StmtCtx<'_> {
    pub(super) fn bulk_insert(&mut self, stmt: &BulkInsert) -> Result<u64, SqlError> {
        let (db, table) = resolve_table(self.core, &stmt.table)?;
        let options = self.bulk_options(&stmt.options)?;
        let path = self.core.instance().paths.resolve(&stmt.file)?;
        let input = open(&path, &stmt.file)?;
        let kept = self.core.options.identity_insert;
        if options.keep_identity {
            self.core.options.identity_insert = Some((db.id(), table.object_id));
        }
        let result = self.load(&db, &table, &options, input);
        self.core.options.identity_insert = kept;
        result
    }

    fn load(
        &mut self,
        db: &Arc<Db>,
        table: &Arc<TableDef>,
        options: &Options,
        input: Box<dyn Read>,
    ) -> Result<u64, SqlError> {
        let input = if options.wide { Box::new(Utf16::new(input)) as Box<dyn Read> } else { input };
        let mut loader = self.loader(db, table, options)?;
        let mut fields = Fields::new(input, options.terminators.clone());
        let (mut row, mut loaded, mut in_batch, mut failed) = (0, 0, 0, 0);
        let mut raw = Vec::new();
        while row < options.last_row && !fields.at_end().map_err(|e| read_failed(&e))? {
            row += 1;
            let outcome = self.row(&mut fields, &mut raw, row, table, options, &mut loader)?;
            if row < options.first_row {
                continue;
            }
            match outcome {
                Ok(()) => {
                    let mut ctx = ExecCtx { session: self.core, vars: &mut loader.vars };
                    loader.plan.run(&mut ctx, &mut Vec::new())?;
                    loaded += 1;
                    in_batch += 1;
                }
                Err(e) => {
                    failed += 1;
                    self.sink.error(&e)?;
                    if failed > options.max_errors {
                        return Err(too_many_errors(options.max_errors));
                    }
                }
            }
            if in_batch == options.batch {
                in_batch = 0;
                // Outside a transaction each batch is one of its own.
                if self.core.trancount() == 0 {
                    self.core.end_statement(Ok(()))?;
                    self.core.begin_statement(true)?;
                }
            }
            if row % POLL_ROWS == 0 {
                self.core.check_cancel()?;
            }
        }
        Ok(loaded)
    }

    /// Reads a row into the loader's variables. The inner error is the row's own and counts against MAXERRORS.
    fn row(
        &mut self,
        fields: &mut Fields<Box<dyn Read>>,
        raw: &mut Vec<u8>,
        row: u64,
        table: &TableDef,
        options: &Options,
        loader: &mut Loader,
    ) -> Result<Result<(), SqlError>, SqlError> {
        let mut result = Ok(());
        let mut slot = 0;
        let count = loader.targets.len();
        for i in 0..count {
            let end = fields.next(i + 1 == count, raw).map_err(|e| read_failed(&e))?;
            if end == End::TooLong {
                return Err(too_long(row, i + 1));
            }
            if end == End::File && i + 1 < count {
                return Err(unexpected_end());
            }
            let Some(column) = loader.targets[i] else { continue };
            let column = &table.columns[column];
            match field_value(raw, column, options) {
                Ok(value) => loader.vars[slot] = value,
                Err(e) => result = result.and(Err(bad_field(&e, row, i + 1, &column.name))),
            }
            slot += 1;
        }
        Ok(result)
    }

    /// Compiles `INSERT INTO table (columns) VALUES (@1, ...)`; a column whose default replaces empty fields gets it
    /// through ISNULL.
    fn loader(&mut self, db: &Arc<Db>, table: &Arc<TableDef>, options: &Options) -> Result<Loader, SqlError> {
        let mut vars = VarScope::new();
        let (mut names, mut values, mut targets) = (Vec::new(), Vec::new(), Vec::new());
        for (at, column) in table.columns.iter().enumerate() {
            if column.identity.is_some() && !options.keep_identity {
                targets.push(None);
                continue;
            }
            targets.push(Some(at));
            let variable = format!("@{}", names.len() + 1);
            vars.declare(&variable, column.ty)?;
            names.push(quote(&column.name));
            values.push(match &column.default {
                Some(default) if !options.keep_nulls => format!("ISNULL({variable}, {})", default.text),
                _ => variable,
            });
        }
        let schema = quote(&table.schema);
        let text = format!(
            "INSERT INTO {}.{schema}.{} ({}) VALUES ({})",
            quote(&db.name()),
            quote(&table.name),
            names.join(", "),
            values.join(", ")
        );
        let stmts = syntax::parse(&text).map_err(crate::batch::syntax_error)?;
        let Some(stmt) = stmts.first().filter(|s| matches!(s.kind, StmtKind::Insert(_))) else {
            return Err(SqlError::internal("BULK INSERT made no INSERT"));
        };
        let env = CompileEnv {
            instance: self.core.instance(),
            db: self.core.db(),
            catalog: self.core.db().catalog(),
            vars: &vars,
            options: &self.core.options,
        };
        let plan = compile_dml(stmt, &env)?;
        Ok(Loader { plan, targets, vars: vec![Value::Null; vars.len()] })
    }

    fn bulk_options(&self, items: &[OptionItem]) -> Result<Options, SqlError> {
        let mut options = Options {
            terminators: Terminators { field: b"\t".to_vec(), row: b"\n".to_vec(), quote: None },
            first_row: 1,
            last_row: u64::MAX,
            batch: 0,
            max_errors: 10,
            keep_identity: false,
            keep_nulls: false,
            wide: false,
            utf8: true,
        };
        if items
            .iter()
            .any(|o| o.name == "FORMAT" && self.text_of(o).is_ok_and(|t| t.eq_ignore_ascii_case("csv")))
        {
            options.terminators =
                Terminators { field: b",".to_vec(), row: b"\n".to_vec(), quote: Some(b'"') };
        }
        for item in items {
            match item.name.as_str() {
                "FIELDTERMINATOR" => options.terminators.field = terminator(&self.text_of(item)?),
                "ROWTERMINATOR" => options.terminators.row = terminator(&self.text_of(item)?),
                "FIELDQUOTE" => options.terminators.quote = self.text_of(item)?.bytes().next(),
                "FIRSTROW" => options.first_row = self.number_of(item)?.max(1),
                "LASTROW" => {
                    options.last_row = Some(self.number_of(item)?).filter(|n| *n > 0).unwrap_or(u64::MAX)
                }
                "BATCHSIZE" => options.batch = self.number_of(item)?,
                "MAXERRORS" => options.max_errors = self.number_of(item)?,
                "KEEPIDENTITY" => options.keep_identity = item.is_on(),
                "KEEPNULLS" => options.keep_nulls = item.is_on(),
                "DATAFILETYPE" => match self.text_of(item)?.to_ascii_lowercase().as_str() {
                    "char" => {}
                    "widechar" => options.wide = true,
                    _ => return Err(errors::not_supported("DATAFILETYPE native")),
                },
                "CODEPAGE" => {
                    let page = self.text_of(item)?.to_ascii_uppercase();
                    options.utf8 = !matches!(page.as_str(), "1252" | "ACP" | "OEM" | "RAW");
                }
                "FORMATFILE" => return Err(errors::not_supported("FORMATFILE")),
                _ => {}
            }
        }
        if options.terminators.field.is_empty() || options.terminators.row.is_empty() {
            return Err(errors::syntax_near("FIELDTERMINATOR"));
        }
        Ok(options)
    }

    fn text_of(&self, item: &OptionItem) -> Result<String, SqlError> {
        match &item.value {
            OptionValue::Expr(expr) => match self.value(expr)? {
                Value::Str(text) => Ok(text.to_string()),
                other => crate::batch::flow::to_text(&other),
            },
            OptionValue::Word(word) => Ok(word.to_string()),
            _ => Err(errors::syntax_near(&item.name)),
        }
    }

    fn number_of(&self, item: &OptionItem) -> Result<u64, SqlError> {
        match &item.value {
            OptionValue::Expr(expr) => self.value(expr)?.as_i64().and_then(|n| u64::try_from(n).ok()),
            _ => None,
        }
        .ok_or_else(|| errors::syntax_near(&item.name))
    }
}

fn field_value(raw: &[u8], column: &crate::catalog::ColumnDef, options: &Options) -> Result<Value, SqlError> {
    if raw.is_empty() {
        return Ok(Value::Null);
    }
    let text = if options.wide || options.utf8 {
        match std::str::from_utf8(raw) {
            Ok(text) => compact_str::CompactString::from(text),
            Err(_) => latin(raw),
        }
    } else {
        latin(raw)
    };
    // An empty string is written as a zero byte.
    let text = if text == "\0" { "".into() } else { text };
    let from = DataType::NVarChar(Len::Max);
    convert(&Value::Str(text), from, column.ty, 0, Mode::Assignment)
}

/// The file as a stream. Data to import is no database file, so it does not go through the block-file layer.
fn open(path: &Path, shown: &str) -> Result<Box<dyn Read>, SqlError> {
    match std::fs::File::open(path) {
        Ok(file) => Ok(Box::new(file)),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Err(SqlError::new(
            4860,
            16,
            1,
            format!(
                "Cannot bulk load. The file \"{shown}\" does not exist or you don't have file access rights."
            ),
        )),
        Err(e) => Err(SqlError::new(
            4861,
            16,
            1,
            format!("Cannot bulk load because the file \"{shown}\" could not be opened: {e}."),
        )),
    }
}

fn bad_field(e: &SqlError, row: u64, column: usize, name: &str) -> SqlError {
    let (number, what) = match e.number {
        2628 | 8152 => (4863, "(truncation)"),
        8115 | 220 | 244 | 248 => (4867, "(overflow)"),
        _ => (4864, "(type mismatch or invalid character for the specified codepage)"),
    };
    let text = format!("Bulk load data conversion error {what} for row {row}, column {column} ({name}).");
    SqlError::new(number, 16, 1, text)
}

fn too_long(row: u64, column: usize) -> SqlError {
    let text = format!(
        "The bulk load failed. The column is too long in the data file for row {row}, column {column}. Verify that \
         the field terminator and row terminator are specified correctly."
    );
    SqlError::new(4866, 16, 1, text)
}

fn too_many_errors(limit: u64) -> SqlError {
    let text = format!("Cannot bulk load because the maximum number of errors ({limit}) was exceeded.");
    SqlError::new(4865, 16, 1, text)
}

fn unexpected_end() -> SqlError {
    SqlError::new(4832, 16, 1, "Bulk load: An unexpected end of file was encountered in the data file.")
}

fn read_failed(e: &std::io::Error) -> SqlError {
    SqlError::new(4861, 16, 2, format!("Cannot bulk load because the file could not be read: {e}."))
}

/// Bytes of code page 1252 as text.
fn latin(raw: &[u8]) -> compact_str::CompactString {
    raw.iter().map(|b| codepage::decode_byte(*b)).collect()
}
