// Follows the grammar of JSON (RFC 8259) outside strings and tokens, character by character.

/** Maximum open containers. Text in deeper ones is not read as JSON. */
const MAXIMUM_DEPTH = 512

/** What may come next outside strings. */
type Expected = 'value' | 'value or ]' | 'name' | 'name or }' | 'colon' | 'comma or end'

/** State of JSON texts that follow each other. */
export class JsonGrammar {
  inString = false
  /** True when the open string is a member name. */
  isName = false
  /** True while there are only opening brackets. */
  isFresh = true
  #expected: Expected = 'value'
  /** Open containers, the innermost last. */
  #open: ('{' | '[')[] = []

  restart(): void {
    this.inString = false
    this.isName = false
    this.isFresh = true
    this.#expected = 'value'
    this.#open = []
  }

  /** The open brackets, the innermost last. */
  get open(): readonly string[] {
    return this.#open
  }

  get isInArray(): boolean {
    return this.#open.at(-1) === '['
  }

  get expectsValue(): boolean {
    return this.#expected === 'value' || this.#expected === 'value or ]'
  }

  endValue(): void {
    this.isFresh = false
    this.#expected = this.#open.length > 0 ? 'comma or end' : 'value'
  }

  /** Accepts white space, or punctuation that is valid here; false changes nothing. */
  accepts(character: string): boolean {
    switch (character) {
      case ' ':
      case '\n':
      case '\r':
      case '\t':
        return true
      case '"':
        return this.#acceptsQuote()
      case '{':
      case '[':
        return this.#opens(character)
      case '}':
        return this.#closes('{', 'name or }')
      case ']':
        return this.#closes('[', 'value or ]')
      case ',':
        if (this.#expected !== 'comma or end') return false
        this.#expected = this.#open.at(-1) === '{' ? 'name' : 'value'
        return true
      case ':':
        if (this.#expected !== 'colon') return false
        this.#expected = 'value'
        return true
      default:
        return false
    }
  }

  #acceptsQuote(): boolean {
    if (this.inString) {
      this.inString = false
      if (this.isName) this.#expected = 'colon'
      else this.endValue()
      return true
    }
    this.isName = this.#expected === 'name' || this.#expected === 'name or }'
    this.inString = this.isName || this.expectsValue
    if (this.inString) this.isFresh = false
    return this.inString
  }

  #opens(bracket: '{' | '['): boolean {
    if (!this.expectsValue || this.#open.length === MAXIMUM_DEPTH) return false
    this.#open.push(bracket)
    this.#expected = bracket === '{' ? 'name or }' : 'value or ]'
    return true
  }

  #closes(bracket: '{' | '[', whenEmpty: Expected): boolean {
    if (this.#open.at(-1) !== bracket) return false
    if (this.#expected !== 'comma or end' && this.#expected !== whenEmpty) return false
    this.#open.pop()
    this.endValue()
    return true
  }
}
