package store

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Limits that every adapter keeps, so that what works on one works on all.
const (
	// MaxGet is how many keys one Get may have.
	MaxGet = 100
	// MaxPage is the largest page of a List; defaultPage is taken for 0.
	MaxPage     = 1000
	defaultPage = 100
	// PageBytes ends a page early once its bodies exceed it.
	PageBytes = 4 << 20
	// MaxBlob is the largest blob in bytes.
	MaxBlob = 256 << 20

	maxKey    = 1024
	maxTerms  = 50
	maxNumber = 200
	maxID     = 256
	maxItem   = 400 * 1024
	// maxWrite keeps a transaction under DynamoDB's 4 MB however it counts: bodies
	// travel as base64.
	maxWrite = 2_900_000
)

// Validate checks a write before it is sent: the number of operations, that
// each stands on another item and is well formed, and the sizes. Errors wrap
// ErrInvalid or ErrTooLarge and name the operation. Adapters call it first; a
// write that passes is refused by no adapter for its form.
func Validate(id string, ops []Op) error {
	if len(ops) == 0 || len(ops) > MaxOps {
		return fmt.Errorf("%w: a write has 1 to %d operations, not %d", ErrInvalid, MaxOps, len(ops))
	}
	if len(id) > maxID || !utf8.ValidString(id) {
		return fmt.Errorf("%w: the id of a write is UTF-8 of at most %d bytes", ErrInvalid, maxID)
	}
	total := 0
	for i, op := range ops {
		if err := validateOp(op); err != nil {
			return fmt.Errorf("operation %d (%s %s/%s): %w", i+1, op.Kind, op.Item.Part, op.Item.Sort, err)
		}
		for _, earlier := range ops[:i] {
			if earlier.Item.Key == op.Item.Key {
				return fmt.Errorf("operation %d: %w: two operations on %s/%s", i+1, ErrInvalid, op.Item.Part, op.Item.Sort)
			}
		}
		total += ItemSize(op.Item)
	}
	if total > maxWrite {
		return fmt.Errorf("%w: the items of one write have %d bytes, at most %d are allowed", ErrTooLarge, total, maxWrite)
	}
	return nil
}

func validateOp(op Op) error {
	if err := validateKey("key", op.Item.Part, op.Item.Sort); err != nil {
		return err
	}
	if op.Version < 0 {
		return fmt.Errorf("%w: version %d is negative", ErrInvalid, op.Version)
	}
	if len(op.Where) > maxTerms || len(op.Deltas)+len(op.Drop) > maxTerms {
		return fmt.Errorf("%w: more than %d conditions or changes of numbers", ErrInvalid, maxTerms)
	}
	for _, cond := range op.Where {
		if err := validateCond(cond); err != nil {
			return err
		}
	}
	switch op.Kind {
	case KindCreate, KindReplace:
		if op.Kind == KindReplace && op.Version == 0 {
			return fmt.Errorf("%w: a replace names the version that was read", ErrInvalid)
		}
		return validateItem(op.Item)
	case KindAdd:
		return validateAdd(op)
	case KindRemove, KindCheck:
		return nil
	default:
		return fmt.Errorf("%w: unknown kind %q", ErrInvalid, op.Kind)
	}
}

func validateItem(item Item) error {
	for name := range item.Numbers {
		if err := validateNumber(name); err != nil {
			return err
		}
	}
	for _, key := range []*IndexKey{item.List, item.Due} {
		if key == nil {
			continue
		}
		if err := validateKey("index key", key.Part, key.Sort); err != nil {
			return err
		}
	}
	if item.Expires < 0 {
		return fmt.Errorf("%w: expires %d is negative", ErrInvalid, item.Expires)
	}
	if len(item.Body) > MaxBody {
		return fmt.Errorf("%w: body has %d bytes, at most %d are allowed", ErrTooLarge, len(item.Body), MaxBody)
	}
	return CheckSize(item)
}

func validateAdd(op Op) error {
	if len(op.Deltas)+len(op.Drop) == 0 {
		return fmt.Errorf("%w: nothing to add or drop", ErrInvalid)
	}
	for name := range op.Deltas {
		if err := validateNumber(name); err != nil {
			return err
		}
	}
	seen := map[string]bool{}
	for _, name := range op.Drop {
		if err := validateNumber(name); err != nil {
			return err
		}
		if _, added := op.Deltas[name]; added || seen[name] {
			return fmt.Errorf("%w: number %q is changed twice", ErrInvalid, name)
		}
		seen[name] = true
	}
	return nil
}

func validateCond(cond Cond) error {
	switch cond.Is {
	case IsEqual, IsAtLeast, IsAtMost, IsAbsent:
		return validateNumber(cond.Number)
	default:
		return fmt.Errorf("%w: unknown comparison %q", ErrInvalid, cond.Is)
	}
}

func validateNumber(name string) error {
	if len(name) == 0 || len(name) > maxNumber || name[0] < 'a' || name[0] > 'z' {
		return fmt.Errorf("%w: name of a number %q", ErrInvalid, name)
	}
	for i := 1; i < len(name); i++ {
		if !numberByte(name[i]) {
			return fmt.Errorf("%w: name of a number %q", ErrInvalid, name)
		}
	}
	return nil
}

func numberByte(c byte) bool {
	switch c {
	case '_', '.', ':', '#', '/', '-':
		return true
	}
	return c >= 'a' && c <= 'z' || c >= '0' && c <= '9'
}

// validateKey refuses the zero character too: C strings end there.
func validateKey(what, part, sort string) error {
	for _, text := range []string{part, sort} {
		if len(text) == 0 || len(text) > maxKey || !validText(text) {
			return fmt.Errorf("%w: %s %q/%q is not 1 to %d bytes of UTF-8", ErrInvalid, what, part, sort, maxKey)
		}
	}
	return nil
}

func validText(text string) bool {
	for i := 0; i < len(text); i++ {
		if text[i] == 0 {
			return false
		}
	}
	return utf8.ValidString(text)
}

// ValidateKeys checks the keys of a Get.
func ValidateKeys(keys []Key) error {
	if len(keys) > MaxGet {
		return fmt.Errorf("%w: %d keys in one Get, at most %d are allowed", ErrInvalid, len(keys), MaxGet)
	}
	for _, key := range keys {
		if err := validateKey("key", key.Part, key.Sort); err != nil {
			return err
		}
	}
	return nil
}

// ValidateScan checks the arguments of a Scan.
func ValidateScan(after Key, limit int) error {
	if limit < 1 || limit > MaxPage {
		return fmt.Errorf("%w: a scan answers 1 to %d items, not %d", ErrInvalid, MaxPage, limit)
	}
	if after == (Key{}) {
		return nil
	}
	return validateKey("key", after.Part, after.Sort)
}

// CheckSize refuses an item over 400 KB as it would be stored, with ErrTooLarge.
func CheckSize(item Item) error {
	if size := ItemSize(item); size > maxItem {
		return fmt.Errorf("%w: %d bytes, at most %d are allowed", ErrTooLarge, size, maxItem)
	}
	return nil
}

// ItemSize is the size in bytes by which DynamoDB bills and limits an item: the
// names and values of its attributes as dynamostore names them. A number takes
// a byte for two digits, one for its exponent and one for a minus sign.
func ItemSize(item Item) int {
	const name = 2
	size := 2*name + len(item.Part) + len(item.Sort) + 1 + numberSize(item.Version) + 1 + len(item.WriteID)
	if len(item.Body) > 0 {
		size += 1 + len(item.Body)
	}
	for key, value := range item.Numbers {
		size += name + len(key) + numberSize(value)
	}
	for _, key := range []*IndexKey{item.List, item.Due} {
		if key != nil {
			size += 2*name + len(key.Part) + len(key.Sort)
		}
	}
	if item.Expires != 0 {
		size += len("ttl") + numberSize(item.Expires)
	}
	return size
}

func numberSize(value int64) int {
	digits := strings.TrimRight(strconv.FormatInt(value, 10), "0")
	size := 1
	if strings.HasPrefix(digits, "-") {
		size, digits = 2, digits[1:]
	}
	return size + (len(digits)+1)/2
}
