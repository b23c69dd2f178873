// What the form of a new rule holds, and the body that it sends.

import type { RuleTypeFacts } from './gateway-facts.ts'

/** Both directions; the form's word for a rule without one. */
export const BOTH_DIRECTIONS = 'both'

/** The texts of the fields; empty for one that is not used. */
export interface RuleDraft {
  readonly name: string
  readonly pattern: string
  /** A JSON pointer, a space and a pattern on each line. */
  readonly arguments: string
  /** Globs of tools, separated by commas. */
  readonly after: string
  /** A number from 0 to 1. */
  readonly afterInjection: string
  readonly kind: string
  /** Words, separated by commas. */
  readonly context: string
  readonly checksum: string
  /** An expression on each line. */
  readonly except: string
  readonly placeholder: string
  readonly per: string
  readonly placeholders: string
  /** Globs, separated by commas. */
  readonly models: string
  readonly keys: string
  /** `name=value`, separated by commas. */
  readonly labels: string
  readonly direction: string
  /** Names, separated by commas. */
  readonly parts: string
  readonly apis: string
}

export const EMPTY_DRAFT: RuleDraft = {
  ...{ name: '', pattern: '', per: '', placeholders: '', models: '', keys: '', labels: '', parts: '' },
  ...{ arguments: '', after: '', afterInjection: '', apis: '' },
  ...{ kind: '', context: '', checksum: '', except: '', placeholder: '' },
  direction: BOTH_DIRECTIONS,
}

/** Returns the body of `POST /api/v1/rules`. Fields that the type does not have are left out. */
export function ruleBody(draft: RuleDraft, type: RuleTypeFacts, action: string | undefined): object {
  const { name, pattern } = draft
  const match = matchOf(draft, type)
  return {
    name,
    type: type.name,
    pattern: type.form.isList ? linesOf(pattern) : pattern,
    ...valuesOf(draft, type),
    ...(type.narrowsTools && conditionsOf(draft)),
    ...(type.isCounted && draft.per.trim() !== '' && { per: draft.per.trim() }),
    ...(type.placeholders.includes(draft.placeholders) && { placeholders: draft.placeholders }),
    ...(action !== undefined && { action }),
    enabled: true,
    ...(Object.keys(match).length > 0 && { match }),
  }
}

function valuesOf(draft: RuleDraft, { valueFields }: RuleTypeFacts): object {
  const written = {
    kind: draft.kind.trim(),
    context: itemsOf(draft.context),
    checksum: draft.checksum.trim(),
    except: linesOf(draft.except),
    placeholder: draft.placeholder.trim(),
  }
  return Object.fromEntries(
    Object.entries(written).filter(([name, value]) => valueFields.includes(name) && value.length > 0),
  )
}

function conditionsOf({ arguments: written, after, afterInjection }: RuleDraft): object {
  const tests = written
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => {
      const [path = ''] = line.split(' ', 1)
      return { path, pattern: line.slice(path.length + 1) }
    })
  return {
    ...(tests.length > 0 && { arguments: tests }),
    ...(itemsOf(after).length > 0 && { after: itemsOf(after) }),
    ...(afterInjection.trim() !== '' && { afterInjection: Number(afterInjection) }),
  }
}

function matchOf(draft: RuleDraft, type: RuleTypeFacts): object {
  const { models, keys, labels, direction, parts, apis } = draft
  const pairs = itemsOf(labels).map((pair) => {
    const [name = '', ...value] = pair.split('=')
    return [name.trim(), value.join('=').trim()]
  })
  return {
    ...(itemsOf(models).length > 0 && { models: itemsOf(models) }),
    ...(itemsOf(keys).length > 0 && { keys: itemsOf(keys) }),
    ...(pairs.length > 0 && { labels: Object.fromEntries(pairs) }),
    ...(type.directions.includes(direction) && { direction }),
    ...(itemsOf(apis).length > 0 && { apis: itemsOf(apis) }),
    ...(type.parts.length > 0 && itemsOf(parts).length > 0 && { parts: itemsOf(parts) }),
  }
}

const linesOf = (text: string): string[] => text.split('\n').filter((line) => line !== '')

const itemsOf = (list: string): string[] =>
  list
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '')
