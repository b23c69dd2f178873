// Reads what narrows a rule on tools: which arguments a call has, and what the conversation holds.

import { type ParsedPattern, parseKeywords } from '../keyword/pattern-index.ts'
import { controlCharacterIn } from './control-character.ts'

/** An argument of a call, as a rule names it. */
export interface WrittenArgument {
  /** JSON pointer (RFC 6901); `*` stands for any member or element. */
  readonly path: string
  /** As an alternative of a keyword rule. */
  readonly pattern: string
}

/** The fields of a rule that narrow it, as files and the API write them. */
export interface WrittenConditions {
  /** Arguments of a call, all of which must match. */
  readonly arguments?: readonly WrittenArgument[]
  /** Globs of tools; the conversation must hold a result of one. */
  readonly after?: readonly string[]
  /** The conversation must hold a tool result with at least this injection score, from 0 to 1. */
  readonly afterInjection?: number
}

/** The names of these fields. */
export const CONDITION_FIELDS = ['arguments', 'after', 'afterInjection'] as const

/** Steps from the whole value to the values of a pointer. */
export type PointerPath = readonly string[]

/** Stands for any member or element. */
export const ANY_STEP = '*'

/** An argument test with its pattern parsed. Plain data that survives JSON. */
export interface ArgumentTest {
  readonly path: PointerPath
  readonly keywords: ParsedPattern
}

/** What narrows a rule; null for a condition that it does not have. */
export interface ToolConditions {
  readonly arguments: readonly ArgumentTest[] | null
  readonly after: readonly string[] | null
  readonly afterInjection: number | null
}

/** An error in a field that narrows a rule. */
export interface ConditionProblem {
  readonly path: string
  readonly message: string
}

/** Parses the conditions of a rule, or returns every error in them. */
export function parseConditions(
  written: WrittenConditions,
): ToolConditions | { readonly problems: readonly ConditionProblem[] } {
  const problems: ConditionProblem[] = []
  const tests = written.arguments?.map((one, index) => parseArgument(one, `arguments[${index}]`, problems))
  written.after?.forEach((glob, index) => {
    const problem = glob.startsWith('!') ? NO_NEGATION : controlCharacterIn(glob)
    if (problem !== null) problems.push({ path: `after[${index}]`, message: problem })
  })
  if (problems.length > 0) return { problems }
  return {
    arguments: tests?.flatMap((test) => (test === null ? [] : [test])) ?? null,
    after: written.after ?? null,
    afterInjection: written.afterInjection ?? null,
  }
}

const NO_NEGATION = 'must be a glob of tools without `!`, such as `web_*` or `mcp:*`'

/** Reads one condition. A member that is missing has an error of its own. */
function parseArgument(
  { path: pointer, pattern }: Partial<WrittenArgument>,
  at: string,
  problems: ConditionProblem[],
): ArgumentTest | null {
  const path = pointer === undefined ? null : parsePointer(pointer)
  if (pointer !== undefined && path === null)
    problems.push({
      path: `${at}.path`,
      message:
        'must be a JSON pointer such as `/command` or `/files/*/path`, or empty for all strings; write `~` as `~0` and `/` in a name as `~1`',
    })
  if (pattern === undefined) return null
  const control = controlCharacterIn(pattern)
  const keywords = control === null ? parseKeywords(pattern) : { messages: [control] }
  if ('messages' in keywords) {
    for (const message of keywords.messages) problems.push({ path: `${at}.pattern`, message })
    return null
  }
  return path === null ? null : { path, keywords }
}

const POINTER = /^(?:\/(?:[^~/]|~[01])*)*$/u

/** Reads a JSON pointer; null for a text that is not one. */
function parsePointer(pointer: string): PointerPath | null {
  if (!POINTER.test(pointer)) return null
  return pointer
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
}
