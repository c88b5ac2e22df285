//! Messages 3700 to 4899; see [`crate`] for what a line says.

use crate::messages;

messages! {
    3701 11 5 CANNOT_DROP
        "Cannot drop the %ls '%ls', because it does not exist or you do not have permission.";
    3702 16 4 DROP_DATABASE_IN_USE "Cannot drop database \"%ls\" because it is currently in use.";
    3703 16 2 DETACH_DATABASE_IN_USE
        "Cannot detach the database '%ls' because it is currently in use.";
    3705 16 1 DROP_OF_OTHER_KIND
        "Cannot use DROP %ls with '%ls' because '%ls' is a %ls. Use DROP %ls.";
    3707 16 2 DETACH_SUSPECT
        "Cannot detach a suspect or recovery pending database. It must be repaired or dropped.";
    3708 16 1 DROP_SYSTEM_DATABASE
        "Cannot drop the database '%ls' because it is a system database.";
    3723 16 4 DROP_INDEX_OF_CONSTRAINT
        "An explicit DROP INDEX is not allowed on index '%ls'. It is being used for %ls constraint \
         enforcement.";
    3725 16 0 CONSTRAINT_REFERENCED
        "The constraint '%ls' is being referenced by table '%ls', foreign key constraint '%ls'.";
    3726 16 1 TABLE_REFERENCED
        "Could not drop object '%ls' because it is referenced by a FOREIGN KEY constraint.";
    3727 16 0 CONSTRAINT_NOT_DROPPED "Could not drop constraint. See previous errors.";
    3728 16 1 NOT_A_CONSTRAINT "'%ls' is not a constraint.";
    3729 16 1 REFERENCED_BY_OBJECT
        "Cannot %ls '%ls' because it is being referenced by object '%ls'.";
    3732 16 1 TYPE_REFERENCED
        "Cannot drop type '%ls.%ls' because it is being referenced by object '%ls'. There may be \
         other objects that reference this type.";
    3739 11 1 DROP_INDEX_NOT_STATISTICS
        "Cannot DROP the index '%ls' because it is not a statistics collection.";
    3750 0 1 INDEX_DISABLED_WITH_CLUSTERED
        "Warning: Index '%ls' on table '%ls' was disabled as a result of disabling the clustered \
         index on the table.";
    3902 16 1 COMMIT_WITHOUT_BEGIN
        "The COMMIT TRANSACTION request has no corresponding BEGIN TRANSACTION.";
    3903 16 1 ROLLBACK_WITHOUT_BEGIN
        "The ROLLBACK TRANSACTION request has no corresponding BEGIN TRANSACTION.";
    3906 16 1 DATABASE_READ_ONLY
        "Failed to update database \"%ls\" because the database is read-only.";
    3915 16 0 ROLLBACK_IN_INSERT_EXEC
        "Cannot use the ROLLBACK statement within an INSERT-EXEC statement.";
    3916 16 0 COMMIT_IN_INSERT_EXEC
        "Cannot use the COMMIT statement within an INSERT-EXEC statement unless BEGIN TRANSACTION \
         is used first.";
    3930 16 1 TRANSACTION_DOOMED
        "The current transaction cannot be committed and cannot support operations that write to \
         the log file. Roll back the transaction.";
    3931 16 1 DOOMED_TO_SAVEPOINT
        "The current transaction cannot be committed and cannot be rolled back to a savepoint. \
         Roll back the entire transaction.";
    3937 16 1 APP_LOCK_MODE_WITHOUT_TRANSACTION
        "You attempted to acquire a transactional application lock without an active transaction.";
    3951 16 1 SNAPSHOT_AFTER_START
        "Transaction failed in database '%ls' because the statement was run under snapshot \
         isolation but the transaction did not start in snapshot isolation. You cannot change the \
         isolation level of the transaction to snapshot after the transaction has started unless \
         the transaction was originally started under snapshot isolation level.";
    3952 16 1 SNAPSHOT_NOT_ALLOWED
        "Snapshot isolation transaction failed accessing database '%ls' because snapshot isolation \
         is not allowed in this database. Use ALTER DATABASE to allow snapshot isolation.";
    3960 16 2 SNAPSHOT_CONFLICT
        "Snapshot isolation transaction aborted due to update conflict. You cannot use snapshot \
         isolation to access table '%ls' directly or indirectly in database '%ls' to update, \
         delete, or insert the row that has been modified or deleted by another transaction. Retry \
         the transaction or change the isolation level for the update/delete statement.";
    3961 16 1 SNAPSHOT_SCHEMA_CHANGED
        "Snapshot isolation transaction failed in database '%ls' because the object accessed by \
         the statement has been modified by a DDL statement in another concurrent transaction \
         since the start of this transaction.  It is disallowed because the metadata is not \
         versioned. A concurrent update to metadata can lead to inconsistency if mixed with \
         snapshot isolation.";
    3964 16 1 DDL_IN_SNAPSHOT
        "Transaction failed because this DDL statement is not allowed inside a snapshot isolation \
         transaction. Since metadata is not versioned, a metadata change can lead to inconsistency \
         if mixed within snapshot isolation.";
    3971 16 1 TRANSACTION_NOT_RESUMED "The server failed to resume the transaction. Desc:%ls.";
    3989 16 1 REQUEST_WITHOUT_TRANSACTION
        "New request is not allowed to start because it should come with valid transaction \
         descriptor.";
    3998 16 1 UNCOMMITTABLE_AT_END
        "Uncommittable transaction is detected at the end of the batch. The transaction is rolled \
         back.";
    4002 16 1 STREAM_ENDED
        "The incoming tabular data stream (TDS) protocol stream is incorrect. The stream ended \
         unexpectedly.";
    4022 16 1 BULK_DATA_UNEXPECTED "Bulk load data came without INSERT BULK before it.";
    4035 0 1 PAGES_PROCESSED "Processed %d pages for database '%ls', file '%ls' on file %d.";
    4038 16 1 BACKUP_SET_NOT_FOUND "Cannot find file ID %d on device '%ls'.";
    4060 11 1 LOGIN_DATABASE_NOT_OPENED
        "Cannot open database \"%ls\" requested by the login. The login failed.";
    4063 11 1 LOGIN_DEFAULT_DATABASE_USED
        "Cannot open database \"%ls\" that was requested by the login. Using the user default \
         database \"%ls\" instead.";
    4064 11 1 DEFAULT_DATABASE_NOT_OPENED "Cannot open user default database. Login failed.";
    4101 15 1 OUTER_AGGREGATE_IN_APPLY
        "Aggregates on the right side of an APPLY cannot reference columns from the left side.";
    4103 15 1 TEMPORARY_VIEW "'%ls': Temporary views are not allowed.";
    4104 16 1 NOT_BOUND "The multi-part identifier \"%ls\" could not be bound.";
    4108 15 1 WINDOW_FUNCTION_MISPLACED
        "Windowed functions can only appear in the SELECT or ORDER BY clauses.";
    4109 15 1 WINDOW_FUNCTION_NESTED
        "Windowed functions cannot be used in the context of another windowed function or \
         aggregate.";
    4110 16 1 NTILE_ARGUMENT "NTILE function expects a positive integer value for its argument.";
    4112 15 1 OVER_WITHOUT_ORDER_BY "The function '%ls' must have an OVER clause with ORDER BY.";
    4113 15 4 NOT_A_WINDOW_FUNCTION
        "The function '%ls' is not a valid windowing function, and cannot be used with the OVER \
         clause.";
    4115 15 1 COLUMN_IN_TOP
        "The reference to column \"%ls\" is not allowed in an argument to a TOP, OFFSET, or FETCH \
         clause. Only references to columns at an outer scope or standalone expressions and \
         subqueries are allowed here.";
    4121 16 1 FUNCTION_OR_COLUMN_NOT_FOUND
        "Cannot find either column \"%ls\" or the user-defined function or aggregate \"%ls\", or \
         the name is ambiguous.";
    4127 16 1 COALESCE_OF_NULLS
        "At least one of the arguments to COALESCE must be an expression that is not the NULL \
         constant.";
    4145 15 1 NOT_A_CONDITION_NEAR
        "An expression of non-boolean type specified in a context where a condition is expected, \
         near '%ls'.";
    4151 16 1 NULLIF_OF_NULL
        "The type of the first argument to NULLIF cannot be the NULL constant because the type of \
         the first argument has to be known.";
    4193 16 1 INVALID_WINDOW_FRAME
        "'BETWEEN ... FOLLOWING AND ... PRECEDING' is not a valid window frame and cannot be used \
         with the OVER clause.";
    4194 16 1 RANGE_FRAME
        "RANGE is only supported with UNBOUNDED and CURRENT ROW window frame delimiters.";
    4199 16 1 ARGUMENT_VALUE_INVALID
        "Argument value %d is invalid for argument %d of %ls function.";
    4208 16 1 LOG_BACKUP_WHILE_SIMPLE
        "The statement BACKUP LOG is not allowed while the recovery model is SIMPLE. Use BACKUP \
         DATABASE or change the recovery model using ALTER DATABASE.";
    4212 16 1 LOG_BACKUP_OF_MASTER
        "Cannot back up the log of the master database. Use BACKUP DATABASE instead.";
    4214 16 1 LOG_BACKUP_WITHOUT_FULL
        "BACKUP LOG cannot be performed because there is no current database backup.";
    4305 16 1 LOG_TOO_RECENT
        "The log in this backup set begins at LSN %ls, which is too recent to apply to the \
         database. An earlier log backup that includes LSN %ls can be restored.";
    4322 10 1 STOP_POINT_NOT_REACHED
        "This backup set contains records that were logged before the designated point in time. \
         The database is being left in the restoring state so that more roll forward can be \
         performed.";
    4326 16 1 LOG_TOO_EARLY
        "The log in this backup set terminates at LSN %ls, which is too early to apply to the \
         database. A more recent log backup that includes LSN %ls can be restored.";
    4330 16 1 OTHER_RECOVERY_PATH
        "This backup set cannot be applied because it is on a recovery path that is inconsistent \
         with the database. The recovery path is the sequence of data and log backups that have \
         brought the database to a particular recovery point. Find a compatible backup to restore, \
         or restore the rest of the database to match a recovery point within this backup set, \
         which will restore the database to a different point in time.";
    4333 16 1 LOG_NOT_RESTORED "The database cannot be recovered because the log was not restored.";
    4335 16 1 STOPAT_PASSED
        "The specified STOPAT time is too early. All or part of the database is already rolled \
         forward beyond that point.";
    4338 16 1 STOPAT_INSIDE_SET
        "The STOPAT clause specifies a point too early to allow this backup set to be restored. \
         Choose a different stop point or use RESTORE DATABASE WITH RECOVERY to recover at the \
         current point.";
    4403 16 1 VIEW_WITH_AGGREGATES
        "Cannot update the view or function '%ls' because it contains aggregates, or a DISTINCT or \
         GROUP BY clause, or PIVOT or UNPIVOT operator.";
    4405 16 1 VIEW_OF_SEVERAL_TABLES
        "View or function '%ls' is not updatable because the modification affects multiple base \
         tables.";
    4406 16 1 VIEW_DERIVED_FIELD
        "Update or insert of view or function '%ls' failed because it contains a derived or \
         constant field.";
    4417 16 1 DERIVED_TABLE_UNION
        "Derived table '%ls' is not updatable because the definition contains a UNION operator.";
    4418 16 1 DERIVED_TABLE_WITH_AGGREGATES
        "Derived table '%ls' is not updatable because it contains aggregates, or a DISTINCT or \
         GROUP BY clause, or PIVOT or UNPIVOT operator.";
    4420 16 1 DERIVED_TABLE_OF_SEVERAL_TABLES
        "Derived table '%ls' is not updatable because the modification affects multiple base \
         tables.";
    4421 16 1 DERIVED_TABLE_DERIVED_COLUMN
        "Derived table '%ls' is not updatable because a column of the derived table is derived or \
         constant.";
    4426 16 1 VIEW_UNION
        "View '%ls' is not updatable because the definition contains a UNION operator.";
    4431 16 1 PARTITIONED_TIMESTAMP
        "Partitioned view '%ls' is not updatable because table '%ls' has a timestamp column.";
    4433 16 4 PARTITIONED_INSERT_IDENTITY
        "Cannot INSERT into partitioned view '%ls' because table '%ls' has an IDENTITY constraint.";
    4434 16 1 PARTITIONED_INSTEAD_OF
        "Partitioned view '%ls' is not updatable because table '%ls' has an INSTEAD OF trigger.";
    4436 16 1 PARTITIONED_NO_COLUMN
        "UNION ALL view '%ls' is not updatable because a partitioning column was not found.";
    4437 16 4 PARTITIONED_BULK
        "Partitioned view '%ls' is not updatable as the target of a bulk operation.";
    4438 16 1 PARTITIONED_COLUMNS_LEFT_OUT
        "Partitioned view '%ls' is not updatable because it does not deliver all columns from its \
         member tables.";
    4439 16 6 PARTITIONED_READS_ITSELF
        "Partitioned view '%ls' is not updatable because the source query contains references to \
         partition table '%ls'.";
    4440 16 9 PARTITIONED_NO_PRIMARY_KEY
        "UNION ALL view '%ls' is not updatable because a primary key was not found on table '%ls'.";
    4441 16 1 PARTITIONED_COMPUTED_INDEX
        "Partitioned view '%ls' is not updatable because the table '%ls' has an index on a \
         computed column.";
    4442 16 7 PARTITIONED_TABLE_TWICE
        "UNION ALL view '%ls' is not updatable because base table '%ls' is used multiple times.";
    4443 16 8 PARTITIONED_COLUMN_TWICE
        "UNION ALL view '%ls' is not updatable because column '%ls' of base table '%ls' is used \
         multiple times.";
    4444 16 10 PARTITIONED_KEY_LEFT_OUT
        "UNION ALL view '%ls' is not updatable because the primary key of table '%ls' is not \
         included in the union result.";
    4445 16 11 PARTITIONED_KEYS_DIFFER
        "UNION ALL view '%ls' is not updatable because the primary key of table '%ls' is not \
         unioned with primary keys of preceding tables.";
    4448 16 17 PARTITIONED_INSERT_INCOMPLETE
        "Cannot INSERT into partitioned view '%ls' because values were not supplied for all \
         columns.";
    4449 16 1 DEFAULTS_IN_SET_VIEW
        "Using defaults is not allowed in views that contain a set operator.";
    4450 16 1 PARTITIONED_UPDATE_IDENTITY
        "Cannot update partitioned view '%ls' because the definition of the view column '%ls' in \
         table '%ls' has an IDENTITY constraint.";
    4452 16 21 PARTITIONED_UPDATE_CASCADE
        "Cannot UPDATE partitioning column '%ls' of view '%ls' because the table '%ls' has a \
         CASCADE DELETE or CASCADE UPDATE constraint.";
    4453 16 22 PARTITIONED_UPDATE_TRIGGER
        "Cannot UPDATE partitioning column '%ls' of view '%ls' because the table '%ls' has a \
         INSERT, UPDATE or DELETE trigger.";
    4454 16 1 PARTITIONED_COLUMN_TYPES
        "Cannot update the partitioned view \"%ls\" because the partitioning columns of its member \
         tables have mismatched types.";
    4456 16 18 PARTITIONED_OTHER_TYPES
        "The partitioned view \"%ls\" is not updatable because one or more of the non-partitioning \
         columns of its member tables have mismatched types.";
    4457 16 1 PARTITIONED_NO_PARTITION
        "The attempted insert or update of the partitioned view failed because the value of the \
         partitioning column does not belong to any of the partitions.";
    4502 16 1 VIEW_TOO_MANY_NAMES
        "View or function '%ls' has more column names specified than columns defined.";
    4506 16 1 VIEW_DUPLICATE_COLUMN
        "Column names in each view or function must be unique. Column name '%ls' in view or \
         function '%ls' is specified more than once.";
    4508 16 1 VIEW_ON_TEMPORARY_TABLE
        "Views or functions are not allowed on temporary tables. Table names that begin with '#' \
         denote temporary tables.";
    4511 16 1 VIEW_COLUMN_WITHOUT_NAME
        "Create View or Function failed because no column name was specified for column %d.";
    4512 16 3 SCHEMA_BIND_INVALID_NAME
        "Cannot schema bind %ls '%ls' because name '%ls' is invalid for schema binding. Names must \
         be in two-part format and an object cannot reference itself.";
    4513 16 2 SCHEMA_BIND_NOT_BOUND "Cannot schema bind %ls '%ls'. '%ls' is not schema bound.";
    4606 16 1 PRIVILEGE_NOT_COMPATIBLE
        "Granted or revoked privilege %ls is not compatible with object.";
    4610 16 1 GRANT_IN_OTHER_DATABASE
        "Grant, deny, or revoke permissions on objects of another database: use it first.";
    4611 16 1 REVOKE_NEEDS_CASCADE
        "To revoke or deny grantable privileges, specify the CASCADE option.";
    4613 16 1 GRANTOR_WITHOUT_GRANT "Grantor does not have GRANT permission.";
    4617 16 1 GRANT_TO_SPECIAL_ROLE
        "Cannot grant, deny or revoke permissions to or from special roles.";
    4621 16 10 SERVER_GRANT_OUTSIDE_MASTER
        "Permissions at the server scope can only be granted when the current database is master.";
    4624 16 1 GRANT_TO_OWNER
        "Cannot grant, deny, or revoke permissions to sa, dbo, entity owner, information_schema, \
         sys, or yourself.";
    4701 16 1 TRUNCATE_OBJECT_NOT_FOUND
        "Cannot find the object \"%ls\" because it does not exist or you do not have permissions.";
    4712 16 1 TRUNCATE_REFERENCED
        "Cannot truncate table '%ls' because it is being referenced by a FOREIGN KEY constraint.";
    4804 16 1 BULK_COLUMN_COUNT "The bulk load has %d columns, INSERT BULK has announced %d.";
    4806 16 1 SINGLE_CLOB_UNICODE
        "SINGLE_CLOB requires a double-byte character set (DBCS) (char) input file. The file \
         specified is Unicode.";
    4809 16 1 SINGLE_NCLOB_NOT_UNICODE
        "SINGLE_NCLOB requires a UNICODE (widechar) input file. The file specified is not Unicode.";
    4815 16 1 BULK_BATCH_UNEQUAL
        "A batch of columns has %d columns of unequal length or number; the load has %d.";
    4819 16 1 BULK_SORT_ORDER
        "Cannot bulk load. The bulk data stream was incorrectly specified as sorted or the data \
         violates a uniqueness constraint imposed by the target table. Sort order incorrect for \
         the following two rows: primary key of first row: (%ls), primary key of second row: \
         (%ls).";
    4832 16 1 BULK_UNEXPECTED_END
        "Bulk load: An unexpected end of file was encountered in the data file.";
    4834 16 1 BULK_PERMISSION "You do not have permission to use the bulk load statement.";
    4860 16 1 BULK_FILE_NOT_FOUND
        "Cannot bulk load. The file \"%ls\" does not exist or you don't have file access rights.";
    4861 16 1 BULK_FILE_NOT_OPENED
        "Cannot bulk load because the file \"%ls\" could not be opened. Operating system error \
         code %ls.";
    4863 16 1 BULK_TRUNCATION
        "Bulk load data conversion error (truncation) for row %d, column %d (%ls).";
    4864 16 1 BULK_CONVERSION
        "Bulk load data conversion error (type mismatch or invalid character for the specified \
         codepage) for row %d, column %d (%ls).";
    4865 16 1 BULK_TOO_MANY_ERRORS
        "Cannot bulk load because the maximum number of errors (%d) was exceeded.";
    4866 16 1 BULK_COLUMN_TOO_LONG
        "The bulk load failed. The column is too long in the data file for row %d, column %d. \
         Verify that the field terminator and row terminator are specified correctly.";
    4867 16 1 BULK_OVERFLOW
        "Bulk load data conversion error (overflow) for row %d, column %d (%ls).";
    4868 16 1 BULK_CODE_PAGE
        "The bulk load failed. The codepage \"%d\" is not installed. Install the codepage and run \
         the command again.";
}
