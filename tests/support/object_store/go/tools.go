//go:build tools

// The program is github.com/johannesboyne/gofakes3/cmd/gofakes3; naming it here keeps its sums.
package main

import _ "github.com/johannesboyne/gofakes3/cmd/gofakes3"
