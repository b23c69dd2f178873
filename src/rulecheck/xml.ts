// The little XML that a JUnit report needs.

/** Characters XML 1.0 §2.2 has no way to write. */
const FORBIDDEN = /[^\t\n\r\x20-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  '\n': '&#10;',
  '\r': '&#13;',
  '\t': '&#9;',
}

/** Text for an attribute or an element; what XML cannot carry becomes U+FFFD. */
const escapeXml = (text: string): string =>
  text.replace(FORBIDDEN, '\uFFFD').replace(/[&<>"\n\r\t]/g, (character) => ESCAPES[character]!)

/** One test case of a report. */
export interface XmlCase {
  readonly suite: string
  readonly name: string
  /** Null for a case that passed. */
  readonly failure: string | null
}

/** A report in the form CI systems read as JUnit's. */
export function junitReport(name: string, cases: readonly XmlCase[]): string {
  const failures = cases.filter(({ failure }) => failure !== null).length
  const attributes = `name="${escapeXml(name)}" tests="${cases.length}" failures="${failures}" errors="0"`
  const lines = cases.map(({ suite, name: title, failure }) => {
    const head = `    <testcase classname="${escapeXml(suite)}" name="${escapeXml(title)}"`
    if (failure === null) return `${head}/>`
    const first = failure.split('\n', 1)[0] ?? ''
    return `${head}><failure message="${escapeXml(first)}">${escapeXml(failure)}</failure></testcase>`
  })
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    '<testsuites>',
    `  <testsuite ${attributes}>`,
    ...lines,
    '  </testsuite>',
    '</testsuites>',
    '',
  ].join('\n')
}
