// Makes the language of the browser one that it can format in. Some systems name one such as
// `en-US@posix`, with which every formatter throws, also those of libraries. Imported before them.

const FALLBACK = 'en-US'

function isUsable(language: string): boolean {
  try {
    return new Intl.NumberFormat(language).format(1) !== ''
  } catch {
    return false
  }
}

if (!isUsable(navigator.language)) {
  Object.defineProperty(navigator, 'language', { value: FALLBACK, configurable: true })
  Object.defineProperty(navigator, 'languages', { value: [FALLBACK], configurable: true })
}
