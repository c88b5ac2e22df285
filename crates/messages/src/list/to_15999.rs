//! Messages 15000 to 15999; see [`crate`] for what a line says.

use crate::messages;

messages! {
    15001 16 1 OBJECT_NOT_VALID
        "Object '%ls' does not exist or is not a valid object for this operation.";
    15002 16 1 PROCEDURE_IN_TRANSACTION
        "The procedure '%s' cannot be executed within a transaction.";
    15003 16 1 ROLE_MEMBERS_ONLY "Only members of the %s role can execute this stored procedure.";
    15004 16 1 NAME_NULL "Name cannot be NULL.";
    15005 0 1 STATISTICS_UPDATED "Statistics for all tables have been updated.";
    15006 16 1 INVALID_NAME "'%s' is not a valid name because it contains invalid characters.";
    15007 16 1 LOGIN_NOT_VALID "'%s' is not a valid login or you do not have permission.";
    15008 16 1 USER_NOT_FOUND "User '%s' does not exist in the current database.";
    15009 16 1 OBJECT_NOT_IN_DATABASE
        "The object '%s' does not exist in database '%s' or is invalid for this operation.";
    15010 16 1 DATABASE_DOES_NOT_EXIST
        "The database '%s' does not exist. Supply a valid database name. To see available \
         databases, use sys.databases.";
    15011 16 1 DATABASE_OPTION_NOT_FOUND "Database option '%s' does not exist.";
    15012 16 1 DEVICE_NOT_FOUND
        "The device '%ls' does not exist. Use sys.backup_devices to show available devices.";
    15013 10 1 NO_COLUMNS_WITHOUT_STATISTICS "Table '%s': No columns without statistics found.";
    15014 16 1 ROLE_NOT_FOUND "The role '%s' does not exist in the current database.";
    15015 16 1 SERVER_DOES_NOT_EXIST
        "The server '%s' does not exist. Use sp_helpserver to show available servers.";
    15018 10 1 CREATING_STATISTICS "Table '%s': Creating statistics for the following columns:";
    15020 10 1 STATISTICS_CREATED
        "Statistics have been created for the %d listed columns of the above tables.";
    15021 16 1 PARAMETER_VALUE_INVALID
        "Invalid value given for parameter %s. Specify a valid parameter value.";
    15023 16 1 PRINCIPAL_EXISTS
        "User, group, or role '%ls' already exists in the current database.";
    15025 16 1 SERVER_PRINCIPAL_EXISTS "The server principal '%ls' already exists.";
    15026 16 1 DEVICE_EXISTS "Logical device '%s' already exists.";
    15028 16 1 SERVER_EXISTS "The server '%s' already exists.";
    15032 16 1 DATABASE_NAME_TAKEN
        "The database '%s' already exists. Specify a unique database name.";
    15033 16 1 NOT_A_LANGUAGE "'%ls' is not an official language name or a language alias.";
    15036 16 1 DATA_TYPE_NOT_FOUND
        "The data type '%s' does not exist or you do not have permission.";
    15040 16 1 USER_MESSAGE_NUMBER
        "User-defined error messages must have an ID greater than 50000.";
    15041 16 1 USER_MESSAGE_SEVERITY
        "User-defined error messages must have a severity level between 1 and 25.";
    15042 10 1 WITH_LOG_IGNORED
        "The @with_log parameter is ignored for messages that are not us_english version.";
    15043 16 1 MESSAGE_REPLACE "You must specify 'REPLACE' to overwrite an existing message.";
    15044 16 1 DEVICE_TYPE_UNKNOWN
        "The type, \"%ls\", is an unknown backup device type. Use the type \"disk\" or \"tape\".";
    15045 16 1 NULL_TYPE "The null type must be 'NULL' or 'NOT NULL'.";
    15048 16 1 COMPATIBILITY_LEVEL
        "Valid values of the database compatibility level are 90, 100, 110, 120, 130, 140, 150, or \
         160.";
    15049 11 1 CANNOT_UNBIND "Cannot unbind from '%s'. Use ALTER TABLE DROP CONSTRAINT.";
    15063 16 1 LOGIN_HAS_USER "The login already has an account under a different user name.";
    15069 16 1 DATABASE_IN_USE
        "One or more users are using the database. The requested operation cannot be completed.";
    15070 10 1 MARKED_FOR_RECOMPILATION "Object '%s' was successfully marked for recompilation.";
    15071 16 1 ADD_MESSAGE_USAGE
        "Usage: sp_addmessage <msgnum>,<severity>,<msgtext> [,<language> [,FALSE | TRUE \
         [,REPLACE]]]";
    15081 16 1 PUBLIC_MEMBERSHIP "Membership of the public role cannot be changed.";
    15096 16 1 PROPERTY_OBJECT_NOT_FOUND
        "Could not find object '%ls' or you do not have required permission or the object is not \
         valid for adding extended property.";
    15097 16 1 PROPERTY_TOO_LONG
        "The size associated with an extended property cannot be more than 7,500 bytes.";
    15099 16 1 MUST_CHANGE_WITHOUT_EXPIRATION
        "The MUST_CHANGE option cannot be used when CHECK_EXPIRATION is OFF.";
    15109 16 1 OWNER_OF_SYSTEM_DATABASE
        "Cannot change the owner of the master, model, tempdb or distribution database.";
    15110 16 1 OWNER_IS_USER
        "The proposed new database owner is already a user or aliased in the database.";
    15122 16 1 EXPIRATION_WITHOUT_POLICY
        "The CHECK_EXPIRATION option cannot be used when CHECK_POLICY is OFF.";
    15123 16 1 OPTION_NOT_FOUND
        "The configuration option '%ls' does not exist, or it may be an advanced option.";
    15124 16 1 OPTION_NOT_UNIQUE "The configuration option '%ls' is not unique.";
    15125 16 1 NOT_A_TRIGGER_FOR "Trigger '%s' is not a trigger for '%s'.";
    15128 16 1 POLICY_WITH_MUST_CHANGE
        "The CHECK_POLICY and CHECK_EXPIRATION options cannot be turned OFF when MUST_CHANGE is \
         ON.";
    15129 16 1 OPTION_VALUE_INVALID "'%ls' is not a valid value for configuration option '%ls'.";
    15130 16 1 TRIGGER_ORDER_TAKEN "There already exists a '%s' trigger for '%s'.";
    15133 16 1 INSTEAD_OF_ORDER "INSTEAD OF trigger '%s' cannot be associated with an order.";
    15135 16 8 PROPERTY_NOT_PERMITTED
        "Object is invalid. Extended properties are not permitted on '%ls', or the object does not \
         exist.";
    15136 16 1 PRINCIPAL_IS_CONTEXT
        "The database principal is set as the execution context of one or more procedures, \
         functions, or event notifications and cannot be dropped.";
    15138 16 1 PRINCIPAL_OWNS
        "The database principal owns a %ls in the database, and cannot be dropped.";
    15141 16 1 LOGIN_OWNS_ROLE
        "The server principal '%ls' owns a server role and cannot be dropped.";
    15144 16 1 ROLE_HAS_MEMBERS "The role has members. It must be empty before it can be dropped.";
    15150 16 1 CANNOT_CHANGE_PRINCIPAL "Cannot %ls the %ls '%ls'.";
    15151 16 1 CANNOT_CHANGE_MISSING
        "Cannot %ls the %ls '%ls', because it does not exist or you do not have permission.";
    15161 16 1 APPLICATION_ROLE_PASSWORD
        "Cannot set application role '%ls' because it does not exist or the password is incorrect.";
    15165 16 1 OBJECT_OR_PERMISSION_MISSING
        "Could not find object '%s' or you do not have permission.";
    15174 16 1 LOGIN_OWNS_DATABASES
        "Login '%ls' owns one or more database(s). Change the owner of the database(s) before \
         dropping the login. The first of them is '%ls'.";
    15176 16 1 ONLY_WITH_LOG "The only valid @parameter value is 'WITH_LOG'.";
    15177 16 1 DROP_MESSAGE_USAGE "Usage: sp_dropmessage <msg number> [,<language> | 'ALL']";
    15178 16 1 MESSAGE_IS_OWN "Cannot drop or alter a message with an ID less than 50,000.";
    15179 16 1 MESSAGE_NOT_FOUND
        "The message number %d or specified language version does not exist.";
    15197 16 1 NO_TEXT "There is no text for object '%ls'.";
    15198 16 1 NOT_A_PRINCIPAL "The name supplied (%s) is not a user, role, or aliased login.";
    15206 16 1 SERVER_OPTION_NOT_VALID "Invalid Remote Server Option: '%s'.";
    15217 16 2 PROPERTY_DOES_NOT_EXIST
        "Property cannot be updated or deleted. Property '%ls' does not exist for '%ls'.";
    15223 11 1 PARAMETER_NULL "Error: The input parameter '%s' is not allowed to be null.";
    15225 11 1 ITEM_NOT_FOUND
        "No item by the name of '%ls' could be found in the current database '%ls', given that \
         @itemtype was input as '(null)'.";
    15233 16 1 PROPERTY_EXISTS "Property cannot be added. Property '%ls' already exists for '%ls'.";
    15247 16 1 NO_PERMISSION "User does not have permission to perform this action.";
    15248 11 1 RENAME_TYPE_WRONG
        "Either the parameter @objname is ambiguous or the claimed @objtype (%ls) is wrong. No \
         item by the name of '%ls' could be found in the current database '%ls'.";
    15249 11 1 RENAME_TYPE_UNKNOWN "Error: Explicit @objtype '%ls' is unrecognized.";
    15250 16 1 NOT_CURRENT_DATABASE
        "The database name component of the object qualifier must be the name of the current \
         database.";
    15251 16 1 INVALID_VALUE_SPECIFIED "Invalid '%s' specified. It must be %s.";
    15252 16 1 KEY_TABLE_REQUIRED "The primary or foreign key table name must be given.";
    15271 16 1 WITH_LOG_VALUE
        "Invalid @with_log parameter value. Valid values are 'true' or 'false'.";
    15277 16 1 PARAMETER_VALUE_TRUE_FALSE
        "The only valid @parameter_value values are 'true' or 'false'.";
    15279 16 1 US_ENGLISH_FIRST
        "You must add the us_english version of this message before you can add the '%ls' version.";
    15280 16 1 US_ENGLISH_LAST
        "All localized versions of this message must be dropped before the us_english version can \
         be dropped.";
    15281 16 1 COMPONENT_TURNED_OFF
        "SQL Server blocked access to %s '%s' of component '%s' because this component is turned \
         off as part of the security configuration for this server. A system administrator can \
         enable the use of '%s' by using sp_configure. For more information about enabling '%s', \
         search for '%s' in SQL Server Books Online.";
    15284 16 1 PRINCIPAL_HAS_GRANTED
        "The database principal has granted or denied permissions to objects in the database and \
         cannot be dropped.";
    15286 16 1 ACTION_UNRECOGNIZED
        "Terminating this procedure. The @action '%s' is unrecognized. Try 'REPORT', 'UPDATE_ONE', \
         or 'AUTO_FIX'.";
    15287 16 1 LOGIN_NAME_FORBIDDEN
        "Terminating this procedure. '%s' is a forbidden value for the login name parameter in \
         this procedure.";
    15291 16 1 NAME_ABSENT "Terminating this procedure. The %s name '%s' is absent or invalid.";
    15295 10 1 ORPHANED_USERS_FIXED "The number of orphaned users fixed by updating users was %d.";
    15300 11 1 PERMISSION_LETTERS
        "No recognized letter is contained in the parameter value for General Permission Type \
         (%s). Valid letters are in this set: %s .";
    15302 11 1 DATABASE_QUALIFIES_OWNER
        "Database_Name should not be used to qualify owner.object for the parameter into this \
         procedure.";
    15304 16 1 SEVERITY_OF_TRANSLATION
        "The severity level of the '%ls' version of this message must be the same as the severity \
         level (%d) of the us_english version.";
    15305 16 1 TRIGGER_TYPE_PARAMETER
        "The @TriggerType parameter value must be 'insert', 'update', or 'delete'.";
    15325 16 1 NOT_IN_CURRENT_DATABASE "The current database does not contain a %s named '%s'.";
    15330 11 1 NO_MATCHING_ROWS "There are no matching rows on which to report.";
    15335 11 1 NEW_NAME_IN_USE
        "Error: The new name '%ls' is already in use as a %ls name and would cause a duplicate \
         that is not permitted.";
    15336 16 1 RENAME_ENFORCED_DEPENDENCIES
        "Object '%ls' cannot be renamed because the object participates in enforced dependencies.";
    15346 16 1 OWNER_OF_OWNED_BY_PARENT
        "Cannot change owner for an object that is owned by a parent object. Change the owner of \
         the parent object instead.";
    15347 16 1 TRANSFER_OWNED_BY_PARENT
        "Cannot transfer an object that is owned by a parent object.";
    15348 16 1 TRANSFER_SCHEMABOUND "Cannot transfer a schemabound object.";
    15387 11 1 QUALIFIER_NOT_CURRENT
        "If the qualified object name specifies a database, that database must be the current \
         database.";
    15388 11 1 NO_USER_TABLE
        "There is no user table matching the input name '%s' in the current database or you do not \
         have permission to access the table.";
    15398 11 1 STARTUP_ONLY_MASTER
        "Only objects in the master database owned by dbo can have the startup setting changed.";
    15399 11 1 STARTUP_HAS_PARAMETERS
        "Could not change startup option because this option is restricted to objects that have no \
         parameters.";
    15401 11 1 WINDOWS_USER_NOT_FOUND
        "Windows NT user or group '%ls' not found. Check the name again.";
    15402 11 1 NOT_A_FIXED_SERVER_ROLE "'%s' is not a fixed server role.";
    15404 16 1 WINDOWS_INFORMATION
        "Could not obtain information about Windows NT group/user '%s', error code %#lx.";
    15405 16 1 SPECIAL_PRINCIPAL "Cannot use the special principal '%ls'.";
    15406 16 1 CANNOT_EXECUTE_AS_LOGIN
        "Cannot execute as the server principal because the principal \"%ls\" does not exist, this \
         type of principal cannot be impersonated, or you do not have permission.";
    15407 11 1 NOT_A_WINDOWS_NAME
        "'%ls' is not a valid Windows NT name. Give the complete name: <domain\\username>.";
    15409 11 1 NOT_A_ROLE "'%s' is not a role.";
    15412 11 1 NOT_A_FIXED_ROLE "'%s' is not a known fixed role.";
    15413 11 1 ROLE_OF_ITSELF "Cannot make a role a member of itself.";
    15419 16 1 SID_LENGTH "Supplied parameter sid should be binary(16).";
    15422 16 1 APPLICATION_ROLE_NOT_AD_HOC
        "Application roles can only be activated at the ad hoc level.";
    15429 16 1 NULL_NAME_INVALID "'(null)' is an invalid name.";
    15433 16 1 SID_IN_USE "Supplied parameter sid is in use.";
    15434 16 1 LOGIN_IS_LOGGED_IN "Could not drop login '%ls' as the user is currently logged in.";
    15449 10 1 TYPE_ADDED "Type Added";
    15457 10 1 OPTION_CHANGED
        "Configuration option '%ls' changed from %d to %d. Run the RECONFIGURE statement to \
         install.";
    15459 10 1 REFERENCES_FOLLOWING
        "In the current database, the specified object references the following:";
    15460 10 1 REFERENCED_BY_FOLLOWING
        "In the current database, the specified object is referenced by the following:";
    15461 10 1 NO_REFERENCES "Object does not reference any object, and no objects reference it.";
    15463 10 1 DEVICE_DROPPED "Device dropped.";
    15469 10 1 NO_CONSTRAINTS
        "No constraints are defined on object '%s', or you do not have permissions.";
    15470 10 1 NO_FOREIGN_KEYS
        "No foreign keys reference table '%s', or you do not have permissions on referencing \
         tables.";
    15472 10 1 NO_INDEXES
        "The object '%s' does not have any indexes, or you do not have permissions.";
    15477 10 1 RENAME_CAUTION
        "Caution: Changing any part of an object name could break scripts and stored procedures.";
    15517 16 1 CANNOT_EXECUTE_AS_USER
        "Cannot execute as the database principal because the principal \"%ls\" does not exist, \
         this type of principal cannot be impersonated, or you do not have permission.";
    15530 16 1 NAMED_OBJECT_EXISTS "The %ls with name \"%ls\" already exists.";
    15574 10 1 NO_STATISTICS "This object does not have any statistics.";
    15575 10 1 NO_STATISTICS_OR_INDEXES "This object does not have any statistics or indexes.";
    15589 16 1 REVERT_COOKIE_INVALID
        "Cannot revert the current security context because the cookie is invalid.";
    15590 16 1 NO_REVERT_NOT_AD_HOC
        "Can only use the 'No Revert' or 'Cookie' options with the 'Execute As' statement at the \
         adhoc or at the 'sp_executesql' level.";
    15591 16 1 CANNOT_REVERT
        "The current security context cannot be reverted using this statement. A cookie may or may \
         not be needed with 'Revert' statement depending on how the context was set with 'Execute \
         As' statement.";
    15592 16 1 NO_APPLICATION_ROLE_SET
        "Cannot unset application role because none was set or the cookie is invalid.";
    15600 15 1 INVALID_PARAMETER_OF_PROCEDURE
        "An invalid parameter or option was specified for procedure '%s'.";
    15646 16 1 NOT_A_COMPUTED_COLUMN "Column '%ls' is not a computed column.";
    15647 10 1 NO_SCHEMA_BOUND_VIEWS "No views with schema binding reference table '%s'.";
    15650 0 1 UPDATING_STATISTICS
        "Updating [%ls].[%ls]\n    %d index(es)/statistic(s) have been updated, %d did not require \
         update.";
    15664 16 1 SESSION_CONTEXT_READ_ONLY
        "Cannot set key '%ls' in the session context. The key has been set as read_only for this \
         session.";
    15665 16 1 SESSION_CONTEXT_FULL
        "The value was not set for key '%ls' because the total size of keys and values in the \
         session context would exceed the 1 MB limit.";
    15666 16 1 SESSION_CONTEXT_NULL
        "The parameter '%ls' of the procedure sp_set_session_context must not be NULL.";
}
