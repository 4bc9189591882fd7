package main

func rewrite([]string) error { return nil }
