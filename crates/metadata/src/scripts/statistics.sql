CREATE PROCEDURE sp_helpstats @objname nvarchar(776), @results nvarchar(5) = 'STATS' AS
SET NOCOUNT ON
DECLARE @id int, @db sysname = DB_NAME()
IF @results NOT IN ('STATS', 'ALL')
BEGIN
    RAISERROR(15251, -1, -1, '@results', '''STATS'' or ''ALL''')
    RETURN 1
END
IF PARSENAME(@objname, 3) <> @db
BEGIN
    RAISERROR(15250, -1, -1)
    RETURN 1
END
SET @id = OBJECT_ID(@objname)
IF @id IS NULL
BEGIN
    RAISERROR(15009, -1, -1, @objname, @db)
    RETURN 1
END
DECLARE @found TABLE (name sysname, keys nvarchar(max))
INSERT @found
SELECT s.name, (SELECT STRING_AGG(COL_NAME(@id, c.column_id), ', ') WITHIN GROUP (ORDER BY c.stats_column_id) FROM sys.stats_columns c
    WHERE c.object_id = @id AND c.stats_id = s.stats_id)
FROM sys.stats s WHERE s.object_id = @id
    AND (@results = 'ALL' OR NOT EXISTS (SELECT * FROM sys.indexes i WHERE i.object_id = @id AND i.index_id = s.stats_id))
IF NOT EXISTS (SELECT * FROM @found)
BEGIN
    IF @results = 'STATS'
        RAISERROR(15574, -1, -1)
    ELSE
        RAISERROR(15575, -1, -1)
    RETURN 0
END
SELECT name AS statistics_name, CAST(keys AS nvarchar(2078)) AS statistics_keys FROM @found ORDER BY name
RETURN 0
GO
CREATE PROCEDURE sp_autostats @tblname nvarchar(776), @flagc varchar(10) = NULL, @indname sysname = NULL AS
SET NOCOUNT ON
DECLARE @id int, @db sysname = DB_NAME(), @text nvarchar(2000), @name sysname
IF UPPER(@flagc) NOT IN ('ON', 'OFF')
BEGIN
    RAISERROR(15600, -1, -1, 'sys.sp_autostats')
    RETURN 1
END
SELECT @id = object_id FROM sys.objects WHERE object_id = OBJECT_ID(@tblname) AND type IN ('U', 'V')
IF @id IS NULL
BEGIN
    RAISERROR(15009, -1, -1, @tblname, @db)
    RETURN 1
END
IF @indname IS NOT NULL AND NOT EXISTS (SELECT * FROM sys.stats WHERE object_id = @id AND name = @indname)
BEGIN
    DECLARE @shown nvarchar(1000) = @tblname + N'.' + @indname
    RAISERROR(15009, -1, -1, @shown, @db)
    RETURN 1
END
IF @flagc IS NULL
BEGIN
    SET @text = N'Global statistics settings for ' + QUOTENAME(@db) + N':'
    PRINT @text
    SELECT @text = N'Automatic update statistics: ' + CASE is_auto_update_stats_on WHEN 1 THEN 'ON' ELSE 'OFF' END FROM sys.databases
        WHERE database_id = DB_ID()
    PRINT @text
    SELECT @text = N'Automatic create statistics: ' + CASE is_auto_create_stats_on WHEN 1 THEN 'ON' ELSE 'OFF' END FROM sys.databases
        WHERE database_id = DB_ID()
    PRINT @text
    PRINT ' '
    SET @text = N'settings for table ' + QUOTENAME(OBJECT_NAME(@id))
    PRINT @text
    PRINT ' '
    SELECT QUOTENAME(s.name) AS [Index Name], CASE s.no_recompute WHEN 1 THEN 'OFF' ELSE 'ON ' END AS AUTOSTATS,
        STATS_DATE(s.object_id, s.stats_id) AS [Last Updated]
    FROM sys.stats s WHERE s.object_id = @id AND (@indname IS NULL OR s.name = @indname) ORDER BY s.stats_id
    RETURN 0
END
DECLARE each CURSOR LOCAL STATIC FOR SELECT name FROM sys.stats WHERE object_id = @id AND (@indname IS NULL OR name = @indname)
OPEN each
FETCH each INTO @name
WHILE @@FETCH_STATUS = 0
BEGIN
    SET @text = N'UPDATE STATISTICS ' + QUOTENAME(OBJECT_SCHEMA_NAME(@id)) + N'.' + QUOTENAME(OBJECT_NAME(@id)) + N' (' + QUOTENAME(@name)
        + N')' + CASE UPPER(@flagc) WHEN 'OFF' THEN N' WITH NORECOMPUTE' ELSE N'' END
    EXEC (@text)
    FETCH each INTO @name
END
RETURN 0
GO
CREATE PROCEDURE sp_createstats @indexonly char(9) = 'NO', @fullscan char(9) = 'NO', @norecompute char(12) = 'NO', @incremental char(12) = 'NO' AS
SET NOCOUNT ON
IF UPPER(@indexonly) NOT IN ('NO', 'INDEXONLY') OR UPPER(@fullscan) NOT IN ('NO', 'FULLSCAN') OR UPPER(@norecompute) NOT IN ('NO', 'NORECOMPUTE')
    OR UPPER(@incremental) NOT IN ('NO', 'INCREMENTAL')
BEGIN
    RAISERROR(15600, -1, -1, 'sys.sp_createstats')
    RETURN 1
END
IF UPPER(@incremental) <> 'NO'
BEGIN
    RAISERROR(40510, -1, -1, 'sp_createstats ''incremental''')
    RETURN 1
END
DECLARE @options nvarchar(60) = CASE UPPER(@fullscan) WHEN 'FULLSCAN' THEN N', FULLSCAN' ELSE N'' END
    + CASE UPPER(@norecompute) WHEN 'NORECOMPUTE' THEN N', NORECOMPUTE' ELSE N'' END
DECLARE @id int, @column sysname, @shown nvarchar(300), @text nvarchar(2000), @last int = 0, @made int = 0
-- One column of each table's: types that have no order, computed columns and those that lead statistics already are left out.
DECLARE each CURSOR LOCAL STATIC FOR
    SELECT c.object_id, c.name FROM sys.tables t JOIN sys.columns c ON c.object_id = t.object_id
    WHERE c.is_computed = 0 AND c.max_length <> -1 AND TYPE_NAME(c.system_type_id) NOT IN ('text', 'ntext', 'image', 'xml', 'timestamp', 'sql_variant')
        AND NOT EXISTS (SELECT * FROM sys.stats_columns s WHERE s.object_id = c.object_id AND s.column_id = c.column_id AND s.stats_column_id = 1)
        AND NOT EXISTS (SELECT * FROM sys.stats s WHERE s.object_id = c.object_id AND s.name = c.name)
        AND (UPPER(@indexonly) = 'NO' OR EXISTS (SELECT * FROM sys.index_columns i WHERE i.object_id = c.object_id AND i.column_id = c.column_id))
    ORDER BY t.name, c.column_id
OPEN each
FETCH each INTO @id, @column
WHILE @@FETCH_STATUS = 0
BEGIN
    IF @id <> @last
    BEGIN
        SET @shown = DB_NAME() + N'.' + OBJECT_SCHEMA_NAME(@id) + N'.' + OBJECT_NAME(@id)
        RAISERROR(15018, -1, -1, @shown)
        SET @last = @id
    END
    SET @text = N'     ' + @column
    PRINT @text
    SET @text = N'CREATE STATISTICS ' + QUOTENAME(@column) + N' ON ' + QUOTENAME(OBJECT_SCHEMA_NAME(@id)) + N'.' + QUOTENAME(OBJECT_NAME(@id))
        + N' (' + QUOTENAME(@column) + N')' + CASE WHEN @options = N'' THEN N'' ELSE N' WITH ' + STUFF(@options, 1, 2, N'') END
    EXEC (@text)
    SET @made += 1
    FETCH each INTO @id, @column
END
PRINT ' '
RAISERROR(15020, -1, -1, @made)
RETURN 0
