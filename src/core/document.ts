// YAML documents a person wrote, checked against a JSON Schema. But for places.ts the only file that knows `yaml`, and the
// only one that knows `ajv`; knows nothing of what the documents mean. Every mistake is collected with its place.

import { Ajv2020, type ErrorObject, type Options, type ValidateFunction } from 'ajv/dist/2020.js'
import { type Document, LineCounter, parseDocument, stringify, type YAMLError } from 'yaml'
import type { Problem } from './problem.ts'
import { nearest } from './suggest.ts'
import { WRITTEN } from './validators.ts'
import { misplaced, type Path, START, type YamlPosition, YamlPositions } from './yaml-position.ts'

export type { Path } from './yaml-position.ts'

/** A mistake in a value, wherever the value came from. */
export interface ValueProblem {
  readonly path: Path
  /** True when the mistake is the key itself, not its value. */
  readonly atKey: boolean
  readonly message: string
  /** True when the value lacks a key; `path` then ends in that key. */
  readonly missing: boolean
}

export interface DocumentReading<T> {
  /** The value, null unless there are no problems. */
  readonly value: T | null
  /** The value whatever the schema says of it; undefined where the text is not YAML. For finding more mistakes. */
  readonly unchecked: unknown
  /** By position, each once. */
  readonly problems: readonly Problem[]
  /** Where the value at the path stands, or its nearest ancestor that exists. */
  locate(path: Path): YamlPosition
}

/** Aliases that one document may expand: enough for reuse, too few for a "billion laughs". */
const MAX_ALIASES = 100

/** A value longer than this is not repeated in a message. */
const MAX_SHOWN_CHARACTERS = 40

const TOO_DEEP = 'is nested too deeply'

/**
 * Reads one YAML 1.2 document (core schema: no custom tags, no duplicate keys) and checks it against a JSON Schema
 * (2020-12). Messages never repeat the value of a property that the schema marks `writeOnly`.
 * @param file names the document in problems
 */
export function readDocument<T>(text: string, file: string, schema: object): DocumentReading<T> {
  const lines = new LineCounter()
  const document = parse(text, lines)
  if ('message' in document) {
    const problem = { file, ...START, path: '', message: document.message }
    return { value: null, unchecked: undefined, problems: [problem], locate: () => START }
  }
  const places = new YamlPositions(document, lines)
  const locate = (path: Path) => places.of(path, false)
  const tooDeep = document.errors.find(({ code }) => code === 'RESOURCE_EXHAUSTION')
  const found = tooDeep === undefined ? [...document.errors, ...document.warnings] : [tooDeep]
  const mistakes = [
    ...found.map((error) => ({ offset: error.pos[0], message: describeYamlError(error) })),
    ...(tooDeep === undefined ? misplaced(document) : []),
  ]
  const problems = mistakes.map(
    ({ offset, message }): Problem => ({ file, ...places.at(offset), path: '', message }),
  )
  if (problems.length > 0) return { value: null, unchecked: undefined, problems: inOrder(problems), locate }
  let value: unknown
  try {
    value = document.toJS({ maxAliasCount: MAX_ALIASES })
  } catch (error) {
    const message = (error as Error).message.startsWith('Excessive')
      ? `repeats too much by aliases; at most ${MAX_ALIASES} are expanded`
      : 'holds an alias whose anchor does not exist'
    return { value: null, unchecked: undefined, problems: [{ file, ...START, path: '', message }], locate }
  }
  for (const { path, atKey, message } of checkValue(value, schema)) {
    problems.push({ file, ...places.of(path, atKey), path: formatPath(path), message })
  }
  return {
    value: problems.length === 0 ? (value as T) : null,
    unchecked: value,
    problems: inOrder(problems),
    locate,
  }
}

/** Every mistake in a value that did not come from a file. The schema must be one object for the process's life. */
export function checkValue(value: unknown, schema: object): ValueProblem[] {
  const validate = validatorOf(schema)
  if (validate(value)) return []
  const errors = validate.errors ?? []
  return errors.filter((error) => !isOnlyEmpty(error)).map(describeError)
}

/** Of an empty text it is said that it is empty, not also that it has the wrong form. */
const isOnlyEmpty = ({ keyword, data, parentSchema }: ErrorObject): boolean =>
  keyword === 'pattern' && data === '' && Number(parentSchema?.['minLength']) > 0

/** The value as YAML, the same bytes for the same value. */
export function printDocument(value: unknown): string {
  return stringify(value, { lineWidth: 0, version: '1.2', schema: 'core', aliasDuplicateObjects: false })
}

/** `rules[2].pattern` */
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
      // Looked for in places.ts.
      uniqueKeys: false,
      stringKeys: true,
      prettyErrors: false,
      lineCounter: lines,
    })
    return document
  } catch {
    // The parser recurses: a file of brackets can exhaust its stack.
    return { message: TOO_DEEP }
  }
}

/** The parser's own words, without the pieces of the document it quotes: they may be secrets. */
function describeYamlError({ code, message }: YAMLError): string {
  if (code === 'MULTIPLE_DOCS') return 'holds more than one YAML document; only one is read'
  if (code === 'BAD_DIRECTIVE')
    return 'is not valid YAML: a directive (`%`) that is not known or not allowed here'
  if (code === 'TAG_RESOLVE_FAILED') return 'custom tags are not allowed'
  if (code === 'RESOURCE_EXHAUSTION') return TOO_DEEP
  if (code === 'NON_STRING_KEY') return 'keys must be plain strings'
  return `is not valid YAML: ${message.replace(/(?<! ): [\s\S]*$/, '')}`
}

const inOrder = (problems: readonly Problem[]): Problem[] => {
  const distinct = new Map(problems.map((problem) => [JSON.stringify(problem), problem]))
  return [...distinct.values()].sort((a, b) => a.line - b.line || a.column - b.column)
}

/** How schemas become validators. */
export const VALIDATION: Options = {
  allErrors: true,
  verbose: true,
  strict: true,
  strictTypes: false,
  strictRequired: false,
  // The schemas are ours, and a test checks them; compiling the schema of schemas is most of what a start costs.
  validateSchema: false,
  // Nor is what is checked once a start worth optimising: that takes as long as all other compiling.
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

/** JSON pointers do not tell an index from a key; the data on the way does. */
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

/** What YAML 1.1 merged mappings by. */
const MERGE_KEY = '<<'

function describeUnknownKey(key: string, error: ErrorObject): string {
  if (key === MERGE_KEY)
    return 'is no key: YAML 1.2 merges no mappings; write its keys out, or repeat a whole value by an alias'
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
        data.length <= MAX_SHOWN_CHARACTERS
      const close = shown ? nearest(data, allowed) : null
      const hint = close === null ? '' : `; did you mean \`${close}\`?`
      return `must be one of: ${allowed.join(', ')}${shown ? ` (not \`${data}\`)` : ''}${hint}`
    }
    case 'type':
      return `must be ${article([params['type']].flat().map(String).join(' or '))}${withKeys(parentSchema)}`
    case 'pattern':
      return `is not of the right form${explain(parentSchema)}`
    case 'minimum':
    case 'maximum':
      return `must be from ${bound(parentSchema, 'minimum', 'any')} to ${bound(parentSchema, 'maximum', 'any')}`
    case 'minLength':
      return params['limit'] === 1 ? 'must not be empty' : `must have at least ${params['limit']} characters`
    case 'maxLength':
      return `must have at most ${params['limit']} characters`
    case 'minItems':
      return params['limit'] === 1 ? 'must not be empty' : `must have at least ${params['limit']} items`
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

const bound = (schema: Record<string, unknown> | undefined, key: string, fallback: string): string =>
  String(schema?.[key] ?? fallback)

const explain = (schema: Record<string, unknown> | undefined): string =>
  typeof schema?.['description'] === 'string' ? `: ${schema['description']}` : ''

const MAX_KEYS_TOLD = 8

/** ` with keys: env, file`, where they are few. */
const withKeys = (schema: Record<string, unknown> | undefined): string => {
  const keys = keysOf(schema)
  return keys === '' || keys.split(',').length > MAX_KEYS_TOLD ? '' : ` with keys${keys}`
}

const keysOf = (schema: Record<string, unknown> | undefined): string => {
  const keys = Object.keys((schema?.['properties'] as object | undefined) ?? {})
  return keys.length === 0 ? '' : `: ${keys.join(', ')}`
}
