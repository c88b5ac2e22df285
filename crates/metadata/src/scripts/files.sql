CREATE PROCEDURE sp_helpfile @filename sysname = NULL AS
SET NOCOUNT ON
IF @filename IS NOT NULL AND FILE_IDEX(@filename) IS NULL
BEGIN
    RAISERROR(15325, -1, -1, 'file', @filename)
    RETURN 1
END
SELECT name, CONVERT(smallint, file_id) AS fileid, physical_name AS filename, FILEGROUP_NAME(data_space_id) AS filegroup,
    CONVERT(nvarchar(18), CONVERT(nvarchar(15), CONVERT(bigint, size) * 8) + N' KB') AS size,
    CONVERT(nvarchar(18), CASE max_size WHEN -1 THEN N'Unlimited' ELSE CONVERT(nvarchar(15), CONVERT(bigint, max_size) * 8) + N' KB' END)
        AS maxsize,
    CONVERT(nvarchar(18), CASE is_percent_growth WHEN 1 THEN CONVERT(nvarchar(15), growth) + N'%'
        ELSE CONVERT(nvarchar(15), CONVERT(bigint, growth) * 8) + N' KB' END) AS growth,
    CASE type WHEN 1 THEN 'log only' ELSE 'data only' END AS usage
FROM sys.database_files WHERE @filename IS NULL OR name = @filename ORDER BY file_id
RETURN 0
GO
CREATE PROCEDURE sp_helpfilegroup @filegroupname sysname = NULL AS
SET NOCOUNT ON
IF @filegroupname IS NOT NULL AND FILEGROUP_ID(@filegroupname) IS NULL
BEGIN
    RAISERROR(15325, -1, -1, 'filegroup', @filegroupname)
    RETURN 1
END
SELECT g.name AS groupname, CONVERT(smallint, g.data_space_id) AS groupid,
    (SELECT COUNT(*) FROM sys.database_files f WHERE f.data_space_id = g.data_space_id) AS filecount
FROM sys.filegroups g WHERE @filegroupname IS NULL OR g.name = @filegroupname ORDER BY g.data_space_id
IF @filegroupname IS NOT NULL
    SELECT name AS file_in_group, CONVERT(smallint, file_id) AS fileid, physical_name AS filename,
        CONVERT(nvarchar(18), CONVERT(nvarchar(15), CONVERT(bigint, size) * 8) + N' KB') AS size,
        CONVERT(nvarchar(18), CASE max_size WHEN -1 THEN N'Unlimited' ELSE CONVERT(nvarchar(15), CONVERT(bigint, max_size) * 8) + N' KB' END)
            AS maxsize,
        CONVERT(nvarchar(18), CASE is_percent_growth WHEN 1 THEN CONVERT(nvarchar(15), growth) + N'%'
            ELSE CONVERT(nvarchar(15), CONVERT(bigint, growth) * 8) + N' KB' END) AS growth
    FROM sys.database_files WHERE data_space_id = FILEGROUP_ID(@filegroupname) ORDER BY file_id
RETURN 0
GO
CREATE PROCEDURE sp_renamedb @dbname sysname, @newname sysname AS
SET NOCOUNT ON
IF @@TRANCOUNT > 0
BEGIN
    RAISERROR(15002, -1, -1, 'sys.sp_renamedb')
    RETURN 1
END
IF DB_ID(@dbname) IS NULL
BEGIN
    RAISERROR(15010, -1, -1, @dbname)
    RETURN 1
END
DECLARE @text nvarchar(600) = N'ALTER DATABASE ' + QUOTENAME(@dbname) + N' MODIFY NAME = ' + QUOTENAME(@newname)
EXEC (@text)
IF @@ERROR <> 0
    RETURN 1
RETURN 0
