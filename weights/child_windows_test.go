package weights

import "errors"

func become(int) error { return errors.New("no such users here") }
