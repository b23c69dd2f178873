// The walk over every text a model reads or has written. Whatever is not on the skip list below is a text: unknown
// fields, property names, numbers long enough to be somebody's. Each can be replaced in place.

import { isObject, type JsonObject, type JsonValue } from '../core/json.ts'
import { KNOWN_FIELDS } from './request.ts'

export interface Text {
  /** Where it stands, e.g. `messages[0].content[1].text`. */
  readonly path: string
  readonly text: string
  /** `json`: the string holds JSON; it is to be scanned decoded and replaced encoded. */
  readonly encoding: 'plain' | 'json'
  /** Role of the message it belongs to; null outside of messages. */
  readonly role: string | null
  /** Running number of the texts that make up the conversation: neighbours are read as one text. Null for others. */
  readonly joined: number | null
  /** Puts another text in its place. A number becomes a string. */
  replace(text: string): void
}

export interface Texts {
  readonly texts: readonly Text[]
  /** Images, sound and files, which are not text. */
  readonly binaryParts: number
  /** To be called after the last `replace`: property names are changed together, once an object. */
  commit(): void
}

/** Names every request or answer has: fixed by the API, so they say nothing about anyone. */
const FIXED_NAMES = new Set<string>([
  ...KNOWN_FIELDS,
  'annotations',
  'arguments',
  'array',
  'audio',
  'choices',
  'code',
  'const',
  'content',
  'data',
  'default',
  'delta',
  'description',
  'detail',
  'enum',
  'error',
  'file',
  'file_data',
  'filename',
  'finish_reason',
  'format',
  'function',
  'function_call',
  'functions',
  'id',
  'image_url',
  'images',
  'index',
  'input_audio',
  'items',
  'json_schema',
  'logprobs',
  'message',
  'messages',
  'metadata',
  'model',
  'name',
  'object',
  'parameters',
  'prediction',
  'properties',
  'provider',
  'reasoning',
  'reasoning_content',
  'reasoning_details',
  'refusal',
  'required',
  'response_format',
  'role',
  'schema',
  'stop',
  'stream',
  'stream_options',
  'strict',
  'summary',
  'text',
  'tool_call_id',
  'tool_calls',
  'tool_choice',
  'tools',
  'transcript',
  'type',
  'url',
  'usage',
  'user',
  'additionalProperties',
])

/** Shape of what is passed over as an id, a role or a type: no room for a sentence or an address. */
const IDENTIFIER = /^[A-Za-z0-9_.:-]{1,128}$/

const DATA_URL = /^data:(?:image|audio|video|application\/pdf|application\/octet-stream)[\w.+/-]*;base64,/i
const BASE64 = /^[A-Za-z0-9+/_-]+={0,2}$/
const PAYLOAD_PLACE = /(?:audio\.data|file\.file_data)$/
/** Content parts with one of these are not text, wherever their bytes are. */
const MEDIA_FIELDS = ['image_url', 'input_audio', 'video_url', 'file']
/** Shorter strings are text even if they look like base64. */
const MIN_PAYLOAD_CHARACTERS = 64

/** Fewer digits identify nobody. */
const MIN_NUMBER_DIGITS = 7

/** Answer fields around the texts: the upstream's own names and counts. */
const ANSWER_SKIPPED = new Set([
  'id',
  'object',
  'created',
  'model',
  'system_fingerprint',
  'usage',
  'service_tier',
])
const CHOICE_SKIPPED = new Set(['index', 'finish_reason', 'native_finish_reason', 'logprobs'])

/** Every text of a chat request, in document order. */
export function requestTexts(body: JsonObject): Texts {
  const walk = new Walk()
  for (const name of Object.keys(body)) {
    if (name === 'messages') walk.messages(body[name])
    else if (name === 'tools' && Array.isArray(body[name])) walk.tools(body[name])
    // A number at the top is a setting such as a temperature or a seed.
    else if (name !== 'model' && typeof body[name] !== 'number') walk.visit(body, name, name)
    walk.name(body, name, '')
  }
  return walk
}

/** Every text of a whole answer: of every choice, or of an error. */
export function responseTexts(body: JsonObject): Texts {
  const walk = new Walk()
  for (const name of Object.keys(body)) {
    if (ANSWER_SKIPPED.has(name)) continue
    const choices = body[name]
    if (name === 'choices' && Array.isArray(choices)) {
      for (const [index, choice] of choices.entries()) walk.choice(choice, `choices[${index}]`)
    } else {
      walk.visit(body, name, name)
    }
  }
  return walk
}

/** The texts of one field whose meaning is not known. */
export function textsOf(parent: JsonObject, name: string, path: string): Texts {
  const walk = new Walk()
  walk.visit(parent, name, path)
  return walk
}

/** Takes away what repeats the text token by token. */
export function dropLogprobs(body: JsonObject): void {
  for (const choice of Array.isArray(body['choices']) ? body['choices'] : []) {
    if (isObject(choice) && choice['logprobs'] !== undefined) choice['logprobs'] = null
  }
}

type Parent = JsonObject | JsonValue[]

class Walk implements Texts {
  readonly texts: Text[] = []
  binaryParts = 0
  #role: string | null = null
  #joined = 0
  readonly #renames = new Map<JsonObject, Map<string, string>>()

  messages(messages: JsonValue | undefined): void {
    if (!Array.isArray(messages)) return
    messages.forEach((message, index) => {
      if (!isObject(message)) return
      this.#role = typeof message['role'] === 'string' ? message['role'] : null
      this.#message(message, `messages[${index}]`)
      this.#role = null
    })
  }

  choice(choice: JsonValue, path: string): void {
    if (!isObject(choice)) return
    for (const name of Object.keys(choice)) {
      if (CHOICE_SKIPPED.has(name)) continue
      const message = choice[name]
      if (name === 'message' && isObject(message)) this.#message(message, `${path}.message`)
      else this.visit(choice, name, `${path}.${name}`)
    }
  }

  tools(tools: JsonValue[]): void {
    tools.forEach((tool, index) => {
      if (isObject(tool))
        this.#fields(tool, `tools[${index}]`, (name) => isPassedOver(name, ['type'], tool[name]))
      else this.visit(tools, index, `tools[${index}]`)
    })
  }

  #message(message: JsonObject, path: string): void {
    for (const name of Object.keys(message)) {
      const value = message[name]
      if (name === 'content') this.#content(message, path)
      else if (name === 'tool_calls' && Array.isArray(value)) {
        for (const [index, call] of value.entries()) this.#toolCall(call, `${path}.tool_calls[${index}]`)
      } else if (name === 'function_call' && isObject(value)) this.#function(value, `${path}.function_call`)
      else if (!isPassedOver(name, ['role', 'tool_call_id', 'id', 'type'], value)) {
        this.visit(message, name, `${path}.${name}`)
      }
      this.name(message, name, path)
    }
  }

  #content(message: JsonObject, path: string): void {
    const content = message['content']
    if (typeof content === 'string') {
      this.#conversation(message, 'content', `${path}.content`)
      return
    }
    if (!Array.isArray(content)) return
    content.forEach((part, index) => {
      const partPath = `${path}.content[${index}]`
      if (typeof part === 'string') this.#conversation(content, index, partPath)
      if (!isObject(part)) return
      const partsBefore = this.binaryParts
      for (const name of Object.keys(part)) {
        const value = part[name]
        if ((name === 'text' || name === 'refusal') && typeof value === 'string') {
          this.#conversation(part, name, `${partPath}.${name}`)
        } else if (!isPassedOver(name, ['type', 'id'], value)) this.visit(part, name, `${partPath}.${name}`)
        this.name(part, name, partPath)
      }
      if (MEDIA_FIELDS.some((name) => part[name] !== undefined)) this.binaryParts = partsBefore + 1
    })
  }

  #toolCall(call: JsonValue, path: string): void {
    if (!isObject(call)) return
    for (const name of Object.keys(call)) {
      const value = call[name]
      if (name === 'function' && isObject(value)) this.#function(value, `${path}.function`)
      else if (!isPassedOver(name, ['id', 'type', 'index'], value)) this.visit(call, name, `${path}.${name}`)
      this.name(call, name, path)
    }
  }

  #function(target: JsonObject, path: string): void {
    for (const name of Object.keys(target)) {
      if (name === 'arguments' && typeof target[name] === 'string')
        this.#add(target, name, `${path}.arguments`, 'json')
      else this.visit(target, name, `${path}.${name}`)
      this.name(target, name, path)
    }
  }

  /** Any value: its strings, the names in it, its long numbers. Depth is bounded by the parser. */
  visit(parent: Parent, key: string | number, path: string): void {
    const value = (parent as JsonObject)[key]
    if (typeof value === 'string') {
      if (isPayload(value, path)) this.binaryParts++
      else this.#add(parent, key, path, 'plain')
    } else if (typeof value === 'number') {
      if (Math.abs(value) >= 10 ** (MIN_NUMBER_DIGITS - 1)) this.#add(parent, key, path, 'plain')
    } else if (Array.isArray(value)) {
      for (let i = 0; i < value.length; i++) this.visit(value, i, `${path}[${i}]`)
    } else if (isObject(value)) {
      this.#fields(value, path, () => false)
    }
  }

  #fields(value: JsonObject, path: string, passedOver: (name: string) => boolean): void {
    for (const name of Object.keys(value)) {
      if (!passedOver(name)) this.visit(value, name, `${path}.${name}`)
      this.name(value, name, path)
    }
  }

  /** The name of a property, unless the API fixes it. */
  name(parent: JsonObject, name: string, path: string): void {
    if (FIXED_NAMES.has(name)) return
    const replace = (text: string) => {
      const names = this.#renames.get(parent) ?? new Map<string, string>()
      this.#renames.set(parent, names.set(name, text))
    }
    const place = path === '' ? '(name)' : `${path} (name)`
    this.texts.push({ path: place, text: name, encoding: 'plain', role: this.#role, joined: null, replace })
  }

  commit(): void {
    for (const [parent, names] of this.#renames) renameKeys(parent, names)
    this.#renames.clear()
  }

  #conversation(parent: Parent, key: string | number, path: string): void {
    const text = (parent as JsonObject)[key]
    // What a tool returns is mostly JSON, and a model reads through its escapes.
    const isToolResult = this.#role === 'tool' || this.#role === 'function'
    const encoding = isToolResult && /^\s*[[{]/.test(String(text)) ? 'json' : 'plain'
    this.#add(parent, key, path, encoding, this.#joined++)
  }

  #add(
    parent: Parent,
    key: string | number,
    path: string,
    encoding: Text['encoding'],
    joined: number | null = null,
  ): void {
    const text = String((parent as JsonObject)[key])
    if (text === '') return
    const role = this.#role
    const replace = (replacement: string) => {
      ;(parent as JsonObject)[key] = replacement
    }
    this.texts.push({ path, text, encoding, role, joined, replace })
  }
}

const isPassedOver = (name: string, places: readonly string[], value: JsonValue | undefined): boolean =>
  places.includes(name) &&
  (typeof value === 'number' || (typeof value === 'string' && IDENTIFIER.test(value)))

function isPayload(text: string, path: string): boolean {
  if (text.length < MIN_PAYLOAD_CHARACTERS) return false
  const prefix = DATA_URL.exec(text)?.[0].length ?? 0
  return (prefix > 0 || PAYLOAD_PLACE.test(path)) && BASE64.test(text.slice(prefix))
}

/** Renames keys in their places; a name that is taken gets a number. */
function renameKeys(parent: JsonObject, names: ReadonlyMap<string, string>): void {
  const entries = Object.entries(parent)
  const taken = new Set(entries.map(([name]) => name))
  const numbers = new Map<string, number>()
  for (const [name] of entries) delete parent[name]
  for (const [name, value] of entries) {
    const wanted = names.get(name)
    if (wanted === undefined) {
      parent[name] = value
      continue
    }
    let free = wanted
    for (let i = numbers.get(wanted) ?? 2; taken.has(free); i++) {
      free = `${wanted}_${i}`
      numbers.set(wanted, i + 1)
    }
    taken.add(free)
    parent[free] = value
  }
}
