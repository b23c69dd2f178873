// What can be wrong with a declared rule beyond its shape, in words for the person who wrote it.

import { parseKeywords } from '../keyword/pattern-index.ts'
import { MAX_GLOB_CHARACTERS } from './glob.ts'
import { ACTIONS_OF, RULE_ACTIONS, type RuleDeclaration } from './rule.ts'
import { type Parsed, parseKinds, parseLimit, parseThreshold } from './rule-pattern.ts'

/** A mistake in one declaration. */
export interface RuleProblem {
  /** Relative to the rule: `pattern`, `action`, `match.models[0]`. */
  readonly path: string
  readonly message: string
}

/** Of a declaration, written as JSON: a rule in force is sealed in the log, whose entries hold little more. */
const MAX_DECLARATION_BYTES = 245_760

/** Words and expressions of a whole rule set: about 50 MiB and 50 ms to compile at the most. */
const MAX_WORD_CHARACTERS_TOGETHER = 262_144
const MAX_PROGRAM_SIZE_TOGETHER = 10_000

/** Every mistake in one declaration whose shape is right, or in as much of it as is: what is not there is not judged. */
export function validateRule(declaration: Partial<RuleDeclaration>): RuleProblem[] {
  const { type, action, pattern, match } = declaration
  const problems: RuleProblem[] = []
  const add = (path: string, message: string) => problems.push({ path, message })
  const actions = type === undefined ? RULE_ACTIONS : ACTIONS_OF[type]
  if (action !== undefined && !actions.includes(action)) {
    add('action', `must be one of: ${actions.join(', ')} (for type ${type})`)
  }
  if (type !== undefined && pattern !== undefined) {
    for (const message of patternProblems(type, pattern)) add('pattern', message)
  }
  const tooLong = whyTooLong(declaration)
  if (tooLong !== null) add('pattern', tooLong)
  if (type === 'prompt_injection' && match?.direction === 'response') {
    add('match.direction', 'must be request or both: only prompts are scored for injection')
  }
  if (type === 'rate_limit' && match?.direction !== undefined && match.direction !== 'both') {
    add('match.direction', 'must be both: a token limit counts the whole call')
  }
  if (action === 'restore' && match?.direction === 'response') {
    add('match.direction', 'must be request or both: only what was taken out of a prompt can be put back')
  }
  for (const list of ['models', 'keys'] as const) {
    match?.[list]?.forEach((glob, index) => {
      if (glob.length > MAX_GLOB_CHARACTERS) {
        add(`match.${list}[${index}]`, `must have at most ${MAX_GLOB_CHARACTERS} characters`)
      }
    })
  }
  return problems
}

/** What enabled rules together exceed, or null. The rules have passed validateRule. */
export function validateTogether(rules: readonly RuleDeclaration[]): string | null {
  let characters = 0
  let steps = 0
  for (const { type, pattern, enabled } of rules) {
    const patterns = type === 'keyword_block' && enabled ? parseKeywords(pattern) : null
    if (patterns === null || 'messages' in patterns) continue
    for (const { length } of patterns.words) characters += length
    for (const { instructions } of patterns.programs) steps += instructions.length
  }
  if (characters > MAX_WORD_CHARACTERS_TOGETHER) {
    return `all keywords together have ${characters} characters; ${MAX_WORD_CHARACTERS_TOGETHER} are allowed`
  }
  if (steps > MAX_PROGRAM_SIZE_TOGETHER) {
    return `all expressions together compile to ${steps} steps; ${MAX_PROGRAM_SIZE_TOGETHER} are allowed`
  }
  return null
}

function whyTooLong(declaration: object): string | null {
  const bytes = Buffer.byteLength(JSON.stringify(declaration))
  if (bytes <= MAX_DECLARATION_BYTES) return null
  return `makes the rule ${bytes} bytes of JSON; ${MAX_DECLARATION_BYTES} are allowed; split the rule`
}

function patternProblems(type: RuleDeclaration['type'], pattern: string): readonly string[] {
  switch (type) {
    case 'keyword_block': {
      const patterns = parseKeywords(pattern)
      return 'messages' in patterns ? patterns.messages : []
    }
    case 'pii':
      return problemsOf(parseKinds(pattern))
    case 'prompt_injection':
      return problemsOf(parseThreshold(pattern))
    case 'rate_limit':
      return problemsOf(parseLimit(pattern))
  }
}

const problemsOf = (parsed: Parsed<unknown>): string[] => ('message' in parsed ? [parsed.message] : [])
