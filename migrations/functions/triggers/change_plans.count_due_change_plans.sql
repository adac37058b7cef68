-- Workers visit only tenants with due plans. It is deferred, because a transaction that stores files must not lock its
-- tenant for minutes. PostgreSQL cannot replace it, so it is dropped first.
drop trigger if exists count_due_change_plans on change_plans;
create constraint trigger count_due_change_plans after insert or delete or update of state on change_plans
    deferrable initially deferred for each row execute function count_due_change_plans();
