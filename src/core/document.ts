// Reads YAML documents, checks them against a JSON Schema and reports every error with its place.
// The only file that imports `ajv`, and with yaml-position.ts the only one that imports `yaml`.

import { Ajv2020, type ErrorObject, type Options, type ValidateFunction } from 'ajv/dist/2020.js'
import { type Document, LineCounter, parseDocument, stringify, type YAMLError } from 'yaml'
import type { Problem } from './problem.ts'
import { nearest } from './suggest.ts'
import { WRITTEN } from './validators.ts'
import {
  misplaced,
  type Path,
  START,
  UNQUOTED_ASTERISK,
  type YamlPosition,
  YamlPositions,
} from './yaml-position.ts'

export type { Path } from './yaml-position.ts'

/** A schema error in a value, with or without a file. */
export interface ValueProblem {
  readonly path: Path
  /** True if the key is wrong, not its value. */
  readonly atKey: boolean
  readonly message: string
  /** True if a required key is missing; `path` ends in that key. */
  readonly missing: boolean
}

export interface DocumentReading<T> {
  /** The value; null if there are problems. */
  readonly value: T | null
  /** The value even if the schema rejects it, to find more errors; undefined without YAML. */
  readonly unchecked: unknown
  /** Sorted by position, without duplicates. */
  readonly problems: readonly Problem[]
  /** Returns the position of the value at the path, or of its nearest ancestor. */
  locate(path: Path): YamlPosition
}

/** Aliases that one document may expand: enough for reuse, too few for exponential growth. */
const MAXIMUM_ALIASES = 100

/** Messages do not repeat longer values. */
const MAXIMUM_SHOWN_CHARACTERS = 40

const TOO_DEEP = 'is nested too deeply; use fewer levels'

/**
 * Reads one YAML 1.2 document (core schema, no custom tags, no duplicate keys) and checks it with
 * a JSON Schema (2020-12). Messages never repeat a value that the schema marks `writeOnly`.
 * @param file name of the document in problems
 */
export function readDocument<T>(text: string, file: string, schema: object): DocumentReading<T> {
  const lines = new LineCounter()
  const document = parse(text, lines)
  if ('message' in document) {
    const problem = { file, ...START, path: '', message: document.message }
    return { value: null, unchecked: undefined, problems: [problem], locate: () => START }
  }
  const positions = new YamlPositions(document, lines)
  const locate = (path: Path) => positions.of(path, false)
  const tooDeep = document.errors.find(({ code }) => code === 'RESOURCE_EXHAUSTION')
  const found = tooDeep === undefined ? [...document.errors, ...document.warnings] : [tooDeep]
  const errors = [
    ...found.map((error) => ({ offset: error.pos[0], message: describeYamlError(error) })),
    ...(tooDeep === undefined ? misplaced(document) : []),
  ]
  const problems = errors.map(
    ({ offset, message }): Problem => ({ file, ...positions.at(offset), path: '', message }),
  )
  if (problems.length > 0) return { value: null, unchecked: undefined, problems: inOrder(problems), locate }
  let value: unknown
  try {
    value = document.toJS({ maxAliasCount: MAXIMUM_ALIASES })
  } catch (error) {
    const message = (error as Error).message.startsWith('Excessive')
      ? `expands more than ${MAXIMUM_ALIASES} aliases; write some values out`
      : TOO_DEEP
    return { value: null, unchecked: undefined, problems: [{ file, ...START, path: '', message }], locate }
  }
  for (const { path, atKey, message } of checkValue(value, schema)) {
    problems.push({ file, ...positions.of(path, atKey), path: formatPath(path), message })
  }
  return {
    value: problems.length === 0 ? (value as T) : null,
    unchecked: value,
    problems: inOrder(problems),
    locate,
  }
}

/**
 * Returns every schema error in a value.
 * @param schema the same object in each call: validators are cached by object
 */
export function checkValue(value: unknown, schema: object): ValueProblem[] {
  const validate = validatorOf(schema)
  if (validate(value)) return []
  const errors = validate.errors ?? []
  return errors.filter((error) => !isOnlyEmpty(error) && !isOfKey(error)).map(describeError)
}

/** Reports whether this is the pattern error of an empty text, which `minLength` reports too. */
const isOnlyEmpty = ({ keyword, data, parentSchema }: ErrorObject): boolean =>
  keyword === 'pattern' && data === '' && Number(parentSchema?.['minLength']) > 0

/** Reports whether this is the error of a mapping with a wrong key, which has an error itself. */
const isOfKey = ({ keyword }: ErrorObject): boolean => keyword === 'propertyNames'

/** Prints a value as YAML, deterministically. */
export function printDocument(value: unknown): string {
  return stringify(value, { lineWidth: 0, version: '1.2', schema: 'core', aliasDuplicateObjects: false })
}

/** Formats a path, such as `rules[2].pattern`. */
export function formatPath(path: Path): string {
  return path.reduce<string>(
    (text, part) => (typeof part === 'number' ? `${text}[${part}]` : text === '' ? part : `${text}.${part}`),
    '',
  )
}

function parse(text: string, lines: LineCounter): Document.Parsed | { message: string } {
  try {
    const document = parseDocument(text, {
      version: '1.2',
      schema: 'core',
      // yaml-position.ts reports duplicate keys, in linear time.
      uniqueKeys: false,
      stringKeys: true,
      prettyErrors: false,
      lineCounter: lines,
    })
    return document
  } catch {
    // The parser recurses, so deep nesting can exhaust the stack.
    return { message: TOO_DEEP }
  }
}

/** A lone `---` begins one, also without anything before or after it. */
const SECOND_DOCUMENT =
  'a second YAML document begins here, and a file holds one; remove this `---`, or move what follows into a file of its own'

/** The error of a text that YAML reads as something else without quotes. */
const unquoted = (first: string): string =>
  `is not valid YAML: put a text that begins with \`${first}\` in single quotes`

/** Returns the parser's message without the text that it quotes, which may be a secret. */
function describeYamlError({ code, message }: YAMLError): string {
  if (code === 'MULTIPLE_DOCS') return SECOND_DOCUMENT
  if (code === 'BAD_DIRECTIVE')
    return 'is not valid YAML: a directive (`%`) is unknown or not allowed here; remove it'
  if (code === 'TAG_RESOLVE_FAILED')
    return 'custom tags are not allowed; remove the tag, or put a text that begins with `!` in single quotes'
  if (code === 'BAD_ALIAS' && message.startsWith('Alias cannot')) return UNQUOTED_ASTERISK
  if (code === 'BAD_ALIAS' && message.startsWith('Anchor cannot')) return unquoted('&')
  if (code === 'BAD_SCALAR_START') return unquoted(/\S(?=$|:)/.exec(message)?.[0] ?? '@')
  if (code === 'RESOURCE_EXHAUSTION') return TOO_DEEP
  if (code === 'UNEXPECTED_TOKEN' && message.includes('at node end'))
    return 'is not valid YAML: text follows a closing bracket or quote; put all of it in single quotes'
  if (code === 'BAD_DQ_ESCAPE')
    return 'is not valid YAML: invalid escape sequence in double quotes; use single quotes, or double each backslash'
  if (code === 'NON_STRING_KEY') return 'keys must be plain strings'
  return `is not valid YAML: ${message.replace(/(?<! ): [\s\S]*$/, '')}`
}

const inOrder = (problems: readonly Problem[]): Problem[] => {
  const distinct = new Map(problems.map((problem) => [JSON.stringify(problem), problem]))
  return [...distinct.values()].sort((a, b) => a.line - b.line || a.column - b.column)
}

/** Options for compiling schemas. */
export const VALIDATION: Options = {
  allErrors: true,
  verbose: true,
  strict: true,
  strictTypes: false,
  strictRequired: false,
  // A test checks our schemas. Compiling the meta-schema would dominate the start-up time.
  validateSchema: false,
  // Optimising doubles the compile time, and most validators run once.
  code: { optimize: false },
}

const validators = new WeakMap<object, ValidateFunction>()

function validatorOf(schema: object): ValidateFunction {
  const known = WRITTEN.get(schema) ?? validators.get(schema)
  if (known !== undefined) return known
  const validate = new Ajv2020(VALIDATION).compile(schema)
  validators.set(schema, validate)
  return validate
}

function describeError(error: ErrorObject): ValueProblem {
  const path = pointerToPath(error)
  if (error.propertyName !== undefined)
    return { path: [...path, error.propertyName], atKey: true, missing: false, message: describeValue(error) }
  if (error.keyword === 'required') {
    const key = String(error.params['missingProperty'])
    return { path: [...path, key], atKey: false, missing: true, message: describeMissing(key, error) }
  }
  if (error.keyword === 'additionalProperties') {
    const key = String(error.params['additionalProperty'])
    return { path: [...path, key], atKey: true, missing: false, message: describeUnknownKey(key, error) }
  }
  return { path, atKey: false, missing: false, message: describeValue(error) }
}

/** Parses a JSON pointer. Takes digits for an index: no key in our schemas is a number. */
function pointerToPath(error: ErrorObject): Path {
  const parts = error.instancePath.split('/').slice(1)
  return parts.map((part) => {
    const key = part.replaceAll('~1', '/').replaceAll('~0', '~')
    return /^\d+$/.test(key) ? Number(key) : key
  })
}

function describeMissing(key: string, { parentSchema }: ErrorObject): string {
  const schema = (
    parentSchema?.['properties'] as Record<string, { enum?: readonly unknown[] }> | undefined
  )?.[key]
  return schema?.enum === undefined ? 'is required' : `is required (one of: ${schema.enum.join(', ')})`
}

/** Merge key of YAML 1.1. */
const MERGE_KEY = '<<'

function describeUnknownKey(key: string, error: ErrorObject): string {
  if (key === MERGE_KEY)
    return 'is not a key: YAML 1.2 has no merge keys; write the keys out, or use an alias for a whole value'
  const known = Object.keys((error.parentSchema?.['properties'] as object | undefined) ?? {})
  const close = nearest(key, known)
  const hint = close === null ? '' : `; did you mean \`${close}\`?`
  return `is not a known key${hint} (known: ${known.join(', ')})`
}

function describeValue({ keyword, params, parentSchema, data, message }: ErrorObject): string {
  switch (keyword) {
    case 'enum': {
      const allowed = (params['allowedValues'] as readonly unknown[]).map(String)
      const shown =
        parentSchema?.['writeOnly'] !== true &&
        typeof data === 'string' &&
        data.length <= MAXIMUM_SHOWN_CHARACTERS
      const close = shown ? nearest(data, allowed) : null
      const hint = close === null ? '' : `; did you mean \`${close}\`?`
      return `must be one of: ${allowed.join(', ')}${shown ? ` (not \`${data}\`)` : ''}${hint}`
    }
    case 'type':
      return `must be ${article([params['type']].flat().map(String).join(' or '))}${withForm(parentSchema)}${withItems(parentSchema, ' of objects')}`
    case 'pattern':
      return `has the wrong format${explain(parentSchema)}`
    case 'minimum':
    case 'maximum':
      return `must be ${range(parentSchema)}`
    case 'minLength':
      return params['limit'] === 1 ? 'must not be empty' : `must have at least ${params['limit']} characters`
    case 'maxLength':
      return `must have at most ${params['limit']} characters`
    case 'minItems':
      return `${params['limit'] === 1 ? 'must not be empty' : `must have at least ${params['limit']} items`}${withItems(parentSchema, '; write objects')}`
    case 'maxItems':
      return `must have at most ${params['limit']} items`
    case 'uniqueItems':
      return `must not repeat an item (items ${params['i']} and ${params['j']})`
    case 'minProperties':
    case 'maxProperties':
      return `must have ${keyword === 'minProperties' ? 'at least' : 'at most'} ${params['limit']} of its keys${keysOf(parentSchema)}`
    default:
      return message ?? 'is not allowed here'
  }
}

const article = (type: string): string => (/^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`)

/** Says which numbers a schema allows that has at least one bound. */
function range({ minimum, maximum }: Record<string, unknown> = {}): string {
  if (maximum === undefined) return `at least ${minimum}`
  return minimum === undefined ? `at most ${maximum}` : `from ${minimum} to ${maximum}`
}

const explain = (schema: Record<string, unknown> | undefined): string =>
  typeof schema?.['description'] === 'string' ? `: ${schema['description']}` : ''

const MAXIMUM_KEYS_LISTED = 8

/** What the value is, for a number; the keys of an object. */
const withForm = (schema: Record<string, unknown> | undefined): string =>
  schema?.['type'] === 'number' ? explain(schema) : withKeys(schema)

/** Returns ` with keys: env, file`, or nothing for many keys. */
const withKeys = (schema: Record<string, unknown> | undefined): string => {
  const keys = keysOf(schema)
  return keys === '' || keys.split(',').length > MAXIMUM_KEYS_LISTED ? '' : ` with keys${keys}`
}

/** Says what the items of a list of objects have, after a word for them. */
const withItems = (schema: Record<string, unknown> | undefined, word: string): string => {
  const keys = withKeys(schema?.['items'] as Record<string, unknown> | undefined)
  return keys === '' ? '' : word + keys
}

const keysOf = (schema: Record<string, unknown> | undefined): string => {
  const keys = Object.keys((schema?.['properties'] as object | undefined) ?? {})
  return keys.length === 0 ? '' : `: ${keys.join(', ')}`
}
