// The version of promtool that checks the rules, and its sums.

//go:build tools

package tools

import _ "github.com/prometheus/prometheus/cmd/promtool"
