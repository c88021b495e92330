package compile

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// maxName is the longest name of a state in Step Functions, in characters.
const maxName = 80

// name is a state's name: the step's path, cut in front and marked with a hash
// where it would be too long.
func (c *compiler) name(path string) string {
	runes := []rune(path)
	if len(runes) <= maxName {
		return path
	}
	sum := sha256.Sum256([]byte(path))
	mark := hex.EncodeToString(sum[:4]) + "…"
	return mark + string(runes[len(runes)-maxName+len([]rune(mark)):])
}

// camel is a worker's or loop's name as part of a token: "crm-scan" gives "CrmScan".
func camel(name string) string {
	var b strings.Builder
	for part := range strings.FieldsFuncSeq(name, func(r rune) bool { return r == '-' || r == '_' || r == '.' }) {
		b.WriteString(strings.ToUpper(part[:1]))
		b.WriteString(part[1:])
	}
	return b.String()
}
