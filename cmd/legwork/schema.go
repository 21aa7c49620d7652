package main

import "legwork/conf"

type schemaCommand struct{}

// Run prints the JSON Schema of the config file.
func (schemaCommand) Run(c console) error {
	schema, err := conf.Schema()
	if err != nil {
		return err
	}
	_, err = c.out.Write(schema)
	return err
}
