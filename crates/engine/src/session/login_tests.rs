//! Passwords that have expired, which takes weeks: the day on which a password was set is changed
//! in its login's row.

use std::sync::Arc;

use catalog::clock;
use catalog::security::password_age::MAX_DAYS;
use catalog::security::{PasswordAge, Principal, Scope};
use sim::SimDisk;
use types::{ResultRows, SqlError, Value};

use crate::{Instance, InstanceOptions, Session, Sink};
use instance::security::change::SecurityChange;
use instance::security::{ClientInfo, LoginToken};

/// The rows of a batch, which has no errors.
#[derive(Default)]
struct Rows(Vec<Vec<Value>>);

impl Sink for Rows {
    fn rows(&mut self, rows: &ResultRows<'_>) -> Result<(), SqlError> {
        rows.each(|row| {
            self.0.push(row.to_vec());
            Ok(())
        })
    }
    fn error(&mut self, error: &SqlError) -> Result<(), SqlError> {
        panic!("{error:?}")
    }
}

fn run(session: &mut Session, sql: &str) -> Vec<Vec<Value>> {
    let mut rows = Rows::default();
    session.execute(sql, &mut rows);
    rows.0
}

/// Writes a login as `change` makes it.
fn rewrite(instance: &Arc<Instance>, login: &str, change: impl Fn(Principal) -> Principal) {
    let master = instance.database("master").unwrap();
    instance.session().unwrap().with_core(|core| {
        core.begin_statement(true).unwrap();
        let done = SecurityChange::begin(core, &master).and_then(|mut work| {
            let found = work.security().server.find(login).cloned().unwrap();
            work.put_principal(Scope::Server, &change(Principal::clone(&found)))?;
            work.finish()
        });
        core.end_statement(done).unwrap();
    });
}

/// The password of a login is that of so many days ago.
fn set_days_ago(instance: &Arc<Instance>, login: &str, days: i32, must_change: bool) {
    rewrite(instance, login, |found| {
        let password_age = found.password_age.set(clock::now_parts().0 - days, must_change);
        Principal { password_age, ..found }
    });
}

fn attempt(instance: &Instance, login: &str) -> Result<LoginToken, i32> {
    instance.authenticate(login, "F1rst-of-all", &ClientInfo::default()).map_err(|e| e.number)
}

#[test]
fn an_expired_password_lets_in_only_who_changes_it() {
    let options = InstanceOptions {
        memory_bytes: Some(16 << 20),
        disk: Arc::new(SimDisk::new(5)),
        ..InstanceOptions::new("/data")
    };
    let instance = Instance::open(options).unwrap();
    let mut admin = instance.session().unwrap();
    run(&mut admin, "CREATE LOGIN ann WITH PASSWORD = 'F1rst-of-all', CHECK_EXPIRATION = ON");
    run(&mut admin, "CREATE LOGIN bob WITH PASSWORD = 'F1rst-of-all'");
    // Not the last day itself, as a midnight may pass.
    set_days_ago(&instance, "ann", MAX_DAYS - 1, false);
    assert!(attempt(&instance, "ann").is_ok());
    set_days_ago(&instance, "ann", MAX_DAYS + 1, true);
    assert_eq!(attempt(&instance, "ann").unwrap_err(), 18_488);
    set_days_ago(&instance, "ann", MAX_DAYS + 1, false);
    let refused = instance.authenticate("ann", "F1rst-of-all", &ClientInfo::default()).unwrap_err();
    assert_eq!((refused.number, refused.severity, refused.state), (18_487, 14, 1));
    let text = "Login failed for user 'ann'. Reason: The password of the account has expired.";
    assert_eq!(refused.message, text);
    let shown = run(
        &mut admin,
        "SELECT LOGINPROPERTY('ann', 'IsExpired'), LOGINPROPERTY('ann', 'DaysUntilExpiration')",
    );
    assert_eq!(shown, [[Value::str("1"), Value::str("0")]]);
    let token =
        instance.authenticate_to_change("ann", "F1rst-of-all", &ClientInfo::default()).unwrap();
    let mut own = instance.session_for(&token, None).unwrap();
    // The same text again is a new password: earlier ones are not kept.
    run(&mut own, "ALTER LOGIN ann WITH PASSWORD = 'F1rst-of-all' OLD_PASSWORD = 'F1rst-of-all'");
    assert!(attempt(&instance, "ann").is_ok());
}

#[test]
fn days_count_from_when_the_password_was_set() {
    let options = InstanceOptions {
        memory_bytes: Some(16 << 20),
        disk: Arc::new(SimDisk::new(6)),
        ..InstanceOptions::new("/data")
    };
    let instance = Instance::open(options).unwrap();
    let mut admin = instance.session().unwrap();
    run(&mut admin, "CREATE LOGIN bob WITH PASSWORD = 'F1rst-of-all'");
    set_days_ago(&instance, "bob", 1000, false);
    assert!(attempt(&instance, "bob").is_ok(), "it does not expire");
    // Also those before it was told to expire.
    run(&mut admin, "ALTER LOGIN bob WITH CHECK_EXPIRATION = ON");
    assert_eq!(attempt(&instance, "bob").unwrap_err(), 18_487);
    // Where the day is not known it is that of the login's last change.
    for (days, expected) in [(MAX_DAYS - 1, None), (MAX_DAYS + 1, Some(18_487))] {
        rewrite(&instance, "bob", |found| {
            let modified = Value::DateTime { days: clock::now_parts().0 - days, ticks: 0 };
            Principal { modified, password_age: PasswordAge::default(), ..found }
        });
        run(&mut admin, "ALTER LOGIN bob WITH CHECK_EXPIRATION = ON");
        assert_eq!(attempt(&instance, "bob").err(), expected);
    }
    // Then another change of the login makes its password no younger.
    run(&mut admin, "ALTER LOGIN bob WITH DEFAULT_DATABASE = master");
    assert_eq!(attempt(&instance, "bob").unwrap_err(), 18_487);
}
