// Stretches of tables, data and logs in which every number is nothing that is looked for: one pattern goes through them
// at once. It passes over a part of what nothing.ts does number by number, for the same reasons.

/** What no value goes on behind; nor a date: `July 4, 1990`. */
const END =
  '(?=[\\x00-\\x1f!"#$%&\'*,;<=>?[\\\\\\]^`{|}~]| (?:["\'=<>|{[*&;,!?#$%~^`\\\\]|(?:ms|s|bytes|rows|items|times)\\b)|$)(?!, \\d)'
/** Nothing that a number may be part of, or a word with a hyphen that is too short for a secret. */
const BEGINNING = '(?<=[\\t\\n\\r ,;"\'=|<>[{]-?|["\']:-?|[^\\w.-][A-Za-z]{1,6}-)'
/** Behind another number and punctuation no word says what it is; the pattern of the number itself follows. */
const UNNAMED = '(?<=[0-9][\\x00-/:-@[-`{-\\x7f]{1,9}'
const POINT = '\\.\\d{1,3}'
/** Not with a 0 first, as numbers from abroad have it. */
const DATE =
  '-\\d\\d-\\d\\d(?:T\\d\\d:\\d\\d:\\d\\d(?:\\.\\d{1,4})?Z?)?' +
  `${UNNAMED}[1-9]\\d{3}-\\d\\d-\\d\\d(?:T[\\d:.]{8,13}Z?)?)`
/** Digit by digit, so that there is one way to go: five and a few decimals, six digits, a date. */
const NUMBER = `\\d(?:\\d(?:\\d(?:\\d(?:\\d(?:\\d${UNNAMED}\\d{6}))?|${DATE})?|${POINT})?|${POINT})?|${POINT})?${END}`
/** What is no trigger, see trigger.ts. */
const TEXT = '[\\x00-*,/;-?A-Z[-^`a-z{-\\x7f]*'
const MARK =
  '(?:-(?![A-Fa-f]{2}-|[A-Za-z]{20})|\\.(?!\\d|[A-Fa-f]{4}\\.)|:(?![0-9A-Fa-f:])|_(?![A-Za-z]{20})|' +
  '(?<=["\']):(?=[0-9A-Fa-f]{1,20}(?:\\.\\d{1,20})?(?![0-9A-Fa-f:.-])))'
const STRETCH = new RegExp(
  `(?:${BEGINNING}${NUMBER}${TEXT}(?:${MARK}${TEXT})?(?:${MARK}${TEXT})?){1,32}`,
  'y',
)

/** What stands before one: the last characters of BEGINNING. */
const BEFORE = new Uint8Array(128)
for (const character of '\t\n\r ,;"\'=|<>[{-') BEFORE[character.charCodeAt(0)] = 1

/** Where such a stretch ends that begins with the number, or the colon before it; the same place if none does. */
export function endOfStretch(text: string, at: number): number {
  if (at === 0 || BEFORE[text.charCodeAt(at - 1)] !== 1) return at
  STRETCH.lastIndex = at
  return STRETCH.test(text) ? STRETCH.lastIndex : at
}
