package dueqhttp

import (
	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/store"
)

// The errors of requests and options, with dueq.ErrInvalid: see the functions of package store.

func invalid(field, format string, args ...any) error {
	return (*dueq.Error)(store.Invalid(field, format, args...))
}

func outside(field string, value any, limit string, args ...any) error {
	return (*dueq.Error)(store.Outside(field, value, limit, args...))
}

func negative(field string, value any) error { return (*dueq.Error)(store.Negative(field, value)) }

func noneOf(field, value, allowed string) error {
	return (*dueq.Error)(store.NoneOf(field, value, allowed))
}

func unfit(field, value, format string, args ...any) error {
	return (*dueq.Error)(store.Unfit(field, value, format, args...))
}
