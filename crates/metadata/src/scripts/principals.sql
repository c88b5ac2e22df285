CREATE PROCEDURE sp_helpuser @name_in_db sysname = NULL AS
SET NOCOUNT ON
IF @name_in_db IS NOT NULL AND NOT EXISTS (SELECT * FROM sys.database_principals WHERE name = @name_in_db)
BEGIN
    RAISERROR(15198, -1, -1, @name_in_db)
    RETURN 1
END
IF EXISTS (SELECT * FROM sys.database_principals WHERE name = @name_in_db AND type = 'R')
BEGIN
    SELECT r.name AS Role_name, r.principal_id AS Role_id, u.name AS Users_in_role, u.principal_id AS Userid
    FROM sys.database_principals r JOIN sys.database_role_members m ON m.role_principal_id = r.principal_id
        JOIN sys.database_principals u ON u.principal_id = m.member_principal_id
    WHERE r.name = @name_in_db ORDER BY 1, 3
    RETURN 0
END
SELECT u.name AS UserName, CAST(ISNULL(r.name, 'public') AS nvarchar(128)) AS RoleName, l.name AS LoginName, l.default_database_name AS DefDBName,
    u.default_schema_name AS DefSchemaName, CONVERT(char(10), u.principal_id) AS UserID, u.sid AS SID
FROM sys.database_principals u LEFT JOIN sys.database_role_members m ON m.member_principal_id = u.principal_id
    LEFT JOIN sys.database_principals r ON r.principal_id = m.role_principal_id
    LEFT JOIN sys.server_principals l ON l.sid = u.sid AND l.type <> 'R'
WHERE u.type = 'S' AND (@name_in_db IS NULL OR u.name = @name_in_db) ORDER BY u.name, 2
RETURN 0
GO
CREATE PROCEDURE sp_helprole @rolename sysname = NULL AS
SET NOCOUNT ON
IF @rolename IS NOT NULL AND NOT EXISTS (SELECT * FROM sys.database_principals WHERE name = @rolename AND type IN ('R', 'A'))
BEGIN
    RAISERROR(15409, -1, -1, @rolename)
    RETURN 1
END
SELECT name AS RoleName, principal_id AS RoleId, CASE type WHEN 'A' THEN 1 ELSE 0 END AS IsAppRole
FROM sys.database_principals WHERE type IN ('R', 'A') AND (@rolename IS NULL OR name = @rolename) ORDER BY principal_id
RETURN 0
GO
CREATE PROCEDURE sp_helprolemember @rolename sysname = NULL AS
SET NOCOUNT ON
IF @rolename IS NOT NULL AND NOT EXISTS (SELECT * FROM sys.database_principals WHERE name = @rolename AND type = 'R')
BEGIN
    RAISERROR(15409, -1, -1, @rolename)
    RETURN 1
END
SELECT r.name AS DbRole, u.name AS MemberName, u.sid AS MemberSID
FROM sys.database_role_members m JOIN sys.database_principals r ON r.principal_id = m.role_principal_id
    JOIN sys.database_principals u ON u.principal_id = m.member_principal_id
WHERE @rolename IS NULL OR r.name = @rolename ORDER BY 1, 2
RETURN 0
GO
CREATE PROCEDURE sp_helpdbfixedrole @rolename sysname = NULL AS
SET NOCOUNT ON
DECLARE @fixed TABLE (place int, name sysname, description nvarchar(70))
INSERT @fixed VALUES (1, 'db_owner', 'DB Owners'), (2, 'db_accessadmin', 'DB Access Administrators'),
    (3, 'db_securityadmin', 'DB Security Administrators'), (4, 'db_ddladmin', 'DB DDL Administrators'), (5, 'db_backupoperator', 'DB Backup Operator'),
    (6, 'db_datareader', 'DB Data Reader'), (7, 'db_datawriter', 'DB Data Writer'), (8, 'db_denydatareader', 'DB Deny Data Reader'),
    (9, 'db_denydatawriter', 'DB Deny Data Writer')
IF @rolename IS NOT NULL AND NOT EXISTS (SELECT * FROM @fixed WHERE name = @rolename)
BEGIN
    RAISERROR(15412, -1, -1, @rolename)
    RETURN 1
END
SELECT name AS DbFixedRole, description AS Description FROM @fixed WHERE @rolename IS NULL OR name = @rolename ORDER BY place
RETURN 0
GO
CREATE PROCEDURE sp_helpsrvrole @srvrolename sysname = NULL AS
SET NOCOUNT ON
DECLARE @fixed TABLE (place int, name sysname, description nvarchar(70))
INSERT @fixed VALUES (1, 'sysadmin', 'System Administrators'), (2, 'securityadmin', 'Security Administrators'), (3, 'serveradmin', 'Server Administrators'),
    (4, 'setupadmin', 'Setup Administrators'), (5, 'processadmin', 'Process Administrators'), (6, 'diskadmin', 'Disk Administrators'),
    (7, 'dbcreator', 'Database Creators'), (8, 'bulkadmin', 'Bulk Insert Administrators')
IF @srvrolename IS NOT NULL AND NOT EXISTS (SELECT * FROM @fixed WHERE name = @srvrolename)
BEGIN
    RAISERROR(15402, -1, -1, @srvrolename)
    RETURN 1
END
SELECT name AS ServerRole, description AS Description FROM @fixed WHERE @srvrolename IS NULL OR name = @srvrolename ORDER BY place
RETURN 0
GO
CREATE PROCEDURE sp_helpsrvrolemember @srvrolename sysname = NULL AS
SET NOCOUNT ON
IF @srvrolename IS NOT NULL AND NOT EXISTS (SELECT * FROM sys.server_principals WHERE name = @srvrolename AND type = 'R')
BEGIN
    RAISERROR(15412, -1, -1, @srvrolename)
    RETURN 1
END
SELECT r.name AS ServerRole, l.name AS MemberName, l.sid AS MemberSID
FROM sys.server_role_members m JOIN sys.server_principals r ON r.principal_id = m.role_principal_id
    JOIN sys.server_principals l ON l.principal_id = m.member_principal_id
WHERE @srvrolename IS NULL OR r.name = @srvrolename ORDER BY 1, 2
RETURN 0
GO
CREATE PROCEDURE sp_helplogins @LoginNamePattern sysname = NULL AS
SET NOCOUNT ON
IF @LoginNamePattern IS NOT NULL AND NOT EXISTS (SELECT * FROM sys.server_principals WHERE name = @LoginNamePattern AND type <> 'R')
BEGIN
    RAISERROR(15007, -1, -1, @LoginNamePattern)
    RETURN 1
END
DECLARE @users TABLE (login sysname, db sysname, name sysname, kind char(8))
DECLARE @db sysname, @text nvarchar(2000)
DECLARE each CURSOR LOCAL STATIC FOR SELECT name FROM sys.databases WHERE state = 0 AND HAS_DBACCESS(name) = 1 ORDER BY name
OPEN each
FETCH each INTO @db
WHILE @@FETCH_STATUS = 0
BEGIN
    SET @text = N'SELECT l.name, N''' + REPLACE(@db, N'''', N'''''') + N''', u.name, ''User'' FROM ' + QUOTENAME(@db)
        + N'.sys.database_principals u JOIN sys.server_principals l ON l.sid = u.sid WHERE u.type <> ''R'' AND l.type <> ''R''
        UNION ALL SELECT l.name, N''' + REPLACE(@db, N'''', N'''''') + N''', r.name, ''MemberOf'' FROM ' + QUOTENAME(@db)
        + N'.sys.database_principals u JOIN sys.server_principals l ON l.sid = u.sid JOIN ' + QUOTENAME(@db)
        + N'.sys.database_role_members m ON m.member_principal_id = u.principal_id JOIN ' + QUOTENAME(@db)
        + N'.sys.database_principals r ON r.principal_id = m.role_principal_id WHERE l.type <> ''R'''
    INSERT @users EXEC (@text)
    FETCH each INTO @db
END
SELECT l.name AS LoginName, l.sid AS SID, l.default_database_name AS DefDBName, l.default_language_name AS DefLangName,
    CONVERT(char(5), CASE WHEN EXISTS (SELECT * FROM @users u WHERE u.login = l.name) THEN 'yes' ELSE 'NO' END) AS AUser,
    CONVERT(char(7), 'no') AS ARemote
FROM sys.server_principals l WHERE l.type <> 'R' AND (@LoginNamePattern IS NULL OR l.name = @LoginNamePattern) ORDER BY l.name
SELECT login AS LoginName, db AS DBName, name AS UserName, kind AS UserOrAlias FROM @users
WHERE @LoginNamePattern IS NULL OR login = @LoginNamePattern ORDER BY login, db, kind DESC, name
RETURN 0
