//! Messages 7000 to 9999; see [`crate`] for what a line says.

use crate::messages;

messages! {
    7116 16 4 LOB_OFFSET "Offset %d is not in the range of available LOB data.";
    7119 16 1 LOB_TOO_LARGE
        "Attempting to grow LOB beyond maximum allowed size of 2147483647 bytes.";
    7133 16 1 NULL_TEXT_POINTER
        "NULL textptr (text, ntext, or image pointer) passed to %ls function.";
    7135 16 1 LOB_DELETION_LENGTH
        "Deletion length %d is not in the range of available text, ntext, or image data.";
    7202 11 2 SERVER_NOT_FOUND
        "Could not find server '%ls' in sys.servers. Verify that the correct server name was \
         specified. If necessary, execute the stored procedure sp_addlinkedserver to add the \
         server to sys.servers.";
    7729 16 1 INDEX_NOT_PARTITIONED
        "Cannot specify partition number in the alter index statement as the index '%ls' is not \
         partitioned.";
    7735 16 1 PARTITION_OF_NOT_PARTITIONED
        "Cannot specify partition number in alter index statement to rebuild or reorganize a \
         partition of %ls is not partitioned.";
    7940 16 1 DETACH_SYSTEM_DATABASE
        "System databases master, model, msdb, and tempdb cannot be detached.";
    7955 16 2 INVALID_SPID "Invalid SPID %d specified.";
    7969 10 1 NO_OPEN_TRANSACTIONS "No active open transactions.";
    7970 10 1 OLDEST_TRANSACTION
        "Transaction information for database '%ls'.\n\nOldest active transaction:\n    SPID \
         (server process ID): %d\n    Transaction ID: %ls\n    LSN           : (%ls)\n    Log \
         records   : %d\n    Log bytes     : %d";
    7983 14 36 DBCC_PERMISSION
        "User '%ls' does not have permission to run DBCC %ls for database '%ls'.";
    7997 16 1 NO_IDENTITY_COLUMN "'%ls' does not contain an identity column.";
    7998 10 1 IDENTITY_INFORMATION
        "Checking identity information: current identity value '%ls', current column value '%ls'.";
    7999 16 9 DBCC_INDEX_NOT_FOUND "Could not find any index named '%ls' for table '%ls'.";
    8001 16 1 VARIANT_METADATA "%lsMeta-information is invalid for the Sql Variant parameter.";
    8003 16 1 TOO_MANY_RPC_PARAMETERS
        "The incoming tabular data stream (TDS) remote procedure call (RPC) protocol stream is \
         incorrect. Too many parameters were provided in this RPC request. The maximum is %d.";
    8004 16 1 RPC_NAME_INVALID
        "The incoming tabular data stream (TDS) remote procedure call (RPC) protocol stream is \
         incorrect. The RPC name is invalid.";
    8006 16 1 PARAMETER_FLAGS "%lsThe parameter status flags are invalid.";
    8007 16 1 PARAMETER_CHUNKS
        "%lsThe chunking format is incorrect for a large object parameter of type 0x%ls.";
    8009 16 1 PARAMETER_TYPE_UNKNOWN "%lsData type 0x%ls is unknown.";
    8013 16 1 VARIANT_LENGTH "%lsData type 0x62 (sql_variant) has an invalid instance length.";
    8015 16 1 UNTYPED_OUTPUT
        "%lsData type 0x1F is an untyped NULL but is marked as an output parameter.";
    8016 16 1 PARAMETER_TYPE_LENGTH
        "%lsData type 0x%ls has an invalid data length or metadata length.";
    8017 16 1 PARAMETER_TYPE_PRECISION "%lsData type 0x%ls has an invalid precision or scale.";
    8018 16 1 DEPRECATED_OUTPUT
        "Invalid parameter %d ('%ls'): Data type 0x%ls is a deprecated large object, or LOB, but \
         is marked as output parameter. Deprecated types are not supported as output parameters. \
         Use current large object types instead.";
    8023 16 1 RPC_VALUE_INVALID
        "%lsThe supplied value is not a valid instance of data type %ls. Check the source data for \
         invalid values. An example of an invalid value is data of numeric type with scale greater \
         than precision.";
    8028 16 1 RPC_LENGTH_INVALID
        "%lsThe supplied length is not valid for data type %ls. Check the source data for invalid \
         lengths. An example of an invalid length is data of nchar type with an odd length in \
         bytes.";
    8029 16 1 TABLE_PARAMETER_TOKEN
        "%ls unexpected token encountered processing a table-valued parameter.";
    8047 16 1 TABLE_PARAMETER_DATABASE "%ls has a non-zero length database name specified.";
    8050 16 1 TABLE_PARAMETER_COLUMNS "%ls has an invalid column count specified.";
    8055 16 1 TABLE_PARAMETER_ORDER "%ls has invalid column ordering metadata specified.";
    8101 16 1 IDENTITY_NEEDS_COLUMN_LIST
        "An explicit value for the identity column in table '%ls' can only be specified when a \
         column list is used and IDENTITY_INSERT is ON.";
    8102 16 1 IDENTITY_UPDATED "Cannot update identity column '%ls'.";
    8106 16 1 NO_IDENTITY_PROPERTY
        "Table '%ls' does not have the identity property. Cannot perform SET operation.";
    8107 16 1 IDENTITY_INSERT_ELSEWHERE
        "IDENTITY_INSERT is already ON for another table. Cannot perform SET operation for table \
         '%ls'.";
    8108 16 1 IDENTITY_INHERITED
        "Cannot add identity column, using the SELECT INTO statement, to table '%ls', which \
         already has column '%ls' that inherits the identity property.";
    8109 16 1 SELECT_INTO_SEVERAL_IDENTITIES
        "Attempting to add multiple identity columns to table '%ls' using the SELECT INTO \
         statement.";
    8110 16 0 SEVERAL_PRIMARY_KEYS "Cannot add multiple PRIMARY KEY constraints to table '%ls'.";
    8111 16 1 PRIMARY_KEY_NULLABLE
        "Cannot define PRIMARY KEY constraint on nullable column in table '%ls'.";
    8112 16 0 SEVERAL_CLUSTERED_CONSTRAINTS
        "Cannot add more than one clustered index for constraints on table '%ls'.";
    8114 16 2 ERROR_CONVERTING "Error converting data type %ls to %ls.";
    8115 16 1 ARITHMETIC_OVERFLOW "Arithmetic overflow error converting %ls to data type %ls.";
    8116 16 1 ARGUMENT_TYPE "Argument data type %ls is invalid for argument %d of %ls function.";
    8117 16 1 OPERAND_TYPE "Operand data type %ls is invalid for %ls operator.";
    8120 16 1 NOT_GROUPED_IN_SELECT
        "Column '%ls' is invalid in the select list because it is not contained in either an \
         aggregate function or the GROUP BY clause.";
    8121 16 1 NOT_GROUPED_IN_HAVING
        "Column '%ls' is invalid in the HAVING clause because it is not contained in either an \
         aggregate function or the GROUP BY clause.";
    8124 16 1 OUTER_AGGREGATE_SEVERAL_COLUMNS
        "Multiple columns are specified in an aggregated expression containing an outer reference. \
         If an expression being aggregated contains an outer reference, then that outer reference \
         must be the only column referenced in the expression.";
    8127 16 1 NOT_GROUPED_IN_ORDER_BY
        "Column \"%ls\" is invalid in the ORDER BY clause because it is not contained in either an \
         aggregate function or the GROUP BY clause.";
    8133 16 1 CASE_OF_NULLS
        "At least one of the result expressions in a CASE specification must be an expression \
         other than the NULL constant.";
    8134 16 1 DIVIDE_BY_ZERO "Divide by zero error encountered.";
    8137 16 1 MODIFY_NOT_EXPECTED
        "Incorrect use of the XML data type method 'modify'. A non-mutator method is expected in \
         this context.";
    8139 16 0 FOREIGN_KEY_COLUMN_COUNT
        "Number of referencing columns in foreign key differs from number of referenced columns, \
         table '%ls'.";
    8143 16 1 PARAMETER_SUPPLIED_TWICE "Parameter '%ls' was supplied multiple times.";
    8144 16 2 TOO_MANY_ARGUMENTS "Procedure or function %ls has too many arguments specified.";
    8145 16 1 NOT_A_PARAMETER "%ls is not a parameter for procedure %ls.";
    8146 16 2 PROCEDURE_WITHOUT_PARAMETERS
        "Procedure %ls has no parameters and arguments were supplied.";
    8147 16 1 IDENTITY_NULLABLE "Could not create IDENTITY attribute on nullable column '%ls'.";
    8148 16 0 SEVERAL_DEFAULTS
        "More than one column DEFAULT constraint specified for column '%ls', table '%ls'.";
    8150 16 0 SEVERAL_NULL_CONSTRAINTS
        "Multiple NULL constraints were specified for column '%ls', table '%ls'.";
    8151 16 0 PRIMARY_AND_UNIQUE
        "Both a PRIMARY KEY and UNIQUE constraint have been defined for column '%ls', table '%ls'. \
         Only one is allowed.";
    8152 16 10 TRUNCATED_ANYWHERE "String or binary data would be truncated.";
    8155 16 2 COLUMN_WITHOUT_NAME "No column name was specified for column %d of '%ls'.";
    8156 16 1 COLUMN_NAMED_TWICE "The column '%ls' was specified multiple times for '%ls'.";
    8158 16 1 MORE_COLUMNS_THAN_NAMES
        "'%ls' has more columns than were specified in the column list.";
    8159 16 1 FEWER_COLUMNS_THAN_NAMES
        "'%ls' has fewer columns than were specified in the column list.";
    8161 16 1 GROUPING_ARGUMENT
        "Argument %d of the %ls function does not match any of the expressions in the GROUP BY \
         clause.";
    8162 16 2 NOT_AN_OUTPUT_PARAMETER
        "The formal parameter \"%ls\" was not declared as an OUTPUT parameter, but the actual \
         parameter passed in requested output.";
    8164 16 1 INSERT_EXEC_NESTED "An INSERT EXEC statement cannot be nested.";
    8167 16 1 UNPIVOT_TYPES
        "The type of column \"%ls\" conflicts with the type of other columns specified in the \
         UNPIVOT list.";
    8169 16 2 GUID_SYNTAX
        "Conversion failed when converting from a character string to uniqueidentifier.";
    8170 16 2 GUID_RESULT_SPACE
        "Insufficient result space to convert uniqueidentifier value to %ls.";
    8171 16 2 HINT_INVALID "Hint '%ls' on object '%ls' is invalid.";
    8172 16 1 XML_ARGUMENT_NOT_LITERAL
        "The argument %d of the XML data type method \"%ls\" must be a string literal.";
    8178 16 1 QUERY_PARAMETER_NOT_SUPPLIED
        "The parameterized query expects the parameter '%ls', which was not supplied.";
    8179 16 2 PREPARED_HANDLE_NOT_FOUND "Could not find prepared statement with handle %d.";
    8180 16 1 NOT_PREPARED "Statement(s) could not be prepared.";
    8183 16 1 COMPUTED_NOT_PERSISTED
        "Only UNIQUE or PRIMARY KEY constraints can be created on computed columns, while CHECK, \
         FOREIGN KEY, and NOT NULL constraints require that computed columns be persisted.";
    8196 16 1 ROWGUIDCOL_TWICE "Duplicate column specified as ROWGUIDCOL.";
    8197 16 4 TRIGGER_TARGET_INVALID
        "The object '%ls' does not exist or is invalid for this operation.";
    8618 16 2 WORKTABLE_ROW_TOO_LARGE
        "The query processor could not produce a query plan because a worktable is required, and \
         its minimum row size exceeds the maximum allowable of %d bytes. A typical reason why a \
         worktable is required is a GROUP BY or ORDER BY clause in the query. If the query has a \
         GROUP BY or ORDER BY clause, consider reducing the number and/or size of the fields in \
         these clauses. Consider using prefix (LEFT()) or hashing (CHECKSUM()) of fields for \
         grouping or prefix for ordering. Note however that this will change the behavior of the \
         query.";
    8622 16 1 NO_PLAN_FOR_HINTS
        "Query processor could not produce a query plan because of the hints defined in this \
         query. Resubmit the query without specifying any hints and without using SET FORCEPLAN.";
    8623 16 1 QUERY_TOO_COMPLEX
        "The query processor ran out of internal resources and could not produce a query plan. \
         This is a rare event and only expected for extremely complex queries or queries that \
         reference a very large number of tables or partitions. Please simplify the query. If you \
         believe you have received this message in error, contact Customer Support Services for \
         more information.";
    8631 17 1 STACK_LIMIT
        "Internal error: Server stack limit has been reached. Please look for potentially deep \
         nesting in your query, and try to simplify it.";
    8646 21 1 INDEX_ENTRY_MISSING
        "Unable to find index entry in index ID %d, of table %d, in database '%ls'. The indicated \
         index is corrupt or there is a problem with the current update plan. Run DBCC CHECKDB or \
         DBCC CHECKTABLE.";
    8649 17 1 COST_OVER_LIMIT
        "The query has been canceled because the estimated cost of this query (%d) exceeds the \
         configured threshold of %d. Contact the system administrator.";
    8655 16 1 PLAN_INDEX_DISABLED
        "The query processor is unable to produce a plan because the index '%ls' on table or view \
         '%ls' is disabled.";
    8660 16 1 INDEXED_VIEW_GROUP_BY_NOT_SELECTED
        "Cannot create the clustered index \"%ls\" on view \"%ls\" because the select list of the \
         view definition does not include all columns in the GROUP BY clause. Consider adding \
         these columns to the select list.";
    8661 16 1 INDEXED_VIEW_KEY_NOT_GROUPED
        "Cannot create the clustered index \"%ls\" on view \"%ls\" because the index key includes \
         columns that are not in the GROUP BY clause. Consider eliminating columns that are not in \
         the GROUP BY clause from the index key.";
    8662 16 1 INDEXED_VIEW_SUM_NULLABLE
        "Cannot create the clustered index \"%ls\" on view \"%ls\" because the view references an \
         unknown value (SUM aggregate of nullable expression). Consider referencing only \
         non-nullable values in SUM. ISNULL() may be useful for this.";
    8668 16 1 INDEXED_VIEW_EXPRESSION_ON_AGGREGATE
        "Cannot create the clustered index '%ls' on view '%ls' because the select list of the view \
         contains an expression on result of aggregate function or grouping column. Consider \
         removing expression on result of aggregate function or grouping column from select list.";
    8672 16 1 MERGE_SAME_ROW_TWICE
        "The MERGE statement attempted to UPDATE or DELETE the same row more than once. This \
         happens when a target row matches more than one source row. A MERGE statement cannot \
         UPDATE/DELETE the same row of the target table multiple times. Refine the ON clause to \
         ensure a target row matches at most one source row, or use the GROUP BY clause to group \
         the source rows.";
    8722 16 1 SEMANTIC_HINT_MISSING
        "Cannot execute query. Semantic affecting hint '%ls' appears in the '%ls' clause of object \
         '%ls' but not in the corresponding '%ls' clause. Change the OPTION (TABLE HINTS...) \
         clause so the semantic affecting hints match the WITH clause.";
    8723 16 1 TABLE_HINT_OBJECT
        "Cannot execute query. Object '%ls' is specified in the TABLE HINT clause, but is not used \
         in the query or does not match the alias specified in the query. Table references in the \
         TABLE HINT clause must match the WITH clause.";
    8727 16 1 PERCENTILE_RANGE "Input parameter of percentile function is outside of range [0, 1].";
    8748 16 1 STRING_SPLIT_ORDINAL
        "The enable_ordinal argument for STRING_SPLIT only supports constant values (not variables \
         or columns).";
    8920 16 1 DBCC_IN_TRANSACTION
        "Cannot perform a %ls operation inside a user transaction. Terminate the transaction and \
         reissue the statement.";
    8928 16 1 CHECK_FAULT "%ls";
    8966 21 1 CATALOG_DAMAGED "The catalog is damaged: %ls of object %d cannot be read.";
    8985 16 1 DBCC_FILE_NOT_FOUND
        "Could not locate file '%ls' for database '%ls' in sys.database_files. The file either \
         does not exist, or was dropped.";
    8987 16 1 DBCC_NO_HELP "No help available for DBCC statement '%ls'.";
    8989 10 1 CHECK_COUNTS
        "CHECKDB found %d allocation errors and %d consistency errors in database '%ls'.";
    9001 21 1 LOG_NOT_AVAILABLE
        "The log for database '%ls' is not available. Check the error log for details: %ls.";
    9002 17 2 LOG_FULL "The transaction log for database '%ls' is full due to %ls.";
    9004 21 1 LOG_DAMAGED
        "An error occurred while processing the log for database '%ls': %ls. If possible, restore \
         from backup. If a backup is not available, it might be necessary to rebuild the log.";
    9005 16 1 DBLOG_LSN_INVALID
        "Either start LSN or end LSN specified in OpenRowset(DBLog, ...) is invalid.";
    9008 10 1 LOG_FILE_NOT_SHRUNK
        "Cannot shrink log file %d (%ls) because the logical log file located at the end of the \
         file is in use.";
    9015 24 1 LOG_RECORD_CORRUPT "The log record of database '%ls' is corrupted: %ls.";
    9310 16 1 XQUERY_REPLACE_CONSTRUCTED
        "%lsThe 'with' clause of 'replace value of' cannot contain constructed XML.";
    9315 16 1 XQUERY_COMPUTED_NAME
        "%lsOnly constant expressions are supported for the name expression of computed element \
         and attribute constructors.";
    9316 16 1 XQUERY_COMPUTED_XMLNS
        "%lsCannot use 'xmlns' in the name expression of computed attribute constructor.";
    9319 16 1 XQUERY_SIMPLE_TYPE_VALUE
        "%lsStatic simple type validation: Invalid simple type value '%ls'.";
    9322 16 1 XQUERY_COMMENT_HYPHENS
        "%lsTwo consecutive '-' can only appear in a comment constructor if they are used to close \
         the comment ('-->').";
    9325 16 1 XQUERY_COMPUTED_INSTRUCTION
        "%lsComputed processing instruction constructors are not supported.";
    9326 16 1 XQUERY_COMPUTED_COMMENT "%lsComputed comment constructors are not supported.";
    9335 16 1 XQUERY_SYNTAX_NOT_SUPPORTED "%lsThe XQuery syntax '%ls' is not supported.";
    9342 16 1 XQUERY_XML_INSTANCE
        "%lsAn XML instance is only supported as the direct source of an insert using \
         sql:column/sql:variable.";
    9344 16 1 XQUERY_SQL_TYPE
        "%lsThe SQL type '%ls' is not supported with sql:column() and sql:variable().";
    9400 16 1 XML_UNEXPECTED_END "XML parsing: line %d, character %d, unexpected end of input";
    9402 16 1 XML_ENCODING "XML parsing: line %d, character %d, unable to switch the encoding";
    9411 16 1 XML_SEMICOLON_EXPECTED "XML parsing: line %d, character %d, semicolon expected";
    9413 16 1 XML_STRING_EXPECTED
        "XML parsing: line %d, character %d, A string literal was expected";
    9414 16 1 XML_EQUAL_EXPECTED "XML parsing: line %d, character %d, equal expected";
    9415 16 1 XML_LESS_IN_ATTRIBUTE
        "XML parsing: line %d, character %d, well formed check: no '<' in attribute value";
    9416 16 1 XML_HEXADECIMAL_EXPECTED
        "XML parsing: line %d, character %d, hexadecimal digit expected";
    9417 16 1 XML_DECIMAL_EXPECTED "XML parsing: line %d, character %d, decimal digit expected";
    9420 16 1 XML_ILLEGAL_CHARACTER "XML parsing: line %d, character %d, illegal xml character";
    9422 16 1 XML_DOCUMENT_SYNTAX "XML parsing: line %d, character %d, incorrect document syntax";
    9424 16 1 XML_COMMENT_SYNTAX "XML parsing: line %d, character %d, incorrect comment syntax";
    9436 16 1 XML_END_TAG "XML parsing: line %d, character %d, end tag does not match start tag";
    9437 16 1 XML_ATTRIBUTE_TWICE "XML parsing: line %d, character %d, duplicate attribute";
    9438 16 1 XML_DECLARATION_PLACE
        "XML parsing: line %d, character %d, text/xmldecl not at the beginning of input";
    9441 16 1 XML_DECLARATION_SYNTAX
        "XML parsing: line %d, character %d, incorrect xml declaration syntax";
    9448 16 1 XML_ENTITY_UNDECLARED
        "XML parsing: line %d, character %d, well formed check: undeclared entity";
    9455 16 1 XML_NAME_CHARACTER
        "XML parsing: line %d, character %d, illegal qualified name character";
    9459 16 1 XML_PREFIX_NOT_DECLARED "XML parsing: line %d, character %d, undeclared prefix";
    9460 16 1 XML_NAMESPACE_EMPTY
        "XML parsing: line %d, character %d, non default namespace with empty uri";
    9464 16 1 XML_PREFIX_XML
        "XML parsing: line %d, character %d, XML namespace prefix 'xml' can only be associated \
         with the URI http://www.w3.org/XML/1998/namespace";
    9500 16 1 XML_VALUE_TYPE "The data type '%ls' used in the VALUE method is invalid.";
    9501 16 2 XML_VARIABLE_UNRESOLVED
        "XQuery: Unable to resolve sql:variable('%ls'). The variable must be declared as a scalar \
         TSQL variable.";
    9803 16 20 INVALID_DATA_FOR_TYPE "Invalid data for type \"%ls\".";
    9810 16 1 DATEPART_NOT_SUPPORTED
        "The datepart %ls is not supported by date function %ls for data type %ls.";
    9812 16 0 TIME_ZONE_OFFSET_INVALID "The timezone provided to builtin function %ls is invalid.";
    9818 16 1 CULTURE_NOT_SUPPORTED
        "The culture parameter '%ls' provided in the function call is not supported.";
    9819 16 1 PARSE_FAILED
        "Error converting string value '%ls' into data type %ls using culture '%ls'.";
    9820 16 1 TIME_ZONE_INVALID
        "The time zone parameter '%ls' provided to AT TIME ZONE clause is invalid.";
    9828 16 1 TRANSLATE_LENGTHS
        "The second and third arguments of the TRANSLATE built-in function must contain an equal \
         number of characters.";
    9829 16 1 STRING_AGG_TOO_LONG
        "STRING_AGG aggregation result exceeded the limit of 8000 bytes. Use LOB types to avoid \
         result truncation.";
    9834 16 1 BUCKET_WIDTH
        "Invalid bucket width value passed to date_bucket function. Only positive values are \
         allowed.";
}
