// Lists the fields of a declaration, for everything that shows or keeps whole rules.

import type { JsonObject } from '../core/json.ts'
import type { Rule } from './rule.ts'

/** Every field of a rule, in the order in which it is shown. */
const DECLARED_FIELDS = Object.keys({
  ...{ id: true, name: true, type: true, pattern: true },
  ...{ arguments: true, after: true, afterInjection: true },
  ...{ kind: true, context: true, checksum: true, except: true, placeholder: true },
  ...{ per: true, placeholders: true, action: true, restore: true },
  ...{ enabled: true, description: true, match: true },
} satisfies Record<keyof Rule, true>) as (keyof Rule)[]

/** Returns a rule as declared, without derived fields and without those that it does not have. */
export const declaredRule = (rule: Rule): JsonObject =>
  Object.fromEntries(
    DECLARED_FIELDS.flatMap((name) =>
      rule[name] !== undefined ? [[name, structuredClone(rule[name])]] : [],
    ),
  ) as JsonObject
