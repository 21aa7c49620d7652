package clip

import (
	"bufio"
	"errors"
)

// ReadLine reads up to the next line break, which is part of the line, or the end of
// the input. Of a line that has more than n bytes, it returns the beginning.
func ReadLine(in *bufio.Reader, n int) (line []byte, tooLong bool, err error) {
	for {
		piece, err := in.ReadSlice('\n')
		if tooLong = tooLong || len(line)+len(piece) > n; !tooLong {
			line = append(line, piece...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, tooLong, err
		}
	}
}
