//! CREATE and ALTER DATABASE: files, filegroups, sizes, options.

use super::{P, Parser};
use crate::ast::{
    AlterDatabase, AlterDatabaseAction, CreateDatabase, FileGrowth, FileSize, FileSpec,
    FilegroupChange, FilegroupSpec, MaxSize, OptionItem, OptionValue, SizeUnit, StmtKind,
    Termination,
};
use crate::lexer::Tok;
use compact_str::CompactString;

/// Database options that take no value.
const BARE: &[&str] = &[
    "SINGLE_USER",
    "RESTRICTED_USER",
    "MULTI_USER",
    "ONLINE",
    "OFFLINE",
    "EMERGENCY",
    "READ_ONLY",
    "READ_WRITE",
    "ENABLE_BROKER",
    "DISABLE_BROKER",
    "NEW_BROKER",
    "ERROR_BROKER_CONVERSATIONS",
];

impl Parser<'_> {
    /// Behind CREATE DATABASE.
    pub(super) fn create_database(&mut self) -> P<StmtKind> {
        let mut database = CreateDatabase {
            name: self.ident()?,
            containment: None,
            primary: Vec::new(),
            filegroups: Vec::new(),
            log: Vec::new(),
            collation: None,
            attach: None,
            snapshot_of: None,
            options: Vec::new(),
        };
        if self.eat("CONTAINMENT") {
            self.expect_tok(Tok::Eq)?;
            database.containment = Some(self.upper_word()?);
        }
        if self.eat("ON") {
            self.eat("PRIMARY");
            if self.at_tok(Tok::LParen) {
                database.primary = self.file_specs()?;
            }
            while self.eat_tok(Tok::Comma) || self.at("FILEGROUP") {
                database.filegroups.push(self.filegroup_spec()?);
            }
            if database.primary.is_empty() && database.filegroups.is_empty() {
                return Err(self.unexpected());
            }
        }
        if self.eat_seq(&["LOG", "ON"]) {
            database.log = self.file_specs()?;
        }
        if self.eat("COLLATE") {
            database.collation = Some(self.ident_or_keyword()?);
        }
        if self.eat("FOR") {
            let attach = self.at_any(&["ATTACH", "ATTACH_REBUILD_LOG"]);
            database.attach =
                if attach { Some(self.upper_word()?) } else { return Err(self.unexpected()) };
        }
        if self.eat_seq(&["AS", "SNAPSHOT", "OF"]) {
            database.snapshot_of = Some(self.ident()?);
        }
        if self.eat("WITH") {
            database.options = self.list(Self::database_option)?;
        }
        Ok(StmtKind::CreateDatabase(Box::new(database)))
    }

    /// One file or more; a comma that does not lead to a file is left alone.
    fn file_specs(&mut self) -> P<Vec<FileSpec>> {
        let mut files = vec![self.file_spec()?];
        while self.at_tok(Tok::Comma) && self.peek_at(1).kind == Tok::LParen {
            self.bump();
            files.push(self.file_spec()?);
        }
        Ok(files)
    }

    fn filegroup_spec(&mut self) -> P<FilegroupSpec> {
        self.expect("FILEGROUP")?;
        let name = self.ident()?;
        let contains = if self.eat("CONTAINS") { Some(self.upper_word()?) } else { None };
        let is_default = self.eat("DEFAULT");
        Ok(FilegroupSpec { name, is_default, contains, files: self.file_specs()? })
    }

    /// `(NAME = x, FILENAME = 'path', ...)`.
    fn file_spec(&mut self) -> P<FileSpec> {
        let start = self.peek().span;
        let mut file = FileSpec { span: start, ..FileSpec::default() };
        self.expect_tok(Tok::LParen)?;
        loop {
            self.file_property(&mut file)?;
            if !self.eat_tok(Tok::Comma) {
                break;
            }
        }
        self.expect_tok(Tok::RParen)?;
        file.span = self.since(start);
        Ok(file)
    }

    fn file_property(&mut self, file: &mut FileSpec) -> P<()> {
        if self.eat("OFFLINE") {
            file.offline = true;
            return Ok(());
        }
        let token = self.peek();
        let name = self.upper_word()?;
        if !["NAME", "NEWNAME", "FILENAME", "SIZE", "MAXSIZE", "FILEGROWTH"]
            .contains(&name.as_str())
        {
            self.pos = self.pos.saturating_sub(1);
            debug_assert_eq!(self.peek().span, token.span);
            return Err(self.unexpected());
        }
        self.expect_tok(Tok::Eq)?;
        match name.as_str() {
            "NAME" => file.name = Some(self.ident_or_string()?.value),
            "NEWNAME" => file.new_name = Some(self.ident_or_string()?.value),
            "FILENAME" => file.filename = Some(self.string()?),
            "SIZE" => file.size = Some(self.file_size()?),
            "MAXSIZE" => {
                let unlimited = self.eat("UNLIMITED");
                file.max_size = Some(if unlimited {
                    MaxSize::Unlimited
                } else {
                    MaxSize::Size(self.file_size()?)
                });
            }
            _ => {
                let percent = self.peek_at(1).kind == Tok::Percent && self.at_tok(Tok::Integer);
                file.growth = Some(if percent {
                    let value = self.integer()?;
                    self.bump();
                    FileGrowth::Percent(value)
                } else {
                    FileGrowth::Size(self.file_size()?)
                });
            }
        }
        Ok(())
    }

    /// A number and its unit; MB when there is none.
    fn file_size(&mut self) -> P<FileSize> {
        let value = self.integer()?;
        let unit = if self.eat("KB") {
            SizeUnit::Kb
        } else if self.eat("GB") {
            SizeUnit::Gb
        } else if self.eat("TB") {
            SizeUnit::Tb
        } else {
            self.eat("MB");
            SizeUnit::Mb
        };
        Ok(FileSize { value, unit })
    }

    // ---- ALTER DATABASE ----

    /// Behind ALTER DATABASE.
    pub(super) fn alter_database(&mut self) -> P<StmtKind> {
        if self.eat_seq(&["SCOPED", "CONFIGURATION"]) {
            let action = self.scoped_configuration()?;
            return Ok(StmtKind::AlterDatabase(Box::new(AlterDatabase { name: None, action })));
        }
        let name = if self.eat("CURRENT") { None } else { Some(self.ident()?) };
        let action = self.alter_database_action()?;
        Ok(StmtKind::AlterDatabase(Box::new(AlterDatabase { name, action })))
    }

    /// `[FOR SECONDARY] SET name = value | CLEAR PROCEDURE_CACHE [handle]`.
    fn scoped_configuration(&mut self) -> P<AlterDatabaseAction> {
        let secondary = self.eat_seq(&["FOR", "SECONDARY"]);
        if self.eat("CLEAR") {
            self.expect("PROCEDURE_CACHE")?;
            return Ok(AlterDatabaseAction::ClearProcedureCache {
                handle: self.eat_tok(Tok::Binary),
            });
        }
        self.expect("SET")?;
        let name = self.upper_word()?;
        self.expect_tok(Tok::Eq)?;
        let token = self.bump();
        let value: CompactString = self.text_of(token).to_uppercase().into();
        Ok(AlterDatabaseAction::ScopedConfiguration { secondary, name, value })
    }

    fn alter_database_action(&mut self) -> P<AlterDatabaseAction> {
        if self.eat("SET") {
            if let Some(action) = self.foreign_database_set()? {
                return Ok(action);
            }
            let options = self.list(Self::database_option)?;
            return Ok(AlterDatabaseAction::Set { options, termination: self.opt_termination()? });
        }
        if self.eat("COLLATE") {
            return Ok(AlterDatabaseAction::Collate(self.ident_or_keyword()?));
        }
        if self.eat("ADD") {
            return self.add_to_database();
        }
        if self.eat("REMOVE") {
            if self.eat("FILE") {
                return Ok(AlterDatabaseAction::RemoveFile(self.ident_or_string()?.value));
            }
            self.expect("FILEGROUP")?;
            return Ok(AlterDatabaseAction::RemoveFilegroup(self.ident()?));
        }
        self.expect("MODIFY")?;
        if self.eat("FILE") {
            return Ok(AlterDatabaseAction::ModifyFile(self.file_spec()?));
        }
        if self.eat("NAME") {
            self.expect_tok(Tok::Eq)?;
            return Ok(AlterDatabaseAction::ModifyName(self.ident()?));
        }
        self.expect("FILEGROUP")?;
        let name = self.placement_ident()?;
        let change = self.filegroup_change()?;
        Ok(AlterDatabaseAction::ModifyFilegroup {
            name,
            change,
            termination: self.opt_termination()?,
        })
    }

    /// A filegroup's name; PRIMARY is one.
    fn placement_ident(&mut self) -> P<crate::ast::Ident> {
        if self.at("PRIMARY") { Ok(self.take_ident()) } else { self.ident() }
    }

    fn add_to_database(&mut self) -> P<AlterDatabaseAction> {
        if self.eat_seq(&["LOG", "FILE"]) {
            return Ok(AlterDatabaseAction::AddLogFile(self.file_specs()?));
        }
        if self.eat("FILEGROUP") {
            let name = self.ident()?;
            let contains = if self.eat("CONTAINS") { Some(self.upper_word()?) } else { None };
            return Ok(AlterDatabaseAction::AddFilegroup { name, contains });
        }
        self.expect("FILE")?;
        let files = self.file_specs()?;
        let filegroup =
            if self.eat_seq(&["TO", "FILEGROUP"]) { Some(self.placement_ident()?) } else { None };
        Ok(AlterDatabaseAction::AddFile { files, filegroup })
    }

    fn filegroup_change(&mut self) -> P<FilegroupChange> {
        if self.eat("DEFAULT") {
            return Ok(FilegroupChange::Default);
        }
        if self.eat("NAME") {
            self.expect_tok(Tok::Eq)?;
            return Ok(FilegroupChange::Name(self.ident()?));
        }
        let change = if self.at_any(&["READ_ONLY", "READONLY"]) {
            FilegroupChange::ReadOnly
        } else if self.at_any(&["READ_WRITE", "READWRITE"]) {
            FilegroupChange::ReadWrite
        } else if self.at("AUTOGROW_SINGLE_FILE") {
            FilegroupChange::AutogrowSingleFile
        } else if self.at("AUTOGROW_ALL_FILES") {
            FilegroupChange::AutogrowAllFiles
        } else {
            return Err(self.unexpected());
        };
        self.bump();
        Ok(change)
    }

    /// One entry of SET: the words that take no value must not take the next statement's first word
    /// for one.
    fn database_option(&mut self) -> P<OptionItem> {
        if self.at_any(BARE) {
            let span = self.peek().span;
            let name: CompactString = self.upper_word()?;
            return Ok(OptionItem {
                name,
                value: OptionValue::None,
                unit: None,
                nested: Vec::new(),
                span,
            });
        }
        self.option()
    }

    fn opt_termination(&mut self) -> P<Option<Termination>> {
        if !self.at("WITH") {
            return Ok(None);
        }
        if self.eat_seq(&["WITH", "NO_WAIT"]) {
            return Ok(Some(Termination::NoWait));
        }
        self.bump();
        self.expect("ROLLBACK")?;
        if self.eat("IMMEDIATE") {
            return Ok(Some(Termination::Immediate));
        }
        self.expect("AFTER")?;
        let seconds = self.integer()?;
        self.eat("SECONDS");
        Ok(Some(Termination::After(seconds)))
    }
}
