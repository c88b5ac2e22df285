//! A running instance as programs hold it: opened, its sessions, what others may see of it. What is
//! done lies in the modules that are called. Guarantee: an instance that is closing gives no
//! session (6005).

use std::fmt;
use std::io;
use std::ops::Deref;
use std::sync::Arc;

use types::SqlError;

use crate::open::open;
use crate::session::{Session, login};
use crate::watch;
use instance::security::LoginToken;
use instance::{InstanceCore, InstanceError, InstanceOptions, PageMemory};
use metadata::status::{self, InstanceStatus};
use statements::dbcc::check::{CheckReport, check_all};

/// A running instance. It is closed when all who hold it have let go of it, and all of its
/// sessions.
pub struct Instance {
    core: Arc<InstanceCore>,
}

/// Databases, files, settings, principals.
impl Deref for Instance {
    type Target = InstanceCore;

    #[inline]
    fn deref(&self) -> &InstanceCore {
        &self.core
    }
}

impl fmt::Debug for Instance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.core, f)
    }
}

impl Instance {
    /// Opens the instance of a folder and all its databases; makes it when the folder is empty.
    ///
    /// # Errors
    /// The folder is in use or cannot be written, the list of databases is damaged, master cannot
    /// be opened.
    pub fn open(options: InstanceOptions) -> Result<Arc<Instance>, InstanceError> {
        Ok(Arc::new(Instance { core: open(options, None)? }))
    }

    /// The same in memory that was had before, whatever the options say of memory for pages.
    ///
    /// # Errors
    /// As for [`Instance::open`].
    pub fn open_in(
        options: InstanceOptions,
        memory: PageMemory,
    ) -> Result<Arc<Instance>, InstanceError> {
        Ok(Arc::new(Instance { core: open(options, Some(memory))? }))
    }

    /// A new session in master.
    ///
    /// # Errors
    /// 6005 when the instance is shutting down.
    pub fn session(&self) -> Result<Session, SqlError> {
        Session::of(&self.core)
    }

    /// A session of a login, in a database that it names or in the login's own. After an error the
    /// client also gets [`LoginToken::refused`], unless it is 17892.
    ///
    /// # Errors
    /// 4060 the named database is not there or the login may not use it, 4064 the same of its
    /// default database; 17892 a logon trigger has refused it; 6005.
    pub fn session_for(
        &self,
        token: &LoginToken,
        database: Option<&str>,
    ) -> Result<Session, SqlError> {
        login::session_in(&self.core, token, database, false).map(|(session, _)| session)
    }

    /// As [`Instance::session_for`]; when `database` cannot be opened the session is in the login's
    /// default one, and what its client is to be told is beside it (4063).
    ///
    /// # Errors
    /// As [`Instance::session_for`].
    pub fn session_in_or_default(
        &self,
        token: &LoginToken,
        database: Option<&str>,
    ) -> Result<(Session, Option<SqlError>), SqlError> {
        login::session_in(&self.core, token, database, true)
    }

    /// Gives `sa` a password, unless it has this one already: what MSSQL_SA_PASSWORD says.
    ///
    /// # Errors
    /// 33062, 33064 a password that the policy does not allow; 3906 the folder is only read; what
    /// the storage says.
    pub fn set_sa_password(&self, password: &str) -> Result<(), SqlError> {
        login::set_sa_password(&self.core, password)
    }

    /// Checks a database: what DBCC CHECKDB does.
    ///
    /// # Errors
    /// 911 no such database, 945 and other errors of a database that is not usable, I/O errors
    /// other than damage.
    pub fn check_database(&self, name: &str) -> Result<CheckReport, SqlError> {
        let db = self.database(name)?;
        Session::of(&self.core)?.with_core(|core| {
            core.begin_statement(false)?;
            let report = check_all(core, &db);
            core.end_statement(report)
        })
    }

    /// Lets other processes of this user look in: [`watch::look`]. To be called once; ends when the
    /// instance is closed.
    ///
    /// # Errors
    /// The socket cannot be made; the instance works without it.
    pub fn open_to_view(&self) -> io::Result<()> {
        watch::open(&self.core)
    }

    /// A picture of now.
    pub fn status(&self) -> InstanceStatus {
        status::of(&self.core)
    }
}
