//! Logins, users, roles, credentials, permissions.

use super::{P, Parser};
use crate::ast::{
    AlterAuthorization, Credential, Ident, Permission, PermissionItem, PermissionVerb, Principal,
    PrincipalKind, PrincipalSource, Securable, Sensitivity, StmtKind,
};
use crate::lexer::Tok;
use compact_str::CompactString;

/// The most words that the name of a class of securables has: XML SCHEMA COLLECTION.
const CLASS_WORDS: usize = 3;

impl Parser<'_> {
    /// From a principal's name on.
    pub(super) fn principal(&mut self, kind: PrincipalKind) -> P<Principal> {
        let name = self.ident()?;
        let source = self.principal_source()?;
        let options = self.opt_with_bare_options()?;
        Ok(Principal { kind, name, source, options })
    }

    fn principal_source(&mut self) -> P<PrincipalSource> {
        if self.eat_seq(&["WITHOUT", "LOGIN"]) {
            return Ok(PrincipalSource::WithoutLogin);
        }
        if self.eat("AUTHORIZATION") {
            return Ok(PrincipalSource::Authorization(self.ident()?));
        }
        if (self.at("ADD") || self.at("DROP")) && self.at_word(1, "CREDENTIAL") {
            self.mark_foreign("ALTER LOGIN ... CREDENTIAL");
            self.bump();
            self.bump();
            self.ident()?;
            return Ok(PrincipalSource::None);
        }
        if self.eat_seq(&["ADD", "MEMBER"]) {
            return Ok(PrincipalSource::AddMember(self.ident()?));
        }
        if self.eat_seq(&["DROP", "MEMBER"]) {
            return Ok(PrincipalSource::DropMember(self.ident()?));
        }
        if self.eat("ENABLE") {
            return Ok(PrincipalSource::Enable);
        }
        if self.eat("DISABLE") {
            return Ok(PrincipalSource::Disable);
        }
        if !self.eat("FOR") && !self.eat("FROM") {
            return Ok(PrincipalSource::None);
        }
        if self.eat("LOGIN") {
            return Ok(PrincipalSource::Login(self.ident()?));
        }
        if self.eat("CERTIFICATE") {
            return Ok(PrincipalSource::Key("CERTIFICATE".into(), self.ident()?));
        }
        if self.eat_seq(&["ASYMMETRIC", "KEY"]) {
            return Ok(PrincipalSource::Key("ASYMMETRIC KEY".into(), self.ident()?));
        }
        if self.eat_seq(&["EXTERNAL", "PROVIDER"]) {
            return Ok(PrincipalSource::Provider("EXTERNAL PROVIDER".into()));
        }
        self.expect("WINDOWS")?;
        Ok(PrincipalSource::Provider("WINDOWS".into()))
    }

    /// From CREDENTIAL or DATABASE SCOPED CREDENTIAL on.
    pub(super) fn credential(&mut self, alter: bool) -> P<StmtKind> {
        let database_scoped = self.eat_seq(&["DATABASE", "SCOPED"]);
        self.expect("CREDENTIAL")?;
        let name = self.ident()?;
        self.expect("WITH")?;
        self.expect("IDENTITY")?;
        self.expect_tok(Tok::Eq)?;
        let identity = self.string()?;
        let mut secret = None;
        if self.eat_tok(Tok::Comma) {
            self.expect("SECRET")?;
            self.expect_tok(Tok::Eq)?;
            secret = Some(self.string()?);
        }
        if self.eat_seq(&["FOR", "CRYPTOGRAPHIC", "PROVIDER"]) {
            self.mark_foreign("CRYPTOGRAPHIC PROVIDER");
            self.ident()?;
        }
        let credential = Credential { alter, database_scoped, name, identity, secret };
        Ok(StmtKind::CreateCredential(Box::new(credential)))
    }

    /// `GRANT ... [ON ...] TO ...` and its kin.
    pub(super) fn permission(&mut self, verb: PermissionVerb) -> P<Permission> {
        self.bump();
        let mut grant_option =
            verb == PermissionVerb::Revoke && self.eat_seq(&["GRANT", "OPTION", "FOR"]);
        let mut permissions = self.list(Self::permission_item)?;
        let on = if self.eat("ON") { Some(self.securable()?) } else { None };
        // The columns of the object, for every permission that does not name its own.
        let columns = if on.is_some() { self.opt_ident_list()? } else { Vec::new() };
        for permission in permissions.iter_mut().filter(|p| p.columns.is_empty()) {
            permission.columns.clone_from(&columns);
        }
        let to = verb != PermissionVerb::Revoke || self.at("TO");
        self.expect(if to { "TO" } else { "FROM" })?;
        let principals = self.list(Self::grantee)?;
        if verb == PermissionVerb::Grant {
            grant_option = self.eat_seq(&["WITH", "GRANT", "OPTION"]);
        }
        let cascade = verb != PermissionVerb::Grant && self.eat("CASCADE");
        let grantor = if self.eat("AS") { Some(self.grantee()?) } else { None };
        Ok(Permission { verb, permissions, on, principals, grant_option, cascade, grantor })
    }

    fn grantee(&mut self) -> P<Ident> {
        if self.at("PUBLIC") { Ok(self.take_ident()) } else { self.ident() }
    }

    /// Words up to a comma, a list, ON, TO or FROM.
    fn permission_item(&mut self) -> P<PermissionItem> {
        let mut name: CompactString = self.upper_word()?;
        while matches!(self.kind(), Tok::Word | Tok::Reserved)
            && !self.at_any(&["ON", "TO", "FROM"])
        {
            let word = self.upper_word()?;
            name.push(' ');
            name.push_str(&word);
        }
        Ok(PermissionItem { name, columns: self.opt_ident_list()? })
    }

    /// `ADD SENSITIVITY CLASSIFICATION TO columns WITH (...)`.
    pub(super) fn add_classification(&mut self) -> P<StmtKind> {
        self.expect_seq(&["ADD", "SENSITIVITY", "CLASSIFICATION", "TO"])?;
        let columns = self.list(Self::object_name)?;
        let options = self.opt_with_options()?;
        Ok(StmtKind::Sensitivity(Box::new(Sensitivity { add: true, columns, options })))
    }

    /// `ALTER AUTHORIZATION ON [class::]name TO principal | SCHEMA OWNER`, from ON on.
    pub(super) fn authorization(&mut self) -> P<StmtKind> {
        self.expect("ON")?;
        let on = self.securable()?;
        self.expect("TO")?;
        let to = if self.eat_seq(&["SCHEMA", "OWNER"]) { None } else { Some(self.grantee()?) };
        Ok(StmtKind::AlterAuthorization(Box::new(AlterAuthorization { on, to })))
    }

    /// `[class::]name`.
    pub(super) fn securable(&mut self) -> P<Securable> {
        let mut words = 0;
        // A class has a few words at most: what follows a name without one is the statement's.
        while words < CLASS_WORDS
            && matches!(self.peek_at(words).kind, Tok::Word | Tok::Reserved)
            && !self.at_word(words, "TO")
            && !self.at_word(words, "FROM")
        {
            words += 1;
        }
        let mut class = None;
        if words > 0 && self.peek_at(words).kind == Tok::DoubleColon {
            let mut name: CompactString = self.upper_word()?;
            for _ in 1..words {
                let word = self.upper_word()?;
                name.push(' ');
                name.push_str(&word);
            }
            self.bump();
            class = Some(name);
        }
        Ok(Securable { class, name: self.object_name()? })
    }
}
