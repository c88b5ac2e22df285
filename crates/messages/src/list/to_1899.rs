//! Messages 400 to 1899; see [`crate`] for what a line says.

use crate::messages;

messages! {
    402 16 1 TYPES_INCOMPATIBLE_IN_OPERATOR
        "The data types %ls and %ls are incompatible in the %ls operator.";
    404 16 1 OUTPUT_COLUMN_NOT_MODIFIED
        "The column reference \"inserted.%ls\" is not allowed because it refers to a base table \
         that is not being modified in this statement.";
    408 15 1 ORDER_BY_CONSTANT
        "A constant expression was encountered in the ORDER BY list, position 1.";
    414 16 1 UPDATE_OF_JOINED_VIEW
        "UPDATE is not allowed because the statement updates view \"%ls\" which participates in a \
         join and has an INSTEAD OF UPDATE trigger.";
    415 16 1 DELETE_OF_JOINED_VIEW
        "DELETE is not allowed because the statement updates view \"%ls\" which participates in a \
         join and has an INSTEAD OF DELETE trigger.";
    417 16 1 TOP_ON_PARTITIONED_VIEW
        "TOP is not allowed in an UPDATE or DELETE statement against a partitioned view.";
    421 16 1 DISTINCT_NOT_COMPARABLE
        "The %ls data type cannot be selected as DISTINCT because it is not comparable.";
    424 16 16 XML_METHOD_IN_TABLE_VARIABLE
        "Xml data type methods are not supported in computed column definitions of table variables \
         and return tables of table-valued functions. The error occurred at column \"%ls\", table \
         \"%ls\", in the %ls statement.";
    435 16 16 XML_METHOD_IN_COMPUTED_COLUMN
        "Xml data type methods are not supported in computed column definitions. Create a scalar \
         user-defined function to wrap the method invocation. The error occurred at column \
         \"%ls\", table \"%ls\", in the %ls statement.";
    443 16 1 SIDE_EFFECT_IN_FUNCTION
        "Invalid use of a side-effecting operator '%ls' within a function.";
    444 16 2 SELECT_IN_FUNCTION
        "Select statements included within a function cannot return data to a client.";
    447 16 0 COLLATE_INVALID_TYPE "Expression type %ls is invalid for COLLATE clause.";
    448 16 1 INVALID_COLLATION "Invalid collation '%ls'.";
    451 16 1 COLLATION_CONFLICT_IN_COLUMN
        "Cannot resolve collation conflict between \"%ls\" and \"%ls\" in %ls operator occurring \
         in %ls statement column %d.";
    455 16 2 FUNCTION_WITHOUT_RETURN
        "The last statement included within a function must be a return statement.";
    457 16 1 COLLATION_UNRESOLVED
        "Implicit conversion of %ls value to %ls cannot be performed because the collation of the \
         value is unresolved due to a collation conflict between \"%ls\" and \"%ls\" in %ls \
         operator.";
    460 16 1 DISTINCT_IN_RECURSIVE_PART
        "DISTINCT operator is not allowed in the recursive part of a recursive common table \
         expression '%ls'.";
    461 16 1 TOP_IN_RECURSIVE_PART
        "The TOP or OFFSET operator is not allowed in the recursive part of a recursive common \
         table expression '%ls'.";
    462 16 1 OUTER_JOIN_IN_RECURSIVE_PART
        "Outer join is not allowed in the recursive part of a recursive common table expression \
         '%ls'.";
    465 16 1 RECURSION_IN_SUBQUERY "Recursive references are not allowed in subqueries.";
    467 16 1 GROUPING_IN_RECURSIVE_PART
        "GROUP BY, HAVING, or aggregate functions are not allowed in the recursive part of a \
         recursive common table expression '%ls'.";
    468 16 9 COLLATION_CONFLICT
        "Cannot resolve the collation conflict between \"%ls\" and \"%ls\" in the %ls operation.";
    473 16 1 PIVOT_INCORRECT_VALUE "The incorrect value \"%ls\" is supplied in the PIVOT operator.";
    476 16 1 TABLESAMPLE_PERCENT
        "Invalid PERCENT tablesample size \"%ls\" for table \"%ls\". The PERCENT tablesample size \
         must be between 0 and 100.";
    477 16 1 TABLESAMPLE_ROWS
        "Invalid ROWS value or REPEATABLE seed in the TABLESAMPLE clause for table \"%ls\". The \
         value or seed must be an integer.";
    483 16 2 OUTPUT_IN_INSERT_EXEC
        "The OUTPUT clause cannot be used in an INSERT...EXEC statement.";
    489 16 1 OUTPUT_OF_PARTITIONED_VIEW
        "The OUTPUT clause cannot be specified because the target view \"%ls\" is a partitioned \
         view.";
    491 16 1 BULK_WITHOUT_CORRELATION_NAME
        "A correlation name must be specified for the bulk rowset in the from clause.";
    493 16 1 NODES_COLUMN_USED_DIRECTLY
        "The column '%ls' that was returned from the nodes() method cannot be used directly. It \
         can only be used with one of the four XML data type methods, exist(), nodes(), query(), \
         and value(), or in IS NULL and IS NOT NULL checks.";
    494 16 1 TABLESAMPLE_NOT_LOCAL "The TABLESAMPLE clause can only be used with local tables.";
    497 15 1 TABLESAMPLE_VARIABLES
        "Variables are not allowed in the TABLESAMPLE or REPEATABLE clauses.";
    500 16 1 TABLE_PARAMETER_COLUMN_COUNT
        "Trying to pass a table-valued parameter with %d column(s) where the corresponding \
         user-defined table type requires %d column(s).";
    506 16 1 INVALID_ESCAPE
        "The invalid escape character \"%ls\" was specified in a LIKE predicate.";
    511 16 1 ROW_TOO_LARGE
        "Cannot create a row of size %d which is greater than the allowable maximum row size of \
         %d.";
    512 16 1 SUBQUERY_SEVERAL_ROWS
        "Subquery returned more than 1 value. This is not permitted when the subquery follows =, \
         !=, <, <= , >, >= or when the subquery is used as an expression.";
    515 16 2 NULL_NOT_ALLOWED
        "Cannot insert the value NULL into column '%ls', table '%ls'; column does not allow nulls. \
         %ls fails.";
    517 16 3 DATEADD_OVERFLOW "Adding a value to a '%ls' column caused an overflow.";
    529 16 2 EXPLICIT_CONVERSION_NOT_ALLOWED
        "Explicit conversion from data type %ls to %ls is not allowed.";
    530 16 1 MAXRECURSION_EXHAUSTED
        "The statement terminated. The maximum recursion %d has been exhausted before statement \
         completion.";
    535 16 0 DATEDIFF_OVERFLOW
        "The datediff function resulted in an overflow. The number of dateparts separating two \
         date/time instances is too large. Try to use datediff with a less precise datepart.";
    536 16 2 RIGHT_LENGTH "Invalid length parameter passed to the RIGHT function.";
    537 16 2 LEFT_OR_SUBSTRING_LENGTH
        "Invalid length parameter passed to the LEFT or SUBSTRING function.";
    544 16 1 IDENTITY_INSERT_OFF
        "Cannot insert explicit value for identity column in table '%ls' when IDENTITY_INSERT is \
         set to OFF.";
    545 16 1 IDENTITY_VALUE_REQUIRED
        "Explicit value must be specified for identity column in table '%ls' either when \
         IDENTITY_INSERT is set to ON or when a replication user is inserting into a NOT FOR \
         REPLICATION identity column.";
    547 16 0 CONSTRAINT_CONFLICT
        "The %ls statement conflicted with the %ls constraint \"%ls\". The conflict occurred in \
         database \"%ls\", table \"%ls\"%ls.";
    550 16 1 CHECK_OPTION_FAILED
        "The attempted insert or update failed because the target view either specifies WITH CHECK \
         OPTION or spans a view that specifies WITH CHECK OPTION and one or more rows resulting \
         from the operation did not qualify under the CHECK OPTION constraint.";
    557 16 2 ONLY_FUNCTIONS_IN_FUNCTION
        "Only functions and some extended stored procedures can be executed from within a \
         function.";
    596 21 1 SESSION_KILLED
        "Cannot continue the execution because the session is in the kill state.";
    601 12 1 DATA_MOVED "Could not continue scan with NOLOCK due to data movement.";
    628 16 0 SAVE_WITHOUT_TRANSACTION
        "Cannot issue SAVE TRANSACTION when there is no active transaction.";
    650 16 1 READPAST_ISOLATION
        "You can only specify the READPAST lock in the READ COMMITTED or REPEATABLE READ isolation \
         levels.";
    666 16 2 UNIQUIFIER_EXHAUSTED
        "The maximum system-generated unique value for a duplicate group was exceeded for index \
         with partition ID 0. Dropping and re-creating the index may resolve this; otherwise, use \
         another clustering key.";
    701 17 123 OUT_OF_MEMORY
        "There is insufficient system memory in resource pool '%ls' to run this query.";
    802 17 0 NO_BUFFERS "There is insufficient memory available in the buffer pool.";
    823 24 2 DATABASE_IO "The operating system returned an error to database '%ls': %ls.";
    824 24 2 PAGE_DAMAGED
        "A logical consistency-based I/O error was detected in database '%ls': %ls.";
    911 16 1 DATABASE_NOT_FOUND
        "Database '%ls' does not exist. Make sure that the name is entered correctly.";
    916 14 2 NO_DATABASE_ACCESS
        "The server principal \"%ls\" is not able to access the database \"%ls\" under the current \
         security context.";
    922 14 1 DATABASE_RECOVERING
        "Database '%ls' is being recovered. Waiting until recovery is finished.";
    923 14 1 DATABASE_RESTRICTED
        "Database '%ls' is in restricted mode. Only the database owner and members of the \
         dbcreator and sysadmin roles can access it.";
    924 14 1 DATABASE_SINGLE_USER
        "Database '%ls' is already open and can only have one user at a time.";
    926 14 1 DATABASE_SUSPECT
        "Database '%ls' cannot be opened. It has been marked SUSPECT by recovery. See the error \
         log for more information.";
    927 14 2 DATABASE_RESTORING
        "Database '%ls' cannot be opened. It is in the middle of a restore.";
    942 14 4 DATABASE_OFFLINE "Database '%ls' cannot be opened because it is offline.";
    945 14 2 DATABASE_FILES_INACCESSIBLE
        "Database '%ls' cannot be opened due to inaccessible files or insufficient memory or disk \
         space. See the error log for details.";
    946 14 1 DATABASE_VERSION_TOO_OLD
        "Cannot open database '%ls' version %d. Upgrade the database to the latest version. \
         Detail: %ls.";
    948 16 1 DATABASE_VERSION_TOO_NEW
        "The database '%ls' cannot be opened because it is version %d. This server supports \
         version %d. A downgrade path is not supported. Detail: %ls.";
    952 16 1 DATABASE_IN_TRANSITION "Database '%ls' is in transition. Try the statement later.";
    1001 15 1 LENGTH_OR_PRECISION_INVALID
        "Line %d: Length or precision specification %d is invalid.";
    1002 15 1 SCALE_INVALID "Line %d: Specified scale %d is invalid.";
    1007 15 1 NUMBER_TOO_LARGE
        "The number '%ls' is out of the range for numeric representation (maximum precision 38).";
    1011 16 1 DUPLICATE_CORRELATION_NAME
        "The correlation name '%ls' is specified multiple times in a FROM clause.";
    1013 16 1 SAME_EXPOSED_NAMES
        "The objects \"%ls\" and \"%ls\" in the FROM clause have the same exposed names. Use \
         correlation names to distinguish them.";
    1020 15 1 SUB_ENTITIES_NOT_ALLOWED
        "Sub-entity lists (such as column or security expressions) cannot be specified for %ls \
         permissions.";
    1023 15 1 INVALID_FUNCTION_PARAMETER "Invalid parameter %d specified for %ls.";
    1026 15 1 GOTO_INTO_TRY "GOTO cannot be used to jump into a TRY or CATCH scope.";
    1028 15 1 CUBE_WITH_GROUP_BY_ALL
        "The CUBE and ROLLUP options are not allowed in a GROUP BY ALL clause.";
    1031 15 1 PERCENT_RANGE "Percent values must be between 0 and 100.";
    1033 15 1 ORDER_BY_IN_VIEW
        "The ORDER BY clause is invalid in views, inline functions, derived tables, subqueries, \
         and common table expressions, unless TOP, OFFSET or FOR XML is also specified.";
    1034 15 1 DUPLICATE_TRIGGER_ACTION
        "Syntax error: Duplicate specification of the action \"%ls\" in the trigger declaration.";
    1038 15 5 EMPTY_NAME
        "An object or column name is missing or empty. For SELECT INTO statements, verify each \
         column has a name. For other statements, look for empty alias names. Aliases defined as \
         \"\" or [] are not allowed. Change the alias to a valid name.";
    1046 15 1 SUBQUERY_NOT_ALLOWED
        "Subqueries are not allowed in this context. Only scalar expressions are allowed.";
    1047 15 1 CONFLICTING_LOCK_HINTS "Conflicting locking hints specified.";
    1048 15 1 CONFLICTING_CURSOR_OPTIONS "Conflicting cursor options %ls and %ls.";
    1054 15 1 STAR_IN_SCHEMA_BOUND "Syntax '*' is not allowed in schema-bound objects.";
    1056 15 1 TOO_MANY_SELECTED
        "The number of elements in the select list exceeds the maximum allowed number of %d \
         elements.";
    1060 15 1 ROW_COUNT_NOT_INTEGER
        "The number of rows provided for a TOP or FETCH clauses row count parameter must be an \
         integer.";
    1062 15 1 TIES_WITHOUT_ORDER_BY
        "The TOP N WITH TIES clause is not allowed without a corresponding ORDER BY clause.";
    1065 15 1 NOLOCK_ON_TARGET
        "The NOLOCK and READUNCOMMITTED lock hints are not allowed for target tables of INSERT, \
         UPDATE, DELETE or MERGE statements.";
    1067 15 1 SHOWPLAN_NOT_ALONE
        "The SET SHOWPLAN statements must be the only statements in the batch.";
    1074 15 1 TEMPORARY_FUNCTION "Creation of temporary functions is not allowed.";
    1077 16 1 IDENTITY_INTO_TABLE_VARIABLE
        "INSERT into an identity column not allowed on table variables: '%ls'.";
    1080 15 1 SET_VALUE_RANGE "The integer value for SET %ls is out of range.";
    1084 15 1 INVALID_EVENT_TYPE "'%ls' is an invalid event type.";
    1087 15 2 UNDECLARED_TABLE_VARIABLE "Must declare the table variable \"%ls\".";
    1088 16 12 OBJECT_NOT_FOUND
        "Cannot find the object \"%ls\" because it does not exist or you do not have permissions.";
    1094 15 1 TRIGGER_SCHEMA_PREFIX
        "Cannot specify a schema name as a prefix to the trigger name for database and server \
         level triggers.";
    1098 15 1 EVENT_NOT_VALID_ON_TARGET
        "The specified event type(s) is/are not valid on the specified target object.";
    1105 17 2 FILEGROUP_FULL
        "Could not allocate space in database '%ls' because the '%ls' filegroup is full: %ls. \
         Create disk space by deleting unneeded files, dropping objects in the filegroup, adding \
         additional files to the filegroup, or setting autogrowth on for existing files in the \
         filegroup.";
    1204 19 4 NO_LOCK_MEMORY
        "The instance of the SQL Server Database Engine cannot obtain a LOCK resource at this \
         time. Rerun your statement when there are fewer active users. Ask the database \
         administrator to check the lock and memory configuration for this instance, or to check \
         for long-running transactions.";
    1205 13 51 DEADLOCK_VICTIM
        "Transaction (Process ID %d) was deadlocked on lock resources with another process and has \
         been chosen as the deadlock victim. Rerun the transaction.";
    1222 16 51 LOCK_TIMEOUT "Lock request time out period exceeded.";
    1223 16 1 APP_LOCK_NOT_HELD
        "Cannot release the application lock (Database Principal: '%ls', Resource: '%ls') because \
         it is not currently held.";
    1505 16 1 DUPLICATE_KEY_IN_NEW_INDEX
        "The CREATE UNIQUE INDEX statement terminated because a duplicate key was found for the \
         object name '%ls' and the index name '%ls'. The duplicate key value is %ls.";
    1701 16 1 MINIMUM_ROW_SIZE
        "Creating or altering table '%ls' failed because the minimum row size would be %d, \
         including 7 bytes of internal overhead. This exceeds the maximum allowable table row size \
         of %d bytes.";
    1702 16 1 TOO_MANY_COLUMNS
        "CREATE TABLE failed because column '%ls' in table '%ls' exceeds the maximum of %d \
         columns.";
    1708 10 1 MAXIMUM_ROW_SIZE_WARNING
        "Warning: The table \"%ls\" has been created, but its maximum row size exceeds the allowed \
         maximum of %d bytes. INSERT or UPDATE to this table will fail if the resulting row \
         exceeds the size limit.";
    1731 16 1 SPARSE_COLUMN_INVALID
        "Cannot create the sparse column '%ls' in the table '%ls' because an option or data type \
         specified is not valid. A sparse column must be nullable and cannot have the ROWGUIDCOL, \
         IDENTITY, or FILESTREAM properties. A sparse column cannot be of the following data \
         types: text, ntext, image, geometry, geography, or user-defined type.";
    1750 16 0 CONSTRAINT_NOT_CREATED "Could not create constraint or index. See previous errors.";
    1752 16 0 DEFAULT_COLUMN_INVALID
        "Column '%ls' in table '%ls' is invalid for creating a default constraint.";
    1753 16 0 FOREIGN_KEY_LENGTH_DIFFERS
        "Column '%ls' is not the same length or scale as referencing column '%ls' in foreign key \
         '%ls'. Columns participating in a foreign key relationship must be defined with the same \
         length and scale.";
    1754 16 0 DEFAULT_ON_IDENTITY
        "Defaults cannot be created on columns with an IDENTITY attribute. Table '%ls', column \
         '%ls'.";
    1755 16 0 DEFAULT_ON_TIMESTAMP
        "Defaults cannot be created on columns of data type timestamp. Table '%ls', column '%ls'.";
    1756 10 1 FOREIGN_KEY_SKIPPED
        "Skipping FOREIGN KEY constraint '%ls' definition for temporary table. FOREIGN KEY \
         constraints are not enforced on local or global temporary tables.";
    1757 16 0 FOREIGN_KEY_COLLATION_DIFFERS
        "Column '%ls' is not of same collation as referencing column '%ls' in foreign key '%ls'.";
    1759 16 0 COMPUTED_OF_COMPUTED
        "Computed column '%ls' in table '%ls' is not allowed to be used in another computed-column \
         definition.";
    1761 16 0 SET_NULL_NOT_NULLABLE
        "Cannot create the foreign key \"%ls\" with the %ls referential action, because one or \
         more referencing columns are not nullable.";
    1762 16 0 SET_DEFAULT_WITHOUT_DEFAULT
        "Cannot create the foreign key \"%ls\" with the %ls referential action, because one or \
         more referencing not-nullable columns lack a default constraint.";
    1763 16 0 FOREIGN_KEY_CROSS_DATABASE
        "Cross-database foreign key references are not supported. Foreign key '%ls'.";
    1766 16 0 FOREIGN_KEY_TO_TEMPORARY
        "Foreign key references to temporary tables are not supported. Foreign key '%ls'.";
    1767 16 0 FOREIGN_KEY_INVALID_TABLE "Foreign key '%ls' references invalid table '%ls'.";
    1769 16 1 FOREIGN_KEY_INVALID_REFERENCING_COLUMN
        "Foreign key '%ls' references invalid column '%ls' in referencing table '%ls'.";
    1770 16 1 FOREIGN_KEY_INVALID_REFERENCED_COLUMN
        "Foreign key '%ls' references invalid column '%ls' in referenced table '%ls'.";
    1773 16 0 FOREIGN_KEY_WITHOUT_PRIMARY_KEY
        "Foreign key '%ls' has implicit reference to object '%ls' which does not have a primary \
         key defined on it.";
    1776 16 0 FOREIGN_KEY_NO_CANDIDATE_KEY
        "There are no primary or candidate keys in the referenced table '%ls' that match the \
         referencing column list in the foreign key '%ls'.";
    1778 16 0 FOREIGN_KEY_TYPE_DIFFERS
        "Column '%ls' is not the same data type as referencing column '%ls' in foreign key '%ls'.";
    1779 16 0 PRIMARY_KEY_EXISTS "Table '%ls' already has a primary key defined on it.";
    1781 16 1 DEFAULT_EXISTS "Column already has a DEFAULT bound to it.";
    1785 16 0 CASCADE_CYCLE
        "Introducing FOREIGN KEY constraint '%ls' on table '%ls' may cause cycles or multiple \
         cascade paths. Specify ON DELETE NO ACTION or ON UPDATE NO ACTION, or modify other \
         FOREIGN KEY constraints.";
    1787 16 0 CASCADE_WITH_INSTEAD_OF
        "Cannot define foreign key constraint '%ls' with cascaded DELETE or UPDATE on table '%ls' \
         because the table has an INSTEAD OF DELETE or UPDATE TRIGGER defined on it.";
    1788 16 1 FUNCTION_RETURN_WITHOUT_VALUE
        "RETURN statements in scalar valued functions must include an argument.";
    1801 16 3 DATABASE_EXISTS "Database '%ls' already exists. Choose a different database name.";
    1802 16 4 CREATE_DATABASE_FILES_FAILED
        "CREATE DATABASE failed. Some file names listed could not be created. Check related \
         errors.";
    1813 16 2 COULD_NOT_OPEN_NEW_DATABASE
        "Could not open new database '%ls'. CREATE DATABASE is aborted.";
    1826 16 1 FILEGROUP_EXISTS "The filegroup '%ls' has already been specified.";
    1828 16 3 LOGICAL_FILE_EXISTS
        "The logical file name \"%ls\" is already in use. Choose a different name.";
    1833 16 2 FILE_REUSED_BEFORE_BACKUP
        "File '%ls' cannot be reused until after the next BACKUP LOG operation.";
    1834 16 1 FILE_OF_DATABASE
        "The file '%ls' cannot be overwritten.  It is being used by database '%ls'.";
    1842 16 1 FILE_SIZE_RANGE
        "The file size, max size cannot be greater than 2147483647 in units of a page size. The \
         file growth cannot be greater than 2147483647 in units of both page size and percentage.";
}
