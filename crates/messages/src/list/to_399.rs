//! Messages 1 to 399; see [`crate`] for what a line says.

use crate::messages;

messages! {
    1 11 1 APP_LOCK_WITHOUT_TRANSACTION
        "You attempted to %ls a transactional application lock without an active transaction.";
    102 15 1 SYNTAX_NEAR "Incorrect syntax near '%ls'.";
    103 15 4 NAME_TOO_LONG "The %ls that starts with '%ls' is too long. Maximum length is %d.";
    104 16 1 ORDER_BY_NOT_IN_UNION_LIST
        "ORDER BY items must appear in the select list if the statement contains a UNION, \
         INTERSECT or EXCEPT operator.";
    105 15 1 UNCLOSED_QUOTE "Unclosed quotation mark after the character string '%ls'.";
    107 15 1 UNKNOWN_PREFIX
        "The column prefix '%ls' does not match with a table name or alias name used in the query.";
    108 16 1 ORDER_BY_POSITION
        "The ORDER BY position number %d is out of range of the number of items in the select \
         list.";
    109 15 1 VALUES_FEWER_THAN_COLUMNS
        "There are more columns in the %ls than values specified in the %ls. The number of values \
         in the VALUES clause must match the number of columns specified in the INSERT statement.";
    110 15 1 VALUES_MORE_THAN_COLUMNS
        "There are fewer columns in the %ls than values specified in the %ls. The number of values \
         in the VALUES clause must match the number of columns specified in the INSERT statement.";
    111 15 1 MUST_BE_FIRST_IN_BATCH "'%ls' must be the first statement in a query batch.";
    113 15 1 UNCLOSED_COMMENT "Missing end comment mark '*/'.";
    116 16 1 SUBQUERY_SEVERAL_COLUMNS
        "Only one expression can be specified in the select list when the subquery is not \
         introduced with EXISTS.";
    117 15 1 TOO_MANY_PREFIXES
        "The object name '%ls' contains more than the maximum number of prefixes. The maximum is \
         %d.";
    119 15 1 PARAMETERS_MUST_BE_NAMED
        "Must pass parameter number %d and subsequent parameters as '@name = value'. After the \
         form '@name = value' has been used, all subsequent parameters must be passed in the form \
         '@name = value'.";
    120 15 1 SELECT_FEWER_THAN_COLUMNS
        "The select list for the INSERT statement contains fewer items than the insert list. The \
         number of SELECT values must match the number of INSERT columns.";
    121 15 1 SELECT_MORE_THAN_COLUMNS
        "The select list for the INSERT statement contains more items than the insert list. The \
         number of SELECT values must match the number of INSERT columns.";
    126 15 1 INVALID_PSEUDOCOLUMN "Invalid pseudocolumn \"%ls\".";
    127 15 1 TOP_NEGATIVE "A TOP N or FETCH rowcount value may not be negative.";
    128 15 1 NAME_NOT_PERMITTED
        "The name \"%ls\" is not permitted in this context. Valid expressions are constants, \
         constant expressions, and (in some contexts) variables. Column names are not permitted.";
    129 15 1 FILLFACTOR_RANGE
        "Fillfactor %d is not a valid percentage; fillfactor must be between 1 and 100.";
    130 15 1 AGGREGATE_OF_AGGREGATE
        "Cannot perform an aggregate function on an expression containing an aggregate or a \
         subquery.";
    131 15 3 TYPE_SIZE_TOO_LARGE
        "The size (%d) given to the type '%ls' exceeds the maximum allowed for any data type (%d).";
    132 15 1 DUPLICATE_LABEL
        "The label '%ls' has already been declared. Label names must be unique within a query \
         batch or stored procedure.";
    133 15 1 UNKNOWN_LABEL
        "A GOTO statement references the label '%ls' but the label has not been declared.";
    134 15 2 DUPLICATE_VARIABLE
        "The variable name '%ls' has already been declared. Variable names must be unique within a \
         query batch or stored procedure.";
    135 15 1 BREAK_OUTSIDE_LOOP
        "Cannot use a BREAK statement outside the scope of a WHILE statement.";
    136 15 1 CONTINUE_OUTSIDE_LOOP
        "Cannot use a CONTINUE statement outside the scope of a WHILE statement.";
    137 15 2 UNDECLARED_VARIABLE "Must declare the scalar variable \"%ls\".";
    140 15 1 IF_UPDATE_OUTSIDE_TRIGGER "Can only use IF UPDATE within a CREATE TRIGGER statement.";
    141 15 1 ASSIGNING_SELECT_RETURNS_ROWS
        "A SELECT statement that assigns a value to a variable must not be combined with \
         data-retrieval operations.";
    142 15 2 INCORRECT_CONSTRAINT_SYNTAX "Incorrect syntax for definition of the '%ls' constraint.";
    144 15 1 AGGREGATE_IN_GROUP_BY
        "Cannot use an aggregate or a subquery in an expression used for the group by list of a \
         GROUP BY clause.";
    145 15 1 ORDER_BY_NOT_IN_DISTINCT_LIST
        "ORDER BY items must appear in the select list if SELECT DISTINCT is specified.";
    147 15 1 AGGREGATE_IN_WHERE
        "An aggregate may not appear in the WHERE clause unless it is in a subquery contained in a \
         HAVING clause or a select list, and the column being aggregated is an outer reference.";
    148 15 1 INCORRECT_WAITFOR_TIME "Incorrect time syntax in time string '%ls' used with WAITFOR.";
    153 15 1 INVALID_OPTION_USAGE "Invalid usage of the option %ls in the %ls statement.";
    155 15 1 UNKNOWN_OPTION "'%ls' is not a recognized %ls option.";
    156 15 1 SYNTAX_NEAR_KEYWORD "Incorrect syntax near the keyword '%ls'.";
    157 15 1 AGGREGATE_IN_SET "An aggregate may not appear in the set list of an UPDATE statement.";
    158 15 1 AGGREGATE_IN_OUTPUT "An aggregate may not appear in the OUTPUT clause.";
    164 15 1 GROUP_BY_WITHOUT_COLUMN
        "Each GROUP BY expression must contain at least one column that is not an outer reference.";
    166 15 1 DATABASE_PREFIX_NOT_ALLOWED
        "'%ls' does not allow specifying the database name as a prefix to the object name.";
    168 15 1 FLOAT_LITERAL_RANGE
        "The floating point value '%ls' is out of the range of computer representation (8 bytes).";
    173 15 1 COLUMN_WITHOUT_TYPE "The definition for column '%ls' must include a data type.";
    174 15 1 FUNCTION_ARGUMENT_COUNT "The %ls function requires %d argument(s).";
    175 15 1 AGGREGATE_IN_COMPUTED_OR_CHECK
        "An aggregate may not appear in a computed column expression or check constraint.";
    177 15 1 IDENTITY_FUNCTION_WITHOUT_INTO
        "The IDENTITY function can only be used when the SELECT statement has an INTO clause.";
    178 15 1 RETURN_VALUE_NOT_ALLOWED
        "A RETURN statement with a return value cannot be used in this context.";
    179 15 1 OUTPUT_OF_CONSTANT
        "Cannot use the OUTPUT option when passing a constant to a stored procedure.";
    189 15 1 FUNCTION_ARGUMENT_RANGE "The %ls function requires %d to %d arguments.";
    191 15 1 NESTED_TOO_DEEPLY
        "Some part of your SQL statement is nested too deeply. Rewrite the query or break it up \
         into smaller queries.";
    193 15 1 TEMPORARY_NAME_TOO_LONG
        "The object or column name starting with '%ls' is too long. The maximum length is %d \
         characters.";
    195 15 1 NOT_RECOGNIZED "'%ls' is not a recognized %ls.";
    201 16 4 PARAMETER_NOT_SUPPLIED
        "Procedure or function '%ls' expects parameter '%ls', which was not supplied.";
    205 16 1 SET_OPERATION_COLUMN_COUNT
        "All queries combined using a UNION, INTERSECT or EXCEPT operator must have an equal \
         number of expressions in their target lists.";
    206 16 2 TYPE_CLASH "Operand type clash: %ls is incompatible with %ls";
    207 16 1 INVALID_COLUMN "Invalid column name '%ls'.";
    208 16 1 INVALID_OBJECT "Invalid object name '%ls'.";
    209 16 1 AMBIGUOUS_COLUMN "Ambiguous column name '%ls'.";
    213 16 7 COLUMN_COUNT_MISMATCH
        "Column name or number of supplied values does not match table definition.";
    214 16 2 PARAMETER_OF_TYPE_EXPECTED "Procedure expects parameter '%ls' of type '%ls'.";
    215 16 1 NOT_A_FUNCTION
        "Parameters supplied for object '%ls' which is not a function. If the parameters are \
         intended as a table hint, a WITH keyword is required.";
    216 16 1 FUNCTION_WITHOUT_PARAMETERS "Parameters were not supplied for the function '%ls'.";
    217 16 1 NESTING_LEVEL
        "Maximum stored procedure, function, trigger, or view nesting level exceeded (limit %d).";
    218 16 1 TYPE_NOT_FOUND
        "Could not find the type '%ls'. Either it does not exist or you do not have the necessary \
         permission.";
    219 16 1 TYPE_EXISTS
        "The type '%ls.%ls' already exists, or you do not have permission to create it.";
    220 16 1 INTEGER_OVERFLOW "Arithmetic overflow error for data type %ls, value = %d.";
    226 16 6 NOT_IN_TRANSACTION "%ls statement not allowed within multi-statement transaction.";
    227 15 1 NOT_A_METHOD_OR_PROPERTY "\"%ls\" is not a valid function, property, or field.";
    229 14 5 OBJECT_PERMISSION_DENIED
        "The %ls permission was denied on the object '%ls', database '%ls', schema '%ls'.";
    230 14 1 COLUMN_PERMISSION_DENIED
        "The %ls permission was denied on the column '%ls' of the object '%ls', database '%ls', \
         schema '%ls'.";
    232 16 3 FLOAT_OVERFLOW "Arithmetic overflow error for type %ls, value = %ls.";
    234 16 2 MONEY_RESULT_SPACE
        "There is insufficient result space to convert a money value to %ls.";
    235 16 0 MONEY_SYNTAX
        "Cannot convert a char value to money. The char value has incorrect syntax.";
    236 16 0 MONEY_OVERFLOW
        "The conversion from char data type to money resulted in a money overflow error.";
    240 16 1 RECURSIVE_TYPES_DIFFER
        "Types don't match between the anchor and the recursive part in column \"%ls\" of \
         recursive query \"%ls\".";
    241 16 1 DATE_SYNTAX
        "Conversion failed when converting date and/or time from character string.";
    242 16 3 DATE_OUT_OF_RANGE
        "The conversion of a %ls data type to a %ls data type resulted in an out-of-range value.";
    243 16 1 UNKNOWN_SYSTEM_TYPE "Type %ls is not a defined system type.";
    244 16 1 STRING_OVERFLOWS_SMALL_INTEGER
        "The conversion of the %ls value '%ls' overflowed an %ls column. Use a larger integer \
         column.";
    245 16 1 CONVERSION_FAILED
        "Conversion failed when converting the %ls value '%ls' to data type %ls.";
    246 16 1 RECURSIVE_WITHOUT_ANCHOR "No anchor member was specified for recursive query \"%ls\".";
    247 16 1 ANCHOR_IN_RECURSIVE_PART
        "An anchor member was found in the recursive part of recursive query \"%ls\".";
    248 16 1 STRING_OVERFLOWS_INT "The conversion of the %ls value '%ls' overflowed an int column.";
    252 16 1 RECURSIVE_WITHOUT_UNION_ALL
        "Recursive common table expression '%ls' does not contain a top-level UNION ALL operator.";
    253 16 1 SEVERAL_RECURSIVE_REFERENCES
        "Recursive member of a common table expression '%ls' has multiple recursive references.";
    257 16 3 IMPLICIT_CONVERSION_NOT_ALLOWED
        "Implicit conversion from data type %ls to %ls is not allowed. Use the CONVERT function to \
         run this query.";
    258 15 1 METHODS_NOT_ALLOWED "Cannot call methods on %ls.";
    259 16 1 SYSTEM_CATALOG_UPDATE "Ad hoc updates to system catalogs are not allowed.";
    262 14 1 DATABASE_PERMISSION_DENIED "%ls permission denied in database '%ls'.";
    263 16 1 NO_TABLE_TO_SELECT_FROM "Must specify table to select from.";
    264 16 1 COLUMN_SET_TWICE
        "The column name '%ls' is specified more than once in the SET clause or column list of an \
         INSERT. A column cannot be assigned more than one value in the same clause. Modify the \
         clause to make sure that a column is updated only once. If this statement updates or \
         inserts columns into a view, column aliasing can conceal the duplication in your code.";
    266 16 2 TRANSACTION_COUNT_MISMATCH
        "Transaction count after EXECUTE indicates a mismatching number of BEGIN and COMMIT \
         statements. Previous count = %d, current count = %d.";
    271 16 1 COMPUTED_COLUMN_MODIFIED
        "The column \"%ls\" cannot be modified because it is either a computed column or is the \
         result of a UNION operator.";
    272 16 1 TIMESTAMP_UPDATED "Cannot update a timestamp column.";
    273 16 1 TIMESTAMP_INSERTED
        "Cannot insert an explicit value into a timestamp column. Use INSERT with a column list to \
         exclude the timestamp column, or insert a DEFAULT into the timestamp column.";
    277 16 1 UNPIVOT_COLUMN_TWICE
        "The column \"%.*ls\" is specified multiple times in the column list of the UNPIVOT \
         operator.";
    281 16 1 INVALID_STYLE
        "%d is not a valid style number when converting from %ls to a character string.";
    289 16 1 CANNOT_CONSTRUCT_DATE
        "Cannot construct data type %ls, some of the arguments have values which are not valid.";
    290 16 2 INVALID_EXECUTE_METHOD
        "Invalid EXECUTE statement using object \"ErrorMessage\", method \"Lock\".";
    293 16 0 SMALLMONEY_SYNTAX
        "Cannot convert char value to smallmoney. The char value has incorrect syntax.";
    294 16 0 SMALLMONEY_OVERFLOW
        "The conversion from char data type to smallmoney data type resulted in a smallmoney \
         overflow error.";
    295 16 3 SMALLDATETIME_SYNTAX
        "Conversion failed when converting character string to smalldatetime data type.";
    300 14 1 SERVER_PERMISSION_DENIED
        "%ls permission was denied on object 'server', database 'master'.";
    305 16 1 XML_NOT_COMPARABLE
        "The XML data type cannot be compared or sorted, except when using the IS NULL operator.";
    306 16 2 TEXT_NOT_COMPARABLE
        "The text, ntext, and image data types cannot be compared or sorted, except when using IS \
         NULL or LIKE operator.";
    307 16 1 HINTED_INDEX_ID_MISSING
        "Index ID %d on table '%ls' (specified in the FROM clause) does not exist.";
    308 16 1 HINTED_INDEX_MISSING
        "Index '%ls' on table '%ls' (specified in the FROM clause) does not exist.";
    310 15 1 MAXRECURSION_RANGE
        "The value %d specified for the MAXRECURSION option exceeds the allowed maximum of 32767.";
    313 16 3 TOO_FEW_ARGUMENTS
        "An insufficient number of arguments were supplied for the procedure or function %ls.";
    315 16 1 HINTED_INDEX_DISABLED
        "Index \"%ls\" on table \"%ls\" (specified in the FROM clause) is disabled or resides in a \
         filegroup which is not online.";
    319 15 1 WITH_NEEDS_SEMICOLON
        "Incorrect syntax near the keyword 'with'. If this statement is a common table expression, \
         an xmlnamespaces clause or a change tracking context clause, the previous statement must \
         be terminated with a semicolon.";
    321 15 1 UNKNOWN_TABLE_HINT
        "\"%ls\" is not a recognized table hints option. If it is intended as a parameter to a \
         table-valued function or to the CHANGETABLE function, ensure that your database \
         compatibility mode is set to 90.";
    330 15 1 OUTPUT_INTO_VIEW
        "The target '%ls' of the OUTPUT INTO clause cannot be a view or common table expression.";
    331 16 1 OUTPUT_INTO_TRIGGERS
        "The target table '%ls' of the OUTPUT INTO clause cannot have any enabled triggers.";
    332 16 1 OUTPUT_INTO_FOREIGN_KEY
        "The target table '%ls' of the OUTPUT INTO clause cannot be on either side of a (primary \
         key, foreign key) relationship. Found reference constraint '%ls'.";
    333 16 1 OUTPUT_INTO_CHECK
        "The target table '%ls' of the OUTPUT INTO clause cannot have any enabled check \
         constraints or any enabled rules. Found check constraint or rule '%ls'.";
    334 16 1 OUTPUT_WITH_TRIGGERS
        "The target table '%ls' of the DML statement cannot have any enabled triggers if the \
         statement contains an OUTPUT clause without INTO clause.";
    346 15 1 READONLY_NOT_TABLE
        "The parameter \"%ls\" can not be declared READONLY since it is not a table-valued \
         parameter.";
    352 15 1 TABLE_PARAMETER_NOT_READONLY
        "The table-valued parameter \"%ls\" must be declared with the READONLY option.";
    354 15 1 NESTED_CHANGE_INTO_VIEW
        "The target '%ls' of the INSERT statement cannot be a view or common table expression when \
         the FROM clause contains a nested INSERT, UPDATE, DELETE, or MERGE statement.";
    355 15 1 NESTED_CHANGE_INTO_TRIGGERS
        "The target table '%ls' of the INSERT statement cannot have any enabled triggers when the \
         FROM clause contains a nested INSERT, UPDATE, DELETE, or MERGE statement.";
    356 15 1 NESTED_CHANGE_INTO_FOREIGN_KEY
        "The target table '%ls' of the INSERT statement cannot be on either side of a (primary \
         key, foreign key) relationship when the FROM clause contains a nested INSERT, UPDATE, \
         DELETE, or MERGE statement. Found reference constraint '%ls'.";
    362 16 1 FORCESEEK_COLUMN_MISMATCH
        "The query processor could not produce a query plan because the name '%ls' in the \
         FORCESEEK hint on table or view '%ls' did not match the key column names of the index \
         '%ls'.";
    363 16 1 FORCESEEK_TOO_MANY_COLUMNS
        "The query processor could not produce a query plan because the FORCESEEK hint on table or \
         view '%ls' specified more seek columns than the number of key columns in index '%ls'.";
}
