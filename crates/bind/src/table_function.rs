//! Functions in FROM: those of the system, which are views with arguments, and users' table
//! functions. Guarantees: a function has as many arguments as it takes (313, 8144).

use super::Binder;
use super::resolve::NamedSource;
use catalog::errors;
use expr::Expr;
use logical::tree::Logical;
use logical::view::Argument;
use syntax::ast;
use types::{DataType, SqlError, Value, msg};

impl Binder<'_> {
    pub(super) fn table_function(
        &mut self,
        name: &ast::ObjectName,
        args: &[ast::Expr],
        alias: Option<&ast::Ident>,
        columns: &[ast::Ident],
    ) -> Result<Logical, SqlError> {
        let schema = name.schema.as_ref().map_or("sys", |s| s.value.as_str());
        let view =
            self.env.names.view(schema, &name.name.value).filter(|v| v.arguments().is_some());
        let Some(view) = view else {
            if let Some(rows) = self.user_table_function(name, args, alias)? {
                self.rename_columns(columns)?;
                return Ok(rows);
            }
            let rows = match self.resolve(name) {
                Ok(NamedSource::Module(_, module)) => module.view().is_some(),
                other => other.is_ok(),
            };
            if rows {
                return Err(SqlError::of(msg::NOT_A_FUNCTION, [&name]));
            }
            return Err(errors::invalid_object(&name.to_string()));
        };
        let wanted = view.arguments().unwrap_or(0);
        if !(wanted..=wanted + view.optional_arguments()).contains(&args.len()) {
            let few = args.len() < wanted;
            let message = if few { msg::TOO_FEW_ARGUMENTS } else { msg::TOO_MANY_ARGUMENTS };
            return Err(SqlError::of(message, [&name]).state(2));
        }
        let mut bound = Vec::with_capacity(args.len());
        let mut types = Vec::with_capacity(args.len());
        for arg in args {
            // DEFAULT stands for NULL.
            let (expr, ty) = match arg.kind {
                ast::ExprKind::Default => (Expr::Const(Value::Null), DataType::Int),
                _ => self.expr(arg).map(|typed| (typed.expr, typed.ty))?,
            };
            bound.push(expr);
            types.push(ty);
        }
        let typed: Vec<Argument<'_>> = bound
            .iter()
            .zip(&types)
            .map(|(expr, ty)| {
                let constant = if let Expr::Const(value) = expr { Some(value) } else { None };
                Argument { ty: *ty, constant }
            })
            .collect();
        let view = view.for_arguments(&typed)?.unwrap_or(view);
        let db = match &name.database {
            Some(db) => self.env.names.database(&db.value)?,
            None => self.db.clone(),
        };
        let rows = self.system_view(db, view, bound, name, alias)?;
        self.rename_columns(columns)?;
        Ok(rows)
    }
}
