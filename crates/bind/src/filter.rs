//! The filter of a new index or of new statistics: what is written becomes tests of columns against
//! constants, and the definition that the catalog shows. Guarantee: a filter names plain columns on
//! the left and constants on the right, in the types of the columns (10609, 10611, 10612, 10620,
//! 10735).

use super::Binder;
use super::computed::NamedColumn;
use super::source::Source;
use catalog::defs::filter::{Constant, FilterTerm, FilterTest};
use catalog::names::quote;
use catalog::{Db, NewFilter, fold_name};
use expr::{Constant as Constants, Expr, Label, Typed, bind_ops};
use std::fmt::Write as _;
use std::sync::Arc;
use syntax::ast::{self, CompareOp, ExprKind, Literal, UnaryOp};
use types::{DataType, Dialect, SqlError, Value, msg};

/// What is being made, as messages name it.
#[derive(Clone, Copy, Debug)]
pub struct Filtered<'n> {
    /// `index` or `statistics`.
    pub what: &'static str,
    pub name: &'n str,
    pub table: &'n str,
}

impl Filtered<'_> {
    fn incorrect(&self) -> SqlError {
        let Filtered { what, name, table } = self;
        SqlError::of(msg::FILTER_INCORRECT, [&what, &name, &table])
    }

    /// The error of what is no constant. 1046 a subquery, 10735 all others.
    fn no_constant(&self, e: &ast::Expr) -> SqlError {
        match e.kind {
            ExprKind::Subquery(_) | ExprKind::InQuery { .. } => {
                SqlError::of(msg::SUBQUERY_NOT_ALLOWED, [])
            }
            _ => self.incorrect(),
        }
    }
}

impl Binder<'_> {
    /// Binds the filter of an index or of statistics of a table with these columns.
    ///
    /// # Errors
    /// 207; 1046, 10609, 10611, 10612, 10620, 10735; those of a conversion that is written.
    pub fn new_filter(
        &mut self,
        db: &Arc<Db>,
        of: Filtered<'_>,
        columns: &[NamedColumn],
        e: &ast::Expr,
    ) -> Result<NewFilter, SqlError> {
        let list = match &e.kind {
            ExprKind::And(list) => list.as_slice(),
            _ => std::slice::from_ref(e),
        };
        let mut filter = NewFilter { text: "(".to_string(), terms: Vec::new() };
        let mut bound = Filter { binder: self, db, of, columns, filter: &mut filter };
        bound.conjunction(list)?;
        filter.text.push(')');
        Ok(filter)
    }
}

/// A filter while it is bound.
struct Filter<'f, 'b, 'e> {
    binder: &'b mut Binder<'e>,
    db: &'f Arc<Db>,
    of: Filtered<'f>,
    columns: &'f [NamedColumn],
    filter: &'f mut NewFilter,
}

impl Filter<'_, '_, '_> {
    fn conjunction(&mut self, list: &[ast::Expr]) -> Result<(), SqlError> {
        list.iter().try_for_each(|term| match &term.kind {
            ExprKind::And(inner) => self.conjunction(inner),
            _ => {
                if !self.filter.terms.is_empty() {
                    self.filter.text.push_str(" AND ");
                }
                self.term(term)
            }
        })
    }

    fn term(&mut self, term: &ast::Expr) -> Result<(), SqlError> {
        match &term.kind {
            ExprKind::IsNull { operand, negated } => {
                let at = self.column(operand)?;
                self.write(at, if *negated { " IS NOT NULL" } else { " IS NULL" });
                self.add(at, if *negated { FilterTest::IsNotNull } else { FilterTest::IsNull });
            }
            ExprKind::Compare { op, left, right } => {
                let at = self.column(left)?;
                self.write(at, symbol(*op));
                let constant = self.constant(at, right)?;
                self.add(at, FilterTest::Compare(*op, constant));
            }
            ExprKind::InList { operand, list, negated: false } => {
                let at = self.column(operand)?;
                if let [one] = list.as_slice() {
                    self.write(at, "=");
                    let constant = self.constant(at, one)?;
                    self.add(at, FilterTest::Compare(CompareOp::Equal, constant));
                    return Ok(());
                }
                self.write(at, " IN (");
                let mut constants = Vec::with_capacity(list.len());
                for (place, one) in list.iter().enumerate() {
                    if place > 0 {
                        self.filter.text.push_str(", ");
                    }
                    constants.push(self.constant(at, one)?);
                }
                self.filter.text.push(')');
                self.add(at, FilterTest::In(constants));
            }
            _ => return Err(self.of.no_constant(term)),
        }
        Ok(())
    }

    fn add(&mut self, column: usize, test: FilterTest) {
        let collation = self.columns[column].collation;
        self.filter.terms.push(FilterTerm { column, collation, test });
    }

    fn write(&mut self, column: usize, behind: &str) {
        let name = quote(&self.columns[column].name);
        let _ = write!(self.filter.text, "{name}{behind}");
    }

    /// The position of a plain column.
    fn column(&self, e: &ast::Expr) -> Result<usize, SqlError> {
        let ExprKind::Column(column) = &e.kind else { return Err(self.of.incorrect()) };
        let name = &column.name.value;
        let folded = fold_name(name);
        let at = self.columns.iter().position(|c| fold_name(&c.name) == folded);
        let at = at.ok_or_else(|| SqlError::of(msg::INVALID_COLUMN, [&name]))?;
        if self.columns[at].computed {
            let Filtered { what, name, table } = self.of;
            let column = &self.columns[at].name;
            return Err(SqlError::of(msg::FILTER_COLUMN_COMPUTED, [&what, &name, &table, column]));
        }
        Ok(at)
    }

    /// A constant beside a column, in the type in which they are compared.
    fn constant(&mut self, at: usize, e: &ast::Expr) -> Result<Constant, SqlError> {
        if matches!(e.kind, ExprKind::Literal(Literal::Null)) {
            return Err(SqlError::of(
                msg::FILTER_NULL_COMPARISON,
                [&self.of.what, &self.of.name, &self.of.table],
            ));
        }
        let (text, typed) = self.written(e)?;
        self.filter.text.push_str(&text);
        let column = &self.columns[at];
        let (own, ty) = (column.ty, typed.ty);
        let Filtered { what, name, table } = self.of;
        let wider = || {
            SqlError::of(
                msg::FILTER_COLUMN_CONVERTED,
                [&what, &name, &table, &column.name, &what, &column.name],
            )
        };
        if own.is_string() && ty.is_string() {
            let wide = |ty| matches!(ty, DataType::NChar(_) | DataType::NVarChar(_));
            let other = typed.label == Label::Explicit && typed.collation != column.collation;
            if other || (wide(ty) && !wide(own)) {
                return Err(wider());
            }
            return Ok(Constant { value: value_of(&typed)?, ty, converted: None });
        }
        let common = bind_ops::comparison_type(own, ty, "equal to")?;
        if own.is_kind_of(ty) || (own.is_binary() && ty.is_binary()) {
            return Ok(Constant { value: value_of(&typed)?, ty, converted: None });
        }
        let same = common.is_kind_of(own);
        let numbers = own.is_number() && ty.is_number();
        if !same && !numbers {
            return Err(wider());
        }
        // A value that is there but is none of the column's: 10612.
        let to = if same { own } else { common };
        let converted = bind_ops::implicit(typed, to)?
            .eval(&[], &mut Constants { dialect: Some(Dialect::DEFAULT) });
        let value = converted.map_err(|_| {
            SqlError::of(msg::FILTER_COLUMN_TYPE, [&what, &name, &table, &column.name])
        })?;
        Ok(Constant { value, ty: to, converted: (!same).then_some(own) })
    }

    /// A constant as the definition shows it, and as it is bound. Errors: 1046, 10735 for what is
    /// none.
    fn written(&mut self, e: &ast::Expr) -> Result<(String, Typed), SqlError> {
        let text = match &e.kind {
            ExprKind::Literal(literal) => shown(literal, ""),
            ExprKind::Unary { op: UnaryOp::Minus, operand } => match &operand.kind {
                ExprKind::Literal(literal) => shown(literal, "-"),
                _ => return Err(self.of.incorrect()),
            },
            ExprKind::Unary { op: UnaryOp::Plus, operand } => return self.written(operand),
            ExprKind::Cast { operand, or_null: false, .. } => {
                let (inner, _) = self.written(operand)?;
                return self.converted(e, &inner, None);
            }
            ExprKind::Convert { operand, style, or_null: false, .. } => {
                let (inner, _) = self.written(operand)?;
                let style = style.as_ref().map(|style| self.written(style)).transpose()?;
                return self.converted(e, &inner, style.map(|(text, _)| text));
            }
            _ => return Err(self.of.no_constant(e)),
        };
        Ok((text, self.bound(e)?))
    }

    fn converted(
        &mut self,
        e: &ast::Expr,
        inner: &str,
        style: Option<String>,
    ) -> Result<(String, Typed), SqlError> {
        let typed = self.bound(e)?;
        let ty = typed.ty.to_string();
        let (name, length) = ty.find('(').map_or((ty.as_str(), ""), |at| ty.split_at(at));
        let style = style.map_or(String::new(), |style| format!(",{style}"));
        Ok((format!("CONVERT([{name}]{length},{inner}{style})"), typed))
    }

    fn bound(&mut self, e: &ast::Expr) -> Result<Typed, SqlError> {
        let nothing = Source {
            name: fold_name(self.of.table),
            aliased: false,
            schema: None,
            database: None,
            columns: Vec::new(),
            object_id: 0,
            db_id: 0,
        };
        self.binder.over(self.db.clone(), nothing, e)
    }
}

/// The value of a constant; the error of a conversion that is written and fails.
fn value_of(typed: &Typed) -> Result<Value, SqlError> {
    match &typed.expr {
        Expr::Const(value) => Ok(value.clone()),
        other => other.eval(&[], &mut Constants { dialect: Some(Dialect::DEFAULT) }),
    }
}

fn symbol(op: CompareOp) -> &'static str {
    match op {
        CompareOp::Equal => "=",
        CompareOp::NotEqual => "<>",
        CompareOp::Less => "<",
        CompareOp::LessEqual => "<=",
        CompareOp::Greater => ">",
        CompareOp::GreaterEqual => ">=",
    }
}

/// A literal with its sign, as SQL Server writes it in definitions.
fn shown(literal: &Literal, sign: &str) -> String {
    match literal {
        Literal::Null => "NULL".to_string(),
        Literal::Integer(n) if i32::try_from(*n).is_ok() => format!("({sign}{n})"),
        Literal::Integer(n) => format!("({sign}{n}.)"),
        Literal::Decimal(text) => {
            let zero = if text.starts_with('.') { "0" } else { "" };
            format!("({sign}{zero}{text})")
        }
        Literal::Float(text) => format!("({sign}{text})"),
        Literal::Money(text) => {
            let (whole, part) = text.split_once('.').unwrap_or((text, ""));
            format!("({sign}${}.{part:0<4})", if whole.is_empty() { "0" } else { whole })
        }
        Literal::String { value, national } => {
            let mark = if *national { "N" } else { "" };
            format!("{sign}{mark}'{}'", value.replace('\'', "''"))
        }
        Literal::Binary(bytes) => {
            bytes.iter().fold(format!("{sign}0x"), |text, byte| format!("{text}{byte:02X}"))
        }
    }
}
