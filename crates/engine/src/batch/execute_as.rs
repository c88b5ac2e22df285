//! EXECUTE AS and REVERT: the principal that the following statements run as. Guarantees: what WITH
//! NO REVERT begins ends with the session, or when its connection is given to somebody else; what
//! WITH COOKIE begins ends with its cookie, too; neither can be said in a module.

use logical::rights::OwnershipChain;
use syntax::ast::{ExecuteAs, ExecuteAsUntil};
use types::convert::{Mode, convert};
use types::{DataType, Len, SqlError, Value, msg};

use super::run::{Failure, Run};
use catalog::errors;
use instance::security::passwords;
use session::state::caller::ActingEnd;

impl Run<'_> {
    /// EXECUTE AS USER, EXECUTE AS LOGIN.
    pub(super) fn execute_as(
        &mut self,
        principal: &ExecuteAs,
        until: &ExecuteAsUntil,
    ) -> Result<(), Failure> {
        if *until != ExecuteAsUntil::Revert {
            if self.core.identity.module.is_some()
                || matches!(self.core.identity.chain, OwnershipChain::Owner(..))
            {
                return Err(SqlError::of(msg::NO_REVERT_NOT_AD_HOC, []).into());
            }
            if *principal == ExecuteAs::Caller {
                return Err(errors::not_supported("EXECUTE AS CALLER WITH").into());
            }
        }
        match until {
            ExecuteAsUntil::Revert => self.act_as(principal, ActingEnd::Revert)?,
            ExecuteAsUntil::End => self.act_as(principal, ActingEnd::End)?,
            ExecuteAsUntil::Cookie(variable) => {
                let (slot, ty) = self.batch.program.vars.find(variable)?;
                let cookie = passwords::cookie();
                let given = convert(
                    &Value::bytes(cookie.clone()),
                    DataType::VarBinary(Len::N(8000)),
                    ty,
                    0,
                    Mode::Implicit,
                )?;
                self.act_as(principal, ActingEnd::Cookie(cookie))?;
                self.vars[slot] = given;
            }
        }
        self.core.succeeded(0);
        Ok(())
    }

    /// REVERT, with the cookie in a variable if it names one.
    pub(super) fn revert(&mut self, cookie: Option<&str>) -> Result<(), Failure> {
        let given = match cookie {
            None => None,
            Some(variable) => match &self.vars[self.batch.program.vars.find(variable)?.0] {
                Value::Bytes(bytes) => Some(bytes.to_vec()),
                _ => Some(Vec::new()),
            },
        };
        self.core.identity.revert(given.as_deref())?;
        self.core.succeeded(0);
        Ok(())
    }

    /// From here on another acts.
    pub(super) fn act_as(
        &mut self,
        principal: &ExecuteAs,
        until: ActingEnd,
    ) -> Result<(), Failure> {
        match principal {
            ExecuteAs::User(name) => self.core.act_as_user(name, until)?,
            ExecuteAs::Login(name) => self.core.act_as_login(name, until)?,
            // The caller is who acts already.
            ExecuteAs::Caller => {}
            ExecuteAs::Owner | ExecuteAs::SelfUser => return Err(errors::syntax_near("AS").into()),
        }
        Ok(())
    }
}
