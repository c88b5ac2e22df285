//! BULK INSERT: rows of a delimited file through the table's bulk load. Guarantees: text arrives as
//! it was written, or its row is an error with row and column (4864): never as a `?`.

use std::io::Read;

use syntax::ast::{BulkInsert, OptionItem, OptionValue};
use types::convert::{Mode, convert_with};
use types::{DataType, Dialect, Len, SqlError, Value, msg};

use super::insert_bulk::row_order;
use super::{StmtCtx, resolve_table};
use catalog::errors;
use catalog::{ColumnDef, TableDef};
use ddl::option_rules;
use dml::bulk::{BulkRows, bulk_load};
use instance::bulk_file::{End, Fields, Terminators, open, read_failed, terminator};
use instance::encoding::{Decoded, Encoding};
use instance::messages::format::to_text;
use session::output::Sink;
use session::state::bulk::{BulkLoad, BulkOptions};

/// Options of the statement.
struct Options {
    terminators: Terminators,
    encoding: Encoding,
    first_row: u64,
    last_row: u64,
    max_errors: u64,
    load: BulkOptions,
}

impl StmtCtx<'_> {
    pub(super) fn bulk_insert(&mut self, stmt: &BulkInsert) -> Result<u64, SqlError> {
        option_rules::check("BULK INSERT", &stmt.options, option_rules::BULK_INSERT)?;
        let (db, table) = resolve_table(self.core, &stmt.table)?;
        let options = self.bulk_options(&stmt.options)?;
        let input = Decoded::new(open(self.core, &stmt.file)?, options.encoding);
        // A field per column, also of identity, computed and rowversion columns, which are passed
        // over.
        let given = |at: &usize| {
            let column = &table.columns[*at];
            !column.is_made() && (options.load.keep_identity || column.identity.is_none())
        };
        let columns: Vec<usize> = (0..table.columns.len()).filter(given).collect();
        let order = row_order(&stmt.options, &table, &columns)?;
        let load =
            BulkLoad { db, table: table.clone(), columns, options: options.load.clone(), order };
        let mut rows = FileRows {
            fields: Fields::new(input, options.terminators.clone()),
            table: &table,
            options: &options,
            sink: self.sink,
            dialect: self.core.options.dialect,
            raw: Vec::new(),
            row: 0,
            failed: 0,
        };
        bulk_load(&load, self.core, &mut rows)
    }

    fn bulk_options(&self, items: &[OptionItem]) -> Result<Options, SqlError> {
        let named = |name: &str| items.iter().rfind(|item| item.name == name);
        let text = |name: &str| named(name).map(|item| self.text_of(item)).transpose();
        let number = |name: &str| named(name).map(|item| self.number_of(item)).transpose();
        let on = |name: &str| named(name).is_some_and(OptionItem::is_on);
        let encoding = encoding_of(text("DATAFILETYPE")?, text("CODEPAGE")?)?;
        let csv = match text("FORMAT")?.map(|format| format.to_ascii_uppercase()).as_deref() {
            None => false,
            Some("CSV") => true,
            Some("PARQUET" | "DELTA") => {
                return Err(errors::not_supported("BULK INSERT WITH FORMAT"));
            }
            Some(other) => return Err(errors::syntax_near(other)),
        };
        let ending = |name: &str, default: &[u8]| -> Result<Vec<u8>, SqlError> {
            let given =
                text(name)?.map_or_else(|| default.to_vec(), |text| terminator(&text, encoding));
            if given.is_empty() { Err(errors::syntax_near(name)) } else { Ok(given) }
        };
        let quote = match text("FIELDQUOTE")?.as_deref().map(str::as_bytes) {
            None => csv.then_some(b'"'),
            Some([quote]) if quote.is_ascii() => Some(*quote),
            Some(_) => return Err(errors::syntax_near("FIELDQUOTE")),
        };
        let terminators = Terminators {
            field: ending("FIELDTERMINATOR", if csv { b"," } else { b"\t" })?,
            row: ending("ROWTERMINATOR", b"\n")?,
            quote,
        };
        Ok(Options {
            terminators,
            encoding,
            first_row: number("FIRSTROW")?.unwrap_or(1).max(1),
            last_row: number("LASTROW")?.filter(|n| *n > 0).unwrap_or(u64::MAX),
            max_errors: number("MAXERRORS")?.unwrap_or(10),
            load: BulkOptions {
                batch: number("BATCHSIZE")?.unwrap_or(0),
                keep_identity: on("KEEPIDENTITY"),
                keep_nulls: on("KEEPNULLS"),
                table_lock: on("TABLOCK"),
                ignore_constraints: !on("CHECK_CONSTRAINTS"),
                ignore_triggers: !on("FIRE_TRIGGERS"),
            },
        })
    }

    fn text_of(&self, item: &OptionItem) -> Result<String, SqlError> {
        match &item.value {
            OptionValue::Expr(expr) => match self.value(expr)? {
                Value::Str(text) => Ok(text.to_string()),
                other => to_text(&other, self.core.options.dialect),
            },
            OptionValue::Word(word) => Ok(word.to_string()),
            _ => Err(errors::syntax_near(&item.name)),
        }
    }

    fn number_of(&self, item: &OptionItem) -> Result<u64, SqlError> {
        match &item.value {
            OptionValue::Expr(expr) => {
                self.value(expr)?.as_i64().and_then(|n| u64::try_from(n).ok())
            }
            _ => None,
        }
        .ok_or_else(|| errors::syntax_near(&item.name))
    }
}

/// What DATAFILETYPE and CODEPAGE say; a byte order mark in the file wins over it. UTF-8 when they
/// say nothing.
fn encoding_of(file_type: Option<String>, page: Option<String>) -> Result<Encoding, SqlError> {
    match file_type.map(|file_type| file_type.to_ascii_lowercase()).as_deref() {
        None | Some("char") => {}
        Some("widechar") => return Ok(Encoding::UTF16),
        Some("native" | "widenative") => {
            return Err(errors::not_supported("BULK INSERT WITH DATAFILETYPE native"));
        }
        Some(other) => return Err(errors::syntax_near(other)),
    }
    let Some(page) = page else { return Ok(Encoding::Utf8) };
    Encoding::of_code_page(&page).ok_or_else(|| SqlError::of(msg::BULK_CODE_PAGE, [&page]))
}

/// The rows of the file.
struct FileRows<'a> {
    fields: Fields<Decoded<Box<dyn Read>>>,
    table: &'a TableDef,
    options: &'a Options,
    sink: &'a mut dyn Sink,
    /// How texts of dates are read.
    dialect: Dialect,
    raw: Vec<u8>,
    /// Rows read so far, and those of them that had errors.
    row: u64,
    failed: u64,
}

impl BulkRows for FileRows<'_> {
    fn next(&mut self, row: &mut [Value]) -> Result<bool, SqlError> {
        while self.row < self.options.last_row
            && !self.fields.at_end().map_err(|e| read_failed(&e))?
        {
            self.row += 1;
            match self.read(row)? {
                Ok(()) if self.row < self.options.first_row => {}
                Ok(()) => return Ok(true),
                Err(e) => {
                    self.failed += 1;
                    self.sink.error(&e)?;
                    if self.failed > self.options.max_errors {
                        return Err(too_many_errors(self.options.max_errors));
                    }
                }
            }
        }
        Ok(false)
    }
}

impl FileRows<'_> {
    /// Reads a row. The inner error is the row's own and counts against MAXERRORS; a row before
    /// FIRSTROW has none.
    fn read(&mut self, values: &mut [Value]) -> Result<Result<(), SqlError>, SqlError> {
        let mut result = Ok(());
        let mut places = values.iter_mut();
        let count = self.table.columns.len();
        for (i, column) in self.table.columns.iter().enumerate() {
            let end =
                self.fields.next(i + 1 == count, &mut self.raw).map_err(|e| read_failed(&e))?;
            if end == End::TooLong {
                return Err(too_long(self.row, i + 1));
            }
            if end == End::File && i + 1 < count {
                return Err(unexpected_end());
            }
            let skipped =
                column.is_made() || (column.identity.is_some() && !self.options.load.keep_identity);
            if skipped || self.row < self.options.first_row {
                continue;
            }
            let Some(place) = places.next() else { break };
            match field_value(&self.raw, self.fields.quoted, column, self.dialect) {
                Ok(value) => *place = value,
                Err(e) => result = result.and(Err(bad_field(&e, self.row, i + 1, &column.name))),
            }
        }
        Ok(result)
    }
}

/// The value of a field for a column. Errors: it is no such value, or has characters that the
/// column cannot hold.
fn field_value(
    raw: &[u8],
    quoted: bool,
    column: &ColumnDef,
    dialect: Dialect,
) -> Result<Value, SqlError> {
    if raw.is_empty() && !quoted {
        return Ok(Value::Null);
    }
    let Ok(text) = std::str::from_utf8(raw) else { return Err(bad_character()) };
    // An empty string is written as a zero byte, or as a pair of quotes.
    let text = &*types::units::held(if text == "\0" { "" } else { text });
    let page = column.collation.code_page();
    if column.ty.is_string() && !column.ty.is_unicode() && page.replaced(text).is_some() {
        return Err(bad_character());
    }
    let (from, value) = (DataType::NVarChar(Len::Max), Value::str(text));
    if !is_in_digits(text, column.ty) {
        return convert_with(&value, from, column.ty, 0, Mode::Assignment, dialect, page);
    }
    let marked = text.get(..2).is_some_and(|start| start.eq_ignore_ascii_case("0x"));
    let (bytes, style) = (DataType::VarBinary(Len::Max), if marked { 1 } else { 2 });
    let value = convert_with(&value, from, bytes, style, Mode::Explicit, dialect, page)?;
    convert_with(&value, bytes, column.ty, 0, Mode::Assignment, dialect, page)
}

/// Whether a field is the hexadecimal digits of bytes; of a hierarchyid it may be the path, too.
fn is_in_digits(text: &str, ty: DataType) -> bool {
    ty.is_binary() || (ty == DataType::HierarchyId && !text.starts_with('/'))
}

fn bad_character() -> SqlError {
    SqlError::of(msg::BULK_NOT_IN_CODE_PAGE, [])
}

fn bad_field(e: &SqlError, row: u64, column: usize, name: &str) -> SqlError {
    let message = match e.number {
        2628 | 8152 => msg::BULK_TRUNCATION,
        8115 | 220 | 244 | 248 => msg::BULK_OVERFLOW,
        _ => msg::BULK_CONVERSION,
    };
    SqlError::of(message, [&row, &column, &name])
}

fn too_long(row: u64, column: usize) -> SqlError {
    SqlError::of(msg::BULK_COLUMN_TOO_LONG, [&row, &column])
}

fn too_many_errors(limit: u64) -> SqlError {
    SqlError::of(msg::BULK_TOO_MANY_ERRORS, [&limit])
}

fn unexpected_end() -> SqlError {
    SqlError::of(msg::BULK_UNEXPECTED_END, [])
}
