CREATE PROCEDURE sp_tableoption @TableNamePattern nvarchar(776), @OptionName varchar(35), @OptionValue varchar(12) AS
SET NOCOUNT ON
DECLARE @value varchar(12) = LOWER(LTRIM(RTRIM(@OptionValue))), @option varchar(35) = LOWER(@OptionName)
IF PARSENAME(@TableNamePattern, 3) <> DB_NAME()
BEGIN
    RAISERROR(15387, -1, -1)
    RETURN 1
END
IF OBJECTPROPERTY(OBJECT_ID(@TableNamePattern), 'IsUserTable') IS NULL OR OBJECTPROPERTY(OBJECT_ID(@TableNamePattern), 'IsUserTable') = 0
BEGIN
    RAISERROR(15388, -1, -1, @TableNamePattern)
    RETURN 1
END
IF @option NOT IN ('table lock on bulk load', 'insert row lock', 'text in row', 'large value types out of row', 'vardecimal storage format')
    OR @value NOT IN ('on', 'off', 'true', 'false', '1', '0') AND (@option <> 'text in row' OR @value LIKE '%[^0-9]%')
BEGIN
    RAISERROR(15600, -1, -1, 'sys.sp_tableoption')
    RETURN 1
END
-- What is on is not what tables here do: none of it can be switched on.
IF @value NOT IN ('off', 'false', '0') AND @option <> 'insert row lock'
BEGIN
    DECLARE @what nvarchar(80) = N'sp_tableoption ''' + @option + N''''
    RAISERROR(40510, -1, -1, @what)
    RETURN 1
END
RETURN 0
GO
CREATE PROCEDURE sp_validname @name sysname, @raise_error bit = 1 AS
SET NOCOUNT ON
IF @name IS NULL
BEGIN
    IF @raise_error = 1
        RAISERROR(15004, -1, -1)
    RETURN 1
END
IF @name = '' OR CHARINDEX(NCHAR(0), @name COLLATE Latin1_General_BIN2) > 0 OR CHARINDEX(NCHAR(65535), @name COLLATE Latin1_General_BIN2) > 0
BEGIN
    IF @raise_error = 1
        RAISERROR(15006, -1, -1, @name)
    RETURN 1
END
RETURN 0
