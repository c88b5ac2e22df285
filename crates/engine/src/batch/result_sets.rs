//! EXECUTE ... WITH RESULT SETS: what a call gives has the names and types that the caller has
//! declared. Guarantees: the sets are looked up before the call begins; a set, a column or a value
//! that does not keep to them is an error of the statement that gives it (11535, 11537, 11538,
//! 11553, 8114), sets that are missing one of the EXECUTE (11536).

use std::sync::Arc;

use syntax::ast::{ColumnDef, Execute, ObjectName, ResultSetDef, ResultSets, StmtKind, TypeName};
use types::convert::{Mode, check_conversion, convert_with};
use types::language::Dialect;
use types::{DataType, ResultRows, SqlError, msg};

use super::run::{Effect, Failure, Flow, Run};
use bind::document::XML_COLUMN;
use bind::type_names::type_of;
use catalog::{Db, ModuleKind, errors};
use ddl::system_functions::SystemFunctions;
use ddl::table_def::from_type;
use programs::compiled::BoundOperation;
use session::output::{
    ColumnInfo, ColumnOrigins, MadeRows, OutputParameter, SessionChange, Sink, StatementEnd,
    StatementKind,
};

/// What one result set is to be.
enum ExpectedResult {
    Columns(Vec<ColumnInfo>),
    /// The text of a FOR XML, as it is.
    ForXml,
}

/// Gives the client what was declared of what is sent.
struct Declared<'s> {
    client: &'s mut dyn Sink,
    shapes: &'s [ExpectedResult],
    /// Result sets that have begun.
    begun: usize,
    /// Of the current set: the types that are sent.
    sent: Vec<DataType>,
    /// The current set's values become others.
    converts: bool,
    /// How the session reads and writes dates.
    dialect: Dialect,
    /// Room for the rows that it makes.
    made: MadeRows,
}

impl<'s> Declared<'s> {
    /// What the current set is to be.
    fn shape(&self) -> Option<&'s ExpectedResult> {
        self.begun.checked_sub(1).and_then(|at| self.shapes.get(at))
    }
}

impl Sink for Declared<'_> {
    fn columns(&mut self, sent: &[ColumnInfo]) -> Result<(), SqlError> {
        let Some(shape) = self.shapes.get(self.begun) else {
            return Err(too_many(self.shapes.len()));
        };
        self.begun += 1;
        self.converts = false;
        match shape {
            ExpectedResult::ForXml => {
                if let [column] = sent
                    && column.name == XML_COLUMN
                {
                    return self.client.columns(sent);
                }
                let [column] = sent else { return Err(other_count(1, self.begun, sent.len())) };
                Err(no_conversion("ntext", 0, self.begun, column.ty.base_name()))
            }
            ExpectedResult::Columns(columns) => {
                if columns.len() != sent.len() {
                    return Err(other_count(columns.len(), self.begun, sent.len()));
                }
                for (at, (to, from)) in columns.iter().zip(sent).enumerate() {
                    if check_conversion(from.ty, to.ty, Mode::Implicit).is_err() {
                        return Err(no_conversion(
                            to.ty.base_name(),
                            at,
                            self.begun,
                            from.ty.base_name(),
                        ));
                    }
                }
                self.sent = sent.iter().map(|column| column.ty).collect();
                let other = |(to, from): (&ColumnInfo, &ColumnInfo)| {
                    to.ty != from.ty || (from.nullable && !to.nullable)
                };
                self.converts = columns.iter().zip(sent).any(other);
                self.client.columns(columns)
            }
        }
    }

    fn origins(&mut self, origins: &ColumnOrigins) -> Result<(), SqlError> {
        self.client.origins(origins)
    }

    fn ordered(&mut self, columns: &[u16]) -> Result<(), SqlError> {
        self.client.ordered(columns)
    }

    fn rows(&mut self, rows: &ResultRows<'_>) -> Result<(), SqlError> {
        let Some(ExpectedResult::Columns(columns)) = self.shape().filter(|_| self.converts) else {
            return self.client.rows(rows);
        };
        let (set, sent, dialect) = (self.begun, &self.sent, self.dialect);
        self.made.give(rows, columns.len(), &mut *self.client, |row, shaped| {
            for (at, ((value, to), from)) in row.iter().zip(columns).zip(sent).enumerate() {
                if value.is_null() && !to.nullable {
                    return Err(null_value(at, set));
                }
                shaped.push(match *from == to.ty {
                    true => value.clone(),
                    false => {
                        let page = to.collation.code_page();
                        convert_with(value, *from, to.ty, 0, Mode::Implicit, dialect, page)
                            .map_err(|_| conversion_fails(*from, to.ty))?
                    }
                });
            }
            Ok(())
        })
    }

    fn done(&mut self, end: StatementEnd) -> Result<(), SqlError> {
        self.client.done(end)
    }

    fn step(&mut self, end: StatementEnd) -> Result<(), SqlError> {
        self.client.step(end)
    }

    fn message(&mut self, message: &SqlError) -> Result<(), SqlError> {
        self.client.message(message)
    }

    fn error(&mut self, error: &SqlError) -> Result<(), SqlError> {
        self.client.error(error)
    }

    fn changed(&mut self, change: &SessionChange<'_>) -> Result<(), SqlError> {
        self.client.changed(change)
    }

    fn procedure_done(&mut self, status: i32) -> Result<(), SqlError> {
        self.client.procedure_done(status)
    }

    fn output_parameter(&mut self, parameter: &OutputParameter<'_>) -> Result<(), SqlError> {
        self.client.output_parameter(parameter)
    }
}

impl Run<'_> {
    /// EXECUTE, of which the result sets are declared.
    pub(super) fn execute_declared(
        &mut self,
        at: usize,
        execute: &Execute,
        declared: &ResultSets,
    ) -> Result<Flow, Failure> {
        let shapes =
            declared.sets.iter().map(|set| self.shape(set)).collect::<Result<Vec<_>, SqlError>>();
        let shapes = shapes.map_err(|error| Failure { error, effect: Effect::Compile })?;
        if !self.core.options.runs() {
            return self.show_declared(&shapes);
        }
        let dialect = self.core.options.dialect;
        let mut sink = Declared {
            client: &mut *self.sink,
            dialect,
            shapes: &shapes,
            begun: 0,
            sent: Vec::new(),
            converts: false,
            made: MadeRows::default(),
        };
        let mut inner = Run::new(self.core, &mut sink, self.batch, self.vars, self.outer_try);
        inner.at = at;
        // Of this scope's CATCH blocks `catches` tells by the place.
        let flow = inner.execute_as_is(at, execute)?;
        match sink.begun {
            begun if begun < shapes.len() && flow == Flow::Next => {
                Err(too_few(shapes.len(), begun).into())
            }
            _ => Ok(flow),
        }
    }

    /// FMTONLY: the columns that are declared, whatever is called.
    fn show_declared(&mut self, shapes: &[ExpectedResult]) -> Result<Flow, Failure> {
        for shape in shapes {
            match shape {
                ExpectedResult::Columns(columns) => self.sink.columns(columns)?,
                ExpectedResult::ForXml => self.sink.columns(&[ColumnInfo::new(
                    XML_COLUMN,
                    DataType::NVarChar(types::Len::Max),
                    true,
                )])?,
            }
            self.done(StatementKind::Select, Some(0))?;
        }
        Ok(Flow::Next)
    }

    fn shape(&mut self, set: &ResultSetDef) -> Result<ExpectedResult, SqlError> {
        let columns = match set {
            ResultSetDef::ForXml => return Ok(ExpectedResult::ForXml),
            ResultSetDef::Columns(columns) => {
                let db = self.core.db().clone();
                columns
                    .iter()
                    .map(|column| declared_column(column, &db))
                    .collect::<Result<_, _>>()?
            }
            ResultSetDef::Object(name) => self.columns_of_object(name)?,
            ResultSetDef::Type(name) => self.columns_of_type(name)?,
        };
        Ok(ExpectedResult::Columns(columns))
    }

    /// The columns of a table, a view or a function. Error: 11533.
    fn columns_of_object(&mut self, name: &ObjectName) -> Result<Vec<ColumnInfo>, SqlError> {
        let none = || SqlError::of(msg::RESULT_SET_OBJECT, [&name]);
        if name.database.is_some() {
            return Err(none());
        }
        let db = self.core.db().clone();
        let catalog = db.catalog();
        let schema = name.schema.as_ref().map_or("", |s| s.value.as_str());
        let module = catalog.find_module(schema, &name.name.value);
        let arguments = match module {
            Some(module) if module.kind == ModuleKind::Procedure => return Err(none()),
            Some(module) => {
                module.function().map(|function| vec!["NULL"; function.params.len()].join(", "))
            }
            None => None,
        };
        let quoted = |part: &str| format!("[{}]", part.replace(']', "]]"));
        let mut text = String::from("SELECT * FROM ");
        if let Some(schema) = &name.schema {
            text.push_str(&quoted(&schema.value));
            text.push('.');
        } else if arguments.is_some() {
            text.push_str("[dbo].");
        }
        text.push_str(&quoted(&name.name.value));
        if let Some(arguments) = arguments {
            text.push_str(&format!("({arguments})"));
        }
        let stmts = syntax::parse(&text).map_err(errors::syntax_error)?;
        let [stmt] = stmts.as_slice() else { return Err(none()) };
        let StmtKind::Select(query) = &stmt.kind else { return Err(none()) };
        let bound = BoundOperation::make(self.core, &self.batch.program.vars, self.vars, |env| {
            Ok(BoundOperation::Query(plan::compile_query(query, env)?))
        });
        let (_, BoundOperation::Query(plan)) = bound.map_err(|_| none())? else {
            return Err(none());
        };
        // Whoever may not see the object is not told what it looks like.
        self.core.check_rights(&plan.needs().rights).map_err(|_| none())?;
        // They are columns of the object in name and type alone.
        let named = |column: &ColumnInfo| ColumnInfo {
            collation: column.collation,
            ..ColumnInfo::new(column.name.clone(), column.ty, column.nullable)
        };
        Ok(plan.columns().iter().map(named).collect())
    }

    /// The columns of a table type. Error: 11534.
    fn columns_of_type(&mut self, name: &ObjectName) -> Result<Vec<ColumnInfo>, SqlError> {
        let db = self.core.db().clone();
        let catalog = db.catalog();
        let ty = TypeName { name: name.clone(), params: Vec::new(), span: name.name.span };
        let found = bind::type_names::table_type(&ty, &catalog).filter(|_| name.database.is_none());
        let Some(found) = found else {
            return Err(SqlError::of(msg::RESULT_SET_TABLE_TYPE, [&name]));
        };
        let table = from_type(SystemFunctions::of(self.core), found, "@t", &db)?;
        let columns = table.columns.into_iter().map(|column| ColumnInfo {
            collation: column.collation,
            ..ColumnInfo::new(column.name, column.ty, column.nullable)
        });
        Ok(columns.collect())
    }
}

/// A column that is written out. Errors: 2715, 448.
fn declared_column(column: &ColumnDef, db: &Arc<Db>) -> Result<ColumnInfo, SqlError> {
    let Some(name) = &column.data_type else {
        return Err(SqlError::internal("a declared column has a type"));
    };
    let (ty, nullable) = type_of(name, &db.catalog())?;
    // What is declared need not be stored: a sysname may be NULL.
    let of_alias = nullable.filter(|_| !name.name.name.is("sysname"));
    let nullable = column.nullable.or(of_alias).unwrap_or(true);
    let mut info = ColumnInfo::new(column.name.value.clone(), ty, nullable);
    info.collation = match &column.collation {
        None => db.default_collation(),
        Some(name) => bind::type_names::collation(name, db.default_collation(), 3)?,
    };
    Ok(info)
}

fn too_many(declared: usize) -> SqlError {
    SqlError::of(msg::TOO_MANY_RESULT_SETS, [&declared])
}

fn too_few(declared: usize, sent: usize) -> SqlError {
    SqlError::of(msg::TOO_FEW_RESULT_SETS, [&declared, &sent])
}

fn other_count(declared: usize, set: usize, sent: usize) -> SqlError {
    SqlError::of(msg::RESULT_SET_COLUMN_COUNT, [&declared, &set, &sent])
}

fn no_conversion(to: &str, column: usize, set: usize, from: &str) -> SqlError {
    SqlError::of(msg::RESULT_SET_COLUMN_TYPE, [&to, &(column + 1), &set, &from])
}

fn null_value(column: usize, set: usize) -> SqlError {
    SqlError::of(msg::RESULT_SET_COLUMN_NULL, [&(column + 1), &set])
}

fn conversion_fails(from: DataType, to: DataType) -> SqlError {
    SqlError::of(msg::ERROR_CONVERTING, [&from, &to])
}
