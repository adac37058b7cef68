-- Whether an admin may invite a person with that role.
create or replace function may_invite(purpose text, role text) returns boolean
language sql immutable
as $$
    select purpose = 'invitation' and role in ('clerk', 'accountant')
$$;
revoke execute on function may_invite from public;
