//! Who a session's caller is, by name and number, EXECUTE AS and REVERT, application roles, and as
//! whom the statements of a module run.

use std::sync::Arc;

use catalog::module::AS_OWNER;
use catalog::security::{Class, DBO, Kind, Permission, Principal, Securable, Security};
use catalog::{Db, ModuleDef, fold_name};
use compact_str::CompactString;
use logical::rights::Chain;
use syntax::ast::ExecuteAs;
use types::{SqlError, msg};

use super::caller::{Acting, Until};
use super::core::SessionCore;
use super::running_module::RunningModule;

/// Deepest nesting of EXECUTE AS.
const MAX_DEPTH: usize = 32;

/// Whose statements were running, before those of a module.
#[derive(Debug)]
pub struct ModuleScope {
    module: Option<RunningModule>,
    chain: Chain,
    floor: usize,
    depth: usize,
}

impl SessionCore {
    /// Principals and permissions of a database as the session's transaction sees them.
    pub fn security(&self, db: &Db) -> Arc<Security> {
        match self.transactions.ddl.iter().rev().find_map(|change| change.security_of(db)) {
            Some(own) => own.clone(),
            None => db.security(),
        }
    }

    /// Name of the login that runs the statement.
    pub fn login_name(&self) -> CompactString {
        if self.caller.is_powerful() { self.login.clone() } else { self.caller.name().into() }
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
    pub fn act_as_user(&mut self, name: &str, until: Until) -> Result<(), SqlError> {
        let refused = || SqlError::of(msg::CANNOT_EXECUTE_AS_USER, [&name]);
        let db = self.db().clone();
        let security = self.security(&db);
        let user = security
            .database
            .find(name)
            .filter(|p| can_be(p, 3..=4))
            .cloned()
            .ok_or_else(refused)?;
        if self.user_id() != user.id || self.caller.acting_user(db.id()).is_none() {
            let on = Securable::new(Class::User, user.id);
            if !self.has(&db, on, 0, Permission::Impersonate) {
                return Err(refused());
            }
        }
        self.check_depth()?;
        let Principal { id, name, sid, .. } = Principal::clone(&user);
        self.caller.act(Acting::User { db: db.id(), id, name, sid }, until);
        Ok(())
    }

    /// EXECUTE AS LOGIN. Error: 15406.
    pub fn act_as_login(&mut self, name: &str, until: Until) -> Result<(), SqlError> {
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
        self.check_depth()?;
        let Principal { id, name, sid, .. } = Principal::clone(&login);
        self.caller.act(Acting::Login { id, name, sid }, until);
        // It must be able to use the database that it finds itself in.
        let db = self.db().clone();
        if let Err(e) = self.effective(&db).map(drop) {
            let depth = self.caller.depth() - 1;
            self.caller.return_to(depth);
            return Err(e);
        }
        Ok(())
    }

    /// The statements of a module begin: in whose name they are bound, and as whom they run. What
    /// EXECUTE AS begins in them ends with them.
    ///
    /// # Errors
    /// 15517 whom the module runs as is gone.
    pub fn enter_module_scope(
        &mut self,
        db: &Arc<Db>,
        module: &ModuleDef,
    ) -> Result<ModuleScope, SqlError> {
        // Everybody may make one, and its names are those of any database: it lends no rights.
        if module.is_temporary() {
            return Ok(self.enter_scope(Some((db, module)), Chain::None, None));
        }
        let version = db.security_version();
        // What the transaction itself has changed has no version that others know.
        let committed = self.transactions.ddl.is_empty();
        // A trigger of the server may run as a login.
        if let (true, None, Some(owner)) = (committed, module.run_as, module.owner.at(version))
            && !module.is_ddl_trigger()
        {
            return Ok(self.enter_scope(Some((db, module)), Chain::Owner(db.id(), owner), None));
        }
        let security = self.security(db);
        let schema = db.catalog().schemas.get(&fold_name(&module.schema)).copied().unwrap_or(0);
        // A trigger belongs to whom its table belongs to.
        let object = if module.parent != 0 { module.parent } else { module.object_id };
        let owner = security.object_owner(object, schema);
        if committed {
            module.owner.found(security.version, owner);
        }
        let chain = Chain::Owner(db.id(), owner);
        let run_as = module.run_as.map(|id| if id == AS_OWNER { owner } else { id });
        let acting = match run_as.map(|id| (id, security.database.get(id))) {
            None => self.login_of(module)?,
            Some((_, Some(user))) => {
                let Principal { id, name, sid, .. } = Principal::clone(user);
                Some(Acting::User { db: db.id(), id, name, sid })
            }
            Some((id, None)) => {
                return Err(SqlError::of(msg::CANNOT_EXECUTE_AS_USER, [&id]));
            }
        };
        Ok(self.enter_scope(Some((db, module)), chain, acting))
    }

    /// As which login a trigger of the server runs, if it says one.
    ///
    /// # Errors
    /// 15406 the login is gone.
    fn login_of(&self, module: &ModuleDef) -> Result<Option<Acting>, SqlError> {
        let Some(ExecuteAs::User(name)) =
            module.execute_as().filter(|_| module.is_server_trigger())
        else {
            return Ok(None);
        };
        let security = self.security(&*self.host().database("master")?);
        let login = security.server.find(name).filter(|p| p.kind == Kind::User);
        let login = login.ok_or_else(|| SqlError::of(msg::CANNOT_EXECUTE_AS_LOGIN, [name]))?;
        let Principal { id, name, sid, .. } = Principal::clone(login);
        Ok(Some(Acting::Login { id, name, sid }))
    }

    /// The schema in which the statements that run look up names before dbo.
    pub fn module_schema(&self) -> Option<CompactString> {
        self.module.as_ref().and_then(|module| module.schema.clone())
    }

    /// The database whose names the statements that run mean: the current one, but in a procedure
    /// of master that runs in another. A temporary procedure's are those of the database it is
    /// called in.
    #[inline]
    pub fn names_db(&self) -> &Arc<Db> {
        self.module.as_ref().map_or(self.db(), |module| &module.names)
    }

    /// Statements begin that are bound in a name.
    pub fn enter_chain(&mut self, chain: Chain) -> ModuleScope {
        self.enter_scope(None, chain, None)
    }

    fn enter_scope(
        &mut self,
        module: Option<(&Arc<Db>, &ModuleDef)>,
        chain: Chain,
        acting: Option<Acting>,
    ) -> ModuleScope {
        let running = module.map(|module| RunningModule::of(module, self.db()));
        let scope = ModuleScope {
            module: std::mem::replace(&mut self.module, running),
            chain: std::mem::replace(&mut self.chain, chain),
            floor: self.acting_floor,
            depth: self.caller.depth(),
        };
        if let Some(acting) = acting {
            self.caller.act(acting, Until::Revert);
        }
        self.acting_floor = self.caller.depth();
        scope
    }

    /// They have ended.
    pub fn leave_scope(&mut self, scope: ModuleScope) {
        self.caller.return_to(scope.depth);
        (self.chain, self.acting_floor, self.module) = (scope.chain, scope.floor, scope.module);
    }

    /// The rights of an application role instead of the caller's, until its cookie comes back or
    /// the session ends.
    ///
    /// # Errors
    /// 217 too many.
    pub fn take_role(
        &mut self,
        db: &Db,
        role: &Principal,
        cookie: Option<Vec<u8>>,
    ) -> Result<(), SqlError> {
        self.check_depth()?;
        let until = cookie.map_or(Until::End, Until::Cookie);
        self.caller.act(Acting::Role { db: db.id(), id: role.id, sid: role.sid.clone() }, until);
        Ok(())
    }

    /// The rights that the caller had before an application role. Error: 15592.
    pub fn leave_role(&mut self, cookie: &[u8]) -> Result<(), SqlError> {
        let depth = self.caller.depth();
        let fits = matches!(self.caller.until(), Some(Until::Cookie(set)) if set == cookie);
        if depth > self.acting_floor && self.caller.in_role() && fits {
            self.caller.return_to(depth - 1);
            return Ok(());
        }
        Err(SqlError::of(msg::NO_APPLICATION_ROLE_SET, []))
    }

    fn check_depth(&self) -> Result<(), SqlError> {
        match self.caller.depth() < MAX_DEPTH {
            true => Ok(()),
            false => Err(SqlError::of(msg::EXECUTE_AS_NESTING, [&MAX_DEPTH])),
        }
    }

    /// REVERT [WITH COOKIE]: back to whom acted before, at most to whom acted when the scope began.
    ///
    /// # Errors
    /// 15589 another cookie is wanted, 15591 a cookie is wanted, none is, or nothing reverts it.
    pub fn revert(&mut self, cookie: Option<&[u8]>) -> Result<(), SqlError> {
        let depth = self.caller.depth();
        if depth <= self.acting_floor || self.caller.in_role() {
            return Ok(());
        }
        match (self.caller.until(), cookie) {
            (None | Some(Until::Revert), None) => {}
            (Some(Until::Cookie(set)), Some(given)) if set == given => {}
            (Some(Until::Cookie(_)), Some(_)) => {
                return Err(SqlError::of(msg::REVERT_COOKIE_INVALID, []));
            }
            _ => {
                return Err(SqlError::of(msg::CANNOT_REVERT, []));
            }
        }
        self.caller.return_to(depth - 1);
        Ok(())
    }
}

/// Whether a principal is one that another can act as.
fn can_be(p: &Principal, never: std::ops::RangeInclusive<i32>) -> bool {
    p.kind == Kind::User && !never.contains(&p.id)
}
