// Reads the sources that the gate checks: text, comments, imports and exported types of each file.

import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, posix, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { readSourceText, type SourceText } from './source-text.ts'

export const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), '../..')

/** An import, a re-export, a dynamic import or an `import()` type. */
export interface Import {
  readonly line: number
  readonly specifier: string
  /** The imported file relative to ROOT; undefined for packages and modules of Node. */
  readonly target: string | undefined
  /** An `import type`, of which nothing is left in the program. */
  readonly isType: boolean
}

export interface SourceFile extends SourceText {
  /** Relative to ROOT, with `/`. */
  readonly path: string
  readonly text: string
  readonly imports: readonly Import[]
  /** Interfaces, type aliases, classes and enums declared with `export`. */
  readonly types: readonly { readonly line: number; readonly name: string }[]
  /** Whether the file is named as a data table and literals make up most of its code. */
  readonly isDataTable: boolean
}

export interface Breach {
  /** Short name of the rule, for the count. */
  readonly rule: string
  readonly path: string
  readonly line: number
  /** What is wrong and what to do. */
  readonly message: string
}

const IMPORT = /\bfrom\s*(['"])_*\1|\bimport\s*(?:\(\s*)?(['"])_*\2/g
const TYPE =
  /^export\s+(?:default\s+)?(?:declare\s+)?(?:abstract\s+)?(?:(?:const\s+)?enum|interface|type|class)\s+([\w$]+)/gm
const TABLE_NAME = /(?:-table|-data|(?:^|\/)weights)\.ts$/

/** Every TypeScript file below src/, sorted by path. */
export function readSources(): SourceFile[] {
  return readdirSync(join(ROOT, 'src'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name))
    .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)).replaceAll('\\', '/'))
    .sort()
    .map(readSource)
}

/** @param path relative to ROOT */
export const readSource = (path: string): SourceFile =>
  parseSource(path, readFileSync(join(ROOT, path), 'utf8'))

export function parseSource(path: string, text: string): SourceFile {
  const source = readSourceText(text)
  const { code } = source
  const importLine = lineCounter(text)
  const imports = [...code.matchAll(IMPORT)].map((match) => {
    const end = match.index + match[0].length - 1
    const specifier = text.slice(match.index + match[0].search(/['"]/) + 1, end)
    const target = specifier.startsWith('.') ? posix.join(posix.dirname(path), specifier) : undefined
    const isType = /\bimport\s+type\b[^;'"]*$/.test(code.slice(0, match.index))
    return { line: importLine(end), specifier, target, isType }
  })
  const typeLine = lineCounter(text)
  const types = [...code.matchAll(TYPE)].map((match) => ({ line: typeLine(match.index), name: match[1]! }))
  return { path, text, ...source, imports, types, isDataTable: TABLE_NAME.test(path) && isMostlyData(code) }
}

/** Whether literals make up more than half of what is not white space. */
function isMostlyData(code: string): boolean {
  const size = code.replace(/\s+/g, '').length
  return code.replace(/[^_\d]+/g, '').length * 2 > size
}

/** @returns the line of an offset, from 1. Offsets must not decrease from call to call. */
export function lineCounter(text: string): (offset: number) => number {
  let line = 1
  let next = text.indexOf('\n')
  return (offset) => {
    for (; next >= 0 && next < offset; next = text.indexOf('\n', next + 1)) line++
    return line
  }
}
