package main

import "legwork/conf"

type schemaCommand struct{}

// Run prints the JSON Schema of the config file.
func (schemaCommand) Run(c console) error {
	_, err := c.out.Write(conf.Schema())
	return err
}
