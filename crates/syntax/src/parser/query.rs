//! Queries: SELECT and its clauses, set operators, common table expressions.

use super::{P, Parser};
use crate::ast::{
    Cte, ForClause, ForKind, GroupBy, GroupItem, NamedWindow, Query, QueryBody, Select, SelectInto,
    SelectItem, SetOp, Span, Top,
};
use crate::lexer::Tok;

impl Parser<'_> {
    /// A query as a statement: with CTEs before it and OPTION after.
    pub(super) fn query_statement(&mut self) -> P<Query> {
        let start = self.peek().span;
        let ctes = self.opt_ctes()?;
        self.query_after_ctes(ctes, start)
    }

    pub(super) fn query_after_ctes(&mut self, ctes: Vec<Cte>, start: Span) -> P<Query> {
        let mut query = self.nest(|p| p.query(false))?;
        query.ctes = ctes;
        query.options = self.opt_query_options()?;
        // FOR XML and FOR JSON may stand behind OPTION too.
        if !query.options.is_empty() && query.for_clause.is_none() {
            query.for_clause = self.opt_for()?;
        }
        query.span = self.since(start);
        Ok(query)
    }

    /// A query inside parentheses: without CTEs and OPTION.
    pub(super) fn subquery(&mut self) -> P<Query> {
        self.nest(|p| p.query(true))
    }

    /// `(SELECT ...)`, with further parentheses allowed.
    pub(super) fn parenthesised_query(&mut self) -> P<Box<Query>> {
        self.expect_tok(Tok::LParen)?;
        let query = self.subquery()?;
        self.expect_tok(Tok::RParen)?;
        Ok(Box::new(query))
    }

    /// Whether a query begins here, perhaps in parentheses.
    pub(super) fn at_query(&self) -> bool {
        let mut ahead = 0;
        while self.peek_at(ahead).kind == Tok::LParen {
            ahead += 1;
        }
        self.at_word(ahead, "SELECT")
    }

    /// `inner`: a subquery, where each SELECT with TOP may have its ORDER BY.
    fn query(&mut self, inner: bool) -> P<Query> {
        let start = self.peek().span;
        match self.query_body(inner)? {
            QueryBody::Ordered(query) if !self.at("ORDER") => Ok(*query),
            body => self.query_tail(body, start),
        }
    }

    /// Goes on after a parenthesised query that turned out to be the first part of a larger one.
    pub(super) fn continue_query(&mut self, first: Box<Query>, start: Span) -> P<Box<Query>> {
        if !self.at_any(&["UNION", "EXCEPT", "INTERSECT", "ORDER", "FOR"]) {
            return Ok(first);
        }
        let first = if first.order_by.is_empty() { first.body } else { QueryBody::Ordered(first) };
        let body = self.chain(|p| {
            let left = p.intersections(first, true)?;
            p.unions(left, true)
        })?;
        self.query_tail(body, start).map(Box::new)
    }

    fn query_tail(&mut self, body: QueryBody, start: Span) -> P<Query> {
        let mut query = Query {
            ctes: Vec::new(),
            body,
            order_by: Vec::new(),
            offset: None,
            fetch: None,
            for_clause: None,
            options: Vec::new(),
            span: start,
        };
        if self.at("ORDER") {
            query.order_by = self.order_by()?;
            if self.eat("OFFSET") {
                query.offset = Some(self.scalar()?);
                self.expect_row_word()?;
                if self.eat("FETCH") {
                    if !self.eat("NEXT") {
                        self.expect("FIRST")?;
                    }
                    query.fetch = Some(self.scalar()?);
                    self.expect_row_word()?;
                    self.expect("ONLY")?;
                }
            }
        }
        query.for_clause = self.opt_for()?;
        query.span = self.since(start);
        Ok(query)
    }

    fn expect_row_word(&mut self) -> P<()> {
        if self.eat("ROWS") { Ok(()) } else { self.expect("ROW").map(|_| ()) }
    }

    /// `FOR XML`, `FOR JSON`, `FOR BROWSE`; the FOR of a cursor is left alone.
    fn opt_for(&mut self) -> P<Option<ForClause>> {
        let kind = if self.eat_seq(&["FOR", "XML"]) {
            ForKind::Xml
        } else if self.eat_seq(&["FOR", "JSON"]) {
            ForKind::Json
        } else if self.eat_seq(&["FOR", "BROWSE"]) {
            return Ok(Some(ForClause {
                kind: ForKind::Browse,
                options: Vec::new(),
                namespaces: Vec::new(),
            }));
        } else {
            return Ok(None);
        };
        let namespaces = self.namespaces.clone();
        Ok(Some(ForClause { kind, options: self.list(Self::option)?, namespaces }))
    }

    // ---- set operators ----

    fn query_body(&mut self, inner: bool) -> P<QueryBody> {
        self.chain(|p| {
            let first = p.query_term(inner)?;
            let left = p.intersections(first, inner)?;
            p.unions(left, inner)
        })
    }

    fn unions(&mut self, mut left: QueryBody, inner: bool) -> P<QueryBody> {
        loop {
            let op = if self.eat("UNION") {
                SetOp::Union
            } else if self.eat("EXCEPT") {
                SetOp::Except
            } else {
                return Ok(left);
            };
            let all = op == SetOp::Union && self.eat("ALL");
            let right = self.chain(|p| {
                let first = p.query_term(inner)?;
                p.intersections(first, inner)
            })?;
            left = QueryBody::Set { op, all, left: Box::new(left), right: Box::new(right) };
            self.deepen()?;
        }
    }

    fn intersections(&mut self, mut left: QueryBody, inner: bool) -> P<QueryBody> {
        while self.eat("INTERSECT") {
            let right = self.query_term(inner)?;
            left = QueryBody::Set {
                op: SetOp::Intersect,
                all: false,
                left: Box::new(left),
                right: Box::new(right),
            };
            self.deepen()?;
        }
        Ok(left)
    }

    fn query_term(&mut self, inner: bool) -> P<QueryBody> {
        let start = self.peek().span;
        let (body, ordered) = if self.eat_tok(Tok::LParen) {
            let body = self.nest(|p| {
                let body = p.query_body(inner)?;
                if inner && p.at("ORDER") { p.ordered(body, start) } else { Ok(body) }
            })?;
            self.expect_tok(Tok::RParen)?;
            (body, false)
        } else {
            let select = self.select()?;
            let ordered = inner && select.top.is_some() && self.at("ORDER");
            (QueryBody::Select(Box::new(select)), ordered)
        };
        if ordered { self.ordered(body, start) } else { Ok(body) }
    }

    fn ordered(&mut self, body: QueryBody, start: Span) -> P<QueryBody> {
        Ok(QueryBody::Ordered(Box::new(self.query_tail(body, start)?)))
    }

    // ---- SELECT ----

    fn select(&mut self) -> P<Select> {
        let start = self.expect("SELECT")?.span;
        let distinct = self.eat("DISTINCT");
        if !distinct {
            self.eat("ALL");
        }
        let mut select = Select {
            distinct,
            top: self.opt_top()?,
            items: Vec::new(),
            into: None,
            from: Vec::new(),
            filter: None,
            group_by: None,
            having: None,
            windows: Vec::new(),
            span: start,
        };
        select.items = self.list(Self::select_item)?;
        if self.eat("INTO") {
            let table = self.object_name()?;
            let filegroup = if self.eat("ON") { Some(self.ident_or_string()?) } else { None };
            select.into = Some(SelectInto { table, filegroup });
        }
        if self.eat("FROM") {
            select.from = self.list(Self::table_source)?;
        }
        if self.eat("WHERE") {
            select.filter = Some(self.condition()?);
        }
        if self.at("GROUP") {
            select.group_by = Some(self.group_by()?);
        }
        if self.eat("HAVING") {
            select.having = Some(self.condition()?);
        }
        if self.at("WINDOW") && self.is_ident(1) && self.at_word(2, "AS") {
            self.bump();
            select.windows = self.list(Self::named_window)?;
        }
        select.span = self.since(start);
        Ok(select)
    }

    fn named_window(&mut self) -> P<NamedWindow> {
        let name = self.ident()?;
        self.expect("AS")?;
        Ok(NamedWindow { name, over: self.window_spec()? })
    }

    /// `TOP (n)` or `TOP n`, when it is there.
    pub(super) fn opt_top(&mut self) -> P<Option<Top>> {
        if !self.eat("TOP") {
            return Ok(None);
        }
        let count = if self.at_tok(Tok::LParen) {
            self.nest(|p| p.parenthesised(Self::scalar))?
        } else if matches!(self.kind(), Tok::Integer | Tok::Decimal | Tok::Float) {
            self.constant_or_variable()?
        } else {
            return Err(self.unexpected());
        };
        let percent = self.eat("PERCENT");
        let with_ties = self.eat_seq(&["WITH", "TIES"]);
        Ok(Some(Top { count, percent, with_ties }))
    }

    /// One entry of a select list or of OUTPUT.
    pub(super) fn select_item(&mut self) -> P<SelectItem> {
        let start = self.peek().span;
        if self.eat_tok(Tok::Star) {
            return Ok(SelectItem::Wildcard { qualifier: None, span: start });
        }
        if self.at_tok(Tok::Variable) && self.assign_op_at(1).is_some() {
            let variable = self.variable()?;
            let op = self.assign_op()?;
            return Ok(SelectItem::Assign { variable, op, expr: self.scalar()? });
        }
        if matches!(self.kind(), Tok::Word | Tok::Quoted | Tok::Str | Tok::NStr)
            && self.peek_at(1).kind == Tok::Eq
        {
            let alias = Some(self.ident_or_string()?);
            self.bump();
            return Ok(SelectItem::Expr { expr: self.scalar()?, alias });
        }
        if self.at_qualified_star() {
            let qualifier = Some(self.object_name()?);
            self.expect_tok(Tok::Dot)?;
            self.expect_tok(Tok::Star)?;
            return Ok(SelectItem::Wildcard { qualifier, span: self.since(start) });
        }
        let expr = self.scalar()?;
        let alias =
            if self.eat("AS") || self.at_alias() || matches!(self.kind(), Tok::Str | Tok::NStr) {
                Some(self.ident_or_string()?)
            } else {
                None
            };
        Ok(SelectItem::Expr { expr, alias })
    }

    /// `t.*`, `s.t.*`.
    fn at_qualified_star(&self) -> bool {
        let mut ahead = 0;
        while self.is_ident(ahead) && self.peek_at(ahead + 1).kind == Tok::Dot {
            ahead += 2;
            while self.peek_at(ahead).kind == Tok::Dot {
                ahead += 1;
            }
        }
        ahead > 0 && self.peek_at(ahead).kind == Tok::Star
    }

    /// Whether the next token is an alias written without AS; a label is not one.
    pub(super) fn at_alias(&self) -> bool {
        self.at_ident() && self.peek_at(1).kind != Tok::Colon
    }

    // ---- GROUP BY ----

    fn group_by(&mut self) -> P<GroupBy> {
        self.expect_seq(&["GROUP", "BY"])?;
        let all = self.eat("ALL");
        let items = self.list(Self::group_item)?;
        let with_rollup = self.eat_seq(&["WITH", "ROLLUP"]);
        let with_cube = !with_rollup && self.eat_seq(&["WITH", "CUBE"]);
        Ok(GroupBy { all, items, with_rollup, with_cube })
    }

    fn group_item(&mut self) -> P<GroupItem> {
        if self.at_seq(&["GROUPING", "SETS"]) {
            self.expect_seq(&["GROUPING", "SETS"])?;
            return Ok(GroupItem::Sets(self.nest(|p| p.paren_list(Self::group_set))?));
        }
        if self.peek_at(1).kind == Tok::LParen {
            if self.eat("ROLLUP") {
                return Ok(GroupItem::Rollup(self.nest(|p| p.paren_list(Self::group_set))?));
            }
            if self.eat("CUBE") {
                return Ok(GroupItem::Cube(self.nest(|p| p.paren_list(Self::group_set))?));
            }
        }
        if self.at_tok(Tok::LParen) && self.peek_at(1).kind == Tok::RParen {
            self.bump();
            self.bump();
            return Ok(GroupItem::Composite(Vec::new()));
        }
        Ok(GroupItem::Expr(self.scalar()?))
    }

    /// An entry of ROLLUP, CUBE or GROUPING SETS, where parentheses make one key of several
    /// columns.
    fn group_set(&mut self) -> P<GroupItem> {
        if self.at_tok(Tok::LParen) && !self.at_query() {
            if self.peek_at(1).kind == Tok::RParen {
                return self.group_item();
            }
            let keys = self.nest(|p| p.paren_list(Self::scalar))?;
            return Ok(GroupItem::Composite(keys));
        }
        self.group_item()
    }

    // ---- common table expressions ----

    /// `WITH a AS (...), ...`, when it is there.
    pub(super) fn opt_ctes(&mut self) -> P<Vec<Cte>> {
        if !self.at("WITH") || !self.is_ident(1) {
            return Ok(Vec::new());
        }
        self.bump();
        if self.foreign_prolog()? && !self.eat_tok(Tok::Comma) {
            return Ok(Vec::new());
        }
        if self.at("XMLNAMESPACES") && self.peek_at(1).kind == Tok::LParen {
            self.bump();
            self.paren_list(Self::namespace)?;
            if !self.eat_tok(Tok::Comma) {
                return Ok(Vec::new());
            }
        }
        self.list(Self::cte)
    }

    /// `'uri' AS prefix` or `DEFAULT 'uri'` of XMLNAMESPACES.
    fn namespace(&mut self) -> P<()> {
        let declared = |uri: &str| uri.replace('&', "&amp;").replace('"', "\"\"");
        let (prefix, uri) = if self.eat("DEFAULT") {
            (compact_str::CompactString::default(), self.string()?)
        } else {
            let uri = self.string()?;
            self.expect("AS")?;
            (self.ident()?.value, uri)
        };
        let text = match prefix.as_str() {
            "" => format!("declare default element namespace \"{}\"; ", declared(&uri)),
            prefix => format!("declare namespace {prefix}=\"{}\"; ", declared(&uri)),
        };
        self.namespaces.push((prefix, uri));
        self.prolog.push_str(&text);
        Ok(())
    }

    fn cte(&mut self) -> P<Cte> {
        let name = self.ident()?;
        let columns = self.opt_ident_list()?;
        self.expect("AS")?;
        Ok(Cte { name, columns, query: *self.parenthesised_query()? })
    }
}
