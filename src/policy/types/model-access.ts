// Rules of type model_access: the models that are allowed.

import { controlCharacterIn } from '../control-character.ts'
import { whyOddGlob } from '../odd-glob.ts'
import { type PatternRefusal, type RuleType, refuse, type WrittenPattern } from '../rule-type.ts'

interface AccessPattern {
  readonly type: 'model_access'
  readonly globs: readonly string[]
}

export const MODEL_ACCESS: RuleType<AccessPattern> = {
  name: 'model_access',
  actions: ['block', 'monitor'],
  directions: { allowed: [], because: 'a model is allowed or not for the whole call' },
  checks: 'the models that are allowed',
  writing: 'a list of globs of allowed models, and after `!` of refused ones; case counts',
  form: { isList: true, hint: 'A glob of allowed models on each line; after ! of refused ones.' },
  parse: parseModels,
  lint: ({ pattern }) =>
    pattern.globs.flatMap((glob, index) => {
      const odd = whyOddGlob(glob.replace(/^!/, ''), 'models')
      return odd === null ? [] : [{ field: 'pattern', message: `item ${index + 1} ${odd}` }]
    }),
  includes: (wide, narrow) => JSON.stringify(wide.pattern.globs) === JSON.stringify(narrow.pattern.globs),
}

function parseModels(pattern: WrittenPattern): AccessPattern | PatternRefusal {
  if (typeof pattern === 'string')
    return refuse('must be a list of globs of the models that are allowed, such as ["gpt-*", "!gpt-secret"]')
  for (const [index, glob] of pattern.entries()) {
    const control = controlCharacterIn(glob)
    if (control !== null) return refuse(`item ${index + 1} ${control}`)
    if (glob === '!') return refuse(`item ${index + 1} has no glob after \`!\``)
  }
  return { type: 'model_access', globs: pattern }
}
