//! EXECUTE AS, and the principal and owner that the statements of a module run as: changes of
//! [`Identity`] that depend on the principals and permissions of the session's databases.
//!
//! [`Identity`]: super::identity::Identity

use std::sync::Arc;

use catalog::module::AS_OWNER;
use catalog::security::{Class, DBO, Kind, Permission, Principal, Securable, Security};
use catalog::{Db, ModuleDef, fold_name};
use logical::rights::OwnershipChain;
use syntax::ast::ExecuteAs;
use types::{SqlError, msg};

use super::caller::{ActingAs, ActingEnd};
use super::core::SessionCore;
use super::identity::ModuleScope;

impl SessionCore {
    /// Principals and permissions of a database as the session's transaction sees them.
    pub fn security(&self, db: &Db) -> Arc<Security> {
        match self.transactions.ddl.iter().rev().find_map(|change| change.security_of(db)) {
            Some(own) => own.clone(),
            None => db.security(),
        }
    }

    /// principal_id of the user that the caller is in the current database.
    pub fn user_id(&mut self) -> i32 {
        if self.may_all() {
            return DBO;
        }
        let db = self.db().clone();
        self.user_in(&db)
    }

    /// EXECUTE AS USER. Error: 15517.
    pub fn act_as_user(&mut self, name: &str, until: ActingEnd) -> Result<(), SqlError> {
        let refused = || SqlError::of(msg::CANNOT_EXECUTE_AS_USER, [&name]);
        let db = self.db().clone();
        let security = self.security(&db);
        let user = security
            .database
            .find(name)
            .filter(|p| can_be(p, 3..=4))
            .cloned()
            .ok_or_else(refused)?;
        if self.user_id() != user.id || self.identity.caller.acting_user(db.id()).is_none() {
            let on = Securable::new(Class::User, user.id);
            if !self.has(&db, on, 0, Permission::Impersonate) {
                return Err(refused());
            }
        }
        self.identity.check_depth()?;
        let Principal { id, name, sid, .. } = Principal::clone(&user);
        self.identity.caller.act(ActingAs::User { db: db.id(), id, name, sid }, until);
        Ok(())
    }

    /// EXECUTE AS LOGIN. Error: 15406.
    pub fn act_as_login(&mut self, name: &str, until: ActingEnd) -> Result<(), SqlError> {
        let refused = || SqlError::of(msg::CANNOT_EXECUTE_AS_LOGIN, [&name]);
        let master = self.host().database("master")?;
        let security = self.security(&master);
        let login =
            security.server.find(name).filter(|p| can_be(p, 0..=0)).cloned().ok_or_else(refused)?;
        let powerful = security.server.is_member(catalog::security::SYSADMIN, login.id);
        let may = self.is_sysadmin()
            || (!powerful
                && self.has(
                    &master,
                    Securable::new(Class::Login, login.id),
                    0,
                    Permission::Impersonate,
                ));
        if !may {
            return Err(refused());
        }
        self.identity.check_depth()?;
        let Principal { id, name, sid, .. } = Principal::clone(&login);
        self.identity.caller.act(ActingAs::Login { id, name, sid }, until);
        // It must be able to use the database that it finds itself in.
        let db = self.db().clone();
        if let Err(e) = self.effective(&db).map(drop) {
            let depth = self.identity.caller.depth() - 1;
            self.identity.caller.return_to(depth);
            return Err(e);
        }
        Ok(())
    }

    /// The statements of a module begin, with the owner in whose name they are bound and the user
    /// that they run as. What EXECUTE AS begins in them ends with them.
    ///
    /// # Errors
    /// 15517 the user that the module runs as does not exist any more.
    pub fn enter_module_scope(
        &mut self,
        db: &Arc<Db>,
        module: &ModuleDef,
    ) -> Result<ModuleScope, SqlError> {
        // Everybody may make one, and its names are those of any database: it lends no rights.
        if module.is_temporary() {
            return Ok(self.enter_module((db, module), OwnershipChain::None, None));
        }
        let version = db.security_version();
        // What the transaction itself has changed has no version that others know.
        let committed = self.transactions.ddl.is_empty();
        // A trigger of the server may run as a login.
        if let (true, None, Some(owner)) = (committed, module.run_as, module.owner.at(version))
            && !module.is_ddl_trigger()
        {
            return Ok(self.enter_module(
                (db, module),
                OwnershipChain::Owner(db.id(), owner),
                None,
            ));
        }
        let security = self.security(db);
        let schema = db.catalog().schemas.get(&fold_name(&module.schema)).copied().unwrap_or(0);
        // A trigger has the owner of its table.
        let object = if module.parent != 0 { module.parent } else { module.object_id };
        let owner = security.object_owner(object, schema);
        if committed {
            module.owner.found(security.version, owner);
        }
        let chain = OwnershipChain::Owner(db.id(), owner);
        let run_as = module.run_as.map(|id| if id == AS_OWNER { owner } else { id });
        let acting = match run_as.map(|id| (id, security.database.get(id))) {
            None => self.login_of(module)?,
            Some((_, Some(user))) => {
                let Principal { id, name, sid, .. } = Principal::clone(user);
                Some(ActingAs::User { db: db.id(), id, name, sid })
            }
            Some((id, None)) => {
                return Err(SqlError::of(msg::CANNOT_EXECUTE_AS_USER, [&id]));
            }
        };
        Ok(self.enter_module((db, module), chain, acting))
    }

    /// As which login a trigger of the server runs, if it says one.
    ///
    /// # Errors
    /// 15406 the login is gone.
    fn login_of(&self, module: &ModuleDef) -> Result<Option<ActingAs>, SqlError> {
        let Some(ExecuteAs::User(name)) =
            module.execute_as().filter(|_| module.is_server_trigger())
        else {
            return Ok(None);
        };
        let security = self.security(&*self.host().database("master")?);
        let login = security.server.find(name).filter(|p| p.kind == Kind::User);
        let login = login.ok_or_else(|| SqlError::of(msg::CANNOT_EXECUTE_AS_LOGIN, [name]))?;
        let Principal { id, name, sid, .. } = Principal::clone(login);
        Ok(Some(ActingAs::Login { id, name, sid }))
    }

    /// The database whose names the statements that run mean: the current one, but in a procedure
    /// of master that runs in another. A temporary procedure's are those of the database it is
    /// called in.
    #[inline]
    pub fn names_db(&self) -> &Arc<Db> {
        self.identity.module.as_ref().map_or(self.db(), |module| &module.names)
    }

    /// Statements begin that are bound in a name.
    pub fn enter_chain(&mut self, chain: OwnershipChain) -> ModuleScope {
        self.identity.enter_scope(None, self.db.get(), chain, None)
    }

    fn enter_module(
        &mut self,
        (db, module): (&Arc<Db>, &ModuleDef),
        chain: OwnershipChain,
        acting: Option<ActingAs>,
    ) -> ModuleScope {
        self.identity.enter_scope(Some((db, module)), self.db.get(), chain, acting)
    }
}

/// Whether a principal is one that another can act as.
fn can_be(p: &Principal, never: std::ops::RangeInclusive<i32>) -> bool {
    p.kind == Kind::User && !never.contains(&p.id)
}
