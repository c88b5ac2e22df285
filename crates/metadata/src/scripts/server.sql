CREATE PROCEDURE xp_msver @optname sysname = NULL AS
SET NOCOUNT ON
DECLARE @version nvarchar(128) = CONVERT(nvarchar(128), SERVERPROPERTY('ProductVersion')), @cpus int, @memory bigint
SELECT @cpus = cpu_count, @memory = physical_memory_kb / 1024 FROM sys.dm_os_sys_info
SELECT CONVERT(smallint, v.place) AS [Index], CONVERT(nvarchar(64), v.name) AS Name, CONVERT(int, v.number) AS Internal_Value,
    CONVERT(nvarchar(256), v.value) AS Character_Value
FROM (VALUES (1, 'ProductName', NULL, N'Microsoft SQL Server'), (2, 'ProductVersion', 1048576, @version), (3, 'Language', 1033, N'English (United States)'),
    (4, 'Platform', NULL, N'NT x64'), (5, 'Comments', NULL, N'SQL'), (6, 'CompanyName', NULL, NULL), (7, 'FileDescription', NULL, N'SQL Server'),
    (8, 'FileVersion', NULL, @version), (9, 'InternalName', NULL, N'SQLSERVR'), (10, 'LegalCopyright', NULL, NULL), (11, 'LegalTrademarks', NULL, NULL),
    (12, 'OriginalFilename', NULL, NULL), (13, 'PrivateBuild', NULL, NULL), (14, 'SpecialBuild', 65536000, NULL), (15, 'WindowsVersion', NULL, NULL),
    (16, 'ProcessorCount', @cpus, CONVERT(nvarchar(20), @cpus)), (17, 'ProcessorActiveMask', NULL, NULL), (18, 'ProcessorType', 8664, NULL),
    (19, 'PhysicalMemory', CONVERT(int, @memory), CONVERT(nvarchar(20), @memory)), (20, 'Product ID', NULL, NULL)) v (place, name, number, value)
WHERE @optname IS NULL OR v.name = @optname ORDER BY v.place
RETURN 0
GO
CREATE PROCEDURE xp_fixeddrives AS
SET NOCOUNT ON
SELECT CONVERT(nvarchar(256), 'C') AS drive, CONVERT(int, MIN(v.available_bytes) / 1048576) AS [MB free]
FROM sys.dm_os_volume_stats(1, 1) v
RETURN 0
GO
CREATE PROCEDURE xp_logininfo @acctname sysname = NULL, @option varchar(10) = NULL, @privilege varchar(10) = NULL OUTPUT AS
SET NOCOUNT ON
IF @acctname IS NOT NULL
BEGIN
    RAISERROR(15404, -1, -1, @acctname, 1332)
    RETURN 1
END
-- Accounts of Windows: there are none.
SELECT CONVERT(nvarchar(128), '') AS [account name], CONVERT(char(8), '') AS type, CONVERT(char(9), '') AS privilege,
    CONVERT(nvarchar(128), '') AS [mapped login name], CONVERT(nvarchar(128), '') AS [permission path]
WHERE 1 = 0
RETURN 0
GO
CREATE PROCEDURE xp_loginconfig @name sysname = NULL AS
SET NOCOUNT ON
SELECT CONVERT(nvarchar(30), v.name) AS name, CONVERT(nvarchar(50), v.value) AS config_value
FROM (VALUES (1, 'login mode', 'SQL Server'), (2, 'default login', 'guest'), (3, 'default domain', ''), (4, 'audit level', 'failure'),
    (5, 'set hostname', 'false'), (6, 'map _', 'domain separator'), (7, 'map $', 'space'), (8, 'map #', '-')) v (place, name, value)
WHERE @name IS NULL OR v.name = @name ORDER BY v.place
RETURN 0
GO
CREATE PROCEDURE xp_cmdshell @command nvarchar(4000) = NULL, @no_output varchar(9) = NULL AS
SET NOCOUNT ON
-- Nothing can switch it on here.
RAISERROR(15281, 16, -1, 'procedure', 'sys.xp_cmdshell', 'xp_cmdshell', 'xp_cmdshell', 'xp_cmdshell', 'xp_cmdshell')
RETURN 1
GO
CREATE PROCEDURE sp_helpserver @server sysname = NULL, @optname varchar(35) = NULL, @show_topology varchar(1) = NULL AS
SET NOCOUNT ON
IF LOWER(@optname) NOT IN ('collation compatible', 'data access', 'dist', 'dpub', 'lazy schema validation', 'pub', 'rpc', 'rpc out', 'sub',
    'system', 'use remote collation')
BEGIN
    RAISERROR(15206, -1, -1, @optname)
    RETURN 1
END
IF @server IS NOT NULL AND NOT EXISTS (SELECT * FROM sys.sysservers WHERE srvname = @server)
BEGIN
    RAISERROR(15015, -1, -1, @server)
    RETURN 1
END
DECLARE @found TABLE (name sysname, network_name sysname NULL, status varchar(70), id smallint, collation_name sysname NULL,
    connect_timeout int, query_timeout int, topx int, topy int)
INSERT @found
SELECT srvname, RTRIM(srvnetname),
    CONVERT(varchar(70), CONCAT_WS(',', CASE rpc WHEN 1 THEN 'rpc' END, CASE pub WHEN 1 THEN 'pub' END, CASE sub WHEN 1 THEN 'sub' END,
        CASE dist WHEN 1 THEN 'dist' END, CASE dpub WHEN 1 THEN 'dpub' END, CASE rpcout WHEN 1 THEN 'rpc out' END,
        CASE dataaccess WHEN 1 THEN 'data access' END, CASE collationcompatible WHEN 1 THEN 'collation compatible' END,
        CASE [system] WHEN 1 THEN 'system' END, CASE useremotecollation WHEN 1 THEN 'use remote collation' END,
        CASE lazyschemavalidation WHEN 1 THEN 'lazy schema validation' END)),
    srvid, [collation], connecttimeout, querytimeout, topologyx, topologyy
FROM sys.sysservers
WHERE @server IS NULL OR srvname = @server
-- The servers that have the option.
IF @optname IS NOT NULL
    DELETE @found WHERE CHARINDEX(',' + @optname + ',', ',' + status + ',') = 0
IF @show_topology = 't'
    SELECT name, network_name, status, CONVERT(char(4), id) AS id, collation_name, connect_timeout, query_timeout, topx, topy
    FROM @found ORDER BY name
ELSE
    SELECT name, network_name, status, CONVERT(char(4), id) AS id, collation_name, connect_timeout, query_timeout
    FROM @found ORDER BY name
RETURN 0
