//! What T-SQL has and Ringwood does not: read as far as its end, so that the batch around it runs
//! and the error comes from the statement itself, where it runs. Guarantees: nothing read here is
//! taken for something else; the statement that it stands in does nothing but fail.

use super::commands::is_command;
use super::{P, Parser};
use crate::ast::{
    AlterDatabaseAction, ColumnRef, ConstraintKind, Expr, ExprKind, Foreign, Ident, ObjectName,
    StmtKind, TableRefKind,
};
use crate::lexer::Tok;
use compact_str::CompactString;

/// Kinds of objects behind CREATE, ALTER and DROP.
const OBJECTS: &[&str] = &[
    "AGGREGATE",
    "ASSEMBLY",
    "ASYMMETRIC KEY",
    "AVAILABILITY GROUP",
    "BROKER PRIORITY",
    "CERTIFICATE",
    "COLUMN ENCRYPTION KEY",
    "COLUMN MASTER KEY",
    "CONTRACT",
    "CRYPTOGRAPHIC PROVIDER",
    "DATABASE AUDIT SPECIFICATION",
    "DATABASE ENCRYPTION KEY",
    "DEFAULT",
    "ENDPOINT",
    "EVENT NOTIFICATION",
    "EVENT SESSION",
    "EXTERNAL",
    "FULLTEXT",
    "JSON INDEX",
    "MASTER KEY",
    "MESSAGE TYPE",
    "PARTITION FUNCTION",
    "PARTITION SCHEME",
    "PRIMARY XML INDEX",
    "QUEUE",
    "REMOTE SERVICE BINDING",
    "RESOURCE GOVERNOR",
    "RESOURCE POOL",
    "ROUTE",
    "RULE",
    "SEARCH PROPERTY LIST",
    "SELECTIVE XML INDEX",
    "SERVER AUDIT",
    "SERVER CONFIGURATION",
    "SERVICE",
    "SIGNATURE",
    "COUNTER SIGNATURE",
    "SPATIAL INDEX",
    "SYMMETRIC KEY",
    "WORKLOAD GROUP",
    "XML INDEX",
    "XML SCHEMA COLLECTION",
];

/// Statements by their first words.
const STATEMENTS: &[&str] = &[
    "ADD COUNTER SIGNATURE",
    "ADD SIGNATURE",
    "BACKUP CERTIFICATE",
    "BACKUP GROUP",
    "BACKUP MASTER KEY",
    "BACKUP SERVER",
    "BACKUP SERVICE MASTER KEY",
    "BACKUP SYMMETRIC KEY",
    "BEGIN CONVERSATION TIMER",
    "BEGIN DIALOG",
    "CLOSE ALL SYMMETRIC KEYS",
    "CLOSE MASTER KEY",
    "CLOSE SYMMETRIC KEY",
    "END CONVERSATION",
    "GET CONVERSATION GROUP",
    "KILL QUERY NOTIFICATION",
    "KILL STATS JOB",
    "MOVE CONVERSATION",
    "OPEN MASTER KEY",
    "OPEN SYMMETRIC KEY",
    "READTEXT",
    "RECEIVE",
    "RESTORE MASTER KEY",
    "RESTORE REWINDONLY",
    "RESTORE SERVICE MASTER KEY",
    "RESTORE SYMMETRIC KEY",
    "SEND ON CONVERSATION",
    "SETUSER",
    "UPDATETEXT",
    "WRITETEXT",
];

/// Words that begin a statement, where one stands first in its line.
const STARTS: &[&str] = &[
    "ALTER",
    "BACKUP",
    "BEGIN",
    "COMMIT",
    "CREATE",
    "DBCC",
    "DECLARE",
    "DELETE",
    "DENY",
    "DROP",
    "EXEC",
    "EXECUTE",
    "GRANT",
    "IF",
    "INSERT",
    "MERGE",
    "PRINT",
    "RAISERROR",
    "RESTORE",
    "REVOKE",
    "ROLLBACK",
    "SELECT",
    "SET",
    "UPDATE",
    "USE",
    "WHILE",
];

/// Row sources with a parenthesis behind them.
const SOURCES: &[&str] = &[
    "CHANGETABLE",
    "CONTAINSTABLE",
    "FREETEXTTABLE",
    "OPENDATASOURCE",
    "OPENQUERY",
    "OPENROWSET",
    "PREDICT",
    "SEMANTICKEYPHRASETABLE",
    "SEMANTICSIMILARITYDETAILSTABLE",
    "SEMANTICSIMILARITYTABLE",
];

impl Parser<'_> {
    pub(super) fn at_words(&self, from: usize, words: &str) -> bool {
        words.split(' ').enumerate().all(|(at, word)| self.at_word(from + at, word))
    }

    /// Whether a statement begins here by whose first words it is known.
    pub(super) fn at_foreign(&self) -> bool {
        STATEMENTS.iter().any(|words| self.at_words(0, words))
    }

    /// The statement at hand, when it is one of those by its first words.
    pub(super) fn foreign_statement(&mut self) -> Option<StmtKind> {
        if self.at_any(&["SELECT", "INSERT", "UPDATE", "DELETE", "SET", "DECLARE", "EXEC", "IF"]) {
            return None;
        }
        let known =
            STATEMENTS.iter().find(|words| self.at_words(0, words) && !is_command(words)).copied();
        let what = match known {
            Some(words) => words.into(),
            None => {
                let verb = ["CREATE", "ALTER", "DROP"].into_iter().find(|verb| self.at(verb))?;
                // The two that may be dropped where they are not there.
                let dropped =
                    |kind: &&&str| verb != "DROP" || !matches!(**kind, "DEFAULT" | "RULE");
                let kind = OBJECTS.iter().filter(dropped).find(|kind| self.at_words(1, kind))?;
                CompactString::from(format!("{verb} {kind}"))
            }
        };
        self.skip_statement();
        Some(StmtKind::Foreign(Foreign { what, part: false }))
    }

    /// Goes to where the statement ends: a semicolon, an END, or a line that begins another.
    fn skip_statement(&mut self) {
        let mut depth = 0_u32;
        self.bump();
        while !self.at_tok(Tok::Eof) && !self.at_tok(Tok::Bad) {
            let line = self.at_index(self.pos.saturating_sub(1)).span.line;
            let first = self.peek().span.line != line;
            match self.kind() {
                Tok::LParen => depth += 1,
                Tok::RParen => depth = depth.saturating_sub(1),
                Tok::Semi if depth == 0 => return,
                Tok::Reserved
                    if depth == 0 && (self.at("END") || (first && self.at_any(STARTS))) =>
                {
                    return;
                }
                _ => {}
            }
            self.bump();
        }
    }

    /// Marks the innermost statement: a part of it is not understood.
    pub(super) fn mark_foreign(&mut self, what: &str) {
        self.foreign.get_or_insert_with(|| Foreign { what: what.into(), part: true });
    }

    /// What is in parentheses, whatever it is.
    pub(super) fn skip_parentheses(&mut self) -> P<()> {
        self.expect_tok(Tok::LParen)?;
        let mut depth = 1_u32;
        while depth > 0 {
            match self.kind() {
                Tok::LParen => depth += 1,
                Tok::RParen => depth -= 1,
                Tok::Eof | Tok::Bad => return Err(self.unexpected()),
                _ => {}
            }
            self.bump();
        }
        Ok(())
    }

    /// A row source that is not understood, with its alias.
    pub(super) fn foreign_source(&mut self) -> P<Option<TableRefKind>> {
        if self.peek_at(1).kind != Tok::LParen {
            return Ok(None);
        }
        let Some(what) = SOURCES.iter().find(|word| self.at(word)) else { return Ok(None) };
        self.mark_foreign(what);
        self.bump();
        self.skip_parentheses()?;
        while self.eat_tok(Tok::Dot) {
            if !self.at_tok(Tok::Dot) {
                self.ident()?;
            }
        }
        if self.at("WITH") && self.peek_at(1).kind == Tok::LParen {
            self.bump();
            self.skip_parentheses()?;
        }
        let alias = self.opt_alias()?;
        self.opt_ident_list()?;
        let span = self.peek().span;
        let name = ObjectName::bare(Ident { value: (*what).into(), quoted: false, span });
        Ok(Some(TableRefKind::Named {
            name,
            alias,
            sample: None,
            hints: Vec::new(),
            system_time: None,
        }))
    }

    /// A property of a column that no column has here; false when there is none.
    pub(super) fn foreign_property(&mut self) -> P<bool> {
        if self.eat_seq(&["ENCRYPTED", "WITH"]) {
            self.mark_foreign("A column that is ENCRYPTED");
            self.skip_parentheses()?;
        } else if self.eat_seq(&["GENERATED", "ALWAYS", "AS"]) {
            self.mark_foreign("A column that is GENERATED ALWAYS");
            for _ in 0..2 {
                self.upper_word()?;
            }
            self.eat("HIDDEN");
        } else if self.eat("FILESTREAM") {
            self.mark_foreign("A FILESTREAM column");
        } else if self.eat_seq(&["COLUMN_SET", "FOR", "ALL_SPARSE_COLUMNS"]) {
            self.mark_foreign("A column set");
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    /// What may stand behind the columns of CREATE TABLE besides; false when there is nothing of
    /// it.
    pub(super) fn foreign_table_part(&mut self) -> P<bool> {
        if self.eat_seq(&["AS", "NODE"]) || self.eat_seq(&["AS", "EDGE"]) {
            self.mark_foreign("A table of a graph");
        } else if self.eat_seq(&["AS", "FILETABLE"]) {
            self.mark_foreign("A FILETABLE");
        } else if self.eat("FILESTREAM_ON") {
            self.mark_foreign("FILESTREAM_ON");
            self.ident_or_string()?;
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    /// `COLUMNSTORE` or `HASH` in front of an index's columns.
    pub(super) fn foreign_index_kind(&mut self) {
        if self.eat("COLUMNSTORE") {
            self.mark_foreign("A COLUMNSTORE index");
        } else if self.eat("HASH") {
            self.mark_foreign("A HASH index");
        }
    }

    /// `ORDER (a, b)` of a columnstore index.
    pub(super) fn foreign_index_order(&mut self) -> P<()> {
        if self.at("ORDER") && self.peek_at(1).kind == Tok::LParen {
            self.bump();
            self.mark_foreign("ORDER of a COLUMNSTORE index");
            self.index_columns()?;
        }
        Ok(())
    }

    /// `FILESTREAM_ON x` behind an index.
    pub(super) fn foreign_filestream(&mut self) -> P<()> {
        if self.eat("FILESTREAM_ON") {
            self.mark_foreign("FILESTREAM_ON");
            self.ident_or_string()?;
        }
        Ok(())
    }

    /// `CONNECTION (a TO b, ...)` of a table of edges. What is returned stands for it in a
    /// statement that does nothing but fail.
    pub(super) fn foreign_connection(&mut self) -> P<ConstraintKind> {
        self.expect("CONNECTION")?;
        self.mark_foreign("A CONNECTION constraint");
        self.skip_parentheses()?;
        if self.eat_seq(&["ON", "DELETE"]) && !self.eat("CASCADE") {
            self.expect_seq(&["NO", "ACTION"])?;
        }
        Ok(ConstraintKind::Key {
            primary: false,
            clustered: None,
            columns: Vec::new(),
            options: Vec::new(),
            on: None,
        })
    }

    /// What ALTER TABLE switches on and off besides triggers; false when it is none of it.
    pub(super) fn foreign_switch(&mut self) -> P<bool> {
        let what = if self.eat("CHANGE_TRACKING") {
            "CHANGE_TRACKING"
        } else if self.eat("FILETABLE_NAMESPACE") {
            "FILETABLE_NAMESPACE"
        } else {
            return Ok(false);
        };
        self.mark_foreign(what);
        self.opt_with_options()?;
        Ok(true)
    }

    /// `ALTER INDEX i REBUILD WITH (...)` and `DROP INDEX i, j` of ALTER TABLE, for tables that are
    /// only in memory; false when it is none of them.
    pub(super) fn foreign_table_index(&mut self) -> P<bool> {
        if self.eat_seq(&["ALTER", "INDEX"]) {
            self.ident()?;
            self.expect("REBUILD")?;
            self.opt_with_options()?;
            self.mark_foreign("ALTER TABLE ... ALTER INDEX");
        } else if self.eat_seq(&["DROP", "INDEX"]) {
            self.list(Self::ident)?;
            self.mark_foreign("ALTER TABLE ... DROP INDEX");
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    /// `EXTERNAL NAME assembly.class.method` in place of a module's body; false when it is not
    /// there.
    pub(super) fn foreign_body(&mut self) -> P<bool> {
        if !self.eat_seq(&["EXTERNAL", "NAME"]) {
            return Ok(false);
        }
        self.mark_foreign("EXTERNAL NAME");
        self.object_name()?;
        Ok(true)
    }

    /// `ATOMIC WITH (...)` behind BEGIN, of modules that are compiled to machine code.
    pub(super) fn foreign_atomic(&mut self) -> P<()> {
        if self.eat_seq(&["ATOMIC", "WITH"]) {
            self.mark_foreign("BEGIN ATOMIC");
            self.skip_parentheses()?;
        }
        Ok(())
    }

    /// `WAITFOR (RECEIVE ...), TIMEOUT n`, from the parenthesis on.
    pub(super) fn foreign_wait(&mut self) -> P<StmtKind> {
        self.skip_parentheses()?;
        if self.eat_tok(Tok::Comma) {
            self.expect("TIMEOUT")?;
            self.constant_or_variable()?;
        }
        Ok(StmtKind::Foreign(Foreign { what: "WAITFOR (...)".into(), part: true }))
    }

    /// `MATCH(a-(b)->c)` of graphs, from its word on. What is returned stands for it in a statement
    /// that does nothing but fail.
    pub(super) fn foreign_match(&mut self) -> P<Expr> {
        let word = self.take_ident();
        let start = word.span;
        self.mark_foreign("MATCH");
        self.skip_parentheses()?;
        let operand =
            Box::new(self.node(ExprKind::Column(ColumnRef { qualifier: None, name: word }), start));
        Ok(self.node(ExprKind::IsNull { operand, negated: true }, start))
    }

    /// `SET @x.member = value`, `SET @x.method(...)` of types of .NET, from the dot on.
    pub(super) fn foreign_member(&mut self) -> P<()> {
        self.mark_foreign("A member of a type of .NET");
        while self.eat_tok(Tok::Dot) {
            self.ident()?;
        }
        if self.at_tok(Tok::LParen) {
            return self.skip_parentheses();
        }
        self.assign_op()?;
        self.scalar().map(|_| ())
    }

    /// `WITH CHANGE_TRACKING_CONTEXT (x)` in front of a change, with the comma before what follows.
    pub(super) fn foreign_prolog(&mut self) -> P<bool> {
        if !self.eat("CHANGE_TRACKING_CONTEXT") {
            return Ok(false);
        }
        self.mark_foreign("CHANGE_TRACKING_CONTEXT");
        self.skip_parentheses()?;
        Ok(true)
    }

    /// SET of mirroring and availability groups, whose words are not `name = value`.
    pub(super) fn foreign_database_set(&mut self) -> P<Option<AlterDatabaseAction>> {
        if self.at_any(&["PARTNER", "WITNESS", "HADR"]) {
            let what = format!("ALTER DATABASE ... SET {}", self.upper_word()?);
            self.mark_foreign(&what);
            self.skip_statement();
            return Ok(Some(AlterDatabaseAction::Set { options: Vec::new(), termination: None }));
        }
        Ok(None)
    }
}
