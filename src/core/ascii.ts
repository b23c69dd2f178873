// Names ASCII characters by their code and tests what kind of character a code is.
// Codes are UTF-16 code units; every test is false for a code beyond ASCII.

export const TAB = 0x09
export const LINE_FEED = 0x0a
export const CARRIAGE_RETURN = 0x0d
export const SPACE = 0x20
export const QUOTE = 0x22
export const HASH = 0x23
export const DOLLAR = 0x24
export const PERCENT = 0x25
export const AMPERSAND = 0x26
export const APOSTROPHE = 0x27
export const OPEN_PAREN = 0x28
export const CLOSE_PAREN = 0x29
export const ASTERISK = 0x2a
export const PLUS = 0x2b
export const COMMA = 0x2c
export const HYPHEN = 0x2d
export const DOT = 0x2e
export const SLASH = 0x2f
export const DIGIT_0 = 0x30
export const DIGIT_1 = 0x31
export const DIGIT_3 = 0x33
export const DIGIT_7 = 0x37
const DIGIT_9 = 0x39
export const COLON = 0x3a
export const SEMICOLON = 0x3b
export const LESS_THAN = 0x3c
export const EQUALS = 0x3d
export const GREATER_THAN = 0x3e
export const AT_SIGN = 0x40
export const UPPER_A = 0x41
const UPPER_F = 0x46
export const UPPER_T = 0x54
export const UPPER_Z = 0x5a
export const OPEN_BRACKET = 0x5b
export const BACKSLASH = 0x5c
export const CLOSE_BRACKET = 0x5d
export const UNDERSCORE = 0x5f
export const GRAVE = 0x60
export const LOWER_A = 0x61
export const LOWER_C = 0x63
export const LOWER_E = 0x65
export const LOWER_F = 0x66
export const LOWER_P = 0x70
export const LOWER_Q = 0x71
export const LOWER_R = 0x72
export const LOWER_S = 0x73
export const LOWER_U = 0x75
export const LOWER_X = 0x78
const LOWER_Z = 0x7a
export const OPEN_BRACE = 0x7b
export const VERTICAL_BAR = 0x7c
export const CLOSE_BRACE = 0x7d
export const TILDE = 0x7e

/** First code beyond ASCII. */
export const ASCII_END = 0x80

/** The bit in which the two cases of a letter differ; setting it gives the lower case. */
export const CASE_BIT = 0x20

export const isDigit = (code: number): boolean => code >= DIGIT_0 && code <= DIGIT_9
export const isAsciiLower = (code: number): boolean => code >= LOWER_A && code <= LOWER_Z
export const isAsciiUpper = (code: number): boolean => code >= UPPER_A && code <= UPPER_Z

/** A letter or digit of ASCII. */
export const isAlphanumeric = (code: number): boolean =>
  isDigit(code) || isAsciiLower(code) || isAsciiUpper(code)

export const isHexDigit = (code: number): boolean =>
  isDigit(code) || (code >= LOWER_A && code <= LOWER_F) || (code >= UPPER_A && code <= UPPER_F)

/** A letter, a digit or an underscore: what identifiers consist of. */
export const isWordCharacter = (code: number): boolean => isAlphanumeric(code) || code === UNDERSCORE
