package storetest

import "github.com/dueq-dev/dueq/store"

// This file returns parts of answers, for comparisons.

func codes(results []store.PushResult) []store.Code {
	all := make([]store.Code, len(results))
	for i, r := range results {
		all[i] = r.Code
	}
	return all
}

func words(codes []store.Code) []string {
	all := make([]string, len(codes))
	for i, c := range codes {
		all[i] = c.String()
	}
	return all
}

func receipts(deliveries []store.Delivery) []store.Receipt {
	all := make([]store.Receipt, len(deliveries))
	for i, v := range deliveries {
		all[i] = v.Receipt
	}
	return all
}

func deliveredIDs(deliveries []store.Delivery) []store.ID {
	all := make([]store.ID, len(deliveries))
	for i, v := range deliveries {
		all[i] = v.Receipt.ID
	}
	return all
}

func recordIDs(records []store.Record) []store.ID {
	all := make([]store.ID, len(records))
	for i, r := range records {
		all[i] = r.ID
	}
	return all
}

func byID(id store.ID) store.Ref { return store.Ref{ID: id} }
func byKey(k string) store.Ref   { return store.Ref{Key: k} }
func pointer[T any](v T) *T      { return &v }
