//! CREATE, ALTER and DROP of server roles. They are kept in master by the statement's transaction.
//! Guarantees: a fixed role stays as it is but for its members, and those are chosen by its
//! members.

use std::sync::Arc;

use catalog::security::{
    Class, FIRST_LOGIN, Kind, Permission, Principal, SA, SERVER_PUBLIC, SYSADMIN, Scope, Securable,
};
use catalog::{Db, errors};
use syntax::ast::{DropObjects, Principal as Statement, PrincipalSource};
use types::SqlError;

use super::StmtCtx;
use super::principal::{
    cannot, check_circle, check_droppable, find_member, find_role, new_role, public_members,
    rename_role, special, taken, valid_name,
};
use instance::security::change::Change;
use session::state::SessionCore;

impl StmtCtx<'_> {
    pub(super) fn create_server_role(&mut self, stmt: &Statement) -> Result<(), SqlError> {
        super::rights::server(self.core, Permission::CreateServerRole)?;
        let name = valid_name(&stmt.name.value)?;
        let master = self.core.host().database("master")?;
        let mut change = Change::begin(self.core, &master)?;
        super::rights::server(change.core, Permission::CreateServerRole)?;
        let sysadmin = change.core.is_sysadmin();
        let caller = change.core.identity.caller.login_id();
        let security = change.security();
        if security.server.find(&name).is_some() {
            return Err(taken("server", &name));
        }
        let owner = match &stmt.source {
            PrincipalSource::None if stmt.options.is_empty() => caller,
            PrincipalSource::Authorization(owner) if stmt.options.is_empty() => {
                match security.server.find(&owner.value) {
                    Some(owner)
                        if owner.id != SERVER_PUBLIC && (sysadmin || owner.id == caller) =>
                    {
                        owner.id
                    }
                    _ => return Err(cannot("find", "server principal", &owner.value)),
                }
            }
            _ => return Err(errors::syntax_near(&name)),
        };
        let role = new_role(security.server.free_id(FIRST_LOGIN), name, owner);
        change.put_principal(Scope::Server, &role)?;
        change.finish()
    }

    pub(super) fn alter_server_role(&mut self, stmt: &Statement) -> Result<(), SqlError> {
        let master = self.core.host().database("master")?;
        let options = self.role_options("ALTER SERVER ROLE", &stmt.options)?;
        let role =
            find_role(&self.core.security(&master), Scope::Server, "alter", &stmt.name.value)?;
        may_alter_server_role(self.core, &master, &role, "alter")?;
        let mut change = Change::begin(self.core, &master)?;
        let security = change.security();
        let role = find_role(&security, Scope::Server, "alter", &stmt.name.value)?;
        may_alter_server_role(change.core, &master, &role, "alter")?;
        match (&stmt.source, options) {
            (PrincipalSource::AddMember(name), None) => {
                if role.id == SERVER_PUBLIC {
                    return Err(public_members());
                }
                let member = find_member(&security, Scope::Server, "add", &name.value)?;
                check_circle(&security, Scope::Server, &role, &member)?;
                if member.kind == Kind::Role && member.is_fixed(Scope::Server) {
                    return Err(special(&member.name));
                }
                change.set_member(Scope::Server, role.id, member.id, true)?;
            }
            (PrincipalSource::DropMember(name), None) => {
                if role.id == SERVER_PUBLIC {
                    return Err(public_members());
                }
                let member = find_member(&security, Scope::Server, "drop", &name.value)?;
                if role.id == SYSADMIN && member.id == SA {
                    return Err(special(&member.name));
                }
                change.set_member(Scope::Server, role.id, member.id, false)?;
            }
            (PrincipalSource::None, Some(name)) => {
                rename_role(&mut change, Scope::Server, &role, &name)?;
            }
            _ => return Err(errors::syntax_near(&stmt.name.value)),
        }
        change.finish()
    }

    pub(super) fn drop_server_role(&mut self, stmt: &DropObjects) -> Result<(), SqlError> {
        let master = self.core.host().database("master")?;
        for name in &stmt.names {
            match find_role(&self.core.security(&master), Scope::Server, "drop", &name.name.value) {
                Err(_) if stmt.if_exists => continue,
                role => may_alter_server_role(self.core, &master, &*role?, "drop")?,
            }
            let mut change = Change::begin(self.core, &master)?;
            let security = change.security();
            let role = find_role(&security, Scope::Server, "drop", &name.name.value)?;
            may_alter_server_role(change.core, &master, &role, "drop")?;
            check_droppable(&security, Scope::Server, &role)?;
            change.delete_principal(Scope::Server, role.id)?;
            change.finish()?;
        }
        Ok(())
    }
}

/// The members of a fixed role choose its members; of others, whoever may alter server roles or
/// owns it.
fn may_alter_server_role(
    core: &mut SessionCore,
    master: &Arc<Db>,
    role: &Principal,
    verb: &str,
) -> Result<(), SqlError> {
    let security = core.security(master);
    let may = core.is_sysadmin()
        || match role.is_fixed(Scope::Server) {
            true => {
                role.id != SYSADMIN
                    && security.server.is_member(role.id, core.identity.caller.login_id())
            }
            false => {
                core.has_server(Permission::AlterAnyServerRole)
                    || core.has(
                        master,
                        Securable::new(Class::Login, role.id),
                        0,
                        Permission::Control,
                    )
            }
        };
    if may { Ok(()) } else { Err(cannot(verb, "server role", &role.name)) }
}
