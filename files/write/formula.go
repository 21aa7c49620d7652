package write

import (
	"fmt"
	"strings"
	"unicode"
)

// functions are those that a formula may call. They compute from the cells of the
// workbook and reach nothing else; those that fetch, run or open something
// (WEBSERVICE, IMAGE, HYPERLINK, RTD, CALL ...) are not among them, nor INDIRECT,
// which can name another file.
const functions = " " +
	"ABS ACOS AND ASIN ATAN ATAN2 AVEDEV AVERAGE AVERAGEA AVERAGEIF AVERAGEIFS CEILING CEILING.MATH CHAR CHOOSE CLEAN CODE " + //nolint:misspell // the names of Excel
	"COLUMN COLUMNS COMBIN CONCAT CONCATENATE CORREL COS COUNT COUNTA COUNTBLANK COUNTIF COUNTIFS DATE DATEDIF DATEVALUE DAY " +
	"DAYS DAYS360 DEGREES EDATE EOMONTH EVEN EXACT EXP FACT FALSE FILTER FIND FIXED FLOOR FLOOR.MATH FORECAST FORECAST.LINEAR " +
	"FREQUENCY FV GCD GEOMEAN GROWTH HARMEAN HLOOKUP HOUR IF IFERROR IFNA IFS INDEX INT INTERCEPT IPMT IRR ISBLANK ISERR " +
	"ISERROR ISEVEN ISNA ISNUMBER ISODD ISOWEEKNUM ISTEXT LARGE LCM LEFT LEN LET LINEST LN LOG LOG10 LOOKUP LOWER MATCH MAX MAXA " +
	"MAXIFS MEDIAN MID MIN MINA MINIFS MINUTE MOD MODE MODE.SNGL MONTH MROUND N NA NETWORKDAYS NOT NOW NPER NPV ODD OFFSET OR " +
	"PERCENTILE PERCENTILE.INC PERCENTRANK PI PMT POWER PPMT PRODUCT PROPER PV QUARTILE QUARTILE.INC QUOTIENT RADIANS RAND " +
	"RANDBETWEEN RANK RANK.AVG RANK.EQ RATE REPLACE REPT RIGHT ROMAN ROUND ROUNDDOWN ROUNDUP ROW ROWS RSQ SEARCH SECOND SEQUENCE " +
	"SIGN SIN SLN SLOPE SMALL SORT SORTBY SQRT STDEV STDEV.P STDEV.S STDEVP SUBSTITUTE SUBTOTAL SUM SUMIF SUMIFS SUMPRODUCT SUMSQ " +
	"SWITCH TAN TEXT TEXTJOIN TIME TIMEVALUE TODAY TRANSPOSE TREND TRIM TRUE TRUNC TYPE UNIQUE UPPER VALUE VAR VAR.P VAR.S VARP " +
	"VLOOKUP WEEKDAY WEEKNUM WORKDAY XIRR XLOOKUP XMATCH XNPV YEAR YEARFRAC "

const maxFormula = 8192 // characters, in Excel

// checkFormula refuses a formula that reaches beyond its workbook. It knows a
// little of the grammar: text in double quotes, names of sheets in single ones or
// bare before an exclamation mark, and names of functions before a bracket.
func checkFormula(formula string, sheets []string) error {
	if formula == "" || len(formula) > maxFormula {
		return fmt.Errorf("a formula has 1 to %d characters", maxFormula)
	}
	isSheet := func(name string) bool {
		for _, s := range sheets {
			if strings.EqualFold(s, name) {
				return true
			}
		}
		return false
	}
	depth := 0
	for rest := formula; rest != ""; {
		r := []rune(rest[:min(len(rest), 4)])[0]
		switch {
		case r == '"' || r == '\'':
			end := quoted(rest, byte(r))
			if end < 0 {
				return fmt.Errorf("a quote in the formula does not end")
			}
			name := strings.ReplaceAll(rest[1:end-1], "''", "'")
			rest = rest[end:]
			if r == '\'' && (!strings.HasPrefix(rest, "!") || !isSheet(name)) {
				return fmt.Errorf("the formula refers to %q, which is no sheet of this file", name)
			}
			continue
		case unicode.IsLetter(r) || r == '_':
			end := strings.IndexFunc(rest, func(r rune) bool {
				return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' && r != '.' && r != '$'
			})
			if end < 0 {
				end = len(rest)
			}
			name := rest[:end]
			rest = rest[end:]
			switch {
			case strings.HasPrefix(strings.TrimLeft(rest, " \t\n"), "(") && !strings.Contains(functions, " "+strings.ToUpper(name)+" "):
				return fmt.Errorf("the function %s is not allowed in a formula: only functions that compute from the cells of this file are", name)
			case strings.HasPrefix(rest, "!") && !isSheet(name):
				return fmt.Errorf("the formula refers to %q, which is no sheet of this file", name)
			}
			continue
		case strings.ContainsRune("[]|\\@`?\n", r):
			return fmt.Errorf("the formula holds %q: references to other files and calls of other programs are not allowed", r)
		case r == '(':
			depth++
		case r == ')':
			if depth--; depth < 0 {
				return fmt.Errorf("the formula closes a bracket that is not open")
			}
		}
		rest = rest[len(string(r)):]
	}
	if depth != 0 {
		return fmt.Errorf("the formula leaves %d brackets open", depth)
	}
	return nil
}

// quoted returns where the quote ends that text begins with, or -1. A doubled
// quotation mark is one within the quote.
func quoted(text string, mark byte) int {
	for i := 1; i < len(text); i++ {
		if text[i] != mark {
			continue
		}
		if i+1 < len(text) && text[i+1] == mark {
			i++
			continue
		}
		return i + 1
	}
	return -1
}

// newFunctions have a prefix in files that Excel hides.
const newFunctions = " CONCAT FILTER FORECAST.LINEAR IFS LET MAXIFS MINIFS SEQUENCE SORT SORTBY SWITCH TEXTJOIN UNIQUE XLOOKUP XMATCH CEILING.MATH FLOOR.MATH DAYS ISOWEEKNUM IFNA MODE.SNGL PERCENTILE.INC QUARTILE.INC RANK.AVG RANK.EQ STDEV.P STDEV.S VAR.P VAR.S "

// stored returns a checked formula as files of Excel hold it.
func stored(formula string) string {
	var out strings.Builder
	for rest := formula; rest != ""; {
		if rest[0] == '"' || rest[0] == '\'' {
			end := quoted(rest, rest[0])
			out.WriteString(rest[:end])
			rest = rest[end:]
			continue
		}
		end := strings.IndexFunc(rest, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '.' })
		switch {
		case end > 0 && rest[end] == '(' && strings.Contains(newFunctions, " "+strings.ToUpper(rest[:end])+" "):
			out.WriteString("_xlfn.")
		case end < 0:
			end = len(rest)
		case end == 0:
			end = len(string([]rune(rest[:min(len(rest), 4)])[0]))
		}
		out.WriteString(rest[:end])
		rest = rest[end:]
	}
	return out.String()
}
