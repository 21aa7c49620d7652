package store

import (
	"context"
	"fmt"
)

// Setting implements tasks.Store.
func (c Conversations) Setting(ctx context.Context, owner, name string) (text string, err error) {
	err = c.read(ctx, fmt.Sprintf("reading setting %q of %s", name, owner), func(x *txn) { text, _ = settings.load(x, settingName{owner, name}) })
	return text, err
}

// PutSetting implements tasks.Store.
func (c Conversations) PutSetting(ctx context.Context, owner, name, value string) error {
	if len(owner) > MaxName || len(name) > MaxName {
		return fmt.Errorf("setting of an owner of %d bytes and a name of %d: at most %d each", len(owner), len(name), MaxName)
	}
	return c.update(ctx, "storing setting", func(x *txn) { x.putSetting(settingName{owner, name}, value) })
}

// putSetting stores a setting; an empty value deletes it.
func (x *txn) putSetting(name settingName, value string) {
	if value == "" {
		settings.drop(x, name)
	} else {
		settings.put(x, name, value)
	}
}

// settingsIn returns the settings in a range of keys. It skips damaged ones.
func (x *txn) settingsIn(from, to []byte) map[settingName]string {
	all := map[settingName]string{}
	for e := range settings.sound(x, from, to, Ascending) {
		owner := nameIn(e.key)
		all[settingName{owner, string(e.key[min(2+len(owner), len(e.key)):])}] = e.value
	}
	return all
}

// settingsOf returns the settings of an owner.
func (x *txn) settingsOf(owner string) map[settingName]string {
	prefix := namePrefix(owner)
	return x.settingsIn(prefix, afterPrefix(prefix))
}
