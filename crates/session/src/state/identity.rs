//! Who runs a session's statements: the names that the client gives, its login, the principal that
//! it acts as, the module whose statements run and the owner in whose name they are bound.
//! Guarantees: a scope that is left ([`Identity::leave_scope`]) leaves all of it as it was when the
//! scope began; REVERT goes no further back than to the beginning of the running scope.

use std::sync::Arc;

use catalog::security::Principal;
use catalog::{Db, ModuleDef};
use compact_str::CompactString;
use logical::rights::OwnershipChain;
use types::{SqlError, msg};

use super::caller::{ActingAs, ActingEnd, Caller};
use super::running_module::RunningModule;
use super::shared::ClientNames;

/// Deepest nesting of EXECUTE AS.
const MAX_DEPTH: usize = 32;

/// The module, the owner and the depth of EXECUTE AS around a scope, for its end.
#[derive(Debug)]
pub struct ModuleScope {
    module: Option<RunningModule>,
    chain: OwnershipChain,
    floor: usize,
    depth: usize,
}

/// Who a session is and acts as.
pub struct Identity {
    spid: i32,
    /// Client's names, for APP_NAME(), HOST_NAME(), SUSER_SNAME().
    pub app_name: CompactString,
    pub host_name: CompactString,
    pub login: CompactString,
    /// Who runs the statements.
    pub caller: Caller,
    /// How deep EXECUTE AS was when the running scope began: REVERT goes no further.
    acting_floor: usize,
    /// The owner in whose name statements are bound.
    pub chain: OwnershipChain,
    /// The module whose statements run; `None` in a batch, dynamic SQL included.
    pub module: Option<RunningModule>,
}

impl Identity {
    /// A session of the program itself, under a number and the client's names.
    pub fn new(spid: i32, names: ClientNames) -> Identity {
        Identity {
            spid,
            app_name: names.app,
            host_name: names.host,
            login: names.login,
            caller: Caller::system(),
            acting_floor: 0,
            chain: OwnershipChain::None,
            module: None,
        }
    }

    /// @@SPID.
    #[inline]
    pub fn spid(&self) -> i32 {
        self.spid
    }

    /// Name of the login that runs the statement.
    pub fn login_name(&self) -> CompactString {
        if self.caller.is_powerful() { self.login.clone() } else { self.caller.name().into() }
    }

    /// The schema in which the statements that run look up names before dbo.
    pub fn module_schema(&self) -> Option<CompactString> {
        self.module.as_ref().and_then(|module| module.schema.clone())
    }

    /// The session is reset: it acts as nobody else, and binds in nobody's name.
    pub fn reset(&mut self) {
        self.caller.return_to(0);
        (self.acting_floor, self.chain) = (0, OwnershipChain::None);
    }

    /// Statements begin that are bound in the name of `chain`: those of a module that is called in
    /// the database `current`, or of a text. They run as `acting`, else as the caller.
    pub(super) fn enter_scope(
        &mut self,
        module: Option<(&Arc<Db>, &ModuleDef)>,
        current: &Arc<Db>,
        chain: OwnershipChain,
        acting: Option<ActingAs>,
    ) -> ModuleScope {
        let running = module.map(|module| RunningModule::of(module, current));
        let scope = ModuleScope {
            module: std::mem::replace(&mut self.module, running),
            chain: std::mem::replace(&mut self.chain, chain),
            floor: self.acting_floor,
            depth: self.caller.depth(),
        };
        if let Some(acting) = acting {
            self.caller.act(acting, ActingEnd::Revert);
        }
        self.acting_floor = self.caller.depth();
        scope
    }

    /// The statements of the scope have ended.
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
        let until = cookie.map_or(ActingEnd::End, ActingEnd::Cookie);
        self.caller.act(ActingAs::Role { db: db.id(), id: role.id, sid: role.sid.clone() }, until);
        Ok(())
    }

    /// The rights that the caller had before an application role. Error: 15592.
    pub fn leave_role(&mut self, cookie: &[u8]) -> Result<(), SqlError> {
        let depth = self.caller.depth();
        let fits = matches!(self.caller.until(), Some(ActingEnd::Cookie(set)) if set == cookie);
        if depth > self.acting_floor && self.caller.in_role() && fits {
            self.caller.return_to(depth - 1);
            return Ok(());
        }
        Err(SqlError::of(msg::NO_APPLICATION_ROLE_SET, []))
    }

    /// Whether EXECUTE AS may be nested once more.
    ///
    /// # Errors
    /// 217 too many.
    pub(super) fn check_depth(&self) -> Result<(), SqlError> {
        match self.caller.depth() < MAX_DEPTH {
            true => Ok(()),
            false => Err(SqlError::of(msg::EXECUTE_AS_NESTING, [&MAX_DEPTH])),
        }
    }

    /// REVERT [WITH COOKIE]: the principal of before acts again, unless the running scope has begun
    /// as the present one.
    ///
    /// # Errors
    /// 15589 another cookie is wanted, 15591 a cookie is wanted, none is, or nothing reverts it.
    pub fn revert(&mut self, cookie: Option<&[u8]>) -> Result<(), SqlError> {
        let depth = self.caller.depth();
        if depth <= self.acting_floor || self.caller.in_role() {
            return Ok(());
        }
        match (self.caller.until(), cookie) {
            (None | Some(ActingEnd::Revert), None) => {}
            (Some(ActingEnd::Cookie(set)), Some(given)) if set == given => {}
            (Some(ActingEnd::Cookie(_)), Some(_)) => {
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
