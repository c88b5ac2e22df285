//! Second texts of numbers: what Ringwood says more closely than SQL Server, or what SQL
//! Server has no number for. sys.messages shows the texts of the other files alone.

use crate::messages;

messages! {
    102 15 1 METHOD_IN_FROM "The method '%ls' cannot be used in the FROM clause.";
    173 15 1 BATCH_TOO_LONG "The batch is longer than the largest that can be parsed.";
    174 15 1 FUNCTION_ARGUMENTS_UP_TO "The %ls function requires %d to %d arguments.";
    217 16 1 EXECUTE_AS_NESTING "EXECUTE AS is nested too deeply (limit %d).";
    511 16 1 ROW_TOO_LONG "%ls.";
    701 17 123 NO_MEMORY_FOR_PASSWORD
        "There is insufficient system memory to hash a password: %ls.";
    701 17 1 REQUEST_TOO_LARGE "%ls is larger than the limit of %d bytes.";
    823 24 2 RUN_FILE_IO
        "The operating system returned an error to a run file in database 'tempdb': %ls.";
    823 24 1 OBJECT_LIST_IO "The instance's list of objects could not be read or saved: %ls.";
    824 24 2 RUN_FILE_DAMAGED
        "A logical consistency-based I/O error was detected in database 'tempdb': '%ls' does not \
         hold what was written.";
    824 24 2 ROW_DAMAGED "A row of table '%ls' is damaged: %ls. Run DBCC CHECKDB.";
    1002 15 1 SCALE_NOT_ONE_NUMBER "Line %d: Specified scale is invalid.";
    1088 16 120 TRIGGER_NOT_FOUND
        "Cannot find the trigger \"%ls\" because it does not exist or you do not have permissions.";
    1105 17 2 RUN_FILE_SPACE
        "Could not allocate space for object 'dbo.SORT temporary run storage' in database 'tempdb' \
         because the 'PRIMARY' filegroup is full. Create disk space by deleting unneeded files, \
         dropping objects in the filegroup, adding additional files to the filegroup, or setting \
         autogrowth on for existing files in the filegroup.";
    1205 13 1 SCHEMA_KEPT_CHANGING "The schema of the statement's tables changed again and again.";
    1802 16 4 CREATE_DATABASE_FAILED "CREATE DATABASE failed: %ls.";
    1834 16 1 FILE_OF_OTHER_INSTANCE
        "The file '%ls' cannot be overwritten.  It is being used by a database of another instance \
         (%ls).";
    2103 15 1 TRIGGER_OF_OTHER_OBJECT
        "Cannot alter trigger '%ls' on '%ls' because this trigger does not belong to this object.";
    2628 16 1 TRUNCATED_VALUE "String or binary data would be truncated. Truncated value: '%ls'.";
    3156 16 1 RESTORE_STEP_FAILED "%ls.";
    3242 16 1 BACKUP_FILE_NOT_REMOVED
        "The file on device '%ls' is not a backup set and is not removed.";
    3250 16 1 STOPAT_NOT_A_DATE "The value given for the STOPAT option is not a date and time.";
    3437 21 3 TRANSACTION_IN_DOUBT
        "An error occurred while recovering database '%ls': %ls. Bring the database that decides \
         online and run recovery again (ALTER DATABASE ... SET ONLINE), or decide with KILL 'UOW' \
         WITH COMMIT or WITH ROLLBACK.";
    3617 11 1 BATCH_CANCELLED "The batch was cancelled.";
    3617 16 1 REQUEST_WITHDRAWN "The client has withdrawn the request.";
    3617 16 1 BULK_LOAD_WITHDRAWN "The client has withdrawn the bulk load.";
    3617 16 1 ANSWER_NOT_TAKEN "The client takes no more of the answer.";
    3624 20 1 ASSERTION_ENDED_SESSION_WORK
        "A system assertion check has failed. Check the error log for details. What was open in \
         this session has ended.";
    4002 16 1 STREAM_INCORRECT
        "The incoming tabular data stream (TDS) protocol stream is incorrect (%ls).";
    4145 15 1 NOT_A_CONDITION
        "An expression of non-boolean type specified in a context where a condition is expected.";
    4861 16 2 BULK_FILE_NOT_READ "Cannot bulk load because the file could not be read: %ls.";
    4864 16 1 BULK_CONVERSION_OF_COLUMN
        "Bulk load data conversion error (type mismatch or invalid character for the specified \
         codepage) for column %d (%ls).";
    4864 16 1 BULK_ROW_NOT_IMPORTED "The file has a row that cannot be imported.";
    4864 16 1 BULK_NOT_IN_CODE_PAGE "A character is not in the code page.";
    4866 16 1 BULK_FILE_TOO_LONG "Cannot bulk load. The file \"%ls\" is longer than 2 GB.";
    5005 16 2 DURABILITY_WINDOW_RANGE
        "The window of delayed durability is out of range: WINDOW_MS is 1 to %ls, WINDOW_KB is 4 \
         to %ls.";
    5011 16 1 FILEGROUP_NOT_FOUND "The filegroup '%ls' does not exist in database '%ls'.";
    5105 16 1 LOG_NOT_REBUILT
        "File activation failure. The physical file name \"%ls\" may be incorrect. The log cannot \
         be rebuilt because there were open transactions/users when the database was shutdown, no \
         checkpoint occurred to the database, or the database was read-only. This error could \
         occur if the transaction log file was manually deleted or lost due to a hardware or \
         environment failure.";
    5105 10 1 NEW_LOG_CREATED "File activation failure. New log file '%ls' was created.";
    5120 16 101 DATABASE_LIST_NOT_WRITTEN "The list of databases cannot be written: %ls.";
    5120 16 101 FILE_NOT_USABLE "A file of database '%ls' cannot be used: %ls.";
    5701 0 1 DATABASE_NAME_SET "The database name '%ls' has been set.";
    5701 0 1 FILE_REMOVED "The file '%ls' has been removed.";
    8018 16 1 DEPRECATED_OUTPUT_UNNAMED
        "Data type 0x%ls is deprecated and marked as output parameter.";
    8117 16 1 NODES_OUTSIDE_FROM "The method 'nodes' can only be used in the FROM clause.";
    8144 16 2 TOO_MANY_ARGUMENTS_UNNAMED "Procedure or function has too many arguments specified.";
    8144 16 2 BATCH_PARAMETER_COUNT "The batch takes %d parameters, %d were given.";
    15033 16 1 NOT_AN_OFFICIAL_LANGUAGE "'%ls' is not a valid official language name.";
    15251 16 1 TABLE_TYPE_PARAMETER
        "The table type parameter must be NULL or a list of names of types in quotes: 'SYSTEM \
         TABLE', 'TABLE', 'VIEW'.";
    16902 16 2 CURSOR_NOT_OUTPUT
        "The parameter '%ls' is a cursor, which must be an OUTPUT parameter.";
    40510 16 1 REQUEST_NOT_SUPPORTED "%ls is not supported.";
}
