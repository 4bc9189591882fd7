package mutants

// ofTheCommand are mistakes in cmd/dueq.
func ofTheCommand() []mutant {
	const commandPkg, childPkg = "./cmd/dueq", "./cmd/dueq/internal/child"
	return []mutant{
		{
			"a command that puts its message off fails it", "cmd/dueq/work.go",
			"exitTempFail = 75", "exitTempFail = 76",
			commandPkg, "TestWork_ExitStatus",
		},
		{
			"the reason of a failure is the first line on standard error", "cmd/dueq/internal/child/child.go",
			"bytes.LastIndexByte(trimmed, '\\n')+1:", "0:",
			childPkg, "TestRun_PassesInput",
		},
		{
			"children of a command survive it", "cmd/dueq/internal/child/group_unix.go",
			"syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM)", "syscall.Kill(cmd.Process.Pid, syscall.SIGTERM)",
			childPkg, "TestRun_EndOfContextEndsTheCommandAndItsChildren",
		},
		{
			"lines of commands are mixed", "cmd/dueq/internal/child/child.go",
			"end := bytes.LastIndexByte(l.rest, '\\n') + 1", "end := len(l.rest)",
			childPkg, "TestLines",
		},
		{
			"a Redis that deletes messages is fine", redisDir + "describe.go",
			`f.Found != "noeviction" {`, `f.Found == "" {`,
			redisPkg, "TestOfInfo",
		},
		{
			"memory is free above the limit", redisDir + "describe.go",
			"case free < almostNoneOf:", "case free > 0 && free < almostNoneOf:",
			redisPkg, "TestOfInfo",
		},
		{
			"a large partition of a Cluster is fine", redisDir + "describe.go",
			"if most > movable {", "if most > 1000*movable {",
			redisPkg, "TestOfPartitions",
		},
		{
			"slots without a master are served", redisDir + "describe.go",
			"if served < all {", "if served == 0 {",
			redisPkg, "TestOfSlots",
		},
		{
			"doctor leaves its queue when it is interrupted", "cmd/dueq/canary.go",
			"context.WithTimeout(context.WithoutCancel(ctx), canaryTimeout)", "context.WithTimeout(ctx, canaryTimeout)",
			commandPkg, "TestCanary_LeavesNoQueue",
		},
		{
			"doctor keeps warnings of the library to itself", "cmd/dueq/doctor.go",
			"return append(append(r, operations...), log.findings()...), nil", "return append(r, operations...), nil",
			commandPkg, "TestDoctor_FindsMissingPermissions/channels",
		},
	}
}
