//! Administration: DBCC, BACKUP, RESTORE, SHUTDOWN.

use super::{P, Parser};
use crate::ast::{
    Backup, Dbcc, Device, Expr, ExprKind, Ident, MoveFile, NameOrVariable, OptionItem, Restore,
    RestoreKind, StmtKind,
};
use crate::lexer::Tok;

impl Parser<'_> {
    pub(super) fn admin_statement(&mut self, word: &str) -> P<StmtKind> {
        match word {
            "DBCC" => self.dbcc(),
            "BACKUP" | "DUMP" => self.backup(),
            "RESTORE" | "LOAD" => self.restore(),
            _ => {
                self.expect("SHUTDOWN")?;
                Ok(StmtKind::Shutdown { no_wait: self.eat_seq(&["WITH", "NOWAIT"]) })
            }
        }
    }

    // ---- DBCC ----

    fn dbcc(&mut self) -> P<StmtKind> {
        self.expect("DBCC")?;
        let name = self.upper_word()?;
        let mut args = Vec::new();
        if self.eat_tok(Tok::LParen) {
            if !self.at_tok(Tok::RParen) {
                args = self.list(Self::dbcc_arg)?;
            }
            self.expect_tok(Tok::RParen)?;
        }
        let options = self.opt_with_bare_options()?;
        Ok(StmtKind::Dbcc(Box::new(Dbcc { name, args, options })))
    }

    /// A constant, a variable, or a name that is looked at by the command.
    fn dbcc_arg(&mut self) -> P<Expr> {
        let start = self.peek().span;
        if self.at_ident() {
            let column = self.column()?;
            return Ok(self.node(ExprKind::Column(column), start));
        }
        if self.at_tok(Tok::Reserved) && !self.at("NULL") {
            let column = crate::ast::ColumnRef { qualifier: None, name: self.take_ident() };
            return Ok(self.node(ExprKind::Column(column), start));
        }
        self.constant_or_variable()
    }

    // ---- BACKUP ----

    fn backup(&mut self) -> P<StmtKind> {
        self.bump();
        let log = self.eat("LOG") || self.eat_seq(&["TRAN"]) || self.eat("TRANSACTION");
        if !log {
            self.expect("DATABASE")?;
        }
        let database = self.database_name()?;
        let files = self.backup_files()?;
        self.expect("TO")?;
        let devices = self.list(Self::device)?;
        let mut mirrors = Vec::new();
        while self.eat_seq(&["MIRROR", "TO"]) {
            mirrors.push(self.list(Self::device)?);
        }
        let options = self.opt_with_bare_options()?;
        Ok(StmtKind::Backup(Box::new(Backup { log, database, files, devices, mirrors, options })))
    }

    fn database_name(&mut self) -> P<NameOrVariable> {
        if matches!(self.kind(), Tok::Str | Tok::NStr) {
            return Ok(NameOrVariable::Name(self.take_ident()));
        }
        self.name_or_variable()
    }

    /// `FILE = 'a', FILEGROUP = 'b', PAGE = '1:57'` between the database and TO or FROM.
    fn backup_files(&mut self) -> P<Vec<OptionItem>> {
        if self.at_any(&["FILE", "FILEGROUP", "PAGE", "READ_WRITE_FILEGROUPS"]) {
            self.list(Self::option)
        } else {
            Ok(Vec::new())
        }
    }

    fn device(&mut self) -> P<Device> {
        if self.peek_at(1).kind == Tok::Eq {
            if self.eat("DISK") {
                return Ok(Device::Disk(self.device_address()?));
            }
            if self.eat("URL") {
                return Ok(Device::Url(self.device_address()?));
            }
            if self.eat("TAPE") {
                return Ok(Device::Tape(self.device_address()?));
            }
        }
        Ok(Device::Logical(self.database_name()?))
    }

    /// `= 'path'` or `= @path`.
    fn device_address(&mut self) -> P<Expr> {
        self.expect_tok(Tok::Eq)?;
        self.string_or_variable()
    }

    fn string_or_variable(&mut self) -> P<Expr> {
        if self.at_tok(Tok::Variable) { self.constant_or_variable() } else { self.string_expr() }
    }

    // ---- RESTORE ----

    fn restore(&mut self) -> P<StmtKind> {
        self.bump();
        let kind = self.restore_kind()?;
        let mut restore = Restore {
            kind,
            database: None,
            files: Vec::new(),
            devices: Vec::new(),
            snapshot: None,
            options: Vec::new(),
            moves: Vec::new(),
        };
        if matches!(kind, RestoreKind::Database | RestoreKind::Log) {
            restore.database = Some(self.database_name()?);
            restore.files = self.backup_files()?;
        } else if !self.at("FROM") {
            return Err(self.unexpected());
        }
        if self.eat("FROM") {
            if self.eat("DATABASE_SNAPSHOT") {
                self.expect_tok(Tok::Eq)?;
                let Ident { value, .. } = self.ident_or_string()?;
                restore.snapshot = Some(value);
            } else {
                restore.devices = self.list(Self::device)?;
            }
        }
        if self.eat("WITH") {
            self.restore_option(&mut restore)?;
            while self.eat_tok(Tok::Comma) {
                self.restore_option(&mut restore)?;
            }
        }
        Ok(StmtKind::Restore(Box::new(restore)))
    }

    fn restore_kind(&mut self) -> P<RestoreKind> {
        const KINDS: &[(&str, RestoreKind)] = &[
            ("DATABASE", RestoreKind::Database),
            ("LOG", RestoreKind::Log),
            ("TRAN", RestoreKind::Log),
            ("TRANSACTION", RestoreKind::Log),
            ("HEADERONLY", RestoreKind::HeaderOnly),
            ("FILELISTONLY", RestoreKind::FileListOnly),
            ("LABELONLY", RestoreKind::LabelOnly),
            ("VERIFYONLY", RestoreKind::VerifyOnly),
        ];
        for (word, kind) in KINDS {
            if self.eat(word) {
                return Ok(*kind);
            }
        }
        Err(self.unexpected())
    }

    fn restore_option(&mut self, restore: &mut Restore) -> P<()> {
        if self.eat("MOVE") {
            let logical = self.string_or_variable()?;
            self.expect("TO")?;
            let path = self.string_or_variable()?;
            restore.moves.push(MoveFile { logical, path });
            return Ok(());
        }
        restore.options.push(self.option()?);
        Ok(())
    }
}
