CREATE PROCEDURE sp_addlogin @loginame sysname, @passwd sysname = NULL, @defdb sysname = N'master', @deflanguage sysname = NULL,
    @sid varbinary(16) = NULL, @encryptopt varchar(20) = NULL AS
SET NOCOUNT ON
IF @@TRANCOUNT > 0
BEGIN
    RAISERROR(15002, -1, -1, 'sys.sp_addlogin')
    RETURN 1
END
DECLARE @text nvarchar(2000) = N'CREATE LOGIN ' + QUOTENAME(@loginame) + N' WITH PASSWORD = '
    + CASE WHEN @encryptopt LIKE 'skip[_]encryption%' THEN CONVERT(nvarchar(300), CONVERT(varbinary(256), @passwd), 1) + N' HASHED'
        ELSE N'N''' + REPLACE(ISNULL(@passwd, N''), N'''', N'''''') + N'''' END
    + CASE WHEN @sid IS NULL THEN N'' ELSE N', SID = ' + CONVERT(nvarchar(40), @sid, 1) END
    + N', DEFAULT_DATABASE = ' + QUOTENAME(ISNULL(@defdb, N'master'))
    + CASE WHEN @deflanguage IS NULL THEN N'' ELSE N', DEFAULT_LANGUAGE = ' + QUOTENAME(@deflanguage) END + N', CHECK_POLICY = OFF'
EXEC (@text)
RETURN CASE @@ERROR WHEN 0 THEN 0 ELSE 1 END
GO
CREATE PROCEDURE sp_droplogin @loginame sysname AS
SET NOCOUNT ON
IF @@TRANCOUNT > 0
BEGIN
    RAISERROR(15002, -1, -1, 'sys.sp_droplogin')
    RETURN 1
END
DECLARE @text nvarchar(400) = N'DROP LOGIN ' + QUOTENAME(@loginame)
EXEC (@text)
RETURN CASE @@ERROR WHEN 0 THEN 0 ELSE 1 END
GO
CREATE PROCEDURE sp_password @old sysname = NULL, @new sysname, @loginame sysname = NULL AS
SET NOCOUNT ON
IF @@TRANCOUNT > 0
BEGIN
    RAISERROR(15002, -1, -1, 'sys.sp_password')
    RETURN 1
END
DECLARE @text nvarchar(1000) = N'ALTER LOGIN ' + QUOTENAME(ISNULL(@loginame, SUSER_SNAME())) + N' WITH PASSWORD = N'''
    + REPLACE(ISNULL(@new, N''), N'''', N'''''') + N''''
    + CASE WHEN @old IS NULL THEN N'' ELSE N' OLD_PASSWORD = N''' + REPLACE(@old, N'''', N'''''') + N'''' END
EXEC (@text)
RETURN CASE @@ERROR WHEN 0 THEN 0 ELSE 1 END
GO
CREATE PROCEDURE sp_defaultdb @loginame sysname, @defdb sysname AS
SET NOCOUNT ON
DECLARE @text nvarchar(600) = N'ALTER LOGIN ' + QUOTENAME(@loginame) + N' WITH DEFAULT_DATABASE = ' + QUOTENAME(@defdb)
EXEC (@text)
RETURN CASE @@ERROR WHEN 0 THEN 0 ELSE 1 END
GO
CREATE PROCEDURE sp_defaultlanguage @loginame sysname, @language sysname = NULL AS
SET NOCOUNT ON
DECLARE @text nvarchar(600) = N'ALTER LOGIN ' + QUOTENAME(@loginame) + N' WITH DEFAULT_LANGUAGE = ' + QUOTENAME(ISNULL(@language, N'us_english'))
EXEC (@text)
RETURN CASE @@ERROR WHEN 0 THEN 0 ELSE 1 END
GO
CREATE PROCEDURE sp_grantlogin @loginame sysname AS
SET NOCOUNT ON
DECLARE @text nvarchar(400) = N'CREATE LOGIN ' + QUOTENAME(@loginame) + N' FROM WINDOWS'
EXEC (@text)
RETURN CASE @@ERROR WHEN 0 THEN 0 ELSE 1 END
GO
CREATE PROCEDURE sp_revokelogin @loginame sysname AS
SET NOCOUNT ON
DECLARE @text nvarchar(400) = N'DROP LOGIN ' + QUOTENAME(@loginame)
EXEC (@text)
RETURN CASE @@ERROR WHEN 0 THEN 0 ELSE 1 END
GO
CREATE PROCEDURE sp_addsrvrolemember @loginame sysname, @rolename sysname AS
SET NOCOUNT ON
IF @@TRANCOUNT > 0
BEGIN
    RAISERROR(15002, -1, -1, 'sys.sp_addsrvrolemember')
    RETURN 1
END
DECLARE @text nvarchar(600) = N'ALTER SERVER ROLE ' + QUOTENAME(@rolename) + N' ADD MEMBER ' + QUOTENAME(@loginame)
EXEC (@text)
RETURN CASE @@ERROR WHEN 0 THEN 0 ELSE 1 END
GO
CREATE PROCEDURE sp_dropsrvrolemember @loginame sysname, @rolename sysname AS
SET NOCOUNT ON
IF @@TRANCOUNT > 0
BEGIN
    RAISERROR(15002, -1, -1, 'sys.sp_dropsrvrolemember')
    RETURN 1
END
DECLARE @text nvarchar(600) = N'ALTER SERVER ROLE ' + QUOTENAME(@rolename) + N' DROP MEMBER ' + QUOTENAME(@loginame)
EXEC (@text)
RETURN CASE @@ERROR WHEN 0 THEN 0 ELSE 1 END
GO
CREATE PROCEDURE sp_adduser @loginame sysname, @name_in_db sysname = NULL, @grpname sysname = NULL AS
SET NOCOUNT ON
DECLARE @name sysname = ISNULL(@name_in_db, @loginame)
DECLARE @text nvarchar(600) = N'CREATE USER ' + QUOTENAME(@name) + N' FOR LOGIN ' + QUOTENAME(@loginame)
EXEC (@text)
IF @@ERROR <> 0
    RETURN 1
IF @grpname IS NOT NULL
    EXEC sys.sp_addrolemember @grpname, @name
RETURN 0
GO
CREATE PROCEDURE sp_dropuser @name_in_db sysname AS
SET NOCOUNT ON
DECLARE @text nvarchar(400) = N'DROP USER ' + QUOTENAME(@name_in_db)
EXEC (@text)
RETURN CASE @@ERROR WHEN 0 THEN 0 ELSE 1 END
GO
CREATE PROCEDURE sp_grantdbaccess @loginame sysname, @name_in_db sysname = NULL OUTPUT AS
SET NOCOUNT ON
SET @name_in_db = ISNULL(@name_in_db, @loginame)
DECLARE @text nvarchar(600) = N'CREATE USER ' + QUOTENAME(@name_in_db) + N' FOR LOGIN ' + QUOTENAME(@loginame)
EXEC (@text)
RETURN CASE @@ERROR WHEN 0 THEN 0 ELSE 1 END
GO
CREATE PROCEDURE sp_revokedbaccess @name_in_db sysname AS
SET NOCOUNT ON
DECLARE @text nvarchar(400) = N'DROP USER ' + QUOTENAME(@name_in_db)
EXEC (@text)
RETURN CASE @@ERROR WHEN 0 THEN 0 ELSE 1 END
GO
CREATE PROCEDURE sp_addrole @rolename sysname, @ownername sysname = NULL AS
SET NOCOUNT ON
DECLARE @text nvarchar(600) = N'CREATE ROLE ' + QUOTENAME(@rolename)
    + CASE WHEN @ownername IS NULL THEN N'' ELSE N' AUTHORIZATION ' + QUOTENAME(@ownername) END
EXEC (@text)
RETURN CASE @@ERROR WHEN 0 THEN 0 ELSE 1 END
GO
CREATE PROCEDURE sp_droprole @rolename sysname AS
SET NOCOUNT ON
DECLARE @text nvarchar(400) = N'DROP ROLE ' + QUOTENAME(@rolename)
EXEC (@text)
RETURN CASE @@ERROR WHEN 0 THEN 0 ELSE 1 END
GO
CREATE PROCEDURE sp_change_users_login @Action varchar(10), @UserNamePattern sysname = NULL, @LoginName sysname = NULL,
    @Password sysname = NULL AS
SET NOCOUNT ON
DECLARE @text nvarchar(1000)
IF @Action IS NULL OR UPPER(@Action) NOT IN ('REPORT', 'UPDATE_ONE', 'AUTO_FIX')
BEGIN
    RAISERROR(15286, -1, -1, @Action)
    RETURN 1
END
IF UPPER(@Action) = 'REPORT'
BEGIN
    SELECT u.name AS UserName, u.sid AS UserSID FROM sys.database_principals u
    WHERE u.type = 'S' AND u.principal_id > 4 AND u.authentication_type = 1 AND SUSER_SNAME(u.sid) IS NULL ORDER BY u.name
    RETURN 0
END
IF NOT EXISTS (SELECT * FROM sys.database_principals WHERE name = @UserNamePattern AND type = 'S')
BEGIN
    RAISERROR(15291, -1, -1, 'User', @UserNamePattern)
    RETURN 1
END
IF UPPER(@Action) = 'AUTO_FIX'
BEGIN
    SET @LoginName = @UserNamePattern
    IF SUSER_ID(@LoginName) IS NULL AND @Password IS NOT NULL
        EXEC sys.sp_addlogin @LoginName, @Password
END
IF SUSER_ID(@LoginName) IS NULL
BEGIN
    RAISERROR(15291, -1, -1, 'Login', @LoginName)
    RETURN 1
END
SET @text = N'ALTER USER ' + QUOTENAME(@UserNamePattern) + N' WITH LOGIN = ' + QUOTENAME(@LoginName)
EXEC (@text)
IF @@ERROR <> 0
    RETURN 1
IF UPPER(@Action) = 'AUTO_FIX'
    RAISERROR(15295, -1, -1, 1)
RETURN 0
GO
CREATE PROCEDURE sp_addapprole @rolename sysname, @password sysname AS
SET NOCOUNT ON
IF @@TRANCOUNT > 0
BEGIN
    RAISERROR(15002, -1, -1, 'sys.sp_addapprole')
    RETURN 1
END
DECLARE @text nvarchar(800) = N'CREATE APPLICATION ROLE ' + QUOTENAME(@rolename)
    + N' WITH PASSWORD = N''' + REPLACE(@password, N'''', N'''''') + N''''
EXEC (@text)
RETURN CASE @@ERROR WHEN 0 THEN 0 ELSE 1 END
GO
CREATE PROCEDURE sp_approlepassword @rolename sysname, @newpwd sysname AS
SET NOCOUNT ON
DECLARE @text nvarchar(800) = N'ALTER APPLICATION ROLE ' + QUOTENAME(@rolename)
    + N' WITH PASSWORD = N''' + REPLACE(@newpwd, N'''', N'''''') + N''''
EXEC (@text)
RETURN CASE @@ERROR WHEN 0 THEN 0 ELSE 1 END
GO
CREATE PROCEDURE sp_dropapprole @rolename sysname AS
SET NOCOUNT ON
DECLARE @text nvarchar(400) = N'DROP APPLICATION ROLE ' + QUOTENAME(@rolename)
EXEC (@text)
RETURN CASE @@ERROR WHEN 0 THEN 0 ELSE 1 END
GO
