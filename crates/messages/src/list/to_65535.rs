//! Messages 16000 to 65535; see [`crate`] for what a line says.

use crate::messages;

messages! {
    16002 16 0 MASK_INVALID "Invalid data masking function in column '%ls'.";
    16003 16 0 MASK_TYPE
        "The data type of column '%ls' does not support data masking function '%ls'.";
    16004 16 0 MASK_ARGUMENT_COUNT
        "Incorrect number of parameters for data masking function '%ls' for column '%ls'.";
    16005 16 0 MASK_ARGUMENT "Invalid argument for data masking function '%ls' for column '%ls'.";
    16006 16 0 MASK_FORMAT "Invalid data masking format for function '%ls' in column '%ls'.";
    16007 16 0 NO_MASK "The column '%ls' does not have a data masking function.";
    16902 16 4 PARAMETER_VALUE "%ls: The value of the parameter %ls is invalid.";
    16905 16 1 CURSOR_ALREADY_OPEN "The cursor is already open.";
    16907 16 1 NOT_ALLOWED_IN_CURSOR "%ls is not allowed in cursor statements.";
    16909 16 1 CURSOR_HANDLE_INVALID "%ls: The cursor identifier value provided (%d) is not valid.";
    16910 16 4 CURSOR_IN_USE "The cursor %ls is currently used by another statement.";
    16911 16 1 FETCH_FORWARD_ONLY
        "fetch: The fetch type %ls cannot be used with forward only cursors.";
    16915 16 1 CURSOR_EXISTS "A cursor with the name '%ls' already exists.";
    16916 16 1 CURSOR_NOT_FOUND "A cursor with the name '%ls' does not exist.";
    16917 16 1 CURSOR_NOT_OPEN "Cursor is not open.";
    16922 16 1 FETCH_CONVERSION
        "Cursor Fetch: Implicit conversion from data type %ls to %ls is not allowed.";
    16924 16 1 FETCH_VARIABLE_COUNT
        "Cursorfetch: The number of variables declared in the INTO list must match that of \
         selected columns.";
    16925 16 1 FETCH_DYNAMIC "The fetch type %ls cannot be used with dynamic cursors.";
    16929 16 1 CURSOR_READ_ONLY "The cursor is READ ONLY.";
    16930 16 1 ROW_NOT_IN_FETCH_BUFFER "The requested row is not in the fetch buffer.";
    16931 16 1 FETCH_BUFFER_EMPTY "There are no rows in the current fetch buffer.";
    16932 16 1 COLUMN_NOT_FOR_UPDATE
        "The cursor has a FOR UPDATE list and the requested column to be updated is not in this \
         list.";
    16933 16 1 TABLE_NOT_OF_CURSOR
        "The cursor does not include the table being modified or the table is not updatable \
         through the cursor.";
    16934 16 1 OPTIMISTIC_CHECK_FAILED
        "Optimistic concurrency check failed. The row was modified outside of this cursor.";
    16935 16 1 CURSOR_UPDATE_WITHOUT_VALUES
        "No parameter values were specified for the sp_cursor-update statement.";
    16936 16 1 CURSOR_VALUES_INVALID "sp_cursor: One or more values parameters were invalid.";
    16938 16 1 CURSOR_STATEMENT
        "sp_cursoropen/sp_cursorprepare: The statement parameter can only be a batch or a stored \
         procedure with a single select, without FOR BROWSE, COMPUTE BY, or variable assignments.";
    16943 16 4 CURSOR_SCHEMA_CHANGED
        "Could not complete cursor operation because the table schema changed after the cursor was \
         declared.";
    16947 16 1 NO_ROWS_CHANGED "No rows were updated or deleted.";
    16948 16 4 NOT_A_CURSOR_VARIABLE
        "The variable '%ls' is not a cursor variable, but it is used in a place where a cursor \
         variable is expected.";
    16949 16 4 CURSOR_VARIABLE_MISPLACED
        "The variable '%ls' is a cursor variable, but it is used in a place where a cursor \
         variable is not valid.";
    16950 16 2 CURSOR_VARIABLE_EMPTY
        "The variable '%ls' does not currently have a cursor allocated to it.";
    16951 16 1 CURSOR_OUTPUT_ALLOCATED
        "The variable '%ls' cannot be used as a parameter because a CURSOR OUTPUT parameter must \
         not have a cursor allocated to it before execution of the procedure.";
    16954 10 1 EXECUTING_DIRECTLY "Executing SQL directly; no cursor.";
    16955 16 2 CURSOR_NOT_CREATED "Could not create an acceptable cursor.";
    16956 10 4 CURSOR_TYPE_CHANGED "The created cursor is not of the requested type.";
    16957 16 4 FOR_UPDATE_READ_ONLY "FOR UPDATE cannot be specified on a READ ONLY cursor.";
    17113 16 1 INSTANCE_NOT_OPENED "%ls";
    17133 16 1 STARTUP_PROCEDURE_FAILED "Launch of startup procedure '%s' failed.";
    17135 10 1 STARTUP_PROCEDURE_LAUNCHED "Launched startup procedure '%s'.";
    17809 20 2 TOO_MANY_CONNECTIONS
        "Could not connect because the maximum number of '%d' user connections has already been \
         reached.";
    17810 20 2 DEDICATED_CONNECTION_TAKEN
        "Could not connect because the maximum number of '1' dedicated administrator connections \
         already exists. Before a new connection can be made, the existing dedicated administrator \
         connection must be dropped, either by logging off or ending the process.";
    17832 20 1 LOGIN_PACKET_INVALID "The login packet is structurally invalid: %ls.";
    17836 20 1 PACKET_HEADER_WRONG "Wrong packet header: %ls.";
    17892 14 1 LOGON_TRIGGER_FAILED "Logon failed for login '%ls' due to trigger execution.";
    18054 16 1 RAISED_WITHOUT_MESSAGE
        "Error %d, severity %d, state %d was raised, but no message with that error number was \
         found in sys.messages. If error is larger than 50000, make sure the user-defined message \
         is added using sp_addmessage.";
    18452 14 1 UNTRUSTED_DOMAIN
        "Login failed. The login is from an untrusted domain and cannot be used with Integrated \
         authentication.";
    18456 14 1 LOGIN_FAILED "Login failed for user '%ls'.";
    18470 14 1 LOGIN_DISABLED "Login failed for user '%ls'. Reason: The account is disabled.";
    18487 14 1 LOGIN_PASSWORD_EXPIRED
        "Login failed for user '%ls'. Reason: The password of the account has expired.";
    18488 14 1 LOGIN_PASSWORD_MUST_CHANGE
        "Login failed for user '%ls'. Reason: The password of the account must be changed.";
    33062 16 1 PASSWORD_TOO_SHORT
        "Password validation failed. The password does not meet SQL Server password policy \
         requirements because it is too short. The password must be at least %d characters.";
    33063 16 1 PASSWORD_TOO_LONG
        "Password validation failed. The password does not meet SQL Server password policy \
         requirements because it is too long. The password must be at most %d characters.";
    33064 16 1 PASSWORD_NOT_COMPLEX
        "Password validation failed. The password does not meet SQL Server password policy \
         requirements because it is not complex enough. The password must be at least %d \
         characters long and contain characters from three of the following four sets: Uppercase \
         letters, Lowercase letters, Base 10 digits, and Symbols.%ls";
    33233 16 1 USER_PASSWORD_NOT_CONTAINED
        "You can only create a user with a password in a contained database.";
    33261 16 1 POLICY_WITHOUT_PREDICATE
        "The security policy '%ls' does not contain a predicate on table '%ls'.";
    33262 16 1 POLICY_PREDICATE_EXISTS
        "A %ls predicate for the same operation has already been defined on table '%ls' in the \
         security policy '%ls'.";
    33263 16 1 POLICY_PREDICATE_TARGET
        "Security predicates can only be added to user tables and schema bound views. '%ls' is not \
         a user table or a schema bound view.";
    33264 16 1 POLICY_TABLE_TAKEN
        "The security policy '%ls' cannot be enabled with a predicate on table '%ls'. Table '%ls' \
         is already referenced by the enabled security policy '%ls'.";
    33265 16 1 POLICY_INDEXED_VIEW
        "The security policy '%ls' cannot have a predicate on table '%ls' because this table is \
         referenced by the indexed view '%ls'.";
    33266 16 1 INDEXED_VIEW_POLICY
        "The index on the view '%ls' cannot be created because the view is referencing table '%ls' \
         that is referenced by a security policy.";
    33268 16 1 POLICY_OBJECT_NOT_FOUND
        "Cannot find the object \"%ls\" because it does not exist or you do not have permissions.";
    33269 16 1 POLICY_TEMPORARY_OBJECT
        "Security predicates are not allowed on temporary objects. Object names that begin with \
         '#' denote temporary objects.";
    33270 16 1 POLICY_FUNCTION_NOT_FOUND
        "Cannot find the object \"%ls\" or this object is not an inline table-valued function.";
    33271 16 1 NOT_A_SECURITY_POLICY "Cannot alter '%ls' because it is not a security policy.";
    33503 16 1 BLOCK_PREDICATE_TARGET
        "BLOCK predicates can only be added to user tables. '%ls' is not a user table.";
    33504 16 1 BLOCK_PREDICATE_CONFLICT
        "The attempted operation failed because the target object '%ls' has a block predicate that \
         conflicts with this operation. If the operation is performed on a view, the block \
         predicate might be enforced on the underlying table. Modify the operation to target only \
         the rows that are allowed by the block predicate.";
    33510 16 1 BLOCK_PREDICATE_HISTORY
        "BLOCK security predicates cannot reference temporal history tables. Table '%ls' is a \
         temporal history table.";
    33512 16 1 POLICY_BINDING_FAILED
        "Binding for the non-schema bound security predicate on object '%ls' failed with one or \
         more errors, indicating the schema of the predicate function has changed. Update or drop \
         the affected security predicates.";
    35100 16 10 THROW_NUMBER
        "Error number %d in the THROW statement is outside the valid range. Specify an error \
         number in the valid range of 50000 to 2147483647.";
    40510 16 1 STATEMENT_NOT_SUPPORTED
        "Statement '%s' is not supported in this version of Ringwood.";
    40517 16 1 NOT_SUPPORTED "%ls is not supported in this version of Ringwood.";
    41337 16 100 MEMORY_OPTIMIZED
        "Cannot create memory optimized tables. To create memory optimized tables, the database \
         must have a MEMORY_OPTIMIZED_FILEGROUP that is online and has at least one container.";
}
