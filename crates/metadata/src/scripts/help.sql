CREATE PROCEDURE sp_help @objname nvarchar(776) = NULL AS
SET NOCOUNT ON
DECLARE @id int, @kind char(2), @type int, @db sysname = DB_NAME(), @column sysname, @bound nvarchar(300)
IF @objname IS NULL
BEGIN
    SELECT o.name AS Name, USER_NAME(COALESCE(o.principal_id, s.principal_id, 1)) AS Owner,
        CAST(CASE o.type WHEN 'U' THEN 'user table' WHEN 'V' THEN 'view' WHEN 'P' THEN 'stored procedure' WHEN 'S' THEN 'system table'
            WHEN 'FN' THEN 'scalar function' WHEN 'IF' THEN 'inline function' WHEN 'TF' THEN 'table function' WHEN 'TR' THEN 'trigger'
            WHEN 'PK' THEN 'primary key cns' WHEN 'UQ' THEN 'unique key cns' WHEN 'F' THEN 'foreign key cns' WHEN 'C' THEN 'check cns'
            WHEN 'D' THEN 'default (maybe cns)' WHEN 'SN' THEN 'synonym' WHEN 'SO' THEN 'sequence object' WHEN 'TT' THEN 'table type'
            ELSE LOWER(o.type) END AS nvarchar(31)) AS Object_type
    FROM sys.all_objects o LEFT JOIN sys.schemas s ON s.schema_id = o.schema_id
    ORDER BY Owner, Object_type DESC, Name
    PRINT ' '
    SELECT t.name AS User_type, TYPE_NAME(t.system_type_id) AS Storage_type, t.max_length AS Length,
        CONVERT(int, TYPEPROPERTY(SCHEMA_NAME(t.schema_id) + '.' + t.name, 'precision')) AS Prec,
        CONVERT(int, TYPEPROPERTY(SCHEMA_NAME(t.schema_id) + '.' + t.name, 'scale')) AS Scale,
        CAST(CASE WHEN t.is_nullable = 1 THEN 'yes' ELSE 'no' END AS varchar(35)) AS Nullable,
        CAST(ISNULL(OBJECT_NAME(t.default_object_id), 'none') AS nvarchar(128)) AS Default_name,
        CAST(ISNULL(OBJECT_NAME(t.rule_object_id), 'none') AS nvarchar(128)) AS Rule_name, t.collation_name AS Collation
    FROM sys.types t WHERE t.user_type_id > 256 ORDER BY t.name
    RETURN 0
END
IF PARSENAME(@objname, 3) <> @db
BEGIN
    RAISERROR(15250, -1, -1)
    RETURN 1
END
SELECT @id = object_id, @kind = type FROM sys.all_objects WHERE object_id = OBJECT_ID(@objname)
IF @id IS NULL
BEGIN
    SET @type = TYPE_ID(@objname)
    IF @type IS NULL
    BEGIN
        RAISERROR(15009, -1, -1, @objname, @db)
        RETURN 1
    END
    SELECT name AS Type_name, TYPE_NAME(system_type_id) AS Storage_type, max_length AS Length,
        CONVERT(int, TYPEPROPERTY(@objname, 'precision')) AS Prec, CONVERT(int, TYPEPROPERTY(@objname, 'scale')) AS Scale,
        CAST(CASE WHEN is_nullable = 1 THEN 'yes' ELSE 'no' END AS varchar(35)) AS Nullable,
        CAST(ISNULL(OBJECT_NAME(default_object_id), 'none') AS nvarchar(128)) AS Default_name,
        CAST(ISNULL(OBJECT_NAME(rule_object_id), 'none') AS nvarchar(128)) AS Rule_name, collation_name AS Collation
    FROM sys.types WHERE user_type_id = @type
    RETURN 0
END
SELECT o.name AS Name, USER_NAME(COALESCE(o.principal_id, s.principal_id, 1)) AS Owner,
    CAST(CASE o.type WHEN 'U' THEN 'user table' WHEN 'V' THEN 'view' WHEN 'P' THEN 'stored procedure' WHEN 'S' THEN 'system table'
        WHEN 'FN' THEN 'scalar function' WHEN 'IF' THEN 'inline function' WHEN 'TF' THEN 'table function' WHEN 'TR' THEN 'trigger'
        WHEN 'PK' THEN 'primary key cns' WHEN 'UQ' THEN 'unique key cns' WHEN 'F' THEN 'foreign key cns' WHEN 'C' THEN 'check cns'
        WHEN 'D' THEN 'default (maybe cns)' WHEN 'SN' THEN 'synonym' WHEN 'SO' THEN 'sequence object' WHEN 'TT' THEN 'table type'
        ELSE LOWER(o.type) END AS nvarchar(31)) AS Type, o.create_date AS Created_datetime
FROM sys.all_objects o LEFT JOIN sys.schemas s ON s.schema_id = o.schema_id WHERE o.object_id = @id
PRINT ' '
IF EXISTS (SELECT * FROM sys.all_columns WHERE object_id = @id)
BEGIN
    PRINT ' '
    SELECT c.name AS Column_name, TYPE_NAME(c.user_type_id) AS Type,
        CAST(CASE WHEN c.is_computed = 0 THEN 'no' ELSE 'yes' END AS varchar(35)) AS Computed, CONVERT(int, c.max_length) AS Length,
        CASE WHEN TYPE_NAME(c.system_type_id) IN ('tinyint', 'smallint', 'decimal', 'int', 'bigint', 'real', 'money', 'float', 'numeric',
            'smallmoney', 'date', 'time', 'datetime2', 'datetimeoffset') THEN CONVERT(char(5), c.precision) ELSE '     ' END AS Prec,
        CASE WHEN TYPE_NAME(c.system_type_id) IN ('real', 'float') THEN NULL
            WHEN TYPE_NAME(c.system_type_id) IN ('tinyint', 'smallint', 'decimal', 'int', 'bigint', 'money', 'numeric', 'smallmoney', 'date',
            'time', 'datetime2', 'datetimeoffset') THEN CONVERT(char(5), c.scale) ELSE '     ' END AS Scale,
        CAST(CASE WHEN c.is_nullable = 0 THEN 'no' ELSE 'yes' END AS varchar(35)) AS Nullable,
        CAST(CASE WHEN TYPE_NAME(c.system_type_id) NOT IN ('varbinary', 'varchar', 'binary', 'char') THEN '(n/a)'
            WHEN c.is_ansi_padded = 1 THEN 'no' ELSE 'yes' END AS varchar(35)) AS TrimTrailingBlanks,
        CAST(CASE WHEN TYPE_NAME(c.system_type_id) NOT IN ('varbinary', 'varchar', 'binary', 'char') THEN '(n/a)'
            WHEN c.is_nullable = 0 THEN 'no' ELSE 'yes' END AS varchar(35)) AS FixedLenNullInSource,
        c.collation_name AS Collation
    FROM sys.all_columns c WHERE c.object_id = @id ORDER BY c.column_id
    IF @kind IN ('S', 'U', 'V', 'TF')
    BEGIN
        PRINT ' '
        SELECT @column = name FROM sys.identity_columns WHERE object_id = @id
        SELECT CAST(ISNULL(@column, 'No identity column defined.') AS nvarchar(128)) AS [Identity], IDENT_SEED(@objname) AS Seed,
            IDENT_INCR(@objname) AS Increment,
            (SELECT CONVERT(int, is_not_for_replication) FROM sys.identity_columns WHERE object_id = @id) AS [Not For Replication]
        PRINT ' '
        SET @column = NULL
        SELECT @column = name FROM sys.columns WHERE object_id = @id AND is_rowguidcol = 1
        SELECT CAST(ISNULL(@column, 'No rowguidcol column defined.') AS nvarchar(128)) AS [RowGuidCol]
    END
END
IF EXISTS (SELECT * FROM sys.all_parameters WHERE object_id = @id)
BEGIN
    PRINT ' '
    SELECT name AS Parameter_name, TYPE_NAME(user_type_id) AS Type, max_length AS Length,
        CONVERT(int, CASE WHEN max_length < 0 THEN NULL WHEN TYPE_NAME(system_type_id) IN ('nchar', 'nvarchar') THEN max_length / 2
            WHEN TYPE_NAME(system_type_id) IN ('char', 'varchar', 'binary', 'varbinary') THEN max_length ELSE precision END) AS Prec,
        CASE WHEN TYPE_NAME(system_type_id) IN ('tinyint', 'smallint', 'decimal', 'int', 'bigint', 'money', 'numeric', 'smallmoney', 'date',
            'time', 'datetime2', 'datetimeoffset', 'datetime', 'smalldatetime') THEN CONVERT(int, scale) END AS Scale,
        parameter_id AS Param_order,
        CONVERT(nvarchar(128), CASE WHEN system_type_id IN (35, 99, 167, 175, 231, 239) THEN SERVERPROPERTY('collation') END) AS Collation
    FROM sys.all_parameters WHERE object_id = @id ORDER BY parameter_id
END
IF @kind IN ('S', 'U')
BEGIN
    PRINT ' '
    EXEC sys.sp_objectfilegroup @id
    PRINT ' '
    EXEC sys.sp_helpindex @objname
    PRINT ' '
    EXEC sys.sp_helpconstraint @objname, 'nomsg'
    SET @bound = N'%' + OBJECT_SCHEMA_NAME(@id) + N'.' + OBJECT_NAME(@id) + N'[^a-z0-9_#$@]%'
    IF EXISTS (SELECT * FROM sys.views v JOIN sys.sql_modules m ON m.object_id = v.object_id
        WHERE m.is_schema_bound = 1 AND REPLACE(REPLACE(m.definition, N'[', N''), N']', N'') + N' ' LIKE @bound)
        SELECT v.name AS [Table is referenced by views] FROM sys.views v JOIN sys.sql_modules m ON m.object_id = v.object_id
        WHERE m.is_schema_bound = 1 AND REPLACE(REPLACE(m.definition, N'[', N''), N']', N'') + N' ' LIKE @bound ORDER BY v.name
    ELSE
        RAISERROR(15647, -1, -1, @objname)
END
ELSE IF @kind = 'V'
BEGIN
    PRINT ' '
    RAISERROR(15469, -1, -1, @objname)
    PRINT ' '
    RAISERROR(15470, -1, -1, @objname)
    EXEC sys.sp_helpindex @objname
END
RETURN 0
GO
CREATE PROCEDURE sp_objectfilegroup @objid int AS
SET NOCOUNT ON
SELECT d.name AS Data_located_on_filegroup FROM sys.indexes i JOIN sys.data_spaces d ON d.data_space_id = i.data_space_id
WHERE i.object_id = @objid AND i.index_id < 2
RETURN 0
GO
CREATE PROCEDURE sp_helptrigger @tabname nvarchar(776), @triggertype char(6) = NULL AS
SET NOCOUNT ON
DECLARE @id int, @db sysname = DB_NAME()
IF PARSENAME(@tabname, 3) <> @db
BEGIN
    RAISERROR(15250, -1, -1)
    RETURN 1
END
IF @triggertype NOT IN ('insert', 'update', 'delete')
BEGIN
    RAISERROR(15305, -1, -1)
    RETURN 1
END
SELECT @id = object_id FROM sys.objects WHERE object_id = OBJECT_ID(@tabname) AND type IN ('U', 'V')
IF @id IS NULL
BEGIN
    RAISERROR(15009, -1, -1, @tabname, @db)
    RETURN 1
END
SELECT t.name AS trigger_name, USER_NAME(COALESCE(o.principal_id, s.principal_id, 1)) AS trigger_owner,
    OBJECTPROPERTY(t.object_id, 'ExecIsUpdateTrigger') AS isupdate, OBJECTPROPERTY(t.object_id, 'ExecIsDeleteTrigger') AS isdelete,
    OBJECTPROPERTY(t.object_id, 'ExecIsInsertTrigger') AS isinsert,
    CASE WHEN t.is_instead_of_trigger = 1 THEN 0 ELSE 1 END AS isafter, CONVERT(int, t.is_instead_of_trigger) AS isinsteadof,
    s.name AS trigger_schema
FROM sys.triggers t JOIN sys.objects o ON o.object_id = t.object_id JOIN sys.schemas s ON s.schema_id = o.schema_id
WHERE t.parent_id = @id AND (@triggertype IS NULL OR OBJECTPROPERTY(t.object_id, 'ExecIs' + RTRIM(@triggertype) + 'Trigger') = 1)
RETURN 0
GO
CREATE PROCEDURE sp_depends @objname nvarchar(776) AS
SET NOCOUNT ON
DECLARE @id int = OBJECT_ID(@objname), @db sysname = DB_NAME()
IF PARSENAME(@objname, 3) <> @db
BEGIN
    RAISERROR(15250, -1, -1)
    RETURN 1
END
IF @id IS NULL
BEGIN
    RAISERROR(15009, -1, -1, @objname, @db)
    RETURN 1
END
DECLARE @types TABLE (type char(2) COLLATE DATABASE_DEFAULT, name nvarchar(16) COLLATE DATABASE_DEFAULT)
INSERT @types VALUES ('U', N'user table'), ('V', N'view'), ('P', N'stored procedure'), ('TR', N'trigger'), ('FN', N'scalar function'),
    ('IF', N'inline function'), ('TF', N'table function'), ('C', N'check cns'), ('D', N'default'), ('SN', N'synonym'), ('SO', N'sequence object')
DECLARE @found bit = 0
IF EXISTS (SELECT * FROM sys.sql_dependencies WHERE object_id = @id AND class < 2)
BEGIN
    SET @found = 1
    RAISERROR(15459, -1, -1)
    SELECT DISTINCT CONVERT(nvarchar(257), SCHEMA_NAME(o.schema_id) + N'.' + o.name) AS name, t.name AS type,
        CONVERT(nvarchar(7), CASE WHEN d.is_updated = 1 THEN N'yes' ELSE N'no' END) AS updated,
        CONVERT(nvarchar(8), CASE WHEN d.is_selected = 1 OR d.is_select_all = 1 THEN N'yes' ELSE N'no' END) AS selected,
        COL_NAME(d.referenced_major_id, d.referenced_minor_id) AS [column]
    FROM sys.sql_dependencies d JOIN sys.objects o ON o.object_id = d.referenced_major_id JOIN @types t ON t.type = o.type
    WHERE d.object_id = @id AND d.class < 2
END
IF EXISTS (SELECT * FROM sys.sql_dependencies WHERE referenced_major_id = @id AND class < 2)
BEGIN
    SET @found = 1
    RAISERROR(15460, -1, -1)
    SELECT DISTINCT CONVERT(nvarchar(257), SCHEMA_NAME(o.schema_id) + N'.' + o.name) AS name, t.name AS type
    FROM sys.sql_dependencies d JOIN sys.objects o ON o.object_id = d.object_id JOIN @types t ON t.type = o.type
    WHERE d.referenced_major_id = @id AND d.class < 2
END
IF @found = 0
    RAISERROR(15461, -1, -1)
RETURN 0
