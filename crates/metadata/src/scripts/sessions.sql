CREATE PROCEDURE sp_who2 @loginame sysname = NULL AS
SET NOCOUNT ON
DECLARE @low int = 0, @high int = 32767, @login sysname
IF @loginame IS NOT NULL AND @loginame <> 'active'
BEGIN
    IF @loginame NOT LIKE '%[^0-9]%'
        SELECT @low = CONVERT(int, @loginame), @high = CONVERT(int, @loginame)
    ELSE IF SUSER_ID(@loginame) IS NOT NULL
        SET @login = @loginame
    ELSE
    BEGIN
        RAISERROR(15007, -1, -1, @loginame)
        RETURN 1
    END
END
SELECT CONVERT(char(5), s.session_id) AS SPID,
    CONVERT(nvarchar(30), CASE WHEN s.status = 'sleeping' THEN s.status ELSE UPPER(s.status) END) AS Status, s.login_name AS Login,
    CASE WHEN s.host_name IS NULL OR s.host_name = '' THEN '  .' ELSE s.host_name END AS HostName,
    CONVERT(char(5), CASE WHEN ISNULL(r.blocking_session_id, 0) = 0 THEN '  .' ELSE CONVERT(varchar(5), r.blocking_session_id) END) AS BlkBy,
    DB_NAME(s.database_id) AS DBName, CONVERT(nvarchar(32), ISNULL(r.command, 'AWAITING COMMAND')) AS Command,
    CONVERT(varchar(20), ISNULL(s.cpu_time, 0)) AS CPUTime, CONVERT(varchar(20), ISNULL(s.reads, 0) + ISNULL(s.writes, 0)) AS DiskIO,
    SUBSTRING(CONVERT(varchar(30), s.last_request_start_time, 111), 6, 5) + ' ' + CONVERT(varchar(8), s.last_request_start_time, 108)
        AS LastBatch,
    ISNULL(s.program_name, '') AS ProgramName, CONVERT(char(5), s.session_id) AS SPID, CONVERT(char(5), ISNULL(r.request_id, 0)) AS REQUESTID
FROM sys.dm_exec_sessions s LEFT JOIN sys.dm_exec_requests r ON r.session_id = s.session_id
WHERE s.session_id BETWEEN @low AND @high AND (@login IS NULL OR s.login_name = @login)
    AND (ISNULL(@loginame, '') <> 'active' OR r.session_id IS NOT NULL)
ORDER BY s.session_id
RETURN 0
GO
CREATE PROCEDURE sp_lock @spid1 int = NULL, @spid2 int = NULL AS
SET NOCOUNT ON
SELECT CONVERT(smallint, request_session_id) AS spid, CONVERT(smallint, resource_database_id) AS dbid,
    CONVERT(int, CASE WHEN resource_type IN ('KEY', 'PAGE', 'RID', 'HOBT')
        THEN CASE WHEN resource_database_id = DB_ID() THEN (SELECT MIN(p.object_id) FROM sys.partitions p WHERE p.hobt_id = resource_associated_entity_id) END
        WHEN resource_type IN ('OBJECT') THEN resource_associated_entity_id END) AS ObjId,
    CONVERT(smallint, CASE WHEN resource_type IN ('KEY', 'PAGE', 'RID', 'HOBT') AND resource_database_id = DB_ID()
        THEN (SELECT MIN(p.index_id) FROM sys.partitions p WHERE p.hobt_id = resource_associated_entity_id) ELSE 0 END) AS IndId,
    CONVERT(nchar(4), CASE resource_type WHEN 'DATABASE' THEN 'DB' WHEN 'FILE' THEN 'FIL' WHEN 'OBJECT' THEN 'TAB' WHEN 'PAGE' THEN 'PAG'
        WHEN 'EXTENT' THEN 'EXT' WHEN 'APPLICATION' THEN 'APP' WHEN 'METADATA' THEN 'MD' WHEN 'HOBT' THEN 'HBT'
        WHEN 'ALLOCATION_UNIT' THEN 'AU' ELSE resource_type END) AS Type,
    CONVERT(nchar(32), resource_description) AS Resource, CONVERT(nvarchar(8), request_mode) AS Mode,
    CONVERT(nvarchar(5), CASE request_status WHEN 'CONVERT' THEN 'CNVRT' ELSE request_status END) AS Status
FROM sys.dm_tran_locks
WHERE @spid1 IS NULL OR request_session_id IN (@spid1, @spid2)
ORDER BY spid, dbid, ObjId, IndId
RETURN 0
