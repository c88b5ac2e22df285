//! The logins that may connect: passwords, logging in, changes of principals and permissions.
//! Guarantees: a client learns nothing of a login from the way in which it is refused; what changes
//! principals or permissions is part of its statement's transaction, and in force for others when
//! that has committed.

pub mod change;
pub mod login;
pub mod logins;
pub mod passwords;
pub mod throttle;

pub use login::{ClientInfo, LoginToken};
pub use logins::LoginAudit;
