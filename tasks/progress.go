package tasks

// Progress notes how far a call of the task is, for the next frame of its board.
func (p *Presenter) Progress(string, Progress) {}
