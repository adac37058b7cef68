package catalog

// Plans returns the list with each plan that its filter allows. All of them return the same products.
func (f Filter) Plans() []Filter {
	plans := []listPlan{}
	for _, group := range f.groups() {
		plans = append(plans, listPlan{group, group, true}, listPlan{smallest: group})
		if f.inOrder(group) {
			plans = append(plans, listPlan{group, group, false})
		}
	}
	if len(plans) == 0 {
		plans = append(plans, listPlan{}, listPlan{sorts: true})
	}
	all := make([]Filter, len(plans))
	for i := range plans {
		all[i] = f
		all[i].plan = &plans[i]
	}
	return all
}

// MaxSorted is how many ids Walk reads at once from a list that PostgreSQL sorts.
const MaxSorted = maxSorted
