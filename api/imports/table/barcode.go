package table

import (
	"errors"
	"regexp"
	"strings"
)

// ErrLostDigits is the error of a code, such as 7.06971E+12, that several codes have become.
var ErrLostDigits = errors.New("has lost digits in a spreadsheet: format the column as text before the export")

var lostDigits = regexp.MustCompile(`^\d([.,]\d+)?[Ee]\+\d+$`)

// HasLostDigits reports whether a spreadsheet has rounded a long number that is a code.
func HasLostDigits(code string) bool {
	return strings.Contains(code, "+") && lostDigits.MatchString(code)
}

// Barcode returns the digits of a barcode. If a spreadsheet has removed leading zeros, restored is the barcode with
// them: the check digit does not depend on zeros, and no barcode has 6, 7, or 9 to 11 digits.
func Barcode(text string) (barcode, restored string, err error) {
	barcode = strings.Map(func(char rune) rune {
		if char == ' ' || char == '-' || char == '\u00A0' {
			return -1
		}
		return char
	}, text)
	if strings.ContainsAny(barcode, "eE") && strings.Trim(barcode, "0123456789+,.eE") == "" {
		return text, "", ErrLostDigits
	}
	if strings.Trim(barcode, "0123456789") != "" {
		return text, "", nil // the catalog refuses it
	}
	if length := lengthWithZeros[len(barcode)]; length > 0 && hasCheckDigit(barcode) {
		restored = strings.Repeat("0", length-len(barcode)) + barcode
	}
	return barcode, restored, nil
}

var lengthWithZeros = map[int]int{6: 8, 7: 8, 9: 12, 10: 12, 11: 12}

// hasCheckDigit reports whether the last digit is the GS1 check digit of the others.
func hasCheckDigit(digits string) bool {
	sum, weight := 0, 1
	for i := len(digits) - 1; i >= 0; i-- {
		sum += int(digits[i]-'0') * weight
		weight = 4 - weight
	}
	return sum%10 == 0
}
