//! Messages 13000 to 14999; see [`crate`] for what a line says.

use crate::messages;

messages! {
    13501 16 1 GENERATED_TYPE "Temporal generated always column '%ls' has invalid data type.";
    13502 16 1 SEVERAL_ROW_STARTS
        "System-versioned table cannot have more than one 'GENERATED ALWAYS AS ROW START' column.";
    13503 16 1 SEVERAL_ROW_ENDS
        "System-versioned table cannot have more than one 'GENERATED ALWAYS AS ROW END' column.";
    13504 16 1 ROW_START_MISSING
        "Temporal 'GENERATED ALWAYS AS ROW START' column definition missing.";
    13505 16 1 ROW_END_MISSING "Temporal 'GENERATED ALWAYS AS ROW END' column definition missing.";
    13506 16 1 PERIOD_START_NAME
        "System-versioned table SYSTEM_TIME period definition start column name not matching \
         'GENERATED ALWAYS AS ROW START' column name.";
    13507 16 1 PERIOD_END_NAME
        "System-versioned table SYSTEM_TIME period definition end column name not matching \
         'GENERATED ALWAYS AS ROW END' column name.";
    13508 16 1 SEVERAL_PERIODS
        "System-versioned table cannot have more than one SYSTEM_TIME period definition.";
    13509 16 1 GENERATED_WITHOUT_PERIOD
        "Cannot create generated always column when SYSTEM_TIME period is not defined.";
    13510 16 1 VERSIONING_WITHOUT_PERIOD
        "Cannot set SYSTEM_VERSIONING to ON when SYSTEM_TIME period is not defined and the \
         LEDGER=ON option is not specified.";
    13511 16 1 NOT_A_HISTORY_TABLE "Specified object '%ls' cannot be used as history table.";
    13512 16 1 VERSIONING_TWICE "You cannot specify SYSTEM_VERSIONING clause more than once.";
    13513 16 1 PERIOD_PRECISION
        "SYSTEM_TIME period columns cannot have different datatype precision.";
    13514 16 1 HISTORY_IN_USE "History table '%ls' is already in use.";
    13515 16 1 HISTORY_UNIQUE_KEYS
        "Setting SYSTEM_VERSIONING to ON failed because history table '%ls' has custom unique keys \
         defined. Consider dropping all unique keys and trying again.";
    13516 16 1 HISTORY_FOREIGN_KEYS
        "Setting SYSTEM_VERSIONING to ON failed because history table '%ls' has foreign keys \
         defined. Consider dropping all foreign keys and trying again.";
    13517 16 1 HISTORY_CONSTRAINTS
        "Setting SYSTEM_VERSIONING to ON failed because history table '%ls' has table or column \
         constraints defined. Consider dropping all table and column constraints and trying again.";
    13518 16 1 HISTORY_IDENTITY
        "Setting SYSTEM_VERSIONING to ON failed because history table '%ls' has IDENTITY column \
         specification. Consider dropping all IDENTITY column specifications and trying again.";
    13519 16 1 HISTORY_COMPUTED
        "Setting SYSTEM_VERSIONING to ON failed because history table '%ls' has computed column \
         specification. Consider dropping all computed column specifications and trying again.";
    13522 16 1 HISTORY_TRIGGERS
        "Setting SYSTEM_VERSIONING to ON failed because history table '%ls' has triggers defined. \
         Consider dropping all triggers and trying again.";
    13523 16 1 HISTORY_COLUMN_COUNT
        "Setting SYSTEM_VERSIONING to ON failed because table '%ls' has %d columns and table '%ls' \
         has %d columns.";
    13524 16 1 HISTORY_COLUMN_NAME
        "Setting SYSTEM_VERSIONING to ON failed because column '%ls' at ordinal %d in history \
         table '%ls' has a different name than the column '%ls' at the same ordinal in table \
         '%ls'.";
    13525 16 1 HISTORY_COLUMN_TYPE
        "Setting SYSTEM_VERSIONING to ON failed because column '%ls' has data type %s in history \
         table '%ls' which is different from corresponding column type %s in table '%ls'.";
    13526 16 1 HISTORY_COLLATION
        "Setting SYSTEM_VERSIONING to ON failed because column '%ls' does not have the same \
         collation in tables '%ls' and '%ls'.";
    13530 16 1 HISTORY_SYSTEM_COLUMN
        "Setting SYSTEM_VERSIONING to ON failed because system column '%ls' in history table '%ls' \
         corresponds to a period column in table '%ls' and cannot be nullable.";
    13531 16 1 HISTORY_NULLABILITY
        "Setting SYSTEM_VERSIONING to ON failed because column '%ls' does not have the same \
         nullability attribute in tables '%ls' and '%ls'.";
    13535 16 0 VERSIONED_CHANGE_TOO_EARLY
        "Data modification failed on system-versioned table '%ls' because transaction time was \
         earlier than period start time for affected records.";
    13536 16 1 GENERATED_INSERTED
        "Cannot insert an explicit value into a GENERATED ALWAYS column in table '%ls'. Use INSERT \
         with a column list to exclude the GENERATED ALWAYS column, or insert a DEFAULT into \
         GENERATED ALWAYS column.";
    13537 16 1 GENERATED_UPDATED "Cannot update GENERATED ALWAYS columns in table '%ls'.";
    13539 15 1 HISTORY_TWO_PART_NAME
        "Setting SYSTEM_VERSIONING to ON failed because history table '%ls' is not specified in \
         two-part name format.";
    13541 16 0 HISTORY_END_BEFORE_START
        "Setting SYSTEM_VERSIONING to ON failed because history table '%ls' contains invalid \
         records with end of period set before start.";
    13542 16 0 PERIOD_START_IN_FUTURE
        "ADD PERIOD FOR SYSTEM_TIME on table '%ls' failed because there are open records with \
         start of period set to a value in the future.";
    13543 16 0 HISTORY_END_IN_FUTURE
        "Setting SYSTEM_VERSIONING to ON failed because history table '%ls' contains invalid \
         records with end of period set to a value in the future.";
    13544 16 1 SYSTEM_TIME_NOT_VERSIONED
        "Temporal FOR SYSTEM_TIME clause can only be used with system-versioned tables. '%ls' is \
         not a system-versioned table.";
    13545 16 1 TRUNCATE_VERSIONED
        "Truncate failed on table '%ls' because it is not a supported operation on \
         system-versioned tables.";
    13546 16 1 SWITCH_OUT_VERSIONED
        "Switching out partition failed on table '%ls' because it is not a supported operation on \
         system-versioned tables. Consider setting SYSTEM_VERSIONING to OFF and trying again.";
    13547 16 1 SWITCH_IN_HISTORY
        "Switching in partition failed on history table '%ls' because it is not a supported \
         operation on system-versioned tables. Consider setting SYSTEM_VERSIONING to OFF and \
         trying again.";
    13548 16 1 ALTER_COLUMN_VERSIONED
        "Cannot alter column '%ls' on table '%ls' because it is not a supported operation on \
         system-versioned temporal or ledger tables.";
    13550 16 1 ADD_COLUMN_VERSIONED
        "Add column operation failed on table '%ls' because it is not a supported operation on \
         system-versioned temporal tables.";
    13551 16 1 DROP_COLUMN_VERSIONED
        "Drop column operation failed on table '%ls' because it is not a supported operation on \
         system-versioned temporal tables.";
    13552 16 1 DROP_VERSIONED
        "Drop table operation failed on table '%ls' because it is not a supported operation on \
         system-versioned temporal tables.";
    13553 16 1 VERSIONED_WITHOUT_PRIMARY_KEY
        "System versioned temporal table '%ls' must have primary key defined.";
    13557 16 1 DROP_PRIMARY_KEY_VERSIONED
        "Cannot drop PRIMARY KEY constraint from a system-versioned temporal table '%ls'.";
    13558 16 1 PRIMARY_KEY_ON_HISTORY
        "Cannot add PRIMARY KEY constraint to a temporal history table '%ls'.";
    13559 16 1 INSERT_INTO_HISTORY "Cannot insert rows in a temporal history table '%ls'.";
    13560 16 1 DELETE_FROM_HISTORY "Cannot delete rows from a temporal history table '%ls'.";
    13561 16 1 UPDATE_OF_HISTORY "Cannot update rows in a temporal history table '%ls'.";
    13562 16 1 MERGE_INTO_HISTORY "Cannot perform MERGE operation on temporal history table '%ls'.";
    13564 16 1 CHECK_ON_HISTORY
        "Adding CHECK constraint to a temporal history table '%ls' is not allowed.";
    13565 16 1 FOREIGN_KEY_ON_HISTORY
        "Foreign key '%ls' is not valid. A temporal history table cannot be used in a foreign key \
         definition.";
    13566 16 1 TEMPORAL_IN_USE "Temporal table '%ls' is already in use.";
    13568 16 1 VERSIONED_IN_TEMPDB
        "System-versioned temporal table '%ls' cannot be created in a 'tempdb' database.";
    13569 16 1 TRIGGER_ON_VERSIONED
        "Cannot create a trigger on a system-versioned temporal table '%ls'.";
    13572 16 1 PERIOD_IN_TABLE_VARIABLE
        "Creating table variables containing PERIOD is not allowed.";
    13573 16 0 HISTORY_OVERLAPS
        "Setting SYSTEM_VERSIONING to ON failed because history table '%ls' contains overlapping \
         records.";
    13574 16 1 HISTORY_HAS_PERIOD
        "Setting SYSTEM_VERSIONING to ON failed because temporal history table '%ls' contains \
         SYSTEM_TIME period.";
    13575 16 0 PERIOD_END_NOT_MAXIMUM
        "ADD PERIOD FOR SYSTEM_TIME failed because table '%ls' contains records where end of \
         period is not equal to MAX datetime.";
    13577 16 1 SWITCH_PERIOD_MISSING
        "ALTER TABLE SWITCH statement failed on table '%ls' because target table has SYSTEM_TIME \
         PERIOD while source table does not have it.";
    13578 16 1 SWITCH_PERIOD_DIFFERS
        "ALTER TABLE SWITCH statement failed on table '%ls' because target and source tables have \
         different SYSTEM_TIME PERIOD definitions.";
    13583 16 1 UNIQUE_KEY_ON_HISTORY
        "Cannot add UNIQUE KEY constraint to a temporal history table '%ls'.";
    13587 16 1 PERIOD_NULLABLE
        "Period column '%ls' in a system-versioned temporal table cannot be nullable.";
    13588 16 1 DROP_PERIOD_COLUMN
        "Column '%ls' in table '%ls' cannot be dropped because it is a part of period definition.";
    13589 16 1 ALTER_TO_GENERATED
        "Column '%ls' in table '%ls' cannot be specified as 'GENERATED ALWAYS' in ALTER COLUMN \
         statement.";
    13590 16 1 SYSTEM_TIME_TWICE
        "Temporal FOR SYSTEM_TIME clause can only be set once per temporal table. '%ls' has more \
         than one temporal FOR SYSTEM_TIME clause.";
    13591 16 1 VERSIONING_NOT_ON "SYSTEM_VERSIONING is not turned ON for table '%ls'.";
    13592 16 1 DROP_PERIOD_VERSIONED
        "Cannot drop SYSTEM_TIME period from table '%ls' when SYSTEM_VERSIONING is ON.";
    13593 16 1 PERIOD_NOT_FOUND
        "SYSTEM_TIME period cannot be dropped from table '%ls', because SYSTEM_TIME period does \
         not exist.";
    13595 16 1 HISTORY_NAME_NOT_CORRECT
        "Temporal history table name '%ls' is not correct for current table '%ls'.";
    13596 16 1 VERSIONING_ALREADY_ON "SYSTEM_VERSIONING is already turned ON for table '%ls'.";
    13597 16 1 PERIOD_EXISTS "Temporal SYSTEM_TIME period is already defined on table '%ls'.";
    13598 16 1 PERIOD_ON_HISTORY
        "Temporal SYSTEM_TIME period cannot be defined on history table '%ls'.";
    13599 16 1 ALTER_PERIOD_COLUMN
        "Period column '%ls' in a system-versioned temporal table cannot be altered.";
    13600 16 1 JSON_AUTO_WITHOUT_TABLE
        "FOR JSON AUTO requires at least one table for generating JSON objects. Use FOR JSON PATH \
         or add a FROM clause with a table name.";
    13601 16 1 JSON_NAME_CONFLICT
        "Property '%ls' cannot be generated in JSON output due to a conflict with another column \
         name or alias. Use different names and aliases for each column in SELECT list.";
    13602 16 1 FOR_JSON_NOT_ALLOWED "The FOR JSON clause is not allowed in a %ls statement.";
    13603 16 1 JSON_NAME_INVALID
        "Property '%ls' cannot be generated in JSON output due to invalid character in the column \
         name or alias. Column name or alias that contains '..', starts or ends with '.' is not \
         allowed in query that has FOR JSON clause.";
    13605 16 1 JSON_UNNAMED_COLUMN
        "Column expressions and data sources without names or aliases cannot be formatted as JSON \
         text using FOR JSON clause. Add alias to the unnamed column or table.";
    13607 16 4 JSON_PATH_SYNTAX
        "JSON path is not properly formatted. Unexpected character '%ls' is found at position %d.";
    13608 16 1 JSON_PROPERTY_NOT_FOUND "Property cannot be found on the specified JSON path.";
    13609 16 4 JSON_SYNTAX
        "JSON text is not properly formatted. Unexpected character '%ls' is found at position %d.";
    13611 16 1 JSON_NOT_OPENABLE
        "Value referenced by JSON path is not an array or object and cannot be opened with \
         OPENJSON.";
    13612 16 1 JSON_NOT_BASE64
        "Cannot convert a string value found in the JSON text to binary value because it is not \
         Base64 encoded.";
    13618 16 1 AS_JSON_TYPE
        "AS JSON option can be specified only for column of nvarchar(max) type in WITH clause.";
    13619 16 1 JSON_PATH_UNSUPPORTED "Unsupported JSON path found in argument 2 of JSON_MODIFY.";
    13620 16 1 ROOT_WITHOUT_ARRAY_WRAPPER
        "ROOT option and WITHOUT_ARRAY_WRAPPER option cannot be used together in FOR JSON. Remove \
         one of these options.";
    13621 16 1 JSON_ARRAY_NOT_FOUND "Array cannot be found in the specified JSON path.";
    13623 16 1 JSON_SCALAR_NOT_FOUND "Scalar value cannot be found in the specified JSON path.";
    13624 16 1 JSON_OBJECT_NOT_FOUND "Object or array cannot be found in the specified JSON path.";
    13625 16 1 JSON_VALUE_TRUNCATED "String value in the specified JSON path would be truncated.";
    13636 16 1 NOT_GZIP
        "Encountered an error while decompressing the input. The input is not in the GZIP format.";
    13704 16 1 VERSIONED_ADD_IDENTITY
        "System-versioned table schema modification failed because history table '%ls' has \
         IDENTITY column specification. Consider dropping all IDENTITY column specifications and \
         trying again.";
    13724 16 1 VERSIONED_ADD_COMPUTED
        "System-versioned table schema modification failed because adding computed column while \
         system-versioning is ON is not supported.";
    13743 16 1 RETENTION_INVALID
        "%d is not a valid value for system versioning history retention period.";
    13744 15 1 RETENTION_UNIT
        "'%ls' is not a valid history retention period unit for system versioning.";
    13749 16 1 RETENTION_TOO_LONG
        "The period of %d %ls is too big for system versioning history retention.";
    13757 16 1 HISTORY_DEFINED
        "Temporal table '%ls' already has history table defined. Consider dropping \
         system_versioning first if you want to use different history table.";
    13765 16 1 RETENTION_WITHOUT_INDEX
        "Setting finite retention period failed on system-versioned temporal table '%ls' because \
         the history table '%ls' does not contain required clustered index. Consider creating a \
         clustered columnstore or B-tree index starting with the column that matches end of \
         SYSTEM_TIME period, on the history table.";
    14138 16 1 INVALID_OPTION_NAME "Invalid option name.";
}
