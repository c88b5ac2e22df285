//! NEXT VALUE FOR in expressions: a call that gives another value for each row, the same for all
//! mentions of a sequence in one row.

use std::sync::Arc;

use super::Binder;
use super::scope::Clause;
use catalog::other::{OtherObject, SequenceDef};
use catalog::security::Permission;
use catalog::{Db, errors, fold_name};
use expr::{CallExpr, Expr, Typed};
use syntax::ast;
use types::{Collation, DataType, SqlError, Value, msg};

/// The function's name, which no text can have.
pub const NEXT_VALUE: &str = "next value for";

impl Binder<'_> {
    /// `NEXT VALUE FOR sequence [OVER (ORDER BY ...)]`.
    ///
    /// Errors: 208, 11726 no sequence; 11718 to 11725 where it may not stand.
    pub(super) fn next_value(
        &mut self,
        name: &ast::ObjectName,
        over: Option<&ast::Over>,
    ) -> Result<Typed, SqlError> {
        self.check_next_value(over)?;
        let (db, sequence) = self.find_sequence(name)?;
        let named = (sequence.schema.as_str(), sequence.name.as_str());
        self.rights.need_object(&db, named, sequence.object_id, Permission::Update, &[]);
        if !self.sequences.iter().any(|(_, used)| Arc::ptr_eq(used, &sequence)) {
            self.sequences.push((db.clone(), sequence.clone()));
        }
        let key = (db.id(), sequence.object_id);
        let again = self.row_values.contains(&key);
        if !again {
            self.row_values.push(key);
        }
        self.unordered_values += usize::from(over.is_none());
        let order = match over {
            None => Expr::Const(Value::Null),
            // The window puts the rows in order.
            Some(over) => self.row_number(over)?.expr,
        };
        let function = self.env.names.function(NEXT_VALUE);
        let function =
            function.ok_or_else(|| SqlError::internal("nobody gives values of sequences"))?;
        let number = |n: i32| Expr::Const(Value::Int(n));
        let args = vec![number(key.0), number(key.1), number(i32::from(again)), order];
        let types = vec![DataType::Int, DataType::Int, DataType::Int, DataType::BigInt];
        let ty = sequence.options.ty;
        let call =
            CallExpr { function, args, types, ty, collation: Collation::DEFAULT, lenient: false };
        Ok(Typed::new(Expr::Call(Box::new(call)), ty, false))
    }

    fn row_number(&mut self, over: &ast::Over) -> Result<Typed, SqlError> {
        let span = ast::Span::default();
        let name = ast::Ident { value: "row_number".into(), quoted: false, span };
        let call = ast::FunctionCall {
            name: ast::ObjectName { server: None, database: None, schema: None, name },
            args: Vec::new(),
            distinct: false,
            star: false,
            niladic: false,
            odbc: false,
            ignore_nulls: false,
            within_group: Vec::new(),
            over: Some(over.clone()),
            prolog: Default::default(),
        };
        self.call(&call)
    }

    fn find_sequence(
        &self,
        name: &ast::ObjectName,
    ) -> Result<(Arc<Db>, Arc<SequenceDef>), SqlError> {
        let missing = || errors::invalid_object(&name.to_string());
        let db = match &name.database {
            _ if name.server.is_some() => return Err(missing()),
            Some(db) => self.env.names.database(&db.value)?,
            None => self.db.clone(),
        };
        let catalog = if db.id() == self.db.id() { self.catalog.clone() } else { db.catalog() };
        let schema = self.schema_of(&catalog, name);
        match catalog.find_other(schema, &name.name.value) {
            Some(OtherObject::Sequence(sequence)) => Ok((db, sequence.clone())),
            None if catalog.is_free(schema, &name.name.value) => Err(missing()),
            _ => Err(SqlError::of(msg::NOT_A_SEQUENCE, [&fold_name(&name.name.value)])),
        }
    }

    /// How many values of sequences are taken so far, and how many in whatever order the rows come.
    pub(super) fn known_values(&self) -> (usize, usize) {
        (self.row_values.len(), self.unordered_values)
    }

    /// What a query that takes values of sequences since then cannot be besides.
    ///
    /// Errors: 11721 rows are compared, 11723 rows are put in an order in which they do not get
    /// their values.
    pub(super) fn check_values_since(
        &self,
        (values, unordered): (usize, usize),
        compared: bool,
        ordered: bool,
    ) -> Result<(), SqlError> {
        if compared && self.row_values.len() > values {
            return Err(compared_values());
        }
        if ordered && self.unordered_values > unordered {
            return Err(SqlError::of(msg::NEXT_VALUE_WITH_ORDER_BY, []));
        }
        Ok(())
    }

    /// Where NEXT VALUE FOR may stand.
    fn check_next_value(&self, over: Option<&ast::Over>) -> Result<(), SqlError> {
        if self.combining {
            return Err(compared_values());
        }
        if self.view_depth > 0
            || self.inline.is_some()
            || self.scopes.len() > 1
            || !self.open_ctes.is_empty()
        {
            return Err(SqlError::of(msg::NEXT_VALUE_NOT_ALLOWED, []));
        }
        match self.clause() {
            Clause::Where if self.assigning && over.is_none() => Ok(()),
            Clause::Where if self.assigning => {
                Err(SqlError::of(msg::NEXT_VALUE_OVER_NOT_ALLOWED, []))
            }
            Clause::Definition => Err(SqlError::of(msg::NEXT_VALUE_NOT_ALLOWED, [])),
            Clause::Aggregate => Err(SqlError::of(msg::NEXT_VALUE_IN_AGGREGATE, [])),
            Clause::On
            | Clause::Where
            | Clause::GroupBy
            | Clause::Having
            | Clause::OrderBy
            | Clause::Output => Err(SqlError::of(msg::NEXT_VALUE_IN_CLAUSE, [])),
            Clause::Select | Clause::None => match over {
                Some(over) if over.order_by.is_empty() => {
                    Err(SqlError::of(msg::NEXT_VALUE_EMPTY_OVER, []))
                }
                _ => Ok(()),
            },
        }
    }
}

/// 11721.
fn compared_values() -> SqlError {
    SqlError::of(msg::NEXT_VALUE_WITH_DISTINCT, [])
}
