//! Messages 10000 to 12999; see [`crate`] for what a line says.

use crate::messages;

messages! {
    10100 16 1 INDEXED_VIEW_DISTINCT
        "Cannot create index on view \"%ls\" because it contains the DISTINCT keyword. Consider \
         removing DISTINCT from the view or not indexing the view. Alternatively, consider \
         replacing DISTINCT with GROUP BY or COUNT_BIG(*) to simulate DISTINCT on grouping \
         columns.";
    10101 16 1 INDEXED_VIEW_TOP
        "Cannot create index on view \"%ls\" because it contains the TOP or OFFSET keyword. \
         Consider removing the TOP or OFFSET or not indexing the view.";
    10102 16 1 INDEXED_VIEW_TABLESAMPLE
        "Cannot create index on view \"%ls\" because it contains the TABLESAMPLE clause. Consider \
         removing TABLESAMPLE or not indexing the view.";
    10105 16 1 INDEXED_VIEW_OPENXML
        "Cannot create index on view \"%ls\" because it uses the OPENXML rowset provider. Consider \
         removing OPENXML or not indexing the view.";
    10106 16 1 INDEXED_VIEW_ROWSET
        "Cannot create index on view \"%ls\" because it references an internal system rowset \
         provider. Consider not indexing this view.";
    10109 16 1 INDEXED_VIEW_DERIVED_TABLE
        "Cannot create index on view \"%ls\" because it references derived table \"%ls\" (defined \
         by SELECT statement in FROM clause). Consider removing the reference to the derived table \
         or not indexing the view.";
    10110 16 1 INDEXED_VIEW_OUTER_APPLY
        "Cannot create index on view \"%ls\" because it contains an OUTER APPLY. Consider not \
         indexing the view, or removing OUTER APPLY.";
    10112 16 1 INDEXED_VIEW_JOIN_HINT
        "Cannot create index on view '%ls' because it contains an INNER join that specifies a join \
         hint. Consider removing the join hint.";
    10113 16 1 INDEXED_VIEW_OUTER_JOIN
        "Cannot create index on view \"%ls\" because it uses a LEFT, RIGHT, or FULL OUTER join, \
         and no OUTER joins are allowed in indexed views. Consider using an INNER join instead.";
    10114 16 1 INDEXED_VIEW_PIVOT
        "Cannot create index on view \"%ls\" because it uses the PIVOT operator. Consider not \
         indexing this view.";
    10115 16 1 INDEXED_VIEW_UNPIVOT
        "Cannot create index on view \"%ls\" because it uses the UNPIVOT operator. Consider not \
         indexing this view.";
    10116 16 1 INDEXED_VIEW_SET_OPERATION
        "Cannot create index on view \"%ls\" because it contains one or more UNION, INTERSECT, or \
         EXCEPT operators. Consider creating a separate indexed view for each query that is an \
         input to the UNION, INTERSECT, or EXCEPT operators of the original view.";
    10118 16 1 INDEXED_VIEW_GROUP_BY_ALL
        "Cannot create index on view \"%ls\" because it contains a GROUP BY ALL. Consider using a \
         GROUP BY instead.";
    10119 16 1 INDEXED_VIEW_GROUPING_SETS
        "Cannot create index on view \"%ls\" because it contains a CUBE, ROLLUP, or GROUPING SETS \
         operator. Consider not indexing this view.";
    10121 16 1 INDEXED_VIEW_HAVING
        "Cannot create index on view \"%ls\" because it contains a HAVING clause. Consider \
         removing the HAVING clause.";
    10125 16 1 INDEXED_VIEW_AGGREGATE
        "Cannot create index on view \"%ls\" because it uses aggregate \"%ls\". Consider \
         eliminating the aggregate, not indexing the view, or using alternate aggregates. For \
         example, for AVG substitute SUM and COUNT_BIG, or for COUNT, substitute COUNT_BIG.";
    10126 16 1 INDEXED_VIEW_DISTINCT_AGGREGATE
        "Cannot create index on view \"%ls\" because it uses aggregate \"%ls\" with the DISTINCT \
         keyword. Consider not indexing this view or eliminating DISTINCT. Consider use of a GROUP \
         BY or COUNT_BIG(*) view to simulate DISTINCT on grouping columns.";
    10127 16 1 INDEXED_VIEW_SUBQUERY
        "Cannot create index on view \"%ls\" because it contains one or more subqueries. Consider \
         changing the view to use only joins instead of subqueries. Alternatively, consider not \
         indexing the view.";
    10129 16 1 INDEXED_VIEW_TABLE_FUNCTION
        "Cannot create index on view \"%ls\" because it references the inline or multistatement \
         table-valued function \"%ls\". Consider expanding the function definition by hand in the \
         view definition, or not indexing the view.";
    10136 16 1 INDEXED_VIEW_COUNT
        "Cannot create index on view \"%ls\" because it uses the aggregate COUNT. Use COUNT_BIG \
         instead.";
    10137 16 1 INDEXED_VIEW_CTE
        "Cannot create index on view \"%ls\" because it references common table expression \
         \"%ls\". Views referencing common table expressions cannot be indexed. Consider not \
         indexing the view, or removing the common table expression from the view definition.";
    10138 16 1 INDEXED_VIEW_WITHOUT_COUNT_BIG
        "Cannot create index on view '%ls' because its select list does not include a proper use \
         of COUNT_BIG. Consider adding COUNT_BIG(*) to select list.";
    10140 16 1 INDEXED_VIEW_TABLE_HINT
        "Cannot create index on view '%ls' because the view contains a table hint. Consider \
         removing the hint.";
    10142 16 1 INDEXED_VIEW_APPLY
        "Cannot create index on view \"%ls\" because it contains an APPLY. Consider not indexing \
         the view, or removing APPLY.";
    10143 16 1 INDEXED_VIEW_WINDOW
        "Cannot create index on view \"%ls\" because it contains a ranking or aggregate window \
         function. Remove the function from the view definition or, alternatively, do not index \
         the view.";
    10147 16 1 INDEXED_VIEW_SYSTEM_TIME
        "Cannot create index on the view '%ls' because it uses temporal FOR SYSTEM_TIME clause.";
    10148 16 1 INDEXED_VIEW_OPENJSON
        "Cannot create index on the view '%ls' because it uses OPENJSON.";
    10150 16 1 INDEXED_VIEW_INLINED_FUNCTION
        "Cannot create index on the view '%ls' because it references a scalar UDF that is \
         inlineable.";
    10502 16 1 PLAN_GUIDE_EXISTS
        "Cannot create plan guide '%ls' because the statement specified by @stmt and \
         @module_or_batch, or by @plan_handle and @statement_start_offset, matches the existing \
         plan guide '%ls' in the database. Drop the existing plan guide before creating the new \
         plan guide.";
    10507 16 1 PLAN_GUIDE_NO_STATEMENT
        "Cannot create plan guide '%ls' because the statement specified by @stmt and \
         @module_or_batch, or by @plan_handle and @statement_start_offset, does not match any \
         statement in the specified module or batch. Modify the values to match a statement in the \
         module or batch.";
    10519 16 1 PLAN_GUIDE_HINTS
        "Cannot create plan guide '%ls' because the hints specified in @hints cannot be applied to \
         the statement specified by either @stmt or @statement_start_offset. Verify that the hints \
         can be applied to the statement.";
    10533 16 1 PLAN_GUIDE_NAME_LENGTH
        "Cannot create plan guide '%ls' because the plan guide name exceeds 124 characters, the \
         maximum number allowed. Specify a name that contains fewer than 125 characters.";
    10537 16 1 PLAN_GUIDE_OTHER_ENABLED
        "Cannot enable plan guide '%ls' because the enabled plan guide '%ls' contains the same \
         scope and starting offset value as the statement. Disable the existing plan guide before \
         enabling the specified plan guide.";
    10609 16 1 FILTER_COLUMN_COMPUTED
        "Filtered %ls '%ls' cannot be created on table '%ls' because the column '%ls' in the \
         filter expression is a computed column. Rewrite the filter expression so that it does not \
         include this column.";
    10610 16 1 FILTER_NOT_USER_TABLE
        "Filtered index '%ls' cannot be created on object '%ls' because it is not a user table. \
         Filtered indexes are only supported on tables. If you are trying to create a filtered \
         index on a view, consider creating an indexed view with the filter expression \
         incorporated in the view definition.";
    10611 16 1 FILTER_COLUMN_CONVERTED
        "Filtered %ls '%ls' cannot be created on table '%ls' because the column '%ls' in the \
         filter expression is compared with a constant of higher data type precedence or of a \
         different collation. Converting a column to the data type of a constant is not supported \
         for filtered %ls. To resolve this error, explicitly convert the constant to the same data \
         type and collation as the column '%ls'.";
    10612 16 1 FILTER_COLUMN_TYPE
        "Filtered %ls '%ls' cannot be created on table '%ls' because the column '%ls' in the \
         filter expression is compared with a constant that cannot be converted to the data type \
         of the column. Rewrite the filter expression so that it does not include this comparison.";
    10618 16 1 FILTER_IGNORE_DUP_KEY
        "Cannot %ls filtered index '%ls' on table '%ls' because the statement sets the \
         IGNORE_DUP_KEY option to ON. Rewrite the statement so that it does not use the \
         IGNORE_DUP_KEY option.";
    10620 16 1 FILTER_NULL_COMPARISON
        "Filtered %ls '%ls' cannot be created on table '%ls' because the filter expression \
         contains a comparison with a literal NULL value. Rewrite the comparison to use the IS \
         [NOT] NULL comparison operator to test for NULL values.";
    10638 16 1 NOTHING_TO_RESUME
        "ALTER INDEX '%ls' failed. There is no pending resumable index operation for the index \
         '%ls' on '%ls'.";
    10680 11 1 NOTHING_TO_RESUME_ALL
        "ALTER INDEX ALL '%ls' failed. There is no pending resumable index operation on '%ls'.";
    10700 16 1 TABLE_PARAMETER_MODIFIED
        "The table-valued parameter \"%ls\" is READONLY and cannot be modified.";
    10702 15 1 CUBE_WITH_GROUPING_SETS
        "The CUBE and ROLLUP options are not allowed with ROLLUP, CUBE or GROUPING SETS in the \
         GROUP BY clause.";
    10703 15 1 TOO_MANY_GROUPING_SETS "Too many grouping sets. The maximum number is %d.";
    10704 15 1 THROW_OUTSIDE_CATCH
        "To rethrow an error, a THROW statement must be used inside a CATCH block. Insert the \
         THROW statement inside a CATCH block, or add error parameters to the THROW statement.";
    10705 15 1 SUBQUERY_IN_OUTPUT "Subqueries are not allowed in the OUTPUT clause.";
    10706 15 1 TOO_MANY_GROUPING_KEYS
        "Too many expressions are specified in the GROUP BY clause. The maximum number is %d when \
         grouping sets are supplied.";
    10709 16 1 ROW_VALUE_COUNTS_DIFFER
        "The number of columns for each row in a table value constructor must be the same.";
    10710 15 1 MERGE_ACTION_NOT_ALLOWED
        "An action of type '%ls' is not allowed in the '%ls' clause of a MERGE statement.";
    10711 15 1 MERGE_INSERT_NOT_ALLOWED
        "An action of type 'INSERT' is not allowed in the '%ls' clause of a MERGE statement.";
    10713 15 1 MERGE_WITHOUT_SEMICOLON "A MERGE statement must be terminated by a semi-colon (;).";
    10714 15 1 MERGE_ACTION_TWICE
        "An action of type '%ls' cannot appear more than once in a '%ls' clause of a MERGE \
         statement.";
    10715 15 1 NOT_A_HINT "'%ls' is not a valid hint.";
    10716 15 1 NESTED_CHANGE_WITHOUT_OUTPUT
        "A nested INSERT, UPDATE, DELETE, or MERGE statement must have an OUTPUT clause.";
    10717 15 1 CLAUSE_OVER_NESTED_CHANGE
        "The %ls clause is not allowed when the FROM clause contains a nested INSERT, UPDATE, \
         DELETE, or MERGE statement.";
    10718 15 1 NESTED_CHANGE_HINTS
        "Query hints are not allowed in nested INSERT, UPDATE, DELETE, or MERGE statements.";
    10720 15 1 NESTED_CHANGE_OUTPUT_INTO
        "An OUTPUT INTO clause is not allowed in a nested INSERT, UPDATE, DELETE, or MERGE \
         statement.";
    10721 16 1 NESTED_CHANGE_CURRENT_OF
        "The WHERE CURRENT OF clause is not allowed in a nested INSERT, UPDATE, DELETE, or MERGE \
         statement.";
    10722 15 1 DISTINCT_OVER_NESTED_CHANGE
        "The DISTINCT keyword is not allowed when the FROM clause contains a nested INSERT, \
         UPDATE, DELETE, or MERGE statement.";
    10723 15 1 MERGE_VARIABLE_COLUMN
        "In a MERGE statement, a variable cannot be set to a column and expression in the same \
         assignment in the SET clause of an UPDATE action. Assignments of the form 'SET @variable \
         = column = expression' are not valid in the SET clause of an UPDATE action in a MERGE \
         statement. Modify the SET clause to only specify assignments of the form 'SET @variable = \
         column' or 'SET @variable = expression'.";
    10727 15 1 NESTED_CHANGE_IN_JOIN
        "A nested INSERT, UPDATE, DELETE, or MERGE statement is not allowed on either side of a \
         JOIN or APPLY operator.";
    10728 15 1 NESTED_CHANGE_IN_PIVOT
        "A nested INSERT, UPDATE, DELETE, or MERGE statement is not allowed as the table source of \
         a PIVOT or UNPIVOT operator.";
    10729 15 1 NESTED_CHANGE_IN_SELECT
        "A nested INSERT, UPDATE, DELETE, or MERGE statement is not allowed in a SELECT statement \
         that is not the immediate source of rows for an INSERT statement.";
    10730 15 1 NESTED_CHANGE_IN_FROM_OF_CHANGE
        "A nested INSERT, UPDATE, DELETE, or MERGE statement is not allowed in the FROM clause of \
         an UPDATE or DELETE statement.";
    10731 15 1 NESTED_CHANGE_IN_NESTED_CHANGE
        "A nested INSERT, UPDATE, DELETE, or MERGE statement is not allowed inside another nested \
         INSERT, UPDATE, DELETE, or MERGE statement.";
    10732 15 1 NESTED_CHANGE_IN_SET_OPERATION
        "A nested INSERT, UPDATE, DELETE, or MERGE statement is not allowed on either side of a \
         UNION, INTERSECT, or EXCEPT operator.";
    10733 16 1 NESTED_CHANGE_IN_USING
        "A nested INSERT, UPDATE, DELETE, or MERGE statement is not allowed in the USING clause of \
         a MERGE statement.";
    10735 15 1 FILTER_INCORRECT "Incorrect WHERE clause for filtered %ls '%ls' on table '%ls'.";
    10741 15 2 TOP_WITH_OFFSET "A TOP can not be used in the same query or sub-query as a OFFSET.";
    10742 15 1 OFFSET_NEGATIVE "The offset specified in a OFFSET clause may not be negative.";
    10743 15 1 OFFSET_NOT_INTEGER
        "The number of rows provided for a OFFSET clause must be an integer.";
    10744 15 1 FETCH_NOT_POSITIVE
        "The number of rows provided for a FETCH clause must be greater then zero.";
    10751 15 1 WITHIN_GROUP_ONE_EXPRESSION
        "The ORDER BY in WITHIN GROUP clause of '%ls' function must have exactly one expression.";
    10752 15 3 FRAME_NOT_ALLOWED "The function '%ls' may not have a window frame.";
    10753 15 3 OVER_MISSING "The function '%ls' must have an OVER clause.";
    10754 15 1 WITHIN_GROUP_MISSING "The function '%ls' must have a WITHIN GROUP clause.";
    10756 15 1 FRAME_WITHOUT_ORDER_BY
        "Window frame with ROWS or RANGE must have an ORDER BY clause.";
    10758 15 1 ORDER_BY_IN_OVER_NOT_ALLOWED
        "The function '%ls' may not have ORDER BY in OVER clause.";
    10759 15 1 DISTINCT_WITH_OVER "Use of DISTINCT is not allowed with the OVER clause.";
    10760 16 1 SCALE_ARGUMENT_INVALID
        "Scale argument is not valid. Valid expressions for data type datetime2 scale argument are \
         integer constants and integer constant expressions.";
    10761 15 2 PARSE_TYPE "Invalid data type %ls in function PARSE.";
    11438 15 1 RESUMABLE_WITHOUT_ONLINE
        "The RESUMABLE option cannot be set to 'ON' when the ONLINE option is set to 'OFF'.";
    11501 16 2 BATCH_NOT_ANALYZED "The batch could not be analyzed because of compile errors.";
    11502 16 1 PARAMETER_NOT_DEDUCED
        "The type for parameter '%ls' cannot be deduced in this context.";
    11503 16 1 TWO_UNTYPED_PARAMETERS
        "The parameter type cannot be deduced because a single expression contains two untyped \
         parameters, '%ls' and '%ls'.";
    11506 16 1 PARAMETER_AMBIGUOUS
        "The parameter type for '%ls' cannot be uniquely deduced; two possibilities are '%ls' and \
         '%ls'.";
    11507 16 1 PARAMETER_WITHOUT_TYPE
        "The parameter type for '%ls' cannot be deduced because no type would make the query \
         valid.";
    11508 16 1 PARAMETER_USED_TWICE
        "The undeclared parameter '%ls' is used more than once in the batch being analyzed.";
    11526 16 1 METADATA_TEMPORARY_TABLE
        "The metadata could not be determined because statement '%ls' uses a temp table.";
    11533 16 1 RESULT_SET_OBJECT "Type '%ls' is not a valid object name for result set definition.";
    11534 16 1 RESULT_SET_TABLE_TYPE "Type '%ls' is invalid or not a table type.";
    11535 16 1 TOO_MANY_RESULT_SETS
        "EXECUTE statement failed because its WITH RESULT SETS clause specified %d result set(s), \
         and the statement tried to send more result sets than this.";
    11536 16 1 TOO_FEW_RESULT_SETS
        "EXECUTE statement failed because its WITH RESULT SETS clause specified %d result set(s), \
         but the statement only sent %d result set(s) at run time.";
    11537 16 1 RESULT_SET_COLUMN_COUNT
        "EXECUTE statement failed because its WITH RESULT SETS clause specified %d column(s) for \
         result set number %d, but the statement sent %d column(s) at run time.";
    11538 16 1 RESULT_SET_COLUMN_TYPE
        "EXECUTE statement failed because its WITH RESULT SETS clause specified type '%ls' for \
         column #%d in result set #%d, and the corresponding type sent at run time was '%ls'; \
         there is no conversion between the two types.";
    11553 16 1 RESULT_SET_COLUMN_NULL
        "EXECUTE statement failed because its WITH RESULT SETS clause specified a non-nullable \
         type for column #%d in result set #%d, and the corresponding value sent at run time was \
         null.";
    11700 16 1 SEQUENCE_INCREMENT_ZERO "The increment for sequence object '%ls' cannot be zero.";
    11701 16 1 SEQUENCE_INCREMENT_TOO_LARGE
        "The absolute value of the increment for sequence object '%ls' must be less than or equal \
         to the difference between the minimum and maximum value of the sequence object.";
    11702 16 2 SEQUENCE_TYPE
        "The sequence object '%ls' must be of data type int, bigint, smallint, tinyint, or decimal \
         or numeric with a scale of 0, or any user-defined data type that is based on one of the \
         above integer data types.";
    11703 16 1 SEQUENCE_START_RANGE
        "The start value for sequence object '%ls' must be between the minimum and maximum value \
         of the sequence object.";
    11704 16 1 SEQUENCE_CURRENT_RANGE
        "The current value '%d' for sequence object '%ls' must be between the minimum and maximum \
         value of the sequence object.";
    11705 16 1 SEQUENCE_MINIMUM
        "The minimum value for sequence object '%ls' must be less than its maximum value.";
    11706 16 1 SEQUENCE_CACHE_SIZE
        "The cache size for sequence object '%ls' must be greater than 0.";
    11717 15 1 NEXT_VALUE_OVER_NOT_ALLOWED
        "NEXT VALUE FOR function does not support the OVER clause in default constraints, UPDATE \
         statements, or MERGE statements.";
    11718 15 1 NEXT_VALUE_EMPTY_OVER
        "NEXT VALUE FOR function does not support an empty OVER clause.";
    11719 15 1 NEXT_VALUE_NOT_ALLOWED
        "NEXT VALUE FOR function is not allowed in check constraints, default objects, computed \
         columns, views, user-defined functions, user-defined aggregates, user-defined table \
         types, sub-queries, common table expressions, derived tables or return statements.";
    11720 15 1 NEXT_VALUE_IN_CLAUSE
        "NEXT VALUE FOR function is not allowed in the TOP, OVER, OUTPUT, ON, WHERE, GROUP BY, \
         HAVING, or ORDER BY clauses.";
    11721 15 1 NEXT_VALUE_WITH_DISTINCT
        "NEXT VALUE FOR function cannot be used directly in a statement that uses a DISTINCT, \
         UNION, UNION ALL, EXCEPT or INTERSECT operator.";
    11723 15 1 NEXT_VALUE_WITH_ORDER_BY
        "NEXT VALUE FOR function cannot be used directly in a statement that contains an ORDER BY \
         clause unless the OVER clause is specified.";
    11725 15 1 NEXT_VALUE_IN_AGGREGATE
        "An expression that contains a NEXT VALUE FOR function cannot be passed as an argument to \
         an aggregate.";
    11726 16 1 NOT_A_SEQUENCE "Object '%ls' is not a sequence object.";
    11728 16 1 SEQUENCE_EXHAUSTED
        "The sequence object '%ls' has reached its minimum or maximum value. Restart the sequence \
         object to allow new values to be generated.";
    11732 16 1 SEQUENCE_RANGE_LIMIT
        "The requested range for sequence object '%ls.%ls' exceeds the maximum or minimum limit. \
         Retry with a smaller range.";
    11733 16 1 SEQUENCE_RANGE_SIZE "Invalid range size: it must be at least 1.";
    12401 15 2 OPTION_TWICE
        "The %ls option '%ls' was specified more than once. Each option can be specified only \
         once.";
    12402 11 1 QUERY_NOT_IN_STORE
        "Query with provided query_id (%d) is not found in the Query Store for database (%d). \
         Check the query_id value and rerun the command.";
    12403 11 1 PLAN_NOT_IN_STORE
        "Query plan with provided plan_id (%d) is not found in the Query Store for database (%d). \
         Check the plan_id value and rerun the command.";
    12405 16 4 QUERY_STORE_OFF
        "The command failed because the query store is not enabled for database (%d). Make sure \
         that the query store is enabled for the database and rerun the command.";
    12406 11 1 PLAN_NOT_OF_QUERY
        "Query plan with provided plan_id (%d) is not found in the Query Store for query (%d). \
         Check the plan_id value and rerun the command.";
    12438 16 1 QUERY_STORE_ON_SYSTEM_DATABASE
        "Cannot perform action because Query Store cannot be enabled on system database %ls.";
    12445 16 1 QUERY_STORE_SIZE
        "Cannot set Query Store max_storage_size_mb to %d. The maximum allowed limit is %d MB.";
    12452 15 1 OPTION_VALUE_RANGE
        "The value %d is not valid for %ls option %ls. The value must be between %d and %d.";
    12453 16 1 OPTION_VALUE_UNITS
        "Invalid value provided for %ls option %ls. The value must be between %d %ls and %d %ls.";
    12824 16 1 CONTAINED_NOT_ENABLED
        "The sp_configure value 'contained database authentication' must be set to 1 in order to \
         create a contained database.  You may need to use RECONFIGURE to set the value_in_use.";
}
