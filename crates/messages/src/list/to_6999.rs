//! Messages 4900 to 6999; see [`crate`] for what a line says.

use crate::messages;

messages! {
    4901 16 1 ADD_NOT_NULL_COLUMN
        "ALTER TABLE only allows columns to be added that can contain nulls, or have a DEFAULT \
         definition specified, or the column being added is an identity or timestamp column, or \
         alternatively if none of the previous conditions are satisfied the table must be empty to \
         allow addition of this column. Column '%ls' cannot be added to non-empty table '%ls' \
         because it does not satisfy these conditions.";
    4902 16 1 ALTER_OBJECT_NOT_FOUND
        "Cannot find the object \"%ls\" because it does not exist or you do not have permissions.";
    4905 16 1 SWITCH_TARGET_NOT_EMPTY
        "ALTER TABLE SWITCH statement failed. The target table '%ls' must be empty.";
    4913 16 1 SWITCH_CLUSTERED_INDEX
        "ALTER TABLE SWITCH statement failed. The table '%ls' has clustered index '%ls' while the \
         table '%ls' does not have clustered index.";
    4916 16 0 CONSTRAINT_NOT_ENABLED
        "Could not enable or disable the constraint. See previous errors.";
    4917 16 0 CONSTRAINT_NOT_FOUND "Constraint '%ls' does not exist.";
    4922 16 9 COLUMN_ACCESSED
        "ALTER TABLE %ls %ls failed because one or more objects access this column.";
    4923 16 1 DROP_ONLY_COLUMN
        "ALTER TABLE DROP COLUMN failed because '%ls' is the only data column in table '%ls'. A \
         table must have at least one data column.";
    4924 16 1 ALTERED_COLUMN_NOT_FOUND
        "%ls failed because column '%ls' does not exist in table '%ls'.";
    4925 16 1 ROWGUIDCOL_EXISTS
        "ALTER TABLE ALTER COLUMN ADD ROWGUIDCOL failed because a column already exists in table \
         '%ls' with ROWGUIDCOL property.";
    4926 16 1 ROWGUIDCOL_MISSING
        "ALTER TABLE ALTER COLUMN DROP ROWGUIDCOL failed because a column does not exist in table \
         '%ls' with ROWGUIDCOL property.";
    4927 16 1 ALTER_TO_TIMESTAMP "Cannot alter column '%ls' to be data type timestamp.";
    4928 16 1 ALTER_COLUMN_OF_KIND "Cannot alter column '%ls' because it is '%ls'.";
    4934 16 3 PERSISTED_READS_DATA
        "Computed column '%ls' in table '%ls' cannot be persisted because the column does user or \
         system data access.";
    4936 16 1 PERSISTED_NOT_DETERMINISTIC
        "Computed column '%ls' in table '%ls' cannot be persisted because the column is \
         non-deterministic.";
    4941 16 1 SWITCH_SAME_TABLE
        "ALTER TABLE SWITCH statement failed because the source and target tables are the same.";
    4942 16 1 SWITCH_COLUMN_NAME
        "ALTER TABLE SWITCH statement failed because column '%ls' at ordinal %d in table '%ls' has \
         a different name than the column '%ls' at the same ordinal in table '%ls'.";
    4943 16 1 SWITCH_COLUMN_COUNT
        "ALTER TABLE SWITCH statement failed because table '%ls' has %d columns and table '%ls' \
         has %d columns.";
    4944 16 1 SWITCH_COLUMN_TYPE
        "ALTER TABLE SWITCH statement failed because column '%ls' has data type %ls in source \
         table '%ls' which is different from its type %ls in target table '%ls'.";
    4945 16 1 SWITCH_COLLATION
        "ALTER TABLE SWITCH statement failed because column '%ls' does not have the same collation \
         in tables '%ls' and '%ls'.";
    4946 16 1 SWITCH_PERSISTED
        "ALTER TABLE SWITCH statement failed because column '%ls' does not have the same \
         persistent attribute in tables '%ls' and '%ls'.";
    4947 16 1 SWITCH_INDEX_MISSING
        "ALTER TABLE SWITCH statement failed. There is no identical index in source table '%ls' \
         for the index '%ls' in target table '%ls' .";
    4948 16 1 SWITCH_OTHER_DATABASE
        "ALTER TABLE SWITCH statement failed. The source table '%ls' is in database '%ls' while \
         the target table '%ls' is in database '%ls'.";
    4967 16 1 SWITCH_PRIMARY_KEY
        "ALTER TABLE SWITCH statement failed. SWITCH is not allowed because source table '%ls' \
         contains primary key for constraint '%ls'.";
    4968 16 1 SWITCH_FOREIGN_KEY
        "ALTER TABLE SWITCH statement failed. Target table '%ls' has foreign key for constraint \
         '%ls' but source table '%ls' does not have corresponding key.";
    4970 16 1 SWITCH_CHECK
        "ALTER TABLE SWITCH statement failed. Target table '%ls' has a table level check \
         constraint '%ls' but the source table '%ls' does not have a corresponding constraint.";
    4985 16 1 SWITCH_NULLABILITY
        "ALTER TABLE SWITCH statement failed because column '%ls' does not have the same \
         nullability attribute in tables '%ls' and '%ls'.";
    5005 16 1 RECOVERY_TIME_RANGE "Specified recovery time is out of range.";
    5009 16 9 FILES_NOT_FOUND
        "One or more files listed in the statement could not be found or could not be initialized.";
    5011 14 5 ALTER_DATABASE_PERMISSION
        "User does not have permission to alter database '%ls', the database does not exist, or \
         the database is not in a state that allows access checks.";
    5013 16 1 FILES_OF_MASTER
        "The master and model databases cannot have files added to them. ALTER DATABASE was \
         aborted.";
    5018 0 1 FILE_MODIFIED
        "The file \"%ls\" has been modified in the system catalog. The new path will be used the \
         next time the database is started.";
    5020 16 1 PRIMARY_FILE_NOT_REMOVED
        "The primary data or log file cannot be removed from a database.";
    5032 16 1 RENAME_SYSTEM_DATABASE "Cannot change the name of the system database %ls.";
    5039 16 1 MODIFY_FILE_SIZE
        "MODIFY FILE failed. Specified size is less than or equal to current size.";
    5041 16 1 MODIFY_FILE_NOT_FOUND "MODIFY FILE failed. File '%ls' does not exist.";
    5042 16 1 NOT_EMPTY "The %ls '%ls' cannot be removed because it is not empty.";
    5052 16 1 ALTER_WHILE_RESTORING
        "ALTER DATABASE is not permitted while a database is in the Restoring state.";
    5058 16 1 OPTION_NOT_SETTABLE "Option '%ls' cannot be set in database '%ls'.";
    5060 10 1 ROLLING_BACK
        "Nonqualified transactions are being rolled back. Estimated rollback completion: %d%%.";
    5061 16 1 DATABASE_NOT_LOCKED
        "ALTER DATABASE failed because a lock could not be placed on database '%ls'. Try again \
         later.";
    5064 16 1 SINGLE_USER_CONNECTED
        "Changes to the state or options of database '%ls' cannot be made at this time. The \
         database is in single-user mode, and a user is currently connected to it.";
    5069 16 1 ALTER_DATABASE_FAILED "ALTER DATABASE statement failed.";
    5070 16 2 OTHER_USERS_IN_DATABASE
        "Database state cannot be changed while other users are using the database '%ls'";
    5074 16 1 DEPENDENT_ON_COLUMN "The %ls '%ls' is dependent on column '%ls'.";
    5103 16 1 MAXSIZE_BELOW_SIZE "MAXSIZE cannot be less than SIZE for file '%ls'.";
    5105 16 2 FILE_ACTIVATION
        "A file activation error occurred. The physical file name '%ls' may be incorrect. Diagnose \
         and correct additional errors, and retry the operation.";
    5120 16 101 FILE_NOT_OPENED
        "Unable to open the physical file \"%ls\". Operating system error %d: \"%d(%ls)\".";
    5121 16 2 DIRECTORY_NOT_VALID "The path specified by \"%ls\" is not in a valid directory.";
    5123 16 1 CREATE_FILE_FAILED
        "CREATE FILE encountered operating system error %ls(%ls) while attempting to open or \
         create the physical file '%ls'.";
    5133 16 1 DIRECTORY_LOOKUP_FAILED "Directory lookup for the file \"%ls\" failed: %ls.";
    5149 16 3 FILE_NOT_RESIZED "The size of a file of database '%ls' could not be changed: %ls.";
    5150 16 2 LOG_FILE_TOO_LARGE
        "The size of a single log file must not be greater than 2 TB. File '%ls'.";
    5169 16 1 FILEGROWTH_OVER_MAXSIZE "FILEGROWTH cannot be greater than MAXSIZE for file '%ls'.";
    5170 16 1 FILE_EXISTS
        "Cannot create file '%ls' because it already exists. Change the file path or the file \
         name, and retry the operation.";
    5171 16 1 NOT_A_PRIMARY_FILE "%ls is not a primary database file.";
    5173 16 1 FILES_DO_NOT_MATCH
        "One or more files do not match the primary file of the database. If you are attempting to \
         attach a database, retry the operation with the correct files.  If this is an existing \
         database, the file may be corrupted and should be restored from a backup. Detail: %ls.";
    5174 16 1 FILE_SIZE_TOO_SMALL "Each file size must be greater than or equal to 512 KB.";
    5178 16 1 LOG_BLOCK_BELOW_SECTOR
        "Cannot use file '%ls' with log blocks of %d bytes because it is on a volume with sector \
         size %d. Choose a block size that is the same as or larger than the sector size.";
    5242 20 1 INCONSISTENCY_DETECTED "An inconsistency was detected in database '%ls': %ls.";
    5302 16 1 MODIFY_OF_NULL "Mutator 'modify()' cannot be called on a null value.";
    5308 15 1 ORDER_BY_INTEGER_INDEX
        "Windowed functions, aggregates and NEXT VALUE FOR functions do not support integer \
         indices as ORDER BY clause expressions.";
    5309 15 1 ORDER_BY_CONSTANTS
        "Windowed functions, aggregates and NEXT VALUE FOR functions do not support constants as \
         ORDER BY clause expressions.";
    5313 16 1 SYNONYM_INVALID "Synonym '%ls' refers to an invalid object.";
    5316 16 1 MERGE_INSTEAD_OF_SOME
        "The target '%ls' of the MERGE statement has an INSTEAD OF trigger on some, but not all, \
         of the actions specified in the MERGE statement. In a MERGE statement, if any action has \
         an enabled INSTEAD OF trigger on the target, then all actions must have enabled INSTEAD \
         OF triggers.";
    5317 16 1 MERGE_INTO_PARTITIONED
        "The target of a MERGE statement cannot be a partitioned view.";
    5318 16 1 MERGE_SAME_NAME
        "In a MERGE statement, the source and target cannot have the same name or alias. Use \
         different aliases for the source and target to ensure that they have unique names in the \
         MERGE statement.";
    5322 16 1 AGGREGATE_OVER_NESTED_CHANGE
        "An aggregate function is not allowed in the %ls clause when the FROM clause contains a \
         nested INSERT, UPDATE, DELETE, or MERGE statement.";
    5323 15 1 SUBQUERY_OVER_NESTED_CHANGE
        "Subqueries are not allowed in the %ls clause when the FROM clause contains a nested \
         INSERT, UPDATE, DELETE, or MERGE statement.";
    5324 15 1 MERGE_CLAUSE_AFTER_UNCONDITIONAL
        "In a MERGE statement, a '%ls' clause with a search condition cannot appear after a '%ls' \
         clause with no search condition.";
    5328 15 1 NESTED_CHANGE_INTO_IDENTITY
        "Cannot insert explicit value for the identity column '%ls' in the target table '%ls' of \
         the INSERT statement when the FROM clause contains a nested INSERT, UPDATE, DELETE, or \
         MERGE statement.";
    5329 15 1 WINDOW_OVER_NESTED_CHANGE
        "Windowed functions are not allowed in the %ls clause when the FROM clause contains a \
         nested INSERT, UPDATE, DELETE, or MERGE statement.";
    5333 16 1 MERGE_NOT_SOURCE_COLUMN
        "The identifier '%ls' cannot be bound. Only source columns and columns in the clause scope \
         are allowed in the '%ls' clause of a MERGE statement.";
    5334 16 1 MERGE_NOT_TARGET_COLUMN
        "The identifier '%ls' cannot be bound. Only target columns and columns in the clause scope \
         are allowed in the '%ls' clause of a MERGE statement.";
    5335 16 1 SET_OPERATION_NOT_COMPARABLE
        "The data type %ls cannot be used as an operand to the UNION, INTERSECT or EXCEPT \
         operators because it is not comparable.";
    5362 15 3 WINDOW_UNDEFINED "Window '%ls' is undefined.";
    5373 16 2 GENERATE_SERIES_TYPES
        "All the input parameters should be of the same type. Supported types are tinyint, \
         smallint, int, bigint, decimal and numeric.";
    5701 0 1 DATABASE_CONTEXT_CHANGED "Changed database context to '%ls'.";
    5703 0 1 LANGUAGE_CHANGED "Changed language setting to %ls.";
    5812 14 1 RECONFIGURE_PERMISSION "You do not have permission to run the RECONFIGURE statement.";
    6004 14 1 SHUTDOWN_PERMISSION "User does not have permission to perform this action.";
    6005 10 1 SHUTDOWN_IN_PROGRESS "SHUTDOWN is in progress.";
    6006 10 1 SHUT_DOWN_BY "Server shut down by %ls from login %ls.";
    6102 14 1 KILL_PERMISSION "User does not have permission to use the KILL statement.";
    6104 16 1 KILL_OWN_PROCESS "Cannot use KILL to kill your own process.";
    6106 16 2 NOT_AN_ACTIVE_PROCESS "Process ID %d is not an active process ID.";
    6110 16 1 NO_SUCH_UNIT_OF_WORK "The distributed transaction with UOW {%ls} does not exist.";
    6112 16 1 KILL_ARGUMENT "The argument of KILL is not the number of a session.";
    6120 16 1 NO_ROLLBACK_IN_PROGRESS
        "Status report cannot be obtained. Rollback operation for Process ID %d is not in \
         progress.";
    6305 16 1 XML_MODIFICATION_REQUIRED
        "XQuery data manipulation expression required in XML data type method.";
    6306 16 1 XML_QUERY_EMPTY "Invalid XQuery expression passed to XML data type method.";
    6307 16 1 XML_ATTRIBUTE_OUTSIDE
        "XML well-formedness check: Attribute cannot appear outside of element declaration. \
         Rewrite your XQuery so it returns well-formed XML.";
    6308 16 1 XML_DUPLICATE_ATTRIBUTE
        "XML well-formedness check: Duplicate attribute '%ls'. Rewrite your XQuery so it returns \
         well-formed XML.";
    6320 16 1 XML_UPDATE_WITH_EMPTY
        "XQuery: Only nillable elements or text nodes can be updated with empty sequence";
    6325 16 1 XML_REPLACE_WITH_EMPTY
        "XQuery: Replacing the value of a node with an empty sequence is allowed only if '()' is \
         used as the new value expression. The new value expression evaluated to an empty sequence \
         but it is not '()'.";
    6335 16 1 XML_TOO_DEEP
        "XML datatype instance has too many levels of nested nodes. Maximum allowed depth is %d \
         levels.";
    6354 16 10 XML_TARGET_TOO_SMALL "Target string size is too small to represent the XML instance";
    6359 16 1 XML_DTD_NOT_ALLOWED
        "Parsing XML with internal subset DTDs not allowed. Use CONVERT with style option 2 to \
         enable limited internal subset DTD support.";
    6365 16 1 XML_TOO_LONG
        "An XML operation resulted an XML data type exceeding 2GB in size. Operation aborted.";
    6401 16 1 NO_SUCH_SAVEPOINT
        "Cannot roll back %ls. No transaction or savepoint of that name was found.";
    6506 16 10 METHOD_NOT_FOUND "Could not find method '%ls' for type '%ls' in assembly '%ls'";
    6522 16 2 HIERARCHYID_EXCEPTION
        "A .NET Framework error occurred during execution of user-defined routine or aggregate \
         \"hierarchyid\": \nMicrosoft.SqlServer.Types.HierarchyIdException: %ls: %ls";
    6592 16 3 PROPERTY_NOT_FOUND
        "Could not find property or field '%ls' for type \
         'Microsoft.SqlServer.Types.SqlHierarchyId' in assembly 'Microsoft.SqlServer.Types'.";
    6602 16 2 ERROR_DESCRIPTION "The error description is '%ls'.";
    6607 16 3 REMOVE_DOCUMENT_PARAMETER
        "sp_xml_removedocument: The value supplied for parameter number 1 is invalid.";
    6624 16 12 DOCUMENT_NO_MEMORY
        "XML document could not be created because server memory is low. Use sp_xml_removedocument \
         to release XML documents.";
    6801 16 1 EXPLICIT_THREE_COLUMNS
        "FOR XML EXPLICIT requires at least three columns, including the tag column, the parent \
         column, and at least one data column.";
    6802 16 1 EXPLICIT_COLUMN_NAME
        "FOR XML EXPLICIT query contains the invalid column name '%ls'. Use the \
         TAGNAME!TAGID!ATTRIBUTENAME[!..] format where TAGID is a positive integer.";
    6803 16 1 EXPLICIT_TAG_INTEGERS
        "FOR XML EXPLICIT requires the first column to hold positive integers that represent XML \
         tag IDs.";
    6804 16 1 EXPLICIT_PARENT_INTEGERS
        "FOR XML EXPLICIT requires the second column to hold NULL or nonnegative integers that \
         represent XML parent tag IDs.";
    6805 16 1 EXPLICIT_CIRCULAR
        "FOR XML EXPLICIT stack overflow occurred. Circular parent tag relationships are not \
         allowed.";
    6806 16 1 EXPLICIT_UNDECLARED_TAG "Undeclared tag ID %d is used in a FOR XML EXPLICIT query.";
    6807 16 1 EXPLICIT_UNDECLARED_PARENT
        "Undeclared parent tag ID %d is used in a FOR XML EXPLICIT query.";
    6809 16 1 XML_UNNAMED_TABLE
        "Unnamed tables cannot be used as XML identifiers as well as unnamed columns cannot be \
         used for attribute names. Name unnamed columns/tables using AS in the SELECT statement.";
    6810 16 1 XML_AUTO_WITHOUT_TABLE
        "FOR XML AUTO requires at least one table for generating XML tags. Use FOR XML RAW or add \
         a FROM clause with a table name.";
    6812 16 1 EXPLICIT_TAG_REDECLARED
        "XML tag ID %d that was originally declared as '%ls' is being redeclared as '%ls'.";
    6817 16 1 EXPLICIT_SEVERAL_DIRECTIVES
        "FOR XML EXPLICIT cannot combine multiple occurrences of ELEMENT, XML, XMLTEXT, and CDATA \
         in column name '%ls'.";
    6819 16 1 FOR_XML_NOT_ALLOWED "The FOR XML clause is not allowed in a %ls statement.";
    6820 16 1 EXPLICIT_COLUMN_NAMED
        "FOR XML EXPLICIT requires column %d to be named '%ls' instead of '%ls'.";
    6825 16 1 ELEMENTS_NOT_ALLOWED
        "ELEMENTS option is only allowed in RAW, AUTO, and PATH modes of FOR XML.";
    6829 16 1 XML_BINARY_ADDRESS
        "FOR XML EXPLICIT and RAW modes currently do not support addressing binary data as URLs in \
         column '%ls'. Remove the column, or use the BINARY BASE64 mode, or create the URL \
         directly using the 'dbobject/TABLE[@PK1=\"V1\"]/@COLUMN' syntax.";
    6833 16 1 EXPLICIT_PARENT_NOT_OPEN
        "Parent tag ID %d is not among the open tags. FOR XML EXPLICIT requires parent tags to be \
         opened first. Check the ordering of the result set.";
    6836 16 1 EXPLICIT_CDATA_NAMED
        "In the FOR XML EXPLICIT clause, CDATA attributes must be unnamed in '%ls'.";
    6846 16 2 XML_PREFIX_UNDECLARED
        "XML name space prefix '%ls' declaration is missing for FOR XML %ls '%ls'.";
    6850 16 1 XML_INVALID_IDENTIFIER
        "Column name '%ls' contains an invalid XML identifier as required by FOR XML; '%ls'(0x%ls) \
         is the first character at fault.";
    6852 16 1 XML_ATTRIBUTE_AFTER_ELEMENT
        "Attribute-centric column '%ls' must not come after a non-attribute-centric sibling in XML \
         hierarchy in FOR XML PATH.";
    6861 16 1 XML_EMPTY_ROOT "Empty root tag name cannot be specified with FOR XML.";
    6864 16 1 XML_ROW_TAG_OMITTED
        "Row tag omission (empty row tag name) cannot be used with attribute-centric FOR XML \
         serialization.";
    6868 16 1 XML_NAMESPACES_WITH_EXPLICIT
        "The following FOR XML features are not supported with WITH XMLNAMESPACES list: EXPLICIT \
         mode, XMLSCHEMA and XMLDATA directives.";
}
