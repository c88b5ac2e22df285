//! Indexes and statistics.

use super::{P, Parser};
use crate::ast::{
    AlterIndex, AlterIndexAction, CreateIndex, CreateStatistics, DropIndex, DropIndexItem, Expr,
    ExprKind, ObjectName, OptionItem, StmtKind, UpdateStatistics,
};
use crate::lexer::Tok;

impl Parser<'_> {
    /// Behind CREATE, from UNIQUE, CLUSTERED, NONCLUSTERED, COLUMNSTORE or INDEX on.
    pub(super) fn create_index(&mut self) -> P<StmtKind> {
        let unique = self.eat("UNIQUE");
        let clustered = self.eat("CLUSTERED");
        if !clustered {
            self.eat("NONCLUSTERED");
        }
        let columnstore = self.eat("COLUMNSTORE");
        self.expect("INDEX")?;
        let name = self.ident()?;
        self.expect("ON")?;
        let table = self.object_name()?;
        let bare = columnstore && clustered && !self.at_tok(Tok::LParen);
        let columns = if bare { Vec::new() } else { self.index_columns()? };
        self.foreign_index_order()?;
        let include = if self.eat("INCLUDE") { self.ident_list()? } else { Vec::new() };
        let filter = if clustered { None } else { self.opt_index_filter()? };
        let options = self.opt_index_options()?;
        let on = self.opt_placement()?;
        self.foreign_filestream()?;
        let index = CreateIndex {
            name,
            table,
            unique,
            clustered,
            columnstore,
            columns,
            include,
            filter,
            options,
            on,
        };
        Ok(StmtKind::CreateIndex(Box::new(index)))
    }

    /// `WHERE` of a filtered index: comparisons, `IS [NOT] NULL` and `IN` with `AND` between them,
    /// in parentheses or not; no other condition.
    pub(super) fn opt_index_filter(&mut self) -> P<Option<Expr>> {
        if self.eat("WHERE") { self.index_filter().map(Some) } else { Ok(None) }
    }

    fn index_filter(&mut self) -> P<Expr> {
        let start = self.peek().span;
        let mut terms = vec![self.filter_term()?];
        while self.eat("AND") {
            terms.push(self.filter_term()?);
        }
        match terms.len() {
            1 => Ok(terms.remove(0)),
            _ => Ok(self.node(ExprKind::And(terms), start)),
        }
    }

    fn filter_term(&mut self) -> P<Expr> {
        if self.at_tok(Tok::LParen) {
            return self.nest(|p| p.parenthesised(Self::index_filter));
        }
        let start = self.peek().span;
        let left = self.scalar()?;
        if self.at_any(&["IS", "IN"]) || !self.at_any(&["NOT", "LIKE", "BETWEEN", "OR"]) {
            return self.predicate(left, start);
        }
        Err(self.unexpected())
    }

    /// `WITH (...)`, or the old form without parentheses.
    fn opt_index_options(&mut self) -> P<Vec<OptionItem>> {
        const OLD: &[&str] = &[
            "FILLFACTOR",
            "PAD_INDEX",
            "IGNORE_DUP_KEY",
            "DROP_EXISTING",
            "STATISTICS_NORECOMPUTE",
            "SORT_IN_TEMPDB",
        ];
        if self.at("WITH") && OLD.iter().any(|word| self.at_word(1, word)) {
            return self.opt_with_bare_options();
        }
        self.opt_with_options()
    }

    /// Behind ALTER INDEX.
    pub(super) fn alter_index(&mut self) -> P<StmtKind> {
        let name = if self.eat("ALL") { None } else { Some(self.ident()?) };
        self.expect("ON")?;
        let table = self.object_name()?;
        let action = if self.eat("REBUILD") {
            let partition = self.opt_partition()?;
            AlterIndexAction::Rebuild { partition, options: self.opt_with_options()? }
        } else if self.eat("REORGANIZE") {
            let partition = self.opt_partition()?;
            AlterIndexAction::Reorganize { partition, options: self.opt_with_options()? }
        } else if self.eat("DISABLE") {
            AlterIndexAction::Disable
        } else if self.at_any(&["RESUME", "PAUSE", "ABORT"]) {
            let word = self.upper_word()?;
            AlterIndexAction::Resumable { word, options: self.opt_with_options()? }
        } else if self.eat("FOR") {
            self.mark_foreign("ALTER INDEX ... FOR");
            self.skip_parentheses()?;
            AlterIndexAction::Set(Vec::new())
        } else {
            self.expect("SET")?;
            AlterIndexAction::Set(self.option_list()?)
        };
        Ok(StmtKind::AlterIndex(Box::new(AlterIndex { name, table, action })))
    }

    /// `PARTITION = n`; ALL is the same as nothing.
    fn opt_partition(&mut self) -> P<Option<Expr>> {
        if !self.eat("PARTITION") {
            return Ok(None);
        }
        self.expect_tok(Tok::Eq)?;
        if self.eat("ALL") { Ok(None) } else { self.scalar().map(Some) }
    }

    /// Behind DROP INDEX.
    pub(super) fn drop_index(&mut self) -> P<StmtKind> {
        let if_exists = self.if_exists();
        let items = self.list(|p| {
            let name = p.object_name()?;
            if p.eat("ON") {
                if !name.is_bare() {
                    return Err(p.unexpected());
                }
                let table = p.object_name()?;
                let options = p.opt_with_options()?;
                return Ok(DropIndexItem { table, index: name.name, options });
            }
            // `table.index`
            let ObjectName { server, database, schema, name } = name;
            let Some(table) = schema else { return Err(p.unexpected()) };
            let table =
                ObjectName { server: None, database: server, schema: database, name: table };
            Ok(DropIndexItem { table, index: name, options: Vec::new() })
        })?;
        Ok(StmtKind::DropIndex(DropIndex { if_exists, items }))
    }

    /// Behind CREATE STATISTICS.
    pub(super) fn create_statistics(&mut self) -> P<StmtKind> {
        let name = self.ident()?;
        self.expect("ON")?;
        let table = self.object_name()?;
        let columns = self.ident_list()?;
        let filter = if self.eat("WHERE") { Some(self.condition()?) } else { None };
        let options = self.opt_with_bare_options()?;
        Ok(StmtKind::CreateStatistics(Box::new(CreateStatistics {
            name,
            table,
            columns,
            filter,
            options,
        })))
    }

    pub(super) fn update_statistics(&mut self) -> P<StmtKind> {
        self.expect_seq(&["UPDATE", "STATISTICS"])?;
        let table = self.object_name()?;
        let names = if self.at_tok(Tok::LParen) {
            self.ident_list()?
        } else if self.at_alias() {
            vec![self.ident()?]
        } else {
            Vec::new()
        };
        let options = self.opt_with_bare_options()?;
        Ok(StmtKind::UpdateStatistics(Box::new(UpdateStatistics { table, names, options })))
    }
}
