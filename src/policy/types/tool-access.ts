// Rules of type tool_access: the tools that are allowed, with which arguments and after what.

import { controlCharacterIn } from '../control-character.ts'
import { whyOddGlob } from '../odd-glob.ts'
import { type PatternRefusal, type RuleType, refuse, type WrittenPattern } from '../rule-type.ts'
import { parseConditions, type ToolConditions, type WrittenConditions } from '../tool-conditions.ts'
import { refusingGlobs } from '../tool-list.ts'

interface ToolPattern extends ToolConditions {
  readonly type: 'tool_access'
  readonly globs: readonly string[]
}

export const TOOL_ACCESS: RuleType<ToolPattern> = {
  name: 'tool_access',
  actions: ['block', 'remove', 'monitor'],
  directions: { allowed: [], because: 'a tool is allowed or not for the whole call' },
  narrowsTools: true,
  checks: 'the tools that requests define and answers call',
  writing:
    'a list of globs of allowed tools, and after `!` of refused ones: names of functions, `mcp:LABEL`, `mcp:LABEL/TOOL`, or types of tools that the provider runs; case counts',
  form: { isList: true, hint: 'A glob of allowed tools on each line; after ! of refused ones.' },
  parse: parseTools,
  lint: ({ pattern, rule }) => [
    ...pattern.globs.flatMap((glob, index) => {
      const odd = whyOddGlob(glob.replace(/^!/, ''), 'models')
      return odd === null ? [] : [{ field: 'pattern' as const, message: `item ${index + 1} ${odd}` }]
    }),
    ...(rule.action === 'remove' && pattern.arguments !== null
      ? [
          {
            field: 'action' as const,
            message:
              'removes nothing: arguments are known only when a tool is called; write `block`, which does the same',
          },
        ]
      : []),
  ],
  includes: ({ pattern: wide }, { pattern: narrow }) =>
    JSON.stringify(wide) === JSON.stringify(narrow) ||
    (!hasConditions(wide) && JSON.stringify(wide.globs) === JSON.stringify(narrow.globs)),
}

const hasConditions = (one: ToolConditions): boolean =>
  one.arguments !== null || one.after !== null || one.afterInjection !== null

const FORM = 'must be a list of globs of the tools that are allowed, such as ["search_*", "!bash"]'
const EVERY = /^\*+$/

function parseTools(written: WrittenPattern, narrowing: WrittenConditions): ToolPattern | PatternRefusal {
  if (typeof written === 'string') return refuse(FORM)
  const faults = written.flatMap((glob, index) => {
    if (glob === '!') return [`item ${index + 1} has no glob after \`!\``]
    const control = controlCharacterIn(glob)
    return control === null ? [] : [`item ${index + 1} ${control}`]
  })
  const conditions = parseConditions(narrowing)
  const others = 'problems' in conditions ? conditions.problems : []
  if (refusingGlobs(written).length === 0) {
    if (isNarrowed(narrowing))
      faults.push(
        'needs the tools that it refuses, each after `!`, such as ["*", "!bash"]: a rule with arguments, after or afterInjection refuses only those',
      )
    else if (written.some((glob) => EVERY.test(glob)))
      faults.push('refuses no tool; name the refused ones after `!`, such as ["*", "!bash"]')
  }
  if (faults.length > 0 || 'problems' in conditions) return { messages: faults, others }
  return { type: 'tool_access', globs: written, ...conditions }
}

const isNarrowed = (narrowing: WrittenConditions): boolean =>
  narrowing.arguments !== undefined || narrowing.after !== undefined || narrowing.afterInjection !== undefined
