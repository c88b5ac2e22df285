//! The permissions that can be granted: their names and codes as SQL Server has them, what they can
//! be granted on, and which other permission includes them. Guarantee: codes are what the system
//! table of permissions keeps, and never change.

/// What a permission is on, with sys.database_permissions.class's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Class {
    Database = 0,
    /// A table, view or procedure; with a minor_id above 0 one of its columns.
    Object = 1,
    Schema = 3,
    /// A user or a role.
    User = 4,
    /// A type that was made: an alias or a table type.
    Type = 6,
    Server = 100,
    /// A login or a role of the server.
    Login = 101,
}

impl Class {
    /// All of them.
    pub const ALL: [Class; 7] = [
        Class::Database,
        Class::Object,
        Class::Schema,
        Class::User,
        Class::Type,
        Class::Server,
        Class::Login,
    ];

    /// The class of a number.
    pub(crate) fn from_number(number: u8) -> Option<Class> {
        Class::ALL.into_iter().find(|class| *class as u8 == number)
    }

    /// class_desc.
    pub fn description(self) -> &'static str {
        match self {
            Class::Database => "DATABASE",
            Class::Object => "OBJECT_OR_COLUMN",
            Class::Schema => "SCHEMA",
            Class::User => "DATABASE_PRINCIPAL",
            Class::Type => "TYPE",
            Class::Server => "SERVER",
            Class::Login => "SERVER_PRINCIPAL",
        }
    }

    /// Whether it is of the server, so that its permissions are kept in master for logins.
    pub fn is_server(self) -> bool {
        matches!(self, Class::Server | Class::Login)
    }
}

/// Declares the permissions: variant, code, name, classes.
macro_rules! permissions {
    ($($variant:ident $code:literal $name:literal [$($class:ident)*],)*) => {
        /// A permission.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Permission { $($variant,)* }

        impl Permission {
            /// All of them, by name.
            pub const ALL: &'static [Permission] = &[$(Permission::$variant,)*];

            /// Code of up to four characters, as in sys.database_permissions.type.
            pub fn code(self) -> &'static str {
                match self { $(Permission::$variant => $code,)* }
            }

            /// Name as in GRANT.
            pub fn name(self) -> &'static str {
                match self { $(Permission::$variant => $name,)* }
            }

            /// What it can be granted on.
            pub fn classes(self) -> &'static [Class] {
                match self { $(Permission::$variant => &[$(Class::$class),*],)* }
            }
        }
    };
}

permissions! {
    AdministerBulk "ADBO" "ADMINISTER BULK OPERATIONS" [Server],
    Alter "AL" "ALTER" [Database Object Schema User Login],
    AlterAnyApplicationRole "ALAR" "ALTER ANY APPLICATION ROLE" [Database],
    AlterAnyConnection "ALCO" "ALTER ANY CONNECTION" [Server],
    AlterAnyCredential "ALCD" "ALTER ANY CREDENTIAL" [Server],
    AlterAnyDatabase "ALDB" "ALTER ANY DATABASE" [Server],
    AlterAnyLogin "ALLG" "ALTER ANY LOGIN" [Server],
    AlterAnyMask "AAMK" "ALTER ANY MASK" [Database],
    AlterAnyRole "ALRL" "ALTER ANY ROLE" [Database],
    AlterAnySchema "ALSM" "ALTER ANY SCHEMA" [Database],
    AlterAnySecurityPolicy "ALSP" "ALTER ANY SECURITY POLICY" [Database],
    AlterAnyServerRole "ALSR" "ALTER ANY SERVER ROLE" [Server],
    AlterAnyUser "ALUS" "ALTER ANY USER" [Database],
    AlterResources "ALRS" "ALTER RESOURCES" [Server],
    AlterServerState "ALSS" "ALTER SERVER STATE" [Server],
    AlterSettings "ALST" "ALTER SETTINGS" [Server],
    AlterTrace "ALTR" "ALTER TRACE" [Server],
    BackupDatabase "BADB" "BACKUP DATABASE" [Database],
    BackupLog "BALO" "BACKUP LOG" [Database],
    Checkpoint "CP" "CHECKPOINT" [Database],
    Connect "CO" "CONNECT" [Database],
    ConnectAnyDatabase "CADB" "CONNECT ANY DATABASE" [Server],
    ConnectSql "COSQ" "CONNECT SQL" [Server],
    Control "CL" "CONTROL" [Database Object Schema User Type Login],
    ControlServer "CL" "CONTROL SERVER" [Server],
    CreateAnyDatabase "CRDB" "CREATE ANY DATABASE" [Server],
    CreateFunction "CRFN" "CREATE FUNCTION" [Database],
    CreateLogin "CRLG" "CREATE LOGIN" [Server],
    CreateProcedure "CRPR" "CREATE PROCEDURE" [Database],
    CreateRole "CRRL" "CREATE ROLE" [Database],
    CreateSchema "CRSM" "CREATE SCHEMA" [Database],
    CreateSequence "CRSO" "CREATE SEQUENCE" [Schema],
    CreateServerRole "CRSR" "CREATE SERVER ROLE" [Server],
    CreateSynonym "CRSN" "CREATE SYNONYM" [Database],
    CreateTable "CRTB" "CREATE TABLE" [Database],
    CreateType "CRTY" "CREATE TYPE" [Database],
    CreateUser "CRUS" "CREATE USER" [Database],
    CreateView "CRVW" "CREATE VIEW" [Database],
    Delete "DL" "DELETE" [Database Object Schema],
    Execute "EX" "EXECUTE" [Database Object Schema Type],
    Impersonate "IM" "IMPERSONATE" [User Login],
    ImpersonateAnyLogin "IAL" "IMPERSONATE ANY LOGIN" [Server],
    Insert "IN" "INSERT" [Database Object Schema],
    References "RF" "REFERENCES" [Database Object Schema Type],
    Select "SL" "SELECT" [Database Object Schema],
    SelectAllUserSecurables "SUS" "SELECT ALL USER SECURABLES" [Server],
    Showplan "SPLN" "SHOWPLAN" [Database],
    Shutdown "SHDN" "SHUTDOWN" [Server],
    TakeOwnership "TO" "TAKE OWNERSHIP" [Database Object Schema User Type],
    Unmask "UMSK" "UNMASK" [Database Object Schema],
    Update "UP" "UPDATE" [Database Object Schema],
    ViewAnySecuredDefinition "VCD" "VIEW ANY CRYPTOGRAPHICALLY SECURED DEFINITION" [Server],
    ViewAnyDatabase "VWDB" "VIEW ANY DATABASE" [Server],
    ViewAnyDefinition "VWAD" "VIEW ANY DEFINITION" [Server],
    ViewAnyErrorLog "VEL" "VIEW ANY ERROR LOG" [Server],
    ViewAnyPerformanceDefinition "VAP" "VIEW ANY PERFORMANCE DEFINITION" [Server],
    ViewAnySecurityDefinition "VAS" "VIEW ANY SECURITY DEFINITION" [Server],
    ViewSecuredDefinition "VCD" "VIEW CRYPTOGRAPHICALLY SECURED DEFINITION" [Database],
    ViewDatabasePerformanceState "VDP" "VIEW DATABASE PERFORMANCE STATE" [Database],
    ViewDatabaseSecurityState "VDS" "VIEW DATABASE SECURITY STATE" [Database],
    ViewDatabaseState "VWDS" "VIEW DATABASE STATE" [Database],
    ViewDefinition "VW" "VIEW DEFINITION" [Database Object Schema User Type Login],
    ViewPerformanceDefinition "VWP" "VIEW PERFORMANCE DEFINITION" [Database],
    ViewSecurityDefinition "VWS" "VIEW SECURITY DEFINITION" [Database],
    ViewServerPerformanceState "VSP" "VIEW SERVER PERFORMANCE STATE" [Server],
    ViewServerSecurityState "VSS" "VIEW SERVER SECURITY STATE" [Server],
    ViewServerState "VWSS" "VIEW SERVER STATE" [Server],
}

impl Permission {
    /// The permission of a name in upper case on a class.
    pub fn named(name: &str, class: Class) -> Option<Permission> {
        let name = match name {
            "EXEC" => "EXECUTE",
            "CREATE PROC" => "CREATE PROCEDURE",
            // SQL Server 2000's names.
            "BACKUP TRANSACTION" => "BACKUP LOG",
            name => name,
        };
        Permission::ALL.iter().copied().find(|p| p.name() == name && p.classes().contains(&class))
    }

    /// The permission of a code on a class.
    pub fn of_code(code: &str, class: Class) -> Option<Permission> {
        let code = code.trim_end();
        Permission::ALL.iter().copied().find(|p| p.code() == code && p.classes().contains(&class))
    }

    /// Whether it is about rows or about running code: then not every kind of object has it.
    pub fn is_of_rows_or_code(self) -> bool {
        matches!(
            self,
            Permission::Select
                | Permission::Insert
                | Permission::Update
                | Permission::Delete
                | Permission::References
                | Permission::Execute
                | Permission::Unmask
        )
    }

    /// Whether it can be granted on single columns.
    pub fn has_columns(self) -> bool {
        matches!(
            self,
            Permission::Select | Permission::Update | Permission::References | Permission::Unmask
        )
    }

    /// The permissions that include this one on `class`: (class, permission), the class being the
    /// same one or the one that contains it. What is denied there is denied here, what is granted
    /// there is granted here.
    pub fn included_in(self, class: Class) -> &'static [(Class, Permission)] {
        use Class as C;
        use Permission as P;
        match (class, self) {
            (C::Server, P::ControlServer) => &[],
            (C::Server, P::ViewServerState) => &[(C::Server, P::AlterServerState)],
            (
                C::Server,
                P::ViewServerPerformanceState | P::ViewServerSecurityState | P::ViewAnyErrorLog,
            ) => &[(C::Server, P::ViewServerState)],
            (
                C::Server,
                P::ViewAnyDatabase | P::ViewAnyPerformanceDefinition | P::ViewAnySecurityDefinition,
            ) => &[(C::Server, P::ViewAnyDefinition)],
            (C::Server, P::CreateLogin) => &[(C::Server, P::AlterAnyLogin)],
            (C::Server, P::CreateAnyDatabase) => &[(C::Server, P::AlterAnyDatabase)],
            (C::Server, P::CreateServerRole) => &[(C::Server, P::AlterAnyServerRole)],
            (C::Server, _) => &[(C::Server, P::ControlServer)],
            (C::Login, P::Control) => &[(C::Server, P::ControlServer)],
            (C::Login, P::Alter) => &[(C::Login, P::Control), (C::Server, P::AlterAnyLogin)],
            (C::Login, P::ViewDefinition) => {
                &[(C::Login, P::Control), (C::Server, P::ViewAnyDefinition)]
            }
            (C::Login, P::Impersonate) => {
                &[(C::Login, P::Control), (C::Server, P::ImpersonateAnyLogin)]
            }
            (C::Login, _) => &[(C::Login, P::Control)],
            (C::Database, P::Control) => &[(C::Server, P::ControlServer)],
            (C::Database, P::Alter) => {
                &[(C::Database, P::Control), (C::Server, P::AlterAnyDatabase)]
            }
            (C::Database, P::ViewDatabaseState) => {
                &[(C::Database, P::Control), (C::Server, P::ViewServerState)]
            }
            (C::Database, P::ViewDatabasePerformanceState) => {
                &[(C::Database, P::ViewDatabaseState), (C::Server, P::ViewServerPerformanceState)]
            }
            (C::Database, P::ViewDatabaseSecurityState) => {
                &[(C::Database, P::ViewDatabaseState), (C::Server, P::ViewServerSecurityState)]
            }
            (C::Database, P::ViewPerformanceDefinition) => {
                &[(C::Database, P::ViewDefinition), (C::Server, P::ViewAnyPerformanceDefinition)]
            }
            (C::Database, P::ViewSecurityDefinition) => {
                &[(C::Database, P::ViewDefinition), (C::Server, P::ViewAnySecurityDefinition)]
            }
            (C::Database, P::ViewSecuredDefinition) => {
                &[(C::Database, P::Control), (C::Server, P::ViewAnySecuredDefinition)]
            }
            (C::Database, P::CreateUser) => &[(C::Database, P::AlterAnyUser)],
            (C::Database, P::ViewDefinition) => {
                &[(C::Database, P::Control), (C::Server, P::ViewAnyDefinition)]
            }
            (C::Database, P::Connect) => {
                &[(C::Database, P::Control), (C::Server, P::ConnectAnyDatabase)]
            }
            (C::Database, P::Select) => {
                &[(C::Database, P::Control), (C::Server, P::SelectAllUserSecurables)]
            }
            (C::Database, P::Showplan) => &[(C::Database, P::Control), (C::Server, P::AlterTrace)],
            (C::Database, P::CreateSchema) => &[(C::Database, P::AlterAnySchema)],
            (C::Database, P::CreateRole) => &[(C::Database, P::AlterAnyRole)],
            (
                C::Database,
                P::AlterAnyApplicationRole
                | P::AlterAnyRole
                | P::AlterAnySchema
                | P::AlterAnyUser
                | P::CreateFunction
                | P::CreateProcedure
                | P::CreateSynonym
                | P::CreateTable
                | P::CreateType
                | P::CreateView,
            ) => &[(C::Database, P::Alter)],
            (C::Database, _) => &[(C::Database, P::Control)],
            (C::Schema, P::Control) => &[(C::Database, P::Control)],
            (C::Schema, P::Alter) => &[(C::Schema, P::Control), (C::Database, P::AlterAnySchema)],
            (C::Schema, P::CreateSequence) => &[(C::Schema, P::Alter)],
            (C::Schema, P::Select) => &[(C::Schema, P::Control), (C::Database, P::Select)],
            (C::Schema, P::Insert) => &[(C::Schema, P::Control), (C::Database, P::Insert)],
            (C::Schema, P::Update) => &[(C::Schema, P::Control), (C::Database, P::Update)],
            (C::Schema, P::Delete) => &[(C::Schema, P::Control), (C::Database, P::Delete)],
            (C::Schema, P::Unmask) => &[(C::Schema, P::Control), (C::Database, P::Unmask)],
            (C::Schema, P::Execute) => &[(C::Schema, P::Control), (C::Database, P::Execute)],
            (C::Schema, P::References) => &[(C::Schema, P::Control), (C::Database, P::References)],
            (C::Schema, P::ViewDefinition) => {
                &[(C::Schema, P::Control), (C::Database, P::ViewDefinition)]
            }
            (C::Schema, P::TakeOwnership) => {
                &[(C::Schema, P::Control), (C::Database, P::TakeOwnership)]
            }
            (C::Schema, _) => &[(C::Schema, P::Control)],
            (C::Object, P::Control) => &[(C::Schema, P::Control)],
            (C::Object, P::Alter) => &[(C::Object, P::Control), (C::Schema, P::Alter)],
            (C::Object, P::Select) => &[(C::Object, P::Control), (C::Schema, P::Select)],
            (C::Object, P::Insert) => &[(C::Object, P::Control), (C::Schema, P::Insert)],
            (C::Object, P::Update) => &[(C::Object, P::Control), (C::Schema, P::Update)],
            (C::Object, P::Delete) => &[(C::Object, P::Control), (C::Schema, P::Delete)],
            (C::Object, P::Unmask) => &[(C::Object, P::Control), (C::Schema, P::Unmask)],
            (C::Object, P::Execute) => &[(C::Object, P::Control), (C::Schema, P::Execute)],
            (C::Object, P::References) => &[(C::Object, P::Control), (C::Schema, P::References)],
            (C::Object, P::ViewDefinition) => {
                &[(C::Object, P::Control), (C::Schema, P::ViewDefinition)]
            }
            (C::Object, P::TakeOwnership) => {
                &[(C::Object, P::Control), (C::Schema, P::TakeOwnership)]
            }
            (C::Object, _) => &[(C::Object, P::Control)],
            (C::Type, P::Control) => &[(C::Schema, P::Control)],
            (C::Type, P::Execute) => &[(C::Type, P::Control), (C::Schema, P::Execute)],
            (C::Type, P::References) => &[(C::Type, P::Control), (C::Schema, P::References)],
            (C::Type, P::ViewDefinition) => {
                &[(C::Type, P::Control), (C::Schema, P::ViewDefinition)]
            }
            (C::Type, P::TakeOwnership) => &[(C::Type, P::Control), (C::Schema, P::TakeOwnership)],
            (C::Type, _) => &[(C::Type, P::Control)],
            (C::User, P::Control) => &[(C::Database, P::Control)],
            (C::User, P::Alter) => &[(C::User, P::Control)],
            (C::User, P::ViewDefinition) => {
                &[(C::User, P::Control), (C::Database, P::ViewDefinition)]
            }
            (C::User, _) => &[(C::User, P::Control)],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_and_names_are_unique_in_a_class() {
        for class in Class::ALL {
            for p in Permission::ALL.iter().filter(|p| p.classes().contains(&class)) {
                assert_eq!(Permission::of_code(p.code(), class), Some(*p));
                assert_eq!(Permission::named(p.name(), class), Some(*p));
                assert!(p.code().len() <= 4);
            }
        }
    }

    #[test]
    fn everything_leads_to_control_of_the_server() {
        for class in Class::ALL {
            for p in Permission::ALL.iter().filter(|p| p.classes().contains(&class)) {
                let (mut at, mut steps) = ((class, *p), 0);
                while let Some(next) = at.1.included_in(at.0).first() {
                    assert!(next.1.classes().contains(&next.0), "{next:?}");
                    (at, steps) = (*next, steps + 1);
                    assert!(steps < 10, "{class:?} {p:?} goes round");
                }
                assert_eq!(at, (Class::Server, Permission::ControlServer), "{class:?} {p:?}");
            }
        }
    }
}
