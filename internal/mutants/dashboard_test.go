package mutants

// ofTheDashboard are mistakes in what the API answers for the dashboard.
func ofTheDashboard() []mutant {
	return []mutant{
		{
			"consumers of queues that a token may not read are listed", httpDir + "members.go",
			"name <= after || c.allow(Read, name) != nil", "name <= after",
			httpPkg, "TestAllMembers_",
		},
		{
			"a page of consumers begins with the last queue of the one before", httpDir + "members.go",
			"name <= after", "name < after",
			httpPkg, "TestAllMembers_Pages",
		},
		{
			"the consumers of the last queues are left out", httpDir + "members.go",
			"names, answer.Next = names[:limit], names[limit-1]", "names = names[:limit]",
			httpPkg, "TestAllMembers_",
		},
	}
}
