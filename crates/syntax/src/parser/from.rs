//! Row sources: tables, hints, joins, derived tables, table functions, PIVOT.

use super::{P, Parser};
use crate::ast::{
    FunctionColumn, Ident, JoinHint, JoinKind, ObjectName, OptionItem, RowSchema, Span, SystemTime,
    TableRef, TableRefKind, TableSample,
};
use crate::lexer::Tok;

/// Hints that may stand in parentheses without WITH.
const BARE_HINTS: &[&str] = &[
    "NOLOCK",
    "READUNCOMMITTED",
    "UPDLOCK",
    "REPEATABLEREAD",
    "SERIALIZABLE",
    "READCOMMITTED",
    "TABLOCK",
    "TABLOCKX",
    "PAGLOCK",
    "ROWLOCK",
    "NOWAIT",
    "READPAST",
    "XLOCK",
    "SNAPSHOT",
    "NOEXPAND",
    "HOLDLOCK",
    "INDEX",
    "FASTFIRSTROW",
];

/// What begins a join, and what it is.
enum JoinStart {
    Join(JoinKind, Option<JoinHint>),
    Apply { outer: bool },
}

impl Parser<'_> {
    /// One entry of FROM: a row source and all that is joined to it.
    pub(super) fn table_source(&mut self) -> P<TableRef> {
        self.nest(|p| {
            p.chain(|p| {
                let start = p.peek().span;
                let mut left = p.table_primary()?;
                while p.at_join() {
                    left = p.join(left, start)?;
                    p.deepen()?;
                }
                Ok(left)
            })
        })
    }

    fn table_node(&self, kind: TableRefKind, start: Span) -> TableRef {
        TableRef { kind, span: self.since(start) }
    }

    fn at_join(&self) -> bool {
        self.at_any(&["JOIN", "INNER", "LEFT", "RIGHT", "FULL", "CROSS", "PIVOT", "UNPIVOT"])
            || self.at_seq(&["OUTER", "APPLY"])
    }

    /// The words of a join up to JOIN or APPLY.
    fn join_start(&mut self) -> P<JoinStart> {
        if self.eat("CROSS") {
            if self.eat("APPLY") {
                return Ok(JoinStart::Apply { outer: false });
            }
            self.expect("JOIN")?;
            return Ok(JoinStart::Join(JoinKind::Cross, None));
        }
        if self.eat_seq(&["OUTER", "APPLY"]) {
            return Ok(JoinStart::Apply { outer: true });
        }
        if self.eat("JOIN") {
            return Ok(JoinStart::Join(JoinKind::Inner, None));
        }
        let kind = if self.eat("LEFT") {
            JoinKind::Left
        } else if self.eat("RIGHT") {
            JoinKind::Right
        } else if self.eat("FULL") {
            JoinKind::Full
        } else {
            self.expect("INNER")?;
            JoinKind::Inner
        };
        if kind != JoinKind::Inner {
            self.eat("OUTER");
        }
        let hint = if self.eat("LOOP") {
            Some(JoinHint::Loop)
        } else if self.eat("HASH") {
            Some(JoinHint::Hash)
        } else if self.eat("MERGE") {
            Some(JoinHint::Merge)
        } else if self.eat("REMOTE") {
            Some(JoinHint::Remote)
        } else {
            None
        };
        self.expect("JOIN")?;
        Ok(JoinStart::Join(kind, hint))
    }

    /// One join with `left` on its left.
    fn join(&mut self, left: TableRef, start: Span) -> P<TableRef> {
        if self.at_any(&["PIVOT", "UNPIVOT"]) {
            return self.pivot(left, start);
        }
        let left = Box::new(left);
        let (kind, hint) = match self.join_start()? {
            JoinStart::Join(kind, hint) => (kind, hint),
            JoinStart::Apply { outer } => {
                let right = Box::new(self.table_primary()?);
                return Ok(self.table_node(TableRefKind::Apply { outer, left, right }, start));
            }
        };
        let right_start = self.peek().span;
        let mut right = self.table_primary()?;
        let on = if kind == JoinKind::Cross {
            None
        } else {
            // `a JOIN b JOIN c ON x ON y`: b and c are joined first.
            while self.at_join() {
                right = self.nest(|p| p.join(right, right_start))?;
                self.deepen()?;
            }
            self.expect("ON")?;
            Some(self.condition()?)
        };
        Ok(self
            .table_node(TableRefKind::Join { kind, hint, left, right: Box::new(right), on }, start))
    }

    fn pivot(&mut self, input: TableRef, start: Span) -> P<TableRef> {
        let input = Box::new(input);
        let pivot = self.upper_word()? == "PIVOT";
        self.expect_tok(Tok::LParen)?;
        if pivot {
            let aggregate = self.boxed_scalar()?;
            self.expect("FOR")?;
            let column = self.last_ident()?;
            self.expect("IN")?;
            let values = self.ident_list()?;
            self.expect_tok(Tok::RParen)?;
            let alias = self.required_alias()?;
            return Ok(self.table_node(
                TableRefKind::Pivot { input, aggregate, column, values, alias },
                start,
            ));
        }
        let value = self.ident()?;
        self.expect("FOR")?;
        let column = self.ident()?;
        self.expect("IN")?;
        let values = self.paren_list(Self::last_ident)?;
        self.expect_tok(Tok::RParen)?;
        let alias = self.required_alias()?;
        Ok(self.table_node(TableRefKind::Unpivot { input, value, column, values, alias }, start))
    }

    // ---- single sources ----

    fn table_primary(&mut self) -> P<TableRef> {
        let start = self.peek().span;
        if self.at("OPENROWSET") && self.peek_at(1).kind == Tok::LParen && self.at_word(2, "BULK") {
            let kind = self.bulk_source()?;
            return Ok(self.table_node(kind, start));
        }
        if let Some(kind) = self.foreign_source()? {
            return Ok(self.table_node(kind, start));
        }
        let kind = match self.kind() {
            Tok::LParen => return self.nest(Self::parenthesised_source),
            Tok::LBrace => {
                // `{oj a LEFT OUTER JOIN b ON ...}`
                self.bump();
                self.expect("OJ")?;
                let inner = self.table_source()?;
                self.expect_tok(Tok::RBrace)?;
                return Ok(inner);
            }
            Tok::Variable => self.variable_source()?,
            Tok::DoubleColon => {
                self.bump();
                let mut name = self.object_name()?;
                let span = name.span();
                name.schema = Some(Ident { value: "sys".into(), quoted: false, span });
                self.function_source(name)?
            }
            Tok::Reserved if self.at("OPENXML") => {
                let name = ObjectName::bare(self.take_ident());
                self.function_source(name)?
            }
            _ => {
                let name = self.object_name()?;
                self.named_source(name)?
            }
        };
        Ok(self.table_node(kind, start))
    }

    /// `OPENROWSET(BULK 'file', options)`.
    fn bulk_source(&mut self) -> P<TableRefKind> {
        self.bump();
        self.expect_tok(Tok::LParen)?;
        self.expect("BULK")?;
        let file = self.string()?;
        let options = if self.eat_tok(Tok::Comma) { self.list(Self::option)? } else { Vec::new() };
        self.expect_tok(Tok::RParen)?;
        if self.at("WITH") && self.peek_at(1).kind == Tok::LParen {
            self.mark_foreign("OPENROWSET(BULK ...) WITH");
            self.bump();
            self.skip_parentheses()?;
        }
        let (alias, columns) = self.alias_and_columns()?;
        Ok(TableRefKind::Bulk { file, options, alias, columns })
    }

    /// A derived table, a VALUES list, a change that gives rows, or joins in parentheses.
    fn parenthesised_source(&mut self) -> P<TableRef> {
        let start = self.peek().span;
        if ["INSERT", "UPDATE", "DELETE", "MERGE"].iter().any(|word| self.at_word(1, word)) {
            self.bump();
            let stmt = Box::new(self.nested_change()?);
            self.expect_tok(Tok::RParen)?;
            let alias = self.required_alias()?;
            let columns = self.opt_ident_list()?;
            return Ok(self.table_node(TableRefKind::Change { stmt, alias, columns }, start));
        }
        if self.at_derived_table() {
            let query = self.parenthesised_query()?;
            let alias = self.required_alias()?;
            let columns = self.opt_ident_list()?;
            return Ok(self.table_node(TableRefKind::Derived { query, alias, columns }, start));
        }
        self.expect_tok(Tok::LParen)?;
        if self.eat("VALUES") {
            let rows = self.list(|p| p.paren_list(Self::scalar))?;
            self.expect_tok(Tok::RParen)?;
            let alias = self.required_alias()?;
            let columns = self.opt_ident_list()?;
            return Ok(self.table_node(TableRefKind::Values { rows, alias, columns }, start));
        }
        let inner = self.table_source()?;
        self.expect_tok(Tok::RParen)?;
        Ok(inner)
    }

    /// Whether the parenthesis at hand holds a query rather than joins. With more parentheses
    /// inside, what stands after the innermost group tells: a set operator or another closing one
    /// keeps it a query.
    fn at_derived_table(&self) -> bool {
        let first = self.pos;
        let mut inner = first;
        while self.at_index(inner).kind == Tok::LParen {
            inner += 1;
        }
        if !self.at_word(inner - first, "SELECT") {
            return false;
        }
        // One walk outwards over the groups, innermost first.
        let mut behind = self.behind_group(inner - 1, 0);
        for _ in first + 1..inner {
            let ahead = behind - first;
            let set = ["UNION", "EXCEPT", "INTERSECT"].iter().any(|word| self.at_word(ahead, word));
            if !set && self.at_index(behind).kind != Tok::RParen {
                return false;
            }
            behind = self.behind_group(behind, 1);
        }
        true
    }

    fn required_alias(&mut self) -> P<Ident> {
        self.eat("AS");
        self.ident()
    }

    /// `[AS] alias`, when it is there. WINDOW begins a clause.
    pub(super) fn opt_alias(&mut self) -> P<Option<Ident>> {
        if self.eat("AS") {
            return self.ident().map(Some);
        }
        let clause = self.at("WINDOW") && self.is_ident(1) && self.at_word(2, "AS");
        if self.at_alias() && !clause { self.ident().map(Some) } else { Ok(None) }
    }

    fn variable_source(&mut self) -> P<TableRefKind> {
        if self.peek_at(1).kind == Tok::Dot {
            let call = Box::new(self.scalar()?);
            let (alias, columns) = self.alias_and_columns()?;
            return Ok(TableRefKind::Method { call, alias, columns });
        }
        let name = self.variable()?;
        let alias = self.opt_alias()?;
        let hints = self.opt_table_hints()?;
        Ok(TableRefKind::Variable { name, alias, hints })
    }

    fn alias_and_columns(&mut self) -> P<(Option<Ident>, Vec<Ident>)> {
        let alias = self.opt_alias()?;
        let columns = if alias.is_some() { self.opt_ident_list()? } else { Vec::new() };
        Ok((alias, columns))
    }

    /// A table, or a function when a parenthesis follows that does not hold hints.
    fn named_source(&mut self, name: ObjectName) -> P<TableRefKind> {
        if self.at_tok(Tok::LParen) && !self.at_bare_hints() {
            return self.function_source(name);
        }
        if self.eat_seq(&["FOR", "PATH"]) {
            self.mark_foreign("FOR PATH of graphs");
        }
        let system_time = self.opt_system_time()?.map(Box::new);
        let mut hints = self.opt_table_hints()?;
        let alias = self.opt_alias()?;
        let sample = self.opt_sample()?;
        hints.extend(self.opt_table_hints()?);
        Ok(TableRefKind::Named { name, alias, sample, hints, system_time })
    }

    /// `FOR SYSTEM_TIME ...` behind a table's name.
    fn opt_system_time(&mut self) -> P<Option<SystemTime>> {
        if !self.eat_seq(&["FOR", "SYSTEM_TIME"]) {
            return Ok(None);
        }
        if self.eat("ALL") {
            return Ok(Some(SystemTime::All));
        }
        if self.eat_seq(&["CONTAINED", "IN"]) {
            self.expect_tok(Tok::LParen)?;
            let from = self.constant_or_variable()?;
            self.expect_tok(Tok::Comma)?;
            let to = self.constant_or_variable()?;
            self.expect_tok(Tok::RParen)?;
            return Ok(Some(SystemTime::ContainedIn(from, to)));
        }
        if self.eat_seq(&["AS", "OF"]) {
            return self.constant_or_variable().map(SystemTime::AsOf).map(Some);
        }
        let between = self.eat("BETWEEN");
        if !between {
            self.expect("FROM")?;
        }
        let from = self.constant_or_variable()?;
        self.expect(if between { "AND" } else { "TO" })?;
        let to = self.constant_or_variable()?;
        Ok(Some(if between { SystemTime::Between(from, to) } else { SystemTime::FromTo(from, to) }))
    }

    fn at_bare_hints(&self) -> bool {
        self.at_tok(Tok::LParen)
            && BARE_HINTS.iter().any(|hint| self.at_word(1, hint))
            && matches!(self.peek_at(2).kind, Tok::RParen | Tok::Comma | Tok::Eq | Tok::LParen)
    }

    /// `WITH (NOLOCK, INDEX(1))`, or the old form without WITH.
    pub(super) fn opt_table_hints(&mut self) -> P<Vec<OptionItem>> {
        if self.at("WITH") {
            if self.peek_at(1).kind != Tok::LParen {
                return Ok(Vec::new());
            }
            self.bump();
        } else if !self.at_bare_hints() {
            return Ok(Vec::new());
        }
        self.expect_tok(Tok::LParen)?;
        let mut hints = vec![self.table_hint()?];
        // The comma between hints may be left out.
        while !self.at_tok(Tok::RParen) {
            self.eat_tok(Tok::Comma);
            hints.push(self.table_hint()?);
        }
        self.expect_tok(Tok::RParen)?;
        Ok(hints)
    }

    pub(super) fn table_hint(&mut self) -> P<OptionItem> {
        // A hint without a value must not take the next one for its value.
        if matches!(self.kind(), Tok::Word | Tok::Reserved)
            && !matches!(self.peek_at(1).kind, Tok::Eq | Tok::LParen)
        {
            let span = self.peek().span;
            let name = self.upper_word()?;
            let value = crate::ast::OptionValue::None;
            return Ok(OptionItem { name, value, unit: None, nested: Vec::new(), span });
        }
        self.option()
    }

    fn opt_sample(&mut self) -> P<Option<TableSample>> {
        if !self.eat("TABLESAMPLE") {
            return Ok(None);
        }
        self.eat("SYSTEM");
        self.expect_tok(Tok::LParen)?;
        let amount = self.scalar()?;
        let rows = self.eat("ROWS");
        if !rows {
            self.eat("PERCENT");
        }
        self.expect_tok(Tok::RParen)?;
        let repeatable =
            if self.eat("REPEATABLE") { Some(self.parenthesised(Self::scalar)?) } else { None };
        Ok(Some(TableSample { amount, rows, repeatable }))
    }

    /// A table function from its parenthesis on; `x.nodes(...)` is a method of a column.
    fn function_source(&mut self, name: ObjectName) -> P<TableRefKind> {
        let start = name.span();
        let args = self.arguments()?;
        if name.name.is("nodes") && name.schema.is_some() {
            let ObjectName { server, database, schema, name: method } = name;
            if let Some(column) = schema {
                let target =
                    ObjectName { server: None, database: server, schema: database, name: column };
                let column = super::function::column_of(target);
                let target = Box::new(self.node(crate::ast::ExprKind::Column(column), start));
                let call = self.node(
                    crate::ast::ExprKind::Method {
                        target,
                        method,
                        args,
                        prolog: self.prolog.clone(),
                    },
                    start,
                );
                let (alias, columns) = self.alias_and_columns()?;
                return Ok(TableRefKind::Method { call: Box::new(call), alias, columns });
            }
            return Err(self.unexpected());
        }
        let mut schema = RowSchema::Own;
        if self.at("WITH") && self.peek_at(1).kind == Tok::LParen {
            self.bump();
            if name.name.is("OPENXML") && matches!(self.peek_at(2).kind, Tok::RParen | Tok::Dot) {
                self.bump();
                schema = RowSchema::Table(self.object_name()?);
                self.expect_tok(Tok::RParen)?;
            } else {
                schema = RowSchema::Columns(self.paren_list(Self::function_column)?);
            }
        }
        let (alias, columns) = self.alias_and_columns()?;
        Ok(TableRefKind::Function { name, args, schema, alias, columns })
    }

    fn function_column(&mut self) -> P<FunctionColumn> {
        let name = self.ident()?;
        let data_type = self.type_name()?;
        let path =
            if matches!(self.kind(), Tok::Str | Tok::NStr) { Some(self.string()?) } else { None };
        let as_json = self.eat_seq(&["AS", "JSON"]);
        Ok(FunctionColumn { name, data_type, path, as_json })
    }
}
