//! The list of SELECT: expressions, stars, values for variables, IDENTITY() of SELECT INTO.
//! Guarantees: a list gives columns or values of variables, never both (141); a column is headed as
//! the query spells its name.

use super::Binder;
use super::source::Source;
use compact_str::CompactString;
use expr::bind_ops;
use expr::{Expr, Typed};
use syntax::ast::{self, ExprKind, SelectItem};
use types::convert::Mode;
use types::{DataType, SqlError, Value, msg};

/// Most columns of a result.
pub(super) const MOST_COLUMNS: usize = 4096;

/// 1056.
pub(super) fn too_many_columns() -> SqlError {
    SqlError::of(msg::TOO_MANY_SELECTED, [&MOST_COLUMNS])
}

/// A list, bound: one of the two is empty.
pub(super) struct SelectList {
    pub(super) items: Vec<Item>,
    pub(super) assignments: Assignments,
}

/// `@v = x` of a select list: slot, value.
type Assignments = Vec<(usize, Expr)>;

/// One item of a select list, bound.
pub(super) struct Item {
    pub(super) name: CompactString,
    pub(super) typed: Typed,
}

impl Binder<'_> {
    /// `list_is_rows`: `*` stands for rows and not for their columns.
    pub(super) fn select_list(
        &mut self,
        select: &ast::Select,
        list_is_rows: bool,
    ) -> Result<SelectList, SqlError> {
        let mut items = Vec::new();
        let mut assignments = Vec::new();
        for item in &select.items {
            if items.len() > MOST_COLUMNS {
                return Err(too_many_columns());
            }
            match item {
                SelectItem::Wildcard { qualifier: None, .. }
                    if list_is_rows && !select.from.is_empty() =>
                {
                    let typed = Typed::new(Expr::Const(Value::Int(1)), DataType::Int, false);
                    items.push(Item { name: "".into(), typed });
                }
                SelectItem::Wildcard { qualifier, .. } => {
                    self.wildcard(qualifier.as_ref(), &mut items)?
                }
                SelectItem::Expr { expr, alias } => {
                    let typed = match &expr.kind {
                        ExprKind::Identity { target, identity } => {
                            self.numbered_item(target, identity, alias.as_ref(), items.len())?
                        }
                        _ => self.expr(expr)?,
                    };
                    let name = match (alias, &expr.kind) {
                        (Some(alias), _) => alias.value.clone(),
                        (None, ExprKind::Column(c)) => self.heading(c),
                        _ => "".into(),
                    };
                    items.push(Item { name, typed });
                }
                SelectItem::Assign { variable, op, expr } => {
                    assignments.push(self.assignment(variable, *op, expr)?);
                }
            }
        }
        if items.len() > MOST_COLUMNS {
            return Err(too_many_columns());
        }
        if !items.is_empty() && !assignments.is_empty() {
            return Err(SqlError::of(msg::ASSIGNING_SELECT_RETURNS_ROWS, []));
        }
        Ok(SelectList { items, assignments })
    }

    /// IDENTITY(type, seed, increment) in the select list of SELECT INTO: the values are given when
    /// the rows are stored.
    fn numbered_item(
        &mut self,
        target: &ast::TypeName,
        identity: &ast::Identity,
        alias: Option<&ast::Ident>,
        at: usize,
    ) -> Result<Typed, SqlError> {
        let name = alias.map_or("", |alias| alias.value.as_str());
        let ty = super::type_names::data_type(target, &self.catalog)?;
        let outermost = self.scopes.len() == 1;
        let Some(numbered) = self.numbered.as_mut().filter(|_| outermost) else {
            return Err(super::value::identity_outside());
        };
        numbered.push((at, catalog::identity::of_clause(identity, name, ty)?));
        let zero = Typed::new(Expr::Const(Value::Int(0)), DataType::Int, false);
        Ok(Typed::new(bind_ops::implicit(zero, ty)?, ty, false))
    }

    /// `@v = x`, `@v += x`: the slot and the value in the variable's type.
    pub fn assignment(
        &mut self,
        variable: &str,
        op: ast::AssignOp,
        expr: &ast::Expr,
    ) -> Result<(usize, Expr), SqlError> {
        self.deduce_assigned(variable, op, expr)?;
        let (slot, ty) = self.env.vars.find(variable)?;
        let mut typed = self.expr(expr)?;
        if let Some(op) = compound(op) {
            typed = self.binary(op, Typed::new(Expr::Var(slot), ty, true), typed)?;
        }
        Ok((slot, bind_ops::assigned(typed, ty, Mode::Implicit, self.collation())?))
    }

    pub(super) fn wildcard(
        &mut self,
        qualifier: Option<&ast::ObjectName>,
        items: &mut Vec<Item>,
    ) -> Result<(), SqlError> {
        let scope = self.scope()?;
        if scope.sources.is_empty() {
            return Err(SqlError::of(msg::NO_TABLE_TO_SELECT_FROM, []));
        }
        let wanted = |s: &Source| qualifier.is_none_or(|q| s.is_named(q));
        if !scope.sources.iter().any(wanted) {
            let name = qualifier.map(|q| q.to_string()).unwrap_or_default();
            return Err(SqlError::of(msg::UNKNOWN_PREFIX, [&name]));
        }
        let columns: Vec<_> = scope
            .sources
            .iter()
            .filter(|s| wanted(s))
            .flat_map(|s| {
                let full = s.name.clone();
                s.columns.iter().filter(|c| !c.hidden).map(move |c| (full.clone(), c.clone()))
            })
            .collect();
        let depth = self.scopes.len() - 1;
        for (full, column) in columns {
            self.rights.mentions(column.id);
            if self.node_columns.contains(&column.id) {
                return Err(super::xml::node_by_itself(&column.name));
            }
            let typed =
                self.grouped_column(depth, column.typed(), &format!("{full}.{}", column.name))?;
            items.push(Item { name: column.name, typed });
        }
        Ok(())
    }

    /// All columns of the block's sources: `*` as the arguments of a function.
    pub(super) fn all_columns(&mut self) -> Result<Vec<Typed>, SqlError> {
        let mut items = Vec::new();
        self.wildcard(None, &mut items)?;
        Ok(items.into_iter().map(|item| item.typed).collect())
    }
}

/// The operator of a compound assignment.
pub fn compound(op: ast::AssignOp) -> Option<ast::BinaryOp> {
    use ast::{AssignOp as A, BinaryOp as B};
    Some(match op {
        A::Set => return None,
        A::Add => B::Add,
        A::Subtract => B::Subtract,
        A::Multiply => B::Multiply,
        A::Divide => B::Divide,
        A::Modulo => B::Modulo,
        A::BitAnd => B::BitAnd,
        A::BitOr => B::BitOr,
        A::BitXor => B::BitXor,
    })
}
