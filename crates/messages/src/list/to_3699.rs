//! Messages 1900 to 3699; see [`crate`] for what a line says.

use crate::messages;

messages! {
    1901 16 1 INDEXED_VIEW_KEY_IMPRECISE
        "Cannot create index or statistics '%ls' on view '%ls' because key column '%ls' is \
         imprecise, computed and not persisted. Consider removing reference to column in view \
         index or statistics key or changing column to be precise. If column is computed in base \
         table consider marking it PERSISTED there.";
    1902 16 3 CLUSTERED_INDEX_EXISTS
        "Cannot create more than one clustered index on %ls '%ls'. Drop the existing clustered \
         index '%ls' before creating another.";
    1904 16 1 TOO_MANY_KEY_COLUMNS
        "The index on table '%ls' has %d columns in the key list. The maximum limit for index key \
         column list is %d.";
    1907 16 1 INDEX_DOES_NOT_MATCH_CONSTRAINT
        "Cannot recreate index '%ls'. The new index definition does not match the constraint being \
         enforced by the existing index.";
    1909 16 1 DUPLICATE_INDEX_COLUMN
        "Cannot use duplicate column names in %ls. Column name '%ls' listed more than once.";
    1911 16 1 COLUMN_NOT_IN_TARGET "Column name '%ls' does not exist in the target table or view.";
    1913 16 1 INDEX_EXISTS
        "The operation failed because an index or statistics with name '%ls' already exists on \
         table '%ls'.";
    1915 16 1 IGNORE_DUP_KEY_NON_UNIQUE
        "Cannot alter a non-unique index with ignore_dup_key index option. Index '%ls' is \
         non-unique.";
    1916 16 4 OPTIONS_EXCLUSIVE
        "CREATE INDEX options nonunique and ignore_dup_key are mutually exclusive.";
    1919 16 1 KEY_COLUMN_TYPE
        "Column '%ls' in table '%ls' is of a type that is invalid for use as a key column in an \
         index.";
    1921 16 1 INVALID_FILEGROUP "Invalid filegroup '%ls' specified.";
    1925 16 2 CLUSTERED_TO_NONCLUSTERED
        "Cannot convert a clustered index to a nonclustered index using the DROP_EXISTING option. \
         To change the index type from clustered to nonclustered, delete the clustered index, and \
         then create a nonclustered index by using two separate statements.";
    1927 16 1 STATISTICS_EXIST "There are already statistics on table '%ls' named '%ls'.";
    1934 16 1 WRONG_SET_OPTIONS
        "%ls failed because the following SET options have incorrect settings: '%ls'. Verify that \
         SET options are correct for use with indexed views and/or indexes on computed columns \
         and/or filtered indexes and/or query notifications and/or XML data type methods and/or \
         spatial index operations.";
    1935 16 1 CREATED_WITH_WRONG_SET_OPTIONS
        "Cannot create index. Object '%ls' was created with the following SET options off: '%ls'.";
    1937 16 1 INDEXED_VIEW_OVER_VIEW
        "Cannot create index on view '%ls' because it references another view '%ls'. Consider \
         expanding referenced view's definition by hand in indexed view definition.";
    1939 16 1 INDEXED_VIEW_NOT_SCHEMA_BOUND
        "Cannot create index on view '%ls' because the view is not schema bound.";
    1940 16 1 INDEXED_VIEW_WITHOUT_CLUSTERED
        "Cannot create index on view '%ls'. It does not have a unique clustered index.";
    1941 16 1 INDEXED_VIEW_NONUNIQUE
        "Cannot create nonunique clustered index on view '%ls' because only unique clustered \
         indexes are allowed. Consider creating unique clustered index instead.";
    1942 16 1 INDEXED_VIEW_LARGE_COLUMNS
        "Cannot create index on view '%ls'. It contains text, ntext, image, FILESTREAM or xml \
         columns.";
    1946 16 1 KEY_TOO_LONG "%ls.";
    1947 16 1 INDEXED_VIEW_SELF_JOIN
        "Cannot create index on view \"%ls\". The view contains a self join on \"%ls\".";
    1949 16 1 INDEXED_VIEW_NONDETERMINISTIC
        "Cannot create index on view '%ls'. The function '%ls' yields nondeterministic results. \
         Use a deterministic system function, or modify the user-defined function to return \
         deterministic results.";
    1956 16 1 INDEXED_VIEW_NONDETERMINISTIC_FUNCTION
        "Cannot create index on the '%ls' view because it uses the nondeterministic user-defined \
         function '%ls'. Remove the reference to the function, or make it deterministic.";
    1973 16 1 INDEX_DISABLED
        "Cannot perform the specified operation on disabled index '%ls' on table '%ls'.";
    1974 16 1 CLUSTERED_INDEX_DISABLED
        "Cannot perform the specified operation on table '%ls' because its clustered index '%ls' \
         is disabled.";
    1978 16 1 STATISTICS_COLUMN_TYPE
        "Column '%ls' in table '%ls' is of a type that is invalid for use as a key column in an \
         index or statistics.";
    1979 16 1 IGNORE_DUP_KEY_OF_CONSTRAINT
        "Cannot use index option ignore_dup_key to alter index '%ls' as it enforces a primary or \
         unique constraint.";
    1987 16 1 NONCLUSTERED_ON_DISABLED
        "Cannot create nonclustered index '%ls' on table '%ls' because its clustered index is \
         disabled.";
    1990 16 1 INDEXED_VIEW_IGNORE_DUP_KEY
        "Cannot define an index on a view with ignore_dup_key index option. Remove ignore_dup_key \
         option and verify that view definition does not allow duplicates, or do not index view.";
    1992 0 1 FOREIGN_KEY_DISABLED
        "Warning: Foreign key '%ls' on table '%ls' referencing table '%ls' was disabled as a \
         result of disabling the index '%ls'.";
    1999 16 1 INCLUDED_COLUMN_TYPE
        "Column '%ls' in table '%ls' is of a type that is invalid for use as included column in an \
         index.";
    2010 16 1 ALTER_INCOMPATIBLE_OBJECT
        "Cannot perform alter on '%ls.%ls' because it is an incompatible object type.";
    2103 15 1 TRIGGER_SCHEMA_DIFFERS
        "Cannot %ls trigger '%ls' because its schema is different from the schema of the target \
         table or view.";
    2111 16 1 INSTEAD_OF_EXISTS
        "Cannot create trigger '%ls' on %ls '%ls' because an INSTEAD OF %ls trigger already exists \
         on this object.";
    2113 16 1 INSTEAD_OF_WITH_CASCADE
        "Cannot create INSTEAD OF DELETE or INSTEAD OF UPDATE TRIGGER '%ls' on table '%ls'. This \
         is because the table has a FOREIGN KEY with cascading DELETE or UPDATE.";
    2205 16 1 XQUERY_WORD_EXPECTED "%ls\"%ls\" was expected.";
    2209 16 1 XQUERY_SYNTAX "%lsSyntax error near '%ls'";
    2217 16 1 XQUERY_COMMA_EXPECTED "%ls',' or ')' expected";
    2225 16 1 XQUERY_STRING_EXPECTED "%lsA string literal was expected";
    2226 16 1 XQUERY_INSERT_TARGET_MANY
        "%lsThe target of 'insert' must be a single node, found '%ls'";
    2227 16 1 XQUERY_VARIABLE_NOT_FOUND
        "%lsThe variable '$%ls' was not found in the scope in which it was referenced.";
    2229 16 1 XQUERY_NAMESPACE_UNKNOWN "%lsThe name \"%ls\" does not denote a namespace.";
    2236 16 1 XQUERY_TOO_FEW_ARGUMENTS
        "%lsThere are not enough actual arguments in the call to function \"%ls()\".";
    2238 16 1 XQUERY_TOO_MANY_ARGUMENTS "%lsToo many arguments in call to function '%ls()'";
    2240 16 1 XQUERY_INSERT_INTO_TARGET
        "%lsThe target of 'insert into' must be an element/document node, found '%ls'";
    2248 16 1 XQUERY_INSERT_PLACE
        "%lsSyntax error near '%ls', expected 'as', 'into', 'before' or 'after'.";
    2249 16 1 XQUERY_INSERT_BESIDE_TARGET
        "%lsThe target of 'insert before/after' must be an element/PI/comment/text node, found \
         '%ls'";
    2258 16 1 XQUERY_ATTRIBUTE_POSITION
        "%lsThe position may not be specified when inserting an attribute node, found '%ls'";
    2270 16 1 XQUERY_DUPLICATE_ATTRIBUTE_PREFIXED "%lsDuplicate attribute '%ls'";
    2271 16 1 XQUERY_DUPLICATE_ATTRIBUTE "%lsDuplicate attribute '%ls'";
    2272 16 1 XQUERY_INSTRUCTION_END "%ls'?>' expected";
    2273 16 1 XQUERY_CDATA_END "%lsUnterminated CDATA section";
    2278 16 1 XQUERY_TAG_NAME "%lsA tag name may not start with the character '%ls'";
    2282 16 1 XQUERY_ENTITY "%lsInvalid entity reference";
    2283 16 1 XQUERY_ENTITY_CHARACTER
        "%lsThe character '%ls' may not be part of an entity reference";
    2285 16 1 XQUERY_ENTITY_NUMBER "%lsInvalid numeric entity reference";
    2294 16 1 XQUERY_INSTRUCTION_XML "%ls'xml' is not allowed as a processing instruction target.";
    2333 16 1 XQUERY_SOURCE_CHARACTER "%lsInvalid source character 0x%ls";
    2337 16 1 XQUERY_REPLACE_TARGET_MANY
        "%lsThe target of 'replace' must be at most one node, found '%ls'";
    2340 16 1 XQUERY_COMMENT_END "%lsComment started on line %d has no end";
    2355 16 1 XQUERY_ELSE_EXPECTED "%ls'else' expected";
    2356 16 1 XQUERY_REPLACE_TARGET
        "%lsThe target of 'replace value of' must be a non-metadata attribute or an element with \
         simple typed content, found '%ls'";
    2371 16 1 XQUERY_OUTSIDE_PREDICATE
        "%ls'%ls()' can only be used within a predicate or XPath selector";
    2377 16 1 XQUERY_STATICALLY_EMPTY "%lsResult of '%ls' expression is statically 'empty'";
    2389 16 1 XQUERY_SINGLETON_REQUIRED
        "%ls'%ls' requires a singleton (or empty sequence), found operand of type '%ls'";
    2395 16 1 XQUERY_FUNCTION_UNKNOWN "%lsThere is no function '{%ls}:%ls()'";
    2396 16 1 XQUERY_ATTRIBUTE_ALONE "%lsAttribute may not appear outside of an element";
    2501 16 45 TABLE_OR_OBJECT_NOT_FOUND
        "Cannot find a table or object with the name \"%ls\". Check the system catalog.";
    2509 16 1 DBCC_INVALID_FILEGROUP
        "Filegroup '%ls' is invalid. It may not exist, or it is not valid for this operation in \
         database '%ls'.";
    2526 16 3 INCORRECT_DBCC
        "Incorrect DBCC statement. Check the documentation for the correct DBCC syntax and options \
         (%ls).";
    2528 10 1 DBCC_COMPLETED
        "DBCC execution completed. If DBCC printed error messages, contact your system \
         administrator.";
    2555 16 1 EMPTY_FILE_NOT_MOVED
        "Cannot move all contents of file \"%ls\" to other places to complete the emptyfile \
         operation.";
    2556 16 1 EMPTY_FILE_NO_SPACE
        "There is insufficient space in the filegroup to complete the emptyfile operation.";
    2581 10 1 SQLPERF_INVALID_PARAMETER "Invalid parameter was passed to DBCC SQLPERF.";
    2593 10 1 ROWS_IN_OBJECT "There are %d rows in object \"%ls\".";
    2601 14 1 DUPLICATE_KEY_ROW
        "Cannot insert duplicate key row in object '%ls' with unique index '%ls'. The duplicate \
         key value is (%ls).";
    2627 14 1 DUPLICATE_KEY_OF_CONSTRAINT
        "Violation of %ls constraint '%ls'. Cannot insert duplicate key in object '%ls'. The \
         duplicate key value is (%ls).";
    2628 16 1 TRUNCATED
        "String or binary data would be truncated in table '%ls', column '%ls'. Truncated value: \
         '%ls'.";
    2705 16 3 DUPLICATE_COLUMN
        "Column names in each table must be unique. Column name '%ls' in table '%ls' is specified \
         more than once.";
    2714 16 6 OBJECT_EXISTS "There is already an object named '%ls' in the database.";
    2715 16 3 TYPE_OF_COLUMN_NOT_FOUND
        "Column, parameter, or variable %ls: Cannot find data type %ls.";
    2716 16 1 COLUMN_WIDTH_NOT_ALLOWED
        "Column, parameter, or variable %ls: Cannot specify a column width on data type %ls.";
    2727 11 1 INDEX_NOT_FOUND "Cannot find index '%ls'.";
    2729 16 1 COLUMN_NOT_DETERMINISTIC
        "Column '%ls' in table '%ls' cannot be used in an index or statistics or as a partition \
         key because it is non-deterministic.";
    2732 16 1 ERROR_NUMBER_INVALID
        "Error number %d is invalid. The number must be from 13000 through 2147483647 and it \
         cannot be 50000.";
    2733 16 1 RETURN_TYPE_INVALID "The %ls data type is invalid for return values.";
    2738 16 1 TWO_TIMESTAMP_COLUMNS
        "A table can only have one timestamp column. Because table '%ls' already has one, the \
         column '%ls' cannot be added.";
    2739 16 1 TEXT_VARIABLE
        "The text, ntext, and image data types are invalid for local variables.";
    2740 16 1 SET_LANGUAGE_FAILED
        "SET LANGUAGE failed because '%ls' is not an official language name or a language alias on \
         this SQL Server.";
    2741 16 1 SET_DATEFORMAT_INVALID "SET DATEFORMAT date order '%ls' is invalid.";
    2742 16 1 SET_DATEFIRST_RANGE "SET DATEFIRST %d is out of range.";
    2744 16 2 SEVERAL_IDENTITY_COLUMNS
        "Multiple identity columns specified for table '%ls'. Only one identity column per table \
         is allowed.";
    2745 16 2 USER_ERROR_ENDS_PROCESS
        "Process ID %d has raised user error %d, severity %d. SQL Server is terminating this \
         process.";
    2747 16 1 TOO_MANY_SUBSTITUTIONS
        "Too many substitution parameters for RAISERROR. Cannot exceed %d substitution parameters.";
    2749 16 2 IDENTITY_TYPE
        "Identity column '%ls' must be of data type int, bigint, smallint, tinyint, or decimal or \
         numeric with a scale of 0, unencrypted, and constrained to be nonnullable.";
    2750 16 1 PRECISION_TOO_LARGE
        "Column or parameter #%d: Specified column precision %d is greater than the maximum \
         precision of 38.";
    2751 16 1 SCALE_OVER_PRECISION
        "Column or parameter #%d: Specified column scale %d is greater than the specified \
         precision of %d.";
    2752 16 1 IDENTITY_SEED "Identity column '%ls' contains invalid SEED.";
    2753 16 1 IDENTITY_INCREMENT "Identity column '%ls' contains invalid INCREMENT.";
    2754 16 1 SEVERITY_NEEDS_SYSADMIN
        "Error severity levels greater than 18 can only be specified by members of the sysadmin \
         role, using the WITH LOG option.";
    2760 16 1 SCHEMA_NOT_FOUND
        "The specified schema name \"%ls\" either does not exist or you do not have permission to \
         use it.";
    2761 16 1 ROWGUIDCOL_TYPE
        "The ROWGUIDCOL property can only be specified on the uniqueidentifier data type.";
    2767 16 1 STATISTICS_NOT_FOUND "Could not locate statistics '%ls' in the system catalogs.";
    2772 16 1 TEMPORARY_TABLE_IN_FUNCTION "Cannot access temporary tables from within a function.";
    2778 16 1 WITH_LOG_PERMISSION
        "Only System Administrator can specify WITH LOG option for RAISERROR command.";
    2786 16 1 SUBSTITUTION_TYPE
        "The data type of substitution parameter %d does not match the expected type of the format \
         specification.";
    2787 16 1 INVALID_FORMAT "Invalid format specification: '%ls'.";
    2812 16 62 PROCEDURE_NOT_FOUND "Could not find stored procedure '%ls'.";
    3011 16 1 BACKUP_DEVICES_MIXED
        "All backup devices must be of the same general class (for example, DISK and TAPE).";
    3013 16 1 TERMINATING_ABNORMALLY "%ls is terminating abnormally.";
    3014 0 1 BACKUP_SUCCESS "%ls successfully processed %d pages in %ls seconds (%ls MB/sec).";
    3021 16 1 BACKUP_IN_TRANSACTION
        "Cannot perform a backup or restore operation within a transaction.";
    3023 16 2 FILES_BUSY
        "Backup, file manipulation operations (such as ALTER DATABASE ADD FILE) and encryption \
         changes on a database must be serialized. Reissue the statement after the current backup \
         or file manipulation operation is completed.";
    3035 16 1 DIFFERENTIAL_WITHOUT_FULL
        "Cannot perform a differential backup for database \"%ls\", because a current database \
         backup does not exist. Perform a full database backup by reissuing BACKUP DATABASE, \
         omitting the WITH DIFFERENTIAL option.";
    3043 16 1 BACKUP_PAGE_ERROR "BACKUP '%ls' detected an error on a page in file '%ls': %ls.";
    3057 16 1 DEVICE_NAME_TOO_LONG
        "Invalid device name. The length of the device name provided exceeds supported limit \
         (maximum length is:%d). Reissue the BACKUP statement with a valid device name.";
    3073 16 1 FILE_SNAPSHOT_NOT_PERMITTED
        "The option WITH FILE_SNAPSHOT is only permitted if all database files are in Azure \
         Storage.";
    3101 16 1 RESTORE_DATABASE_IN_USE
        "Exclusive access could not be obtained because the database '%ls' is in use.";
    3102 16 1 RESTORE_DATABASE_IN_USE_BY_SESSION
        "RESTORE cannot process database '%ls' because it is in use by this session. It is \
         recommended that the master database be used when performing this operation.";
    3110 14 1 RESTORE_PERMISSION "User does not have permission to RESTORE database '%ls'.";
    3117 16 1 NOTHING_TO_ROLL_FORWARD
        "The log or differential backup cannot be restored because no files are ready to \
         rollforward.";
    3118 16 1 RESTORE_DATABASE_NOT_FOUND
        "The database \"%ls\" does not exist. RESTORE can only create a database when restoring \
         either a full backup or a file backup of the primary file.";
    3119 16 1 RESTORE_PLANNING_FAILED
        "Problems were identified while planning for the RESTORE statement. Previous messages \
         provide details.";
    3132 16 1 MEDIA_FAMILIES_MISSING
        "The media set has %d media families but only %d are provided. All members must be \
         provided.";
    3136 16 1 DIFFERENTIAL_OTHER_BASE
        "This differential backup cannot be restored because the database has not been restored to \
         the correct earlier state.";
    3142 16 1 RESTORE_OVER_EXISTING
        "File \"%ls\" cannot be restored over the existing \"%ls\". Reissue the RESTORE statement \
         using WITH REPLACE to overwrite pre-existing files, or WITH MOVE to identify an alternate \
         location.";
    3147 16 1 TEMPDB_BACKUP "Backup and restore operations are not allowed on database tempdb.";
    3153 16 1 ALREADY_RECOVERED "The database is already fully recovered.";
    3154 16 1 BACKUP_OF_OTHER_DATABASE
        "The backup set holds a backup of a database other than the existing '%ls' database.";
    3156 16 1 RESTORE_NO_PLACE
        "File '%ls' cannot be restored to '%ls'. Use WITH MOVE to identify a valid location for \
         the file.";
    3159 16 1 LOG_TAIL_NOT_BACKED_UP
        "The tail of the log for the database \"%ls\" has not been backed up. Use BACKUP LOG WITH \
         NORECOVERY to backup the log if it contains work you do not want to lose. Use the WITH \
         REPLACE or WITH STOPAT clause of the RESTORE statement to just overwrite the contents of \
         the log.";
    3167 16 1 RESTORED_NOT_RECOVERED "The database '%ls' cannot be recovered: %ls.";
    3169 16 1 BACKUP_VERSION
        "The database was backed up on a server running version %ls of the backup format. That \
         version is incompatible with this server, which is running version %ls of it. Either \
         restore the database on a server that supports the backup, or use a backup that is \
         compatible with this server.";
    3176 16 1 FILE_CLAIMED_TWICE
        "File '%ls' is claimed by '%ls'(%d) and '%ls'(%d). The WITH MOVE clause can be used to \
         relocate one or more files.";
    3189 16 1 BACKUP_SET_DAMAGED "Damage to the backup set was detected.";
    3201 16 1 BACKUP_DEVICE_NOT_OPENED
        "Cannot open backup device '%ls'. Operating system error %ls.";
    3202 16 1 BACKUP_WRITE_FAILED "Write on \"%ls\" failed: %ls";
    3203 16 1 BACKUP_READ_FAILED "Read on \"%ls\" failed: %ls";
    3205 16 1 TOO_MANY_BACKUP_DEVICES
        "Too many backup devices specified for backup or restore; only %d are allowed.";
    3206 16 1 UNKNOWN_BACKUP_DEVICE
        "No entry in sysdevices for backup device '%ls'. Update sysdevices and rerun statement.";
    3211 0 1 PERCENT_PROCESSED "%d percent processed.";
    3217 16 1 INVALID_PARAMETER_VALUE "Invalid value specified for %ls parameter.";
    3227 16 1 MEDIA_OF_OTHER_SET
        "The backup media on \"%ls\" is not part of the media set of the other devices.";
    3233 16 1 S3_IDENTITY_INVALID
        "Invalid Identity Specified for the S3 Credential. Credential Identity should be %ls.";
    3234 16 1 LOGICAL_FILE_NOT_IN_DATABASE
        "Logical file '%ls' is not part of database '%ls'. Use RESTORE FILELISTONLY to list the \
         logical file names.";
    3241 16 1 MEDIA_INCORRECTLY_FORMED
        "The media family on device '%ls' is incorrectly formed. SQL Server cannot process this \
         media family.";
    3242 16 1 NOT_A_BACKUP_SET
        "The file on device '%ls' is not a valid Microsoft Tape Format backup set.";
    3250 16 1 PARAMETER_RANGE "The value '%ls' is not within range for the %ls parameter.";
    3262 0 1 BACKUP_SET_VALID "The backup set on file %d is valid.";
    3288 16 1 CREDENTIAL_NOT_FOUND
        "Credential name %ls does not exist or user does not have permission to access it.";
    3291 16 1 URL_OPTION_DISALLOWED
        "URL device type was specified, and a disallowed option %ls was specified.";
    3296 16 1 URL_FILE_EXISTS
        "The file %ls exists on the remote endpoint, and WITH FORMAT was not specified. Backup \
         cannot proceed.";
    3297 16 1 URL_INVALID
        "The URL provided does not meet specified requirements. The URL must be either resolvable \
         as an absolute or relative URI, has or can be composed as an HTTP or HTTPS scheme, and \
         cannot contain a query component.";
    3414 21 1 RECOVERY_FAILED "Recovery of database '%ls' failed: %ls.";
    3415 16 3 NOT_RECOVERED_READ_ONLY "Database '%ls' cannot be recovered read-only: %ls.";
    3437 21 3 RECOVERY_ERROR "An error occurred while recovering database '%ls': %ls.";
    3604 0 1 DUPLICATE_KEY_IGNORED "Duplicate key was ignored.";
    3606 10 0 ARITHMETIC_OVERFLOW_OCCURRED "Arithmetic overflow occurred.";
    3607 10 0 DIVISION_BY_ZERO_OCCURRED "Division by zero occurred.";
    3609 16 1 ENDED_IN_TRIGGER "The transaction ended in the trigger. The batch has been aborted.";
    3613 10 1 EXECUTION_TIMES
        "\n SQL Server Execution Times:\n   CPU time = %d ms,  elapsed time = %d ms.";
    3615 10 1 TABLE_READS
        "Table '%ls'. Scan count %d, logical reads %d, physical reads %d, page server reads %d, \
         read-ahead reads %d, page server read-ahead reads %d, lob logical reads %d, lob physical \
         reads %d, lob page server reads %d, lob read-ahead reads %d, lob page server read-ahead \
         reads %d.";
    3616 16 1 RAISED_IN_TRIGGER
        "An error was raised during trigger execution. The batch has been aborted and the user \
         transaction, if any, has been rolled back.";
    3617 16 1 CANCELLED "Operation cancelled by user.";
    3621 0 0 STATEMENT_TERMINATED "The statement has been terminated.";
    3622 10 0 DOMAIN_ERROR_OCCURRED "A domain error occurred.";
    3623 16 1 INVALID_FLOATING_POINT "An invalid floating point operation occurred.";
    3624 20 1 ASSERTION_FAILED "A system assertion check has failed: %ls. The statement was ended.";
    3634 16 1 RESTORE_TARGET_ERROR
        "The operating system returned the error '%ls(%ls)' while attempting \
         'RestoreContainer::ValidateTargetForCreation' on '%ls'.";
}
