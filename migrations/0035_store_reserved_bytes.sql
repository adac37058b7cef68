-- Pictures of plans count towards the storage of their tenant with their size. Instances of an earlier version do not
-- record it; then a picture counts as 1 MiB.
alter table unused_media add column bytes bigint not null default 1048576;
