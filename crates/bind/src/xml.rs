//! The methods of the type xml: calls with the document, the text of the query, and what the query
//! asks of the statement. Guarantees: queries are compiled before anything runs, and their errors
//! are those of the statement; the nodes that nodes() gives reach nothing but methods and IS NULL
//! (493).

use super::call::apply;
use super::resolve::Named;
use super::source::{ScopeColumn, Source};
use super::{Binder, unsupported};
use catalog::errors;
use compact_str::CompactString;
use expr::functions::required;
use expr::functions::xml::query_error;
use expr::{Expr, Typed, bind_ops};
use logical::tree::Logical;
use logical::tree::input::Input;
use syntax::ast::{self, ExprKind, QueryBody, SelectItem};
use types::{Collation, DataType, Len, NameContext, SqlError, Value, msg};
use xml::{Change, External, Query, QueryError};

/// The name by which a change of a value asks for its method: no text can have it.
pub const MODIFY: &str = syntax::ast::MODIFY;

fn constant(text: &str) -> Typed {
    Typed::new(Expr::Const(Value::str(text)), DataType::NVarChar(Len::Max), false)
}

fn string(e: &ast::Expr) -> Option<&str> {
    match &e.kind {
        ExprKind::Literal(ast::Literal::String { value, .. }) => Some(value.as_str()),
        _ => None,
    }
}

/// A method's name as users write it.
fn shown_name(method: &str) -> &str {
    if method == MODIFY { "modify" } else { method }
}

/// 8172.
fn literal_wanted(method: &str, at: usize) -> SqlError {
    SqlError::of(msg::XML_ARGUMENT_NOT_LITERAL, [&at, &method])
}

/// 174.
fn wrong_count(method: &str, wanted: usize) -> SqlError {
    SqlError::of(msg::FUNCTION_ARGUMENT_COUNT, [&method, &wanted])
}

/// What a query may ask of its surroundings. Errors: 9342 a document, 9344 a type that XQuery has
/// not.
fn check_asked(method: &str, asked: &[Typed]) -> Result<(), SqlError> {
    for typed in asked {
        match typed.ty {
            DataType::Xml => {
                let place = format!("XQuery [{method}()]: ");
                return Err(SqlError::of(msg::XQUERY_XML_INSTANCE, [&place]));
            }
            ty if ty.is_opaque() || matches!(ty, DataType::SqlVariant | DataType::HierarchyId) => {
                let place = format!("XQuery [{method}()]: ");
                return Err(SqlError::of(msg::XQUERY_SQL_TYPE, [&place, &ty.base_name()]));
            }
            _ => {}
        }
    }
    Ok(())
}

impl Binder<'_> {
    /// `x.method(...)` of a value.
    pub(super) fn method(
        &mut self,
        target: &ast::Expr,
        method: &ast::Ident,
        args: &[ast::Expr],
        prolog: &str,
    ) -> Result<Typed, SqlError> {
        let name = method.value.as_str();
        let target = self.method_target(target)?;
        if target.ty == DataType::HierarchyId {
            return self.hierarchy_method(".", method, args, Some(target));
        }
        let query = |wanted: usize| match args {
            args if args.len() != wanted => Err(wrong_count(shown_name(name), wanted)),
            args => match string(&args[0]) {
                Some(text) => Ok(format!("{prolog}{text}")),
                None => Err(literal_wanted(shown_name(name), 1)),
            },
        };
        match name {
            "value" => {
                let text = query(2)?;
                let ty = written_type(string(&args[1]).ok_or_else(|| literal_wanted(name, 2))?)?;
                self.value_method(target, &text, ty)
            }
            "query" | "exist" => {
                let text = query(1)?;
                let (_, asked) = self.compiled(name, &text, Query::parse, Query::externals)?;
                check_asked(name, &asked)?;
                apply(required(&format!("xml {name}()"))?, call_args(target, &text, asked))
            }
            MODIFY => {
                let text = query(1)?;
                self.modify_method(target, &text)
            }
            "modify" => Err(SqlError::of(msg::MODIFY_NOT_EXPECTED, [])),
            "nodes" => Err(SqlError::of(msg::NODES_OUTSIDE_FROM, [])),
            other => Err(SqlError::of(msg::NOT_A_METHOD_OR_PROPERTY, [&other])),
        }
    }

    /// value(): one value at most, of a SQL type; bytes are written in base64.
    fn value_method(&mut self, target: Typed, text: &str, ty: DataType) -> Result<Typed, SqlError> {
        if ty.is_opaque() || matches!(ty, DataType::SqlVariant | DataType::HierarchyId) {
            return Err(SqlError::of(msg::XML_VALUE_TYPE, [&ty]));
        }
        let (query, asked) = self.compiled("value", text, Query::parse, Query::externals)?;
        check_asked("value", &asked)?;
        if query.is_many() {
            return Err(SqlError::of(
                msg::XQUERY_SINGLETON_REQUIRED,
                [&"XQuery [value()]: ", &"value()", &"xdt:untypedAtomic *"],
            ));
        }
        let function = if ty.is_binary() { "xml value() as bytes" } else { "xml value()" };
        let value = apply(required(function)?, call_args(target, text, asked))?;
        // Dates are written as XML writes them.
        let style = if ty.is_temporal() { 126 } else { 0 };
        bind_ops::explicit(value, ty, style, false)
    }

    /// modify(): what it inserts may be values of type xml, if it inserts nothing else.
    fn modify_method(&mut self, target: Typed, text: &str) -> Result<Typed, SqlError> {
        let (change, asked) = self.compiled("modify", text, Change::parse, Change::externals)?;
        let (inserted, others) = asked.split_at(change.documents());
        let documents = !inserted.is_empty() && inserted.iter().all(|t| t.ty == DataType::Xml);
        check_asked("modify", if documents { others } else { &asked })?;
        let function = if documents { "xml modify() with documents" } else { "xml modify()" };
        apply(required(function)?, call_args(target, text, asked))
    }

    /// A method written as a call with the column in the place of a schema, `x.value(...)`; `None`
    /// where no such column is in sight.
    pub(super) fn column_method(
        &mut self,
        call: &ast::FunctionCall,
    ) -> Result<Option<Typed>, SqlError> {
        let ast::ObjectName { server: None, database, schema: Some(column), name } = &call.name
        else {
            return Ok(None);
        };
        let of_xml =
            matches!(name.value.as_str(), "value" | "query" | "exist" | "modify" | "nodes");
        if !of_xml && required(&format!("hierarchyid.{}", name.value)).is_err() {
            return Ok(None);
        }
        let qualifier = database.as_ref().map(|table| {
            Box::new(ast::ObjectName {
                server: None,
                database: None,
                schema: None,
                name: table.clone(),
            })
        });
        let span = name.span;
        let column = ast::ColumnRef { qualifier, name: column.clone() };
        let target = ast::Expr { kind: ExprKind::Column(column), span };
        if self.env.unresolved.is_some() {
            // It is no name that means nothing where it is a schema.
            let outer = std::mem::replace(&mut self.trial, true);
            let is_none = self.trial_column(&target);
            self.trial = outer;
            if is_none {
                return Ok(None);
            }
        }
        match self.method(&target, name, &call.args, &call.prolog) {
            // No column: it may be a function of a schema.
            Err(e) if matches!(e.number, 128 | 207 | 4104) && self.trial_column(&target) => {
                Ok(None)
            }
            bound => bound.map(Some),
        }
    }

    /// A method of hierarchyid, of a value (`.`) or of the type (`::`).
    ///
    /// # Errors
    /// 6506 no such method, 174.
    pub(super) fn hierarchy_method(
        &mut self,
        joint: &str,
        method: &ast::Ident,
        args: &[ast::Expr],
        target: Option<Typed>,
    ) -> Result<Typed, SqlError> {
        let function = required(&format!("hierarchyid{joint}{}", method.value)).map_err(|_| {
            SqlError::of(
                msg::METHOD_NOT_FOUND,
                [
                    &method.value,
                    &"Microsoft.SqlServer.Types.SqlHierarchyId",
                    &"Microsoft.SqlServer.Types",
                ],
            )
        })?;
        let wanted = usize::from(function.min) - usize::from(target.is_some());
        if args.len() != wanted {
            return Err(wrong_count(&method.value, wanted));
        }
        let mut values = Vec::from_iter(target);
        for arg in args {
            values.push(self.expr(arg)?);
        }
        apply(function, values)
    }

    /// `type::Method(args)`, or `type::Property`.
    ///
    /// # Errors
    /// 243 no such type, 258 one without methods, 6506 no such method, 6592 no such property.
    pub(super) fn static_member(
        &mut self,
        of_type: &ast::ObjectName,
        member: &ast::Ident,
        args: Option<&[ast::Expr]>,
    ) -> Result<Typed, SqlError> {
        let unknown = || {
            let mut error = SqlError::unknown_type(&of_type.to_string());
            error.state = 4;
            error
        };
        let of_system = of_type.schema.as_ref().is_none_or(|schema| schema.is("sys"));
        let named = DataType::from_name_in(&of_type.name.value, &[], NameContext::Cast);
        let ty = named.ok().filter(|_| of_system).ok_or_else(unknown)?;
        if ty != DataType::HierarchyId {
            return Err(SqlError::of(msg::METHODS_NOT_ALLOWED, [&ty.base_name()]));
        }
        match args {
            Some(args) => self.hierarchy_method("::", member, args, None),
            None if member.value == "Null" => {
                Ok(Typed::new(Expr::Const(Value::Null), ty, true).of_fixed_type())
            }
            None => Err(SqlError::of(msg::PROPERTY_NOT_FOUND, [&member.value])),
        }
    }

    /// Whether a column cannot be found.
    fn trial_column(&mut self, target: &ast::Expr) -> bool {
        self.node_access = true;
        let found = self.expr(target);
        self.node_access = false;
        found.is_err()
    }

    /// What a method is called on. Error: 258.
    fn method_target(&mut self, target: &ast::Expr) -> Result<Typed, SqlError> {
        self.node_access = matches!(target.kind, ExprKind::Column(_));
        let typed = self.expr(target);
        self.node_access = false;
        let typed = typed?;
        if !matches!(typed.ty, DataType::Xml | DataType::HierarchyId) {
            return Err(SqlError::of(msg::METHODS_NOT_ALLOWED, [&typed.ty]));
        }
        Ok(typed)
    }

    /// Compiles a query and binds what it asks for.
    fn compiled<Q>(
        &mut self,
        method: &str,
        text: &str,
        parse: fn(&str) -> Result<Q, QueryError>,
        externals: fn(&Q) -> &[External],
    ) -> Result<(Q, Vec<Typed>), SqlError> {
        let query = parse(text).map_err(|e| query_error(method, &e))?;
        let mut asked = Vec::new();
        for external in externals(&query) {
            asked.push(match external {
                External::Variable(name) => self.variable(name).map_err(|e| match e.number {
                    137 => SqlError::of(msg::XML_VARIABLE_UNRESOLVED, [&name]),
                    _ => e,
                })?,
                External::Column(name) => self.written_column(name)?,
            });
        }
        Ok((query, asked))
    }

    /// The column that sql:column names.
    fn written_column(&mut self, name: &str) -> Result<Typed, SqlError> {
        let missing = || SqlError::of(msg::INVALID_COLUMN, [&name]);
        let parsed = syntax::parse(&format!("select {name}")).map_err(|_| missing())?;
        let [ast::Stmt { kind: ast::StmtKind::Select(query), .. }] = parsed.as_slice() else {
            return Err(missing());
        };
        match &query.body {
            QueryBody::Select(select) => match select.items.as_slice() {
                [SelectItem::Expr { expr, alias: None }]
                    if matches!(expr.kind, ExprKind::Column(_)) =>
                {
                    self.expr(expr)
                }
                _ => Err(missing()),
            },
            QueryBody::Set { .. } | QueryBody::Ordered(_) => Err(missing()),
        }
    }

    /// `x.nodes(query) AS t (c)`: the nodes as rows.
    pub(super) fn nodes_source(
        &mut self,
        call: &ast::Expr,
        alias: Option<&ast::Ident>,
        columns: &[ast::Ident],
    ) -> Result<Logical, SqlError> {
        let ExprKind::Method { target, method, args, prolog } = &call.kind else {
            return Err(unsupported("A method in FROM"));
        };
        if method.value != "nodes" {
            return Err(SqlError::of(msg::METHOD_IN_FROM, [&method.value]));
        }
        let (Some(alias), [_]) = (alias, columns) else {
            return Err(SqlError::of(msg::SYNTAX_NEAR, [&")"]));
        };
        let [text] = args.as_slice() else { return Err(wrong_count("nodes", 1)) };
        let text = string(text).ok_or_else(|| literal_wanted("nodes", 1))?;
        let text = &format!("{prolog}{text}");
        let target = self.method_target(target)?;
        let (_, asked) = self.compiled("nodes", text, Query::parse, Query::externals)?;
        check_asked("nodes", &asked)?;
        let exprs = call_args(target, text, asked).into_iter().map(|typed| typed.expr).collect();
        let view = self.env.names.view("sys", NODES);
        let view = view.ok_or_else(|| SqlError::internal("nobody gives the rows of nodes()"))?;
        let name =
            ast::ObjectName { server: None, database: None, schema: None, name: alias.clone() };
        let rows = self.system_view(self.db.clone(), view, exprs, &name, Some(alias))?;
        self.rename_columns(columns)?;
        let source = self.scope()?.sources.last();
        let ids: Vec<_> = source.iter().flat_map(|s| &s.columns).map(|c| c.id).collect();
        self.node_columns.extend(ids);
        Ok(rows)
    }
}

/// The table functions behind nodes() and OPENXML.
pub const NODES: &str = "xml nodes()";
pub const PREPARED: &str = "openxml nodes()";

impl Binder<'_> {
    /// `OPENXML(@handle, path [, flags]) WITH (...)`: the nodes as rows and, above them, one
    /// expression for each column.
    pub(super) fn open_xml(
        &mut self,
        name: &ast::ObjectName,
        args: &[ast::Expr],
        schema: Vec<NodeColumn>,
        alias: Option<&ast::Ident>,
    ) -> Result<Logical, SqlError> {
        let (handle, pattern, flags) = match args {
            [handle, pattern] => (handle, pattern, 0),
            [handle, pattern, flags] => match self.expr_as(flags, DataType::Int)? {
                Expr::Const(value) => (handle, pattern, value.as_i64().unwrap_or(0)),
                _ => return Err(unsupported("OPENXML with flags that are no constant")),
            },
            _ => return Err(SqlError::of(msg::SYNTAX_NEAR, [&")"])),
        };
        let exprs = vec![
            self.expr_as(handle, DataType::Int)?,
            self.expr_as(pattern, DataType::NVarChar(Len::N(4000)))?,
        ];
        let view = self.env.names.view("sys", PREPARED);
        let view = view.ok_or_else(|| SqlError::internal("nobody gives the rows of OPENXML"))?;
        let rows = self.system_view(self.db.clone(), view, exprs, name, None)?;
        let source = self.scope()?.sources.pop();
        let node = source.and_then(|source| source.columns.into_iter().next()).map(|c| c.typed());
        let node = node.ok_or_else(|| SqlError::internal("OPENXML has no column for its node"))?;
        let first = self.new_cols(schema.len());
        let mut exprs = Vec::with_capacity(schema.len());
        let mut columns = Vec::with_capacity(schema.len());
        for (id, column) in (first..).zip(&schema) {
            let ty = column.ty;
            let path = column_path(column, flags)?;
            Query::parse(&path).map_err(|e| query_error("openxml", &e))?;
            let function = if ty == DataType::Xml { "xml query()" } else { "xml value()" };
            let value = apply(required(function)?, call_args(node.clone(), &path, Vec::new()))?;
            let style = if ty.is_temporal() { 126 } else { 0 };
            exprs.push((id, bind_ops::explicit(value, ty, style, false)?.expr));
            columns.push(ScopeColumn::new(&column.name, id, ty, true, Collation::DEFAULT));
        }
        let source = Source::unqualified(&name.name, alias, columns);
        self.scope()?.sources.push(source);
        Ok(Logical::Project { input: Input::new(rows), exprs })
    }

    /// The columns of a table, as those of OPENXML ... WITH (table). Error: 208 there is no such
    /// table.
    pub(super) fn columns_of_table(
        &self,
        name: &ast::ObjectName,
    ) -> Result<Vec<NodeColumn>, SqlError> {
        let Named::Table(_, table) = self.resolve(name)? else {
            return Err(errors::invalid_object(&name.to_string()));
        };
        let columns = table.columns.iter();
        Ok(columns.map(|c| NodeColumn { name: c.name.clone(), ty: c.ty, path: None }).collect())
    }
}

/// A column that OPENXML gives, with the path that leads to it from a node.
pub(super) struct NodeColumn {
    name: CompactString,
    ty: DataType,
    path: Option<CompactString>,
}

/// The columns of OPENXML ... WITH (column type ['path'], ...).
pub(super) fn columns_of_list(list: &[ast::FunctionColumn]) -> Result<Vec<NodeColumn>, SqlError> {
    let column = |column: &ast::FunctionColumn| {
        let ty = super::cast_type(&column.data_type)?;
        Ok(NodeColumn { name: column.name.value.clone(), ty, path: column.path.clone() })
    };
    list.iter().map(column).collect()
}

/// The path of a column of OPENXML: its own, else by the flags its attribute (1, 0), its element
/// (2) or either (3).
fn column_path(column: &NodeColumn, flags: i64) -> Result<String, SqlError> {
    let name = &column.name;
    match &column.path {
        Some(path) if path.starts_with("@mp:") => Err(unsupported("Metaproperties of OPENXML")),
        Some(path) => Ok(format!("({path})[1]")),
        None => Ok(match flags & 3 {
            2 => format!("({name})[1]"),
            3 => format!("(@{name}, {name})[1]"),
            _ => format!("(@{name})[1]"),
        }),
    }
}

fn call_args(target: Typed, text: &str, asked: Vec<Typed>) -> Vec<Typed> {
    let mut args = vec![target, constant(text)];
    args.extend(asked);
    args
}

/// 493: a column of nodes() by itself.
pub(super) fn node_by_itself(column: &str) -> SqlError {
    SqlError::of(msg::NODES_COLUMN_USED_DIRECTLY, [&column])
}

/// The type that a text names. Error: 102.
fn written_type(text: &str) -> Result<DataType, SqlError> {
    let near = || SqlError::of(msg::SYNTAX_NEAR, [&text]);
    let parsed = syntax::parse(&format!("select cast(null as {text})")).map_err(|_| near())?;
    let [ast::Stmt { kind: ast::StmtKind::Select(query), .. }] = parsed.as_slice() else {
        return Err(near());
    };
    let QueryBody::Select(select) = &query.body else { return Err(near()) };
    match select.items.as_slice() {
        [
            SelectItem::Expr {
                expr: ast::Expr { kind: ExprKind::Cast { target, .. }, .. },
                alias: None,
            },
        ] => super::cast_type(target),
        _ => Err(near()),
    }
}
