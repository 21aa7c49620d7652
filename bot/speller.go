package bot

// Speller is an ability of platforms where people write commands in another
// form than "/NAME", so that texts can name the one that works.
type Speller interface {
	// Spell is how the command NAME is written in a chat: "/legwork stop".
	Spell(to Chat, name string) string
}
