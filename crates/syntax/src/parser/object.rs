//! CREATE, ALTER and DROP by kind of object; schemas, types, sequences, synonyms.

use super::{P, Parser};
use crate::ast::{
    CreateSchema, CreateType, DropKind, DropObjects, ModuleVerb, ObjectName, PrincipalKind,
    Sensitivity, SequenceCache, SequenceDef, Span, Stmt, StmtKind, TriggerTarget, TypeKind,
};
use crate::lexer::Tok;

impl Parser<'_> {
    pub(super) fn create(&mut self) -> P<StmtKind> {
        let verb = self.pos;
        self.expect("CREATE")?;
        if self.eat_seq(&["OR", "ALTER"]) {
            return self.module(ModuleVerb::CreateOrAlter, verb);
        }
        if self.at_any(&["VIEW", "PROC", "PROCEDURE", "FUNCTION", "TRIGGER"]) {
            return self.module(ModuleVerb::Create, verb);
        }
        if self.eat("TABLE") {
            return self.create_table();
        }
        if self.at_any(&["UNIQUE", "CLUSTERED", "NONCLUSTERED", "COLUMNSTORE", "INDEX"]) {
            return self.create_index();
        }
        if self.at_seq(&["DATABASE", "SCOPED", "CREDENTIAL"]) || self.at("CREDENTIAL") {
            return self.credential(false);
        }
        if self.eat("DATABASE") {
            return self.create_database();
        }
        if self.eat("SCHEMA") {
            self.must_be_first("CREATE SCHEMA", verb)?;
            return self.create_schema();
        }
        if self.eat("TYPE") {
            return self.create_type();
        }
        if self.eat("SEQUENCE") {
            return Ok(StmtKind::CreateSequence(Box::new(self.sequence(true)?)));
        }
        if self.eat("SYNONYM") {
            let name = self.object_name()?;
            self.expect("FOR")?;
            return Ok(StmtKind::CreateSynonym { name, target: self.object_name()? });
        }
        if self.eat("STATISTICS") {
            return self.create_statistics();
        }
        if self.eat_seq(&["SECURITY", "POLICY"]) {
            return self.security_policy(false);
        }
        let kind = self.principal_kind()?;
        Ok(StmtKind::CreatePrincipal(Box::new(self.principal(kind)?)))
    }

    pub(super) fn alter(&mut self) -> P<StmtKind> {
        let verb = self.pos;
        self.expect("ALTER")?;
        if self.at_any(&["VIEW", "PROC", "PROCEDURE", "FUNCTION", "TRIGGER"]) {
            return self.module(ModuleVerb::Alter, verb);
        }
        if self.eat("TABLE") {
            return self.alter_table();
        }
        if self.eat("INDEX") {
            return self.alter_index();
        }
        if self.at_seq(&["DATABASE", "SCOPED", "CREDENTIAL"]) || self.at("CREDENTIAL") {
            return self.credential(true);
        }
        if self.eat("DATABASE") {
            return self.alter_database();
        }
        if self.eat("SEQUENCE") {
            return Ok(StmtKind::AlterSequence(Box::new(self.sequence(false)?)));
        }
        if self.eat("SCHEMA") {
            let schema = self.ident()?;
            self.expect("TRANSFER")?;
            return Ok(StmtKind::TransferSchema { schema, object: self.securable()? });
        }
        if self.eat("AUTHORIZATION") {
            return self.authorization();
        }
        if self.eat_seq(&["SECURITY", "POLICY"]) {
            return self.security_policy(true);
        }
        let kind = self.principal_kind()?;
        Ok(StmtKind::AlterPrincipal(Box::new(self.principal(kind)?)))
    }

    fn principal_kind(&mut self) -> P<PrincipalKind> {
        if self.eat("LOGIN") {
            Ok(PrincipalKind::Login)
        } else if self.eat("USER") {
            Ok(PrincipalKind::User)
        } else if self.eat("ROLE") {
            Ok(PrincipalKind::Role)
        } else if self.eat_seq(&["SERVER", "ROLE"]) {
            Ok(PrincipalKind::ServerRole)
        } else if self.eat_seq(&["APPLICATION", "ROLE"]) {
            Ok(PrincipalKind::ApplicationRole)
        } else {
            Err(self.unexpected())
        }
    }

    // ---- DROP ----

    pub(super) fn drop_statement(&mut self) -> P<StmtKind> {
        self.expect("DROP")?;
        if self.eat_seq(&["SENSITIVITY", "CLASSIFICATION"]) {
            self.expect("FROM")?;
            let (columns, options) = (self.list(Self::object_name)?, Vec::new());
            return Ok(StmtKind::Sensitivity(Box::new(Sensitivity {
                add: false,
                columns,
                options,
            })));
        }
        if self.eat("INDEX") {
            return self.drop_index();
        }
        if self.eat_seq(&["DATABASE", "SCOPED", "CREDENTIAL"]) {
            let names = vec![ObjectName::bare(self.ident()?)];
            let kind = DropKind::DatabaseCredential;
            return Ok(StmtKind::Drop(DropObjects { kind, if_exists: false, names, on: None }));
        }
        if self.eat("DATABASE") {
            let if_exists = self.if_exists();
            return Ok(StmtKind::DropDatabase { names: self.list(Self::ident)?, if_exists });
        }
        let kind = self.drop_kind()?;
        let if_exists = self.if_exists();
        let names = self.list(Self::object_name)?;
        let on = if kind == DropKind::Trigger && self.eat("ON") {
            Some(self.trigger_target()?)
        } else {
            None
        };
        if matches!(on, Some(TriggerTarget::Table(_))) {
            return Err(self.unexpected());
        }
        Ok(StmtKind::Drop(DropObjects { kind, if_exists, names, on }))
    }

    fn drop_kind(&mut self) -> P<DropKind> {
        const KINDS: &[(&str, DropKind)] = &[
            ("TABLE", DropKind::Table),
            ("VIEW", DropKind::View),
            ("PROCEDURE", DropKind::Procedure),
            ("PROC", DropKind::Procedure),
            ("FUNCTION", DropKind::Function),
            ("TRIGGER", DropKind::Trigger),
            ("SCHEMA", DropKind::Schema),
            ("TYPE", DropKind::Type),
            ("SEQUENCE", DropKind::Sequence),
            ("SYNONYM", DropKind::Synonym),
            ("STATISTICS", DropKind::Statistics),
            ("LOGIN", DropKind::Login),
            ("USER", DropKind::User),
            ("ROLE", DropKind::Role),
            ("CREDENTIAL", DropKind::Credential),
            ("DEFAULT", DropKind::Default),
            ("RULE", DropKind::Rule),
        ];
        if self.eat_seq(&["SERVER", "ROLE"]) {
            return Ok(DropKind::ServerRole);
        }
        if self.eat_seq(&["APPLICATION", "ROLE"]) {
            return Ok(DropKind::ApplicationRole);
        }
        if self.eat_seq(&["SECURITY", "POLICY"]) {
            return Ok(DropKind::SecurityPolicy);
        }
        for (word, kind) in KINDS {
            if self.eat(word) {
                return Ok(*kind);
            }
        }
        Err(self.unexpected())
    }

    // ---- schemas, types, sequences ----

    fn create_schema(&mut self) -> P<StmtKind> {
        let named = if self.at("AUTHORIZATION") { None } else { Some(self.ident()?) };
        let owner = if self.eat("AUTHORIZATION") { Some(self.ident()?) } else { None };
        let Some(name) = named.or_else(|| owner.clone()) else { return Err(self.unexpected()) };
        let mut elements: Vec<Stmt> = Vec::new();
        while self.at_any(&["CREATE", "GRANT", "REVOKE", "DENY"]) {
            elements.push(self.schema_element()?);
        }
        Ok(StmtKind::CreateSchema(Box::new(CreateSchema { name, owner, elements })))
    }

    /// A table, view or permission of the schema being made.
    fn schema_element(&mut self) -> P<Stmt> {
        if !self.at_seq(&["CREATE", "VIEW"]) {
            return self.statement();
        }
        let start = self.bump().span;
        self.bump();
        let kind = self.nest(|p| p.view(ModuleVerb::Create, start))?;
        Ok(Stmt { kind, span: self.since(start) })
    }

    fn create_type(&mut self) -> P<StmtKind> {
        let name = self.object_name()?;
        let kind = if self.eat("FROM") {
            let base = self.type_name()?;
            TypeKind::Alias { base, nullable: self.nullability() }
        } else if self.foreign_body()? {
            TypeKind::Table { elements: Vec::new(), options: Vec::new() }
        } else {
            self.expect_seq(&["AS", "TABLE"])?;
            let elements = self.table_elements()?;
            TypeKind::Table { elements, options: self.opt_with_options()? }
        };
        Ok(StmtKind::CreateType(Box::new(CreateType { name, kind })))
    }

    fn sequence(&mut self, create: bool) -> P<SequenceDef> {
        let mut sequence = SequenceDef {
            name: self.object_name()?,
            data_type: None,
            start: None,
            restart: None,
            increment: None,
            min_value: None,
            max_value: None,
            cycle: None,
            cache: None,
        };
        if create && self.eat("AS") {
            sequence.data_type = Some(self.type_name()?);
        }
        while self.sequence_property(&mut sequence, create)? {}
        Ok(sequence)
    }

    /// One property; false when there is none.
    fn sequence_property(&mut self, sequence: &mut SequenceDef, create: bool) -> P<bool> {
        if create && self.eat_seq(&["START", "WITH"]) {
            sequence.start = Some(self.constant_or_variable()?);
        } else if !create && self.eat("RESTART") {
            let with = self.eat("WITH");
            sequence.restart = Some(if with { Some(self.constant_or_variable()?) } else { None });
        } else if self.eat_seq(&["INCREMENT", "BY"]) {
            sequence.increment = Some(self.constant_or_variable()?);
        } else if self.eat("MINVALUE") {
            sequence.min_value = Some(Some(self.constant_or_variable()?));
        } else if self.eat_seq(&["NO", "MINVALUE"]) {
            sequence.min_value = Some(None);
        } else if self.eat("MAXVALUE") {
            sequence.max_value = Some(Some(self.constant_or_variable()?));
        } else if self.eat_seq(&["NO", "MAXVALUE"]) {
            sequence.max_value = Some(None);
        } else if self.eat("CYCLE") {
            sequence.cycle = Some(true);
        } else if self.eat_seq(&["NO", "CYCLE"]) {
            sequence.cycle = Some(false);
        } else if self.eat_seq(&["NO", "CACHE"]) {
            sequence.cache = Some(SequenceCache::None);
        } else if self.eat("CACHE") {
            sequence.cache = Some(self.cache_size());
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    fn cache_size(&mut self) -> SequenceCache {
        if !self.at_tok(Tok::Integer) {
            return SequenceCache::Default;
        }
        match self.opt_literal().map(|expr| expr.kind) {
            Some(crate::ast::ExprKind::Literal(literal)) => SequenceCache::Size(literal),
            _ => SequenceCache::Default,
        }
    }

    /// The text of the statement that began at `start`, up to the last token taken.
    pub(super) fn text_since(&self, start: Span) -> String {
        self.since(start).text(self.text).to_owned()
    }
}
