// Reads a configuration file as a document of sections: finds every error, fills in defaults, and
// keeps the sound part of an invalid one, to find more errors in it.

import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { Clock } from './clock.ts'
import type { Context } from './config-values.ts'
import { formatPath, type Path, readDocument } from './document.ts'
import type { Problem } from './problem.ts'
import type { SchemaNode } from './schema-parts.ts'
import { decodeText } from './text-file.ts'
import { soundPart } from './valid-part.ts'

/** A file that cannot be read as text. */
export interface UnreadableConfig {
  readonly problems: readonly Problem[]
  problemAt(path: Path, message: string): Problem
}

/** Returns the text of a file, or why it cannot be read. */
export function readConfigText(file: string): string | UnreadableConfig {
  const refuse = (message: string): UnreadableConfig => {
    const problemAt = (_path: Path, text: string) => ({ file, line: 0, column: 0, path: '', message: text })
    return { problems: [problemAt([], message)], problemAt }
  }
  try {
    const decoded = decodeText(readFileSync(file))
    return 'problem' in decoded ? refuse(decoded.problem) : decoded.text
  } catch (error) {
    const { code = (error as Error).message } = error as NodeJS.ErrnoException
    return refuse(`cannot be read (${code}); set the path with --config`)
  }
}

/** A document with the problems found so far; `context.add` adds to them. */
export interface Sections<Declared> {
  /** The valid part with defaults; null when nothing is. */
  readonly declared: Declared | null
  /** Whether the document matches the schema. */
  readonly isValid: boolean
  /** Problems that the schema found. */
  readonly found: readonly Problem[]
  readonly problems: Problem[]
  problemAt(path: Path, message: string): Problem
  readonly context: Context
}

/** Reads text as sections. Problems name `file`, and relative paths start at its folder. */
export function readSections<Declared>(
  text: string,
  file: string,
  schema: SchemaNode,
  { env, clock }: { readonly env: Context['env']; readonly clock: Clock },
): Sections<Declared> {
  const { value, unchecked, problems: found, locate } = readDocument<object>(text, file, schema)
  const problemAt = (path: Path, message: string): Problem => ({
    file,
    ...locate(path),
    path: formatPath(path),
    message,
  })
  const sound = value === null ? soundPart(unchecked, schema) : { value, origin: (path: Path) => path }
  const { origin } = sound
  const problems = [...found]
  const context: Context = {
    folder: dirname(resolve(file)),
    env,
    clock,
    origin,
    isFaulty: (path) => isAmong(found, path),
    add(path, message) {
      const at = origin(path)
      // An invalid value was replaced by its default, whose problems would mislead.
      if (!isAmong(found, at)) problems.push(problemAt(at, message))
    },
  }
  const declared = withDefaults(schema, sound.value) as Declared | null
  return { declared, isValid: value !== null, found, problems, problemAt, context }
}

/** Reports whether a problem concerns the key at the path, a section around it or a value in it. */
export function isAmong(problems: readonly Problem[], path: Path): boolean {
  const key = inParts(formatPath(path))
  return problems.some((problem) => {
    const other = inParts(problem.path)
    return key.startsWith(other) || other.startsWith(key)
  })
}

/** Ends each part with a dot: `keys` then is a prefix of `keys[0]`, and not of `keysize`. */
const inParts = (path: string): string => `${path.replaceAll('[', '.')}.`

/** Returns a copy of the value with the schema's default for every absent key. */
function withDefaults(schema: SchemaNode, value: unknown): unknown {
  if (Array.isArray(value) && schema.items !== undefined) {
    const { items } = schema
    return value.map((item) => withDefaults(items, item))
  }
  if (schema.properties === undefined || typeof value !== 'object' || value === null) return value
  const filled: Record<string, unknown> = { ...value }
  for (const [key, child] of Object.entries(schema.properties)) {
    const present = filled[key] ?? structuredClone(child.default)
    if (present !== undefined) filled[key] = withDefaults(child, present)
  }
  return filled
}
