CREATE PROCEDURE sp_table_privileges @table_name nvarchar(384), @table_owner nvarchar(384) = NULL, @table_qualifier sysname = NULL,
    @fUsePattern bit = 1 AS
SET NOCOUNT ON
IF @table_qualifier IS NOT NULL AND @table_qualifier <> DB_NAME()
BEGIN
    RAISERROR(15250, -1, -1)
    RETURN 1
END
SELECT CONVERT(nvarchar(128), DB_NAME()) AS TABLE_QUALIFIER, p.schema_name AS TABLE_OWNER, p.table_name AS TABLE_NAME,
    CONVERT(nvarchar(128), USER_NAME(p.grantor)) AS GRANTOR, CONVERT(nvarchar(128), USER_NAME(p.grantee)) AS GRANTEE,
    CONVERT(varchar(32), p.privilege) AS PRIVILEGE, CONVERT(varchar(3), p.grantable) AS IS_GRANTABLE
FROM (
    -- The owner has every privilege.
    SELECT s.name AS schema_name, o.name AS table_name, COALESCE(o.principal_id, s.principal_id, 1) AS grantor,
        COALESCE(o.principal_id, s.principal_id, 1) AS grantee, a.privilege, 'YES' AS grantable
    FROM sys.objects o JOIN sys.schemas s ON s.schema_id = o.schema_id
        CROSS JOIN (VALUES ('DELETE'), ('INSERT'), ('REFERENCES'), ('SELECT'), ('UPDATE')) a (privilege)
    WHERE o.type IN ('U', 'V')
    UNION ALL
    SELECT s.name, o.name, g.grantor_principal_id, g.grantee_principal_id, g.permission_name, CASE g.state WHEN 'W' THEN 'YES' ELSE 'NO' END
    FROM sys.database_permissions g JOIN sys.objects o ON o.object_id = g.major_id JOIN sys.schemas s ON s.schema_id = o.schema_id
    WHERE g.class = 1 AND g.minor_id = 0 AND g.state IN ('G', 'W') AND o.type IN ('U', 'V')
        AND g.permission_name IN ('DELETE', 'INSERT', 'REFERENCES', 'SELECT', 'UPDATE')) p
WHERE (p.table_name LIKE @table_name AND @fUsePattern = 1 OR p.table_name = @table_name)
    AND (@table_owner IS NULL OR p.schema_name LIKE @table_owner AND @fUsePattern = 1 OR p.schema_name = @table_owner)
ORDER BY TABLE_QUALIFIER, TABLE_OWNER, TABLE_NAME, PRIVILEGE, GRANTEE
RETURN 0
GO
CREATE PROCEDURE sp_column_privileges @table_name sysname, @table_owner sysname = NULL, @table_qualifier sysname = NULL,
    @column_name nvarchar(384) = NULL AS
SET NOCOUNT ON
IF @table_qualifier IS NOT NULL AND @table_qualifier <> DB_NAME()
BEGIN
    RAISERROR(15250, -1, -1)
    RETURN 1
END
SELECT CONVERT(nvarchar(128), DB_NAME()) AS TABLE_QUALIFIER, p.schema_name AS TABLE_OWNER, p.table_name AS TABLE_NAME,
    p.column_name AS COLUMN_NAME, CONVERT(nvarchar(128), USER_NAME(p.grantor)) AS GRANTOR, CONVERT(nvarchar(128), USER_NAME(p.grantee)) AS GRANTEE,
    CONVERT(varchar(32), p.privilege) AS PRIVILEGE, CONVERT(varchar(3), p.grantable) AS IS_GRANTABLE
FROM (
    SELECT s.name AS schema_name, o.name AS table_name, c.name AS column_name, COALESCE(o.principal_id, s.principal_id, 1) AS grantor,
        COALESCE(o.principal_id, s.principal_id, 1) AS grantee, a.privilege, 'YES' AS grantable
    FROM sys.objects o JOIN sys.schemas s ON s.schema_id = o.schema_id JOIN sys.columns c ON c.object_id = o.object_id
        CROSS JOIN (VALUES ('INSERT'), ('REFERENCES'), ('SELECT'), ('UPDATE')) a (privilege)
    WHERE o.type IN ('U', 'V') AND o.name = @table_name
    UNION ALL
    SELECT s.name, o.name, c.name, g.grantor_principal_id, g.grantee_principal_id, g.permission_name, CASE g.state WHEN 'W' THEN 'YES' ELSE 'NO' END
    FROM sys.database_permissions g JOIN sys.objects o ON o.object_id = g.major_id JOIN sys.schemas s ON s.schema_id = o.schema_id
        JOIN sys.columns c ON c.object_id = o.object_id AND (g.minor_id = 0 OR g.minor_id = c.column_id)
    WHERE g.class = 1 AND g.state IN ('G', 'W') AND o.type IN ('U', 'V') AND o.name = @table_name
        AND g.permission_name IN ('INSERT', 'REFERENCES', 'SELECT', 'UPDATE')) p
WHERE (@table_owner IS NULL OR p.schema_name = @table_owner) AND (@column_name IS NULL OR p.column_name LIKE @column_name)
ORDER BY TABLE_QUALIFIER, TABLE_OWNER, TABLE_NAME, COLUMN_NAME, PRIVILEGE, GRANTEE
RETURN 0
GO
CREATE PROCEDURE sp_helprotect @name nvarchar(776) = NULL, @username sysname = NULL, @grantorname sysname = NULL,
    @permissionarea varchar(10) = 'o s' AS
SET NOCOUNT ON
IF PARSENAME(@name, 3) IS NOT NULL
BEGIN
    RAISERROR(15302, -1, -1)
    RETURN 1
END
SET @permissionarea = UPPER(@permissionarea)
IF @permissionarea NOT LIKE '%[OS]%'
BEGIN
    RAISERROR(15300, -1, -1, @permissionarea, 'o,s')
    RETURN 1
END
DECLARE @found TABLE (owner sysname, object sysname, grantee sysname, grantor sysname, protect char(10), action nvarchar(60), col sysname, place int)
IF @permissionarea LIKE '%O%'
    INSERT @found
    SELECT s.name, o.name, USER_NAME(g.grantee_principal_id), USER_NAME(g.grantor_principal_id),
        CASE g.state WHEN 'D' THEN 'Deny' WHEN 'W' THEN 'Grant_WGO' ELSE 'Grant' END,
        UPPER(LEFT(g.permission_name, 1)) + LOWER(SUBSTRING(g.permission_name, 2, 60)),
        CASE WHEN g.minor_id > 0 THEN COL_NAME(g.major_id, g.minor_id) WHEN g.permission_name IN ('SELECT', 'UPDATE', 'REFERENCES')
            AND o.type IN ('U', 'V', 'IF', 'TF') THEN '(All+New)' ELSE '.' END, g.minor_id
    FROM sys.database_permissions g JOIN sys.objects o ON o.object_id = g.major_id JOIN sys.schemas s ON s.schema_id = o.schema_id
    WHERE g.class = 1 AND g.state IN ('G', 'W', 'D') AND (@name IS NULL OR o.name = PARSENAME(@name, 1))
        AND (PARSENAME(@name, 2) IS NULL OR s.name = PARSENAME(@name, 2))
IF @permissionarea LIKE '%S%'
    INSERT @found
    SELECT '.', '.', USER_NAME(g.grantee_principal_id), USER_NAME(g.grantor_principal_id),
        CASE g.state WHEN 'D' THEN 'Deny' WHEN 'W' THEN 'Grant_WGO' ELSE 'Grant' END,
        CASE WHEN g.permission_name LIKE 'CREATE %' OR g.permission_name LIKE 'BACKUP %' THEN g.permission_name
            ELSE UPPER(LEFT(g.permission_name, 1)) + LOWER(SUBSTRING(g.permission_name, 2, 60)) END, '.', 0
    FROM sys.database_permissions g
    WHERE g.class = 0 AND g.state IN ('G', 'W', 'D') AND (@name IS NULL OR g.permission_name = @name)
DELETE @found WHERE grantee <> @username OR grantor <> @grantorname
IF NOT EXISTS (SELECT * FROM @found)
BEGIN
    RAISERROR(15330, -1, -1)
    RETURN 1
END
SELECT owner AS Owner, object AS Object, grantee AS Grantee, grantor AS Grantor, protect AS ProtectType, action AS Action, col AS [Column]
FROM @found ORDER BY owner, object, grantee, grantor, protect, action, place
RETURN 0
