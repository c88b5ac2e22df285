//! What the procedures of the system say, with the numbers by which RAISERROR finds it ([`crate::messages`] has all numbers).

use types::SqlError;

/// A message: number, severity, text.
type Message = (i32, u8, &'static str);

const MESSAGES: &[Message] = &[
    (15_002, 16, "The procedure '%s' cannot be executed within a transaction."),
    (15_004, 16, "Name cannot be NULL."),
    (15_006, 16, "'%s' is not a valid name because it contains invalid characters."),
    (15_007, 16, "'%s' is not a valid login or you do not have permission."),
    (15_008, 16, "User '%s' does not exist in the current database."),
    (15_009, 16, "The object '%s' does not exist in database '%s' or is invalid for this operation."),
    (
        15_010,
        16,
        "The database '%s' does not exist. Supply a valid database name. To see available databases, use sys.databases.",
    ),
    (15_013, 10, "Table '%s': No columns without statistics found."),
    (15_018, 10, "Table '%s': Creating statistics for the following columns:"),
    (15_020, 10, "Statistics have been created for the %d listed columns of the above tables."),
    (15_070, 10, "Object '%s' was successfully marked for recompilation."),
    (15_125, 16, "Trigger '%s' is not a trigger for '%s'."),
    (15_130, 16, "There already exists a '%s' trigger for '%s'."),
    (15_133, 16, "INSTEAD OF trigger '%s' cannot be associated with an order."),
    (15_165, 16, "Could not find object '%s' or you do not have permission."),
    (15_198, 16, "The name supplied (%s) is not a user, role, or aliased login."),
    (15_223, 11, "Error: The input parameter '%s' is not allowed to be null."),
    (15_247, 16, "User does not have permission to perform this action."),
    (
        15_250,
        16,
        "The database name component of the object qualifier must be the name of the current database.",
    ),
    (15_251, 16, "Invalid '%s' specified. It must be %s."),
    (
        15_281,
        16,
        "SQL Server blocked access to %s '%s' of component '%s' because this component is turned off as part of the security \
         configuration for this server. A system administrator can enable the use of '%s' by using sp_configure. For more \
         information about enabling '%s', search for '%s' in SQL Server Books Online.",
    ),
    (
        15_286,
        16,
        "Terminating this procedure. The @action '%s' is unrecognized. Try 'REPORT', 'UPDATE_ONE', or 'AUTO_FIX'.",
    ),
    (
        15_287,
        16,
        "Terminating this procedure. '%s' is a forbidden value for the login name parameter in this procedure.",
    ),
    (15_291, 16, "Terminating this procedure. The %s name '%s' is absent or invalid."),
    (15_295, 10, "The number of orphaned users fixed by updating users was %d."),
    (
        15_300,
        11,
        "No recognized letter is contained in the parameter value for General Permission Type (%s). Valid letters are in this \
         set: %s .",
    ),
    (
        15_302,
        11,
        "Database_Name should not be used to qualify owner.object for the parameter into this procedure.",
    ),
    (15_305, 16, "The @TriggerType parameter value must be 'insert', 'update', or 'delete'."),
    (15_325, 16, "The current database does not contain a %s named '%s'."),
    (15_330, 11, "There are no matching rows on which to report."),
    (
        15_387,
        11,
        "If the qualified object name specifies a database, that database must be the current database.",
    ),
    (
        15_388,
        11,
        "There is no user table matching the input name '%s' in the current database or you do not have permission to access \
         the table.",
    ),
    (15_402, 11, "'%s' is not a fixed server role."),
    (15_404, 16, "Could not obtain information about Windows NT group/user '%s', error code %#lx."),
    (15_409, 11, "'%s' is not a role."),
    (15_412, 11, "'%s' is not a known fixed role."),
    (15_449, 10, "Type Added"),
    (15_459, 10, "In the current database, the specified object references the following:"),
    (15_460, 10, "In the current database, the specified object is referenced by the following:"),
    (15_461, 10, "Object does not reference any object, and no objects reference it."),
    (15_469, 10, "No constraints are defined on object '%s', or you do not have permissions."),
    (
        15_470,
        10,
        "No foreign keys reference table '%s', or you do not have permissions on referencing tables.",
    ),
    (15_472, 10, "The object '%s' does not have any indexes, or you do not have permissions."),
    (15_574, 10, "This object does not have any statistics."),
    (15_575, 10, "This object does not have any statistics or indexes."),
    (15_600, 15, "An invalid parameter or option was specified for procedure '%s'."),
    (15_647, 10, "No views with schema binding reference table '%s'."),
    (40_510, 16, "Statement '%s' is not supported in this version of Ringwood."),
];

/// All of them, in the order of their numbers.
pub fn all() -> impl Iterator<Item = (i32, u8, &'static str)> {
    MESSAGES.iter().copied()
}

/// Severity and text of a message.
fn find(number: i64) -> Option<(u8, &'static str)> {
    let number = i32::try_from(number).ok()?;
    let at = MESSAGES.binary_search_by_key(&number, |message| message.0).ok()?;
    Some((MESSAGES[at].1, MESSAGES[at].2))
}

/// A message as an error, whose `%s` are these texts.
pub fn error(number: i32, texts: &[&str]) -> SqlError {
    let Some((severity, format)) = find(i64::from(number)) else {
        return SqlError::internal(format!("there is no message {number}"));
    };
    let mut texts = texts.iter();
    let mut pieces = format.split("%s");
    let mut out = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        out.push_str(texts.next().copied().unwrap_or("(null)"));
        out.push_str(piece);
    }
    SqlError::new(number, severity, 1, out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_in_order() {
        assert!(MESSAGES.windows(2).all(|pair| pair[0].0 < pair[1].0));
        assert!(find(15_009).is_some() && find(15_011).is_none());
    }
}
