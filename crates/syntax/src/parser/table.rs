//! Tables: columns, constraints, inline indexes, ALTER TABLE.

use super::{P, Parser};
use crate::ast::{
    AlterTable, AlterTableAction, ColumnDef, Computed, Constraint, ConstraintKind, CreateTable,
    DropElement, Generated, Ident, Identity, IndexColumn, InlineIndex, OptionItem, Placement,
    ReferentialAction, StmtKind, SwitchPartition, TableElement,
};
use crate::error::SyntaxError;
use crate::lexer::Tok;
use compact_str::CompactString;

impl Parser<'_> {
    /// Behind CREATE TABLE.
    pub(super) fn create_table(&mut self) -> P<StmtKind> {
        let name = self.object_name()?;
        // A table of files has no columns of its own, a table of edges need not have any.
        let elements = if self.foreign_table_part()? && !self.at_tok(Tok::LParen) {
            Vec::new()
        } else {
            self.table_elements()?
        };
        let mut table =
            CreateTable { name, elements, on: None, textimage_on: None, options: Vec::new() };
        loop {
            if table.on.is_none() && self.at("ON") {
                table.on = Some(self.placement()?);
            } else if table.textimage_on.is_none() && self.eat("TEXTIMAGE_ON") {
                table.textimage_on = Some(self.placement_name()?);
            } else if table.options.is_empty()
                && self.at("WITH")
                && self.peek_at(1).kind == Tok::LParen
            {
                table.options = self.opt_with_options()?;
            } else if !self.foreign_table_part()? {
                return Ok(StmtKind::CreateTable(Box::new(table)));
            }
        }
    }

    /// `(column, constraint, ...)`; a comma before the closing parenthesis is let pass, as SQL
    /// Server does.
    pub(super) fn table_elements(&mut self) -> P<Vec<TableElement>> {
        self.expect_tok(Tok::LParen)?;
        let mut elements = vec![self.table_element()?];
        while self.eat_tok(Tok::Comma) {
            if self.at_tok(Tok::RParen) {
                break;
            }
            elements.push(self.table_element()?);
        }
        self.expect_tok(Tok::RParen)?;
        Ok(elements)
    }

    fn table_element(&mut self) -> P<TableElement> {
        if self.eat_seq(&["PERIOD", "FOR", "SYSTEM_TIME"]) {
            self.expect_tok(Tok::LParen)?;
            let start = self.ident()?;
            self.expect_tok(Tok::Comma)?;
            let end = self.ident()?;
            self.expect_tok(Tok::RParen)?;
            return Ok(TableElement::Period { start, end });
        }
        if self.at("INDEX") {
            let index = self.inline_index()?;
            // Only after a column it is that column's.
            return if index.columns.is_empty() && self.foreign.is_none() {
                Err(self.unexpected())
            } else {
                Ok(TableElement::Index(index))
            };
        }
        if self.at_any(&["CONSTRAINT", "PRIMARY", "UNIQUE", "CHECK", "FOREIGN", "DEFAULT"]) {
            let constraint = self.constraint()?;
            if matches!(constraint.kind, ConstraintKind::Default { column: None, .. }) {
                return Err(SyntaxError::no_table_constraint(constraint.span.line));
            }
            return Ok(TableElement::Constraint(constraint));
        }
        Ok(TableElement::Column(Box::new(self.column_def()?)))
    }

    /// `name type ...` or `name AS expression ...`.
    pub(super) fn column_def(&mut self) -> P<ColumnDef> {
        let start = self.peek().span;
        let name = self.ident()?;
        let mut column = ColumnDef::new(name, None);
        if self.eat("AS") {
            let expr = self.scalar()?;
            column.computed = Some(Computed { expr, persisted: self.eat("PERSISTED") });
        } else if !(column.name.is("timestamp") && self.at_end_of_type()) {
            column.data_type = Some(self.type_name()?);
        }
        while self.column_property(&mut column)? {}
        column.span = self.since(start);
        Ok(column)
    }

    /// A column that is called timestamp needs no type: the next column begins, the list ends, or
    /// NULL or NOT NULL stands there.
    fn at_end_of_type(&self) -> bool {
        matches!(self.kind(), Tok::Comma | Tok::RParen) || self.at("NULL") || self.at("NOT")
    }

    /// One property after a column's type; false when there is none.
    fn column_property(&mut self, column: &mut ColumnDef) -> P<bool> {
        if self.eat("COLLATE") {
            column.collation = Some(self.ident_or_keyword()?);
        } else if let Some(nullable) = self.nullability() {
            column.nullable_twice |= column.nullable.is_some();
            column.nullable = Some(nullable);
        } else if self.eat("IDENTITY") {
            column.identity = Some(self.identity()?);
        } else if self.eat("ROWGUIDCOL") {
            column.rowguidcol = true;
        } else if self.eat("SPARSE") {
            column.sparse = true;
        } else if self.at_seq(&["MASKED", "WITH"]) {
            // It has its place.
            let late = column.nullable.is_some()
                || column.identity.is_some()
                || !column.constraints.is_empty();
            if late || column.computed.is_some() {
                return Err(self.unexpected());
            }
            self.bump();
            column.mask = Some(self.mask()?);
        } else if self.eat_seq(&["GENERATED", "ALWAYS", "AS", "ROW"]) {
            let end = self.eat("END");
            if !end {
                self.expect("START")?;
            }
            column.generated = Some(Generated { end, hidden: self.eat("HIDDEN") });
        } else if self.foreign_property()? {
        } else if self.at("INDEX") {
            column.index = Some(Box::new(self.inline_index()?));
        } else if self.at_any(&[
            "CONSTRAINT",
            "DEFAULT",
            "PRIMARY",
            "UNIQUE",
            "CHECK",
            "FOREIGN",
            "REFERENCES",
        ]) {
            let constraint = self.constraint()?;
            column.constraints.push(constraint);
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    /// Behind the word MASKED.
    fn mask(&mut self) -> P<CompactString> {
        self.expect("WITH")?;
        self.expect_tok(Tok::LParen)?;
        self.expect("FUNCTION")?;
        self.expect_tok(Tok::Eq)?;
        let function = self.string()?;
        self.expect_tok(Tok::RParen)?;
        Ok(function)
    }

    /// Behind the word IDENTITY.
    fn identity(&mut self) -> P<Identity> {
        let mut identity =
            Identity { seed: "1".into(), increment: "1".into(), not_for_replication: false };
        if self.eat_tok(Tok::LParen) {
            identity = self.seed_and_increment()?;
            self.expect_tok(Tok::RParen)?;
        }
        identity.not_for_replication = self.eat_seq(&["NOT", "FOR", "REPLICATION"]);
        Ok(identity)
    }

    /// `seed, increment`.
    pub(super) fn seed_and_increment(&mut self) -> P<Identity> {
        let seed = self.signed_integer_text()?;
        self.expect_tok(Tok::Comma)?;
        Ok(Identity { seed, increment: self.signed_integer_text()?, not_for_replication: false })
    }

    fn signed_integer_text(&mut self) -> P<CompactString> {
        let minus = self.eat_tok(Tok::Minus);
        if !minus {
            self.eat_tok(Tok::Plus);
        }
        let token = self.expect_tok(Tok::Integer)?;
        let mut text = CompactString::from(if minus { "-" } else { "" });
        text.push_str(self.text_of(token));
        Ok(text)
    }

    // ---- constraints ----

    fn constraint(&mut self) -> P<Constraint> {
        let start = self.peek().span;
        let name = if self.eat("CONSTRAINT") { Some(self.ident()?) } else { None };
        let mut not_for_replication = false;
        let kind = if self.eat_seq(&["PRIMARY", "KEY"]) {
            self.key_constraint(true)?
        } else if self.eat("UNIQUE") {
            self.key_constraint(false)?
        } else if self.eat("CHECK") {
            not_for_replication = self.eat_seq(&["NOT", "FOR", "REPLICATION"]);
            self.expect_tok(Tok::LParen)?;
            let condition = self.condition()?;
            self.expect_tok(Tok::RParen)?;
            ConstraintKind::Check { condition }
        } else if self.eat("DEFAULT") {
            let expr = self.scalar()?;
            let column = if self.eat("FOR") { Some(self.ident()?) } else { None };
            let with_values = self.eat_seq(&["WITH", "VALUES"]);
            ConstraintKind::Default { expr, column, with_values }
        } else if self.at("CONNECTION") {
            self.foreign_connection()?
        } else {
            self.foreign_key(&mut not_for_replication)?
        };
        Ok(Constraint { name, kind, not_for_replication, span: self.since(start) })
    }

    /// `CLUSTERED` is true, `NONCLUSTERED` false.
    fn opt_clustered(&mut self) -> Option<bool> {
        if self.eat("CLUSTERED") {
            Some(true)
        } else if self.eat("NONCLUSTERED") {
            Some(false)
        } else {
            None
        }
    }

    fn key_constraint(&mut self, primary: bool) -> P<ConstraintKind> {
        let clustered = self.opt_clustered();
        self.foreign_index_kind();
        let columns = if self.at_tok(Tok::LParen) { self.index_columns()? } else { Vec::new() };
        let options = self.opt_key_options()?;
        let on = self.opt_placement()?;
        Ok(ConstraintKind::Key { primary, clustered, columns, options, on })
    }

    /// `[FOREIGN KEY [(columns)]] REFERENCES table [(columns)] [ON DELETE ...] [ON UPDATE ...]`.
    fn foreign_key(&mut self, not_for_replication: &mut bool) -> P<ConstraintKind> {
        let mut columns = Vec::new();
        if self.eat_seq(&["FOREIGN", "KEY"]) {
            columns = self.opt_ident_list()?;
        }
        self.expect("REFERENCES")?;
        let table = self.object_name()?;
        let references = self.opt_ident_list()?;
        let (mut on_delete, mut on_update) =
            (ReferentialAction::NoAction, ReferentialAction::NoAction);
        loop {
            if self.eat_seq(&["ON", "DELETE"]) {
                on_delete = self.referential_action()?;
            } else if self.eat_seq(&["ON", "UPDATE"]) {
                on_update = self.referential_action()?;
            } else if self.eat_seq(&["NOT", "FOR", "REPLICATION"]) {
                *not_for_replication = true;
            } else {
                return Ok(ConstraintKind::ForeignKey {
                    columns,
                    table,
                    references,
                    on_delete,
                    on_update,
                });
            }
        }
    }

    fn referential_action(&mut self) -> P<ReferentialAction> {
        if self.eat("CASCADE") {
            Ok(ReferentialAction::Cascade)
        } else if self.eat_seq(&["SET", "NULL"]) {
            Ok(ReferentialAction::SetNull)
        } else if self.eat_seq(&["SET", "DEFAULT"]) {
            Ok(ReferentialAction::SetDefault)
        } else {
            self.expect_seq(&["NO", "ACTION"])?;
            Ok(ReferentialAction::NoAction)
        }
    }

    // ---- indexes and places ----

    /// `(a, b DESC)`.
    pub(super) fn index_columns(&mut self) -> P<Vec<IndexColumn>> {
        self.paren_list(|p| {
            let name = p.ident()?;
            let descending = p.eat("DESC");
            if !descending {
                p.eat("ASC");
            }
            Ok(IndexColumn { name, descending })
        })
    }

    /// `WITH (...)` of a constraint or inline index, or the old `WITH FILLFACTOR = 80`: one option,
    /// because the comma after it leads to the next element of the table.
    fn opt_key_options(&mut self) -> P<Vec<OptionItem>> {
        if self.at_seq(&["WITH", "FILLFACTOR"]) {
            self.bump();
            return Ok(vec![self.option()?]);
        }
        self.opt_with_options()
    }

    fn placement_name(&mut self) -> P<Ident> {
        if self.at("PRIMARY") || self.at("DEFAULT") {
            Ok(self.take_ident())
        } else {
            self.ident_or_string()
        }
    }

    /// `ON filegroup` or `ON scheme(column)`, when it is there.
    pub(super) fn opt_placement(&mut self) -> P<Option<Placement>> {
        if !self.at("ON") || self.at_word(1, "DELETE") || self.at_word(1, "UPDATE") {
            return Ok(None);
        }
        self.placement().map(Some)
    }

    fn placement(&mut self) -> P<Placement> {
        self.expect("ON")?;
        let name = self.placement_name()?;
        let mut column = None;
        if self.eat_tok(Tok::LParen) {
            column = Some(self.ident()?);
            self.expect_tok(Tok::RParen)?;
        }
        Ok(Placement { name, column })
    }

    fn inline_index(&mut self) -> P<InlineIndex> {
        self.expect("INDEX")?;
        let name = self.ident()?;
        let unique = self.eat("UNIQUE");
        let clustered = self.opt_clustered();
        self.foreign_index_kind();
        let columns = if self.at_tok(Tok::LParen) { self.index_columns()? } else { Vec::new() };
        self.foreign_index_order()?;
        let include = if self.eat("INCLUDE") { self.ident_list()? } else { Vec::new() };
        let filter = if clustered == Some(true) { None } else { self.opt_index_filter()? };
        let options = self.opt_key_options()?;
        let on = self.opt_placement()?;
        self.foreign_filestream()?;
        Ok(InlineIndex { name, unique, clustered, columns, include, filter, options, on })
    }

    // ---- ALTER TABLE ----

    /// Behind ALTER TABLE.
    pub(super) fn alter_table(&mut self) -> P<StmtKind> {
        let name = self.object_name()?;
        let action = self.alter_table_action()?;
        Ok(StmtKind::AlterTable(Box::new(AlterTable { name, action })))
    }

    fn alter_table_action(&mut self) -> P<AlterTableAction> {
        let check = if self.eat_seq(&["WITH", "CHECK"]) {
            Some(true)
        } else if self.eat_seq(&["WITH", "NOCHECK"]) {
            Some(false)
        } else {
            None
        };
        if self.eat("ADD") {
            return Ok(AlterTableAction::Add { elements: self.list(Self::table_element)?, check });
        }
        if self.at_any(&["CHECK", "NOCHECK"]) {
            let enable = self.upper_word()? == "CHECK";
            self.expect("CONSTRAINT")?;
            let names = self.names_or_all()?;
            return Ok(AlterTableAction::SwitchConstraints { enable, validate: check, names });
        }
        if check.is_some() {
            return Err(self.unexpected());
        }
        if self.eat_seq(&["ALTER", "COLUMN"]) {
            return self.alter_column();
        }
        if self.foreign_table_index()? {
            return Ok(AlterTableAction::Set(Vec::new()));
        }
        if self.eat("DROP") {
            return self.drop_elements();
        }
        if self.at_any(&["ENABLE", "DISABLE"]) {
            let enable = self.upper_word()? == "ENABLE";
            if self.foreign_switch()? {
                return Ok(AlterTableAction::Set(Vec::new()));
            }
            self.expect("TRIGGER")?;
            return Ok(AlterTableAction::SwitchTriggers { enable, names: self.names_or_all()? });
        }
        if self.eat("REBUILD") {
            let mut options = Vec::new();
            if self.at("PARTITION") {
                options.push(self.option()?);
            }
            options.extend(self.opt_with_options()?);
            return Ok(AlterTableAction::Rebuild(options));
        }
        if self.eat("SET") {
            return Ok(AlterTableAction::Set(self.option_list()?));
        }
        self.expect("SWITCH")?;
        let partition = self.opt_partition_number()?;
        self.expect("TO")?;
        let target = self.object_name()?;
        let target_partition = self.opt_partition_number()?;
        if self.at("WITH") {
            self.mark_foreign("SWITCH ... WITH");
            self.opt_with_options()?;
        }
        Ok(AlterTableAction::Switch(Box::new(SwitchPartition {
            partition,
            target,
            target_partition,
        })))
    }

    fn opt_partition_number(&mut self) -> P<Option<crate::ast::Expr>> {
        if self.eat("PARTITION") { self.scalar().map(Some) } else { Ok(None) }
    }

    fn names_or_all(&mut self) -> P<Vec<Ident>> {
        if self.eat("ALL") { Ok(Vec::new()) } else { self.list(Self::ident) }
    }

    fn alter_column(&mut self) -> P<AlterTableAction> {
        if self.is_ident(0) && (self.at_word(1, "ADD") || self.at_word(1, "DROP")) {
            let column = self.ident()?;
            let add = self.upper_word()? == "ADD";
            if self.eat("MASKED") {
                let function = if add { Some(self.mask()?) } else { None };
                return Ok(AlterTableAction::Mask { column, function });
            }
            let property = if self.eat_seq(&["NOT", "FOR", "REPLICATION"]) {
                "NOT FOR REPLICATION".into()
            } else {
                self.upper_word()?
            };
            if self.at("WITH") {
                self.mark_foreign(&format!("A column that is {property}"));
                self.opt_with_options()?;
            }
            return Ok(AlterTableAction::ColumnProperty { column, add, property });
        }
        let column = self.column_def()?;
        let options = self.opt_with_options()?;
        Ok(AlterTableAction::AlterColumn { column: Box::new(column), options })
    }

    /// Behind DROP: the kind word holds for the names after it until another kind word comes.
    fn drop_elements(&mut self) -> P<AlterTableAction> {
        let mut column = false;
        let elements = self.list(|p| {
            if p.eat_seq(&["PERIOD", "FOR", "SYSTEM_TIME"]) {
                return Ok(DropElement::Period);
            }
            if p.eat("COLUMN") {
                column = true;
            } else if p.eat("CONSTRAINT") {
                column = false;
            }
            let if_exists = p.if_exists();
            let name = p.ident()?;
            if column {
                return Ok(DropElement::Column { name, if_exists });
            }
            Ok(DropElement::Constraint { name, if_exists, options: p.opt_with_options()? })
        })?;
        Ok(AlterTableAction::Drop(elements))
    }
}
