-- Owners and admins change the time zone of a business that has not sold anything yet.

grant update on sales_zones to storeroom_runtime;
