-- The sizes of the pictures of plans count towards the storage of the tenant. A file whose size is not recorded counts
-- as 1 MiB.
alter table unused_media add column bytes bigint not null default 1048576;
