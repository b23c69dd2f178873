// Finds control characters in patterns and globs, which no text that is searched keeps.

/** Every control character but tab and the line ends LF, CR and NEL (U+0085). */
const CONTROL = /[\0-\x08\x0B\x0C\x0E-\x1F\x7F-\x84\x86-\x9F]/
/** Control characters that double quotes in YAML make of an escape. */
const YAML_ESCAPES: Readonly<Record<string, string>> = {
  '\0': '\\0',
  '\x07': '\\a',
  '\b': '\\b',
  '\v': '\\v',
  '\f': '\\f',
  '\x1B': '\\e',
}

/**
 * Returns the error of a text with a control character, or null. No text that is searched keeps
 * one: it comes from an escape such as `"\b"` in double quotes.
 */
export function controlCharacterIn(text: string): string | null {
  const control = CONTROL.exec(text)?.[0]
  if (control === undefined) return null
  const code = `U+${control.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}`
  const escaped = YAML_ESCAPES[control]
  if (escaped === undefined) return `contains the control character ${code}; remove it, or use single quotes`
  return `contains the control character ${code}, which \`${escaped}\` means in double quotes; use single quotes, or write \`\\${escaped}\``
}
