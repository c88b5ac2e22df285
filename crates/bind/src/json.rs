//! JSON in the binder: calls whose arguments may be JSON text already, and OPENJSON with its
//! columns.
//!
//! OPENJSON WITH (...) is the function's rows as they are and, above them, one expression for each
//! column: the part of the row's text at the column's path, converted to the column's type. So
//! conversions and their errors are those of every other expression.

use super::call::{apply, wrong_count};
use super::source::{ScopeColumn, Source};
use super::{Binder, cast_type};
use catalog::{errors, fold_name};
use expr::bind_ops;
use expr::functions::required;
use expr::{Expr, Typed};
use logical::tree::Logical;
use logical::tree::input::Input;
use syntax::ast::{self, ExprKind, ForKind};
use types::{Collation, DataType, Len, SqlError, Value, msg};

/// Whether an expression gives JSON text: a function that makes some, or FOR JSON with its
/// brackets. Such text is not quoted again.
pub fn is_json(e: &ast::Expr) -> bool {
    match &e.kind {
        ExprKind::Function(call) => {
            let made = ["json_query", "json_modify", "json_object", "json_array"];
            made.contains(&fold_name(&call.name.name.value).as_str())
        }
        ExprKind::Subquery(query) => query.for_clause.as_ref().is_some_and(|clause| {
            let bare = clause.options.iter().any(|option| option.name == "WITHOUT_ARRAY_WRAPPER");
            clause.kind == ForKind::Json && !bare
        }),
        _ => false,
    }
}

fn constant(text: &str) -> Typed {
    Typed::new(Expr::Const(Value::str(text)), DataType::VarChar(Len::N(8000)), false)
}

impl Binder<'_> {
    /// ISJSON, JSON_MODIFY, JSON_OBJECT, JSON_ARRAY.
    pub(super) fn json_call(
        &mut self,
        name: &str,
        call: &ast::FunctionCall,
    ) -> Result<Typed, SqlError> {
        let flag = |e: &ast::Expr| if is_json(e) { '1' } else { '0' };
        let mut args = Vec::with_capacity(call.args.len() + 1);
        let mut values = call.args.as_slice();
        match name {
            "isjson" => match values {
                [_] => {}
                [value, kind] => {
                    args.push(self.expr(value)?);
                    args.push(constant(&json_kind(kind)?));
                    values = &[];
                }
                _ => return Err(wrong_count(name, 1)),
            },
            "json_modify" => match values {
                [_, _, value] => args.push(constant(&flag(value).to_string())),
                _ => return Err(wrong_count(name, 3)),
            },
            _ => {
                let mut mask = String::from(if call.ignore_nulls { "-" } else { "+" });
                let step = if name == "json_object" { 2 } else { 1 };
                mask.extend(values.iter().skip(step - 1).step_by(step).map(flag));
                args.push(constant(&mask));
            }
        }
        for value in values {
            args.push(self.expr(value)?);
        }
        apply(required(name)?, args)
    }

    /// OPENJSON(text [, path]) WITH (...): the columns as a source.
    pub(super) fn open_json(
        &mut self,
        call: (&ast::ObjectName, &[ast::Expr]),
        schema: &[ast::FunctionColumn],
        alias: Option<&ast::Ident>,
    ) -> Result<Logical, SqlError> {
        let (name, args) = call;
        if args.is_empty() || args.len() > 2 {
            return Err(errors::invalid_object(&name.to_string()));
        }
        let (rows, text) = self.nested_rows(name, args)?;
        let first = self.new_cols(schema.len());
        let mut exprs = Vec::with_capacity(schema.len());
        let mut columns = Vec::with_capacity(schema.len());
        for (id, column) in (first..).zip(schema) {
            let ty = cast_type(&column.data_type)?;
            if column.as_json && ty != DataType::NVarChar(Len::Max) {
                return Err(SqlError::of(msg::AS_JSON_TYPE, []));
            }
            let path = match &column.path {
                Some(path) => path.to_string(),
                None => {
                    let mut path = String::from("$.");
                    expr::json::write_string(&column.name.value, &mut path, types::look::GO_ON)?;
                    path
                }
            };
            let json = Typed::new(
                Expr::Const(Value::Int(i32::from(column.as_json))),
                DataType::Int,
                false,
            );
            let part =
                apply(required("openjson_column")?, vec![text.clone(), constant(&path), json])?;
            let value = if ty.is_binary() {
                apply(required("openjson_binary")?, vec![part])?
            } else {
                part
            };
            exprs.push((id, bind_ops::explicit(value, ty, 0, false)?.expr));
            columns.push(ScopeColumn::new(&column.name.value, id, ty, true, Collation::DEFAULT));
        }
        let source = Source::unqualified(&name.name, alias, columns);
        self.scope()?.sources.push(source);
        Ok(Logical::Project { input: Input::new(rows), exprs })
    }

    /// The function's rows with the text of each, as a source that nobody can name.
    fn nested_rows(
        &mut self,
        name: &ast::ObjectName,
        args: &[ast::Expr],
    ) -> Result<(Logical, Typed), SqlError> {
        let whole = |text: &str| ast::Expr {
            kind: ExprKind::Literal(ast::Literal::String { value: text.into(), national: false }),
            span: name.span(),
        };
        let mut args = args.to_vec();
        if args.len() == 1 {
            args.push(whole("$"));
        }
        args.push(whole("rows"));
        let rows = self.table_function(name, &args, None, &[])?;
        let source = self.scope()?.sources.pop();
        let text = source.and_then(|source| source.columns.into_iter().nth(1));
        let text = text.ok_or_else(|| SqlError::internal("OPENJSON has no column for its text"))?;
        Ok((rows, text.typed()))
    }
}

/// The word after ISJSON's comma.
fn json_kind(e: &ast::Expr) -> Result<String, SqlError> {
    if let ExprKind::Column(column) = &e.kind
        && column.qualifier.is_none()
    {
        let word = column.name.value.to_ascii_uppercase();
        if ["VALUE", "ARRAY", "OBJECT", "SCALAR"].contains(&word.as_str()) {
            return Ok(word.to_string());
        }
    }
    Err(SqlError::of(msg::SYNTAX_NEAR, [&","]))
}
